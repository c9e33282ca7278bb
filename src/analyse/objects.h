/* SPDX-License-Identifier: MIT */
/* objects.h - which data the misses are on: variables, heap blocks by where they were allocated,
 * stack
 *
 * A reference belongs to, in this order: the allocator (what malloc and its relatives touch while
 * they run); the stack; the variable whose symbol covers it; the file whose mapping covers it
 * ("libc.so.6 (data)"); the heap block in front of it, named by the place that allocated it; "?".
 *
 * ALLOCATIONS. Traces hold no register values. (1) What malloc returned is followed from its return
 * to the first address that is made of it (follow.h): that is exact, whatever the allocator. (2)
 * Before that, and where following comes to nothing, it is guessed by what malloc touched last,
 * which in glibc and musl is tied to the block by the layout of their heaps: a check of the chunk's
 * size word, 8 bytes below the block; from the thread's cache, the block's first word is read and
 * its second one cleared; calloc reads the size word, then begins to clear behind it; realloc, if
 * it moves the block, copies: its last write of 16 bytes or more right behind a size word that it
 * has touched, but for the one that it read from; otherwise the block stays whose it was. musl
 * writes two bytes and one right in front of each block, and when it is freed. Nothing is guessed
 * of an allocator in another library than the C library, nor in a program where (1) refutes
 * guesses. (3) What the program itself maps (mmap, anonymous) is a block by the call of mmap, in
 * traces with system calls. `resolved` says of how many calls it is known what they returned. A
 * block ends where the next known one begins; freeing changes nothing until somebody else gets the
 * place. The site is the caller of the outermost allocating function: malloc, calloc, realloc,
 * reallocarray, aligned_alloc, memalign, posix_memalign (whose result can only be guessed), valloc,
 * operator new; what free and operator delete touch is the allocator's, too. A function that ends
 * in a jump to one of them (std::string's) is called by the site.
 *
 * PREFETCHES. A line that a prefetcher brings is asked for by the object whose access made it do
 * so. prefetched: lines that the object asked for; useful: of these, those that were used before
 * they left, by whatever object; used: prefetched lines that accesses to the object used first;
 * late: of these, those that came late (cache_prefetch.h). Accuracy is useful / prefetched,
 * coverage used / (used + misses), timeliness (used - late) / used.
 *
 * The stack is within 8 MiB of where the thread's last call pushed its return address.
 *
 * Configuration: levels of data caches as in cache_sim.h (l1d=32k,8way,64;l2=8m,16way,64); top=N
 * (20); wrap=NAME,...: functions of the program that allocate for their callers, who are the sites
 * then. */
#ifndef PM_ANALYSE_OBJECTS_H
#define PM_ANALYSE_OBJECTS_H

#include "pugmark/pugmark.h"

extern const struct pm_sink_ops pm_sim_objects;

/* The same without caches, for who wants to know what is at an address: batches in, names out. */
struct pm_objects;
struct pm_objects *pm_objects_new(void);
void pm_objects_batch(struct pm_objects *o, const struct pm_batch *b);
/* What is at @addr now, as stream @stream sees it: "counter+8", "heap block of main+0x12 (x.c:7),
 * offset 24", "stack"; into @buf. NULL: not known. */
const char *pm_objects_at(struct pm_objects *o, uint32_t stream, uint64_t addr, char *buf,
			  size_t size);
void pm_objects_free(struct pm_objects *o);	/* NULL is fine */

/* What the names of the sink @self are learned from besides: see pm_names_add(). */
struct pm_names;
struct pm_names *pm_objects_names(void *self);

#endif
