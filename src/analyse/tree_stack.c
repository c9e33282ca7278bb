/* SPDX-License-Identifier: MIT */
/* tree_stack.c - calls, returns, and how else control comes to a function: the rules of tree.h */
#include <string.h>

#include "analyse/tree_work.h"

#define MAX_FRAMES (1u << 20)		/* of calls that have not returned */

static struct tree_frame *top_of(struct tree_thread *t)
{
	return t->frame + t->depth - 1;
}

/* What lies above the frames that are left has been left, too. */
static void forget(struct tree_thread *t)
{
	while (t->nsignal && t->signal[t->nsignal - 1].depth >= t->depth)
		t->nsignal--;
	while (t->nlanding && t->landing[t->nlanding - 1].depth >= t->depth)
		t->nlanding--;
}

/* So deep, and nothing returns: some code keeps its own stacks. The outer half will not be
 * missed. */
static void drop_half(struct tree_thread *t)
{
	const size_t half = t->depth / 2;

	memmove(t->frame, t->frame + half, (t->depth - half) * sizeof *t->frame);
	t->depth -= half;
	t->nsignal = t->nlanding = 0;
}

static void note_landing(struct tree_thread *t)
{
	const size_t caller = t->depth - 2;

	while (t->nlanding && t->landing[t->nlanding - 1].depth >= caller)
		t->nlanding--;
	pm_grow(t->landing, t->nlanding, t->cap_landing);
	t->landing[t->nlanding++] = (struct tree_landing){ caller, top_of(t)->ret };
}

static void enter(struct tree_sink *s, struct tree_thread *t, uint32_t node, uint32_t function)
{
	s->raw.node[node].calls++;
	t->node = node;
	t->function = function;
	if (s->functions.info[function].flags & TREE_SETJMP && t->depth > 1)
		note_landing(t);
}

static uint32_t child(struct tree_sink *s, const struct tree_thread *t, uint32_t parent,
		      uint64_t pc, uint32_t function)
{
	if (function == TREE_GENERATED)
		function = tree_generated(&s->functions, &s->raw, t->code, pc);
	return pm_tree_child(&s->raw, parent, function);
}

void tree_push(struct tree_sink *s, struct tree_thread *t, uint64_t pc, uint32_t function)
{
	uint32_t node;

	if (t->depth) {
		top_of(t)->node = t->node;
		top_of(t)->function = t->function;
	}
	if (t->depth == MAX_FRAMES)
		drop_half(t);
	pm_grow(t->frame, t->depth, t->cap);
	node = child(s, t, t->depth ? t->node : t->root, pc, function);
	t->frame[t->depth++] = (struct tree_frame){ t->next, node, node, function };
	enter(s, t, node, function);
}

/* Is @function one of those that a frame's call went through? *@node: its context. */
static bool passed(const struct tree_sink *s, const struct tree_frame *f, uint32_t node,
		   uint32_t function, uint32_t *found)
{
	/* what is too deep has another parent than its caller: no further than first in any case */
	const uint32_t depth = s->raw.node[f->first].depth;

	for (; ; node = s->raw.node[node].parent) {
		const uint32_t of = s->raw.node[node].function;

		if (of == function || (function == TREE_GENERATED &&
				       s->functions.info[of].flags & TREE_MADE)) {
			*found = node;
			return true;
		}
		if (s->raw.node[node].depth <= depth)
			return false;
	}
}

/* Only the outermost @depth frames are left; control is at @node. */
static void unwind(struct tree_thread *t, size_t depth, uint32_t node, uint32_t function)
{
	t->depth = depth;
	t->node = node;
	t->function = function;
	forget(t);
}

/* Is @part, "f.cold", one of @function, "f"? */
static bool is_part_of(const struct tree_sink *s, uint32_t part, uint32_t function)
{
	const char *name = s->raw.function[part].linkage, *of = s->raw.function[function].linkage;
	const size_t n = strlen(of);

	return s->functions.info[part].object == s->functions.info[function].object &&
		!strncmp(name, of, n) && !strncmp(name + n, ".cold", 5);
}

/* Into @part of a function, where no caller waits: from the function itself, by a table of jumps;
 * else it is where an exception has been caught. True: control is in the function's context now. */
static bool land_in_part(struct tree_sink *s, struct tree_thread *t, uint32_t part)
{
	/* who called _Unwind_Resume() is left */
	const bool unwinds = t->function != TREE_GENERATED && t->depth > 2 &&
		s->functions.info[t->function].flags & TREE_UNWINDS;

	for (size_t d = t->depth - 2 * unwinds; d--; ) {
		const struct tree_frame *f = t->frame + d;
		uint32_t node = d + 1 == t->depth ? t->node : f->node;
		const uint32_t lowest = s->raw.node[f->first].depth;

		for (; node && s->raw.node[node].depth >= lowest;
		     node = s->raw.node[node].parent) {
			const uint32_t function = s->raw.node[node].function;

			if (function == part || is_part_of(s, part, function)) {
				unwind(t, d + 1, node, function);
				return true;
			}
		}
	}
	return false;
}

static bool is_handler(const struct tree_thread *t)
{
	return t->nsignal && t->signal[t->nsignal - 1].depth == t->depth - 1;
}

/* A jump to another function. */
static void jump(struct tree_sink *s, struct tree_thread *t, uint64_t pc, uint32_t function,
		 bool beside)
{
	struct tree_frame *f = top_of(t);
	uint32_t node = t->node;

	if (passed(s, f, t->node, function, &node)) {
		t->node = node;
		t->function = function;
		return;
	}
	/* the stub jumps to the first one of its table, and that one to the dynamic linker */
	if (s->functions.info[function].flags & TREE_RESOLVES) {
		beside = true;
		t->node = f->first;
	}
	beside |= t->function != TREE_GENERATED &&
		s->functions.info[t->function].flags & TREE_STUB;
	node = child(s, t, beside ? s->raw.node[t->node].parent : t->node, pc, function);
	if (beside && t->node == f->first)
		f->first = node;
	enter(s, t, node, function);
}

/* Into the middle of @function, where no caller waits. */
static bool land(struct tree_sink *s, struct tree_thread *t, uint64_t pc, uint32_t function)
{
	const bool unwinds = t->function != TREE_GENERATED &&
		s->functions.info[t->function].flags & TREE_UNWINDS;
	uint32_t node;

	if (passed(s, top_of(t), t->node, function, &node)) {
		unwind(t, t->depth, node, function);
		return true;
	}
	for (size_t i = t->nlanding; i--; ) {
		const struct tree_landing *l = t->landing + i;

		if (l->pc == pc && l->depth < t->depth &&
		    passed(s, t->frame + l->depth, t->frame[l->depth].node, function, &node)) {
			unwind(t, l->depth + 1, node, function);
			return true;
		}
	}
	if (t->depth < 2u + unwinds)
		return false;
	for (size_t d = t->depth - 1 - unwinds; d--; )
		if (passed(s, t->frame + d, t->frame[d].node, function, &node)) {
			unwind(t, d + 1, node, function);
			return true;
		}
	return false;
}

/* To a caller that waits at @pc; false: none does. */
static bool come_back(struct tree_thread *t, uint64_t pc)
{
	size_t d = t->depth;

	while (d > 1 && t->frame[d - 1].ret != pc)
		d--;
	if (d < 2)
		return false;
	unwind(t, d - 1, t->frame[d - 2].node, t->frame[d - 2].function);
	return true;
}

/* Control has come to another function than the one where it was, and neither by a call nor by a
 * return to who waits. */
static void move(struct tree_sink *s, struct tree_thread *t, uint64_t pc, struct tree_place to,
		 uint8_t end)
{
	const bool middle = end != TREE_GOES_ON && !to.entry;

	if (end == TREE_RETURNS && is_handler(t)) {
		t->node = top_of(t)->first;
		jump(s, t, pc, to.function, true);	/* to what ends a handler */
		return;
	}
	if (middle && land(s, t, pc, to.function))
		return;
	if (middle && end == TREE_RETURNS && t->depth == 1) {
		/* to a caller of where the stream began */
		const uint32_t node = child(s, t, t->root, pc, to.function);

		t->frame[0] = (struct tree_frame){ 0, node, node, to.function };
		t->node = node;
		t->function = to.function;
		return;
	}
	if (end != TREE_GOES_ON && s->functions.info[to.function].flags & TREE_PART &&
	    land_in_part(s, t, to.function) && t->function == to.function)
		return;
	jump(s, t, pc, to.function, false);
}

void tree_arrive(struct tree_sink *s, struct tree_thread *t, uint64_t pc, struct tree_place to)
{
	uint8_t end = t->end;

	t->end = TREE_GOES_ON;
	if (!t->depth) {
		t->next = 0;
		tree_push(s, t, pc, to.function);
		return;
	}
	if (end == TREE_CALLS || end == TREE_SIGNALS) {
		tree_push(s, t, pc, to.function);
		return;
	}
	if (end == TREE_RETURNS && come_back(t, pc))
		end = TREE_GOES_ON;
	if (t->function != to.function)
		move(s, t, pc, to, end);
}

/* ---- what the kernel does -------------------------------------------------------------------- */
void tree_signal(struct tree_thread *t, uint64_t pc)
{
	if (!t->depth)
		return;
	if (t->end != TREE_SIGNALS)
		forget(t);
	pm_grow(t->signal, t->nsignal, t->cap_signal);
	t->signal[t->nsignal++] = (struct tree_signal){ t->depth, t->next, t->end };
	t->end = TREE_SIGNALS;
	t->next = pc;
}

void tree_sigreturn(struct tree_thread *t, uint64_t pc)
{
	struct tree_signal was;

	if (t->end != TREE_SIGNALS)
		forget(t);
	if (!t->nsignal) {		/* a handler that nobody saw begin */
		t->end = t->depth ? TREE_JUMPS : TREE_GOES_ON;
		return;
	}
	was = t->signal[--t->nsignal];
	if (was.depth == t->depth) {	/* ... that never did */
		t->end = was.end;
		t->next = was.next;
		return;
	}
	t->end = t->frame[was.depth].ret == pc ? was.end : TREE_JUMPS;
	t->next = was.next;
	/* signals stay: of two at once the first one's handler has no frame yet */
	t->depth = was.depth;
	t->node = t->frame[was.depth - 1].node;
	t->function = t->frame[was.depth - 1].function;
	while (t->nlanding && t->landing[t->nlanding - 1].depth >= t->depth)
		t->nlanding--;
}

void tree_begin_anew(struct tree_thread *t)
{
	t->depth = t->nsignal = t->nlanding = 0;
	t->node = t->root;
	t->function = 0;
	t->end = TREE_GOES_ON;
}
