/* SPDX-License-Identifier: MIT */
/* mem.h - memory: checked allocation, growing arrays, one arena per pass, a map from u64 to u64
 *
 * Errors     When memory is out for what the project itself needs, the program's own function is
 *            told (pm_tell_no_memory()), and the process ends: no caller could do better.
 *            A size that comes from *input* is checked against the input's real length before
 *            it gets here (an absurd length allocates nothing).
 * Threads    none of these is shared between threads. */
#ifndef PM_BASE_MEM_H
#define PM_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* Tells the program and ends it: there is no state to go on from. */
__attribute__((noreturn)) void pm_out_of_memory(size_t n);

void *pm_alloc(size_t n);			/* zeroed; never NULL */
void *pm_alloc_unset(size_t n);	/* ... or not zeroed: what is never written takes no memory */
void *pm_realloc(void *p, size_t n);		/* never NULL; n > 0 */
void *pm_alloc_lines(size_t n);	/* not zeroed, at a multiple of 64 bytes; free() it */
char *pm_strdup(const char *s);
char *pm_strndup(const char *s, size_t n);	/* the first @n characters, or all */

/* @f says that @n bytes are not to be had, 0: some that libdw wanted; it need not come back. */
void pm_tell_no_memory(void (*f)(size_t n));

/* @p lives until the process ends: not a leak. */
void pm_keep(const void *p);

/* Before anything is allocated: a heap that grows in large steps, stays, and lies in huge pages
 * where there are some. A page fault takes as long as filling some pages, in a virtual machine
 * many. */
void pm_open_heap(void);
/* About @n bytes will be wanted, in large blocks and by several threads: of that heap, all of
 * them. */
void pm_heap_ahead(size_t n);
/* All @n bytes of the file @fd, shared; they begin in memory where a huge page does. NULL: errno
 * says why. The caller munmap()s it. */
void *pm_map_shared(int fd, size_t n);
/* Address space for @n bytes, zeroed: a table that may grow so far and never moves. What is not
 * touched takes no memory. NULL: errno says why. */
void *pm_reserve(size_t n);
void pm_unreserve(void *p, size_t n);	/* NULL is fine */

/* ---- a growing array: `struct x *v; size_t n, cap;` ------------------------------------- */
/* Room for one more element behind @n; may move the array. */
#define pm_grow(v, n, cap) ((void)((n) < (cap) || ((v) = pm_grow_raw((v), &(cap), sizeof *(v)))))
void *pm_grow_raw(void *v, size_t *cap, size_t elem);
/* @v, which has *@cap elements of @elem bytes, with room for @n at least; what is new is 0. */
void *pm_grow_zeroed(void *v, size_t *cap, size_t n, size_t elem);

/* ---- bytes that grow ---------------------------------------------------------------------- */
struct pm_buf {
	uint8_t *p;
	size_t n, cap;				/* n <= cap */
};
uint8_t *pm_buf_more(struct pm_buf *b, size_t n);
/* For @n more bytes, behind the last; n is the caller's to raise. */
static inline uint8_t *pm_buf_room(struct pm_buf *b, size_t n)
{
	return b->cap - b->n < n ? pm_buf_more(b, n) : b->p + b->n;
}
static inline void pm_buf_add(struct pm_buf *b, const void *p, size_t n)
{
	uint8_t *to = pm_buf_room(b, n);

	if (n)
		memcpy(to, p, n);
	b->n += n;
}
void pm_buf_release(struct pm_buf *b);
__attribute__((format(printf, 2, 3)))
void pm_buf_printf(struct pm_buf *b, const char *fmt, ...);

/* ---- an arena: everything in it is freed at once ------------------------------------------ */
struct pm_arena {
	struct pm_arena_page *page;
};
void *pm_arena_alloc(struct pm_arena *a, size_t n);		/* zeroed, 16-byte aligned */
char *pm_arena_strdup(struct pm_arena *a, const char *s);
void pm_arena_release(struct pm_arena *a);

/* ---- u64 -> u64, open addressing ----------------------------------------------------------- */
struct pm_map {
	struct pm_map_slot { uint64_t key, val; } *slot;
	uint8_t *used;
	size_t n, mask;				/* mask + 1 slots; n <= 70 % of them */
};
/* The value's place, valid until the next pm_map_put(); NULL if @key is not there. */
uint64_t *pm_map_get(const struct pm_map *m, uint64_t key);
/* The value's place; a new key's value is 0 and *@fresh (may be NULL) is set. */
uint64_t *pm_map_put(struct pm_map *m, uint64_t key, bool *fresh);
bool pm_map_del(struct pm_map *m, uint64_t key);
/* for (size_t i = 0; pm_map_next(m, &i, &key, &val); ) in no particular order */
bool pm_map_next(const struct pm_map *m, size_t *i, uint64_t *key, uint64_t *val);
void pm_map_release(struct pm_map *m);

#endif
