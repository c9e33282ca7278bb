/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/conf.h"
#include "analyse/reuse.h"
#include "analyse/split.h"
#include "base/mem.h"

#define EMPTY UINT64_MAX

struct reuse_slot { uint64_t line, time; };

struct pm_reuse {
	/* line -> its last touch */
	struct reuse_slot *slot;
	size_t mask, nline;
	/* bit t: the line touched at t has not been touched since. Counts of set bits per word, per
	 * 64 words, per 4096 words; `slot_at` leads back to the line */
	uint64_t *bits;
	uint8_t *in_word;
	uint16_t *in_block;
	uint32_t *in_super;
	uint64_t *line_at;
	uint64_t now, cap;
	uint64_t last;			/* the previous line: distance 0 needs no search */
	uint64_t window, window_lines;	/* start of the window; lines touched in it */
	uint64_t *hist;
	size_t nhist;
	uint64_t cold, lookups;
	bool keep_first;		/* .first holds lines in the order of their first touches */
	uint64_t *first;
	size_t nfirst, cap_first;
};

static inline size_t hash(uint64_t line)
{
	return (line * 0x9e3779b97f4a7c15u) >> 17;
}

static inline unsigned ones(uint64_t x)		/* without assuming a popcnt instruction */
{
	x -= x >> 1 & 0x5555555555555555u;
	x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
	return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56;
}

static void set_capacity(struct pm_reuse *u, uint64_t cap)
{
	free(u->bits);
	free(u->in_word);
	free(u->in_block);
	free(u->in_super);
	u->cap = cap;
	u->bits = pm_alloc(cap / 8);
	u->in_word = pm_alloc(cap / 64);
	u->in_block = pm_alloc(cap / 4096 * 2);
	u->in_super = pm_alloc((cap / 262144 + 1) * 4);
}

struct pm_reuse *pm_reuse_new(void)
{
	struct pm_reuse *u = pm_alloc(sizeof *u);

	u->mask = 1023;
	u->slot = pm_alloc((u->mask + 1) * sizeof *u->slot);
	memset(u->slot, 0xff, (u->mask + 1) * sizeof *u->slot);
	set_capacity(u, 1 << 16);
	u->line_at = pm_alloc(u->cap * sizeof *u->line_at);
	u->last = EMPTY;
	return u;
}

void pm_reuse_free(struct pm_reuse *u)
{
	if (!u)
		return;
	free(u->slot);
	free(u->bits);
	free(u->in_word);
	free(u->in_block);
	free(u->in_super);
	free(u->line_at);
	free(u->hist);
	free(u->first);
	free(u);
}

static struct reuse_slot *look(const struct pm_reuse *u, uint64_t line)
{
	size_t i = hash(line) & u->mask;

	while (u->slot[i].line != line && u->slot[i].line != EMPTY)
		i = (i + 1) & u->mask;
	return u->slot + i;
}

static void more_slots(struct pm_reuse *u)
{
	struct reuse_slot *old = u->slot;
	size_t n = u->mask + 1;

	u->mask = n * 4 - 1;
	u->slot = pm_alloc((u->mask + 1) * sizeof *old);
	memset(u->slot, 0xff, (u->mask + 1) * sizeof *old);
	for (size_t i = 0; i < n; i++)
		if (old[i].line != EMPTY)
			*look(u, old[i].line) = old[i];
	free(old);
}

static inline void mark(struct pm_reuse *u, uint64_t t)
{
	u->bits[t >> 6] |= 1ull << (t & 63);
	u->in_word[t >> 6]++;
	u->in_block[t >> 12]++;
	u->in_super[t >> 18]++;
}

/* Time is up: the lines' last touches become 0, 1, 2... in their order. */
static void renumber(struct pm_reuse *u)
{
	uint64_t *line_at = u->line_at, n = 0, window = 0, cap = u->cap, *bits = u->bits;
	uint64_t want = 1 << 16;

	while (want < u->nline * 8)
		want *= 2;
	u->bits = NULL;
	u->line_at = want > cap ? pm_alloc(want * sizeof *line_at) : line_at;
	for (uint64_t w = 0; w < cap / 64; w++)
		for (uint64_t m = bits[w]; m; m &= m - 1) {
			uint64_t t = w * 64 + __builtin_ctzll(m);

			if (t < u->window)
				window = n + 1;
			u->line_at[n] = line_at[t];	/* n <= t: nothing is overwritten unread */
			look(u, u->line_at[n])->time = n;
			n++;
		}
	if (u->line_at != line_at)
		free(line_at);
	free(bits);
	set_capacity(u, want > cap ? want : cap);
	u->window = window;
	u->now = n;
	for (uint64_t t = 0; t < n; t++)
		mark(u, t);
}

/* Set bits behind @t and before now. */
static inline uint64_t behind(const struct pm_reuse *u, uint64_t t)
{
	uint64_t w = t >> 6, end_w = u->now >> 6, sum;
	uint64_t b, end_b, s, end_s;

	sum = ones(u->bits[w] >> (t & 63) >> 1);
	if (w == end_w)
		return sum;
	w++;
	for (; (w & 63) && w <= end_w; w++)
		sum += u->in_word[w];
	b = w >> 6;
	end_b = u->now >> 12;
	if (b > end_b || w > end_w)
		return sum;
	for (; (b & 63) && b <= end_b; b++)
		sum += u->in_block[b];
	if (b & 63 || b > end_b)
		return sum;
	for (s = b >> 6, end_s = u->now >> 18; s <= end_s; s++)
		sum += u->in_super[s];
	return sum;
}

static void count_distance(struct pm_reuse *u, uint64_t d)
{
	if (d >= u->nhist) {
		size_t n = u->nhist ? u->nhist : 1024;

		while (n <= d)
			n *= 2;
		u->hist = pm_realloc(u->hist, n * sizeof *u->hist);
		memset(u->hist + u->nhist, 0, (n - u->nhist) * sizeof *u->hist);
		u->nhist = n;
	}
	u->hist[d]++;
}

/* HOT: once per touch. */
void pm_reuse_run(struct pm_reuse *u, const uint64_t *line, size_t n)
{
	uint64_t same = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t x = line[i];
		struct reuse_slot *s;

		if (i + 8 < n)
			__builtin_prefetch(u->slot + (hash(line[i + 8]) & u->mask));
		if (x == u->last) {
			same++;
			continue;
		}
		u->last = x;
		if (u->now == u->cap)
			renumber(u);
		s = look(u, x);
		if (s->line == EMPTY) {
			u->cold++;
			u->window_lines++;
			if (u->keep_first) {
				pm_grow(u->first, u->nfirst, u->cap_first);
				u->first[u->nfirst++] = x;
			}
			if (++u->nline * 2 > u->mask) {
				more_slots(u);
				s = look(u, x);
			}
			s->line = x;
		} else {
			uint64_t t = s->time;

			count_distance(u, behind(u, t));
			if (t < u->window)
				u->window_lines++;
			u->bits[t >> 6] &= ~(1ull << (t & 63));
			u->in_word[t >> 6]--;
			u->in_block[t >> 12]--;
			u->in_super[t >> 18]--;
		}
		s->time = u->now;
		u->line_at[u->now] = x;
		mark(u, u->now++);
	}
	if (same) {
		count_distance(u, 0);
		u->hist[0] += same - 1;
	}
	u->lookups += n;
}

/* ---- in slices: see split.h ----------------------------------------------------------------- */

/* The lines that it knows, in the order of their last touches, into @to. */
static void recent_lines(const struct pm_reuse *u, uint64_t *to)
{
	for (uint64_t w = 0; w < u->cap / 64; w++)
		for (uint64_t m = u->bits[w]; m; m &= m - 1)
			*to++ = u->line_at[w * 64 + __builtin_ctzll(m)];
}

/* Lines and times go, what was counted stays. */
static void forget(struct pm_reuse *u)
{
	memset(u->slot, 0xff, (u->mask + 1) * sizeof *u->slot);
	set_capacity(u, u->cap);
	u->now = u->nline = u->nfirst = 0;
	u->last = EMPTY;
}

/* @line, known already, becomes the one that was touched last. Nothing is counted. */
static void make_last(struct pm_reuse *u, uint64_t line)
{
	struct reuse_slot *s;

	if (u->now == u->cap)
		renumber(u);
	s = look(u, line);
	u->bits[s->time >> 6] &= ~(1ull << (s->time & 63));
	u->in_word[s->time >> 6]--;
	u->in_block[s->time >> 12]--;
	u->in_super[s->time >> 18]--;
	s->time = u->now;
	u->line_at[u->now] = line;
	mark(u, u->now++);
}

const uint64_t *pm_reuse_hist(const struct pm_reuse *u, size_t *n)
{
	*n = u->nhist;
	while (*n && !u->hist[*n - 1])
		--*n;
	return u->hist;
}

uint64_t pm_reuse_cold(const struct pm_reuse *u)
{
	return u->cold;
}

uint64_t pm_reuse_lookups(const struct pm_reuse *u)
{
	return u->lookups;
}

uint64_t pm_reuse_window(struct pm_reuse *u)
{
	uint64_t n = u->window_lines;

	/* the line touched last belongs to the next window too once it is touched again, which the
	 * distance-0 short cut would not notice */
	u->last = EMPTY;
	u->window = u->now;
	u->window_lines = 0;
	return n;
}

static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

int pm_shards_group(uint64_t line, uint64_t rate)
{
	uint64_t h = mix(line + 0x9e3779b97f4a7c15u);

	return (h & 0xffffffff) * rate >> 32 ? -1 : (int)(h >> 32 & 7);
}

/* ---- the sink ------------------------------------------------------------------------------- */

#define GROUPS 8

struct reuse_sink {
	uint64_t line, rate, window, insns_wanted, data_wanted, insns, window_left;
	unsigned shift;
	struct pm_reuse *all, *group[GROUPS];
	uint64_t total;			/* lookups before sampling */
	uint64_t buf[4096], gbuf[4096];
	struct pm_map segment;
	struct pm_map *names;		/* of a part: the whole's, which says the numbers */
	pthread_mutex_t *lock;		/* ... of it */
	uint64_t *ws;			/* working set of each window */
	size_t nws, cap_ws;
};

static void destroy(void *self)
{
	struct reuse_sink *s = self;

	if (!s)
		return;
	pm_reuse_free(s->all);
	for (int g = 0; g < GROUPS; g++)
		pm_reuse_free(s->group[g]);
	pm_map_release(&s->segment);
	free(s->ws);
	free(s);
}

static void *create(const char *config, struct pm_err *err)
{
	struct reuse_sink *s = pm_alloc(sizeof *s);
	const struct pm_conf_key keys[] = {
		{ "line", &s->line, 1, 1u << 30, true, "bytes that count as one: a line, a page" },
		{ "sample", &s->rate, 1, 1 << 20, false, "SHARDS: keep 1 in N lines; 1 is exact" },
		{ "window", &s->window, 1, UINT64_MAX, false,
		  "instructions per point of the working-set curve" },
		{ "insns", &s->insns_wanted, 0, 1, false, "count instruction fetches" },
		{ "data", &s->data_wanted, 0, 1, false, "count data references" },
		{ 0 }
	};

	s->line = 64;
	s->rate = 1;
	s->data_wanted = 1;
	if (pm_conf_keys("reuse", config, keys, err)) {
		free(s);
		return NULL;
	}
	s->shift = __builtin_ctzll(s->line);
	s->window_left = s->window;
	s->all = pm_reuse_new();
	for (int g = 0; g < GROUPS && s->rate > 1; g++)
		s->group[g] = pm_reuse_new();
	return s;
}

static void push(struct reuse_sink *s, const uint64_t *line, size_t n)
{
	size_t m = 0;

	s->total += n;
	if (s->rate == 1) {
		pm_reuse_run(s->all, line, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int g = pm_shards_group(line[i], s->rate);

		if (g < 0)
			continue;
		s->gbuf[m++] = line[i];
		pm_reuse_run(s->group[g], line + i, 1);
	}
	pm_reuse_run(s->all, s->gbuf, m);
}

static uint64_t key_of(struct reuse_sink *s, uint64_t space, uint64_t addr)
{
	uint64_t high = addr >> 48, *v;
	bool fresh;

	if (!space && !high)
		return addr;
	v = pm_map_put(&s->segment, space << 16 | high, &fresh);
	if (fresh && !s->names) {
		*v = s->segment.n;
	} else if (fresh) {
		uint64_t *number;

		pthread_mutex_lock(s->lock);
		number = pm_map_put(s->names, space << 16 | high, &fresh);
		if (fresh)
			*number = s->names->n;
		*v = *number;
		pthread_mutex_unlock(s->lock);
	}
	return (addr & 0xffffffffffff) | *v << 48;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct reuse_sink *s = self;
	uint64_t space = b->stream ? b->stream->space : 0;
	size_t n = 0;

	for (const struct pm_event *e = b->ev, *end = e + b->n; e < end; e++) {
		bool fetch = e->kind == PM_EV_INSN || e->kind == PM_EV_LINE;
		uint64_t at, last;

		if (e->kind == PM_EV_INSN && s->window && !s->window_left--) {
			push(s, s->buf, n);
			n = 0;
			pm_grow(s->ws, s->nws, s->cap_ws);
			s->ws[s->nws++] = pm_reuse_window(s->all) * s->rate;
			s->window_left = s->window - 1;
		}
		if (fetch ? !s->insns_wanted
			  : !s->data_wanted || e->kind < PM_EV_READ || e->kind > PM_EV_MODIFY)
			continue;
		at = key_of(s, space, e->addr);
		last = (at + (e->size ? e->size : 1) - 1) >> s->shift;
		for (at >>= s->shift; at <= last; at++) {
			for (int k = 0; k <= (e->kind == PM_EV_MODIFY); k++)
				s->buf[n++] = at;
			if (n > NR(s->buf) - 2) {
				push(s, s->buf, n);
				n = 0;
			}
		}
	}
	push(s, s->buf, n);
	if (s->segment.n > 65535)
		return pm_fail_file(err, "reuse: more than 65535 address spaces");
	return PM_OK;
}

/* Miss ratio of a cache of @lines lines, from a structure that saw 1 in @rate lines of a trace with
 * @total lookups. Adjusted: what was expected and not seen counts as hits. */
static double miss_ratio(const struct pm_reuse *u, uint64_t rate, uint64_t total, double lines)
{
	size_t n, from = ceil(lines / rate);
	const uint64_t *h = pm_reuse_hist(u, &n);
	uint64_t miss = pm_reuse_cold(u);
	double m;

	if (!total)
		return 0;
	for (size_t d = from; d < n; d++)
		miss += h[d];
	m = (double)miss * rate / total;
	return m > 1 ? 1 : m;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct reuse_sink *s = self;
	const uint64_t *h;
	double worst = 0, sum_err = 0;
	unsigned points = 0;
	size_t n;

	if (!r)
		return PM_OK;
	h = pm_reuse_hist(s->all, &n);
	pm_result_begin(r, "reuse");
	pm_result_u64(r, "line", s->line, "bytes");
	pm_result_u64(r, "lookups", s->total, "lookups");
	pm_result_u64(r, "sample", s->rate, "one line in");
	pm_result_u64(r, "lines", pm_reuse_cold(s->all) * s->rate, "lines");
	pm_result_begin_list(r, "distances");	/* in powers of two: [from, 2 * from) */
	for (size_t from = 0; from < n; from = from ? from * 2 : 1) {
		uint64_t sum = 0;

		for (size_t d = from; d < n && d < (from ? from * 2 : 1); d++)
			sum += h[d];
		pm_result_begin(r, NULL);
		pm_result_u64(r, "from", from * s->rate, "lines");
		pm_result_u64(r, "count", sum * s->rate, "lookups");
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_u64(r, "cold", pm_reuse_cold(s->all) * s->rate, "lookups");
	pm_result_begin_list(r, "miss_ratio_curve");
	/* four points an octave, until nothing misses but first touches */
	for (double lines = 1; ; lines *= 1.189207115002721) {
		double size = floor(lines + 0.5), m;

		if (lines > 1 && size == floor(lines / 1.189207115002721 + 0.5))
			continue;
		m = miss_ratio(s->all, s->rate, s->total, size);
		pm_result_begin(r, NULL);
		pm_result_u64(r, "size", size * s->line, "bytes");
		pm_result_f64(r, "miss_ratio", m, "misses/access");
		if (s->rate > 1) {
			double g[GROUPS], mean = 0, var = 0;

			for (int k = 0; k < GROUPS; k++)
				mean += g[k] = miss_ratio(s->group[k], s->rate * GROUPS, s->total,
							  size);
			mean /= GROUPS;
			for (int k = 0; k < GROUPS; k++)
				var += (g[k] - mean) * (g[k] - mean);
			var = sqrt(var / (GROUPS - 1) / GROUPS);
			pm_result_f64(r, "standard_error", var, "misses/access");
			worst = var > worst ? var : worst;
			sum_err += var;
		}
		points++;
		pm_result_end(r);
		if (size > (double)n * s->rate)
			break;
	}
	pm_result_end(r);
	if (s->rate > 1) {
		pm_result_f64(r, "mean_standard_error", sum_err / points, "misses/access");
		pm_result_f64(r, "worst_standard_error", worst, "misses/access");
	}
	if (s->window) {
		pm_result_u64(r, "window", s->window, "instructions");
		pm_result_begin_list(r, "working_set");
		for (size_t i = 0; i < s->nws; i++) {
			pm_result_begin(r, NULL);
			pm_result_u64(r, "instructions", (i + 1) * s->window, "instructions");
			pm_result_u64(r, "bytes", s->ws[i] * s->line, "bytes");
			pm_result_end(r);
		}
		pm_result_end(r);
	}
	pm_result_end(r);
	return PM_OK;
}

/* ---- by several threads --------------------------------------------------------------------- */
/* What a slice knows is the distance of a line that the slice itself has touched before. The first
 * touches of its lines are left over; done in their order on all lines of the slices before, they
 * have the distances that they have in the whole trace, for what was touched since is behind them.
 * Then the slice's lines are put in the order of their last touches. (Q. Niu and others, "PARDA: A
 * Fast Parallel Reuse Distance Analysis Algorithm", 2012.) */

struct reuse_whole {
	struct reuse_sink *s;
	pthread_mutex_t lock;		/* of the numbers of address spaces */
};

struct reuse_part {
	struct reuse_whole *w;
	struct reuse_sink own;		/* its .all is the slice's, its .segment this thread's */
	uint64_t *recent;
	size_t cap_recent;
};

static unsigned split_stages(const void *whole)
{
	return 1;
}

static void *split_part(void *whole)
{
	struct reuse_part *p = pm_alloc(sizeof *p);

	p->w = whole;
	p->own = *p->w->s;
	p->own.segment = (struct pm_map){ 0 };
	p->own.lock = &p->w->lock;
	p->own.names = &p->w->s->segment;
	p->own.total = 0;
	p->own.all = pm_reuse_new();
	p->own.all->keep_first = true;
	return p;
}

static void split_begin(void *part)
{
	forget(((struct reuse_part *)part)->own.all);
}

static enum pm_status split_consume(void *part, const struct pm_batch *b, struct pm_err *err)
{
	return consume(&((struct reuse_part *)part)->own, b, err);
}

static void split_join(void *part, unsigned stage)
{
	struct reuse_part *p = part;
	struct pm_reuse *u = p->own.all, *all = p->w->s->all;

	if (u->nline > p->cap_recent) {
		free(p->recent);
		p->cap_recent = u->nline * 2;
		p->recent = pm_alloc_unset(p->cap_recent * sizeof *p->recent);
	}
	recent_lines(u, p->recent);
	pm_reuse_run(all, u->first, u->nfirst);
	all->lookups -= u->nfirst;		/* the slice has counted them */
	for (size_t i = 0; i < u->nline; i++)
		make_last(all, p->recent[i]);
	all->last = EMPTY;
}

static void split_part_end(void *part)
{
	struct reuse_part *p = part;
	struct pm_reuse *u = p->own.all, *all = p->w->s->all;

	for (size_t d = 0; d < u->nhist; d++)
		if (u->hist[d]) {
			count_distance(all, d);
			all->hist[d] += u->hist[d] - 1;
		}
	all->lookups += u->lookups;
	p->w->s->total += p->own.total;
	pm_reuse_free(u);
	pm_map_release(&p->own.segment);
	free(p->recent);
	free(p);
}

static void split_end(void *whole)
{
	struct reuse_whole *w = whole;

	pthread_mutex_destroy(&w->lock);
	free(w);
}

static void split_give_up(void *whole)
{
	struct reuse_sink *s = ((struct reuse_whole *)whole)->s;

	pm_reuse_free(s->all);
	s->all = pm_reuse_new();
	pm_map_release(&s->segment);
	s->segment = (struct pm_map){ 0 };
	s->total = 0;
	split_end(whole);
}

struct pm_split pm_reuse_split(void *sink)
{
	static const struct pm_split_ops ops = { split_stages, split_part, split_begin,
		split_consume, split_join, NULL, split_part_end, split_end, split_give_up };
	struct reuse_sink *s = sink;
	struct reuse_whole *w;

	if (s->rate > 1 || s->window)
		return (struct pm_split){ NULL, NULL };
	w = pm_alloc(sizeof *w);
	w->s = s;
	pthread_mutex_init(&w->lock, NULL);
	return (struct pm_split){ &ops, w };
}

const struct pm_sink_ops pm_sim_reuse = {
	.abi = PM_ABI, .flags = PM_SINK_REFS, .name = "reuse",
	.about = "reuse distances, miss-ratio curve, working set",
	.create = create, .consume = consume, .finish = finish, .destroy = destroy,
};
