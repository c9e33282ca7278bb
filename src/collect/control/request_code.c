/* SPDX-License-Identifier: MIT */
/* request_code.c - requests that are about what is translated, and where */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "collect/consume/trace.h"
#include "collect/control/requests.h"
#include "isa/x86/decode.h"

/* ---- where to go on -------------------------------------------------------------------------- */
void request_lookup(struct session *s, struct request *q)
{
	/* a replayed process, and one that the runtime has mapped, begin by asking */
	if (!q->user->space->nmodule)
		q->m.r[0] = space_begin(&s->spaces, q->user, q->m.a[0], &q->m);
	else
		q->m.r[0] = space_enter(&s->spaces, q->user, q->m.a[0], false, &q->m);
	q->stands = q->m.r[0];
}

void request_resolve(struct session *s, struct request *q)
{
	q->m.r[0] = space_resolve(&s->spaces, q->user, (uint32_t)q->m.a[0], &q->m);
	q->stands = q->m.r[0];
}

void request_checkfail(struct session *s, struct request *q)
{
	q->m.r[0] = space_recheck(&s->spaces, q->user, q->m.a[0], &q->m);
	q->stands = q->m.r[0];
}

void request_counting(struct session *s, struct request *q)
{
	(void)s;
	q->m.r[0] = space_counting_copy(q->user->space, q->m.a[0]);
}

/* ---- where a thread is ----------------------------------------------------------------------- */
static uint64_t insn_offset(bool i386, const uint8_t *bytes, uint32_t size, uint32_t insn)
{
	ZydisDecoder d;
	ZydisDecodedInstruction in;
	uint32_t off = 0;

	if (i386)
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32);
	else
		ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; i < insn && off < size; i++) {
		if (ZYAN_FAILED(
			    ZydisDecoderDecodeInstruction(&d, NULL, bytes + off, size - off, &in)))
			break;
		off += in.length;
	}
	return off;
}

uint64_t code_original(const struct space *sp, uint32_t bi, uint32_t insn)
{
	const struct blk *b = &sp->block[bi];
	const uint8_t *bytes = block_bytes(sp, bi);

	return bytes ? b->pc + insn_offset(sp->i386, bytes, b->size, insn) : b->pc;
}

/* An execution of @block ends early at @at. Behind its last instruction no instruction of it is cut
 * off, but control stands at its end, and will come to the next block otherwise than from here. */
static void count_cut(struct proc *p, uint32_t tid, uint32_t block, const struct xl_map *at)
{
	const bool uncounted = !(at->flags & XL_COUNTED);
	const uint32_t done = at->insn;
	struct pm_cut_at *c;

	if (done >= p->user.space->block[block].n && !(at->flags & XL_AT_START))
		return;
	for (size_t i = 0; i < p->ncut; i++) {
		c = &p->cut[i];
		if (c->tid == tid && c->block == block && c->done == done &&
		    c->uncounted == uncounted) {
			c->times++;
			return;
		}
	}
	pm_grow(p->cut, p->ncut, p->cap_cut);
	p->cut[p->ncut++] = (struct pm_cut_at){ tid, block, done, uncounted, 1 };
}

/* Block @block of the thread's space stops at @at. */
static void note_cut(struct session *s, struct request *q, uint32_t block, const struct xl_map *at,
		     uint64_t rsi, uint64_t rdi)
{
	if (s->tracer)
		trace_cut(s->tracer, q->user->space, q->block, block, at, rsi, rdi);
	else
		count_cut(q->p, q->t->tid, block, at);
}

/* page fault error code (Intel SDM 3A, 4.7) */
#define PF_WRITE 0x02
#define PF_FETCH 0x10
#define PF_PKEY	 0x20

/* A write to the page that holds the very block that writes: the stale block ends before it, and
 * it happens by itself. */
static void write_self(struct session *s, struct request *q)
{
	const uint32_t bi = (uint32_t)q->m.r[5], insn = (uint32_t)q->m.r[1];
	const uint64_t pc = code_original(q->user->space, bi, insn);
	const struct xl_map *map = NULL;
	uint32_t at = 0;

	space_state(q->user->space, q->m.a[0], &at, &map);
	q->p->user.space = q->user->space;
	note_cut(s, q, at, map, 0, 0);
	q->m.r[1] = pc;
	q->m.r[4] = space_once(&s->spaces, q->user, pc, &q->m);
	if (!q->m.r[4])
		q->m.r[0] = RT_RETRY;
}

/* Where is a thread that a signal stopped, and what is the program's state there? */
void request_signal(struct session *s, struct request *q)
{
	const struct xl_map *map = NULL;
	struct rt_mail *m = &q->m;
	const uint64_t code = m->a[0];
	uint32_t bi = 0;

	if (m->a[1] == SIGSEGV && m->a[3] && (m->a[4] & (PF_WRITE | PF_PKEY)) == PF_WRITE &&
	    space_write_trap(&s->spaces, q->user, m->a[2], code, m)) {
		q->stands = q->stands_for_all = m->r[0] == RT_RETRY;
		if (!m->ncmd && m->r[0] == RT_WRITE_SELF)
			write_self(s, q);
		return;
	}
	if (space_state(q->user->space, code, &bi, &map)) {
		/* A link led there before the thread whose request made the module had mapped it.
		 * That has happened now: who carries out commands keeps others waiting. */
		if (m->a[1] == SIGSEGV && m->a[3] && m->a[4] & PF_FETCH && m->a[2] == code) {
			m->r[0] = RT_RETRY;
			return;
		}
		m->r[0] = RT_IN_CODE;
		m->r[1] = code_original(q->user->space, bi, map->insn);
		m->r[2] = map->flags;
		m->r[3] = map->tmp;
		return;
	}
	m->r[1] = space_enter(&s->spaces, q->user, code, true, m);
	m->r[0] = m->r[1] || m->ncmd ? RT_IN_ORIGINAL : RT_NOWHERE;
	q->stands = m->r[1];
}

static struct pm_unknown *unknown_at(struct proc *p, uint64_t pc)
{
	for (size_t i = 0; i < p->nunknown; i++)
		if (p->unknown_at[i].pc == pc)
			return &p->unknown_at[i];
	return NULL;
}

void request_cut(struct session *s, struct request *q)
{
	struct pm_unknown *u = unknown_at(q->p, q->m.a[0]);
	const struct xl_map *map = NULL;
	uint32_t bi = 0;

	if (u && u->count)
		u->count--;
	else if (space_state(q->user->space, q->m.a[0], &bi, &map))
		note_cut(s, q, bi, map, q->m.a[1], q->m.a[2]);
}

void request_leave(struct session *s, struct proc *p, uint32_t bi, uint64_t code, uint64_t rsi,
		   uint64_t rdi)
{
	struct request q = { .block = bi, .p = p, .t = thread_of(p, bi), .user = &p->mm->user };

	p->user.space = p->mm->user.space;
	q.m.op = RQ_CUT;
	q.m.a[0] = code;
	q.m.a[1] = rsi;
	q.m.a[2] = rdi;
	request_cut(s, &q);
}

#define MAX_UNKNOWN 0x10000u		/* places; nobody has so many but who makes them up */

/* An instruction is executed in its place: because it only works there, or because the decoder does
 * not know it; then it belongs to no block. */
void request_step(struct session *s, struct request *q)
{
	const uint64_t pc = q->m.a[0];
	const bool i386 = q->user->space->i386;
	uint64_t arg[4] = { pc, 0, 0, i386 };
	struct proc *p = q->p;
	struct pm_unknown *u;
	struct x86_insn x;
	ssize_t n = session_read(s, arg + 1, pc, 16);

	if (n < 0 && (pc & 4095) > 4096 - 16)	/* it ends with its page */
		n = session_read(s, arg + 1, pc, 4096 - (pc & 4095));
	if (!s->dec[i386])
		s->dec[i386] = x86_decoder_new(i386 ? X86_MODE_32 : X86_MODE_64);
	if (n > 0 && x86_decode(s->dec[i386], (const uint8_t *)(arg + 1), (size_t)n, &x))
		return;
	u = unknown_at(p, pc);
	if (!u && p->nunknown == MAX_UNKNOWN)
		return;
	if (!u) {
		pm_grow(p->unknown_at, p->nunknown, p->cap_unknown);
		u = &p->unknown_at[p->nunknown++];
		*u = (struct pm_unknown){ .pc = pc };
	}
	u->count++;
	if (s->tracer)
		trace_note(s->tracer, q->block, RT_N_UNKNOWN, arg, 4, NULL);
}

/* ---- what the program maps ------------------------------------------------------------------- */
#define ADDRESS_END (1ull << 56)	/* of programs, however large their page tables are */
#define MAX_RANGES 0x40000u		/* more than the kernel lets a process map */

/* The pages that a request is about; false: there are no such. */
static bool pages_of(const struct request *q, uint64_t *lo, uint64_t *hi)
{
	const uint64_t at = q->m.a[0], n = q->m.a[1];

	if (at >= ADDRESS_END || !n || n > ADDRESS_END - at)
		return false;
	*lo = at & ~4095ull;
	*hi = (at + n + 4095) & ~4095ull;
	return true;
}

static void forget_targets(struct session *s, const struct request *q)
{
	const struct proc *p = q->p->mm;

	for (size_t i = 0; s->spaces.tree && i < p->nthread; i++)
		if (p->thread[i].live)
			trace_mapped(s->tracer, p->thread[i].block);
}

void request_map(struct session *s, struct request *q)
{
	const struct rt_mail *m = &q->m;
	uint64_t lo, hi;

	if (!pages_of(q, &lo, &hi) || q->user->space->nrange >= MAX_RANGES)
		return;
	forget_targets(s, q);
	if (!space_unmap(&s->spaces, q->user, lo, hi, &q->m))
		return;
	space_range_add(q->user->space, lo, hi, (uint32_t)m->a[2] & 7, m->a[3] & 1,
			m->a[3] >> 31 & 1);
	space_find_aliases(&s->spaces, q->user->space, lo, hi);
	if (q->alone && !m->ncmd && !q->user->space->i386) {
		space_mapped(&s->spaces, q->user, lo, hi, &q->m);
		q->stands = true;
	}
}

void request_unmap(struct session *s, struct request *q)
{
	uint64_t lo, hi;

	if (!pages_of(q, &lo, &hi))
		return;
	forget_targets(s, q);
	space_unmap(&s->spaces, q->user, lo, hi, &q->m);
}

void request_changes(struct session *s, struct request *q)
{
	const struct space *sp = q->user->space;
	bool counted = false;
	uint64_t lo, hi;

	if (!pages_of(q, &lo, &hi))
		return;
	for (size_t i = 0; i < sp->nmodule; i++)
		counted |= drop_constants(s, &sp->module[i], lo, hi);
	if (counted)
		space_drop_constants(&s->spaces, q->user, &q->m);
}

void request_make_way(struct session *s, struct request *q)
{
	uint64_t lo, hi;

	if (pages_of(q, &lo, &hi))
		q->m.r[0] = space_make_way(&s->spaces, q->user, lo, hi, &q->m);
}

void request_open(struct session *s, struct request *q)
{
	q->m.r[0] = space_open(&s->spaces, q->user, q->m.a[0], &q->m);
}

/* A file has been mapped: which one it is the process does not know. */
void request_mapped(struct session *s, struct request *q)
{
	char link[64], path[4096];

	if (!s->tracer)
		return;
	snprintf(link, sizeof link, "/proc/%u/fd/%d",
		 s->replayer ? (uint32_t)getpid() : q->p->mm->pid, (int)q->m.a[4]);
	peek_link(link, path);
	trace_note(s->tracer, q->block, RT_N_MMAP, q->m.a, 4, path);
}
