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

/* How many bytes the lines will have, at most: there may be gigabytes. */
static size_t folded_size(const struct pm_tree *t, unsigned event, const size_t *at)
{
	size_t *path = pm_alloc(t->n * sizeof *path), sum = 0;

	for (size_t i = 1; i < t->n; i++) {
		const uint32_t f = t->node[i].function;

		path[i] = path[t->node[i].parent] + at[f + 1] - at[f] + 1;
		if (pm_tree_self(t, i, event))
			sum += path[i] + 24;
	}
	free(path);
	return sum;
}

void pm_tree_folded(const struct pm_tree *t, unsigned event, struct pm_buf *to)
{
	struct pm_buf names = { 0 }, path = { 0 };
	size_t *at = fold_names(t, &names), *end = pm_alloc((t->n + 1) * sizeof *end);
	uint32_t *order = pm_tree_order(t);

	pm_buf_room(to, folded_size(t, event, at));
	for (size_t i = 0; i < t->n; i++) {
		const struct pm_tree_node *n = t->node + order[i];
		const uint64_t v = pm_tree_self(t, order[i], event);

		if (!order[i])
			continue;
		path.n = end[n->depth - 1];
		if (path.n)
			pm_buf_add(&path, ";", 1);
		pm_buf_add(&path, names.p + at[n->function], at[n->function + 1] -
			   at[n->function]);
		end[n->depth] = path.n;
		if (!v)
			continue;
		pm_buf_add(to, path.p, path.n);
		pm_buf_printf(to, " %" PRIu64 "\n", v);
	}
	pm_buf_release(&names);
	pm_buf_release(&path);
	free(order);
	free(at);
	free(end);
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
