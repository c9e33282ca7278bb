/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/result.h"
#include "report/tree_files.h"

/* The names as lines have them, whose parts ';' separates: one behind the other, that of function i
 * from at[i] to at[i + 1] - 1. */
static size_t *fold_names(const struct pm_tree *t, struct pm_buf *names)
{
	size_t *at = pm_alloc((t->nfunction + 1) * sizeof *at);

	for (size_t i = 0; i < t->nfunction; i++) {
		const char *s = t->function[i].name;
		const size_t n = strlen(s);
		uint8_t *to = pm_buf_room(names, n);

		for (size_t k = 0; k < n; k++)
			to[k] = s[k] == ';' ? ':' : (unsigned char)s[k] < ' ' || s[k] == 127 ?
				'?' : (uint8_t)s[k];
		names->n += n;
		at[i + 1] = names->n;
	}
	return at;
}

#define PIECE (1u << 20)

struct pm_folded {
	const struct pm_tree *t;
	unsigned event;
	struct pm_buf names, path;
	size_t *at, *end;		/* of names; of the path at each depth */
	uint32_t *order;
	size_t i;			/* in order: the next one */
};

struct pm_folded *pm_tree_folded_begin(const struct pm_tree *t, unsigned event)
{
	struct pm_folded *f = pm_alloc(sizeof *f);

	f->t = t;
	f->event = event;
	f->at = fold_names(t, &f->names);
	f->end = pm_alloc((t->n + 1) * sizeof *f->end);
	f->order = pm_tree_order(t);
	f->i = 1;			/* [0] has no line */
	return f;
}

/* " N\n" */
static void put_count(struct pm_buf *to, uint64_t v)
{
	uint8_t text[24], *p = text + sizeof text;

	*--p = '\n';
	do
		*--p = (uint8_t)('0' + v % 10);
	while (v /= 10);
	*--p = ' ';
	pm_buf_add(to, p, (size_t)(text + sizeof text - p));
}

void pm_tree_folded_next(void *folded, struct pm_buf *piece)
{
	struct pm_folded *f = folded;

	for (; f->i < f->t->n && piece->n < PIECE; f->i++) {
		const struct pm_tree_node *n = f->t->node + f->order[f->i];
		const uint64_t v = pm_tree_self(f->t, f->order[f->i], f->event);

		f->path.n = f->end[n->depth - 1];
		if (f->path.n)
			pm_buf_add(&f->path, ";", 1);
		pm_buf_add(&f->path, f->names.p + f->at[n->function],
			   f->at[n->function + 1] - f->at[n->function]);
		f->end[n->depth] = f->path.n;
		if (!v)
			continue;
		pm_buf_add(piece, f->path.p, f->path.n);
		put_count(piece, v);
	}
}

void pm_tree_folded_end(struct pm_folded *f)
{
	pm_buf_release(&f->names);
	pm_buf_release(&f->path);
	free(f->at);
	free(f->end);
	free(f->order);
	free(f);
}

void pm_tree_folded(const struct pm_tree *t, unsigned event, struct pm_buf *to)
{
	struct pm_folded *f = pm_tree_folded_begin(t, event);
	struct pm_buf piece = { 0 };

	do {
		piece.n = 0;
		pm_tree_folded_next(f, &piece);
		pm_buf_add(to, piece.p, piece.n);
	} while (piece.n);
	pm_buf_release(&piece);
	pm_tree_folded_end(f);
}

/* ---- speedscope: https://www.speedscope.app/file-format-schema.json -------------------------- */
static void put_profile(const struct pm_tree *t, unsigned event, const uint32_t *order,
			uint32_t *path, struct pm_buf *to)
{
	struct pm_buf weights = { 0 };
	uint64_t total = 0;
	bool any = false;

	pm_buf_printf(to, "{\"type\":\"sampled\",\"name\":");
	pm_json_string(to, t->event[event].name);
	pm_buf_printf(to, ",\"unit\":\"none\",\"startValue\":0,\"samples\":[");
	for (size_t i = 0; i < t->n; i++) {
		const uint64_t v = pm_tree_self(t, order[i], event);
		size_t n = 0;

		if (!v || !order[i])
			continue;
		for (uint32_t k = order[i]; k; k = t->node[k].parent)
			path[n++] = t->node[k].function;
		pm_buf_printf(to, "%s[", any ? ",\n" : "\n");
		while (n--)
			pm_buf_printf(to, "%u%s", path[n] - 1, n ? "," : "]");
		pm_buf_printf(&weights, "%s%" PRIu64, any ? "," : "", v);
		total += v;
		any = true;
	}
	pm_buf_printf(to, "],\n\"weights\":[");
	pm_buf_add(to, weights.p, weights.n);
	pm_buf_printf(to, "],\"endValue\":%" PRIu64 "}", total);
	pm_buf_release(&weights);
}

void pm_tree_speedscope(const struct pm_tree *t, unsigned event, bool only, const char *title,
			struct pm_buf *to)
{
	uint32_t *order = pm_tree_order(t), *path = pm_alloc(t->n * sizeof *path);

	pm_buf_printf(to, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		      "\"exporter\":\"pugmark " PM_VERSION "\",\"name\":");
	pm_json_string(to, title);
	pm_buf_printf(to, ",\"activeProfileIndex\":%u,\n\"shared\":{\"frames\":[", only ? 0 :
		      event);
	for (size_t i = 1; i < t->nfunction; i++) {
		const struct pm_tree_function *f = t->function + i;

		pm_buf_printf(to, "%s{\"name\":", i > 1 ? ",\n" : "\n");
		pm_json_string(to, f->name);
		if (f->file || f->object) {
			pm_buf_printf(to, ",\"file\":");
			pm_json_string(to, f->file ? f->file : f->object);
		}
		if (f->file)
			pm_buf_printf(to, ",\"line\":%u", f->line);
		pm_buf_printf(to, "}");
	}
	pm_buf_printf(to, "]},\n\"profiles\":[");
	for (unsigned k = 0; k < t->nevent; k++)
		if (!only || k == event) {
			pm_buf_printf(to, "%s\n", k && !only ? "," : "");
			put_profile(t, k, order, path, to);
		}
	pm_buf_printf(to, "]}\n");
	free(order);
	free(path);
}
