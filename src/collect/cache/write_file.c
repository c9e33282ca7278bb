/* SPDX-License-Identifier: MIT */
/* write_file.c - a file that is being written, piece by piece */
#include <string.h>
#include <unistd.h>

#include "base/mix.h"
#include "base/temp.h"
#include "collect/cache/write_file.h"

#define SHADOW_PAGES 1024u		/* no larger shadow is kept in a file */

void out_bytes(struct out *o, const void *p, size_t n, uint64_t at)
{
	struct pm_err err = { 0 };		/* cache_complain() says it */

	if (o->fd < 0 || pm_temp_write(o->fd, p, n, at, &err) == PM_OK)
		return;
	close(o->fd);
	o->fd = -1;
}

void out_piece(struct out *o, const void *p, size_t n)
{
	o->sum = pm_mix(p, n, o->sum);
	out_bytes(o, p, n, o->at);
	o->at += n;
}

/* How much of @n fits into the piece, and that so much has been put there. */
size_t out_room(const struct out *o, uint64_t n)
{
	return n < CACHE_PIECE - o->n ? (size_t)n : CACHE_PIECE - o->n;
}

void out_filled(struct out *o, size_t n)
{
	o->n += n;
	if (o->n < CACHE_PIECE)
		return;
	out_piece(o, o->piece, o->n);
	o->n = 0;
}

void out_write(struct out *o, const void *p, size_t n)
{
	for (size_t k; n; p = (const uint8_t *)p + k, n -= k) {
		k = out_room(o, n);
		if (k == CACHE_PIECE) {
			out_piece(o, p, k);
		} else {
			memcpy(o->piece + o->n, p, k);
			out_filled(o, k);
		}
	}
}

/* What is put from here on is a section. Returns its place; @align is a power of two. */
uint64_t out_begin(struct out *o, size_t align)
{
	if (o->n)
		out_piece(o, o->piece, o->n);
	o->n = 0;
	return o->at = (o->at + align - 1) & ~(uint64_t)(align - 1);
}

uint64_t out_section(struct out *o, const struct pm_buf *b)
{
	const uint64_t at = out_begin(o, 8);

	out_write(o, b->p, b->n);
	return at;
}

/* All entries, as they are in memory. */
void out_shadow(struct out *o, const struct module *m, const struct shadow_entry *e,
		struct cache_file *f)
{
	static int32_t page[SHADOW_TEXT];
	uint32_t pages = 0;

	for (uint32_t i = 0; i < f->nentry; i++)
		pages += !i || e[i].pc / SHADOW_TEXT != e[i - 1].pc / SHADOW_TEXT;
	f->shadow = 0;
	f->size = out_begin(o, 1);
	if (f->i386 || !pages || pages > SHADOW_PAGES)
		return;
	f->shadow = out_begin(o, 4096);
	f->size = f->shadow + shadow_size(m);
	if (o->fd >= 0 && ftruncate(o->fd, (off_t)f->size))
		f->shadow = 0;		/* then it is not as long as it says, and not used */
	for (uint32_t i = 0, k; i < f->nentry; ) {
		const uint32_t no = e[i].pc / SHADOW_TEXT;

		memset(page, 0, sizeof page);
		for (k = i; k < f->nentry && e[k].pc / SHADOW_TEXT == no; k++)
			page[e[k].pc % SHADOW_TEXT] = (int32_t)(f->distance + e[k].code - e[k].pc);
		out_bytes(o, page, sizeof page, f->shadow + (uint64_t)no * sizeof page);
		o->sum = cache_shadow_sum(o->sum, page, no);
		i = k;
	}
}
