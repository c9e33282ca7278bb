/* SPDX-License-Identifier: MIT */
/* test_profile.c - canonical blocks against a slow twin that sees every instruction
 *
 * Random code - every other time code that overlaps itself - and a random walk over it by several
 * threads of several processes: jumps, falls through conditional jumps, faults that are resumed,
 * skipped or never returned from. The twin looks at the walk itself. The profile sees only pieces
 * and counts of it, for several random ways in which a translator might have cut the same walk into
 * pieces, and must give the same blocks each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/profile.h"
#include "base/mem.h"
#include "isa/x86/form.h"
#include "pugmark/pugmark.h"

static uint64_t seed;

static uint32_t rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)((seed >> 11) % n);
}

/* ---- random code ---------------------------------------------------------------------------- */

static const struct palette {
	uint8_t len, bytes[10];
	bool ends;
	uint8_t reads, writes, rep;
} palette[] = {
	{ 1, { 0x90 } },				/* nop */
	{ 5, { 0xb8, 1, 2, 3, 4 } },			/* mov $imm, %eax */
	{ 2, { 0x31, 0xc0 } },				/* xor %eax, %eax */
	{ 3, { 0x48, 0x8b, 0x07 }, .reads = 1 },	/* mov (%rdi), %rax */
	{ 4, { 0x48, 0x89, 0x45, 0xf8 }, .writes = 1 },	/* mov %rax, -8(%rbp) */
	{ 3, { 0x83, 0x07, 0x01 }, .reads = 1, .writes = 1 },	/* add $1, (%rdi) */
	{ 1, { 0x55 }, .writes = 1 },			/* push %rbp */
	{ 3, { 0xf3, 0x48, 0xa5 }, .reads = 1, .writes = 1, .rep = 1 },	/* rep movsq */
	{ 4, { 0x48, 0x8d, 0x44, 0x24 } },		/* lea (4 of its 5 bytes: see below) */
	{ 2, { 0x74, 0x10 }, .ends = true },		/* je */
	{ 6, { 0x0f, 0x85, 1, 0, 0, 0 }, .ends = true },	/* jne */
	{ 2, { 0xeb, 0x05 }, .ends = true },		/* jmp */
	{ 5, { 0xe8, 0, 0, 0, 0 }, .ends = true, .writes = 1 },	/* call */
	{ 1, { 0xc3 }, .ends = true, .reads = 1 },	/* ret */
	{ 2, { 0x0f, 0x05 }, .ends = true },		/* syscall */
	{ 2, { 0xff, 0xe0 }, .ends = true },		/* jmp *%rax */
};
#define LEA 8

#define MAX_INSN 400
#define BASE 0x401000u
#define BIAS 0x7f0000000000u

/* Instructions by number. They follow one another, or, where code overlaps itself, each byte that
 * can be decoded begins one. */
static struct {
	uint8_t bytes[MAX_INSN * 10];
	uint32_t size, n;
	uint32_t off[MAX_INSN];		/* byte */
	uint32_t next[MAX_INSN];	/* instruction behind it; n: none */
	struct palette is[MAX_INSN];	/* len 0: not to be executed */
} code;

static void make_code(bool overlap)
{
	struct pm_forms *f = pm_forms_new(false);
	uint32_t want = 20 + rnd(MAX_INSN - 20);

	code.size = 0;
	for (uint32_t i = 0; i < (overlap ? want / 3 : want); i++) {
		unsigned k = rnd(3) ? rnd(9) : rnd(NR(palette));

		code.off[i] = code.size;
		code.next[i] = i + 1;
		code.is[i] = palette[k];
		memcpy(code.bytes + code.size, palette[k].bytes, palette[k].len);
		code.size += palette[k].len;
		if (k == LEA)
			code.bytes[code.size++] = 0x08;
		code.is[i].len = (uint8_t)(code.size - code.off[i]);
		code.n = i + 1;
	}
	if (overlap) {
		code.n = code.size < MAX_INSN ? code.size : MAX_INSN;
		code.size = code.n;
		for (uint32_t i = 0; i < code.n; i++) {
			struct pm_form m = *pm_form_at(f, code.bytes + i, code.size - i);

			code.off[i] = i;
			code.next[i] = i + m.len;
			code.is[i] = (struct palette){ .len = m.mnemonic ? m.len : 0,
						       .ends = m.ends,
						       .reads = m.reads,
						       .writes = m.writes,
						       .rep = m.rep };
		}
	}
	pm_forms_free(f);
}

/* Any instruction that may be executed: the first is one of the palette. */
static uint32_t any(void)
{
	uint32_t i = rnd(code.n);

	return code.is[i].len ? i : 0;
}

/* ---- a random walk -------------------------------------------------------------------------- */

struct step {
	uint32_t insn;
	bool jumped;		/* control did not come from the instruction in front of it */
	bool faulted;		/* it did not complete */
};

#define NPROC 2
#define NTHREAD 2
#define MAX_STEP 1500
static struct walk {
	struct step v[MAX_STEP];
	uint32_t n;
} walk[NPROC][NTHREAD];

static void make_walk(struct walk *w, unsigned faults)
{
	uint32_t at = any(), hot[4];
	bool jumped = true;

	for (unsigned i = 0; i < NR(hot); i++)
		hot[i] = any();
	w->n = 0;
	for (uint32_t steps = rnd(MAX_STEP); w->n < steps; ) {
		struct step *s = &w->v[w->n++];

		*s = (struct step){ at, jumped, faults && !rnd(faults) };
		if (s->faulted) {
			jumped = true;
			if (rnd(2))	/* a handler, then the same instruction again */
				at = hot[rnd(NR(hot))];
			else
				at = rnd(2) ? s->insn : any();
		} else if (code.is[at].ends) {
			/* not taken means: to the next one, which is a transfer all the same */
			jumped = true;
			at = rnd(2) ? hot[rnd(NR(hot))] : rnd(3) ? code.next[at] : any();
			if (at >= code.n || !code.is[at].len)
				at = 0;
		} else {
			jumped = false;
			at = code.next[at];
			if (at >= code.n || !code.is[at].len)
				break;			/* and it ends there */
		}
	}
}

/* ---- the twin ------------------------------------------------------------------------------- */

static struct {
	bool leader[MAX_INSN];
	uint64_t count[MAX_INSN];
	uint64_t insns, blocks, distinct;
	struct { uint64_t insns, blocks, distinct; } process[NPROC], thread[NPROC][NTHREAD];
	uint64_t reads, writes, reps;
} twin;

static void run_twin(void)
{
	memset(&twin, 0, sizeof twin);
	for (unsigned p = 0; p < NPROC; p++)
		for (unsigned t = 0; t < NTHREAD; t++)
			for (uint32_t i = 0; i < walk[p][t].n; i++) {
				const struct step *s = &walk[p][t].v[i];

				twin.leader[s->insn] |= s->jumped;
				if (s->faulted)
					continue;
				twin.count[s->insn]++;
				twin.reads += code.is[s->insn].reads;
				twin.writes += code.is[s->insn].writes;
				twin.reps += code.is[s->insn].rep;
			}
	/* an executed transfer in front begins a block, whoever came from it; so do two in front */
	for (uint32_t i = 0; i < code.n; i++) {
		unsigned before = 0;

		for (uint32_t k = 0; k < i; k++)
			if (code.next[k] == i && twin.count[k]) {
				twin.leader[i] |= code.is[k].ends;
				before++;
			}
		twin.leader[i] |= before > 1;
	}
	for (unsigned p = 0; p < NPROC; p++) {
		static bool seen[MAX_INSN];

		memset(seen, 0, sizeof seen);
		for (unsigned t = 0; t < NTHREAD; t++) {
			static bool mine[MAX_INSN];

			memset(mine, 0, sizeof mine);
			for (uint32_t i = 0; i < walk[p][t].n; i++) {
				const struct step *s = &walk[p][t].v[i];

				if (s->faulted)
					continue;
				twin.thread[p][t].insns++;
				if (!twin.leader[s->insn])
					continue;
				twin.thread[p][t].blocks++;
				twin.thread[p][t].distinct += !mine[s->insn];
				twin.process[p].distinct += !seen[s->insn];
				mine[s->insn] = seen[s->insn] = true;
			}
			twin.process[p].insns += twin.thread[p][t].insns;
			twin.process[p].blocks += twin.thread[p][t].blocks;
		}
		twin.insns += twin.process[p].insns;
		twin.blocks += twin.process[p].blocks;
	}
	for (uint32_t i = 0; i < code.n; i++)
		twin.distinct += twin.leader[i] && twin.count[i];
}

static int down(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

/* ---- a random translator -------------------------------------------------------------------- */

struct seen {
	uint32_t first, n, bytes;
	bool falls;
};

/* A piece from @i on that ends at a transfer or at a whim. */
static struct seen new_piece(uint32_t i, unsigned eager)
{
	struct seen s = { i, 0, 0, true };

	do {
		s.n++;
		s.bytes += code.is[i].len;
		s.falls = !code.is[i].ends;
		i = code.next[i];
	} while (i < code.n && code.is[i].len && s.falls && rnd(eager));
	return s;
}

static struct pm_counts *translate(unsigned eager)
{
	struct pm_counts *c = pm_counts_new();

	for (unsigned p = 0; p < NPROC; p++) {
		struct pm_counts_process *pr = pm_counts_add_process(c, 100 + p, 0, "/bin/random");
		static struct seen seen[MAX_INSN * 3];
		static struct { uint32_t thread, piece, done; bool cut; } run[NTHREAD * MAX_STEP];
		uint32_t nseen = 0, nrun = 0;
		uint32_t object = pm_counts_add_object(c, pr, "/nowhere/random", "00",
						       BIAS + p * 4096, BIAS, BIAS + code.size);

		for (unsigned t = 0; t < NTHREAD; t++) {
			const struct walk *w = &walk[p][t];

			for (uint32_t i = 0; i < w->n; ) {
				uint32_t at = w->v[i].insn, k, done = 0;

				for (k = 0; k < nseen; k++)
					if (seen[k].first == at && rnd(4))
						break;
				if (k == nseen) {
					if (nseen == NR(seen)) {
						for (k = 0; seen[k].first != at; k++)
							;
					} else {
						seen[nseen++] = new_piece(at, eager);
					}
				}
				while (done < seen[k].n && i < w->n &&
				       (!done || !w->v[i].jumped) && !w->v[i].faulted) {
					done++;
					i++;
				}
				/* a fault ends it in front of the instruction; so does a kill */
				run[nrun].thread = t;
				run[nrun].piece = k;
				run[nrun].done = done;
				run[nrun].cut = done < seen[k].n;
				if (run[nrun].cut && i < w->n) {
					assert_true(w->v[i].faulted);
					i++;
				} else if (i == w->n) {
					run[nrun].cut = true;
				}
				nrun++;
			}
		}
		for (uint32_t k = 0; k < nseen; k++) {
			uint32_t from = code.off[seen[k].first];

			pm_counts_add_piece(pr, (struct pm_piece){
				.pc = BIAS + p * 4096 + BASE + from, .bytes = code.bytes + from,
				.size = seen[k].bytes, .n = seen[k].n, .object = object,
				.falls = seen[k].falls,
			});
		}
		for (unsigned t = 0; t < NTHREAD; t++)
			pm_counts_add_thread(pr, 100 + p + t);
		for (uint32_t i = 0; i < nrun; i++) {
			struct pm_counts_thread *th = &pr->thread[run[i].thread];

			th->count[run[i].piece]++;
			if (run[i].cut)
				pm_counts_add_cut(th, run[i].piece, run[i].done, 1);
		}
	}
	return c;
}

static void compare(const struct pm_profile *p)
{
	static uint64_t insns[MAX_INSN];
	uint64_t want, got = 0, blocks = 0, mix = 0;
	uint32_t k = 0;

	assert_int_equal(p->sum.insns, twin.insns);
	assert_int_equal(p->sum.blocks, twin.blocks);
	assert_int_equal(p->sum.blocks_distinct, twin.distinct);
	assert_int_equal(p->nblock, twin.distinct);
	assert_int_equal(p->sum.reads, twin.reads);
	assert_int_equal(p->sum.writes, twin.writes);
	assert_int_equal(p->sum.reps, twin.reps);
	for (uint32_t i = 0; i < code.n; i++) {
		struct pm_profile_insn v[MAX_INSN];
		struct pm_profile_block b;
		uint32_t n = 0, size = 0, in[MAX_INSN];

		if (!twin.leader[i] || !twin.count[i])
			continue;
		for (uint32_t j = i; j < code.n && twin.count[j] && (!n || !twin.leader[j]);
		     j = code.next[j]) {
			in[n++] = j;
			size += code.is[j].len;
		}
		b = pm_profile_block(p, k);
		assert_int_equal(b.addr, BASE + code.off[i]);
		assert_int_equal(b.n, n);
		assert_int_equal(b.size, size);
		assert_int_equal(b.entries, twin.count[i]);
		assert_memory_equal(b.bytes, code.bytes + code.off[i], b.size);
		pm_profile_insns(p, k, v);
		insns[k] = 0;
		for (uint32_t j = 0; j < n; j++) {
			assert_int_equal(v[j].addr, BASE + code.off[in[j]]);
			assert_int_equal(v[j].count, twin.count[in[j]]);
			insns[k] += twin.count[in[j]];
		}
		assert_int_equal(b.insns, insns[k]);
		k++;
	}
	assert_int_equal(k, p->nblock);
	qsort(insns, k, sizeof *insns, down);
	for (want = 0; got * 10 < twin.insns * 9; want++)
		got += insns[want];
	assert_int_equal(p->sum.locality_90, want);
	for (size_t i = 0; i < p->nmnemonic; i++)
		mix += p->mnemonic[i].count;
	assert_int_equal(mix, twin.insns);
	for (unsigned i = 0; i < NPROC; i++) {
		assert_int_equal(p->process[i].sum.insns, twin.process[i].insns);
		assert_int_equal(p->process[i].sum.blocks, twin.process[i].blocks);
		assert_int_equal(p->process[i].sum.blocks_distinct, twin.process[i].distinct);
		for (unsigned t = 0; t < NTHREAD; t++) {
			const struct pm_profile_sum *s = &p->process[i].thread[t].sum;

			assert_int_equal(s->insns, twin.thread[i][t].insns);
			assert_int_equal(s->blocks, twin.thread[i][t].blocks);
			assert_int_equal(s->blocks_distinct, twin.thread[i][t].distinct);
		}
		assert_int_equal(p->process[i].sum.reads, p->process[i].thread[0].sum.reads +
							  p->process[i].thread[1].sum.reads);
		blocks += p->process[i].sum.reads;
	}
	assert_int_equal(blocks, p->sum.reads);
}

static void blocks_do_not_depend_on_pieces(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 600; round++) {
		seed = 0x9e3779b97f4a7c15u * (round + 1);
		make_code(round & 1);
		for (unsigned p = 0; p < NPROC; p++)
			for (unsigned t = 0; t < NTHREAD; t++)
				make_walk(&walk[p][t], round % 3 ? 20 + rnd(100) : 0);
		run_twin();
		for (unsigned way = 0; way < 4; way++) {
			static const unsigned eager[] = { 1, 2, 5, 1000 };
			struct pm_counts *c = translate(eager[way]);
			struct pm_profile *p = pm_profile_new(c);

			compare(p);
			pm_profile_functions(p);
			if (p->nblock) {
				assert_int_equal(p->nfunction, 1);
				assert_int_equal(p->function[0].insns, twin.insns);
				assert_string_equal(pm_profile_name(p, 0), "[random]");
			}
			pm_profile_free(p);
			pm_counts_free(c);
		}
	}
}

/* Code that is overwritten: two versions at one address are two blocks. */
static void versions_of_code(void **state)
{
	static const uint8_t a[] = { 0x90, 0xb8, 1, 0, 0, 0, 0xc3 },
	b[] = { 0x90, 0xb8, 2, 0, 0, 0, 0xc3 };
	struct pm_counts *c = pm_counts_new();
	struct pm_counts_process *pr = pm_counts_add_process(c, 1, 0, "/bin/jit");
	struct pm_counts_thread *t;
	struct pm_profile *p;

	(void)state;
	pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0x1000, 0x2000);
	pm_counts_add_piece(pr, (struct pm_piece){ 0x1000, a, sizeof a, 3, 0, false });
	pm_counts_add_piece(pr, (struct pm_piece){ 0x1000, b, sizeof b, 3, 0, false });
	t = pm_counts_add_thread(pr, 1);
	t->count[0] = 5;
	t->count[1] = 7;
	p = pm_profile_new(c);
	assert_int_equal(p->sum.insns, 36);
	assert_int_equal(p->nblock, 4);		/* nop and ret are common, what is between is not */
	assert_int_equal(pm_profile_block(p, 0).entries, 12);
	assert_int_equal(pm_profile_block(p, 1).entries, 5);
	assert_int_equal(pm_profile_block(p, 2).entries, 7);
	assert_int_equal(pm_profile_block(p, 3).entries, 12);
	pm_profile_free(p);
	pm_counts_free(c);
}

/* 40 is inc %eax for a 32-bit process and a prefix for a 64-bit one, and never the same code. */
static void both_instruction_sets(void **state)
{
	static const uint8_t a[] = { 0x40, 0x01, 0x03, 0xc3 };
	struct pm_counts *c = pm_counts_new();
	struct pm_profile *p;

	(void)state;
	for (unsigned isa = 0; isa < 2; isa++) {
		struct pm_counts_process *pr = pm_counts_add_process(c, 1 + isa, 0, "/bin/x");

		pr->isa = isa ? PM_ISA_X86_32 : PM_ISA_X86_64;
		pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0x1000, 0x2000);
		pm_counts_add_piece(pr, (struct pm_piece){ 0x1000, a, sizeof a, isa ? 3 : 2, 0,
							   false });
		pm_counts_add_thread(pr, 1)->count[0] = 1 + isa;
	}
	p = pm_profile_new(c);
	assert_int_equal(p->nblock, 2);
	assert_int_equal(pm_profile_block(p, 0).n, 2);
	assert_int_equal(pm_profile_block(p, 1).n, 3);
	assert_int_equal(p->sum.insns, 2 + 6);
	assert_int_equal(p->process[0].sum.insns, 2);
	assert_int_equal(p->process[1].sum.insns, 6);
	assert_string_equal(p->mnemonic[0].name, "add");
	assert_int_equal(p->mnemonic[1].count, 2 + 1);
	pm_profile_free(p);
	pm_counts_free(c);
}

/* A cut that is told without its entry - a thread killed between two stores - makes nothing
 * wrap. */
static void cut_without_entry(void **state)
{
	static const uint8_t a[] = { 0x90, 0x90, 0xc3 };
	struct pm_counts *c = pm_counts_new();
	struct pm_counts_process *pr = pm_counts_add_process(c, 1, 0, "/bin/x");
	struct pm_counts_thread *t;
	struct pm_profile *p;

	(void)state;
	pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0x1000, 0x2000);
	pm_counts_add_piece(pr, (struct pm_piece){ 0x1000, a, sizeof a, 3, 0, false });
	t = pm_counts_add_thread(pr, 1);
	t->count[0] = 1;
	pm_counts_add_cut(t, 0, 1, 2);
	pm_counts_add_cut(t, 77, 1, 2);		/* of no piece at all */
	p = pm_profile_new(c);
	assert_int_equal(p->sum.insns, 1);
	assert_int_equal(p->nblock, 1);
	assert_int_equal(pm_profile_block(p, 0).n, 1);
	pm_profile_free(p);
	pm_counts_free(c);
}

/* A block of more bytes and instructions than one piece can have, and than most blocks have. */
static void long_block(void **state)
{
	static uint8_t movs[5 * 1200];

	(void)state;
	for (size_t i = 0; i < sizeof movs; i += 5)
		movs[i] = 0xb8;			/* mov $imm, %eax */
	for (unsigned cut = 0; cut < 2; cut++) {
		struct pm_counts *c = pm_counts_new();
		struct pm_counts_process *pr = pm_counts_add_process(c, 1, 0, "/bin/long");
		struct pm_profile_insn v[1200];
		struct pm_profile_block b;
		struct pm_profile *p;

		pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0x1000, 0x9000);
		for (unsigned i = 0; i < 6; i++)
			pm_counts_add_piece(pr,
					    (struct pm_piece){ 0x1000 + i * 1000, movs + i * 1000,
							       1000, 200, 0, true });
		pm_counts_add_thread(pr, 1);
		for (unsigned i = 0; i < 6; i++)
			pr->thread[0].count[i] = 9;
		if (cut)
			pm_counts_add_cut(&pr->thread[0], 5, 100, 2);
		p = pm_profile_new(c);
		assert_int_equal(p->nblock, 1);
		b = pm_profile_block(p, 0);
		assert_int_equal(b.size, sizeof movs);
		assert_int_equal(b.n, 1200);
		assert_int_equal(b.entries, 9);
		assert_int_equal(b.insns, 9 * 1200 - cut * 2 * 100);
		assert_int_equal(p->object[0].insns, b.insns);
		assert_memory_equal(b.bytes, movs, sizeof movs);
		pm_profile_insns(p, 0, v);
		assert_int_equal(v[1099].count, 9);
		assert_int_equal(v[1100].count, cut ? 7 : 9);
		pm_profile_free(p);
		pm_counts_free(c);
	}
}

/* Blocks are in the order of their addresses, whatever that of the pieces, and however far they lie
 * apart. */
static void blocks_by_address(void **state)
{
	static const uint8_t ret[] = { 0xc3 };
	struct pm_counts *c = pm_counts_new();
	struct pm_counts_process *pr = pm_counts_add_process(c, 1, 0, "/bin/x");
	struct pm_profile *p;
	uint32_t *order;
	size_t n;

	(void)state;
	pm_counts_add_object(c, pr, "[anon]", NULL, 0, 0, UINT64_MAX);
	seed = 4711;
	for (unsigned i = 0; i < 1000; i++) {
		/* a few by themselves, many near each other, the first half of those in order */
		uint64_t at = i < 40 ? (uint64_t)rnd(1u << 30) << 24 | rnd(1u << 24)
				     : (uint64_t)(i % 2 ? 0x7f12u : 3) << 32 |
					       (i < 520 ? i * 4096 : 0xf0000000u + rnd(1u << 24));

		pm_counts_add_piece(pr, (struct pm_piece){ at, ret, sizeof ret, 1, 0, false });
	}
	pm_counts_add_thread(pr, 1);
	for (unsigned i = 0; i < 1000; i++)
		pr->thread[0].count[i] = i % 7 * i;	/* some never ran */
	p = pm_profile_new(c);
	assert_true(p->nblock > 800);
	for (size_t i = 1; i < p->nblock; i++)
		assert_true(pm_profile_block(p, i - 1).addr < pm_profile_block(p, i).addr);
	for (unsigned max = 0; max < 200; max += 50) {
		n = pm_profile_top_blocks(p, max, &order);
		assert_int_equal(n, max ? max : p->nblock);
		for (size_t i = 1; i < n; i++) {
			const uint64_t x = pm_profile_block(p, order[i - 1]).insns,
				       y = pm_profile_block(p, order[i]).insns;

			assert_true(x > y || (x == y && order[i - 1] < order[i]));
		}
		free(order);
	}
	pm_profile_free(p);
	pm_counts_free(c);
}

static void nothing_ran(void **state)
{
	struct pm_counts *c = pm_counts_new();
	struct pm_profile *p;

	(void)state;
	pm_counts_add_process(c, 1, 0, "/bin/none")->unknown = 3;
	p = pm_profile_new(c);
	pm_profile_functions(p);
	assert_int_equal(p->sum.insns, 3);
	assert_int_equal(p->sum.unknown, 3);
	assert_int_equal(p->sum.blocks, 0);
	assert_int_equal(p->sum.locality_90, 0);
	assert_string_equal(p->mnemonic[0].name, "(unknown)");
	pm_profile_free(p);
	pm_counts_free(c);
}

/* pm_form_at() remembers; a fresh decoder does not: they must agree on every byte string. */
static void forms_agree_with_a_fresh_decoder(void **state)
{
	struct pm_forms *memo = pm_forms_new(false);

	(void)state;
	seed = 88172645463325252u;
	for (unsigned i = 0; i < 20000; i++) {
		struct pm_forms *fresh = pm_forms_new(false);
		uint8_t b[16];
		size_t n = 1 + rnd(15);
		struct pm_form x, y;

		for (unsigned k = 0; k < sizeof b; k++)
			b[k] = (uint8_t)rnd(256);
		if (rnd(2))
			b[0] = (uint8_t)(0x40 + rnd(16));
		if (rnd(4) == 0)
			b[0] = 0x0f;
		x = *pm_form_at(memo, b, n);
		y = *pm_form_at(fresh, b, n);
		assert_memory_equal(&x, &y, sizeof x);
		pm_forms_free(fresh);
	}
	pm_forms_free(memo);
}

static void random_insn(uint8_t b[16])
{
	for (unsigned k = 0; k < 16; k++)
		b[k] = (uint8_t)rnd(256);
	if (rnd(4))
		b[0] = (uint8_t)(0x40 + rnd(16));
}

/* Forms of @n random instructions: as a decoder that remembers nothing says. */
static void look_up(struct pm_forms *f, bool i386, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct pm_forms *fresh = pm_forms_new(i386);
		uint8_t b[16];
		struct pm_form x;

		random_insn(b);
		x = *pm_form_at(f, b, 15);
		assert_memory_equal(&x, pm_form_at(fresh, b, 15), sizeof x);
		pm_forms_free(fresh);
	}
}

/* What has been learned goes into bytes and is there again, with room for more and without. */
static void forms_begin_with_bytes(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		bool i386 = round & 1;
		struct pm_forms *f = pm_forms_new(i386), *g = pm_forms_new(i386),
				*other = pm_forms_new(!i386);
		struct pm_buf b = { 0 }, c = { 0 };
		size_t room, learned;
		uint8_t *p;

		seed = 88172645463325252u + round;
		look_up(f, i386, 2000);
		learned = pm_forms_learned(f);
		assert_true(learned > 100);
		pm_forms_bytes(f, &b);
		assert_true(b.n <= pm_forms_room());
		room = round < 2 ? b.n : round < 4 ? b.n + 5000 : pm_forms_room();
		p = pm_alloc(room);
		memcpy(p, b.p, b.n);
		assert_false(pm_forms_use(other, p, b.n, room)); /* the other instruction set's */
		assert_true(pm_forms_use(g, p, b.n, room));
		assert_false(pm_forms_use(g, p, b.n, room));	/* no longer as new */
		seed = 88172645463325252u + round;
		look_up(g, i386, 2000);
		assert_int_equal(pm_forms_learned(g), 0);
		pm_forms_bytes(g, &c);
		assert_int_equal(c.n, b.n);
		assert_memory_equal(c.p, b.p, b.n);
		/* those that are new are added to those that were there */
		look_up(g, i386, 2000);
		learned = pm_forms_learned(g);
		assert_true(learned > 20);
		seed = 88172645463325252u + round;
		look_up(g, i386, 4000);
		assert_int_equal(pm_forms_learned(g), learned);
		pm_forms_free(f);
		pm_forms_free(g);
		pm_forms_free(other);
		pm_buf_release(&b);
		pm_buf_release(&c);
		free(p);
	}
}

/* Bytes that are cut, or not what they were, are refused or find something; no access leaves
 * them. */
static void forms_with_damaged_bytes(void **state)
{
	struct pm_forms *f = pm_forms_new(false);
	struct pm_buf b = { 0 };

	(void)state;
	seed = 88172645463325252u;
	look_up(f, false, 300);
	pm_forms_bytes(f, &b);
	pm_forms_free(f);
	for (size_t n = 0; n < b.n; n += n < 100 ? 1 : 1 + rnd(500)) {
		/* exactly: sanitizers see what is behind */
		uint8_t *p = memcpy(pm_alloc(n), b.p, n);

		f = pm_forms_new(false);
		assert_false(pm_forms_use(f, p, n, n));
		pm_forms_free(f);
		free(p);
	}
	for (unsigned round = 0; round < 3000; round++) {
		uint8_t *p = memcpy(pm_alloc(b.n), b.p, b.n), x[16];

		for (unsigned k = 1 + rnd(60); k; k--)
			p[rnd(2) ? rnd(64) : rnd((uint32_t)b.n)] = (uint8_t)(rnd(3) ? rnd(256)
										    : 0xff);
		memcpy(p, b.p, 32);	/* a head that says something else is refused */
		if (!rnd(4))
			p[rnd(12)]++;
		f = pm_forms_new(false);
		pm_forms_use(f, p, b.n, b.n);
		for (unsigned k = 0; k < 100; k++) {
			size_t n = 1 + rnd(15);
			const struct pm_form *m;

			random_insn(x);
			m = pm_form_at(f, x, n);
			assert_in_range(m->len, 1, n);
			assert_in_range(m->mnemonic, 0, PM_FORM_MNEMONICS - 1);
			pm_form_target(m, x, 0);
		}
		pm_forms_free(f);
		free(p);
	}
	pm_buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_do_not_depend_on_pieces),
		cmocka_unit_test(versions_of_code),
		cmocka_unit_test(both_instruction_sets),
		cmocka_unit_test(cut_without_entry),
		cmocka_unit_test(long_block),
		cmocka_unit_test(blocks_by_address),
		cmocka_unit_test(nothing_ran),
		cmocka_unit_test(forms_agree_with_a_fresh_decoder),
		cmocka_unit_test(forms_begin_with_bytes),
		cmocka_unit_test(forms_with_damaged_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
