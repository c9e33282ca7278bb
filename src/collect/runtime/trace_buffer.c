/* SPDX-License-Identifier: MIT */
/* trace_buffer.c - the process's side of the trace buffers: what it notes itself, and full ones */
#include "rt.h"

static u64 chunk_at(const struct rt_block *b, u32 chunk)
{
	return (word)b + TRACE_AT + (word)chunk * TRACE_STRIDE;
}

#ifndef RT_IDT
/* Wait until the controller has emptied @chunk; false: there is no controller. */
static int wait_empty(struct rt_block *b, u32 chunk)
{
	const word timeout[2] = { 0, RT_WAIT_NS };
	struct rt_wait w = { 0 };
	int gone = 0;
	u32 v;

	for (u32 i = 0; i < b->spin; i++) {
		if (!__atomic_load_n(&b->full[chunk], __ATOMIC_ACQUIRE))
			return 1;
		__builtin_ia32_pause();
	}
	__atomic_fetch_add(&rt_waits_inside, 1, __ATOMIC_SEQ_CST);
	while (!gone && (v = __atomic_load_n(&b->full[chunk], __ATOMIC_ACQUIRE)))
		gone = rt_waits_in_vain(&w, rt_sys(NR_futex, &b->full[chunk], 0 /* WAIT */, v,
						   timeout));
	__atomic_fetch_sub(&rt_waits_inside, 1, __ATOMIC_SEQ_CST);
	return !gone;
}
#endif

/* The chunk ends at the cursor; the record that has begun there moves to the next one. Returns by
 * how many bytes things have moved. */
static u64 next_chunk(struct rt_block *b, u64 open_end)
{
	struct rt_session *s = RT_SESSION;
	u64 from = b->cursor, to;
	u32 was = b->chunk;

#ifdef RT_IDT
	rt_image_drain(b, chunk_at(b, was), from);
	rt_image_clear(b, chunk_at(b, was), from);
	b->drop = 1;			/* the same chunk again */
#else
	if (!b->drop) {
		u32 next = (was + 1) % RT_CHUNKS;

		if (!wait_empty(b, next))
			b->drop = 1;
		else
			b->chunk = next;
	}
#endif
	to = chunk_at(b, b->chunk);
	for (u64 a = from; a < open_end; a += 4)
		*(u32 *)PTR(to + (a - from)) = *(const u32 *)PTR(a);
	b->cursor = to;
	if (b->chunk != was) {
		b->stamp[was] = __builtin_ia32_rdtsc();
		__atomic_store_n(&b->full[was], 1 + (u32)(from - chunk_at(b, was)),
				 __ATOMIC_RELEASE);
		__atomic_fetch_add(&s->bell, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->bell_asleep, __ATOMIC_SEQ_CST))
			rt_sys(NR_futex, &s->bell, 1 /* WAKE */, 0x7fffffff);
	}
	return to - from;
}

int rt_trace_full(struct rt_block *b, u64 addr, struct k_ucontext *uc)
{
	const uint8_t *p = PTR(UC_PC(uc));
	u64 chunk;
	u32 base = 0;

	if (!b->tracing)
		return 0;
	chunk = chunk_at(b, b->chunk);
	if (addr < chunk + TRACE_CHUNK || addr >= chunk + TRACE_STRIDE)
		return 0;
	/* rex, C7 or 89, modrm: the translator's stores (emit_record()); VEX or EVEX: its
	 * wide_store() */
	if (p[0] == 0xc4 || p[0] == 0x62) {
		base = (~p[1] >> 2 & 8) | (p[p[0] == 0xc4 ? 4 : 5] & 7);
	} else {
#ifndef __i386__
		if ((p[0] & 0xf0) != 0x40)
			return 0;
		base = (u32)(*p++ & 1) << 3;
#endif
		if (p[0] != 0xc7 && p[0] != 0x89)
			return 0;
		base |= p[1] & 7;
	}
	b->cursor = UC_GPR(uc, base);
	/* stores that straddle the guard have done nothing; what lies before it
	 * is the open record */
	UC_GPR(uc, base) += (word)next_chunk(b, chunk + TRACE_CHUNK);
	return 1;
}

static u8 *room(struct rt_block *b, u32 n)
{
	u64 chunk = chunk_at(b, b->chunk);

	if (b->cursor + n > chunk + TRACE_CHUNK)
		next_chunk(b, b->cursor);
	return PTR(b->cursor);
}

static void note(struct rt_block *b, u32 type, const u64 *arg, u32 narg)
{
	u8 *p;

	p = room(b, 4 + 8 * narg);
	*(u32 *)p = RT_NOTE(type, 8 * narg);
	rt_memcpy(p + 4, arg, 8 * narg);
	b->cursor += 4 + 8 * narg;
}

void rt_trace_note(struct rt_block *b, u32 type, const u64 *arg, u32 narg)
{
	const u64 n = b->told - b->budget;

	if (!b->tracing)
		return;
	rt_tree_note(b, type, arg);
	if (rt_counts(b) && n) {
		b->told = b->budget;
		note(b, RT_N_COUNTED, &n, 1);
	}
	note(b, type, arg, narg);
}

void rt_trace_state(struct rt_block *b, u64 rsp)
{
	u64 v[3] = { rsp };

	if (!b->tracing)
		return;
	rt_segments(b, v + 1);
	rt_trace_note(b, RT_N_STATE, v, 3);
}

#define PR_SET_NAME	15

static void mapped(struct rt_block *b, u64 addr, u64 len, u64 prot, u64 fd, u64 off)
{
	const u64 v[4] = { addr, len, prot, off };

	if ((int)fd < 0) {
		rt_trace_note(b, RT_N_MMAP, v, 4);
		return;
	}
#ifndef RT_IDT			/* which knows its files */
	b->mail.a[4] = fd;
	rt_ask(b, RQ_MAPPED, addr, len, prot, off);
#endif
}

/* The text that the call which is over has read at @at: @n bytes at most, else 0s. */
static void copy_text(char *to, u64 at, u32 n)
{
	for (u32 i = 0; i < n; i++)
		if (rt_get(to + i, at + i, 1) || !to[i]) {
			to[i] = 0;
			return;
		}
}

/* The program's call is over; ctx still has its arguments. */
void rt_trace_sysret(struct rt_block *b)
{
	const u64 old[2] = { ARG0, ARG1 };
	const long r = (long)RET;
	const u64 result = rt_failed(r) ? (u64)(int64_t)r : RET;
	u64 arg[6], said[3] = { result };
	u32 nsaid = 1;

	if (!b->tracing)
		return;
	if (b->syscall == NR_prctl && ARG0 == PR_SET_NAME && !rt_failed(r)) {
		copy_text((char *)(said + 1), ARG1, 15);
		nsaid = 3;
	}
	rt_trace_note(b, RT_N_SYSRET, said, nsaid);
	if (rt_failed(r))
		return;
	if (rt_mmap_arguments(b, arg)) {
		if (rt_replays(b))		/* the controller's descriptor, or none */
			arg[4] = RT_IS_SEGMENT(b->call_length) ? ~0ull : b->call_length - 1;
		mapped(b, result, arg[1], arg[2], arg[3] & MAP_ANONYMOUS ? ~0ull : arg[4], arg[5]);
	} else if (b->syscall == NR_munmap) {
		rt_trace_note(b, RT_N_MUNMAP, old, 2);
	} else if (b->syscall == NR_mremap) {
		rt_trace_note(b, RT_N_MUNMAP, old, 2);
		mapped(b, result, ARG2, PROT_READ | PROT_WRITE, ~0ull, 0);
	} else if (rt_sets_segments(b->syscall)) {
		rt_trace_state(b, b->ctx.gpr[RSP]);
	}
}

/* What the cursor register holds in translated code; NULL: the program's value. */
static u64 *held(struct rt_block *b)
{
	switch (b->r11_use) {
	case RT_R11_CURSOR:
		return &b->cursor;
	case RT_R11_BUDGET:
		return &b->budget;
	case RT_R11_CLOCK:
		return &b->until;
	case RT_R11_TREE:
		return &b->tree_state;
	}
	return 0;
}

void rt_restore_r11(struct rt_block *b, struct k_ucontext *uc, u32 tmp)
{
	u64 *const to = held(b);

	if (!to)
		return;
	if (tmp & 0x80) {			/* XL_RESTORED */
		*to = UC_GPR(uc, tmp & (RT_NGPR - 1));
	} else {
		*to = UC_GPR(uc, CURSOR_REG);
		UC_GPR(uc, CURSOR_REG) = (word)b->s_r11;
	}
}

void rt_load_cursor(struct rt_block *b, struct k_ucontext *uc)
{
	u64 *const from = held(b);

	if (!from)
		return;
	b->s_r11 = UC_GPR(uc, CURSOR_REG);
	UC_GPR(uc, CURSOR_REG) = (word)*from;
	if (b->r11_use == RT_R11_TREE)
		*from = 0;
}

void rt_count_end(struct rt_block *b, u64 rsp)
{
	if (!rt_counts(b))
		return;
	rt_trace_state(b, rsp);
	b->r11_use = RT_R11_CURSOR;
}

#ifndef RT_IDT
static int all_empty(struct rt_block *b)
{
	for (u32 i = 1; i < TRACE_CHUNKS; i++)
		if (!wait_empty(b, (b->chunk + i) % TRACE_CHUNKS))
			return 0;
	return 1;
}

void rt_trace_deliver(struct rt_block *b)
{
	if (!b->tracing || b->r11_use != RT_R11_CURSOR)
		return;
	next_chunk(b, b->cursor);
	all_empty(b);
}

#ifndef __i386__
#define SOON 0x40000			/* bytes: for what is left in front of a
					 * region, and a little */

void rt_count_spent(struct rt_block *b)
{
	const u64 to = chunk_at(b, b->chunk) + TRACE_CHUNK - SOON;
	u32 n;

	rt_count_end(b, b->ctx.gpr[RSP]);
	if (b->cursor + 4 >= to)
		return;
	n = (u32)(to - b->cursor - 4);
	*(u32 *)PTR(b->cursor) = RT_NOTE(RT_N_SKIP, n);
	b->cursor += 4 + n;
}

u64 rt_count_granted(struct rt_block *b)
{
	return all_empty(b) ? b->grant : 0;
}
#endif
#endif

void rt_trace_start(struct rt_block *b)
{
	if (!b->tracing)
		return;
	for (u32 i = 0; i < TRACE_CHUNKS; i++)
		rt_sys(NR_mprotect, chunk_at(b, i) + TRACE_CHUNK, TRACE_STRIDE - TRACE_CHUNK, 0);
	if (b->cursor < RT_BLOCK_ALIGN)
		b->cursor += (word)b;
	if (!rt_counts(b))
		b->r11_use = RT_R11_CURSOR;
	rt_tree_begin(b);
	rt_trace_state(b, b->ctx.gpr[RSP]);
}
