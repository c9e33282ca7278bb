/* SPDX-License-Identifier: MIT */
/* mapping.c - code that is mapped from a file of the store, until somebody has to write to it */
#include <string.h>
#include <sys/mman.h>

#include "collect/space/space_internal.h"

#define MOST_READY (128u << 10)		/* bytes of code */
#define LARGE_CODE (4u << 20)		/* there will be more: large pages */
#define UNITS_READ 8u
#define LATE_PAGES 16u

/* @m has got another unit. What it was made from is rarely read again, and a page fault maps 16
 * pages of a file: without this the whole text of a large program ends up mapped here. */
void unmap_what_was_read(const struct module *m)
{
	if (m->nunit % UNITS_READ)
		return;
	if (m->text.bytes)
		madvise((void *)(uintptr_t)m->text.bytes, m->text.len, MADV_DONTNEED);
	if (m->stored.file)
		madvise((void *)(uintptr_t)m->stored.file, m->stored.size, MADV_DONTNEED);
}

/* Who comes to what has no entry yet has jumped to the program's text, of which the kernel maps
 * sixteen pages before it says that they are not executable. All of it goes back now and then. What
 * somebody has written to would be lost. */
void give_text_back(struct spaces *s, struct module *m, struct rt_mail *mail)
{
	if (++m->shadow.nlate % LATE_PAGES || m->generated.may_change || !m->text.bytes ||
	    !s->hooks->unwritten(s, m->text.lo, m->text.hi))
		return;
	mail_cmd(mail, CMD_ADVISE, m->text.lo, m->text.hi - m->text.lo, MADV_DONTNEED, 0);
}

/* @m's code will grow to @len: pages by the dozen, for each fault costs more than filling one. */
void make_ready(struct spaces *s, struct module *m, uint64_t len)
{
	uint64_t more = m->code.len / 4, from = up(m->code.len, PAGE), to;

	if (len <= m->code.ready)
		return;
	if (from < m->code.ready)
		from = m->code.ready;
	more = more < MOST_READY ? more : MOST_READY;
	to = up(len + more, PAGE);
	if (len >= LARGE_CODE && to + LARGE_PAGE <= m->code.cap) {
		to = up(m->code.off + to, LARGE_PAGE) - m->code.off;
		make_large_pages(s, m->code.off + from, to - from);
	}
	m->code.ready = to < m->code.cap ? to : m->code.cap;
	if (to > from + PAGE && to <= m->code.cap)
		madvise(code_ptr(s, m, (uint32_t)from), to - from, MADV_POPULATE_WRITE);
}

void copy_code_from_file(struct spaces *s, struct module *m, uint32_t lo, uint32_t hi)
{
	space_write(s, m->code.off + lo, m->stored.code + lo, hi - lo);
}

void make_code_own(struct spaces *s, struct space *sp, struct module *m)
{
	if (!m->stored.code_from_file)
		return;
	/* not what is behind: that has been there since it was loaded, and links in it are resolved
	 */
	copy_code_from_file(s, m, 0, m->stored.code_from_file);
	m->stored.code_from_file = 0;
	sp->nmade_own++;
	s->nmade_own++;
}

void code_copy(const struct spaces *s, const struct module *m, uint8_t *to)
{
	if (m->stored.code_from_file)
		memcpy(to, m->stored.code, m->stored.code_from_file);
	memcpy(to + m->stored.code_from_file, s->code + m->code.off + m->stored.code_from_file,
	       m->code.len - m->stored.code_from_file);
}
