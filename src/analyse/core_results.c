/* SPDX-License-Identifier: MIT */
/* core_results.c - what the sink `core` found: counters, the top-down tree, whom to blame */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/core_work.h"
#include "analyse/costs.h"

static const struct { const char *event, *path, *about; } slots[] = {
#define S(name, event, path, about) { event, path, about },
	PM_CORE_SLOT_LIST(S)
#undef S
};

static const struct { const char *name, *about; bool trouble; } blames[] = {
#define B(name, about, trouble) { #name, about, trouble },
	BLAMES(B)
#undef B
};

void pm_core_costs(void *self, struct pm_costs *c)
{
	const struct core_sink *s = self;

	for (unsigned k = 0; s->by && k < BLAME_COUNT; k++) {
		int col = pm_costs_column(c, blames[k].name, blames[k].about, blames[k].trouble);

		for (size_t i = 0; col >= 0 && i < s->by->n; i++) {
			size_t row = pm_costs_row(c, s->by->row[i].pc);

			c->v[col][row] = s->by->row[i].v[k];
		}
	}
	for (unsigned k = 0; s->topdown && k < PM_CORE_SLOTS; k++) {
		int col = pm_costs_column(c, slots[k].event, slots[k].about,
					  k != PM_CORE_SLOT_retiring);

		if (col < 0)
			break;
		c->column[col].own = true;
		for (size_t i = 0; i < s->by->n; i++) {
			size_t row = pm_costs_row(c, s->by->row[i].pc);

			c->v[col][row] = s->by->row[i].slots[k];
		}
	}
}

struct pm_names *pm_core_names(void *self)
{
	struct core_sink *s = self;

	return s->by ? &s->by->names : NULL;
}

static uint64_t stalls(const uint64_t *v)
{
	return v[BLAME_Cbr] + v[BLAME_Cfe] + v[BLAME_Cme] + v[BLAME_Cst] + v[BLAME_Cco];
}

static int by_stalls(const void *a, const void *b)
{
	const struct blamed_row *x = a, *y = b;
	uint64_t i = stalls(x->v), j = stalls(y->v);

	return i != j ? (i < j ? 1 : -1) : x->pc < y->pc ? -1 : x->pc > y->pc;
}

static void blame_result(struct core_sink *s, struct pm_result *r)
{
	struct blamed *b = s->by;

	if (b->n)
		qsort(b->row, b->n, sizeof *b->row, by_stalls);
	pm_map_release(&b->at);		/* rows have moved: no more look-ups */
	pm_result_begin_list(r, "by_instruction");
	for (size_t i = 0; i < b->n && i < s->top && stalls(b->row[i].v); i++) {
		pm_result_begin(r, NULL);
		pm_names_result(&b->names, r, b->row[i].pc);
		for (unsigned k = 0; k < BLAME_COUNT; k++)
			pm_result_u64(r, blames[k].name, b->row[i].v[k],
				      k < BLAME_Cbr ? "times" : "cycles");
		pm_result_end(r);
	}
	pm_result_end(r);
}

/* ---- the top-down tree ----------------------------------------------------------------------- */

/* Slots of all leaves below @path[.n], or of the leaf that it is. */
static uint64_t slots_below(const uint64_t *v, const char *path, size_t n)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < PM_CORE_SLOTS; k++)
		if (!strncmp(slots[k].path, path, n) &&
		    (!slots[k].path[n] || slots[k].path[n] == '.'))
			sum += v[k];
	return sum;
}

static void tree_row(struct pm_result *r, const uint64_t *v, const char *path, size_t n,
		     unsigned level, uint64_t all)
{
	const uint64_t sum = slots_below(v, path, n);
	char name[64];

	snprintf(name, sizeof name, "%.*s", (int)n, path);
	pm_result_begin(r, NULL);
	pm_result_u64(r, "slots", sum, "slots");
	pm_result_f64(r, "share", all ? (double)sum / all : 0, "of all slots");
	pm_result_u64(r, "level", level, NULL);
	pm_result_str(r, "category", name);
	pm_result_end(r);
}

/* Each branch of the tree stands before what is below it. */
static void tree_result(struct core_sink *s, struct pm_result *r, const uint64_t *v)
{
	const uint64_t all = s->c.width * pm_core_stats(s->k)->cycles;
	const char *before = "";

	pm_result_begin_list(r, "top_down");
	for (unsigned k = 0; k < PM_CORE_SLOTS; before = slots[k++].path) {
		const char *path = slots[k].path;
		unsigned level = 1;

		for (size_t n = strcspn(path, "."); ; level++) {
			const bool leaf = !path[n];

			if (strncmp(before, path, n + !leaf))
				tree_row(r, v, path, n, level, all);
			if (leaf)
				break;
			n += 1 + strcspn(path + n + 1, ".");
		}
	}
	pm_result_end(r);
}

struct function_slots { char *name; uint64_t all, v[PM_CORE_SLOTS]; };

static int most_slots(const void *a, const void *b)
{
	const struct function_slots *x = a, *y = b;

	return x->all != y->all ? (x->all < y->all ? 1 : -1) : strcmp(x->name, y->name);
}

static char *function_name(const struct pm_name *n)
{
	const char *slash = n->object ? strrchr(n->object, '/') : NULL;
	char buf[256];

	if (n->function)
		return pm_strdup(n->function);
	snprintf(buf, sizeof buf, "[%s]", slash ? slash + 1 : n->object ? n->object : "?");
	return pm_strdup(buf);
}

static struct function_slots *functions_of(struct blamed *b, size_t *n)
{
	struct function_slots *f = NULL;
	struct pm_map at = { 0 };
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < b->n; i++) {
		struct pm_name name = { 0 };
		bool known = pm_names_at(&b->names, b->row[i].pc, false, &name), fresh;
		/* no function begins at an odd negative address */
		uint64_t key = known && name.function ? name.lo : ~(2 * name.base), *k;

		k = pm_map_put(&at, key, &fresh);
		if (fresh) {
			*k = *n;
			pm_grow(f, *n, cap);
			memset(f + *n, 0, sizeof *f);
			f[(*n)++].name = function_name(&name);
		}
		for (unsigned s = 0; s < PM_CORE_SLOTS; s++) {
			f[*k].v[s] += b->row[i].slots[s];
			f[*k].all += b->row[i].slots[s];
		}
	}
	pm_map_release(&at);
	if (*n)
		qsort(f, *n, sizeof *f, most_slots);
	return f;
}

/* The leaf with the most empty slots, by its last name. */
static const char *worst(const uint64_t *v)
{
	unsigned most = 1;
	const char *dot;

	for (unsigned k = 2; k < PM_CORE_SLOTS; k++)
		most = v[k] > v[most] ? k : most;
	if (!v[most])
		return "";
	dot = strrchr(slots[most].path, '.');
	return dot ? dot + 1 : slots[most].path;
}

static void function_result(struct core_sink *s, struct pm_result *r)
{
	static const struct { const char *name, *path; } part[] = {
		{ "retiring", "retiring" },
		{ "bad_speculation", "bad_speculation" },
		{ "fetch_latency", "frontend_bound.latency" },
		{ "fetch_bandwidth", "frontend_bound.bandwidth" },
		{ "memory_bound", "backend_bound.memory" },
		{ "core_bound", "backend_bound.core" },
	};
	const uint64_t all = s->c.width * pm_core_stats(s->k)->cycles;
	size_t n;
	struct function_slots *f = functions_of(s->by, &n);

	pm_result_begin_list(r, "by_function");
	for (size_t i = 0; i < n; i++) {
		if (i < s->top) {
			pm_result_begin(r, NULL);
			pm_result_u64(r, "slots", f[i].all, "slots");
			pm_result_f64(r, "share", all ? (double)f[i].all / all : 0, "of all slots");
			for (size_t k = 0; k < NR(part); k++)
				pm_result_u64(r, part[k].name,
					      slots_below(f[i].v, part[k].path,
							  strlen(part[k].path)),
					      "slots");
			pm_result_str(r, "mostly", worst(f[i].v));
			pm_result_str(r, "function", f[i].name);
			pm_result_end(r);
		}
		free(f[i].name);
	}
	pm_result_end(r);
	free(f);
}

void core_results(struct core_sink *s, struct pm_result *r)
{
	struct pm_core_stats st;
	const uint64_t *v = pm_core_slots(s->k);

	st = *pm_core_stats(s->k);
	st.branches = s->branches;
	st.instructions -= s->continued;
	pm_result_begin(r, "core");
	pm_result_u64(r, "width", s->c.width, "micro-ops/cycle");
	pm_result_u64(r, "rob", s->c.rob, "micro-ops");
#define S(field, unit, about) pm_result_u64(r, #field, st.field, unit);
	PM_CORE_STATS(S)
#undef S
	if (s->c.fdip) {
		const struct pm_core_fdip_stats *f = pm_core_fdip_stats(s->k);

#define S(field, unit, about) pm_result_u64(r, #field, f->field, unit);
		PM_CORE_FDIP_STATS(S)
#undef S
	}
	if (s->paging) {
		const struct paging_stats *t = paging_stats(s->paging);

#define S(field, unit, about) pm_result_u64(r, #field, t->field, unit);
		PAGING_STATS(S)
#undef S
	}
	pm_result_f64(r, "ipc", st.cycles ? (double)st.instructions / st.cycles : 0,
		      "instructions/cycle");
	tree_result(s, r, v);
	if (s->topdown)
		function_result(s, r);
	if (s->by)
		blame_result(s, r);
	pm_result_end(r);
}
