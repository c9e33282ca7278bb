/* SPDX-License-Identifier: MIT */
/* robust.c - robust locks of recorded threads that end
 *
 * The kernel marks the locks in a thread's robust list as abandoned when the thread ends, and wakes
 * who waits for them. It does so while others execute. So the kernel has another list of a recorded
 * thread, and marks only rt_block.alive.lock, which says that the thread has ended, even if it was
 * killed. The locks are marked by who has the token: by the thread itself when it exits, or by the
 * next process of the group that takes it. That notes it in its log, so the replay does the same at
 * the same place. For this each process notes what its threads hold when it gives the token up.
 *
 * If all others wait for such a lock, the controller has one of them take the token
 * (RT_LOG_TAKE_TURN). */
#include "log.h"

#define LIST_SIZE (3 * sizeof(word))	/* bytes of struct robust_list_head */
#define FUTEX_WAITERS 0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK 0x3fffffffu

static u64 *held_by(const struct rt_block *b)
{
	return PTR((word)b + RT_LOCKS);
}

static int is_held(u64 at, u32 tid)
{
	u32 v;

	return !(at & 3) && !rt_get(&v, at, 4) && (v & FUTEX_TID_MASK) == tid;
}

/* What the list of @of has that it holds, into held_by(@of). */
static u32 find_held(const struct rt_block *of)
{
	struct { word next, offset, pending; } head;	/* the program's */
	u64 *const to = held_by(of), at;
	word next;
	u32 n = 0;

	if (!of->robust || rt_get(&head, of->robust, sizeof head))
		return 0;
	head.pending &= ~(word)1;
	at = head.next & ~(word)1;
	for (u32 i = 1; at != of->robust && i < RT_LOCKS_MOST &&
	     !rt_get(&next, at, sizeof next); i++) {
		if (at != head.pending && is_held((word)(at + head.offset), of->tid))
			to[n++] = (word)(at + head.offset);
		at = next & ~(word)1;
	}
	if (head.pending && is_held(head.pending + head.offset, of->tid))
		to[n++] = head.pending + head.offset;
	return n;
}

/* The lock at @at, if it is held by @tid, loses its owner. 0: it is not. */
static int abandon(struct rt_block *b, u64 at, u32 tid, void (*log)(struct rt_block *, u64, u64))
{
	u32 v;

	if (!is_held(at, tid) || rt_get(&v, at, 4))
		return 0;
	v = (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
	if (rt_put(at, &v, 4))
		return 0;
	log(b, at, 4);
	if (v & FUTEX_WAITERS)
		rt_sys(NR_futex, at, 1 /* FUTEX_WAKE */, 1);
	return 1;
}

/* ---- who holds some -------------------------------------------------------------------------- */
static u32 *holders(void)
{
	return PTR((word)RT_SESSION + RT_HOLDERS);
}

static void set_holds(struct rt_block *b, u32 holds)
{
	const u32 own = b->number;
	u32 *const v = holders(), n = RT_SESSION->nholder;

	if (b->holds == holds)
		return;
	for (u32 i = 0; i < n && !holds; i++)
		if (v[i] == own)
			v[i] = v[n - 1];
	if (holds)
		v[n] = own;
	RT_SESSION->nholder = holds ? n + 1 : n - 1;
	__atomic_store_n(&b->holds, holds, __ATOMIC_RELEASE);
}

static void note(struct rt_block *b, struct rt_block *of)
{
	(void)b;
	of->nheld = find_held(of);
	set_holds(of, of->nheld != 0);
}

void rt_robust_note(struct rt_block *b)
{
	rt_token_each(b, note);
}

/* ---- they end -------------------------------------------------------------------------------- */
void rt_robust_end_lost(struct rt_block *b, struct rt_block *of,
			void (*log)(struct rt_block *b, u64 at, u64 n))
{
	const u32 n = find_held(of);

	for (u32 i = 0; i < n; i++)
		abandon(b, held_by(of)[i], of->tid, log);
	set_holds(of, 0);
}

static void end(struct rt_block *b, struct rt_block *of)
{
	rt_robust_end_lost(b, of, rt_log_data);
}

void rt_robust_end_thread(struct rt_block *b)
{
	end(b, b);
	rt_sys(NR_set_robust_list, 0, LIST_SIZE);
}

static void end_of_process(struct rt_block *b, struct rt_block *of)
{
	if (of->pid == b->pid)
		end(b, of);
}

void rt_robust_end_process(struct rt_block *b)
{
	rt_token_each(b, end_of_process);
}

/* As far as this process has mapped what they held; else another one does it. */
static void abandon_held(struct rt_block *b, struct rt_block *of)
{
	u32 left = 0;

	for (u32 i = 0; i < of->nheld; i++)
		if (!abandon(b, held_by(of)[i], of->tid, rt_log_memory))
			held_by(of)[left++] = held_by(of)[i];
	of->nheld = left;
	set_holds(of, left != 0);
}

void rt_robust_end_dead(struct rt_block *b)
{
	for (u32 i = RT_SESSION->nholder; i-- > 0; ) {
		struct rt_block *const of = rt_block_map(holders()[i]);

		if (of && __atomic_load_n(&of->alive.lock, __ATOMIC_ACQUIRE) & FUTEX_OWNER_DIED)
			abandon_held(b, of);
		if (of)
			rt_block_unmap(of);
	}
}

void rt_robust_list(struct rt_block *b, u64 head)
{
	struct rt_alive *const a = &b->alive;
	const word list[3] = { (word)&a->node, (word)&a->lock - (word)&a->node };

	b->robust = head;
	*a = (struct rt_alive){ .node = (word)&a->next, .lock = b->tid };
	rt_memcpy(&a->next, list, sizeof list);
	rt_sys(NR_set_robust_list, a, LIST_SIZE);
}

void rt_log_over(struct rt_block *b)
{
	b->logged = RT_LOG_OVER;
	if (b->robust)
		rt_sys(NR_set_robust_list, b->robust, LIST_SIZE);
	if (b->clear_tid)
		rt_sys(NR_set_tid_address, b->clear_tid);
}
