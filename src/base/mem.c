/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sanitizer.h"

#if PM_ADDRESS_SANITIZER
/* Traces come through buffers of megabytes. With the sanitizer's own settings each gets new pages
 * for itself and its shadow: tests took five times as long. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=8:clear_shadow_mmap_threshold=67108864";
}
#endif

static void (*told)(size_t n);

void pm_tell_no_memory(void (*f)(size_t n))
{
	told = f;
}

void pm_out_of_memory(size_t n)
{
	if (told)
		told(n);
	__builtin_trap();
}

static void *check(void *p, size_t n)
{
	if (!p)
		pm_out_of_memory(n);
	return p;
}

/* Where leak checkers look; more than these would be one. */
static const void *volatile kept[64];

void pm_keep(const void *p)
{
	static unsigned n;
	const unsigned i = __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);

	if (i < sizeof kept / sizeof *kept)
		kept[i] = p;
}

void *pm_alloc(size_t n)
{
	return check(calloc(1, n ? n : 1), n);
}

void *pm_alloc_unset(size_t n)
{
	return check(malloc(n ? n : 1), n);
}

void *pm_alloc_lines(size_t n)
{
	return check(aligned_alloc(64, (n + 63) & ~(size_t)63), n);
}

void *pm_realloc(void *p, size_t n)
{
	return check(realloc(p, n), n);
}

char *pm_strndup(const char *s, size_t n)
{
	return check(strndup(s, n), n);
}

char *pm_strdup(const char *s)
{
	return check(strdup(s), strlen(s));
}

#define HEAP_STEP (128u << 20)		/* of addresses */
#define HUGE_PAGE (2u << 20)
#define SMALL_PAGE 4096u
/* Of huge pages the last is half empty: a short run would set 2 MiB for the 300 KiB that it uses.
 * Behind this that does not matter. */
#define SMALL_PAGES (10u << 20)

void pm_open_heap(void)
{
	uint8_t *begin = sbrk(0);
	/* the first huge one is yet untouched then */
	size_t odd = HUGE_PAGE - SMALL_PAGE + -(uintptr_t)begin % HUGE_PAGE;
	void *volatile first;

	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 2 * HEAP_STEP);
	/* where addresses are limited, in usual steps */
	if (sbrk((intptr_t)(odd + HEAP_STEP)) != begin || sbrk(-(intptr_t)HEAP_STEP) == (void *)-1)
		return;
	mallopt(M_TOP_PAD, HEAP_STEP);
	first = malloc(1);
	free(first);
	madvise(begin + odd + SMALL_PAGE + SMALL_PAGES, HEAP_STEP - SMALL_PAGES, MADV_HUGEPAGE);
}

void pm_heap_ahead(size_t n)
{
	uint8_t *volatile all;

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, INT_MAX);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	all = malloc(n);
	if (all)
		madvise(all + -(uintptr_t)all % HUGE_PAGE, n, MADV_HUGEPAGE);
	free(all);
}

void *pm_map_shared(int fd, size_t n)
{
	uint8_t *room = mmap(NULL, n + HUGE_PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const size_t odd = -(uintptr_t)room % HUGE_PAGE;
	void *p;

	if (room == MAP_FAILED)
		return NULL;
	p = mmap(room + odd, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
		 fd, 0);
	if (p == MAP_FAILED) {
		munmap(room, n + HUGE_PAGE);
		return NULL;
	}
	if (odd)
		munmap(room, odd);
	munmap(room + odd + n, HUGE_PAGE - odd);
	return p;
}

void *pm_reserve(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void pm_unreserve(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

void *pm_grow_raw(void *v, size_t *cap, size_t elem)
{
	*cap = *cap ? *cap * 2 : 16;
	return pm_realloc(v, *cap * elem);
}

void *pm_grow_zeroed(void *v, size_t *cap, size_t n, size_t elem)
{
	const size_t was = *cap;

	if (n <= was)
		return v;
	*cap = was ? was : 4096;
	while (*cap < n)
		*cap *= 2;
	v = pm_realloc(v, *cap * elem);
	memset((uint8_t *)v + was * elem, 0, (*cap - was) * elem);
	return v;
}

uint8_t *pm_buf_more(struct pm_buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap * 2 : 256;

	while (cap - b->n < n)
		cap *= 2;
	b->p = pm_realloc(b->p, cap);
	b->cap = cap;
	return b->p + b->n;
}

void pm_buf_release(struct pm_buf *b)
{
	free(b->p);
	*b = (struct pm_buf){ 0 };
}

void pm_buf_printf(struct pm_buf *b, const char *fmt, ...)
{
	char small[256];
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(small, sizeof small, fmt, ap);
	if (n > 0 && (size_t)n < sizeof small) {
		pm_buf_add(b, small, n);
	} else if (n > 0) {
		char *big = pm_alloc((size_t)n + 1);

		vsnprintf(big, (size_t)n + 1, fmt, again);
		pm_buf_add(b, big, n);
		free(big);
	}
	va_end(again);
	va_end(ap);
}

struct pm_arena_page {
	struct pm_arena_page *next;
	size_t n, cap;
	_Alignas(16) char mem[];
};

void *pm_arena_alloc(struct pm_arena *a, size_t n)
{
	struct pm_arena_page *p = a->page;
	void *at;

	n = (n + 15) & ~(size_t)15;
	if (!p || p->cap - p->n < n) {
		/* small ones first: most arenas hold little, and what is cleared is faulted in */
		size_t cap = p ? p->cap * 2 : 2048;

		cap = cap > 65536 ? 65536 : cap;
		cap = cap < n ? n : cap;
		p = pm_alloc(sizeof *p + cap);
		p->cap = cap;
		p->next = a->page;
		a->page = p;
	}
	at = p->mem + p->n;
	p->n += n;
	return at;
}

char *pm_arena_strdup(struct pm_arena *a, const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(pm_arena_alloc(a, n), s, n);
}

void pm_arena_release(struct pm_arena *a)
{
	while (a->page) {
		struct pm_arena_page *next = a->page->next;

		free(a->page);
		a->page = next;
	}
}

/* Fibonacci hashing: multiplication by 2^64 / phi spreads addresses that differ in few bits. */
static size_t hash(uint64_t key)
{
	key ^= key >> 32;
	return (size_t)((key * 0x9e3779b97f4a7c15u) >> 20);
}

uint64_t *pm_map_get(const struct pm_map *m, uint64_t key)
{
	if (!m->slot)
		return NULL;
	for (size_t i = hash(key) & m->mask; m->used[i]; i = (i + 1) & m->mask)
		if (m->slot[i].key == key)
			return &m->slot[i].val;
	return NULL;
}

static void rehash(struct pm_map *m)
{
	struct pm_map old = *m;
	size_t size = old.slot ? (old.mask + 1) * 2 : 64;

	m->slot = pm_alloc(size * sizeof *m->slot);
	m->used = pm_alloc(size);
	m->mask = size - 1;
	for (size_t j = 0; old.slot && j <= old.mask; j++) {
		size_t i;

		if (!old.used[j])
			continue;
		for (i = hash(old.slot[j].key) & m->mask; m->used[i]; i = (i + 1) & m->mask)
			;
		m->used[i] = 1;
		m->slot[i] = old.slot[j];
	}
	free(old.slot);
	free(old.used);
}

uint64_t *pm_map_put(struct pm_map *m, uint64_t key, bool *fresh)
{
	size_t i;

	if (!m->slot || m->n * 10 >= (m->mask + 1) * 7)
		rehash(m);
	for (i = hash(key) & m->mask; m->used[i]; i = (i + 1) & m->mask)
		if (m->slot[i].key == key) {
			if (fresh)
				*fresh = false;
			return &m->slot[i].val;
		}
	m->used[i] = 1;
	m->slot[i] = (struct pm_map_slot){ key, 0 };
	m->n++;
	if (fresh)
		*fresh = true;
	return &m->slot[i].val;
}

/* Backward-shift deletion: no tombstones, so lookups never slow down. */
bool pm_map_del(struct pm_map *m, uint64_t key)
{
	uint64_t *val = pm_map_get(m, key);
	size_t i, j;

	if (!val)
		return false;
	i = (size_t)((struct pm_map_slot *)((char *)val - offsetof(struct pm_map_slot, val)) -
		     m->slot);
	for (j = (i + 1) & m->mask; m->used[j]; j = (j + 1) & m->mask) {
		size_t home = hash(m->slot[j].key) & m->mask;

		if (((j - home) & m->mask) >= ((j - i) & m->mask)) {
			m->slot[i] = m->slot[j];
			i = j;
		}
	}
	m->used[i] = 0;
	m->n--;
	return true;
}

bool pm_map_next(const struct pm_map *m, size_t *i, uint64_t *key, uint64_t *val)
{
	for (; m->slot && *i <= m->mask; ++*i)
		if (m->used[*i]) {
			*key = m->slot[*i].key;
			*val = m->slot[*i].val;
			++*i;
			return true;
		}
	return false;
}

void pm_map_release(struct pm_map *m)
{
	free(m->slot);
	free(m->used);
	*m = (struct pm_map){ 0 };
}
