/* SPDX-License-Identifier: MIT */
/* check_file.c - is this a file of translations? */
#include <string.h>
#include <unistd.h>

#include "base/mix.h"
#include "base/temp.h"
#include "collect/cache/file.h"

#define PAGE 4096u
#define NSECTIONS 17

struct section {
	uint64_t at, n;			/* bytes */
};

static void sections_of(const struct cache_file *f, struct section v[NSECTIONS])
{
	const struct section all[NSECTIONS] = {
		{ f->units, (uint64_t)f->nunit * sizeof(struct saved_unit) },
		{ f->blocks, (uint64_t)f->nblock * sizeof(struct blk) },
		{ f->flows, (uint64_t)f->nblock * sizeof(struct xl_flow) },
		{ f->links, (uint64_t)f->nlink * sizeof(struct saved_link) },
		{ f->rel_pc, 4ull * f->nrel_pc },
		{ f->rel_counter, 4ull * f->nrel_counter },
		{ f->rel_link, 4ull * f->nrel_link },
		{ f->rel_place, 4ull * f->nrel_place },
		{ f->entries, (uint64_t)f->nentry * sizeof(struct shadow_entry) },
		{ f->outsides, (uint64_t)f->noutside * sizeof(struct saved_outside) },
		{ f->counters, 4ull * f->ncounter },
		{ f->counted, 4ull * f->ncounter },
		{ f->code, f->ncode },
		{ f->used, f->nused },
		{ f->map, (uint64_t)f->nmap * sizeof(struct xl_map) },
		{ f->lines, lines_of(f->text_len) * 4 },
		{ f->targets, 4ull * f->ntarget },
	};

	memcpy(v, all, sizeof all);
}

/* ---- sums ---------------------------------------------------------------------------------- */
uint64_t cache_file_sum(const struct cache_file *f, uint64_t sections)
{
	struct cache_file h = *f;

	h.sum = 0;
	return pm_mix(&h, sizeof h, sections);
}

uint64_t cache_shadow_sum(uint64_t sum, const void *page, uint64_t no)
{
	return pm_mix(page, PAGE, sum ^ no);
}

/* *@sum with section @v, piece by piece, as it is written. Of a file it is read and not looked at
 * where it is mapped: a sum needs each byte once, and mapped pages would count as ours. */
static bool mix_section(const struct cache_file *f, int fd, const struct section *v, uint64_t *sum)
{
	uint8_t piece[CACHE_PIECE];
	const uint8_t *p = piece;
	struct pm_err err = { 0 };

	for (uint64_t at = 0; at < v->n; at += CACHE_PIECE) {
		const size_t n = v->n - at < CACHE_PIECE ? (size_t)(v->n - at) : CACHE_PIECE;

		if (fd < 0)
			p = (const uint8_t *)f + v->at + at;
		else if (pm_temp_read(fd, piece, n, v->at + at, &err) != PM_OK)
			return false;
		*sum = pm_mix(p, n, *sum);
	}
	return true;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	return !p[0] && !memcmp(p, p + 1, n - 1);
}

/* *@sum with that of the shadow, which is read: it is sparse. */
static bool mix_shadow(const struct cache_file *f, int fd, uint64_t *sum)
{
	struct pm_err err = { 0 };
	uint8_t piece[16 * PAGE];
	size_t n, page;
	off_t data;

	for (uint64_t at = f->shadow; at < f->size; at += n) {
		data = lseek(fd, (off_t)at, SEEK_DATA);
		if (data < 0 || (uint64_t)data >= f->size)
			break;			/* a hole up to the end */
		at = (uint64_t)data / PAGE * PAGE;
		n = f->size - at < sizeof piece ? (size_t)(f->size - at) : sizeof piece;
		if (n % PAGE)
			memset(piece + n, 0, PAGE - n % PAGE);
		if (pm_temp_read(fd, piece, n, at, &err) != PM_OK)
			return false;
		for (page = 0; page < n; page += PAGE)
			if (!is_zero(piece + page, PAGE))
				*sum = cache_shadow_sum(*sum, piece + page,
							(at + page - f->shadow) / PAGE);
	}
	return true;
}

/* ---- contents ------------------------------------------------------------------------------ */
bool cache_file_whole(const struct cache_file *f, uint64_t size)
{
	const uint64_t end = f->shadow ? f->shadow : size;
	struct section v[NSECTIONS];
	uint64_t at = sizeof *f;

	if (f->size != size || end > size || f->shadow % PAGE || f->text_len > UINT32_MAX ||
	    (f->ncounter && f->ncounter != f->nblock))
		return false;
	for (unsigned i = 0; i < RAN_SETS; i++)
		if (f->how_often_end[i] > f->ncounter ||
		    (i && f->how_often_end[i] < f->how_often_end[i - 1]))
			return false;
	sections_of(f, v);
	for (unsigned i = 0; i < NSECTIONS; i++) {
		if (v[i].at < at || v[i].at % 8 || v[i].n > end || v[i].at > end - v[i].n)
			return false;
		at = v[i].at + v[i].n;
	}
	return true;
}

static bool good_units(const struct cache_file *f)
{
	const struct saved_unit *u = AT(f, units);
	const struct xl_flow *flow = AT(f, flows);
	uint32_t block = 0, code = 0;

	for (uint32_t i = 0; i < f->nunit; i++) {
		if (u[i].block < block || u[i].code < code || u[i].nblock > f->nblock ||
		    u[i].block > f->nblock - u[i].nblock || u[i].ncode > f->ncode ||
		    u[i].code > f->ncode - u[i].ncode)
			return false;
		block = u[i].block + u[i].nblock;	/* they ascend, and are looked for so */
		code = u[i].code + u[i].ncode;
		for (uint32_t k = u[i].block; k < u[i].block + u[i].nblock; k++)
			if ((flow[k].in != XL_OPEN && flow[k].in >= u[i].nblock) ||
			    (flow[k].out != XL_OPEN && flow[k].out >= u[i].nblock))
				return false;
	}
	return true;
}

static bool good_blocks(const struct cache_file *f)
{
	const struct blk *b = AT(f, blocks);
	const uint32_t *counter = AT(f, counters), *counted = AT(f, counted);

	for (uint32_t i = 0; i < f->nblock; i++)
		if (b[i].pc - f->lo >= f->text_len || b[i].size > f->text_len - (b[i].pc - f->lo) ||
		    b[i].module != f->module || b[i].map > f->nmap ||
		    b[i].nmap > f->nmap - b[i].map || b[i].code >= f->ncode ||
		    (b[i].indirect != XL_NONE && b[i].indirect >= f->ncode))
			return false;
	for (uint32_t i = 0; i < f->ncounter; i++)
		if (counter[i] >= f->ncounter || counted[counter[i]] != i)
			return false;
	return true;
}

/* @n offsets of fields of four bytes in the code. */
static bool good_places(const struct cache_file *f, uint64_t at, uint32_t n)
{
	const uint32_t *v = (const void *)((const uint8_t *)f + at);

	for (uint32_t i = 0; i < n; i++)
		if (v[i] + 4ull > f->ncode)
			return false;
	return true;
}

static bool good_code(const struct cache_file *f)
{
	const struct saved_link *l = AT(f, links);
	const struct shadow_entry *e = AT(f, entries);
	const struct saved_outside *o = AT(f, outsides);

	for (uint32_t i = 0; i < f->nlink; i++)
		if (l[i].site != XL_NONE &&
		    (l[i].site + 4ull > f->ncode || (l[i].stub & LINK_STUB) >= f->ncode))
			return false;
	for (uint32_t i = 0; i < f->nentry; i++)
		if (e[i].pc >= f->text_len || e[i].code >= f->ncode || (i && e[i].pc < e[i - 1].pc))
			return false;
	for (uint32_t i = 0; i < f->noutside; i++)
		if (o[i].block >= f->nblock || o[i].code >= f->ncode)
			return false;
	return good_places(f, f->rel_pc, f->nrel_pc) &&
	       good_places(f, f->rel_counter, f->nrel_counter) &&
	       good_places(f, f->rel_link, f->nrel_link) &&
	       good_places(f, f->rel_place, f->nrel_place);
}

static bool good_lines(const struct cache_file *f)
{
	const uint32_t *line = AT(f, lines);
	const uint64_t n = lines_of(f->text_len);

	for (uint64_t i = 0; i < n; i++)
		if (line[i] > f->ntarget || (i && line[i] < line[i - 1]))
			return false;
	return true;
}

bool cache_file_consistent(const struct cache_file *f)
{
	return good_units(f) && good_blocks(f) && good_code(f) && good_lines(f);
}

bool cache_file_sections_sum(const struct cache_file *f, int fd, uint64_t *sum)
{
	struct section v[NSECTIONS];

	*sum = CACHE_SUM_SEED;
	sections_of(f, v);
	for (unsigned i = 0; i < NSECTIONS; i++)
		if (!mix_section(f, fd, &v[i], sum))
			return false;
	return !f->shadow || mix_shadow(f, fd, sum);
}

bool cache_file_good(const struct cache_file *f, int fd)
{
	uint64_t sum;

	return cache_file_sections_sum(f, fd, &sum) && cache_file_sum(f, sum) == f->sum &&
	       cache_file_consistent(f);
}
