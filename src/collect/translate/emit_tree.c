/* SPDX-License-Identifier: MIT */
/* emit_tree.c - XL_TREE: where control comes to another function, the thread's context changes
 *
 * The cursor register counts instructions in its lower half; the upper one is where the next frame
 * goes (RT_TREE_STATE). The frame below that says in which context control is: what is in memory is
 * read long after it has been written, but for the context that a call leads to. At a call, a
 * return, an indirect jump out of a function and a direct one to another function the instructions
 * are added to the context's (struct rt_tree_node), and the context becomes another one. In
 * between, loops see to it that the lower half does not overflow (choose_checks()). What is met
 * often is done here: a call, or a jump, whose block
 * the context remembers; an indirect one that the thread's table has; a return to who has called.
 * All else leaves by RT_DO_TREE, with RT_EXIT_PC where the transfer leads to, and all of it is done
 * (runtime/contexts.c). Where flags may mean something everything leaves.
 *
 * Meanwhile no place is XL_AT_START: a signal waits until the transfer is done. */
#include <assert.h>

#include "base/mem.h"
#include "collect/translate/emit.h"

#define SELF	0			/* struct rt_tree_node */
#define CALLS	8
#define FRAME	16			/* bytes of struct rt_frame_of_call */
#define RET	0
#define FIRST	8
#define NODE	12

/* op gs:[base + disp] */
static void at_base(struct emit *e, bool wide, uint8_t op, unsigned reg, unsigned base,
		    int32_t disp)
{
	const uint8_t rex = (uint8_t)(0x40 | wide << 3 | (reg >> 3) << 2 | base >> 3);

	asm_byte(e, 0x65);
	if (rex != 0x40)
		asm_byte(e, rex);
	asm_byte(e, op);
	if (fits8(disp)) {
		asm_byte(e, (uint8_t)(0x40 | (reg & 7) << 3 | (base & 7)));
		asm_byte(e, (uint8_t)disp);
	} else {
		asm_byte(e, (uint8_t)(0x80 | (reg & 7) << 3 | (base & 7)));
		asm_u32(e, (uint32_t)disp);
	}
}

static void load32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
	at_base(e, false, 0x8b, reg, base, disp);
}

static void store32(struct emit *e, unsigned reg, unsigned base, int32_t disp)
{
	at_base(e, false, 0x89, reg, base, disp);
}

static uint8_t *jump_if_not_equal(struct emit *e)
{
	asm_bytes(e, "\x0f\x85", 2);
	asm_u32(e, 0);
	return e->c;
}

static uint8_t *jump_over(struct emit *e)
{
	asm_byte(e, 0xe9);
	asm_u32(e, 0);
	return e->c;
}

static void bind(const struct emit *e, uint8_t *from)
{
	const uint32_t rel = (uint32_t)(e->c - from);

	memcpy(from - 4, &rel, 4);
}

static void add_rest(struct emit *e, const struct tree_rest *r)
{
	struct scratch *s = e->s;

	pm_grow(s->tree_rest, s->ntree_rest, s->cap_tree_rest);
	s->tree_rest[s->ntree_rest++] = *r;
}

/* What has been counted is the context's, whose offset is in @node, one of the first eight, from
 * here on; and r11 is where the next frame goes. */
static void add_to_context(struct emit *e, unsigned node)
{
	asm_bytes(e, "\x4c\x89", 2);				/* mov node, r11 */
	asm_byte(e, (uint8_t)(0xd8 | node));
	asm_bytes(e, "\x48\xc1", 2);				/* shr node, 32 */
	asm_byte(e, (uint8_t)(0xe8 | node));
	asm_byte(e, 32);
	load32(e, node, node, NODE - FRAME);
	at_base(e, false, 0x01, R11, node, SELF);
	asm_bytes(e, "\x0f\x82", 2);				/* jc */
	asm_u32(e, 0);
	add_rest(e, &(struct tree_rest){ .from = here(e) - 4, .cont = here(e),
					 .block = e->index, .carry_of = 1 + node });
	asm_bytes(e, "\x49\xc1\xeb\x20", 4);			/* shr r11, 32 */
}

/* Nothing is counted, and the next frame goes to r11 + @more. */
static void give_state_back(struct emit *e, int8_t more)
{
	if (more) {
		asm_bytes(e, "\x4d\x8d\x5b", 3);		/* lea r11, [r11 + more] */
		asm_byte(e, (uint8_t)more);
	}
	asm_bytes(e, "\x49\xc1\xe3\x20", 4);			/* shl r11, 32 */
}

static void put_number(struct emit *e, uint32_t block)
{
	asm_reloc(e, here(e), XL_REL_BLOCK, block);
	asm_u32(e, 0);
}

static void put_key(struct emit *e)
{
	put_number(e, e->index);
}

/* A slot of a context of the function of block e->index: one by one, from where it depends on the
 * unit's address. A function that is found bit by bit has several units, which would all begin with
 * one slot. */
static uint32_t next_slot(struct emit *e)
{
	const uint32_t first = (uint32_t)(e->s->block[0].pc >> 4);
	struct xl_segment g;

	tree_segment(e->s, e->s->block[e->index].pc, &g);
	return (first + e->tree_sites++) % g.slots;
}

static int32_t slot_at(uint32_t slot)
{
	return RT_TREE_SLOT + 8 * (int32_t)slot;
}

static void put_event_of(struct emit *e, uint32_t event, uint32_t block)
{
	asm_slot_op32(e, 0xc7, 0, RT_TREE_EVENT);
	asm_u32(e, event);
	asm_slot_op32(e, 0xc7, 0, RT_EXIT_ID);
	put_number(e, block);
}

static void put_event(struct emit *e, uint32_t event)
{
	put_event_of(e, event, e->index);
}

/* All registers are the program's; it goes on behind this. */
static void leave_and_come_back(struct emit *e, uint32_t event, uint64_t pc)
{
	put_event(e, event | RT_TREE_HAS_CONT);
	asm_exit_pc(e, pc);
	asm_slot_store(e, RAX, RT_S_TMP);
	asm_bytes(e, "\x48\x8d\x05", 3);			/* lea rax, [rip + cont] */
	asm_u32(e, 9 + 9 + 8);
	asm_slot_store(e, RAX, RT_CONT);
	asm_slot_load(e, RAX, RT_S_TMP);
	asm_slot_jump(e, RT_DO_TREE);
}

/* The same where r11 is the frame, rax the context, the program's rax and rcx are in their slots
 * and flags are free: @routine tries first. */
static void look_further(struct emit *e, const struct tree_rest *r)
{
	asm_lea_pc(e, RCX, r->pc);
	asm_slot_store(e, RCX, RT_EXIT_PC);
	asm_bytes(e, "\x48\x8d\x0d", 3);			/* lea rcx, [rip + cont] */
	asm_u32(e, r->cont - (here(e) + 4));
	asm_slot_store(e, RCX, RT_CONT);
	if (!r->entry)
		put_event_of(e, r->event | RT_TREE_HAS_CONT, r->key);
	asm_byte(e, 0xe9);
	asm_u32(e, r->routine - (here(e) + 4));
}
#define LOOK_FURTHER_BYTES (7 + 9 + 7 + 9 + 12 + 12 + 5)

/* ---- functions ------------------------------------------------------------------------------- */
void tree_segment(struct scratch *s, uint64_t pc, struct xl_segment *out)
{
	if (pc < s->segment.lo || pc >= s->segment.hi)
		s->in->segment(s->in->ctx, pc, &s->segment);
	*out = s->segment;
}

bool tree_crosses(struct scratch *s, const struct block *b, uint64_t to)
{
	struct xl_segment from;

	if (s->in->kind != XL_TREE)
		return false;
	tree_segment(s, b->pc, &from);
	return from.function != tree_function(s, to);
}

uint32_t tree_function(struct scratch *s, uint64_t pc)
{
	struct xl_segment g;

	if (pc < s->in->lo || pc >= s->in->hi)
		return UINT32_MAX;
	tree_segment(s, pc, &g);
	return g.function;
}

static bool is_entry(struct scratch *s, uint64_t pc)
{
	struct xl_segment g;

	if (pc < s->in->lo || pc >= s->in->hi)
		return true;
	tree_segment(s, pc, &g);
	return g.begin == pc;
}

static bool is_stub(const struct emit *e)
{
	struct xl_segment g;

	tree_segment(e->s, e->b->pc, &g);
	return g.stub;
}

/* ---- calls ----------------------------------------------------------------------------------- */
/* r11 is where the next frame goes: it is of @child, from where [rsp] says; that register changes.
 * @through: instructions of a stub on the way, or 0.
 * The first store faults if there is no room (rt_tree_deep()). */
static void push_child(struct emit *e, unsigned child, uint32_t through)
{
	store32(e, child, R11, FIRST);
	store32(e, child, R11, NODE);
	at_base(e, true, 0xff, 0, child, CALLS);		/* inc */
	if (through) {
		load32(e, child, child, RT_TREE_VIA);
		at_base(e, true, 0xff, 0, child, CALLS);
		at_base(e, true, 0x83, 0, child, SELF);		/* add qword, through */
		asm_byte(e, (uint8_t)through);
	}
	asm_byte(e, 0x48);					/* mov child, [rsp] */
	asm_byte(e, 0x8b);
	asm_byte(e, (uint8_t)(0x04 | child << 3));
	asm_byte(e, 0x24);
	at_base(e, true, 0x89, child, R11, RET);
	give_state_back(e, FRAME);
}

/* jne to what comes later */
static uint32_t from_here(struct emit *e)
{
	jump_if_not_equal(e);
	return here(e) - 4;
}

/* Of a direct call to @pc, whose return address is on the stack. */
void emit_tree_call(struct emit *e, uint64_t pc)
{
	const uint32_t slot = next_slot(e);
	struct tree_rest r = { 0, 0, RT_ENDS_CALL | RT_TREE_MEMO | slot << 16, e->index,
			       e->tree_call, e->index, pc, 0 };

	if (!e->in->abi_flags) {
		leave_and_come_back(e, RT_ENDS_CALL, pc);
		return;
	}
	asm_slot_store(e, RAX, RT_S_TMP);
	add_to_context(e, RAX);
	at_base(e, false, 0x81, 7, RAX, slot_at(slot));		/* cmp dword, key */
	put_key(e);
	r.from = from_here(e);
	load32(e, RAX, RAX, slot_at(slot) + 4);
	push_child(e, RAX, 0);
	asm_slot_load(e, RAX, RT_S_TMP);
	r.cont = here(e);
	add_rest(e, &r);
}

/* ---- call entries ---------------------------------------------------------------------------- */
bool begins_function(struct scratch *s, const struct block *b)
{
	struct xl_segment g;

	if (s->in->kind != XL_TREE || !s->in->abi_flags || s->in->patchable || s->in->check_bytes)
		return false;
	tree_segment(s, b->pc, &g);
	return g.begin == b->pc;
}

/* op gs:[rcx + rax + disp] */
static void at_slot(struct emit *e, uint8_t op, unsigned reg, int32_t disp)
{
	asm_byte(e, 0x65);
	asm_byte(e, op);
	asm_byte(e, (uint8_t)(0x44 | reg << 3));
	asm_byte(e, 0x01);
	asm_byte(e, (uint8_t)disp);
}

void emit_call_entry(struct emit *e, uint32_t live)
{
	struct tree_rest r = { .event = RT_ENDS_CALL | RT_TREE_MEMO, .entry = true,
			       .key = e->index, .block = e->index, .pc = e->b->pc };
	uint32_t begin;

	asm_u32(e, xl_call_entry(live));
	begin = here(e);
	asm_map(e, 0, 0);
	if (live >> RCX & 1)
		asm_slot_store(e, RCX, RT_S_RCX);
	add_to_context(e, RCX);
	at_slot(e, 0x81, 7, RT_TREE_SLOT);			/* cmp dword, key */
	put_key(e);
	r.from = from_here(e);
	at_slot(e, 0x8b, RAX, RT_TREE_SLOT + 4);
	push_child(e, RAX, 0);
	if (live >> RAX & 1)
		asm_slot_load(e, RAX, RT_S_TMP);
	/* the indirect entry, which follows, gives rcx back */
	e->call_entries = true;
	r.cont = begin + xl_call_entry(live);
	assert(here(e) + 9 * (live >> RCX & 1) == r.cont);
	add_rest(e, &r);
}

/* All calls of one function to another have one slot. */
static uint32_t call_slot(struct emit *e, uint64_t pc)
{
	const uint32_t at = (uint32_t)(pc >> 4 ^ pc >> 10) % NR(e->tree_callee);
	struct xl_segment g;

	tree_segment(e->s, e->s->block[e->index].pc, &g);
	if (e->tree_callee[at].pc != pc || e->tree_callee[at].function != g.function) {
		e->tree_callee[at].pc = pc;
		e->tree_callee[at].function = g.function;
		e->tree_callee[at].slot = next_slot(e);
	}
	return e->tree_callee[at].slot;
}

bool emit_call_of_entry(struct emit *e, const struct xl_target *t)
{
	const struct xl_input *in = e->in;

	if (!grows_tree(e) || !in->abi_flags || t->pc < in->lo || t->pc >= in->hi ||
	    !is_entry(e->s, t->pc))
		return false;
	if (t->where == TO_UNIT ? !has_call_entry(&e->s->block[t->block]) :
	    t->where == TO_KNOWN ? !t->counting : in->patchable || in->check_bytes)
		return false;
	asm_slot_store(e, RAX, RT_S_TMP);
	asm_byte(e, 0xb8);					/* mov eax, imm32 */
	asm_u32(e, 8 * call_slot(e, t->pc));
	e->calls = true;
	asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, t);
	e->calls = false;
	return true;
}

void emit_call_stub(struct emit *e)
{
	asm_slot_load(e, RAX, RT_S_TMP);
	asm_slot_op32(e, 0xc7, 0, RT_TREE_EVENT);
	asm_u32(e, RT_ENDS_CALL | RT_TREE_LINK);
}

/* rax is 8 times the slot, rcx the context; what else look_further() wants is there. */
static void take_slot(struct emit *e, const struct tree_rest *r)
{
	put_event_of(e, r->event | RT_TREE_HAS_CONT, r->key);
	asm_bytes(e, "\xc1\xe8\x03", 3);			/* shr eax, 3 */
	asm_slot_op32(e, 0x88, RAX, RT_TREE_EVENT + 2);		/* mov [], al */
	asm_bytes(e, "\x89\xc8", 2);				/* mov eax, ecx */
}

/* A stub has a context of its own, beside that which it leads to: both are there once it is in
 * struct rt_tree_node.via. */
bool calls_through(struct emit *e, const struct block *b)
{
	const struct block *to = calls_stub(e->s, b) ? &e->s->block[b->to.block] : NULL;
	struct xl_segment g;

	if (!to || !grows_tree(e) || !e->in->abi_flags || to->likely.where == TO_NOWHERE ||
	    to->n != e->tree_stub_insns)
		return false;
	tree_segment(e->s, to->pc, &g);
	return g.stub && tree_crosses(e->s, b, to->pc) && is_entry(e->s, to->pc);
}

void emit_tree_call_through(struct emit *e, const struct block *b)
{
	const struct block *stub = &e->s->block[b->to.block];
	const uint32_t slot = next_slot(e);
	struct tree_rest r = { 0, 0, RT_ENDS_CALL | RT_TREE_MEMO | RT_TREE_THROUGH | stub->n << 12 |
			       slot << 16, b->to.block, e->tree_through, e->index, stub->pc,
			       stub->likely.pc };
	struct tree_rest unlikely = { .block = e->index };

	asm_slot_store(e, RAX, RT_S_TMP);
	asm_compare_likely(e, &e->s->insn[stub->first + stub->n - 1], &stub->likely, RAX);
	unlikely.from = from_here(e);
	add_to_context(e, RAX);
	at_base(e, false, 0x81, 7, RAX, slot_at(slot));
	put_number(e, r.key);
	r.from = from_here(e);
	load32(e, RAX, RAX, slot_at(slot) + 4);
	push_child(e, RAX, stub->n);
	asm_slot_load(e, RAX, RT_S_TMP);
	r.cont = here(e);
	add_rest(e, &r);
	add_rest(e, &unlikely);
}

void emit_tree_rest(struct emit *e, struct tree_rest r)
{
	const struct block *b = &e->s->block[r.block];
	const uint32_t rel = here(e) - (r.from + 4), was = e->index;

	memcpy(e->base + r.from, &rel, 4);
	e->index = r.block;
	if (r.carry_of) {
		at_base(e, false, 0xff, 0, r.carry_of - 1, SELF + 4);	/* inc dword */
		asm_byte(e, 0xe9);
		asm_u32(e, r.cont - (here(e) + 4));
	} else if (r.entry) {
		take_slot(e, &r);
		r.routine = e->tree_call;
		look_further(e, &r);
	} else if (r.event) {
		asm_slot_store(e, RCX, RT_S_RCX);
		if (r.likely) {
			asm_lea_pc(e, RCX, r.likely);
			asm_slot_store(e, RCX, RT_S_TMP2);
		}
		look_further(e, &r);
	} else {
		asm_slot_load(e, RAX, RT_S_TMP);
		emit_tree_call(e, b->to.pc);
		e->stale = true;
		asm_rel32(e, (const uint8_t []){ 0xe9 }, 1, &b->to);
	}
	e->index = was;
}

/* ---- loops ----------------------------------------------------------------------------------- */
void emit_tree_add(struct emit *e, uint32_t from)
{
	const uint32_t rel = here(e) - (from + 4);

	memcpy(e->base + from, &rel, 4);
	asm_slot_store(e, RCX, RT_S_RCX);
	add_to_context(e, RCX);
	give_state_back(e, 0);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_byte(e, 0xe9);
	asm_u32(e, from + 4 - (here(e) + 4));
}

/* The context in @child is where a jump leads to; r11 is where the next frame goes. */
static void enter_child(struct emit *e, unsigned child, bool is_first)
{
	at_base(e, true, 0xff, 0, child, CALLS);
	store32(e, child, R11, NODE - FRAME);
	if (is_first)
		store32(e, child, R11, FIRST - FRAME);
}

/* ---- what a slot does not remember ------------------------------------------------------------
 * One routine of the unit for calls, one for jumps. r11 is the frame, rax the context, rcx and rax
 * are in their slots, and RT_CONT says where to go on; flags change. */
static uint8_t *compare_site(struct emit *e, unsigned reg, int32_t field)
{
	at_base(e, false, 0x39, reg, RCX, RT_TREE_SITES + field);
	return jump_if_not_equal(e);
}

/* Then the table has nothing either, and whoever looks there waits for memory. */
static uint8_t *jump_if_slot_is_free(struct emit *e)
{
	asm_bytes(e, "\x65\x0f\xb6\x0c\x25", 5);		/* movzx ecx, byte [] */
	asm_u32(e, RT_TREE_EVENT + 2);
	asm_bytes(e, "\x65\x83\x7c\xc8", 4);		/* cmp dword [rax + rcx*8 + slot], 0 */
	asm_byte(e, RT_TREE_SLOT);
	asm_byte(e, 0);
	asm_bytes(e, "\x0f\x84", 2);				/* je */
	asm_u32(e, 0);
	return e->c;
}

static void emit_routine(struct emit *e, bool call, uint32_t through)
{
	uint8_t *miss[3], *unknown = NULL;

	if (call)
		unknown = jump_if_slot_is_free(e);
	asm_slot_load(e, RCX, RT_EXIT_ID);
	asm_bytes(e, "\xc1\xe1\x04\x31\xc1\x81\xe1", 7);	/* shl ecx, 4; xor ecx, eax; and */
	asm_u32(e, RT_TREE_SITES_MASK);
	miss[0] = compare_site(e, RAX, 0);
	asm_slot_load(e, RAX, RT_EXIT_ID);
	miss[1] = compare_site(e, RAX, 4);
	if (call) {
		load32(e, RAX, RCX, RT_TREE_SITES + 8);
		push_child(e, RAX, through);
	} else {
		load32(e, RAX, R11, FIRST - FRAME);
		miss[2] = compare_site(e, RAX, 12);
		load32(e, RAX, RCX, RT_TREE_SITES + 8);
		enter_child(e, RAX, false);
		give_state_back(e, 0);
	}
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_slot_load(e, RAX, RT_S_TMP);
	asm_slot_jump(e, RT_CONT);
	for (unsigned k = 0; k < (call ? 2 : 3); k++)
		bind(e, miss[k]);
	if (unknown)
		bind(e, unknown);
	give_state_back(e, 0);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_slot_load(e, RAX, RT_S_TMP);
	asm_slot_jump(e, RT_DO_TREE);
}

/* Of the unit's stubs that calls may lead through; 0: there are none. */
static uint32_t stub_insns(const struct scratch *s)
{
	for (size_t k = 0; k < s->nblock; k++)
		if (s->block[k].mark & MARK_STUB && s->block[k].n <= 3)
			return s->block[k].n;
	return 0;
}

void emit_tree_routines(struct emit *e, bool calls, bool jumps)
{
	e->tree_call = e->tree_through = e->tree_jump = 0;
	e->tree_stub_insns = stub_insns(e->s);
	if (calls) {
		e->tree_call = here(e);
		emit_routine(e, true, 0);
	}
	if (calls && e->tree_stub_insns) {
		e->tree_through = here(e);
		emit_routine(e, true, e->tree_stub_insns);
	}
	if (jumps) {
		e->tree_jump = here(e);
		emit_routine(e, false, 0);
	}
}

/* ---- jumps ----------------------------------------------------------------------------------- */
static void keep_flags(struct emit *e)
{
	asm_bytes(e, "\x9f\x0f\x90\xc0", 4);			/* lahf; seto al */
	asm_slot_store(e, RAX, RT_S_TMP2);
}

static void give_flags_back(struct emit *e)
{
	asm_slot_load(e, RAX, RT_S_TMP2);
	asm_bytes(e, "\x04\x7f\x9e", 3);			/* add al, 127; sahf */
}

/* Where a jump's context rax is not its frame's first: the result is a jump to where it is not
 * remembered. */
static uint8_t *jump_from_other(struct emit *e, uint32_t slot)
{
	uint8_t *miss, *back, *entered;

	at_base(e, false, 0x81, 7, RAX, slot_at(slot));
	put_key(e);
	miss = jump_if_not_equal(e);
	load32(e, RAX, RAX, slot_at(slot) + 4);
	asm_bytes(e, "\xa8\x01", 2);				/* test al, RT_TREE_GOES_BACK */
	back = jump_if_not_equal(e);
	enter_child(e, RAX, false);
	entered = jump_over(e);
	bind(e, back);
	asm_bytes(e, "\xff\xc8", 2);				/* dec eax */
	store32(e, RAX, R11, NODE - FRAME);
	bind(e, entered);
	return miss;
}

/* A direct jump from the current block to @t, or falling there. */
void emit_tree_jump(struct emit *e, const struct xl_target *t, bool memo)
{
	const bool free = !(live_at(e, t) & LV_FLAGS) ||
		(e->in->abi_flags && is_entry(e->s, t->pc));
	const uint32_t slot = next_slot(e), second = next_slot(e);
	const uint32_t event = RT_ENDS_ON | RT_TREE_MEMO | slot << 16 | second << 24;
	uint8_t *miss, *other, *also, *done, *entered;

	if (!memo) {
		leave_and_come_back(e, RT_ENDS_ON, t->pc);
		return;
	}
	asm_slot_store(e, RAX, RT_S_TMP);
	if (!free)
		keep_flags(e);
	add_to_context(e, RAX);
	at_base(e, false, 0x39, RAX, R11, FIRST - FRAME);	/* cmp first, node */
	other = jump_if_not_equal(e);
	at_base(e, false, 0x81, 7, RAX, slot_at(slot));
	put_key(e);
	miss = jump_if_not_equal(e);
	load32(e, RAX, RAX, slot_at(slot) + 4);
	enter_child(e, RAX, is_stub(e));
	entered = jump_over(e);
	bind(e, other);
	also = jump_from_other(e, second);
	bind(e, entered);
	give_state_back(e, 0);
	if (!free)
		give_flags_back(e);
	asm_slot_load(e, RAX, RT_S_TMP);
	done = jump_over(e);
	bind(e, miss);
	bind(e, also);
	if (free && e->tree_jump) {
		asm_slot_store(e, RCX, RT_S_RCX);
		look_further(e, &(struct tree_rest){ .event = event, .key = e->index,
			.routine = e->tree_jump, .pc = t->pc,
			.cont = here(e) + LOOK_FURTHER_BYTES });
	} else {
		give_state_back(e, 0);
		if (!free)
			give_flags_back(e);
		asm_slot_load(e, RAX, RT_S_TMP);
		leave_and_come_back(e, event, t->pc);
	}
	bind(e, done);
}

/* ---- returns --------------------------------------------------------------------------------- */
/* RT_CONT = what lies @bytes further on than the end of this. */
static void put_cont(struct emit *e, unsigned reg, uint32_t bytes)
{
	asm_bytes(e, "\x48\x8d", 2);				/* lea reg, [rip + bytes] */
	asm_byte(e, (uint8_t)(reg << 3 | 5));
	asm_u32(e, 9 + bytes);
	asm_slot_store(e, reg, RT_CONT);
}

/* RT_S_RCX has the program's rcx, and the address is on the stack. If it is none at all it comes
 * back, and returns there. */
static void leave_by_return(struct emit *e, const struct insn *ret)
{
	const uint32_t bytes = 8u + (ret->x.nimm ? (uint16_t)x86_imm(&ret->x, ret->p) : 0);

	asm_bytes(e, "\x48\x8b\x0c\x24", 4);			/* mov rcx, [rsp] */
	asm_map(e, e->b->n, 0);
	asm_slot_store(e, RCX, RT_EXIT_PC);
	put_event(e, RT_ENDS_RETURN);
	put_cont(e, RCX, 8 + 9 + 8);
	asm_bytes(e, "\x48\x8d\xa4\x24", 4);			/* lea rsp, [rsp + bytes] */
	asm_u32(e, bytes);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_slot_jump(e, RT_DO_TREE);
	asm_bytes(e, "\x48\x8d\xa4\x24", 4);
	asm_u32(e, -bytes);
	asm_map(e, e->b->n - 1, 0);
	asm_byte(e, 0xc3);
	asm_map(e, e->b->n, 0);
}

/* rcx is in its slot. Where it comes out the context is the caller's, and rcx is the return
 * address. */
uint8_t *emit_tree_return(struct emit *e, const struct insn *ret)
{
	uint8_t *miss;

	if (!e->in->abi_flags) {
		leave_by_return(e, ret);
		return NULL;
	}
	asm_bytes(e, "\x48\x8b\x0c\x24", 4);			/* mov rcx, [rsp] */
	asm_map(e, e->b->n - 1, XL_RCX_SAVED);		/* it may fault where it goes */
	add_to_context(e, RCX);
	asm_bytes(e, "\x48\x8b\x0c\x24", 4);			/* mov rcx, [rsp] */
	at_base(e, true, 0x39, RCX, R11, RET - FRAME);		/* cmp ret, rcx */
	miss = jump_if_not_equal(e);
	give_state_back(e, -FRAME);
	return miss;
}

/* Behind the return. */
void emit_tree_return_end(struct emit *e, const struct insn *ret, uint8_t *miss)
{
	if (!miss)
		return;
	asm_map(e, e->b->n, 0);
	bind(e, miss);
	give_state_back(e, 0);
	leave_by_return(e, ret);
}

/* ---- indirect jumps and calls ---------------------------------------------------------------- */
/* rcx and rdx are in their slots, and RT_EXIT_PC is the target. If that is no address at all it
 * comes back behind this. */
static void leave_by_target(struct emit *e, uint32_t event)
{
	put_event(e, event);
	put_cont(e, RDX, 9 + 9 + 8);
	asm_slot_load(e, RCX, RT_S_RCX);
	asm_slot_load(e, RDX, RT_S_RDX);
	asm_slot_jump(e, RT_DO_TREE);
}

/* rcx: a target, rdx: a context, | 1; the result is in rax, which is in its slot. */
static void look_up(struct emit *e, uint8_t *miss[2])
{
	asm_bytes(e, "\x89\xc8\x31\xd0\x25", 5);	/* mov eax, ecx; xor eax, edx; and */
	asm_u32(e, RT_TREE_TARGETS_MASK);
	at_base(e, true, 0x39, RCX, RAX, RT_TREE_TARGETS);
	miss[0] = jump_if_not_equal(e);
	at_base(e, false, 0x39, RDX, RAX, RT_TREE_TARGETS + 8);
	miss[1] = jump_if_not_equal(e);
	load32(e, RAX, RAX, RT_TREE_TARGETS + 12);
}

/* What look_up() found is entered; where it did not, at @miss, the runtime does it. r11 is where
 * the next frame goes. The result is a jump over that, to be bound. */
static uint8_t *leave_if_missed(struct emit *e, uint8_t *miss[2], uint32_t event)
{
	uint8_t *found;

	asm_slot_load(e, RAX, RT_S_TMP);
	found = jump_over(e);
	bind(e, miss[0]);
	bind(e, miss[1]);
	give_state_back(e, 0);
	asm_slot_load(e, RAX, RT_S_TMP);
	leave_by_target(e, event);
	asm_slot_load(e, RCX, RT_EXIT_PC);
	return found;
}

/* Of an indirect call to rcx, whose return address is on the stack. */
void emit_tree_call_target(struct emit *e)
{
	uint8_t *miss[2];

	if (!e->in->abi_flags) {
		asm_slot_load(e, RCX, RT_EXIT_PC);
		leave_by_target(e, RT_ENDS_CALL);
		asm_slot_load(e, RCX, RT_EXIT_PC);
		return;
	}
	asm_slot_store(e, RAX, RT_S_TMP);
	add_to_context(e, RDX);
	look_up(e, miss);
	push_child(e, RAX, 0);
	bind(e, leave_if_missed(e, miss, RT_ENDS_CALL | RT_TREE_MEMO));
}

/* Of an indirect jump: rcx is the target, both are in their slots. Flags change if @free; behind
 * it rcx still is, and rdx is the program's. */
void emit_tree_jump_target(struct emit *e, bool free)
{
	struct xl_segment g;
	uint8_t *out, *done, *miss[2], *first, *also = NULL;

	tree_segment(e->s, e->b->pc, &g);
	asm_map(e, e->b->n, 0);
	asm_slot_store(e, RCX, RT_EXIT_PC);
	if (!free) {
		asm_slot_store(e, RAX, RT_S_TMP);
		keep_flags(e);
	}
	asm_lea_pc(e, RDX, g.hi - 1);
	asm_bytes(e, "\x48\x29\xca\x48\x81\xfa", 6);		/* sub rdx, rcx; cmp rdx, bytes */
	asm_u32(e, (uint32_t)(g.hi - g.lo));
	asm_bytes(e, "\x0f\x83", 2);				/* jae */
	asm_u32(e, 0);
	out = e->c;
	if (!free) {
		give_flags_back(e);
		asm_slot_load(e, RAX, RT_S_TMP);
	}
	done = jump_over(e);
	bind(e, out);
	if (!free) {
		give_flags_back(e);
		asm_slot_load(e, RAX, RT_S_TMP);
		leave_by_target(e, RT_ENDS_JUMP);
	} else {
		asm_slot_store(e, RAX, RT_S_TMP);
		add_to_context(e, RDX);
		at_base(e, false, 0x39, RDX, R11, FIRST - FRAME);
		asm_bytes(e, "\x0f\x95\xc0\x0f\xb6\xc0", 6);	/* setne al; movzx eax, al */
		asm_bytes(e, "\x09\xc2", 2);			/* or edx, eax */
		look_up(e, miss);
		enter_child(e, RAX, false);
		if (g.stub) {
			asm_bytes(e, "\xf6\xc2\x01", 3);	/* test dl, 1 */
			first = jump_if_not_equal(e);
			store32(e, RAX, R11, FIRST - FRAME);
			bind(e, first);
		}
		give_state_back(e, 0);
		also = leave_if_missed(e, miss, RT_ENDS_JUMP | RT_TREE_MEMO);
	}
	if (also)
		bind(e, also);
	else
		asm_slot_load(e, RCX, RT_EXIT_PC);
	bind(e, done);
	asm_map(e, e->b->n - 1, XL_RCX_SAVED | XL_RDX_SAVED);
}
