/* SPDX-License-Identifier: MIT */
/* spaces.c - code spaces, and their regions of the code file */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/temp.h"
#include "collect/space/space_internal.h"

enum pm_status spaces_open(struct spaces *s, struct pm_err *err)
{
	s->code_fd = memfd_create("pugmark-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->code_fd < 0)
		return pm_fail_errno(err, "cannot create shared memory");
	if (ftruncate(s->code_fd, (off_t)RT_CODE_SIZE))
		return pm_fail_errno(err, "cannot size shared memory");
	s->code = pm_map_shared(s->code_fd, RT_CODE_SIZE);
	if (!s->code)
		return pm_fail_errno(err, "cannot map shared memory");
	/* From here on nobody can write to it but by the mapping above, whatever descriptor of it
	 * they get. The price: no holes can be punched, so the memory of a region goes to its next
	 * space. Before Linux 5.1 there is no such seal, and processes have it mapped from a
	 * read-only descriptor only. */
	if (!pm_temp_seal(s->code_fd, F_SEAL_FUTURE_WRITE) && !pm_temp_seal(s->code_fd, 0))
		return pm_fail_errno(err, "cannot seal shared memory");
	return PM_OK;
}

void spaces_close(struct spaces *s)
{
	if (s->code)
		munmap(s->code, RT_CODE_SIZE);
	if (s->code_fd >= 0)
		close(s->code_fd);
	maps_release(&s->maps);
	xl_unit_release(&s->unit);
	for (size_t i = 0; i < s->ntext; i++)
		free(s->text[i].copied);
	free(s->text);
	pm_buf_release(&s->free_regions);
	pm_buf_release(&s->point);
	pm_arena_release(&s->mem);
}

/* The next piece of the code file's [*@at, @stop) that has memory, from *@at on; its end, 0: there
 * is none. */
static uint64_t next_data(const struct spaces *s, uint64_t *at, uint64_t stop)
{
	const off_t from = lseek(s->code_fd, (off_t)*at, SEEK_DATA);
	off_t end;

	if (from < 0 || (uint64_t)from >= stop)
		return 0;
	end = lseek(s->code_fd, from, SEEK_HOLE);
	*at = (uint64_t)from;
	return end < 0 || (uint64_t)end > stop ? stop : (uint64_t)end;
}

/* What there is of the code file's [@at, @stop) becomes zero. */
void clear_data(const struct spaces *s, uint64_t at, uint64_t stop)
{
	for (uint64_t end; at < stop && (end = next_data(s, &at, stop)); at = end)
		memset(s->code + at, 0, end - at);
}

/* Only what was ever touched of the code file is worth copying. */
void copy_data(struct spaces *s, uint64_t from, uint64_t to, uint64_t len)
{
	for (uint64_t at = from, stop = from + len, end;
	     at < stop && (end = next_data(s, &at, stop)); at = end)
		space_write(s, to + (at - from), s->code + at, end - at);
}

void make_large_pages(const struct spaces *s, uint64_t at, uint64_t n)
{
	const uint64_t end = (at + n) & ~(LARGE_PAGE - 1);

	for (uint64_t i = up(at, LARGE_PAGE); i < end; i += LARGE_PAGE) {
		uint8_t *first = s->code + i;

		/* it must not be a hole */
		__atomic_fetch_or(first, 0, __ATOMIC_RELAXED);
		if (madvise(first, LARGE_PAGE, MADV_COLLAPSE))
			return;
	}
}

void space_write(const struct spaces *s, uint64_t at, const void *p, size_t n)
{
	const uint64_t from = at & ~(PAGE - 1);

	make_large_pages(s, at, n);
	/* one call costs less than a fault for each page */
	if (at + n - from > PAGE)
		madvise(s->code + from, at + n - from, MADV_POPULATE_WRITE);
	memcpy(s->code + at, p, n);
}

struct space *space_new(struct spaces *s, bool i386)
{
	struct space *sp = pm_alloc(sizeof *sp);

	sp->refs = 1;
	if (s->free_regions.n) {
		s->free_regions.n -= sizeof sp->base;
		memcpy(&sp->base, s->free_regions.p + s->free_regions.n, sizeof sp->base);
		clear_data(s, sp->base, sp->base + SPACE_SIZE);
	} else if (s->code_next + SPACE_SIZE <= RT_CODE_SIZE) {
		sp->base = s->code_next;
		s->code_next += SPACE_SIZE;
	} else {
		free(sp);
		return NULL;
	}
	sp->i386 = i386;
	sp->abi_flags = !i386 && !s->strict_flags;
	if (i386) {
		uint32_t *dir = (uint32_t *)(s->code + sp->base);

		for (uint64_t k = 0; k < RT32_DIR_SIZE / 4; k++)
			dir[k] = no_table(k << 16);
		sp->next = sp->base + RT32_DIR_SIZE + LINKS32_SIZE;
		s->ni386++;
	} else {
		sp->next = sp->base + 2 * RT_LINKS_SIZE;
	}
	sp->next_space = s->all;
	s->all = sp;
	return sp;
}

#define FIRST_BLOCKS (1u << 20)		/* reserved: 36 MiB */

/* @size bytes, the first @n of them those of @old, which had @old_size and is unmapped. */
static void *larger(void *old, size_t n, size_t old_size, size_t size)
{
	void *v = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (v == MAP_FAILED)
		pm_out_of_memory(size);
	if (n)
		memcpy(v, old, n);
	if (old_size)
		munmap(old, old_size);
	return v;
}

void space_blocks(struct space *sp, size_t n)
{
	size_t cap = sp->cap_block ? sp->cap_block : FIRST_BLOCKS;

	if (n <= sp->cap_block)
		return;
	while (cap < n)
		cap *= 2;
	sp->block = larger(sp->block, sp->nblock * sizeof *sp->block,
			   sp->cap_block * sizeof *sp->block, cap * sizeof *sp->block);
	sp->flow = larger(sp->flow, sp->nblock * sizeof *sp->flow, sp->cap_block * sizeof *sp->flow,
			  cap * sizeof *sp->flow);
	sp->cap_block = cap;
}

#define UNMAPPED_FIRST (32u << 20)	/* bytes that are left to the end */

void spaces_unmap(struct spaces *s, const void *p, size_t n, size_t used)
{
	s->unmapped += used;
	if (s->unmapped > UNMAPPED_FIRST && s->hooks->running(s))
		munmap((void *)(uintptr_t)p, n);
}

static void module_release(struct spaces *s, struct module *m)
{
	if (!--*m->users) {
		if (m->text.bytes && !m->text.shared &&
		    !s->records) /* blocks of the trace are read in there */
			spaces_unmap(s, m->text.bytes, m->text.hi - m->text.lo,
				     m->text.hi - m->text.lo);
		if (m->stored.file)
			spaces_unmap(s, m->stored.file, m->stored.size, m->stored.size);
		free(m->users);
	}
	if (m->stored.fd >= 0) {
		close(m->stored.fd);
		s->nopen_file--;
	}
	pm_map_release(&m->generated.blocks);
	pm_map_release(&m->generated.confirmed);
	pm_map_release(&m->generated.write_traps);
	pm_buf_release(&m->code.rel_pc);
	pm_buf_release(&m->code.rel_counter);
	pm_buf_release(&m->code.rel_link);
	pm_buf_release(&m->code.rel_place);
	pm_buf_release(&m->stored.new_indirect);
	free(m->shadow.entry_from);
	free(m->unit);
	free(m->code.map);
	free(m->stored.needed);
	free(m->shadow.filled);
	free(m->stored.saved_needed);
}

void space_unref(struct spaces *s, struct space *sp)
{
	struct space **at = &s->all;

	if (--sp->refs)
		return;
	if (PM_CHECKED)
		assert(!space_check(s, sp));		/* its number is what that says */
	store_save(s, sp, false);
	while (*at != sp)
		at = &(*at)->next_space;
	*at = sp->next_space;
	s->ni386 -= sp->i386;
	/* nobody executes here any more */
	pm_buf_add(&s->free_regions, &sp->base, sizeof sp->base);
	for (size_t i = 0; i < sp->nmodule; i++)
		module_release(s, &sp->module[i]);
	pm_map_release(&sp->bytes);
	pm_map_release(&sp->pending);
	pm_map_release(&sp->outside_entry);
	pm_map_release(&sp->dead_ends);
	free(sp->module);
	if (sp->cap_block) {
		spaces_unmap(s, sp->block, sp->cap_block * sizeof *sp->block,
			     sp->nblock * sizeof *sp->block);
		spaces_unmap(s, sp->flow, sp->cap_block * sizeof *sp->flow,
			     sp->nblock * sizeof *sp->flow);
	}
	free(sp->unit);
	free(sp->link);
	free(sp->ref);
	free(sp->range);
	free(sp->hash);
	free(sp->in_hash);
	for (unsigned k = 0; k < RAN_SETS; k++)
		free(sp->ran_set[k]);
	free(sp);
}
