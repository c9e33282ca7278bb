/* SPDX-License-Identifier: MIT */
/* xlate_run.h - run guest code natively and translated, in this process, one instruction at a time
 *
 * A toy of the real runtime: gs points to a fake thread block, the shadow is an untouched private
 * mapping, every RT_DO_* slot points to an int3, and the SIGTRAP handler does what the slot asks
 * for. Original code is readable only while translated code runs, so lookups that find nothing
 * fault.
 *
 * With stepping on, the native run leaves a trace of (pc, registers), and the translated run is
 * held against it at every copy address whose map entry says XL_AT_START. */
#ifndef XLATE_RUN_H
#define XLATE_RUN_H

#include <asm/prctl.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitizer.h"
#include "collect/runtime/abi.h"
#include "collect/translate/translate.h"
#include "isa/x86/decode.h"

#if PM_THREAD_SANITIZER
/* The handler translates, and so allocates: what it interrupts is guest code, no allocator. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}
#endif

#define CACHE_SIZE	(8u << 20)
#define BLOCK_BYTES	(RT_COUNTERS + (4u << 20))
#define STACK_SIZE	(1u << 20)
#define ARITH		0x8d5u			/* OF SF ZF AF PF CF */
#define TF		0x100u
#define FINISH_PC	0x66600000ull		/* returning to it ends a run */

struct state {
	uint64_t pc, r[16], flags;
};

struct placed {					/* a unit that lives in the cache */
	struct xl_unit u;
	uint64_t at;				/* its place */
	uint32_t counter0, link0;
	uint64_t *outside;			/* of each block: its entry for outsiders, 0:
						 * none yet */
	bool dead;				/* nobody enters it any more */
};

struct run {
	/* what to run */
	uint8_t *text;				/* original code: [lo, hi) */
	uint64_t lo, hi;
	uint64_t data, data_size;		/* memory that runs may change */
	bool absolute, patchable, check_bytes;
	bool abi_flags, dropped;		/* for as long as nothing breaks the ABI;
						 * something has */
	uint32_t max_insns, max_blocks;
	bool step;
	bool follow_all;			/* no limits to what is compared */
	bool logged, leaves;			/* SAFEPOINTS; it leaves at each of them */
	uint64_t left;

	/* the translated world */
	uint8_t *cache;
	size_t used;
	struct placed *unit;
	size_t nunit, cap_unit;
	uint32_t ncounter, nlink;
	uint64_t asked, steps, syscalls, checks, closed;	/* what the gates were used for */

	/* traces */
	struct state *trace;
	size_t ntrace, cap_trace, k;
	struct state end;
	int end_signal;
	uint64_t end_addr;
	bool translated, failed, too_long;
	char why[400];
};

static struct run *R;
static uint8_t *thread_block;
static uint8_t *gate;				/* page of int3 */
static uint8_t *guest_stack;
static ucontext_t host;				/* where to go back to */
static uint8_t host_fp[512] __attribute__((aligned(64))),
	guest_fp[512] __attribute__((aligned(64)));
static struct state start_state;
static struct x86_decoder *ref_dec;

enum { GATE_RESOLVE = 0, GATE_SYSCALL = 16, GATE_STEP = 32, GATE_INT80 = 48, GATE_CHECK = 64,
       GATE_SAFEPOINT = 80 };

static const int greg_of[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

__attribute__((format(printf, 1, 2)))
static void wrong(const char *fmt, ...)
{
	va_list ap;

	if (R->failed)
		return;
	R->failed = true;
	va_start(ap, fmt);
	vsnprintf(R->why, sizeof R->why, fmt, ap);
	va_end(ap);
}

static void get_state(const ucontext_t *uc, struct state *s)
{
	for (int i = 0; i < 16; i++)
		s->r[i] = uc->uc_mcontext.gregs[greg_of[i]];
	s->pc = uc->uc_mcontext.gregs[REG_RIP];
	s->flags = uc->uc_mcontext.gregs[REG_EFL];
}

static void set_state(ucontext_t *uc, const struct state *s)
{
	for (int i = 0; i < 16; i++)
		uc->uc_mcontext.gregs[greg_of[i]] = s->r[i];
	uc->uc_mcontext.gregs[REG_RIP] = s->pc;
	uc->uc_mcontext.gregs[REG_EFL] = s->flags;
}

/* ---- the toy controller --------------------------------------------------------------------- */
static const uint8_t *guest_read(void *ctx, uint64_t addr, size_t *avail)
{
	struct run *r = ctx;

	if (addr < r->lo || addr >= r->hi)
		return NULL;
	*avail = r->hi - addr;
	return r->text + (addr - r->lo);
}

static const uint8_t *guest_data(void *ctx, uint64_t addr, size_t *avail)
{
	static uint8_t entry[8];
	struct iovec to = { entry, sizeof entry }, from = { (void *)(uintptr_t)addr, sizeof entry };
	ssize_t n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);

	(void)ctx;
	*avail = n > 0 ? (size_t)n : 0;
	return n > 0 ? entry : NULL;
}

static struct placed *find_block(uint64_t pc, struct xl_block **b)
{
	for (size_t k = R->nunit; k-- > 0; )
		for (size_t j = 0; j < R->unit[k].u.nblock && !R->unit[k].dead; j++)
			if (R->unit[k].u.block[j].pc == pc) {
				*b = &R->unit[k].u.block[j];
				return &R->unit[k];
			}
	return NULL;
}

static bool guest_known(void *ctx, uint64_t addr, struct xl_known *out)
{
	struct xl_block *b;
	struct placed *p = find_block(addr, &b);

	if (!p)
		return false;
	out->code = b->flow.in == XL_OPEN ? p->at + b->code : p->outside[b - p->u.block];
	out->live = b->live;
	out->reads_flags = b->flags & XL_READS_FLAGS;
	return true;
}

/* Where to enter block @b of @p from elsewhere: counted on the way if it is closed. */
static uint64_t outside_entry(struct placed *p, const struct xl_block *b)
{
	uint64_t *at = &p->outside[b - p->u.block];
	uint32_t field[2], rel;
	unsigned n;
	uint8_t *c;

	if (b->flow.in == XL_OPEN)
		return p->at + b->code;
	if (*at)
		return *at;
	R->used = (R->used + 15) & ~15ul;
	*at = (uint64_t)R->cache + R->used;
	c = R->cache + R->used;
	c += xl_count(c, false, b->live, p->counter0 + b->flow.in, 1, field, &n);
	if (c - (uint8_t *)*at > XL_COUNT_MAX)
		wrong("xl_count() is too long");
	*c++ = 0xe9;
	rel = (uint32_t)(p->at + b->code - (uint64_t)(c + 4));
	memcpy(c, &rel, 4);
	R->used += c + 4 - (uint8_t *)*at;
	R->closed++;
	return *at;
}

static void apply_relocs(struct placed *p, uint8_t *code)
{
	for (size_t k = 0; k < p->u.nreloc; k++) {
		const struct xl_reloc *l = &p->u.reloc[k];
		uint32_t v;

		if (l->at + 4 > p->u.ncode)
			wrong("relocation outside the code");
		memcpy(&v, code + l->at, 4);
		if (l->kind == XL_REL_COUNTER) {
			if (v != RT_COUNTERS + 8 * l->addend)
				wrong("counter field holds 0x%x", v);
			v += 8 * p->counter0;
		} else if (l->kind == XL_REL_LINK) {
			if (v != l->addend)
				wrong("link field holds 0x%x", v);
			v += p->link0;
		}
		memcpy(code + l->at, &v, 4);
	}
}

static void check_unit(const struct placed *p, const struct xl_input *in)
{
	const struct xl_unit *u = &p->u;

	if (u->nblock && u->block[0].pc != in->entry)
		wrong("block 0 is not the entry");
	const struct xl_map *before = NULL;		/* but tails: those are behind all blocks */

	for (size_t k = 0; k < u->nmap; k++) {
		if (u->map[k].flags & XL_CALLED)
			continue;
		if (before && u->map[k].code < before->code)
			wrong("map entry %zu goes back", k);
		before = &u->map[k];
	}
	for (size_t k = 0; k < u->nblock; k++) {
		const struct xl_block *b = &u->block[k];
		uint32_t begin = b->indirect != XL_NONE && b->indirect < b->code ? b->indirect
										 : b->code;

		if (!b->nmap || u->map[b->map].code != begin)
			wrong("map of block %zu does not begin at its code", k);
		for (uint32_t m = b->map; m < b->map + b->nmap; m++) {
			const bool tail = u->map[m].flags & XL_CALLED,
				   cold = u->map[m].code >= b->code_end;

			if (tail && (!cold || u->map[m].insn + 1u != b->n))
				wrong("the tail of block %zu is not its call's", k);
			if (!tail && cold && u->map[m].insn != b->n)
				wrong("map entry behind block %zu", k);
			if (u->map[m].insn > b->n)
				wrong("map entry for insn %u of %u", u->map[m].insn, b->n);
			if (m > b->map && u->map[m].insn < u->map[m - 1].insn && !tail)
				wrong("map of block %zu: insn goes back", k);
			if (m > b->map && u->map[m].code <= u->map[m - 1].code && (!tail || !cold))
				wrong("map of block %zu: two entries at one place", k);
		}
		if (in->patchable && ((p->at + b->code) & 7))
			wrong("entry of block %zu is not aligned", k);
		if (in->max_insns && b->n > in->max_insns)
			wrong("block %zu has %u instructions", k, b->n);
	}
	for (size_t k = 0; k < u->nlink; k++) {
		if (((p->at + u->link[k].site) & 63) > 60)
			wrong("link %zu crosses a cache line", k);
		if (u->link[k].site + 4 > u->ncode || u->link[k].stub >= u->ncode)
			wrong("link %zu lies outside the code", k);
	}
}

/* Flags do pass through calls: everything anew. */
static void drop_abi(void)
{
	for (size_t k = 0; k < R->nunit; k++) {
		struct placed *p = &R->unit[k];

		p->dead = true;
		for (size_t j = 0; j < p->u.nblock; j++)
			if (p->u.block[j].pc != UINT64_MAX)
				*(int32_t *)(RT_SHADOW +
					     4 * (uint64_t)(uint32_t)p->u.block[j].pc) = 0;
	}
	R->abi_flags = false;
	R->dropped = true;
}

/* Make what is at original @pc exist; its direct entry, or 0. */
static uint64_t need(uint64_t pc, bool anew)
{
	struct xl_block *b;
	struct placed *p = anew ? NULL : find_block(pc, &b);
	struct xl_input in = {
		.entry = pc, .lo = R->lo, .hi = R->hi, .absolute = R->absolute,
		.patchable = R->patchable, .check_bytes = R->check_bytes, .abi_flags = R->abi_flags,
		.max_insns = R->max_insns, .max_blocks = R->max_blocks, .logged = R->logged,
		.read = guest_read, .data = guest_data, .known = guest_known, .ctx = R,
	};
	struct placed n = { 0 };

	if (p)
		return outside_entry(p, b);
	R->asked++;
	R->used = (R->used + 63) & ~63ul;
	in.place = (uint64_t)R->cache + R->used;
	n.at = in.place;
	n.counter0 = R->ncounter;
	n.link0 = R->nlink;
	xl_translate(&in, &n.u);
	if (n.u.breaks_abi) {
		xl_unit_release(&n.u);
		drop_abi();
		return need(pc, anew);
	}
	if (!n.u.nblock || R->used + n.u.ncode + 64 > CACHE_SIZE) {
		xl_unit_release(&n.u);
		return 0;
	}
	memcpy(R->cache + R->used, n.u.code, n.u.ncode);
	check_unit(&n, &in);
	apply_relocs(&n, R->cache + R->used);
	R->used += n.u.ncode;
	R->ncounter += n.u.nblock;
	n.outside = pm_alloc(n.u.nblock * sizeof *n.outside);
	R->nlink += n.u.nlink;
	pm_grow(R->unit, R->nunit, R->cap_unit);
	R->unit[R->nunit++] = n;
	if (n.u.block[0].flow.in != XL_OPEN)
		wrong("the entry is closed");
	return n.at + n.u.block[0].code;
}

/* The indirect entry of original @pc, made on demand, and entered into the shadow. */
static uint64_t need_indirect(uint64_t pc)
{
	struct xl_block *b;
	struct placed *p;
	uint64_t at;

	if (!need(pc, false))
		return 0;
	p = find_block(pc, &b);
	if ((b->flags & (XL_READS_FLAGS | XL_JUMP_TARGET)) == XL_READS_FLAGS) {
		drop_abi();
		return need_indirect(pc);
	}
	if (b->indirect != XL_NONE) {
		at = p->at + b->indirect;
	} else {
		uint64_t direct = outside_entry(p, b);

		R->used = (R->used + 15) & ~15ul;
		at = (uint64_t)R->cache + R->used;
		R->used += xl_indirect_entry(R->cache + R->used, false, at, direct, b->live);
		/* the harness needs to know the place: give it a unit of its own */
		struct placed n = { .at = at };

		pm_grow(n.u.block, 0, n.u.cap_block);
		pm_grow(n.u.map, 0, n.u.cap_map);
		n.u.block[0] = (struct xl_block){ .pc = UINT64_MAX, .code = 0, .code_end =
			(uint64_t)R->cache + R->used - at, .n = 1, .nmap = 1, .indirect = XL_NONE,
			.flow = { XL_OPEN, XL_OPEN } };
		n.u.map[0] = (struct xl_map){ 0 };
		n.u.nblock = n.u.nmap = 1;
		pm_grow(R->unit, R->nunit, R->cap_unit);
		R->unit[R->nunit++] = n;
		find_block(pc, &b);
		b->indirect = XL_NONE;		/* stays on demand */
	}
	*(int32_t *)(RT_SHADOW + 4 * (uint64_t)(uint32_t)pc) = (int32_t)(at - pc);
	return at;
}

static const struct xl_map *map_of(uint64_t at, const struct placed **pp,
				   const struct xl_block **bb)
{
	for (size_t k = 0; k < R->nunit; k++) {
		const struct placed *p = &R->unit[k];

		if (p->u.nblock && at >= p->at && at < p->at + p->u.ncode)
			for (size_t j = 0; j < p->u.nblock; j++) {
				const struct xl_block *b = &p->u.block[j];
				uint32_t off = at - p->at, m;

				m = b->map;
				if (off < p->u.map[m].code || off >= b->code_end)
					continue;
				while (m + 1 < b->map + b->nmap && p->u.map[m + 1].code <= off)
					m++;
				*pp = p;
				*bb = b;
				return &p->u.map[m];
			}
	}
	return NULL;
}

static uint64_t insn_pc(const struct xl_block *b, unsigned insn)
{
	uint64_t pc = b->pc;
	struct x86_insn x;

	while (insn--) {
		if (!x86_decode(ref_dec, R->text + (pc - R->lo), R->hi - pc, &x)) {
			wrong("block 0x%lx: insn does not decode", b->pc);
			return pc;
		}
		pc += x.len;
	}
	return pc;
}

static const char *const reg_name[16] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static uint32_t eflags_of(unsigned f)
{
	return (f & X86_CF ? 1 : 0) | (f & X86_PF ? 4 : 0) | (f & X86_AF ? 0x10 : 0) |
	       (f & X86_ZF ? 0x40 : 0) | (f & X86_SF ? 0x80 : 0) | (f & X86_OF ? 0x800 : 0);
}

/* Are @s and native state @n equal as far as the instruction there can tell? One that may fault
 * tells everything but the flags. */
static bool same_state(const struct state *s, const struct state *n)
{
	struct x86_insn x = { .read = 0xffff, .fread = X86_ALL_FLAGS, .prop = X86_MAY_FAULT };
	uint32_t off = 0;

	if (s->pc != n->pc)
		return false;
	if (n->pc >= R->lo && n->pc < R->hi)
		x86_decode(ref_dec, R->text + (n->pc - R->lo), R->hi - n->pc, &x);
	for (int i = 0; i < 16; i++)
		off |= (uint32_t)(s->r[i] != n->r[i]) << i;
	if (off & x.read || (off && (x.prop & X86_MAY_FAULT || x.kind >= X86_CALL)))
		return false;
	if ((R->abi_flags || R->dropped) && (x.kind >= X86_RET || n->pc < R->lo || n->pc >= R->hi))
		return true;
	return !((s->flags ^ n->flags) & (x.kind >= X86_RET ? ARITH : eflags_of(x.fread)));
}

static void compare_step(const ucontext_t *uc)
{
	const struct placed *p;
	const struct xl_block *b;
	const struct xl_map *m;
	struct state s;

	get_state(uc, &s);
	m = map_of(s.pc, &p, &b);
	if (!m || !(m->flags & XL_AT_START))
		return;
	if (m->flags & XL_RCX_SAVED)
		memcpy(&s.r[1], thread_block + RT_S_RCX, 8);
	if (m->flags & XL_RDX_SAVED)
		memcpy(&s.r[2], thread_block + RT_S_RDX, 8);
	if (m->flags & XL_TMP_SAVED)
		memcpy(&s.r[m->tmp & 15], thread_block + RT_S_TMP, 8);
	if (XL_BORROWED(m->tmp))
		memcpy(&s.r[XL_BORROWED(m->tmp)], thread_block + RT_S_TMP2, 8);
	uint64_t at = s.pc;

	s.pc = insn_pc(b, m->insn);
	if (R->k < R->ntrace && same_state(&s, &R->trace[R->k]))
		return;
	if (R->k + 1 < R->ntrace && same_state(&s, &R->trace[R->k + 1])) {
		R->k++;
		return;
	}
	if (!R->failed) {
		const struct state *n = &R->trace[R->k + 1 < R->ntrace ? R->k + 1 : R->k];
		char diff[200] = "";

		for (int i = 0; i < 16; i++)
			if (n->r[i] != s.r[i])
				snprintf(diff + strlen(diff), sizeof diff - strlen(diff),
					 " %s %lx!=%lx", reg_name[i], s.r[i], n->r[i]);
		wrong("copy +0x%lx (insn %u of block 0x%lx, 0x%lx) at native step %zu of %zu"
		      " (0x%lx then 0x%lx):%s", at - p->at, m->insn, b->pc, s.pc, R->k, R->ntrace,
		      R->trace[R->k].pc, n->pc, diff);
	}
}

/* ---- the toy runtime ------------------------------------------------------------------------ */
static void finish(ucontext_t *uc, int sig, uint64_t addr)
{
	get_state(uc, &R->end);
	R->end_signal = sig;
	R->end_addr = addr;
	memcpy(uc->uc_mcontext.gregs, host.uc_mcontext.gregs, sizeof host.uc_mcontext.gregs);
}

/* A fault at a copy address becomes a fault of the original instruction. */
static void undo(ucontext_t *uc)
{
	const struct placed *p;
	const struct xl_block *b;
	const struct xl_map *m = map_of(uc->uc_mcontext.gregs[REG_RIP], &p, &b);
	greg_t *g = uc->uc_mcontext.gregs;

	if (!m) {
		wrong("fault at 0x%llx, outside all blocks", g[REG_RIP]);
		return;
	}
	if (!(m->flags & XL_AT_START))
		wrong("fault in block 0x%lx inside instruction %u", b->pc, m->insn);
	if (m->flags & XL_RCX_SAVED)
		memcpy(&g[REG_RCX], thread_block + RT_S_RCX, 8);
	if (m->flags & XL_RDX_SAVED)
		memcpy(&g[REG_RDX], thread_block + RT_S_RDX, 8);
	if (m->flags & XL_TMP_SAVED)
		memcpy(&g[greg_of[m->tmp & 15]], thread_block + RT_S_TMP, 8);
	if (XL_BORROWED(m->tmp))
		memcpy(&g[greg_of[XL_BORROWED(m->tmp)]], thread_block + RT_S_TMP2, 8);
	g[REG_RIP] = insn_pc(b, m->insn);
}

static uint64_t slot(uint32_t off)
{
	uint64_t v;

	memcpy(&v, thread_block + off, 8);
	return v;
}

static bool stepping_in_place;

static void go_to(ucontext_t *uc, uint64_t pc)
{
	uint64_t to;

	if (pc == FINISH_PC) {
		uc->uc_mcontext.gregs[REG_RIP] = pc;
		finish(uc, 0, 0);
		return;
	}
	to = pc >= R->lo && pc < R->hi ? need(pc, false) : 0;
	if (!to) {
		uc->uc_mcontext.gregs[REG_RIP] = pc;
		finish(uc, SIGSEGV, pc);
		return;
	}
	uc->uc_mcontext.gregs[REG_RIP] = to;
}

static void protect_text(int prot)
{
	if (mprotect((void *)R->lo, (R->hi - R->lo + 4095) & ~4095ul, prot))
		abort();
}

static bool reads_flags_at(uint64_t pc)
{
	struct xl_block *b;

	return pc >= R->lo && pc < R->hi && need(pc, false) && find_block(pc, &b) &&
	       b->flags & XL_READS_FLAGS;
}

/* How many more safepoints the code may pass. */
static void set_until(uint64_t n)
{
	memcpy(thread_block + RT_UNTIL, &n, 8);
}

static void at_safepoint(ucontext_t *uc);

static void on_gate(ucontext_t *uc, uint64_t which)
{
	greg_t *g = uc->uc_mcontext.gregs;
	uint32_t id;

	switch (which) {
	case GATE_RESOLVE:
		memcpy(&id, thread_block + RT_EXIT_ID, 4);
		for (size_t k = 0; k < R->nunit; k++) {
			const struct placed *p = &R->unit[k];

			if (id >= p->link0 && id - p->link0 < p->u.nlink) {
				const struct xl_link l = p->u.link[id - p->link0];
				uint64_t site = p->at + l.site, to;

				if (l.stale && reads_flags_at(l.target))
					drop_abi();
				go_to(uc, l.target);
				to = g[REG_RIP];
				if (to >= (uint64_t)R->cache &&
				    to < (uint64_t)R->cache + CACHE_SIZE) {
					int32_t rel = to - (site + 4);

					memcpy((void *)site, &rel, 4);
				}
				return;
			}
		}
		wrong("exit with an unknown link number %u", id);
		finish(uc, SIGABRT, 0);
		return;
	case GATE_SYSCALL:
		R->syscalls++;
		g[REG_RAX] = syscall(g[REG_RAX], g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10],
				     g[REG_R8], g[REG_R9]);
		if (g[REG_RAX] == -1)
			g[REG_RAX] = -errno;
		g[REG_R11] = g[REG_EFL] & ~(greg_t)TF;
		g[REG_RIP] = slot(RT_CONT);
		return;
	case GATE_STEP:
		R->steps++;
		stepping_in_place = true;
		protect_text(PROT_READ | PROT_EXEC);
		g[REG_EFL] |= TF;
		g[REG_RIP] = slot(RT_EXIT_PC);
		return;
	case GATE_INT80:
		R->syscalls++;
		if (g[REG_RAX] == 20)			/* what the tests call */
			g[REG_RAX] = getpid();
		go_to(uc, slot(RT_EXIT_PC) + 2);
		return;
	case GATE_CHECK:
		R->checks++;
		g[REG_RIP] = need(slot(RT_EXIT_PC), true);
		return;
	case GATE_SAFEPOINT:
		at_safepoint(uc);
		set_until(1);
		go_to(uc, slot(RT_EXIT_PC));
		return;
	default:
		wrong("gate %lu", which);
		finish(uc, SIGABRT, 0);
	}
}

/* As in the runtime: some virtual processors lose the reason now and then. */
static bool is_step(int sig, const siginfo_t *si, uint64_t pc)
{
	const bool seen = (pc > R->lo && pc <= R->hi) || pc - 1 - (uint64_t)R->cache < CACHE_SIZE;

	if (sig != SIGTRAP || si->si_code != TRAP_BRKPT || !R->step)
		return sig == SIGTRAP && si->si_code == TRAP_TRACE;
	return !seen || ((const uint8_t *)pc)[-1] != 0xf1;		/* int1 */
}

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t pc = g[REG_RIP];

	if (!R) {
		signal(sig, SIG_DFL);
		return;
	}
	if (sig == SIGTRAP && si->si_code == SI_KERNEL && pc - 1 == (uint64_t)gate + 0x800) {
		/* enter_guest(): off we go */
		memcpy(host.uc_mcontext.gregs, g, sizeof host.uc_mcontext.gregs);
		set_state(uc, &start_state);
		if (R->translated)
			go_to(uc, start_state.pc);
		if (R->step)
			g[REG_EFL] |= TF;
		if (R->step && !R->translated)
			goto record;
		return;
	}
	if (stepping_in_place && sig == SIGTRAP) {
		stepping_in_place = false;
		protect_text(PROT_READ);
		if (!R->step)
			g[REG_EFL] &= ~(greg_t)TF;
		go_to(uc, pc);
		if (R->step && (uint64_t)g[REG_RIP] - (uint64_t)R->cache < CACHE_SIZE)
			compare_step(uc);
		return;
	}
	if (stepping_in_place) {		/* it faults: the state is the program's */
		stepping_in_place = false;
		finish(uc, sig, (uint64_t)si->si_addr);
		return;
	}
	if (!R->translated) {
		if (is_step(sig, si, pc) && pc != FINISH_PC) {
record:
			if (R->ntrace > 2000000) {
				R->too_long = true;
				finish(uc, SIGXCPU, 0);
				return;
			}
			pm_grow(R->trace, R->ntrace, R->cap_trace);
			get_state(uc, &R->trace[R->ntrace++]);
			return;
		}
		finish(uc, pc == FINISH_PC ? 0 : sig, (uint64_t)si->si_addr);
		return;
	}
	if (sig == SIGTRAP && si->si_code == SI_KERNEL && pc - 1 - (uint64_t)gate < 0x100) {
		on_gate(uc, pc - 1 - (uint64_t)gate);
		if (R->step && (uint64_t)g[REG_RIP] - (uint64_t)R->cache < CACHE_SIZE)
			compare_step(uc);
		return;
	}
	if (is_step(sig, si, pc)) {
		compare_step(uc);
		if (R->failed)
			finish(uc, SIGABRT, 0);
		return;
	}
	if (pc - (uint64_t)R->cache >= CACHE_SIZE) {
		/* an indirect transfer found nothing: rcx is in its slot */
		g[REG_RCX] = slot(RT_S_RCX);
		if (pc == FINISH_PC) {
			finish(uc, 0, 0);
			return;
		}
		pc = pc >= R->lo && pc < R->hi ? need_indirect(pc) : 0;
		if (!pc)
			finish(uc, sig, g[REG_RIP]);
		else
			g[REG_RIP] = pc;
		if (pc && R->step)
			compare_step(uc);
		return;
	}
	undo(uc);
	finish(uc, sig, (uint64_t)si->si_addr);
}

static void release_units(struct run *r)
{
	for (size_t k = 0; k < r->nunit; k++) {
		xl_unit_release(&r->unit[k].u);
		free(r->unit[k].outside);
	}
	r->nunit = 0;
	r->used = 0;
	r->ncounter = r->nlink = 0;
	r->asked = r->steps = r->syscalls = r->checks = r->closed = 0;
	/* the shadow of the text: back to zero */
	uint64_t a = RT_SHADOW + 4 * (uint64_t)(uint32_t)r->lo;
	uint64_t z = a + 4 * (r->hi - r->lo);

	madvise((void *)(a & ~4095ul), ((z + 4095) & ~4095ul) - (a & ~4095ul), MADV_DONTNEED);
}

static void run_release(struct run *r)
{
	release_units(r);
	free(r->unit);
	free(r->trace);
	r->unit = NULL;
	r->trace = NULL;
	r->cap_unit = r->cap_trace = r->ntrace = 0;
}

/* Is running possible here? (Not under the address sanitizer, which owns the shadow's place.) */
static bool run_init(void)
{
	static uint8_t alt[1 << 18];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof alt };
	const uint32_t slots[][2] = {
		{ RT_DO_RESOLVE, GATE_RESOLVE }, { RT_DO_SYSCALL, GATE_SYSCALL },
		{ RT_DO_STEP, GATE_STEP }, { RT_DO_INT80, GATE_INT80 }, { RT_DO_CHECK, GATE_CHECK },
		{ RT_DO_SAFEPOINT, GATE_SAFEPOINT },
	};

	if (gate)
		return true;
	if (mmap((void *)RT_SHADOW, RT_SHADOW_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != (void *)RT_SHADOW)
		return false;
	thread_block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
	gate = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	guest_stack = mmap((void *)0x60000000, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (thread_block == MAP_FAILED || gate == MAP_FAILED || guest_stack == MAP_FAILED)
		abort();
	memset(gate, 0xcc, 4096);
	gate[0x801] = 0xc3;			/* int3; ret */
	mprotect(gate, 4096, PROT_READ | PROT_EXEC);
	for (size_t k = 0; k < NR(slots); k++) {
		uint64_t to = (uint64_t)gate + slots[k][1];

		memcpy(thread_block + slots[k][0], &to, 8);
	}
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, thread_block))
		abort();
	sigaltstack(&ss, NULL);
	ref_dec = x86_decoder_new(X86_MODE_64);
	return true;
}

/* Run from @s until FINISH_PC is reached or something faults. r->end is what it came to. */
static void run_once(struct run *r, const struct state *s, bool translated)
{
	const struct sigaction sa = {
		.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	struct sigaction old[NR(signals)];

	for (size_t k = 0; k < NR(signals); k++)
		sigaction(signals[k], &sa, &old[k]);
	R = r;
	r->translated = translated;
	r->k = 0;
	r->dropped = false;
	stepping_in_place = false;
	r->left = 0;
	set_until(r->leaves ? 1 : UINT64_MAX);
	start_state = *s;
	protect_text(translated ? PROT_READ : PROT_READ | PROT_EXEC);
	__asm__ volatile("fxsave64 %0" : "=m"(host_fp));
	memcpy(guest_fp, host_fp, 32);
	for (unsigned i = 160; i < 416; i++)		/* xmm0..15: the same every time */
		guest_fp[i] = 37 * i ^ i >> 3;
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" : : : "memory");
	__asm__ volatile("fxrstor64 %0" : : "m"(guest_fp));
	((void (*)(void))(void *)(gate + 0x800))();
	__asm__ volatile("fxrstor64 %0" : : "m"(host_fp));
	protect_text(PROT_READ | PROT_WRITE);
	R = NULL;
	for (size_t k = 0; k < NR(signals); k++)
		sigaction(signals[k], &old[k], NULL);
}

/* Entries of all blocks, by the counters and what follows from them: r->ncounter of them. The run
 * must have come to its end, so that no block is cut. */
static uint64_t *solved(const struct run *r)
{
	uint64_t *count = pm_alloc((r->ncounter + 1) * sizeof *count);
	uint64_t *cut = pm_alloc((r->ncounter + 1) * sizeof *cut);

	for (uint32_t i = 0; i < r->ncounter; i++)
		count[i] = slot(RT_COUNTERS + 8 * i);
	for (size_t k = 0; k < r->nunit; k++) {
		const struct xl_unit *u = &r->unit[k].u;
		struct xl_flow *flow;

		if (u->block[0].pc == UINT64_MAX)
			continue;
		flow = pm_alloc(u->nblock * sizeof *flow);
		for (size_t j = 0; j < u->nblock; j++)
			flow[j] = u->block[j].flow;
		xl_solve(flow, u->nblock, count + r->unit[k].counter0, cut);
		free(flow);
	}
	free(cut);
	return count;
}

/* Executions of the instruction at @pc, by @count of solved(). */
static uint64_t counted(const struct run *r, const uint64_t *count, uint64_t pc)
{
	uint64_t n = 0;
	struct x86_insn x;

	for (size_t k = 0; k < r->nunit; k++)
		for (size_t j = 0; j < r->unit[k].u.nblock; j++) {
			const struct xl_block *b = &r->unit[k].u.block[j];
			uint64_t at = b->pc;

			if (b->pc == UINT64_MAX || pc < b->pc || pc >= b->pc + b->size)
				continue;
			for (uint32_t i = 0; i < b->n && at <= pc; i++) {
				if (at == pc)
					n += count[r->unit[k].counter0 + j];
				if (!x86_decode(ref_dec, r->text + (at - r->lo), r->hi - at, &x))
					break;
				at += x.len;
			}
		}
	return n;
}

#endif
