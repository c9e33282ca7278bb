/* SPDX-License-Identifier: MIT */
/* contexts.c - a calling-context tree that grows in the traced process
 *
 * Each thread has a tree, in its thread block (RT_TREE_* in abi.h): an array of contexts, a stack
 * of calls that have not returned, and in the innermost one's frame where control is. Translated
 * code (translate/emit_tree.c) counts instructions in the lower half of the cursor register, whose
 * upper half is the stack's end, and adds them to the context where control leaves a function:
 *
 *   a call            the context has slots, callee's number -> context, as many as its function
 *                     is large; then the thread's table of sites, which has all others; pushes a
 *                     frame. The code for that is in front of the callee, once for all who call
 *                     it (CALL ENTRIES in translate/translate.h). Through a linkage stub to a
 *                     function of the same file: likewise, but at the call, if the stub's pointer
 *                     leads where it is likely to
 *   an indirect call  the thread's table of targets
 *   a return          to where the innermost frame says; pops it
 *   a direct jump, or falling, to another function: slots, and sites
 *   an indirect one   within the function nothing; else targets
 *
 * What is not found leaves to rt_tree_event(). The rules are those of analyse/tree_stack.c,
 * function for function: both give the same tree. The same goes for signals, and for what returns
 * to who has not called: exceptions, longjmp(), stacks that change. A frame from which not
 * everything is as simple has its return address inverted, so that a return from it comes here,
 * too.
 *
 * Whose code an address is says the controller, a text at a time (RQ_FUNCTIONS). Translations
 * depend on it: they are kept under a name with a hash of the text's functions
 * (cache/load_file.c).
 *
 * EXACT. An instruction counts where it executed; what a signal cuts off, the controller takes
 * back (trace_cut()). Who is killed has all in its tree but what the register had.
 * THREADS have trees of their own, which are added up as they end (consume/grow.c, analyse's
 * tree_grown.c). A process that is forked begins with an empty one, as its trace would.
 * MEMORY. A context takes one or two cells of 64 bytes, that of a huge function
 * RT_TREE_MOST_CELLS, and its slot of the hash table. Both are in large pages where there is much
 * of them, if the kernel has any. After --max-contexts of a thread, or when 7 of 8 cells are in
 * use, new ones have their functions below one, '[other contexts]', which is said at the end. Calls
 * that nest deeper than RT_TREE_FRAMES_MAX forget the outer half of their callers: a page that
 * faults is behind the last frame.
 * NOT HERE are 32-bit programs, recordings, parts of runs (regions, threads, --pid) and what other
 * events need: consumers walk a trace for these. PUGMARK_NO_GROWING=1 in the environment: always.
 */
#include "rt.h"

#if !defined RT_IDT && !defined __i386__
#define PLACE(b, off) PTR((word)(b) + (off))
#define NODE(b, i) ((struct rt_tree_node *)PLACE(b, RT_TREE_NODES) + (i))
#define FRAMES(b) ((struct rt_frame_of_call *)PLACE(b, RT_TREE_FRAMES))
#define SIGNALS(b) ((struct rt_tree_signal *)PLACE(b, RT_TREE_SIGNALS))
#define LANDINGS(b) ((struct rt_tree_landing *)PLACE(b, RT_TREE_LANDINGS))

#define LARGE_PAGE	(2u << 20)
#define CELLS_OF_PAGE	(LARGE_PAGE / RT_TREE_CELL)
#define MADV_COLLAPSE	25

struct whose { u32 function, entry; };

/* ---- whose code is it? ----------------------------------------------------------------------- */
struct texts {				/* at RT_TREE_TEXTS, of a thread */
	u32 changes, n;
	struct { u64 lo, hi, row; u32 n, pad; } v[256];
};
struct whose_pc { u64 pc; u32 changes, is; };	/* at RT_TREE_KNOWN; is: function << 1 | entry */
static u32 changes;			/* how often the process has mapped or unmapped code */

void rt_tree_mapped(void)
{
	__atomic_fetch_add(&changes, 1, __ATOMIC_SEQ_CST);
}

static int find_text(struct rt_block *b, u64 pc, u32 now)
{
	struct texts *t = PLACE(b, RT_TREE_TEXTS);
	u32 i;

	if (t->changes != now)
		t->n = 0;
	t->changes = now;
	for (i = 0; i < t->n; i++)
		if (pc >= t->v[i].lo && pc < t->v[i].hi)
			return (int)i;
	if (!rt_ask(b, RQ_FUNCTIONS, pc, 0, 0, 0) || !b->mail.r[0])
		return -1;
	if (t->n == NR_OF(t->v))
		t->n = 0;
	i = t->n++;
	t->v[i].lo = b->mail.r[0];
	t->v[i].hi = b->mail.r[1];
	t->v[i].row = b->mail.r[2];
	t->v[i].n = (u32)b->mail.r[3];
	return (int)i;
}

static const struct rt_function_info *info_of(u32 function)
{
	static const struct rt_function_info made;

	return function & RT_TREE_IS_MADE ? &made :
		(const struct rt_function_info *)PTR(RT_TREE_FUNCTIONS) + function;
}

static u32 flags_of(u32 function)
{
	return info_of(function)->flags;
}

/* False: nobody's. @now: `changes`. */
static int search_text(struct rt_block *b, u64 pc, u32 now, struct whose *p)
{
	const int i = find_text(b, pc, now);
	const struct texts *t = PLACE(b, RT_TREE_TEXTS);
	const struct rt_function *row;
	u32 lo = 0, hi, at;

	if (i < 0)
		return 0;
	hi = t->v[i].n;
	if (!hi) {
		*p = (struct whose){ RT_TREE_GENERATED, 1 };
		return 1;
	}
	row = PTR(t->v[i].row);
	at = (u32)(pc - t->v[i].lo);
	while (hi - lo > 1) {
		const u32 mid = lo + (hi - lo) / 2;

		if (row[mid].at <= at)
			lo = mid;
		else
			hi = mid;
	}
	*p = (struct whose){ row[lo].function,
			     at == row[lo].lo || flags_of(row[lo].function) & RT_TREE_PART };
	return 1;
}

/* The same: control comes to the same places again and again. */
static int function_at(struct rt_block *b, u64 pc, struct whose *p)
{
	const u32 now = __atomic_load_n(&changes, __ATOMIC_SEQ_CST);
	struct whose_pc *k = (struct whose_pc *)PLACE(b, RT_TREE_KNOWN) +
		((u32)(pc ^ pc >> 13) & (RT_TREE_KNOWN_MAX - 1));

	if (k->pc != pc || k->changes != now) {
		if (!search_text(b, pc, now, p))
			return 0;
		*k = (struct whose_pc){ pc, now, p->function << 1 | p->entry };
	}
	*p = (struct whose){ k->is >> 1, k->is & 1 };
	return 1;
}

/* The function of generated code that begins at @pc. */
static u32 made_at(struct rt_block *b, u64 pc)
{
	u64 *const v = PLACE(b, RT_TREE_MADE);
	u32 i = (u32)(pc * 0x9e3779b97f4a7c15u >> 40) & (RT_TREE_MADE_MAX - 1);

	if (!i)
		i = 1;
	while (v[i] && v[i] != pc)
		i = i + 1 < RT_TREE_MADE_MAX ? i + 1 : 1;
	if (!v[i]) {
		if (b->tree_made == RT_TREE_MADE_MAX / 2)
			return RT_TREE_IS_MADE;		/* too many: [0] is all others */
		b->tree_made++;
		v[i] = pc;
	}
	return RT_TREE_IS_MADE | i;
}

/* ---- contexts: those of analyse/tree.c ---------------------------------------------------------
 * Most have one or two below them, all in their slots: these are looked for there. What is below a
 * `hashed` one has a place in a hash table, which is large: who looks there waits for memory. A new
 * one's parent is hashed if the next one is looked for before a slot has it. */
static u32 index_of(u64 off)
{
	return (u32)(off - RT_TREE_NODES) / RT_TREE_CELL;
}

static u32 offset_of(u32 node)
{
	return RT_TREE_NODES + node * RT_TREE_CELL;
}

struct slot { u32 node, hash; };	/* node 0: free; hash: most others need not be looked at */

static u32 hash_of(u32 parent, u32 function)
{
	return (u32)((((u64)parent << 32 | function) * 0x9e3779b97f4a7c15u) >> 32);
}

static struct slot *slot_for(const struct rt_block *b, u32 parent, u32 function)
{
	struct slot *slot = PLACE(b, RT_TREE_SLOTS);
	const u32 hash = hash_of(parent, function);
	u32 i = hash & b->tree_mask;

	for (; slot[i].node; i = (i + 1) & b->tree_mask) {
		const struct rt_tree_node *n = NODE(b, slot[i].node);

		if (slot[i].hash == hash && n->parent == parent && n->function == function)
			break;
	}
	return slot + i;
}

/* One of what begins @at, where nothing has been written yet. The kernel may refuse: it stays as it
 * is. */
static void make_large_page(const void *at)
{
	*(volatile u8 *)(word)at = 0;		/* it must not be a hole */
	rt_sys(NR_madvise, (word)at, LARGE_PAGE, MADV_COLLAPSE);
}

static void grow_slots(struct rt_block *b)
{
	struct slot *slot = PLACE(b, RT_TREE_SLOTS);
	const u64 had = (u64)(b->tree_mask + 1) * sizeof *slot;

	memset(slot, 0, had);
	b->tree_mask = 2 * b->tree_mask + 1;
	for (u64 at = had; had >= LARGE_PAGE && at < 2 * had; at += LARGE_PAGE)
		make_large_page((u8 *)slot + at);
	for (u32 i = 1; i < b->tree_cells; i += NODE(b, i)->cells) {
		const u32 hash = hash_of(NODE(b, i)->parent, NODE(b, i)->function);
		u32 k = hash & b->tree_mask;

		if (!NODE(b, NODE(b, i)->parent)->hashed || i == b->tree_overflow)
			continue;
		while (slot[k].node)
			k = (k + 1) & b->tree_mask;
		slot[k] = (struct slot){ i, hash };
	}
}

/* Context @i, whose parent is hashed, is nowhere yet. */
static void add_to_hash(struct rt_block *b, u32 i)
{
	const u32 parent = NODE(b, i)->parent, function = NODE(b, i)->function;
	struct slot *slot;

	if (2 * ++b->tree_hashed > b->tree_mask && b->tree_mask + 1 < RT_TREE_SLOTS_MAX) {
		grow_slots(b);
		return;
	}
	slot = slot_for(b, parent, function);
	*slot = (struct slot){ i, hash_of(parent, function) };
}

/* What slot @k of context @n leads to, if that is below it; else 0. */
static u32 child_in_slot(const struct rt_block *b, const struct rt_tree_node *n, u32 k)
{
	const u32 to = n->slot[k].child;

	return n->slot[k].key && !(to & RT_TREE_GOES_BACK) &&
		NODE(b, NODE(b, index_of(to))->parent) == n ? index_of(to) : 0;
}

/* No slot has got the last new context. */
static void hash_fresh(struct rt_block *b)
{
	const u32 fresh = b->tree_fresh;
	struct rt_tree_node *n = NODE(b, NODE(b, fresh)->parent);

	b->tree_fresh = 0;
	if (!n->hashed) {
		n->hashed = 1;
		for (u32 k = 0; k < RT_TREE_SLOTS_OF(n->cells); k++) {
			const u32 i = child_in_slot(b, n, k);

			if (i && slot_for(b, NODE(b, i)->parent, NODE(b, i)->function)->node != i)
				add_to_hash(b, i);
		}
	}
	add_to_hash(b, fresh);
}

/* The context of @function below @parent; 0: there is none yet. */
static u32 find(struct rt_block *b, u32 parent, u32 function)
{
	const struct rt_tree_node *n = NODE(b, parent);

	if (b->tree_fresh)
		hash_fresh(b);
	if (n->hashed)
		return slot_for(b, parent, function)->node;
	for (u32 k = 0; k < RT_TREE_SLOTS_OF(n->cells); k++) {
		const u32 i = child_in_slot(b, n, k);

		if (i && NODE(b, i)->function == function)
			return i;
	}
	return 0;
}

static u32 cells_of(u32 function)
{
	const u32 n = info_of(function)->cells;

	return n ? n : 1;
}

static u32 new_node(struct rt_block *b, u32 parent, u32 function, u32 cells)
{
	const u32 i = b->tree_cells;
	struct rt_tree_node *n = NODE(b, i);

	n->parent = parent;
	n->function = function;
	n->depth = NODE(b, parent)->depth + 1;
	n->cells = cells;
	n->hashed = cells == RT_TREE_MOST_CELLS;	/* too many to look at */
	b->tree_nodes++;
	b->tree_cells += cells;
	if (i / CELLS_OF_PAGE != b->tree_cells / CELLS_OF_PAGE)
		make_large_page(NODE(b, b->tree_cells / CELLS_OF_PAGE * CELLS_OF_PAGE));
	return i;
}

/* Is there room for one more, and for '[other contexts]'? */
static int is_full(const struct rt_block *b, u32 most, u32 cells)
{
	return b->tree_nodes >= most || b->tree_cells > cells;
}

static u32 find_child(struct rt_block *b, u32 parent, u32 function)
{
	u32 node;

	if (NODE(b, parent)->depth >= b->tree_depth)
		parent = NODE(b, parent)->parent;
	node = find(b, parent, function);
	if (!node && is_full(b, b->tree_most, RT_TREE_CELLS_MAX / 8 * 7)) {
		/* any function's code may be there: it has as many slots as any */
		if (!b->tree_overflow)
			b->tree_overflow = new_node(b, 0, 1, RT_TREE_MOST_CELLS);
		if (is_full(b, RT_TREE_NODES_MAX + RT_TREE_NODES_MAX / 4,
			    RT_TREE_CELLS_MAX - 2 * RT_TREE_MOST_CELLS))
			return b->tree_overflow;
		parent = b->tree_overflow;
		node = find(b, parent, function);
	}
	if (node)
		return node;
	node = new_node(b, parent, function, cells_of(function));
	if (NODE(b, parent)->hashed)
		add_to_hash(b, node);
	else
		b->tree_fresh = node;
	return node;
}

static u32 child(struct rt_block *b, u32 parent, u64 pc, u32 function)
{
	return find_child(b, parent, function == RT_TREE_GENERATED ? made_at(b, pc) : function);
}

/* ---- where control is ------------------------------------------------------------------------ */
static u32 depth_of(const struct rt_block *b)
{
	return ((u32)(b->tree_state >> 32) - RT_TREE_FRAMES) / (u32)sizeof(struct rt_frame_of_call);
}

static u32 here(const struct rt_block *b)
{
	return index_of(FRAMES(b)[(int)depth_of(b) - 1].node);
}

static void set_depth(struct rt_block *b, u32 depth)
{
	b->tree_state = (RT_TREE_FRAMES + (u64)depth * sizeof(struct rt_frame_of_call)) << 32 |
		(u32)b->tree_state;
}

static u32 function_of(const struct rt_block *b, u32 node)
{
	const u32 f = NODE(b, node)->function;

	return f & RT_TREE_IS_MADE ? RT_TREE_GENERATED : f;
}

static u64 ret_of(const struct rt_frame_of_call *f)
{
	return f->ret >> 63 ? ~f->ret : f->ret;
}

/* Who returns from there comes to rt_tree_event(). */
static void is_not_simple(struct rt_frame_of_call *f)
{
	if (!(f->ret >> 63))
		f->ret = ~f->ret;
}

static void forget(struct rt_block *b)
{
	const u32 depth = depth_of(b);

	while (b->tree_signals && SIGNALS(b)[b->tree_signals - 1].depth >= depth)
		b->tree_signals--;
	while (b->tree_landings && LANDINGS(b)[b->tree_landings - 1].depth >= depth)
		b->tree_landings--;
}

static void drop_half(struct rt_block *b)
{
	const u32 depth = depth_of(b), half = depth / 2;

	rt_memcpy(FRAMES(b), FRAMES(b) + half, (word)(depth - half) * sizeof *FRAMES(b));
	set_depth(b, depth - half);
	is_not_simple(FRAMES(b));		/* nobody is known who waits for it */
	b->tree_signals = b->tree_landings = 0;
}

static void note_landing(struct rt_block *b)
{
	const u32 caller = depth_of(b) - 2;
	struct rt_tree_landing *const v = LANDINGS(b);

	while (b->tree_landings && v[b->tree_landings - 1].depth >= caller)
		b->tree_landings--;
	if (b->tree_landings == RT_TREE_LANDINGS_MAX) {
		b->tree_landings /= 2;
		rt_memcpy(v, v + b->tree_landings, b->tree_landings * sizeof *v);
	}
	v[b->tree_landings++] = (struct rt_tree_landing){
		ret_of(FRAMES(b) + caller + 1), caller, 0 };
	is_not_simple(FRAMES(b) + caller);
}

static void go_to(struct rt_block *b, u32 node)
{
	FRAMES(b)[depth_of(b) - 1].node = offset_of(node);
}

static void enter(struct rt_block *b, u32 node)
{
	NODE(b, node)->calls++;
	go_to(b, node);
	if (flags_of(NODE(b, node)->function) & RT_TREE_SETJMP && depth_of(b) > 1)
		note_landing(b);
}

static void push(struct rt_block *b, u64 pc, u32 function)
{
	const u32 caller = here(b);
	struct rt_frame_of_call *f;
	struct whose at;
	u32 node;

	if (depth_of(b) == RT_TREE_FRAMES_MAX)
		drop_half(b);
	node = child(b, depth_of(b) ? caller : 0, pc, function);
	f = FRAMES(b) + depth_of(b);
	*f = (struct rt_frame_of_call){ b->tree_next, offset_of(node), offset_of(node) };
	if (b->tree_next && (!function_at(b, b->tree_next, &at) ||
			     at.function != function_of(b, caller) ||
			     (b->tree_signals &&
			      SIGNALS(b)[b->tree_signals - 1].depth == depth_of(b))))
		is_not_simple(f);
	set_depth(b, depth_of(b) + 1);
	enter(b, node);
}

static int passed(const struct rt_block *b, const struct rt_frame_of_call *f, u32 node,
		  u32 function, u32 *found)
{
	const u32 depth = NODE(b, index_of(f->first))->depth;

	for (; ; node = NODE(b, node)->parent) {
		if (function_of(b, node) == function) {
			*found = node;
			return 1;
		}
		if (NODE(b, node)->depth <= depth)
			return 0;
	}
}

static void unwind(struct rt_block *b, u32 depth, u32 node)
{
	set_depth(b, depth);
	go_to(b, node);
	forget(b);
}

static int unwinds(const struct rt_block *b)
{
	return !!(flags_of(NODE(b, here(b))->function) & RT_TREE_UNWINDS);
}

static int land_in_part(struct rt_block *b, u32 part)
{
	const u32 depth = depth_of(b);

	for (u32 d = depth - (depth > 2 && unwinds(b) ? 2 : 0); d--; ) {
		u32 node = index_of(FRAMES(b)[d].node);
		const u32 lowest = NODE(b, index_of(FRAMES(b)[d].first))->depth;

		for (; node && NODE(b, node)->depth >= lowest; node = NODE(b, node)->parent) {
			const u32 function = NODE(b, node)->function;

			if (function == part ||
			    info_of(function)->name == info_of(part)->part) {
				unwind(b, d + 1, node);
				return 1;
			}
		}
	}
	return 0;
}

static void jump(struct rt_block *b, u64 pc, u32 function, int beside)
{
	struct rt_frame_of_call *f = FRAMES(b) + depth_of(b) - 1;
	u32 node = here(b);

	if (passed(b, f, node, function, &node)) {
		go_to(b, node);
		return;
	}
	if (flags_of(NODE(b, here(b))->function) & RT_TREE_STUB)
		beside = 1;
	if (flags_of(function) & RT_TREE_RESOLVES) {
		beside = 1;
		f->node = f->first;
	}
	node = child(b, beside ? NODE(b, here(b))->parent : here(b), pc, function);
	if (beside && f->node == f->first)
		f->first = offset_of(node);
	enter(b, node);
}

static int land(struct rt_block *b, u64 pc, u32 function)
{
	const u32 depth = depth_of(b), leaves = (u32)unwinds(b);
	u32 node;

	if (passed(b, FRAMES(b) + depth - 1, here(b), function, &node)) {
		unwind(b, depth, node);
		return 1;
	}
	for (u32 i = b->tree_landings; i--; ) {
		const struct rt_tree_landing *l = LANDINGS(b) + i;

		if (l->pc == pc && l->depth < depth &&
		    passed(b, FRAMES(b) + l->depth, index_of(FRAMES(b)[l->depth].node), function,
			   &node)) {
			unwind(b, l->depth + 1, node);
			return 1;
		}
	}
	if (depth < 2 + leaves)
		return 0;
	for (u32 d = depth - 1 - leaves; d--; )
		if (passed(b, FRAMES(b) + d, index_of(FRAMES(b)[d].node), function, &node)) {
			unwind(b, d + 1, node);
			return 1;
		}
	return 0;
}

static int come_back(struct rt_block *b, u64 pc)
{
	u32 d = depth_of(b);

	while (d > 1 && ret_of(FRAMES(b) + d - 1) != pc)
		d--;
	if (d < 2)
		return 0;
	unwind(b, d - 1, index_of(FRAMES(b)[d - 2].node));
	return 1;
}

static void move(struct rt_block *b, u64 pc, struct whose to, u32 end)
{
	const int middle = end != RT_ENDS_ON && !to.entry;

	if (end == RT_ENDS_RETURN && b->tree_signals &&
	    SIGNALS(b)[b->tree_signals - 1].depth == depth_of(b) - 1) {
		FRAMES(b)[depth_of(b) - 1].node = FRAMES(b)[depth_of(b) - 1].first;
		jump(b, pc, to.function, 1);
		return;
	}
	if (middle && land(b, pc, to.function))
		return;
	if (middle && end == RT_ENDS_RETURN && depth_of(b) == 1) {
		const u32 node = child(b, 0, pc, to.function);

		FRAMES(b)[0] = (struct rt_frame_of_call){ 0, offset_of(node), offset_of(node) };
		go_to(b, node);
		return;
	}
	if (end != RT_ENDS_ON && flags_of(to.function) & RT_TREE_PART &&
	    land_in_part(b, to.function) && function_of(b, here(b)) == to.function)
		return;
	jump(b, pc, to.function, 0);
}

static void arrive(struct rt_block *b, u64 pc, struct whose to)
{
	u32 end = b->tree_end;

	b->tree_end = RT_ENDS_ON;
	if (!depth_of(b)) {
		b->tree_next = 0;
		push(b, pc, to.function);
		return;
	}
	if (end == RT_ENDS_CALL || end == RT_ENDS_SIGNAL) {
		push(b, pc, to.function);
		return;
	}
	if (end == RT_ENDS_RETURN && come_back(b, pc))
		end = RT_ENDS_ON;
	if (function_of(b, here(b)) != to.function)
		move(b, pc, to, end);
}

/* It is another number if anything happens in the context. */
static u32 has_seen(const struct rt_block *b)
{
	return (u32)(NODE(b, here(b))->calls + NODE(b, here(b))->self);
}

/* ... by a call or a signal: that can be taken back as long as nothing has executed. */
static void arrive_first(struct rt_block *b, u64 pc, struct whose to)
{
	const u32 end = b->tree_end;
	const u64 frame = b->tree_state >> 32, next = b->tree_next;

	arrive(b, pc, to);
	b->tree_undo_pc = 0;
	if ((end != RT_ENDS_CALL && end != RT_ENDS_SIGNAL) || b->tree_state >> 32 <= frame)
		return;
	b->tree_undo_pc = pc;
	b->tree_undo_to = offset_of(here(b));
	b->tree_undo_frame = frame;
	b->tree_undo_end = end;
	b->tree_undo_next = next;
	b->tree_undo_calls = has_seen(b);
}

static void add_count(struct rt_block *b)
{
	NODE(b, here(b))->self += (u32)b->tree_state;
	b->tree_state &= ~(u64)0 << 32;
}

void rt_tree_settle(struct rt_block *b, u64 pc)
{
	struct whose to;

	if (!b->tree_pending || !b->tree)
		return;
	if (!function_at(b, pc, &to))
		return;				/* it faults there */
	b->tree_pending = 0;
	add_count(b);
	arrive_first(b, pc, to);
}

void rt_tree_leaves(struct rt_block *b);

/* From entry_x86_64.S, on the way out. */
void rt_tree_leaves(struct rt_block *b)
{
	rt_tree_settle(b, b->ctx.pc);
	b->tree_pending = 0;
}

/* ---- what translated code asks for ----------------------------------------------------------- */
/* The context that a jump would lead to; 0: it is new. */
static u32 known_child(struct rt_block *b, u32 parent, u64 pc, u32 function)
{
	if (NODE(b, parent)->depth >= b->tree_depth)
		parent = NODE(b, parent)->parent;
	return find(b, parent, function == RT_TREE_GENERATED ? made_at(b, pc) : function);
}

/* Does @function stand nowhere on the path to context @node? */
static int is_new_there(const struct rt_block *b, u32 node, u32 function)
{
	for (; node; node = NODE(b, node)->parent)
		if (function_of(b, node) == function)
			return 0;
	return 1;
}

struct before { u32 node, depth, first; u64 calls; };

/* ... in slot @i. False: there is none, or it is not free. */
static int put_in_slot(struct rt_block *b, struct rt_tree_node *n, u32 i, u32 key, u32 child)
{
	if (i >= RT_TREE_SLOTS_OF(n->cells) || n->slot[i].key)
		return 0;
	n->slot[i].key = key;
	n->slot[i].child = child;
	if (b->tree_fresh && key && child == offset_of(b->tree_fresh) &&
	    NODE(b, NODE(b, b->tree_fresh)->parent) == n)
		b->tree_fresh = 0;
	return 1;
}

/* A jump has led back to the context's parent. Where the context is not its frame's first it always
 * does: the first one is no deeper than the parent. */
static void remember_way_back(struct rt_block *b, const struct before *was)
{
	const u32 event = b->tree_event;
	struct rt_tree_node *n = NODE(b, was->node);

	if (event & RT_TREE_HAS_CONT && n->parent == here(b) && depth_of(b) == was->depth &&
	    was->first != offset_of(was->node) && n->depth < b->tree_depth)
		put_in_slot(b, n, event >> 24, (u32)b->exit_id,
			    offset_of(n->parent) | RT_TREE_GOES_BACK);
}

/* The context has led here by the call or jump of the current event, and will again. */
static void remember(struct rt_block *b, const struct before *was)
{
	const u32 event = b->tree_event, end = event & 7, node = here(b);
	const u32 from = offset_of(was->node);
	const struct rt_frame_of_call *top = FRAMES(b) + depth_of(b) - 1;
	struct rt_tree_node *n = NODE(b, was->node);
	const u32 flags = flags_of(NODE(b, node)->function), key = (u32)b->exit_id;
	int first = 1;

	if (!(event & RT_TREE_MEMO) || flags & RT_TREE_SETJMP)
		return;
	if (end == RT_ENDS_CALL) {
		if (depth_of(b) != was->depth + 1 || top->ret >> 63)
			return;
	} else {
		first = was->first == from;
		if (depth_of(b) != was->depth || NODE(b, node)->calls != was->calls + 1 ||
		    flags & RT_TREE_RESOLVES || (end == RT_ENDS_JUMP && flags & RT_TREE_PART) ||
		    top->first != (first && flags_of(n->function) & RT_TREE_STUB ?
				   offset_of(node) : was->first))
			return;
	}
	if (!(event & RT_TREE_HAS_CONT)) {
		const u32 also = first ? from : from | 1;
		const u32 at = ((u32)b->exit_pc ^ also) & RT_TREE_TARGETS_MASK;

		if (!first && !is_new_there(b, was->node, function_of(b, node)))
			return;
		*(struct rt_tree_target *)PLACE(b, RT_TREE_TARGETS + at) =
			(struct rt_tree_target){ b->exit_pc, also, offset_of(node) };
	} else if (first ? put_in_slot(b, n, event >> 16 & 255, key, offset_of(node)) :
		   is_new_there(b, was->node, function_of(b, node)) &&
		   put_in_slot(b, n, event >> 24, key, offset_of(node))) {
		/* that is it */
	} else if (end == RT_ENDS_CALL || top->first == was->first) {
		*(struct rt_tree_site *)
			PLACE(b, RT_TREE_SITES + ((from ^ key << 4) & RT_TREE_SITES_MASK)) =
			(struct rt_tree_site){ from, key, offset_of(node), was->first };
	}
}

/* A call has led here, through @stub. */
static void remember_through(struct rt_block *b, const struct before *was, u32 stub)
{
	const u32 event = b->tree_event, node = here(b), key = (u32)b->exit_id;
	const u32 from = offset_of(was->node);
	const struct rt_frame_of_call *top = FRAMES(b) + depth_of(b) - 1;
	struct rt_tree_node *n = NODE(b, node), *of = NODE(b, stub);

	if (depth_of(b) != was->depth + 1 || top->ret >> 63 || top->first != top->node ||
	    n->parent != of->parent || n->parent != was->node || stub == node ||
	    flags_of(n->function) & (RT_TREE_SETJMP | RT_TREE_RESOLVES) ||
	    (n->via && n->via != offset_of(stub)))
		return;
	n->via = offset_of(stub);
	if (!put_in_slot(b, NODE(b, was->node), event >> 16 & 255, key, offset_of(node)))
		*(struct rt_tree_site *)
			PLACE(b, RT_TREE_SITES + ((from ^ key << 4) & RT_TREE_SITES_MASK)) =
			(struct rt_tree_site){ from, key, offset_of(node), 0 };
}

/* The call, and what the stub does: control goes to RT_S_TMP2. */
static void follow_through(struct rt_block *b, u64 pc)
{
	const struct before was = { here(b), depth_of(b), 0, 0 };
	struct whose to, next;
	u32 stub;

	if (!function_at(b, pc, &to) || !function_at(b, b->s_tmp2, &next)) {
		b->tree_pending = 1;
		return;
	}
	add_count(b);
	arrive(b, pc, to);
	b->tree_undo_pc = 0;
	stub = here(b);
	b->tree_state += b->tree_event >> 12 & 15;
	add_count(b);
	arrive(b, b->s_tmp2, next);
	remember_through(b, &was, stub);
}

static void follow(struct rt_block *b, u64 pc)
{
	struct before was = { here(b), depth_of(b), 0, 0 };
	const u32 end = b->tree_event & 7;
	struct whose to;
	u32 node = 0;

	if (!function_at(b, pc, &to)) {
		b->tree_pending = 1;
		return;
	}
	add_count(b);
	if (was.depth)
		was.first = FRAMES(b)[was.depth - 1].first;
	if (b->tree_event & RT_TREE_MEMO && end != RT_ENDS_CALL) {
		const int beside = !!(flags_of(NODE(b, was.node)->function) & RT_TREE_STUB);

		node = known_child(b, beside ? NODE(b, was.node)->parent : was.node, pc,
				   to.function);
		was.calls = NODE(b, node)->calls;
	}
	arrive_first(b, pc, to);
	if (end == RT_ENDS_CALL || (here(b) == node && node && (to.entry || end != RT_ENDS_JUMP)))
		remember(b, &was);
	else if (b->tree_event & RT_TREE_MEMO && end == RT_ENDS_ON)
		remember_way_back(b, &was);
}

void rt_tree_event(struct rt_block *b)
{
	const u64 pc = b->exit_pc;
	u64 to;

	b->ctx.pc = pc;
	b->tree_end = b->tree_event & 7;
	b->tree_next = 0;
	if (b->tree_end == RT_ENDS_CALL)
		b->tree_next = *(const u64 *)PTR(b->ctx.gpr[RSP]);
	if (pc >> 47 && pc >> 47 != 0x1ffff) {	/* no address at all: the instruction faults */
		b->tree_end = RT_ENDS_ON;
		b->resume = b->cont;
		return;
	}
	if (b->tree_event & RT_TREE_THROUGH)
		follow_through(b, pc);
	else
		follow(b, pc);
	if (b->tree_event & RT_TREE_HAS_CONT) {
		b->resume = b->cont;
		return;
	}
	to = rt_indirect_entry(pc);
	/* without an entry it faults there, as in translated code, and gets one */
	rt_resume_at(b, to ? to : pc);
}

int rt_tree_deep(struct rt_block *b, u64 addr, struct k_ucontext *uc)
{
	const u64 end = (word)b + RT_TREE_FRAMES + RT_TREE_FRAMES_MAX * 16ull;

	if (!b->tree || addr < end || addr >= end + 4096)
		return 0;
	b->tree_state = UC_GPR(uc, CURSOR_REG) << 32;
	drop_half(b);
	UC_GPR(uc, CURSOR_REG) = b->tree_state >> 32;
	b->tree_state = 0;
	return 1;
}

/* ---- what the kernel does -------------------------------------------------------------------- */
/* A signal comes before the first instruction at @pc: control has not arrived there. */
static void undo(struct rt_block *b, u64 pc)
{
	if (b->tree_undo_pc != pc || b->tree_undo_to != offset_of(here(b)) ||
	    b->tree_undo_calls != has_seen(b))
		return;
	NODE(b, here(b))->calls--;
	b->tree_state = b->tree_undo_frame << 32 | (u32)b->tree_state;
	b->tree_end = b->tree_undo_end;
	b->tree_next = b->tree_undo_next;
	b->tree_undo_pc = 0;
}

static void signal_comes(struct rt_block *b, u64 pc)
{
	struct rt_tree_signal *const v = SIGNALS(b);

	if (!depth_of(b))
		return;
	undo(b, pc);
	if (b->tree_end != RT_ENDS_SIGNAL)
		forget(b);
	if (b->tree_signals == RT_TREE_SIGNALS_MAX) {
		b->tree_signals /= 2;
		rt_memcpy(v, v + b->tree_signals, b->tree_signals * sizeof *v);
	}
	v[b->tree_signals++] = (struct rt_tree_signal){ b->tree_next, depth_of(b), b->tree_end };
	b->tree_end = RT_ENDS_SIGNAL;
	b->tree_next = pc;
	b->tree_pending = 1;
}

static void signal_goes(struct rt_block *b, u64 pc)
{
	struct rt_tree_signal was;

	if (b->tree_end != RT_ENDS_SIGNAL)
		forget(b);
	b->tree_pending = 1;
	if (!b->tree_signals) {
		b->tree_end = depth_of(b) ? RT_ENDS_JUMP : RT_ENDS_ON;
		return;
	}
	was = SIGNALS(b)[--b->tree_signals];
	if (was.depth == depth_of(b)) {
		b->tree_end = was.end;
		b->tree_next = was.next;
		return;
	}
	b->tree_end = ret_of(FRAMES(b) + was.depth) == pc ? was.end : RT_ENDS_JUMP;
	b->tree_next = was.next;
	set_depth(b, was.depth);
	while (b->tree_landings && LANDINGS(b)[b->tree_landings - 1].depth >= was.depth)
		b->tree_landings--;
}

void rt_tree_note(struct rt_block *b, u32 type, const u64 *arg)
{
	if (!b->tree)
		return;
	add_count(b);
	switch (type) {
	case RT_N_SIGNAL:
		signal_comes(b, arg[1]);
		break;
	case RT_N_SIGRETURN:
		signal_goes(b, arg[0]);
		break;
	case RT_N_STEPPED:
		if (b->tree_unknown) {		/* what the decoder does not know is generated */
			arrive(b, b->tree_unknown,
			       (struct whose){ RT_TREE_GENERATED, 1 });
			NODE(b, here(b))->self++;
		}
		b->tree_pending = 1;
		break;
	}
	if (type != RT_N_STATE)
		b->tree_unknown = 0;
}

void rt_tree_begin(struct rt_block *b)
{
	if (!b->tree)
		return;
	rt_sys(NR_mprotect, (word)b + RT_TREE_FRAMES + RT_TREE_FRAMES_MAX * 16ul, 4096, 0);
	b->r11_use = RT_R11_TREE;
}
#endif
