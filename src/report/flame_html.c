/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "base/string_table.h"
#include "report/flame_html.h"

#define SMALLEST	2000		/* part of everything that is shown by itself */

struct flame {				/* what a page is to show */
	const struct pm_tree *t;
	unsigned n;			/* values of a context */
	uint64_t *self[PM_TREE_EVENTS], *all[PM_TREE_EVENTS];
};

static void put_string(struct pm_html *h, const char *key, const char *s)
{
	pm_buf_printf(&h->b, "\"%s\":", key);
	pm_html_json(h, s);
}

static bool is_seen(const struct flame *f, size_t i)
{
	for (unsigned k = 0; k < f->n; k++)
		if (f->all[k][i] > f->all[k][0] / SMALLEST)
			return true;
	return !i;
}

/* [parent, name, calls, own value, value with all below it, ... of each event]: as they are
 * numbered here. */
static void put_contexts(struct pm_html *h, const struct flame *f, const uint32_t *name)
{
	uint32_t *number = pm_alloc(f->t->n * sizeof *number), next = 0;

	pm_buf_printf(&h->b, ",\n\"contexts\":[");
	for (size_t i = 0; i < f->t->n; i++) {
		const struct pm_tree_node *n = f->t->node + i;

		if (!is_seen(f, i))
			continue;
		number[i] = next++;
		pm_buf_printf(&h->b, "%s[%u,%u,%" PRIu64, i ? "," : "", number[n->parent],
			      name[n->function], n->calls);
		for (unsigned k = 0; k < f->n; k++)
			pm_buf_printf(&h->b, ",%" PRIu64 ",%" PRIu64, f->self[k][i],
				      f->all[k][i]);
		pm_buf_printf(&h->b, "]");
	}
	pm_buf_printf(&h->b, "]");
	free(number);
}

/* The script has all the data; @head: about the values. */
static void put_view(struct pm_html *h, const struct flame *f, const struct pm_buf *head)
{
	uint32_t *name = pm_alloc(f->t->nfunction * sizeof *name), count = 1;

	pm_buf_printf(&h->b, "<script type=\"application/json\" id=\"contexts\">{");
	pm_buf_add(&h->b, head->p, head->n);
	pm_buf_printf(&h->b, "\"names\":[\"all\"");
	for (size_t i = 1; i < f->t->n; i++) {
		const uint32_t function = f->t->node[i].function;

		if (name[function] || !is_seen(f, i))
			continue;
		name[function] = count++;
		pm_buf_printf(&h->b, ",");
		pm_html_json(h, f->t->function[function].name);
	}
	pm_buf_printf(&h->b, "]");
	put_contexts(h, f, name);
	pm_buf_printf(&h->b, "}</script>\n<div id=\"flamebox\"><p class=\"dim\">"
			     "The graph needs the script of this page.</p></div>\n");
	free(name);
}

static void add_values(struct flame *f, const struct pm_tree *t, unsigned event)
{
	uint64_t *self = pm_alloc(f->t->n * sizeof *self);

	for (size_t i = 0; i < t->n; i++)
		self[i] = pm_tree_self(t, i, event);
	f->self[f->n] = self;
	f->all[f->n++] = pm_tree_inclusive(t, event);
}

static void release(struct flame *f)
{
	for (unsigned k = 0; k < f->n; k++) {
		free(f->self[k]);
		free(f->all[k]);
	}
}

void pm_flame_html(struct pm_html *h, const struct pm_tree *t, unsigned event)
{
	struct flame f = { .t = t };
	struct pm_buf head = { 0 };
	struct pm_html part = { 0 };		/* for its escapes */

	if (t->n < 2)
		return;
	pm_html_view(h, "flame", "Flame graph", "Code");
	pm_html_note(h, "Who called whom, from every call that was executed: width is what was "
		     "counted in a function and all that it called on this path. Callers stand "
		     "above. What makes less than 0.05 % is left out.");
	pm_buf_printf(&part.b, "\"event\":%u,\"events\":[", event);
	for (unsigned k = 0; k < t->nevent; k++) {
		pm_buf_printf(&part.b, "%s{", k ? "," : "");
		put_string(&part, "name", t->event[k].name);
		pm_buf_printf(&part.b, ",");
		put_string(&part, "about", t->event[k].about ? t->event[k].about : "");
		pm_buf_printf(&part.b, "}");
		add_values(&f, t, k);
	}
	pm_buf_printf(&part.b, "],");
	head = part.b;
	put_view(h, &f, &head);
	pm_buf_release(&head);
	release(&f);
}

/* Both trees' contexts in one: event 0 is @a's instructions, 1 @b's. */
static void join(struct pm_tree *to, const struct pm_tree *from, unsigned column,
		 struct pm_string_table *names, uint32_t first)
{
	uint32_t *number = pm_alloc(from->n * sizeof *number);

	for (size_t i = 0; i < from->n; i++) {
		const struct pm_tree_node *n = from->node + i;
		const char *name = from->function[n->function].name;

		if (i) {
			const uint32_t k = first + pm_string_add(names, name);

			if (k == to->nfunction)
				pm_tree_add_function(to, &(struct pm_tree_function){
					.name = name, .linkage = name });
			number[i] = pm_tree_child(to, number[n->parent], k);
		}
		to->cost[(size_t)number[i] * 2 + column] += n->self;
	}
	free(number);
}

void pm_flame_diff_html(struct pm_html *h, const struct pm_tree *a, const struct pm_tree *b)
{
	struct pm_string_table names = { 0 };
	struct pm_tree both;
	struct flame f = { .t = &both };
	struct pm_buf head = { 0 };
	uint32_t first;			/* number of the function with the first name */

	if (a->n < 2 && b->n < 2)
		return;
	pm_tree_init(&both, UINT32_MAX, UINT32_MAX);
	first = (uint32_t)both.nfunction;
	both.ncost = 2;
	both.nevent = 3;
	both.column[2] = 1;
	both.cap_cost = both.cap;
	both.cost = pm_alloc(both.cap * 2 * sizeof *both.cost);
	join(&both, a, 0, &names, first);
	join(&both, b, 1, &names, first);
	add_values(&f, &both, 1);
	add_values(&f, &both, 2);
	pm_html_view(h, "flame", "Flame graph", "What differs");
	pm_html_note(h, "What both called, by paths of calls: width is what was counted in a "
		     "function and all that it called. Callers stand above. Red became more from "
		     "A to B, blue less; the stronger, the larger its part of the whole "
		     "difference.");
	pm_buf_printf(&head, "\"diff\":true,\"event\":1,\"events\":[{\"name\":\"A\",\"about\":\"\"}"
		      ",{\"name\":\"B\",\"about\":\"\"}],");
	put_view(h, &f, &head);
	release(&f);
	pm_buf_release(&head);
	pm_string_table_release(&names);
	pm_tree_release(&both);
}
