/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "analyse/calls.h"
#include "analyse/names.h"
#include "report/flame_html.h"
#include "report/html.h"

#define SMALLEST	2000		/* part of all instructions that is shown by itself */

static void put_name(struct pm_html *h, struct pm_names *names, uint64_t pc)
{
	struct pm_name n = { 0 };
	char buf[32];

	if (pm_names_at(names, pc, false, &n) && n.function) {
		pm_html_json(h, n.function);
		return;
	}
	snprintf(buf, sizeof buf, "0x%" PRIx64, pc);
	pm_html_json(h, buf);
}

/* [parent, name, instructions in it, in it and all it called, calls]: as they are numbered here. */
static void put_contexts(struct pm_html *h, const struct pm_context_count *v, size_t n,
			 const uint64_t *all, struct pm_map *name)
{
	uint32_t *number = pm_alloc(n * sizeof *number), next = 0;
	const uint64_t least = all[0] / SMALLEST;

	pm_buf_printf(&h->b, "\"contexts\":[");
	for (size_t i = 0; i < n; i++) {
		if (i && all[i] <= least)
			continue;
		number[i] = next++;
		pm_buf_printf(&h->b, "%s[%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
			      i ? "," : "", number[v[i].parent],
			      i ? *pm_map_get(name, v[i].pc) : 0, v[i].self, all[i], v[i].calls);
	}
	pm_buf_printf(&h->b, "]");
	free(number);
}

void pm_flame_html(struct pm_html *h, const struct pm_calls *c, struct pm_names *names)
{
	size_t n = 0;
	const struct pm_context_count *v = pm_calls_contexts(c, &n);
	struct pm_map name = { 0 };
	uint64_t *all, count = 1;

	if (n < 2)
		return;
	all = pm_alloc(n * sizeof *all);
	for (size_t i = n; i-- > 0; ) {
		all[i] += v[i].self;
		if (i)
			all[v[i].parent] += all[i];
	}
	pm_html_view(h, "flame", "Flame graph", "Code");
	pm_html_note(h, "Who called whom, from every call that was executed: width is the "
		"instructions in "
			"a function and all that it called on this path. Callers stand above. A "
			"function "
			"that calls itself is one box; what makes less than 0.05 % is left out.");
	pm_buf_printf(&h->b, "<script type=\"application/json\" "
		"id=\"contexts\">{\"names\":[\"all\"");
	for (size_t i = 1; i < n; i++) {
		bool fresh;
		uint64_t *at;

		if (all[i] <= all[0] / SMALLEST)
			continue;
		at = pm_map_put(&name, v[i].pc, &fresh);
		if (!fresh)
			continue;
		*at = count++;
		pm_buf_printf(&h->b, ",");
		put_name(h, names, v[i].pc);
	}
	pm_buf_printf(&h->b, "],");
	put_contexts(h, v, n, all, &name);
	pm_buf_printf(&h->b, "}</script>\n<div id=\"flamebox\"><p class=\"dim\">"
			     "The graph needs the script of this page.</p></div>\n");
	pm_map_release(&name);
	free(all);
}
