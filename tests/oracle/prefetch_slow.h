/* SPDX-License-Identifier: MIT */
/* oracle/prefetch_slow.h - the prefetchers of src/analyse/cache_prefetch.h, slowly: everything that
 * happened is written down, and each question is answered by reading it again */
#ifndef ORACLE_PREFETCH_H
#define ORACLE_PREFETCH_H

#include <stdlib.h>
#include <string.h>

#include "analyse/cache_sim.h"

struct o_asked { uint64_t addr, news; bool used; };
/* An entry of any set: what it is about, and when that was used last. */
struct o_entry {
	uint64_t key, used, last;
	int64_t stride;
	int confidence, signature;
	bool accessed[64], asked[64];
	int path[4];			/* deltas of the page, newest first */
};
struct o_news { uint64_t line, time; };
struct o_delta { int64_t delta; int coverage; bool on; };
/* What pythia has done: by which features, how far it went; what it got for that. */
struct o_taken { uint64_t feature[2], line, news; int action, reward; };
struct o_pythia {
	struct o_taken *v;		/* all there were */
	size_t n;
	int64_t q[2][3][128][16];
	uint64_t random;
};
struct o_prefetcher {
	uint64_t news, clock;
	struct o_pythia *pythia;
	struct o_asked asked[1024];
	struct { uint64_t pc, last; int64_t stride; } stride[256];
	struct { uint64_t last, used; int dir; } track[16];
	struct o_entry entry[64 * 4];
	struct { int seen, count[4]; int64_t step[4]; } pattern[512];
	struct {
		uint64_t pc, last;
		struct o_news *v;	/* all there were */
		size_t n;
		struct o_delta delta[16];
		bool used;
	} ip[64];
};

/* The entry about @key in @set; *fresh: it was about something else. */
static struct o_entry *o_entry_of(struct o_prefetcher *p, unsigned set, uint64_t key, bool *fresh)
{
	struct o_entry *v = p->entry + set * 4, *old = v;

	p->clock++;
	*fresh = false;
	for (int w = 0; w < 4; w++)
		if (v[w].used && v[w].key == key) {
			v[w].used = p->clock;
			return v + w;
		}
	for (int w = 1; w < 4; w++)
		if (v[w].used < old->used)
			old = v + w;
	memset(old, 0, sizeof *old);
	old->key = key;
	old->used = p->clock;
	*fresh = true;
	return old;
}

static unsigned o_stream(struct o_prefetcher *p, uint64_t line, int64_t step, unsigned degree,
			 uint64_t *to)
{
	int at = -1, old = 0;

	p->clock++;
	for (int i = 0; i < 16; i++) {
		uint64_t last = p->track[i].last;
		int dir = p->track[i].dir;

		if (p->track[i].used < p->track[old].used)
			old = i;
		if (at < 0 && p->track[i].used &&
		    ((dir >= 0 && line == last + step) || (dir <= 0 && line == last - step)))
			at = i;
	}
	if (at < 0) {
		p->track[old].last = line;
		p->track[old].used = p->clock;
		p->track[old].dir = 0;
		return 0;
	}
	p->track[at].dir = line > p->track[at].last ? 1 : -1;
	p->track[at].last = line;
	p->track[at].used = p->clock;
	for (unsigned k = 1; k <= degree; k++)
		to[k - 1] = line + k * step * p->track[at].dir;
	return degree;
}

static unsigned o_ipstride(struct o_prefetcher *p, uint64_t pc, uint64_t line, uint64_t size,
			   unsigned degree, uint64_t *to)
{
	bool fresh;
	struct o_entry *e = o_entry_of(p, (pc ^ pc / 64) % 64, pc, &fresh);
	int64_t d = fresh ? 0 : (int64_t)(line - e->last);

	e->last = line;
	if (!d)
		return 0;
	if (d == e->stride)
		e->confidence = e->confidence == 3 ? 3 : e->confidence + 1;
	else if (e->confidence == 0)
		e->stride = d;
	else
		e->confidence--;
	for (unsigned k = 1; e->confidence >= 2 && k <= degree; k++)
		to[k - 1] = (line + k * e->stride) * size;
	return e->confidence >= 2 ? degree : 0;
}

static bool o_was(const bool *v, int n, int at)
{
	return at >= 0 && at < n && v[at];
}

static unsigned o_ampm(struct o_prefetcher *p, uint64_t line, uint64_t size, unsigned degree,
		       uint64_t *to)
{
	int lines = 4096 / size, o = line % lines;
	bool fresh;
	struct o_entry *e = o_entry_of(p, line / lines % 16, line / lines, &fresh);
	unsigned n = 0;

	if (e->accessed[o])
		return 0;
	e->accessed[o] = true;
	for (int k = 1; k < lines / 2; k++)
		for (int way = 1; way >= -1; way -= 2) {
			int want = o + way * k;

			if (want < 0 || want >= lines || e->accessed[want] || e->asked[want] ||
			    !o_was(e->accessed, lines, o - way * k) ||
			    !o_was(e->accessed, lines, o - way * 2 * k) || n == degree)
				continue;
			e->asked[want] = true;
			to[n++] = (line - o + want) * size;
		}
	return n;
}

static unsigned o_spp(struct o_prefetcher *p, const struct pm_level_stats *st, uint64_t line,
		      uint64_t size, unsigned degree, uint64_t *to)
{
	int lines = 4096 / size, o = line % lines, at = o, slot = -1, sum = 100, accuracy = 90;
	bool fresh;
	struct o_entry *e = o_entry_of(p, line / lines % 64, line / lines, &fresh);
	int64_t step = fresh ? 0 : o - (int64_t)e->last;
	unsigned n = 0, s = e->signature;

	e->last = o;
	if (!step)
		return 0;
	for (int i = 3; i >= 0; i--)
		if (p->pattern[s % 512].count[i] && p->pattern[s % 512].step[i] == step)
			slot = i;
	if (slot < 0) {
		slot = 0;
		for (int i = 1; i < 4; i++)
			if (p->pattern[s % 512].count[i] < p->pattern[s % 512].count[slot])
				slot = i;
		/* a place of this step whose count has gone to 0 is as good as an empty one */
		if (p->pattern[s % 512].step[slot] != step || !p->pattern[s % 512].count[slot])
			p->pattern[s % 512].count[slot] = 0;
		p->pattern[s % 512].step[slot] = step;
	}
	p->pattern[s % 512].count[slot]++;
	p->pattern[s % 512].seen++;
	if (p->pattern[s % 512].seen == 16) {
		p->pattern[s % 512].seen = 8;
		for (int i = 0; i < 4; i++)
			p->pattern[s % 512].count[i] /= 2;
	}
	s = e->signature = ((s * 8) ^ (unsigned)((step + 128) % 128)) % 4096;
	if (st->pf_issued >= 256 && 100 * st->pf_useful / st->pf_issued < 90)
		accuracy = 100 * st->pf_useful / st->pf_issued;
	while (sum >= 25 && at >= 0 && at < lines && p->pattern[s % 512].seen) {
		int best = 0;

		for (int i = 0; i < 4; i++) {
			int64_t want = at + p->pattern[s % 512].step[i];

			if (p->pattern[s % 512].count[i] > p->pattern[s % 512].count[best])
				best = i;
			if (sum * p->pattern[s % 512].count[i] / p->pattern[s % 512].seen >= 25 &&
			    want >= 0 && want < lines) {
				if (n == degree)
					return n;
				to[n++] = (line - o + want) * size;
			}
		}
		sum = sum * p->pattern[s % 512].count[best] / p->pattern[s % 512].seen * accuracy /
		      100;
		step = p->pattern[s % 512].step[best];
		at += step;
		s = ((s * 8) ^ (unsigned)((step + 128) % 128)) % 4096;
	}
	return n;
}

static void o_berti_news(struct o_prefetcher *p, unsigned i, uint64_t line, int lines)
{
	struct o_delta *v = p->ip[i].delta;
	bool gained[16] = { false };
	int found = 0;

	for (size_t k = 1; k <= 16 && k <= p->ip[i].n && found < 8; k++) {
		const struct o_news *h = p->ip[i].v + p->ip[i].n - k;
		int64_t d = line - h->line;
		int at = -1;

		if (p->news - h->time < 4 || d == 0 || llabs(d) >= lines)
			continue;
		found++;
		for (int j = 0; j < 16; j++)
			if (v[j].delta == d)
				at = j;
		if (at < 0) {
			at = 0;
			for (int j = 1; j < 16; j++)
				if (v[j].coverage < v[at].coverage)
					at = j;
			v[at] = (struct o_delta){ .delta = d };
			gained[at] = false;
		}
		v[at].coverage += !gained[at];
		gained[at] = true;
	}
	p->ip[i].v = realloc(p->ip[i].v, (p->ip[i].n + 1) * sizeof *p->ip[i].v);
	p->ip[i].v[p->ip[i].n++] = (struct o_news){ line, p->news };
	for (int j = 0; p->ip[i].n % 16 == 0 && j < 16; j++) {
		v[j].on = v[j].coverage >= 10;
		v[j].coverage = 0;
	}
}

static unsigned o_berti(struct o_prefetcher *p, uint64_t pc, uint64_t line, uint64_t size,
			bool news, unsigned degree, uint64_t *to)
{
	unsigned i = (pc ^ pc / 64) % 64, n = 0;

	if (!p->ip[i].used || p->ip[i].pc != pc) {
		if (!news)
			return 0;
		free(p->ip[i].v);
		memset(p->ip + i, 0, sizeof *p->ip);
		p->ip[i].used = true;
		p->ip[i].pc = pc;
		p->ip[i].last = UINT64_MAX;
	}
	if (news)
		o_berti_news(p, i, line, 4096 / size);
	if (p->ip[i].last == line)
		return 0;
	p->ip[i].last = line;
	for (int j = 0; j < 16; j++)
		if (p->ip[i].delta[j].on && n < degree)
			to[n++] = (line + p->ip[i].delta[j].delta) * size;
	return n;
}

static const int o_actions[16] = { 1, 3, 4, 5, 10, 11, 12, 16, 22, 23, 30, 32, -1, -3, -6, 0 };

/* The cell of a feature in plane @k of vault @v. */
static int64_t *o_cell(struct o_pythia *y, const uint64_t *feature, int v, int k, int action)
{
	uint64_t f = feature[v];

	for (int i = 0; i < k; i++)
		f /= v ? 128 : 16;
	return &y->q[v][k][f * 0x9e3779b97f4a7c15 / (1ull << 57)][action];
}

static int64_t o_value(struct o_pythia *y, const uint64_t *feature, int action)
{
	int64_t most = INT64_MIN;

	for (int v = 0; v < 2; v++) {
		int64_t sum = 0;

		for (int k = 0; k < 3; k++)
			sum += *o_cell(y, feature, v, k, action);
		most = sum > most ? sum : most;
	}
	return most;
}

/* x / 65536, rounded down */
static int64_t o_scaled(int64_t x)
{
	return x / 65536 - (x % 65536 < 0);
}

static int o_policy(struct o_pythia *y, const uint64_t *feature)
{
	int best = 0;

	y->random ^= y->random * 8192;
	y->random ^= y->random / 128;
	y->random ^= y->random * 131072;
	if (y->random / 4294967296 % 65536 < 119)
		return y->random / 4294967296 / 65536 % 16;
	for (int a = 1; a < 16; a++)
		if (o_value(y, feature, a) > o_value(y, feature, best))
			best = a;
	return best;
}

static struct o_taken *o_asked_for(struct o_pythia *y, uint64_t line)
{
	for (size_t i = y->n > 256 ? y->n - 256 : 0; i < y->n; i++)
		if (o_actions[y->v[i].action] && y->v[i].line == line)
			return y->v + i;
	return NULL;
}

static struct o_pythia *o_pythia_of(struct o_prefetcher *p)
{
	struct o_pythia *y = p->pythia;

	if (y)
		return y;
	y = p->pythia = calloc(1, sizeof *y);
	y->random = 0x9e3779b97f4a7c15;
	for (int i = 0; i < 2 * 3 * 128 * 16; i++)
		(&y->q[0][0][0][0])[i] = 147705;
	return y;
}

static unsigned o_pythia(struct o_prefetcher *p, uint64_t pc, uint64_t line, uint64_t size,
			 unsigned degree, uint64_t *to)
{
	const int64_t lines = 4096 / size, o = line % lines;
	struct o_pythia *y = o_pythia_of(p);
	struct o_taken *t, now = { .news = p->news };
	unsigned n = 0;
	bool fresh;
	struct o_entry *e = o_entry_of(p, line / lines % 16, line / lines, &fresh);

	if (!fresh && e->last == line)
		return 0;
	if (!fresh) {
		memmove(e->path + 1, e->path, 3 * sizeof *e->path);
		e->path[0] = (int)(line - e->last);
	}
	e->last = line;
	t = o_asked_for(y, line);
	if (t && !t->reward)
		t->reward = p->news - t->news >= 4 ? 20 : 12;
	now.feature[0] = (e->path[0] + 128) % 128 * 4294967296 + pc % 4294967296;
	for (int i = 0; i < 4; i++)
		now.feature[1] = now.feature[1] * 128 + (e->path[i] + 128) % 128;
	now.action = o_policy(y, now.feature);
	for (unsigned k = 1; o_actions[now.action] && k <= degree; k++) {
		const int64_t want = o + (int64_t)k * o_actions[now.action];

		if (want >= 0 && want < lines)
			to[n++] = (line - o + want) * size;
	}
	now.line = line + o_actions[now.action];
	if (!o_actions[now.action]) {
		now.reward = -4;
	} else if (!n) {
		now.reward = -12;
		now.line = UINT64_MAX;
	} else if (o_asked_for(y, now.line)) {
		return 0;
	}
	y->v = realloc(y->v, (y->n + 1) * sizeof *y->v);
	y->v[y->n++] = now;
	if (y->n <= 256)
		return n;
	/* the queue holds one more than it may; t[1] is the oldest as soon as t[0] has left */
	t = y->v + y->n - 257;
	t->reward = t->reward ? t->reward : -8;
	for (int v = 0; v < 2; v++)
		for (int k = 0; k < 3; k++) {
			int64_t *q = o_cell(y, t->feature, v, k, t->action);
			const int64_t next = *o_cell(y, t[1].feature, v, k, t[1].action);

			*q += o_scaled(426 * (t->reward * 65536 + o_scaled(36438 * next) - *q));
		}
	return n;
}

/* What is wanted after an access. */
static unsigned o_wanted(struct o_prefetcher *p, const struct pm_level_conf *lc,
			 const struct pm_level_stats *st, uint64_t pc, uint64_t addr, bool fetch,
			 bool news, uint64_t *to)
{
	uint64_t line = addr / lc->line;
	unsigned i = (pc ^ pc >> 8) & 255;
	int64_t d;

	p->news += news;
	switch (lc->prefetch) {
	case PM_PF_NEXT:
		for (unsigned k = 1; k <= lc->degree; k++)
			to[k - 1] = (line + k) * lc->line;
		return news ? lc->degree : 0;
	case PM_PF_STRIDE:
		if (fetch)
			return 0;
		d = p->stride[i].pc == pc ? (int64_t)(addr - p->stride[i].last) : 0;
		for (unsigned k = 1; k <= lc->degree; k++)
			to[k - 1] = addr + k * d;
		fetch = d == 0 || d != p->stride[i].stride;
		p->stride[i].pc = pc;
		p->stride[i].last = addr;
		p->stride[i].stride = d;
		return fetch ? 0 : lc->degree;
	case PM_PF_STREAM:
		return news ? o_stream(p, line * lc->line, lc->line, lc->degree, to) : 0;
	case PM_PF_IPSTRIDE:
		return fetch ? 0 : o_ipstride(p, pc, line, lc->line, lc->degree, to);
	case PM_PF_AMPM:
		return o_ampm(p, line, lc->line, lc->degree, to);
	case PM_PF_SPP:
		return o_spp(p, st, line, lc->line, lc->degree, to);
	case PM_PF_BERTI:
		return fetch ? 0 : o_berti(p, pc, line, lc->line, news, lc->degree, to);
	case PM_PF_PYTHIA:
		return fetch ? 0 : o_pythia(p, pc, line, lc->line, lc->degree, to);
	default:
		return 0;
	}
}

#endif
