/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/expand.h"
#include "trace/penn.h"
#include "trace/tally.h"
#include "transform/maps.h"
#include "transform/verify.h"

#define STACK 4096		/* calls that are remembered per stream; deeper ones are not
				 * checked */
#define LATER 256		/* groups of references that another stream may yet make good */
#define HANDLER 0		/* on that stack: a signal handler, which returns to the system's
				 * code */

struct where_next {		/* what is known about the next instruction's address */
	enum { ANYWHERE, EXACT, EITHER } kind;
	uint64_t a, b;
};

/* @n references of one block, the first of them to @addr, in no memory as far as the trace has
 * come. @memory: pm_maps_memory(), if it has had one stream so far; else PM_NONE. */
struct later { struct pm_stream stream; uint64_t addr, insn; uint32_t memory, n; uint16_t size; };

struct verify_stream {
	bool seen, exited;
	struct where_next next;
	uint64_t from;		/* address of the instruction that led there */
	uint32_t block;		/* PM_NONE: none is open */
	uint32_t executed, slot;
	bool in_rep;
	uint64_t iters;
	uint64_t *stack;	/* return addresses */
	unsigned depth;
	uint64_t ret;		/* a return was executed: 1, at @from */
	bool jump;		/* ... which may be meant as a jump */
	const struct pm_insn *cut;	/* last instruction of a block that was cut */
	bool stopped;		/* it was, perhaps in front of its first instruction */
	struct later *unmapped;		/* references since the last block */
	size_t nunmapped, cap_unmapped;
	struct pm_uop uop;		/* the one before; index 0: none */
};

struct verify {
	struct pm_verify v;
	uint32_t facts;
	struct verify_stream *stream;
	size_t cap;
	uint64_t time;
	struct pm_maps *maps;
	bool silent;			/* signals may come that the trace does not tell of */
	struct pm_map handlers;		/* of those: where their handlers begin */
	struct later later[LATER];
	unsigned nlater;
};

static const struct {
	const char *name, *about;
	bool hard;
} checks[] = {
#define CHECK(name, hard, about) { #name, about, hard },
	PM_VERIFY_CHECKS(CHECK)
#undef CHECK
};

void *pm_verify_new(uint32_t facts)
{
	struct verify *v = pm_alloc(sizeof *v);

	v->facts = facts;
	/* An execution trace of an instrumented program (docs/formats/idtrace.md), and what is made
	 * of it: a block that stops in its middle is all that says so. */
	v->silent = !(facts & (PM_HAS_KERNEL | PM_HAS_THREADS | PM_HAS_SPACES));
	v->maps = pm_maps_new();
	return v;
}

const struct pm_verify *pm_verify_get(const void *self)
{
	return &((const struct verify *)self)->v;
}

bool pm_verify_failed(const struct pm_verify *v)
{
	for (unsigned i = 0; i < PM_VERIFY_COUNT; i++)
		if (checks[i].hard && v->wrong[i])
			return true;
	return false;
}

const char *pm_verify_name(enum pm_verify_check c)
{
	return checks[c].name;
}

const char *pm_verify_about(enum pm_verify_check c)
{
	return checks[c].about;
}

__attribute__((format(printf, 4, 5))) static void wrong(struct verify *v, enum pm_verify_check c,
							const struct pm_batch *b, const char *fmt,
							...)
{
	char *to = v->v.text[v->v.ntext];
	va_list ap;
	int n;

	v->v.wrong[c]++;
	if (v->v.ntext == PM_VERIFY_SHOWN)
		return;
	n = snprintf(to, sizeof v->v.text[0], "%s: stream %u, instruction %" PRIu64 ": ",
		     checks[c].name, b->stream->index, v->v.insns);
	va_start(ap, fmt);
	vsnprintf(to + n, sizeof v->v.text[0] - (size_t)n, fmt, ap);
	va_end(ap);
	v->v.ntext++;
}

static struct verify_stream *stream_of(struct verify *v, uint32_t index)
{
	if (index >= v->cap) {
		size_t cap = v->cap ? v->cap : 8;

		while (cap <= index)
			cap *= 2;
		v->stream = pm_realloc(v->stream, cap * sizeof *v->stream);
		memset(v->stream + v->cap, 0, (cap - v->cap) * sizeof *v->stream);
		v->cap = cap;
	}
	if (!v->stream[index].seen) {
		v->stream[index].seen = true;
		v->stream[index].block = PM_NONE;
	}
	return v->stream + index;
}

/* A return that leaves several calls at once is none of its own making: longjmp or an exception
 * went before. */
static void calls_return(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
			 uint64_t to)
{
	v->v.looked[PM_VERIFY_calls]++;
	for (unsigned i = 0; i < st->depth && i < 256; i++)
		if (st->stack[st->depth - 1 - i] == to) {
			st->depth -= i + 1;
			return;
		}
	/* into the code that ends the innermost handler */
	for (unsigned i = 0; i < st->depth && i < 256; i++)
		if (st->stack[st->depth - 1 - i] == HANDLER) {
			st->depth -= i + 1;
			return;
		}
	if (st->depth && !st->jump)	/* behind the trace's beginning nothing is known */
		wrong(v, PM_VERIFY_calls, b, "the return at 0x%" PRIx64 " goes to 0x%" PRIx64
		      ", where no call is waiting", st->from, to);
}

static void calls_push(struct verify_stream *st, uint64_t ret)
{
	if (!st->stack)
		st->stack = pm_alloc(STACK * sizeof *st->stack);
	if (st->depth == STACK) {
		memmove(st->stack, st->stack + STACK / 2, STACK / 2 * sizeof *st->stack);
		st->depth = STACK / 2;
	}
	st->stack[st->depth++] = ret;
}

/* Is @pc, which control came to for no other reason, where a handler begins? */
static bool is_handler(const struct verify *v, struct verify_stream *st, uint64_t pc)
{
	if (!v->silent || !pm_map_get(&v->handlers, pc))
		return false;
	calls_push(st, HANDLER);
	return true;
}

/* Control arrives at @pc. */
static void arrive(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		   uint64_t pc)
{
	if (st->ret)
		calls_return(v, st, b, pc);
	st->ret = 0;
	if (st->next.kind == ANYWHERE)
		return;
	v->v.looked[PM_VERIFY_flow]++;
	if (pc != st->next.a && (st->next.kind == EXACT || pc != st->next.b) &&
	    !is_handler(v, st, pc))
		wrong(v, PM_VERIFY_flow, b,
		      "0x%" PRIx64 " comes after 0x%" PRIx64 ", expected 0x%" PRIx64, pc, st->from,
		      st->next.a);
}

/* What the last instruction of a run says about the next one. */
static void leave(const struct verify *v, struct verify_stream *st, const struct pm_insn *in)
{
	uint64_t target = 0, fall = pm_insn_fall(in);
	bool direct = pm_insn_target(in, &target);

	st->from = in->pc;
	st->next = (struct where_next){ ANYWHERE };
	if (!in->len)
		return;
	switch (in->flow) {
	case PM_CLASS_SYSCALL:
		if (v->silent)		/* sigreturn comes back anywhere */
			break;
		/* from the vDSO's sysenter or syscall control comes back behind the int $0x80 that
		 * follows it */
		if (in->isa == PM_ISA_X86_32 && in->bytes[0] == 0x0f) {
			st->next = (struct where_next){ EITHER, fall, fall + 2 };
			break;
		}
		/* fall through */
	case PM_CLASS_NONE:
		st->next = (struct where_next){ EXACT, fall };
		break;
	case PM_CLASS_COND:
		if (direct)
			st->next = (struct where_next){ EITHER, fall, target };
		break;
	case PM_CLASS_CALL:
		calls_push(st, fall);
		/* fall through */
	case PM_CLASS_JUMP:
		if (direct)
			st->next = (struct where_next){ EXACT, target };
		break;
	case PM_CLASS_CALL_IND:
		calls_push(st, fall);
		break;
	case PM_CLASS_RET:
		st->ret = 1;
		/* the dynamic linker of i386 goes to a function that it has found by `ret $12` */
		st->jump = in->isa == PM_ISA_X86_32 && in->bytes[0] == 0xc2;
		break;
	}
}

static void close_rep(struct verify *v, struct verify_stream *st, const struct pm_batch *b)
{
	if (st->in_rep && !(v->silent && st->stopped))
		wrong(v, PM_VERIFY_rep, b, "a rep instruction has no end");
	st->in_rep = false;
	st->iters = 0;
}

static void keep_later(struct verify *v, const struct later *l)
{
	if (v->nlater < LATER) {
		v->later[v->nlater++] = *l;
		return;
	}
	for (unsigned i = LATER; l->memory != PM_NONE && i-- > 0; ) {
		if (v->later[i].memory == l->memory) {
			v->later[i].n += l->n;
			return;
		}
	}
}

/* References in no memory that did not fault. */
static void close_unmapped(struct verify *v, struct verify_stream *st)
{
	for (size_t i = 0; i < st->nunmapped; i++)
		keep_later(v, st->unmapped + i);
	st->nunmapped = 0;
}

static void mapped(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		   const struct pm_event *ev)
{
	const enum pm_mapped m = pm_maps_has(v->maps, b->stream, ev->addr, ev->size);
	struct later *last = st->nunmapped ? st->unmapped + st->nunmapped - 1 : NULL;
	uint32_t memory;

	v->v.looked[PM_VERIFY_map] += m != PM_MAPPED_UNKNOWN;
	if (m == PM_MAPPED_UNKNOWN || m == PM_MAPPED_YES)
		return;
	memory = m == PM_MAPPED_NO ? pm_maps_memory(v->maps, b->stream) : PM_NONE;
	if (last && last->memory == memory && memory != PM_NONE) {
		last->n++;
	} else if (st->nunmapped < LATER) {
		pm_grow(st->unmapped, st->nunmapped, st->cap_unmapped);
		st->unmapped[st->nunmapped++] =
			(struct later){ *b->stream, ev->addr, v->v.insns, memory, 1, ev->size };
	}
}

/* The whole trace has been seen: what was mapped in no memory? */
static void judge_unmapped(struct verify *v)
{
	const uint64_t insns = v->v.insns;

	for (unsigned i = 0; i < v->nlater; i++) {
		const struct later *l = v->later + i;
		const struct pm_batch at = { .stream = &l->stream };
		const bool alone = l->memory != PM_NONE && !pm_maps_shared(v->maps, l->memory);

		if (!alone && pm_maps_had(v->maps, &l->stream, l->addr, l->size))
			continue;
		v->v.insns = l->insn;		/* where it was, for the text */
		wrong(v, PM_VERIFY_map, &at, "nothing %s mapped at 0x%" PRIx64,
		      alone ? "is" : "was ever", l->addr);
		v->v.wrong[PM_VERIFY_map] += l->n - 1;
	}
	v->v.insns = insns;
	v->nlater = 0;
}

static void block(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		  const struct pm_event *ev)
{
	const struct pm_code *code = b->code;
	const struct pm_block *blk;
	const struct pm_insn *last;

	close_rep(v, st, b);
	close_unmapped(v, st);
	v->v.looked[PM_VERIFY_block]++;
	st->block = PM_NONE;
	if (!code || ev->id >= code->nblock ||
	    (uint64_t)code->block[ev->id].insn + code->block[ev->id].n > code->ninsn ||
	    ev->value > code->block[ev->id].n || ev->addr != code->block[ev->id].pc) {
		wrong(v, PM_VERIFY_block, b, "block %u of %" PRIu64 " instructions at 0x%" PRIx64
		      " is not in the code table", ev->id, ev->value, ev->addr);
		st->next.kind = ANYWHERE;
		return;
	}
	blk = code->block + ev->id;
	if (v->silent && st->stopped) {
		*pm_map_put(&v->handlers, blk->pc, NULL) = 1;
		calls_push(st, HANDLER);
	} else if (st->cut) {
		wrong(v, PM_VERIFY_flow, b,
		      "the block before this one stopped in its middle for no reason");
	}
	st->cut = NULL;
	arrive(v, st, b, blk->pc);
	st->block = ev->id;
	st->executed = (uint32_t)ev->value;
	st->stopped = st->executed < blk->n;
	st->slot = 0;
	v->v.insns += ev->value;
	for (uint32_t i = 0; i < blk->n; i++) {
		const struct pm_insn *in = code->insn + blk->insn + i;

		if (in->object >= code->nobject || !code->object[in->object].hi)
			continue;
		v->v.looked[PM_VERIFY_code]++;
		if (in->pc < code->object[in->object].lo ||
		    in->pc + in->len > code->object[in->object].hi)
			wrong(v, PM_VERIFY_code, b, "0x%" PRIx64 " is outside %s", in->pc,
			      code->object[in->object].path ? code->object[in->object].path
							    : "its object");
	}
	st->next.kind = ANYWHERE;
	if (!st->executed)
		return;
	last = code->insn + blk->insn + st->executed - 1;
	if (st->executed < blk->n) {
		st->cut = last;
		return;
	}
	if (last->flow == PM_CLASS_NONE && blk->n > 1 && pm_isa_is_mips(last->isa) && last[-1].flow)
		last--;
	leave(v, st, last);
}

static void insn(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		 const struct pm_event *ev)
{
	struct pm_insn in = { .pc = ev->addr, .len = (uint8_t)ev->size, .isa = PM_ISA_NONE };

	close_rep(v, st, b);
	close_unmapped(v, st);
	st->block = PM_NONE;
	st->cut = NULL;
	if (st->next.kind == ANYWHERE && st->ret)
		st->ret = 0;		/* the branch event told already */
	arrive(v, st, b, ev->addr);
	v->v.insns++;
	st->next.kind = ANYWHERE;
	if (b->code && ev->id < b->code->ninsn) {
		in = b->code->insn[ev->id];
		v->v.looked[PM_VERIFY_block]++;
		if (in.pc != ev->addr || in.len != ev->size)
			wrong(v, PM_VERIFY_block, b,
			      "the instruction at 0x%" PRIx64 " is another one in the code table",
			      ev->addr);
		else if (!pm_isa_is_mips(in.isa) && (in.flow || v->facts & PM_HAS_BRANCHES))
			leave(v, st, &in);
		else	/* or: nobody has looked whether it is a branch */
			st->from = ev->addr;
	} else {
		/* nothing tells what it does: only a branch event can say that it did not go on */
		st->from = ev->addr;
	}
}

static void branch(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		   const struct pm_event *ev)
{
	bool taken = ev->flags & PM_BR_TAKEN;

	v->v.looked[PM_VERIFY_branch]++;
	if (!taken && !(ev->flags & PM_BR_COND))
		wrong(v, PM_VERIFY_branch, b,
		      "the branch at 0x%" PRIx64 " is unconditional and not taken", ev->addr);
	if (b->code && ev->id < b->code->ninsn) {
		const struct pm_insn *in = b->code->insn + ev->id;
		uint64_t target;

		if (in->pc != ev->addr)
			wrong(v, PM_VERIFY_branch, b,
			      "the branch at 0x%" PRIx64
			      " has the number of the instruction at 0x%" PRIx64,
			      ev->addr, in->pc);
		else if (taken && ev->value && pm_insn_target(in, &target) && target != ev->value)
			wrong(v, PM_VERIFY_branch, b,
			      "the branch at 0x%" PRIx64 " goes to 0x%" PRIx64
			      ", its target is 0x%" PRIx64,
			      ev->addr, ev->value, target);
		if (pm_isa_is_mips(in->isa))
			return;
	}
	/* formats that do not hold targets, and the last branch of some, say 0 */
	if (taken)
		st->next = (struct where_next){ ev->value ? EXACT : ANYWHERE, ev->value };
	else if (ev->size)
		st->next = (struct where_next){ EXACT, ev->addr + ev->size };
	st->from = ev->addr;
}

static void reference(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		      const struct pm_event *ev)
{
	if (v->facts & PM_HAS_SIZES &&
	    !(ev->flags & (PM_REF_ALL | PM_REF_PREFETCH | PM_REF_INVAL))) {
		v->v.looked[PM_VERIFY_size]++;
		if (!ev->size || ev->size > 4096 ||
		    (ev->addr && ev->addr + ev->size - 1 < ev->addr))
			wrong(v, PM_VERIFY_size, b, "a reference of %u bytes at 0x%" PRIx64,
			      ev->size, ev->addr);
	}
	if (v->facts & PM_HAS_THREADS && !(v->facts & PM_HAS_PHYS) &&
	    !(ev->flags & PM_REF_PREFETCH))
		mapped(v, st, b, ev);
	if (st->block == PM_NONE || PM_SLOT_OF(ev) == PM_NONE)
		return;
	v->v.looked[PM_VERIFY_slot]++;
	/* the instruction that faulted may have made references, too */
	if (PM_SLOT_OF(ev) >= b->code->block[st->block].n || PM_SLOT_OF(ev) > st->executed)
		wrong(v, PM_VERIFY_slot, b,
		      "a reference of instruction %u of a block that executed %u", PM_SLOT_OF(ev),
		      st->executed);
	else if (PM_SLOT_OF(ev) < st->slot)
		wrong(v, PM_VERIFY_slot, b, "a reference of instruction %u after one of %u",
		      PM_SLOT_OF(ev), st->slot);
	else
		st->slot = PM_SLOT_OF(ev);
}

/* docs/formats/penn.md lists what must hold in a micro-op trace. */
static void uop(struct verify *v, struct verify_stream *st, const struct pm_batch *b,
		const struct pm_uop *u)
{
	const struct pm_uop *last = &st->uop;

	v->v.looked[PM_VERIFY_uop]++;
	if (u->index != 1 && last->index && u->index != last->index + 1)
		wrong(v, PM_VERIFY_uop, b, "micro-op %d follows micro-op %d", u->index,
		      last->index);
	else if (u->index != 1 && last->index &&
		 (u->pc != last->pc || u->fall != last->fall || strcmp(u->macro, last->macro)))
		wrong(v, PM_VERIFY_uop, b,
		      "pc, fall or macro change inside the instruction at 0x%" PRIx64, last->pc);
	if ((u->target != 0) != (u->outcome != PM_UOP_NO_BRANCH))
		wrong(v, PM_VERIFY_uop, b, "0x%" PRIx64 " has branch '%c' and target 0x%" PRIx64,
		      u->pc, penn_letter(PENN_OUTCOME, u->outcome), u->target);
	else if (u->outcome != PM_UOP_NO_BRANCH && !strcmp(u->micro, "JMP_IMM") &&
		 u->target != u->fall + (uint64_t)u->imm)
		wrong(v, PM_VERIFY_uop, b,
		      "the branch at 0x%" PRIx64 " goes to 0x%" PRIx64
		      ", its immediate to 0x%" PRIx64,
		      u->pc, u->target, u->fall + (uint64_t)u->imm);
	if ((u->mem != 0) != (u->access != PM_UOP_NO_ACCESS))
		wrong(v, PM_VERIFY_uop, b, "0x%" PRIx64 " has ld/st '%c' and address 0x%" PRIx64,
		      u->pc, penn_letter(PENN_ACCESS, u->access), u->mem);
	st->uop = *u;
}

static void bus(struct verify *v, const struct pm_batch *b, const struct pm_event *ev,
		const struct pm_bus *u)
{
	v->v.looked[PM_VERIFY_bus]++;
	if (u->type >= PM_BUS_INVALID)
		wrong(v, PM_VERIFY_bus, b, "an invalid cycle at 0x%" PRIx64 ": 0x%02x", ev->addr,
		      u->raw[0]);
	else if (!ev->size && u->type <= PM_BUS_IO_WRITE && u->type != PM_BUS_READ_INVAL)
		wrong(v, PM_VERIFY_bus, b, "a transfer of no bytes at 0x%" PRIx64, ev->addr);
}

static enum pm_status verify_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct verify *v = self;
	struct verify_stream *st = stream_of(v, b->stream->index);

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = b->ev + i;

		if (st->exited) {
			/* a number may be used again; an address space change is no life */
			if (ev->kind == PM_EV_THREAD || ev->kind == PM_EV_PROCESS)
				st->exited = false;
			else if (ev->kind == PM_EV_BLOCK || ev->kind == PM_EV_INSN)
				wrong(v, PM_VERIFY_exit, b,
				      "an instruction at 0x%" PRIx64 " after the exit", ev->addr);
		}
		if (ev->kind > PM_EV_REP_END)
			pm_maps_event(v->maps, b, ev);
		switch (ev->kind) {
		case PM_EV_BLOCK:
			/* some formats name blocks only by their addresses */
			if (v->facts & PM_HAS_BLOCKS || ev->id != PM_NONE)
				block(v, st, b, ev);
			break;
		case PM_EV_INSN:
			insn(v, st, b, ev);
			break;
		case PM_EV_BRANCH:
			branch(v, st, b, ev);
			break;
		case PM_EV_BUS:
			bus(v, b, ev, &b->bus[ev->id]);
			break;
		case PM_EV_UOP:
			uop(v, st, b, &b->uop[ev->id]);
			break;
		case PM_EV_READ:
		case PM_EV_WRITE:
		case PM_EV_MODIFY:
			reference(v, st, b, ev);
			break;
		case PM_EV_REP_ITER:
			st->in_rep = true;
			st->iters++;
			break;
		case PM_EV_REP_END:
			v->v.looked[PM_VERIFY_rep]++;
			if (ev->value != st->iters)
				wrong(v, PM_VERIFY_rep, b,
				      "a rep instruction says %" PRIu64
				      " iterations, there were %" PRIu64,
				      ev->value, st->iters);
			st->in_rep = false;
			st->iters = 0;
			break;
		case PM_EV_SIGNAL:
		case PM_EV_INTERRUPT:
		case PM_EV_SIGRETURN:
		case PM_EV_EXEC:
		case PM_EV_LOST:
			/* wherever it goes on, nothing before it says where */
			st->next.kind = ANYWHERE;
			st->ret = 0;
			st->cut = NULL;
			st->in_rep = false;
			st->iters = 0;
			st->nunmapped = 0;
			if (ev->kind == PM_EV_EXEC)
				st->depth = 0;
			if (ev->kind == PM_EV_SIGNAL)
				calls_push(st, HANDLER);
			break;
		case PM_EV_SYSRET:
			/* rt_sigreturn and execve return elsewhere; everything else behind the
			 * call */
			break;
		case PM_EV_EXIT:
			v->v.looked[PM_VERIFY_exit]++;
			st->exited = true;
			st->cut = NULL;
			st->next.kind = ANYWHERE;
			st->in_rep = false;
			st->nunmapped = 0;	/* what killed it need not be told apart */
			break;
		case PM_EV_TIME:
			v->v.looked[PM_VERIFY_time]++;
			if (ev->value < v->time)
				wrong(v, PM_VERIFY_time, b, "time %" PRIu64 " comes after %" PRIu64,
				      ev->value, v->time);
			v->time = ev->value;
			break;
		}
	}
	return PM_OK;
}

static enum pm_status verify_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct verify *v = self;

	judge_unmapped(v);
	if (!r)
		return PM_OK;
	pm_result_begin(r, "verify");
	pm_result_bool(r, "good", !pm_verify_failed(&v->v));
	pm_result_u64(r, "instructions", v->v.insns, "instructions");
	pm_result_begin_list(r, "checks");
	for (unsigned i = 0; i < PM_VERIFY_COUNT; i++) {
		pm_result_begin(r, NULL);
		pm_result_str(r, "name", checks[i].name);
		pm_result_str(r, "about", checks[i].about);
		pm_result_u64(r, "looked", v->v.looked[i], NULL);
		pm_result_u64(r, "wrong", v->v.wrong[i], NULL);
		pm_result_end(r);
	}
	pm_result_end(r);
	pm_result_begin_list(r, "findings");
	for (unsigned i = 0; i < v->v.ntext; i++)
		pm_result_str(r, NULL, v->v.text[i]);
	pm_result_end(r);
	pm_result_end(r);
	return PM_OK;
}

static void verify_destroy(void *self)
{
	struct verify *v = self;

	if (!v)
		return;
	for (size_t i = 0; i < v->cap; i++) {
		free(v->stream[i].stack);
		free(v->stream[i].unmapped);
	}
	free(v->stream);
	pm_maps_free(v->maps);
	pm_map_release(&v->handlers);
	free(v);
}

const struct pm_sink_ops pm_verify_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS,
	.name = "verify", .about = "is what the trace says possible?",
	.consume = verify_consume, .finish = verify_finish, .destroy = verify_destroy,
};
