/* SPDX-License-Identifier: MIT */
/* answers.c - what others ask the controller is answered here */
#include "standalone.h"

/* Is nothing of block @k's chain half done at @at? */
static int between(u32 i, u32 k, const struct img_place *at)
{
	if (at->insn >= rt_blocks(i)[k].n)
		return at->flags & 32 /* XL_RECORDED */;
	return !at->insn && !(at->flags & (16 | 32)) && rt_prev_block(i, k) == IMG_NO_BLOCK;
}

static void on_signal(struct rt_block *b, struct rt_mail *m)
{
	u32 i, k;
	struct img_place at;
	u64 code = m->a[0];

	if (rt_state_at(code, &i, &k, &at)) {
		m->r[0] = RT_IN_CODE;
		m->r[1] = rt_image_pc(i, k, at.insn);
		m->r[2] = at.flags;
		m->r[3] = at.tmp;
		if (i >= MAN->ntext)
			rt_note_stopped(b, m->r[1], i, k, at.insn);
		/* in a trace, signals from outside wait for the block's end: they step there */
		if (b->tracing && !m->a[3] && !between(i, k, &at))
			m->r[2] &= ~1ull;
		return;
	}
	if (rt_text_of(code) == NO_TEXT && !rt_may_execute(code)) {
		m->r[0] = RT_NOWHERE;
		return;
	}
	if (b->r11_use)
		b->cursor = b->ctx.gpr[CURSOR_REG];
	m->r[1] = rt_lookup(b, code, 1);
	m->r[0] = RT_IN_ORIGINAL;
	rt_shadow_fill_at(code);
}

/* The block that stands at @code goes no further for now. In a profile: if its counter went up, but
 * none of its instructions was executed, it will be entered again. */
static void on_cut(struct rt_block *b, u64 code, u64 rsi, u64 rdi)
{
	u32 i, n, done, before;
	struct img_place at;

	if (!rt_state_at(code, &i, &n, &at))
		return;
	if (!b->tracing) {
		if (at.insn == 0 && at.flags & 16 /* XL_COUNTED */)
			--((rt_count *)((uint8_t *)b + COUNTERS_AT))[rt_block_word(i, n)];
		return;
	}
	if (at.insn >= rt_blocks(i)[n].n || between(i, n, &at))
		return;
	done = at.flags >> 5 & 1;	/* XL_RECORDED */
	before = rt_prev_block(i, n);
	/* before its first instruction a block has nothing of its own in the record */
	rt_image_save_record(b, &(struct rt_stop){
		.word = rt_block_word(i, n), .before = rt_block_word(i, before),
		.complete = done, .insn = at.insn,
		.size = rt_image_record(i,
					!at.insn && !done && before != IMG_NO_BLOCK ? before : n),
		.counted = at.flags >> 4 & 1 /* XL_COUNTED */,
		.rsi = rsi, .rdi = rdi, .sp = b->ctx.gpr[RSP],
	});
}

/* Is the file that the system call is about to execute an instrumented program? Its process has
 * files of ours already, and shall tell its own by a number. */
static int execs_image(const struct rt_block *b)
{
	char tag[8];
	long fd, n;

	if ((u32)b->ctx.gpr[RAX] != NR_execve)
		return 0;
	fd = rt_sys(NR_open, ARG0, O_CLOEXEC | O_LARGEFILE, 0);
	if (fd < 0)
		return 0;
	n = rt_sys(NR_lseek, fd, -120, 2 /* SEEK_END */);
	if (n > 0)
		n = rt_pread(fd, tag, sizeof tag, n);
	rt_sys(NR_close, fd);
	return n == sizeof tag && *(const u64 *)tag == 0x0a31544449475550;	/* "PUGIDT1\n" */
}

/* Is @code where a block is entered with the program's whole state? */
static int is_entry(u64 code)
{
	struct img_place at;
	u32 i, k;

	return rt_state_at(code, &i, &k, &at) && code == TEXTS[i].code + rt_blocks(i)[k].code;
}

int rt_ask(struct rt_block *b, u32 op, u64 a0, u64 a1, u64 a2, u64 a3)
{
	struct rt_mail *m = &b->mail;
	struct rt_block *made;
	u64 to;

	m->a[0] = a0;
	m->a[1] = a1;
	m->a[2] = a2;
	m->a[3] = a3;
	m->r[0] = m->r[1] = m->r[2] = m->r[3] = m->r[4] = 0;
	switch (op) {
	case RQ_HELLO:
		LEDGER->owner[rt_image_number(b)] = b->pid;
		if (b->tid == b->pid)
			rt_later_join(b->pid);
		if (b->origin == BLK_FORKED) {
			rt_counts_forked();
			rt_later_coming(-1);
			rt_watch(b->pid);
		}
		rt_trace_begin(b);
		if (rt_is_ending(b))
			rt_park(b);
		break;
	case RQ_LOOKUP:
		m->r[0] = rt_lookup(b, a0, 0);
		break;
	case RQ_RESOLVE:
		m->r[0] = rt_lookup(b, ((const u64 *)PTR(b->links))[a0], 1);
		if (is_entry(m->r[0]))
			rt_later_link(b, a0, m->r[0]);
		break;
	case RQ_SIGNAL:
		on_signal(b, m);
		break;
	case RQ_CUT:
		on_cut(b, a0, a1, a2);
		break;
	case RQ_CHECKFAIL:
		if (rt_ask_translator(b, a0, 2, &to))
			m->r[0] = to;
		break;
	case RQ_MAP:
		rt_unmapped(a0, a1);
		rt_mapped(b, a0, a1);
		break;
	case RQ_UNMAP:
		rt_unmapped(a0, a1);
		break;
	case RQ_BLOCK:
		if (!a0 && !rt_image_threads++ && b->tracing)
			rt_image_clear(b, b->cursor, (word)b + TRACE_AT + TRACE_CHUNK);
		if (!a0)
			rt_image_order(b);
		made = rt_block_new(a0 ? RT_RESERVED : b->pid);
		m->r[0] = made ? rt_image_number(made) : 0;
		if (made && a0 == BLK_FORKED)
			rt_later_coming(1);
		break;
	case RQ_UNBLOCK:
		if (rt_image_block((u32)a0)) {
			if (rt_image_block((u32)a0)->origin == BLK_FORKED)
				rt_later_coming(-1);
			rt_image_block((u32)a0)->state = BLK_DEAD;
		}
		if (LEDGER->owner[a0] == RT_RESERVED)
			LEDGER->owner[a0] = 0;
		break;
	case RQ_EXEC:
		rt_watch_end(b->pid);
		rt_write_all(b, rt_has_others(b));
		rt_later_leave(b->pid);
		if (execs_image(b))
			rt_sys(NR_personality, (u64)rt_sys(NR_personality, 0xffffffff) | EXECED);
		break;
	case RQ_EXECFAIL:
		rt_let_go(b);
		rt_later_join(b->pid);
		rt_watch_again(b->pid);
		rt_sys(NR_personality, (u64)rt_sys(NR_personality, 0xffffffff) & ~(u64)EXECED);
		break;
	case RQ_EXIT:
		rt_on_exit(b, a1 != 0);
		break;
	}
	return 1;
}

void rt_resume_native(struct rt_block *b)
{
	(void)b;
	rt_image_stop("the program is lost", 0);
	__builtin_unreachable();
}
