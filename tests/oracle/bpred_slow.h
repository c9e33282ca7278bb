/* SPDX-License-Identifier: MIT */
/* oracle/bpred_slow.h - branch predictors as their descriptions say it, one branch at a time:
 * states are letters, histories are arrays of all outcomes so far, hashes are computed from
 * scratch */
#ifndef ORACLE_BPRED_H
#define ORACLE_BPRED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/bp_tage.h"
#include "analyse/bpred.h"

/* ---- the course's --------------------------------------------------------------------------- */
struct o_course {
	char *bimodal, *gshare, *chooser;	/* NntT, NntT, BbgG */
	bool *outcome;				/* of all conditional branches so far */
	size_t n, cap;
	unsigned k, h, kb, kc;		/* log2 of gshare's, bimodal's and the chooser's entries */
};

/* @kb, @kc 0: @k. */
static __attribute__((unused)) struct o_course *o_course_new(unsigned k, unsigned h, unsigned kb,
							     unsigned kc)
{
	struct o_course *o = calloc(1, sizeof *o);

	o->k = k;
	o->h = h;
	o->kb = kb ? kb : k;
	o->kc = kc ? kc : k;
	o->bimodal = malloc(1u << o->kb);
	o->gshare = malloc(1u << k);
	o->chooser = malloc(1u << o->kc);
	memset(o->bimodal, 'N', 1u << o->kb);
	memset(o->gshare, 'N', 1u << k);
	memset(o->chooser, 'B', 1u << o->kc);
	return o;
}

static __attribute__((unused)) void o_course_free(struct o_course *o)
{
	free(o->bimodal);
	free(o->gshare);
	free(o->chooser);
	free(o->outcome);
	free(o);
}

static char o_move(const char *states, char now, bool right)
{
	int i = strchr(states, now) - states;

	if (right && i < 3)
		i++;
	if (!right && i > 0)
		i--;
	return states[i];
}

/* which: 'b', 'g', 't'. Returns the prediction. */
static __attribute__((unused)) bool o_course_branch(struct o_course *o, char which, uint64_t pc,
						    bool taken)
{
	uint64_t history = 0, b = pc % (1ull << o->kb), c = pc % (1ull << o->kc), g;
	bool pb, pg, p;

	for (unsigned j = 0; j < o->h && j < o->n; j++)
		history += (uint64_t)o->outcome[o->n - 1 - j] << j;
	g = (pc ^ history) % (1ull << o->k);
	pb = o->bimodal[b] == 't' || o->bimodal[b] == 'T';
	pg = o->gshare[g] == 't' || o->gshare[g] == 'T';
	p = which == 'b' ? pb : which == 'g' ? pg
		: o->chooser[c] == 'B' || o->chooser[c] == 'b' ? pb : pg;
	if (pb != pg)
		o->chooser[c] = o_move("BbgG", o->chooser[c], pg == taken);
	o->bimodal[b] = o_move("NntT", o->bimodal[b], taken);
	o->gshare[g] = o_move("NntT", o->gshare[g], taken);
	if (o->n == o->cap)
		o->outcome = realloc(o->outcome, o->cap = o->cap * 2 + 64);
	o->outcome[o->n++] = taken;
	return p;
}

/* ---- history for the TAGE family: every bit ever appended ----------------------------------- */
struct o_bits { uint8_t *v; size_t n, cap; };

static void o_append(struct o_bits *b, unsigned bit)
{
	if (b->n == b->cap)
		b->v = realloc(b->v, b->cap = b->cap * 2 + 64);
	b->v[b->n++] = bit;
}

static uint32_t o_fold(const struct o_bits *b, unsigned len, unsigned width)
{
	uint32_t x = 0;

	for (unsigned j = 0; j < len && j < b->n; j++)
		x ^= (uint32_t)b->v[b->n - 1 - j] << j % width;
	return x;
}

static void o_history(struct o_bits *h, struct o_bits *path, const struct pm_br *b)
{
	uint64_t t = b->target ^ b->target >> 3 ^ b->target >> 7;

	if (b->flags & PM_BR_COND) {
		o_append(h, b->flags & PM_BR_TAKEN ? 1 : 0);
	} else if (b->flags & (PM_BR_INDIRECT | PM_BR_RET)) {
		o_append(h, t / 2 % 2);
		o_append(h, t % 2);
	}
	o_append(path, (b->pc ^ b->pc / 4 ^ b->pc / 32) % 2);
}

static uint32_t o_path(const struct o_bits *path, unsigned n)
{
	uint32_t x = 0;

	for (unsigned j = 0; j < n && j < path->n; j++)
		x |= (uint32_t)path->v[path->n - 1 - j] << j;
	return x;
}

/* ---- TAGE, and with corrector and loops ----------------------------------------------------- */
struct o_loop { bool valid; unsigned tag, past, now, conf, age; bool dir; };
struct o_tage {
	struct o_bits h, path, outcomes;
	struct { int ctr, useful; unsigned tag; } e[TAGE_TABLES][1 << TAGE_LOG];
	int base[1 << TAGE_BASE_LOG], use_alt, tick;
	uint64_t x;
	struct o_loop loop[LOOP_SETS][LOOP_WAYS];
	int with_loop, sc[SC_TABLES][1 << SC_LOG], threshold, mine[64], chooser[2];
	struct o_bits local[256];
	unsigned imli;
};

static struct o_tage *o_tage_new(void)
{
	struct o_tage *t = calloc(1, sizeof *t);

	for (int i = 0; i < 1 << TAGE_BASE_LOG; i++)
		t->base[i] = 2;
	t->x = 1;
	t->with_loop = -1;
	t->threshold = 280;
	return t;
}

static void o_tage_free(struct o_tage *t)
{
	free(t->h.v);
	free(t->path.v);
	free(t->outcomes.v);
	for (int i = 0; i < 256; i++)
		free(t->local[i].v);
	free(t);
}

static unsigned o_tage_rnd(struct o_tage *t)
{
	t->x = t->x * 6364136223846793005u + 1442695040888963407u;
	return t->x >> 33;
}

static int o_bump(int v, bool up, int lo, int hi)
{
	v += up ? 1 : -1;
	return v < lo ? lo : v > hi ? hi : v;
}

/* the guess, and below it nothing: 512 pairs of counters */
static unsigned o_sc_hash(uint64_t pc, uint64_t h, unsigned i, bool guess)
{
	return (pc ^ pc / 512 ^ i * 0x51ull ^ h ^ h / 128 ^ h / 32768 ^ h / 8388608) % 512 * 2 +
	       guess;
}

static bool o_tage_branch(struct o_tage *t, const struct pm_br *b, bool scl)
{
	bool taken = b->flags & PM_BR_TAKEN, alt_says, longest_says, says, guess, weak = false;
	unsigned at[TAGE_TABLES], tag[TAGE_TABLES],
		base = (b->pc ^ b->pc >> TAGE_BASE_LOG) % (1u << TAGE_BASE_LOG);
	int longest = -1, alt = -1, grow;
	uint64_t pc = b->pc;

	if (!(b->flags & PM_BR_COND)) {
		o_history(&t->h, &t->path, b);
		return false;
	}
	for (int i = 0; i < TAGE_TABLES; i++) {
		unsigned n = tage_length[i], w = tage_tag_bits[i],
			 q = o_path(&t->path, n < 16 ? n : 16);

		at[i] = (pc ^ pc >> (10 - i % 4) ^ o_fold(&t->h, n, TAGE_LOG) ^ q ^
			 q >> (1 + i % 5)) %
			2048;
		tag[i] = (pc ^ pc >> 9 ^ o_fold(&t->h, n, w) ^ o_fold(&t->h, n, w - 1) * 2) %
			 (1u << w);
		if (t->e[i][at[i]].tag == tag[i]) {
			alt = longest;
			longest = i;
		}
	}
	alt_says = alt >= 0 ? t->e[alt][at[alt]].ctr >= 0 : t->base[base] >= 2;
	longest_says = longest >= 0 ? t->e[longest][at[longest]].ctr >= 0 : alt_says;
	if (longest >= 0)
		weak = (t->e[longest][at[longest]].ctr == 0 ||
			t->e[longest][at[longest]].ctr == -1) &&
		       t->e[longest][at[longest]].useful == 0;
	says = weak && t->use_alt >= 0 ? alt_says : longest_says;
	guess = says;
	if (scl) {
		struct o_loop *set = t->loop[pc % 16], *l = NULL;
		int sum = 0, size, threshold, conf, c;
		unsigned idx[SC_TABLES], k = 0, which_local = (pc ^ pc / 256) % 256;
		bool loop_says = false, sc;

		for (int w = LOOP_WAYS; w-- > 0; )
			if (set[w].age && set[w].tag == pc / 16 % 16384)
				l = set + w;
		if (l)
			loop_says = l->now + 1 == l->past ? !l->dir : l->dir;
		if (l && l->conf == 3) {
			if (t->with_loop >= 0)
				guess = loop_says;
			if (loop_says != says)
				t->with_loop = o_bump(t->with_loop, loop_says == taken, -64, 63);
		}
		/* the corrector */
		if (longest < 0) {
			conf = t->base[base] % 3 == 0 ? 2 : 0;
		} else {
			c = t->e[longest][at[longest]].ctr;
			c = c < 0 ? -c - 1 : c;
			conf = c == 0 ? 0 : c == 3 ? 2 : 1;
		}
		idx[k++] = o_sc_hash(pc, 0, 0, guess);
		idx[k++] = o_sc_hash(pc * 4 + conf, 0, 1, guess);
		idx[k++] = o_sc_hash(pc * 16 + longest + 1, 0, 2, guess);
		for (int i = 0; i < SC_GLOBAL; i++, k++) {
			uint64_t x = 0;

			for (unsigned j = 0; j < sc_global_length[i] && j < t->outcomes.n; j++)
				x += (uint64_t)t->outcomes.v[t->outcomes.n - 1 - j] << j;
			idx[k] = o_sc_hash(pc, x, k, guess);
		}
		for (int i = 0; i < SC_LOCAL; i++, k++) {
			const struct o_bits *lb = t->local + which_local;
			uint64_t x = 0;

			for (unsigned j = 0; j < sc_local_length[i] && j < lb->n; j++)
				x += (uint64_t)lb->v[lb->n - 1 - j] << j;
			idx[k] = o_sc_hash(pc, x * 2, k, guess);
		}
		idx[k] = o_sc_hash(pc, t->imli * 2, k, guess);
		k++;
		idx[k] = o_sc_hash(pc, o_path(&t->path, 16), k, guess);
		for (k = 0; k < SC_TABLES; k++)
			sum += 2 * t->sc[k][idx[k]] + 1;
		sc = sum >= 0;
		size = abs(sum);
		threshold = (t->threshold + t->mine[(pc ^ pc / 64) % 64]) >> 3;
		{
			bool before = guess, final = sc;
			int which = -1, up = sc != taken ? 1 : -1,
			    *mine = t->mine + (pc ^ pc / 64) % 64;

			if (sc != before && conf == 2 && size < threshold / 4)
				final = before;
			else if (sc != before && conf == 2 && size < threshold / 2)
				which = 0;
			else if (sc != before && conf == 1 && size < threshold / 4)
				which = 1;
			if (which >= 0) {
				final = t->chooser[which] >= 0 ? before : sc;
				t->chooser[which] = o_bump(t->chooser[which], before == taken, -32,
							   31);
			}
			if (sc != taken || size < threshold) {
				t->threshold += up;
				if (t->threshold < 8)
					t->threshold = 8;
				*mine = o_bump(*mine, up > 0, -512, 511);
				for (k = 0; k < SC_TABLES; k++)
					t->sc[k][idx[k]] = o_bump(t->sc[k][idx[k]], taken, -32, 31);
			}
			guess = final;
		}
		/* the loop learns */
		if (!l) {
			if (says != taken && o_tage_rnd(t) % 4 == 0) {
				struct o_loop *v = set + o_tage_rnd(t) % LOOP_WAYS;

				if (v->age)
					v->age--;
				else
					*v = (struct o_loop){ true, pc / 16 % 16384, 0, 0, 0,
							      7,    !taken };
			}
		} else if (l->conf == 3 && loop_says != taken) {
			l->age = 0;
		} else {
			if (l->conf == 3 && says != taken)
				l->age = l->age < 15 ? l->age + 1 : 15;
			l->now++;
			if (l->now > 1022) {
				l->age = l->past = l->conf = 0;
			} else {
				if (l->past && l->now > l->past)
					l->past = l->conf = 0;
				if (taken != l->dir) {
					if (l->now != l->past) {
						l->past = l->now;
						l->conf = 0;
					} else if (l->past < 3) {
						l->age = 0;
					} else if (l->conf < 3) {
						l->conf++;
					}
					l->now = 0;
				}
			}
		}
		o_append(&t->outcomes, taken);
		o_append(t->local + which_local, taken);
		if (b->target <= pc)
			t->imli = !taken ? 0 : t->imli < 1023 ? t->imli + 1 : 1023;
	}
	/* TAGE learns */
	grow = says != taken && longest < TAGE_TABLES - 1;
	if (weak) {
		if (longest_says == taken)
			grow = false;
		if (longest_says != alt_says)
			t->use_alt = o_bump(t->use_alt, alt_says == taken, -8, 7);
	}
	if (grow && guess == taken && o_tage_rnd(t) % 32 != 0)
		grow = false;
	if (grow) {
		int i = longest + 1, got = 0, failed = 0;

		if (o_tage_rnd(t) % 4 == 0) {
			i++;
			if (o_tage_rnd(t) % 4 == 0)
				i++;
		}
		while (i < TAGE_TABLES && got < 2) {
			if (t->e[i][at[i]].useful > 0) {
				failed++;
				i++;
				continue;
			}
			t->e[i][at[i]].ctr = taken ? 0 : -1;
			t->e[i][at[i]].tag = tag[i];
			got++;
			i += 2;
		}
		t->tick += failed - 2 * got;
		t->tick = t->tick < 0 ? 0 : t->tick;
		if (t->tick >= 1024) {
			t->tick = 0;
			for (i = 0; i < TAGE_TABLES; i++)
				for (int j = 0; j < 2048; j++)
					t->e[i][j].useful /= 2;
		}
	}
	if (longest < 0 || (t->e[longest][at[longest]].useful == 0 && alt < 0))
		t->base[base] = o_bump(t->base[base], taken, 0, 3);
	else if (t->e[longest][at[longest]].useful == 0)
		t->e[alt][at[alt]].ctr = o_bump(t->e[alt][at[alt]].ctr, taken, -4, 3);
	if (longest >= 0) {
		t->e[longest][at[longest]].ctr = o_bump(t->e[longest][at[longest]].ctr, taken, -4,
							3);
		if (longest_says != alt_says)
			t->e[longest][at[longest]]
				.useful = o_bump(t->e[longest][at[longest]].useful,
						 longest_says == taken, 0, 3);
	}
	o_history(&t->h, &t->path, b);
	return guess;
}

/* ---- ITTAGE: true if the target was foreseen ------------------------------------------------ */
struct o_ittage {
	struct o_bits h, path;
	struct {
		uint64_t target;
		unsigned tag;
		int conf;
		bool useful;
	} e[ITTAGE_TABLES][1 << ITTAGE_LOG];
	uint64_t base[1 << ITTAGE_BASE_LOG];
};

static bool o_ittage_branch(struct o_ittage *t, const struct pm_br *b)
{
	uint64_t pc = b->pc,
		 *base = t->base + (pc ^ pc >> ITTAGE_BASE_LOG) % (1u << ITTAGE_BASE_LOG), guess,
		 alt;
	unsigned at[ITTAGE_TABLES], tag[ITTAGE_TABLES];
	int one = -1, two = -1;
	bool right = true, any = false;

	if ((b->flags & PM_BR_INDIRECT) && !(b->flags & PM_BR_RET)) {
		for (int i = 0; i < ITTAGE_TABLES; i++) {
			unsigned n = ittage_length[i], w = ittage_tag_bits[i],
				 q = o_path(&t->path, n < 16 ? n : 16);

			at[i] = (pc ^ pc >> (8 - i % 4) ^ o_fold(&t->h, n, ITTAGE_LOG) ^ q ^
				 q >> (1 + i % 5)) %
				512;
			tag[i] = (pc ^ pc >> 9 ^ o_fold(&t->h, n, w) ^
				  o_fold(&t->h, n, w - 1) * 2) %
				 (1u << w);
			if (t->e[i][at[i]].target && t->e[i][at[i]].tag == tag[i]) {
				two = one;
				one = i;
			}
		}
		alt = two >= 0 ? t->e[two][at[two]].target : *base;
		guess = one >= 0 ? t->e[one][at[one]].target : *base;
		if (two >= 0 && t->e[one][at[one]].conf == 0 && t->e[two][at[two]].conf > 0)
			guess = alt;
		right = guess == b->target;
		*base = b->target;
		if (one >= 0) {
			if (t->e[one][at[one]].target == b->target) {
				t->e[one][at[one]].conf = o_bump(t->e[one][at[one]].conf, true, 0,
								 3);
				if (alt != b->target)
					t->e[one][at[one]].useful = true;
			} else if (t->e[one][at[one]].conf-- == 0) {
				t->e[one][at[one]].conf = 0;
				t->e[one][at[one]].target = b->target;
			}
		}
		for (int i = one + 1; !right && !any && i < ITTAGE_TABLES; i++)
			if (!t->e[i][at[i]].useful) {
				any = true;
				t->e[i][at[i]].target = b->target;
				t->e[i][at[i]].tag = tag[i];
				t->e[i][at[i]].conf = 0;
			}
		for (int i = one + 1; !right && !any && i < ITTAGE_TABLES; i++)
			t->e[i][at[i]].useful = false;
	}
	o_history(&t->h, &t->path, b);
	return right;
}

#endif
