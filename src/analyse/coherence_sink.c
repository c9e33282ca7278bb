/* SPDX-License-Identifier: MIT */
/* coherence_sink.c - configuration, life and results of coherence.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/coherence_state.h"
#include "analyse/conf.h"
#include "analyse/names.h"
#include "analyse/objects.h"

#define DEFAULT_LEVELS "l1i=32k,8way,64;l1d=32k,8way,64;l2=256k,8way,64;l3=8m,16way,64"

/* ---- configuration --------------------------------------------------------------------------- */

static enum pm_status one_word(const struct pm_conf *c, const struct pm_conf_item *it,
			       const char *want, struct pm_err *err)
{
	if (it->n == 1 && !it->field[0].val && !strcmp(it->field[0].key, want))
		return PM_OK;
	return pm_conf_fail(c, it, err, "expected %s=%s", it->name, want);
}

static enum pm_status setting(struct pm_coherence_conf *cc, struct pm_conf *c,
			      const struct pm_conf_item *it, struct pm_buf *levels,
			      struct pm_err *err)
{
	const char *value = it->n == 1 ? it->field[0].key : "";
	uint64_t v;

	if (!strcmp(it->name, "cores")) {
		if (pm_conf_u64(c, it, value, "cores", 1, PM_COHERENCE_CORES, &v, err))
			return PM_ERR;
		cc->cores = (uint32_t)v;
	} else if (!strcmp(it->name, "top")) {
		return pm_conf_u64(c, it, value, "entries listed", 1, 1000000, &cc->top, err);
	} else if (!strcmp(it->name, "spaces")) {
		cc->shared = true;
		return one_word(c, it, "shared", err);
	} else if (!strcmp(it->name, "objects")) {
		cc->objects = true;
		if (it->n)
			return pm_conf_fail(c, it, err, "it stands alone");
	} else if (it->name[0] == 'l' && it->name[1] >= '1' && it->name[1] <= '9') {
		pm_conf_put(it, levels);
	} else {
		return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
				       "l1i, l1d, l2, l3, cores=N, top=N, spaces=shared, objects");
	}
	return PM_OK;
}

static enum pm_status plain_level(const struct pm_conf *c, const struct pm_level_conf *l,
				  const struct pm_level_conf *first, struct pm_err *err)
{
	const struct pm_conf_item it = { .name = l->name };

	if (l->policy != PM_LRU || !l->wb || !l->wa || l->incl == PM_EXCL || l->sub || l->victim ||
	    l->wbuf || l->prefetch || l->three_c || l->nofetch || l->drain)
		return pm_conf_fail(c, &it, err, "coherent caches have size, ways and line only; "
				    "they are lru, wb, wa and inclusive");
	if (l->line < 16)
		return pm_conf_fail(c, &it, err, "lines have at least 16 bytes");
	if (l->line != first->line)
		return pm_conf_fail(c, &it, err, "lines of %u bytes, and %s has lines of %u; "
				    "coherent caches have one line size", l->line, first->name,
				    first->line);
	return PM_OK;
}

/* Which level is which. */
static enum pm_status assign(struct pm_coherence_conf *cc, const struct pm_conf *c,
			     struct pm_err *err)
{
	const struct pm_cache_conf *l = &cc->caches;

	cc->l1i = cc->l1d = cc->l2 = -1;
	cc->last = (int)l->n - 1;
	for (unsigned i = 0; i < l->n; i++) {
		const struct pm_level_conf *v = l->level + i;
		const struct pm_conf_item it = { .name = v->name };
		int *to = v->depth == 1 ? v->side == 'i' ? &cc->l1i : &cc->l1d : &cc->l2;

		if (plain_level(c, v, l->level, err))
			return PM_ERR;
		if (v->depth == 1 ? !v->side : v->side)
			return pm_conf_fail(c, &it, err, "first levels are l1i and l1d, those "
					    "below have no side");
		if (i == l->n - 1u)
			break;
		if (*to >= 0)
			return pm_conf_fail(c, &it, err, "cores have l1i, l1d and one level below; "
					    "the last level is shared");
		*to = (int)i;
	}
	if (cc->l1d < 0 || cc->last < 1 || l->level[cc->last].depth == 1)
		return pm_conf_fail(c, NULL, err, "cores need l1d=..., and share a level below: "
				    "l2=... or l3=...");
	for (int i = 0; i < cc->last; i++) {
		const struct pm_conf_item it = { .name = l->level[i].name };
		const int below = l->level[i].depth == 1 && cc->l2 >= 0 ? cc->l2 : cc->last;

		if (l->level[i].size > l->level[below].size)
			return pm_conf_fail(c, &it, err, "larger than %s, which includes it",
					    l->level[below].name);
	}
	return PM_OK;
}

enum pm_status pm_coherence_conf_parse(struct pm_coherence_conf *cc, const char *text,
				       struct pm_err *err)
{
	struct pm_buf levels = { 0 };
	struct pm_conf c;
	enum pm_status s = pm_conf_parse(&c, "coherence", text, err);

	*cc = (struct pm_coherence_conf){ .cores = 8, .top = 20 };
	for (size_t i = 0; !s && i < c.n; i++)
		s = setting(cc, &c, c.item + i, &levels, err);
	if (!levels.n)
		pm_buf_printf(&levels, DEFAULT_LEVELS);
	pm_buf_add(&levels, "", 1);
	if (!s)
		s = pm_cache_conf_parse(&cc->caches, "coherence", (const char *)levels.p, err);
	if (!s)
		s = assign(cc, &c, err);
	pm_buf_release(&levels);
	pm_conf_release(&c);
	return s;
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct own_cache own_new(const struct pm_coherence_conf *cc, int level)
{
	const struct pm_level_conf *l = cc->caches.level + level;
	const uint64_t lines = level < 0 ? 0 : l->size / l->line;

	if (level < 0)
		return (struct own_cache){ 0 };
	return (struct own_cache){ .way = pm_alloc(lines * sizeof(uint64_t)),
				   .set_mask = lines / l->ways - 1,
				   .shift = (unsigned)__builtin_ctz(l->line), .ways = l->ways };
}

static void last_new(struct pm_coherence *c)
{
	const struct pm_level_conf *l = c->conf.caches.level + c->conf.last;
	const uint64_t lines = l->size / l->line;

	c->last = (struct shared_cache){
		.key = pm_alloc(lines * sizeof *c->last.key),
		.used = pm_alloc(lines * sizeof *c->last.used),
		.dir = pm_alloc(lines * sizeof *c->last.dir),
		.set_mask = lines / l->ways - 1, .shift = c->line_shift, .ways = l->ways,
	};
	for (uint64_t i = 0; i < lines; i++)
		c->last.key[i] = 1;
}

struct pm_coherence *pm_coherence_new(const char *config, struct pm_err *err)
{
	struct pm_coherence_conf cc;
	struct pm_coherence *c;

	if (pm_coherence_conf_parse(&cc, config, err))
		return NULL;
	c = pm_alloc(sizeof *c);
	c->conf = cc;
	c->line_shift = (unsigned)__builtin_ctz(cc.caches.level[0].line);
	c->grain_shift = c->line_shift > 6 ? c->line_shift - 6 : 0;
	c->line_mask = ~(uint64_t)0 << c->line_shift;
	c->core = pm_alloc_lines(cc.cores * sizeof *c->core);
	for (unsigned i = 0; i < cc.cores; i++)
		c->core[i] = (struct core){ own_new(&cc, cc.l1i), own_new(&cc, cc.l1d),
					    own_new(&cc, cc.l2), .last_fetch = 1 };
	last_new(c);
	for (size_t i = 0; i < KNOWN_LINES; i++)
		c->known[i].key = 1;	/* no line's */
	return c;
}

void pm_coherence_free(struct pm_coherence *c)
{
	if (!c)
		return;
	for (unsigned i = 0; i < c->conf.cores; i++) {
		free(c->core[i].l1i.way);
		free(c->core[i].l1d.way);
		free(c->core[i].l2.way);
	}
	free(c->core);
	free(c->last.key);
	free(c->last.used);
	free(c->last.dir);
	coherence_lines_free(c);
	pm_map_release(&c->segment);
	free(c->segment_high);
	free(c->stream);
	free(c);
}

const struct pm_coherence_conf *pm_coherence_config(const struct pm_coherence *c)
{
	return &c->conf;
}

const struct pm_core_counts *pm_coherence_core(const struct pm_coherence *c, unsigned core)
{
	return &c->core[core].n;
}

const struct pm_shared_counts *pm_coherence_shared(const struct pm_coherence *c)
{
	return &c->shared;
}

/* ---- the sink ------------------------------------------------------------------------------- */

struct coherence_sink {
	struct pm_coherence *c;
	struct pm_objects *objects;	/* NULL: nobody asked */
	struct pm_names names;
};

struct pm_names *pm_coherence_names(void *self)
{
	return &((struct coherence_sink *)self)->names;
}

static void *create(const char *config, struct pm_err *err)
{
	struct pm_coherence *c = pm_coherence_new(config, err);
	struct coherence_sink *s;

	if (!c)
		return NULL;
	s = pm_alloc(sizeof *s);
	s->c = c;
	s->objects = c->conf.objects ? pm_objects_new() : NULL;
	return s;
}

/* What lies there is asked when the line is noticed: heap blocks come and go. */
static void name_lines(struct coherence_sink *s, uint32_t stream)
{
	struct pm_coherence *c = s->c;

	for (size_t i = 0; s->objects && i < c->nfresh; i++) {
		struct coherence_line *l = c->line + c->fresh[i];
		const uint64_t high = c->segment_high[l->key >> 48];
		const uint64_t at = (l->key & 0xffffffffffff) | high << 48;
		char buf[400];
		const char *name = pm_objects_at(s->objects, stream, at + l->pair->missed_at, buf,
						 sizeof buf);

		l->object = name ? pm_strdup(name) : NULL;
	}
	c->nfresh = 0;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct coherence_sink *s = self;

	pm_names_learn(&s->names, b->code);
	if (s->objects)
		pm_objects_batch(s->objects, b);
	if (pm_coherence_batch(s->c, b, err))
		return PM_ERR;
	name_lines(s, b->stream ? b->stream->index : 0);
	if (s->c->nsegment > 65535)
		return pm_fail_file(err, "coherence: more than 65535 address spaces; spaces=shared "
					 "treats all as one");
	return PM_OK;
}

/* Where something happened, as "KEY": a function and offset, or the address; "KEY_line". */
static void put_place(struct pm_names *names, struct pm_result *r, const char *key, uint64_t pc)
{
	char buf[300], line[40];
	const char *text;

	pm_names_put(names, r, key, pc);
	text = pm_line_of(names, pc, buf, sizeof buf);
	snprintf(line, sizeof line, "%s_line", key);
	pm_result_str(r, line, text ? text : "-");
}

static void put_object(struct coherence_sink *s, struct pm_result *r, const char *key,
		       const struct pm_sharing_line *l, unsigned at)
{
	struct pm_name n;
	char buf[400];
	const uint64_t addr = l->line + at;

	if (pm_names_variable(&s->names, addr, &n) && n.function) {
		snprintf(buf, sizeof buf, "%.300s+%llu", n.function,
			 (unsigned long long)(addr - n.lo));
		pm_result_str(r, key, buf);
	} else {
		pm_result_str(r, key, l->object ? l->object : "-");
	}
}

static void put_counts(struct pm_result *r, const struct pm_core_counts *n)
{
#define C(name, unit, about) pm_result_u64(r, #name, n->name, unit);
	PM_CORE_COUNTS(C)
#undef C
}

static void put_cores(const struct pm_coherence *c, struct pm_result *r)
{
	struct pm_core_counts all = { 0 };

	for (unsigned k = 0; k < c->conf.cores; k++) {
#define C(name, unit, about) all.name += c->core[k].n.name;
		PM_CORE_COUNTS(C)
#undef C
	}
	pm_result_begin(r, "all_cores");
	put_counts(r, &all);
	pm_result_end(r);
	pm_result_begin_list(r, "by_core");
	for (unsigned k = 0; k < c->conf.cores; k++) {
		const struct pm_core_counts *n = &c->core[k].n;

		if (!n->fetches && !n->reads && !n->writes)
			continue;
		pm_result_begin(r, NULL);
		pm_result_u64(r, "core", k, NULL);
		put_counts(r, n);
		pm_result_end(r);
	}
	pm_result_end(r);
}

struct listed_pair { const struct pm_sharing_line *l; const struct pm_sharing_pair *p; };

static int by_pair(const void *a, const void *b)
{
	const struct listed_pair *x = a, *y = b;

	if (x->p->falsely != y->p->falsely)
		return x->p->falsely < y->p->falsely ? 1 : -1;
	if (x->p->truly != y->p->truly)
		return x->p->truly < y->p->truly ? 1 : -1;
	if (x->l->line != y->l->line)
		return x->l->line < y->l->line ? -1 : 1;
	if (x->p->missed != y->p->missed)
		return x->p->missed < y->p->missed ? -1 : 1;
	return x->p->wrote < y->p->wrote ? -1 : x->p->wrote > y->p->wrote;
}

static void put_pairs(struct coherence_sink *s, const struct pm_sharing_line *l, size_t n,
		      struct pm_result *r)
{
	struct listed_pair *v = NULL;
	size_t k = 0, cap = 0;

	for (size_t i = 0; i < n; i++)
		for (const struct pm_sharing_pair *p = l[i].pair; p; p = p->next) {
			pm_grow(v, k, cap);
			v[k++] = (struct listed_pair){ l + i, p };
		}
	if (k)
		qsort(v, k, sizeof *v, by_pair);
	pm_result_begin_list(r, "sides");
	for (size_t i = 0; i < k && i < s->c->conf.top; i++) {
		const struct pm_sharing_pair *p = v[i].p;

		pm_result_begin(r, NULL);
		pm_result_u64(r, "false_sharing", p->falsely, "misses");
		pm_result_u64(r, "true_sharing", p->truly, "misses");
		pm_result_hex(r, "line", v[i].l->line);
		put_place(&s->names, r, "missed", p->missed);
		put_object(s, r, "missed_on", v[i].l, p->missed_at);
		put_place(&s->names, r, "wrote", p->wrote);
		put_object(s, r, "wrote_to", v[i].l, p->wrote_at);
		pm_result_end(r);
	}
	pm_result_end(r);
	free(v);
}

static void put_lines(struct coherence_sink *s, struct pm_result *r)
{
	size_t n, falsely = 0;
	struct pm_sharing_line *l = pm_coherence_lines(s->c, &n);

	for (size_t i = 0; i < n; i++)
		falsely += l[i].falsely > 0;
	pm_result_u64(r, "shared_lines", n, "lines with coherence misses");
	pm_result_u64(r, "falsely_shared_lines", falsely, "lines");
	pm_result_begin_list(r, "lines");
	for (size_t i = 0; i < n && i < s->c->conf.top; i++) {
		pm_result_begin(r, NULL);
		pm_result_hex(r, "line", l[i].line);
		pm_result_u64(r, "false_sharing", l[i].falsely, "misses");
		pm_result_u64(r, "true_sharing", l[i].truly, "misses");
		pm_result_u64(r, "invalidations", l[i].invalidations, "lines");
		pm_result_u64(r, "cores", l[i].cores, "cores");
		put_object(s, r, "object", l + i, l[i].pair ? l[i].pair->missed_at : 0);
		pm_result_end(r);
	}
	pm_result_end(r);
	put_pairs(s, l, n, r);
	free(l);
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct coherence_sink *s = self;
	struct pm_coherence *c = s->c;

	(void)err;
	pm_coherence_end(c);
	name_lines(s, 0);
	if (!r)
		return PM_OK;
	pm_result_begin(r, "coherence");
	pm_result_u64(r, "cores", c->conf.cores, "cores");
	pm_result_begin(r, "last_level");
	pm_result_u64(r, "requests", c->shared.requests, "lookups");
	pm_result_u64(r, "misses", c->shared.misses, "lookups");
	pm_result_u64(r, "replaced", c->shared.replaced, "lines");
	pm_result_u64(r, "memory_writes", c->shared.memory_writes, "lines");
	pm_result_end(r);
	put_cores(c, r);
	put_lines(s, r);
	pm_result_end(r);
	return PM_OK;
}

static void destroy(void *self)
{
	struct coherence_sink *s = self;

	if (!s)
		return;
	pm_coherence_free(s->c);
	pm_objects_free(s->objects);
	pm_names_release(&s->names);
	free(s);
}

const struct pm_sink_ops pm_sim_coherence = {
	.abi = PM_ABI, .needs = PM_HAS_REFS, .name = "coherence",
	.about = "cores with caches of their own (MESI): misses by kind, false sharing",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
