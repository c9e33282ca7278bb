/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bpred.h"
#include "analyse/cache_sim.h"
#include "analyse/conf.h"
#include "analyse/course.h"
#include "trace/penn.h"

/* ---- in order ------------------------------------------------------------------------------- */

void pm_inorder_init(struct pm_inorder *p, unsigned latency, unsigned width)
{
	memset(p, 0, sizeof *p);
	p->latency = latency;
	p->width = width;
}

/* HOT: once per micro-op. Instead of counting registers down, remember when each is ready; register
 * 255 stands for none and is always ready. */
void pm_inorder_run(struct pm_inorder *p, const struct pm_uop *u, size_t n)
{
	uint64_t cycle = p->cycle;
	unsigned slots = p->slots;
	const unsigned width = p->width, latency = p->latency;

	for (size_t i = 0; i < n; i++) {
		uint64_t a = p->ready[(uint8_t)u[i].src1], b = p->ready[(uint8_t)u[i].src2];
		uint64_t need = a > b ? a : b;

		if (slots == width) {
			cycle++;
			slots = 0;
		}
		if (need > cycle) {
			cycle = need;
			slots = 0;
		}
		slots++;
		p->ready[(uint8_t)u[i].dest] = cycle + (u[i].access == PM_UOP_LOAD ? latency : 1);
		p->ready[255] = 0;
	}
	p->cycle = cycle;
	p->slots = slots;
	p->insns += n;
}

uint64_t pm_inorder_cycles(const struct pm_inorder *p)
{
	return p->insns ? p->cycle + 1 : 0;
}

#define SWEEP_LATENCY 15
#define SWEEP_WIDTH 8

struct inorder {
	struct pm_inorder p[1 + SWEEP_LATENCY + SWEEP_WIDTH];
	unsigned n;
	uint64_t macros;
	/* debug: counters, cycle by cycle */
	char *path;
	FILE *debug;
	unsigned counter[256], slots;
	uint64_t cycle, number;
};

static FILE *open_debug(const char *what, const char *path, struct pm_err *err)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "w") : stdout;

	if (!f)
		pm_fail_file(err, "%s: debug=%s: %s", what, path, strerror(errno));
	return f;
}

static void inorder_destroy(void *self)
{
	struct inorder *s = self;

	if (s && s->debug && s->debug != stdout)
		fclose(s->debug);
	if (s)
		free(s->path);
	free(s);
}

static enum pm_status inorder_parse(struct inorder *s, struct pm_conf *c, struct pm_err *err)
{
	uint64_t latency = 2, width = 1;
	bool sweep = false;

	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *v = it->n == 1 ? it->field[0].key : "";

		if (!strcmp(it->name, "sweep") && !it->n) {
			sweep = true;
		} else if (!strcmp(it->name, "latency")) {
			if (pm_conf_u64(c, it, v, "cycles of a load", 1, 1000, &latency, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "width")) {
			if (pm_conf_u64(c, it, v, "micro-ops per cycle", 1, 64, &width, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "debug") && *v) {
			free(s->path);
			s->path = pm_strdup(v);
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"latency=N, width=N, sweep, debug=FILE");
		}
	}
	pm_inorder_init(s->p + s->n++, latency, width);
	for (unsigned l = 1; sweep && l <= SWEEP_LATENCY; l++)
		pm_inorder_init(s->p + s->n++, l, 1);
	for (unsigned w = 1; sweep && w <= SWEEP_WIDTH; w++)
		pm_inorder_init(s->p + s->n++, latency, w);
	if (s->path && !(s->debug = open_debug("inorder", s->path, err)))
		return PM_ERR;
	return PM_OK;
}

static void *inorder_create(const char *config, struct pm_err *err)
{
	struct inorder *s = pm_alloc(sizeof *s);
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "inorder", config, err);

	if (!st)
		st = inorder_parse(s, &c, err);
	pm_conf_release(&c);
	if (!st)
		return s;
	inorder_destroy(s);
	return NULL;
}

static void inorder_debug(struct inorder *s, const struct pm_uop *u)
{
	bool a, b;

	s->number++;
	for (;;) {
		if (s->slots == s->p->width) {
			for (unsigned r = 0; r < 256; r++)
				s->counter[r] -= s->counter[r] > 0;
			s->cycle++;
			s->slots = 0;
		}
		a = u->src1 < 0 || !s->counter[u->src1];
		b = u->src2 < 0 || !s->counter[u->src2];
		fprintf(s->debug, "%5" PRIu64 "%6" PRIu64 " %2d %-11s%2d %-11s -> %2d  %c  ",
			s->cycle, s->number, u->src1, a ? "(Ready)" : "(NotReady)", u->src2,
			b ? "(Ready)" : "(NotReady)", u->dest, penn_letter(PENN_ACCESS, u->access));
		for (unsigned r = 0; r < 50; r++) {
			if (s->counter[r] > 9)
				putc('+', s->debug);
			else
				putc(s->counter[r] ? '0' + (int)s->counter[r] : '-', s->debug);
		}
		putc('\n', s->debug);
		if (a && b)
			break;
		s->slots = s->p->width;		/* in order: nothing else this cycle */
	}
	s->slots++;
	if (u->dest >= 0)
		s->counter[u->dest] = u->access == PM_UOP_LOAD ? s->p->latency : 1;
}

static enum pm_status inorder_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct inorder *s = self;

	for (size_t i = 0; i < b->nuop; i++) {
		if (b->uop[i].src1 > 254 || b->uop[i].src2 > 254 || b->uop[i].dest > 254)
			return pm_fail_file(err, "inorder: register number above 254");
		s->macros += b->uop[i].index == 1;
		if (s->debug)
			inorder_debug(s, b->uop + i);
	}
	for (unsigned k = 0; k < s->n; k++)
		pm_inorder_run(s->p + k, b->uop, b->nuop);
	return PM_OK;
}

static enum pm_status inorder_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct inorder *s = self;

	if (s->debug && (fflush(s->debug) || ferror(s->debug)))
		return pm_fail_errno(err, "inorder: debug=%s", s->path);
	if (!r)
		return PM_OK;
	pm_result_begin(r, "inorder");
	pm_result_u64(r, "latency", s->p->latency, "cycles");
	pm_result_u64(r, "width", s->p->width, "micro-ops/cycle");
	pm_result_u64(r, "uops", s->p->insns, "micro-ops");
	pm_result_u64(r, "instructions", s->macros, "instructions");
	pm_result_u64(r, "cycles", pm_inorder_cycles(s->p), "cycles");
	pm_result_f64(r, "cpi", s->p->insns ? (double)pm_inorder_cycles(s->p) / s->p->insns : 0,
		      "cycles/micro-op");
	if (s->n > 1) {
		pm_result_begin_list(r, "sweep");
		for (unsigned k = 1; k < s->n; k++) {
			pm_result_begin(r, NULL);
			pm_result_u64(r, "latency", s->p[k].latency, "cycles");
			pm_result_u64(r, "width", s->p[k].width, "micro-ops/cycle");
			pm_result_u64(r, "cycles", pm_inorder_cycles(s->p + k), "cycles");
			pm_result_f64(r, "cpi",
				      s->p->insns
					      ? (double)pm_inorder_cycles(s->p + k) / s->p->insns
					      : 0,
				      "cycles/micro-op");
			pm_result_end(r);
		}
		pm_result_end(r);
	}
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_inorder = {
	.abi = PM_ABI, .needs = PM_HAS_UOPS, .name = "inorder",
	.about = "in-order pipeline with a scoreboard (micro-op traces)",
	.create = inorder_create, .consume = inorder_consume, .finish = inorder_finish,
	.destroy = inorder_destroy,
};

/* ---- out of order --------------------------------------------------------------------------- */

#define ARCH 256		/* 50 are the course's; traces may name up to 255 */
#define FLAGS_REG 49
#define NONE (-1)

struct course_slot {
	struct pm_uop u;
	uint64_t at[4];			/* fetch, issue, done, commit */
	int map[5][2];			/* three sources, two destinations: architectural,
					 * physical */
	int freed[2];			/* what the destinations were mapped to before */
	int src[3];			/* physical, NONE */
	uint8_t access;			/* enum pm_uop_access */
	bool mispredicted;
};

struct pm_ooo {
	struct pm_ooo_conf c;
	struct pm_ooo_hooks h;
	struct pm_ooo_stats st;
	struct course_slot *rob;		/* ring; slot of micro-op k is k & mask, so ages
						 * are plain numbers */
	uint64_t mask, head, tail;	/* oldest, next to be fetched */
	uint64_t *wait;			/* numbers of the micro-ops that have not issued, oldest
					 * first */
	unsigned nwait;
	uint64_t *store;		/* numbers of stores in the ROB, oldest first */
	unsigned nstore;
	int map[ARCH];
	int *free_list;			/* ring of physical registers */
	unsigned free_at, nfree, nphys;
	uint64_t *ready;		/* by physical register: cycle from which it can be read */
	uint64_t cycle, fetch_from;	/* fetch_from UINT64_MAX: waits for a branch */
	struct pm_uop *in;		/* fetched when a whole group is there */
	size_t nin, cap_in;
};

struct pm_ooo *pm_ooo_from(const struct pm_ooo_conf *c)
{
	struct pm_ooo *o = pm_alloc(sizeof *o);
	uint64_t n = 1;

	o->c = *c;
	while (n < c->rob)
		n *= 2;
	o->mask = n - 1;
	o->rob = pm_alloc(n * sizeof *o->rob);
	o->wait = pm_alloc((c->rob + 1) * sizeof *o->wait);
	o->store = pm_alloc((c->rob + 1) * sizeof *o->store);
	/* two destinations per micro-op at most: registers never run out */
	o->nphys = ARCH + 2 * c->rob;
	o->ready = pm_alloc(o->nphys * sizeof *o->ready);
	o->free_list = pm_alloc(o->nphys * sizeof *o->free_list);
	for (int r = 0; r < ARCH; r++)
		o->map[r] = r < 50 ? r
				   : (int)o->nphys - ARCH + r; /* those above 49 out of the way */
	for (unsigned p = 50; p < o->nphys - (ARCH - 50); p++)
		o->free_list[o->nfree++] = p;
	return o;
}

void pm_ooo_hooks(struct pm_ooo *o, const struct pm_ooo_hooks *h)
{
	o->h = *h;
}

void pm_ooo_free(struct pm_ooo *o)
{
	if (!o)
		return;
	free(o->in);
	free(o->rob);
	free(o->wait);
	free(o->store);
	free(o->ready);
	free(o->free_list);
	free(o);
}

const struct pm_ooo_stats *pm_ooo_stats(const struct pm_ooo *o)
{
	return &o->st;
}

static void commit(struct pm_ooo *o)
{
	for (unsigned n = 0; n < o->c.width && o->head < o->tail; n++) {
		struct course_slot *s = o->rob + (o->head & o->mask);

		if (s->at[2] > o->cycle)
			break;
		s->at[3] = o->cycle;
		for (int k = 0; k < 2; k++)
			if (s->freed[k] != NONE)
				o->free_list[(o->free_at + o->nfree++) % o->nphys] = s->freed[k];
		if (s->access == PM_UOP_STORE)
			memmove(o->store, o->store + 1, --o->nstore * sizeof *o->store);
		if (o->h.commit)
			o->h.commit(o->h.to, &s->u, s->at, s->map, s->freed);
		o->head++;
	}
}

static bool memory_ready(const struct pm_ooo *o, uint64_t number, const struct course_slot *s)
{
	if (s->access != PM_UOP_LOAD || o->c.mem == PM_OOO_IGNORE)
		return true;
	for (unsigned i = 0; i < o->nstore && o->store[i] < number; i++) {
		const struct course_slot *t = o->rob + (o->store[i] & o->mask);

		if (t->at[2] > o->cycle &&
		    (o->c.mem == PM_OOO_CONSERVATIVE || t->u.mem == s->u.mem))
			return false;
	}
	return true;
}

/* HOT: looks at what waits, every cycle. */
static void issue(struct pm_ooo *o)
{
	const uint64_t now = o->cycle;
	unsigned n = 0, left = 0, i;

	for (i = 0; i < o->nwait && n < o->c.width; i++) {
		uint64_t number = o->wait[i];
		struct course_slot *s = o->rob + (number & o->mask);
		unsigned latency = 1;

		if ((s->src[0] != NONE && o->ready[s->src[0]] > now) ||
		    (s->src[1] != NONE && o->ready[s->src[1]] > now) ||
		    (s->src[2] != NONE && o->ready[s->src[2]] > now) ||
		    !memory_ready(o, number, s)) {
			o->wait[left++] = number;
			continue;
		}
		if (s->access == PM_UOP_LOAD) {
			latency = o->c.load;
			o->st.loads++;
		}
		if (s->access && o->h.miss && o->h.miss(o->h.to, &s->u) &&
		    s->access == PM_UOP_LOAD) {
			latency += o->c.miss;
			o->st.load_misses++;
		}
		s->at[1] = now;
		s->at[2] = now + latency;
		for (int k = 3; k < 5; k++)
			if (s->map[k][0] != NONE)
				o->ready[s->map[k][1]] = now + latency;
		if (s->mispredicted)
			o->fetch_from = now + latency + o->c.restart;
		n++;
	}
	if (left != i)
		memmove(o->wait + left, o->wait + i, (o->nwait - i) * sizeof *o->wait);
	o->nwait -= i - left;
}

static int new_register(struct pm_ooo *o)
{
	int p = o->free_list[o->free_at];

	o->free_at = (o->free_at + 1) % o->nphys;
	o->nfree--;
	o->ready[p] = UINT64_MAX;
	return p;
}

static void rename_one(struct pm_ooo *o, const struct pm_uop *u)
{
	struct course_slot *s = o->rob + (o->tail & o->mask);
	int src[3] = { u->src1, u->src2, u->flag_use == PM_UOP_READS_FLAGS ? FLAGS_REG : NONE };
	int dst[2] = { u->dest, u->flag_use == PM_UOP_WRITES_FLAGS ? FLAGS_REG : NONE };

	s->u = *u;
	s->at[0] = o->cycle;
	s->at[1] = s->at[3] = 0;
	s->at[2] = UINT64_MAX;
	s->access = u->access;
	for (int k = 0; k < 3; k++) {
		s->src[k] = src[k] < 0 ? NONE : o->map[src[k]];
		s->map[k][0] = src[k] < 0 ? NONE : src[k];
		s->map[k][1] = s->src[k];
	}
	for (int k = 0; k < 2; k++) {
		s->freed[k] = s->map[3 + k][0] = s->map[3 + k][1] = NONE;
		if (dst[k] < 0)
			continue;
		s->freed[k] = o->map[dst[k]];
		s->map[3 + k][0] = dst[k];
		s->map[3 + k][1] = o->map[dst[k]] = new_register(o);
	}
	o->wait[o->nwait++] = o->tail;
	if (s->access == PM_UOP_STORE)
		o->store[o->nstore++] = o->tail;
	s->mispredicted = false;
	if (u->target && u->flag_use == PM_UOP_READS_FLAGS) {
		o->st.branches++;
		if (o->h.mispredict && o->h.mispredict(o->h.to, u)) {
			s->mispredicted = true;
			o->st.mispredicted++;
			o->fetch_from = UINT64_MAX;
		}
	}
	o->tail++;
	o->st.uops++;
	o->st.macros += u->index == 1;
}

/* One cycle, with @n micro-ops to fetch from; returns how many it took. */
static size_t one_cycle(struct pm_ooo *o, const struct pm_uop *u, size_t n)
{
	size_t k = 0;

	commit(o);
	issue(o);
	while (k < o->c.width && k < n && o->tail - o->head < o->c.rob &&
	       o->fetch_from <= o->cycle) {
		rename_one(o, u + k++);
		if (u[k - 1].outcome == PM_UOP_TAKEN)
			break;
	}
	o->cycle++;
	return k;
}

void pm_ooo_run(struct pm_ooo *o, const struct pm_uop *u, size_t n)
{
	size_t i = 0;

	if (o->nin + n > o->cap_in) {
		o->cap_in = (o->nin + n) * 2;
		o->in = pm_realloc(o->in, o->cap_in * sizeof *o->in);
	}
	memcpy(o->in + o->nin, u, n * sizeof *u);
	o->nin += n;
	/* a cycle runs only when a whole group is there, so that batches leave no trace in the
	 * timing */
	while (o->nin - i >= o->c.width)
		i += one_cycle(o, o->in + i, o->nin - i);
	memmove(o->in, o->in + i, (o->nin -= i) * sizeof *o->in);
	o->st.cycles = o->cycle;
}

void pm_ooo_end(struct pm_ooo *o)
{
	size_t i = 0;

	while (i < o->nin || o->head < o->tail)
		i += one_cycle(o, o->in + i, o->nin - i);
	o->nin = 0;
	o->st.cycles = o->cycle;
}

/* ---- the sink ------------------------------------------------------------------------------- */

struct ooo {
	struct pm_ooo *o;
	struct pm_ooo_conf c;
	const struct pm_bp_ops *bp;
	struct pm_bp_args args;
	void *predictor;
	struct pm_cache *dcache;
	char *path;
	FILE *debug;
	uint64_t number;
};

static bool ooo_mispredict(void *to, const struct pm_uop *u)
{
	struct ooo *s = to;
	struct pm_br b = { u->pc, u->target,
		PM_BR_COND | (u->outcome == PM_UOP_TAKEN ? PM_BR_TAKEN : 0), 0 };
	uint8_t miss;

	s->bp->run(s->predictor, &b, 1, &miss);
	return miss;
}

static bool ooo_miss(void *to, const struct pm_uop *u)
{
	struct ooo *s = to;

	return pm_cache_access(s->dcache, u->access == PM_UOP_STORE ? PM_OP_WRITE : PM_OP_READ,
			       u->mem, u->msize ? u->msize : 1, false, u->pc) > 0;
}

static void ooo_commit(void *to, const struct pm_uop *u, const uint64_t cycle[4],
		       const int map[5][2], const int freed[2])
{
	struct ooo *s = to;

	fprintf(s->debug, "%" PRIu64 ": %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ",
		++s->number, cycle[0], cycle[1], cycle[2], cycle[3]);
	for (int k = 0; k < 5; k++) {
		if (map[k][0] == NONE)
			continue;
		fprintf(s->debug, " r%d->p%d", map[k][0], map[k][1]);
		if (k >= 3)
			fprintf(s->debug, " [p%d]", freed[k - 3]);
	}
	fprintf(s->debug, " | %s %s\n", u->macro, u->micro);
}

static void ooo_destroy(void *self)
{
	struct ooo *s = self;

	if (!s)
		return;
	pm_ooo_free(s->o);
	if (s->predictor)
		s->bp->destroy(s->predictor);
	pm_cache_free(s->dcache);
	if (s->debug && s->debug != stdout)
		fclose(s->debug);
	free(s->path);
	free(s);
}

static enum pm_status ooo_predictor(struct ooo *s, struct pm_conf *c, const struct pm_conf_item *it,
				    struct pm_err *err)
{
	if (!it->n)
		return pm_conf_fail(c, it, err,
				    "expected bpred=perfect or a predictor, as in bpred=gshare,14");
	if (s->predictor)		/* the last word counts */
		s->bp->destroy(s->predictor);
	s->predictor = NULL;
	s->args = (struct pm_bp_args){ .n = 0 };
	if (!strcmp(it->field[0].key, "perfect"))
		return PM_OK;
	s->bp = pm_bp_find(it->field[0].key);
	if (!s->bp || s->bp->mask != PM_BR_COND)
		return pm_conf_unknown(c, it, err, it->field[0].key,
				       "is not a predictor of conditional branches",
				       "perfect, taken, nottaken, btfn, bimodal,K gshare,K,H "
				       "tournament,K,H tage, tagescl...");
	for (size_t i = 1; i < it->n; i++) {
		if (i > 2 || !s->bp->args[i - 1])
			return pm_conf_fail(c, it, err, "'%s' is one number too many",
					    it->field[i].key);
		if (pm_conf_u64(c, it, it->field[i].key, s->bp->args[i - 1], s->bp->lo[i - 1],
				s->bp->hi[i - 1], s->args.v + i - 1, err))
			return PM_ERR;
		s->args.n++;
	}
	pm_bp_defaults(s->bp, &s->args);
	s->predictor = s->bp->create(&s->args);
	return PM_OK;
}

static enum pm_status ooo_dcache(struct ooo *s, struct pm_conf *c, const struct pm_conf_item *it,
				 struct pm_err *err)
{
	static const char prefix[] = "cache: l1: ";
	struct pm_conf_item l1 = { "l1", it->field, it->n };
	struct pm_buf b = { 0 };
	struct pm_err why = { 0 };
	const char *msg = why.msg;

	pm_conf_put(&l1, &b);
	pm_buf_add(&b, "", 1);
	pm_cache_free(s->dcache);
	s->dcache = pm_cache_new((const char *)b.p, &why);
	pm_buf_release(&b);
	if (s->dcache)
		return PM_OK;
	if (!strncmp(msg, prefix, sizeof prefix - 1))
		msg += sizeof prefix - 1;
	return pm_conf_fail(c, it, err, "%s", msg);
}

static enum pm_status ooo_parse(struct ooo *s, struct pm_conf *c, struct pm_err *err)
{
	static const char *const mems[] = { "ignore", "conservative", "perfect", NULL };
	const struct {
		const char *name; unsigned *to; uint64_t lo, hi; const char *about;
	} keys[] = {
		{ "width", &s->c.width, 1, 64, "micro-ops per cycle" },
		{ "rob", &s->c.rob, 1, 65536, "micro-ops in the reorder buffer" },
		{ "load", &s->c.load, 1, 1000, "cycles of a load that hits" },
		{ "miss", &s->c.miss, 0, 10000, "further cycles of a load that misses" },
		{ "restart", &s->c.restart, 0, 1000,
		  "cycles from a resolved misprediction to fetch" },
	};

	for (size_t i = 0; i < c->n; i++) {
		const struct pm_conf_item *it = c->item + i;
		const char *v = it->n ? it->field[0].key : "";
		bool known = false;
		uint64_t x;
		int w;

		for (size_t k = 0; k < NR(keys) && !known; k++)
			if (!strcmp(keys[k].name, it->name)) {
				if (pm_conf_u64(c, it, v, keys[k].about, keys[k].lo, keys[k].hi, &x,
						err))
					return PM_ERR;
				*keys[k].to = x;
				known = true;
			}
		if (known)
			continue;
		if (!strcmp(it->name, "mem")) {
			w = pm_conf_word(v, mems);
			if (w < 0)
				return pm_conf_unknown(c, it, err, v, "is unknown",
						       "ignore, conservative, perfect");
			s->c.mem = w;
		} else if (!strcmp(it->name, "bpred")) {
			if (ooo_predictor(s, c, it, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "dcache")) {
			if (ooo_dcache(s, c, it, err))
				return PM_ERR;
		} else if (!strcmp(it->name, "debug") && *v) {
			free(s->path);
			s->path = pm_strdup(v);
		} else {
			return pm_conf_unknown(c, NULL, err, it->name, "is not a setting",
					"width, rob, load, miss, restart, mem, bpred, "
					"dcache, debug");
		}
	}
	if (s->path && !(s->debug = open_debug("ooo", s->path, err)))
		return PM_ERR;
	return PM_OK;
}

static void *ooo_create(const char *config, struct pm_err *err)
{
	struct ooo *s = pm_alloc(sizeof *s);
	struct pm_ooo_hooks h = { .to = s };
	struct pm_conf c;
	enum pm_status st = pm_conf_parse(&c, "ooo", config, err);

	s->c = (struct pm_ooo_conf){ 8, 128, 4, 7, 3, PM_OOO_PERFECT };
	if (!st)
		st = ooo_parse(s, &c, err);
	pm_conf_release(&c);
	if (st) {
		ooo_destroy(s);
		return NULL;
	}
	s->o = pm_ooo_from(&s->c);
	h.mispredict = s->predictor ? ooo_mispredict : NULL;
	h.miss = s->dcache ? ooo_miss : NULL;
	h.commit = s->debug ? ooo_commit : NULL;
	pm_ooo_hooks(s->o, &h);
	return s;
}

static enum pm_status ooo_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct ooo *s = self;

	for (size_t i = 0; i < b->nuop; i++)
		if (b->uop[i].src1 > 255 || b->uop[i].src2 > 255 || b->uop[i].dest > 255)
			return pm_fail_file(err, "ooo: register number above 255");
	pm_ooo_run(s->o, b->uop, b->nuop);
	return PM_OK;
}

static enum pm_status ooo_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct ooo *s = self;
	const struct pm_ooo_stats *st = &s->o->st;

	pm_ooo_end(s->o);
	if (s->debug && (fflush(s->debug) || ferror(s->debug)))
		return pm_fail_errno(err, "ooo: debug=%s", s->path);
	if (!r)
		return PM_OK;
	pm_result_begin(r, "ooo");
	pm_result_u64(r, "width", s->c.width, "micro-ops/cycle");
	pm_result_u64(r, "rob", s->c.rob, "micro-ops");
	pm_result_u64(r, "uops", st->uops, "micro-ops");
	pm_result_u64(r, "instructions", st->macros, "instructions");
	pm_result_u64(r, "cycles", st->cycles, "cycles");
	pm_result_f64(r, "uops_per_cycle", st->cycles ? (double)st->uops / st->cycles : 0,
		      "micro-ops/cycle");
	pm_result_f64(r, "ipc", st->cycles ? (double)st->macros / st->cycles : 0,
		      "instructions/cycle");
	pm_result_u64(r, "branches", st->branches, "branches");
	pm_result_u64(r, "mispredictions", st->mispredicted, "branches");
	pm_result_u64(r, "loads", st->loads, "loads");
	pm_result_u64(r, "load_misses", st->load_misses, "loads");
	pm_result_end(r);
	return PM_OK;
}

const struct pm_sink_ops pm_sim_ooo = {
	.abi = PM_ABI, .needs = PM_HAS_UOPS, .name = "ooo",
	.about = "out-of-order core of a course (micro-op traces)",
	.create = ooo_create, .consume = ooo_consume, .finish = ooo_finish, .destroy = ooo_destroy,
};
