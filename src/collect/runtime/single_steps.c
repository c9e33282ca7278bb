/* SPDX-License-Identifier: MIT */
/* single_steps.c - instructions that are executed one by one: in their original place, to
 * where a block begins */
#include "rt.h"

void rt_set_tf(struct k_ucontext *uc, int on)
{
	if (on)
		UC_FLAGS(uc) |= 0x100;
	else
		UC_FLAGS(uc) &= ~(word)0x100;
}

/* The signal is given where the next instruction of the program begins. */
void rt_step_to_boundary(struct rt_block *b, u32 sig, const void *info, struct k_ucontext *uc)
{
	b->stepping = RT_STEP_TO_BOUNDARY;
	b->step_sig = sig;
	rt_memcpy(b->step_info, info, 128);
	rt_set_tf(uc, 1);
	uc->sigmask = ~SYNC_SIGS;
}

/* An instruction that only its original place can execute: that page is executable for one step. */
void rt_step_in_place(struct rt_block *b, u64 pc)
{
	const u64 page = pc & ~4095ull, all = ~SYNC_SIGS;

	rt_count_end(b, b->ctx.gpr[RSP]);
	if (!rt_ask(b, RQ_STEP, pc, 0, 0, 0))
		rt_resume_native(b);
	if (!rt_is_exec(pc, 1)) {
		rt_resume(b);
		return;
	}
	/* first: one that comes once the step is on its way is taken for one at the instruction */
	rt_sys(NR_rt_sigprocmask, 2, &all, 0, 8);
	b->fix_mask = 0;
	/* behind the text there may be data */
	rt_sys(NR_mprotect, page, rt_is_exec(page + 4096, 1) ? 8192 : 4096, PROT_READ | PROT_EXEC);
	b->step_page = page;
	b->stepping = RT_STEP_LEAVING;
	if (b->r11_use)
		b->r11_use = RT_R11_STEP;
	b->ctx.flags |= 0x100;
	b->resume = pc;
}

/* ---- to where counting copies begin ---------------------------------------------------------- */
#define MOST_STEPS 200			/* then it will try again when the next chunk is full */

#if !defined RT_IDT && !defined __i386__
static int is_prefix(u8 c)
{
	return (c & 0xf0) == 0x40 || c == 0x66 || c == 0xf2 || c == 0xf3 || c == 0x2e ||
	       c == 0x36 || c == 0x3e || c == 0x26 || c == 0x64 || c == 0x65;
}

/* Would the instruction at @pc show that there is a trap flag, or change it? Where the program has
 * jumped to what cannot be read, steps are over, too. */
static int shows_flags(u64 pc)
{
	u8 c;

	do
		if (rt_get(&c, pc++, 1))
			return 1;
	while (is_prefix(c));
	return c == 0x9c || c == 0x9d;		/* pushf, popf */
}

static void stop_steps(struct rt_block *b, struct k_ucontext *uc)
{
	b->stepping = RT_STEP_NONE;
	rt_set_tf(uc, 0);
	uc->sigmask = b->real_mask;
}

void rt_step_to_head(struct rt_block *b, struct k_ucontext *uc)
{
	const u64 granted = b->grant ? rt_count_granted(b) : 0;

	if (!granted || shows_flags(UC_PC(uc)))
		return;
	b->told = b->budget = granted;
	b->steps = 0;
	b->step_page = UC_PC(uc);
	b->stepping = RT_STEP_TO_HEAD;
	rt_set_tf(uc, 1);
	uc->sigmask = ~SYNC_SIGS;
}

/* One step further. Where a block with a counting copy begins, and nothing of it has been done, the
 * counting copy goes on. To ask costs more than to step: only where it has jumped. */
static void stepped_to_head(struct rt_block *b, struct k_ucontext *uc)
{
	const u64 pc = UC_PC(uc), jumped = pc - b->step_page > 15;

	b->step_page = pc;
	if (++b->steps > MOST_STEPS || (jumped && !rt_ask(b, RQ_COUNTING, pc, 0, 0, 0))) {
		stop_steps(b, uc);
	} else if (jumped && b->mail.r[0]) {
		stop_steps(b, uc);
		b->cursor = UC_GPR(uc, CURSOR_REG);
		b->r11_use = RT_R11_BUDGET;
		UC_GPR(uc, CURSOR_REG) = (word)b->budget;
		UC_PC(uc) = (word)b->mail.r[0];
	} else if (shows_flags(UC_PC(uc))) {
		stop_steps(b, uc);
	}
}

/* Was the signal one of these steps, and has it been dealt with? If not the steps are over. */
int rt_steps_to_head(struct rt_block *b, struct k_ucontext *uc, int stepped)
{
	const u64 pc = UC_PC(uc);

	if (b->stepping != RT_STEP_TO_HEAD)
		return 0;
	if (stepped && (pc < (word)rt_image_start || pc >= (word)rt_image_end))
		stepped_to_head(b, uc);
	else
		stop_steps(b, uc);		/* stepped: to a door of ours */
	return stepped;
}
#else
void rt_step_to_head(struct rt_block *b, struct k_ucontext *uc) { }
int rt_steps_to_head(struct rt_block *b, struct k_ucontext *uc, int stepped) { return 0; }
#endif

void rt_step_done(struct rt_block *b, struct k_ucontext *uc)
{
	if (b->stepping == RT_STEP_INPLACE)
		rt_save_program_segment(b, uc);
	for (u32 i = 0; i < 2; i++) {
		u64 page = b->step_page + i * 4096;

		for (u32 j = 0; j < rt_nranges; j++)
			if (rt_ranges[j].lo <= page && page < rt_ranges[j].hi)
				rt_sys(NR_mprotect, page, 4096, PROT_READ);
	}
	b->stepping = RT_STEP_NONE;
	if (b->r11_use)
		b->r11_use = b->tree ? RT_R11_TREE :
			rt_logged_bare(b) ? RT_R11_CLOCK : RT_R11_CURSOR;
	rt_set_tf(uc, 0);
	uc->sigmask = b->real_mask;
}

#define TRAP_BRKPT 1
#define TRAP_TRACE 2

/* Is it the step that we asked for? Some virtual processors lose the reason for the trap now and
 * then when they are interrupted there; the kernel says TRAP_BRKPT then, as for int1 (0xf1). */
int rt_is_step(const struct rt_block *b, u32 sig, const struct k_siginfo *info, u64 pc)
{
	uint8_t last = 0;

	if (sig != SIGTRAP || info->code != TRAP_BRKPT || b->stepping == RT_STEP_NONE)
		return sig == SIGTRAP && info->code == TRAP_TRACE;
	return rt_get(&last, pc - 1, 1) || last != 0xf1;
}
