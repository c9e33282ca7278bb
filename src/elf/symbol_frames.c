/* SPDX-License-Identifier: MIT */
/* symbol_frames.c - functions by .eh_frame */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"
#include "base/cur.h"
#include "elf/elf_file.h"

void elf_sort_by_address(void *v, size_t n, size_t size)
{
	uint8_t *from = v, *to, *temp;
	uint64_t bits = 0, last = 0;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		uint64_t a;

		memcpy(&a, from + i * size, sizeof a);
		sorted &= a >= last;
		last = a;
		bits |= a;
	}
	if (sorted)
		return;
	to = temp = pm_realloc(NULL, n * size);
	for (unsigned shift = 0; shift < 64 && bits >> shift; shift += 11) {
		size_t at[2048] = { 0 }, sum = 0;
		uint8_t *swap;

		for (size_t i = 0; i < n; i++) {
			uint64_t a;

			memcpy(&a, from + i * size, sizeof a);
			at[a >> shift & 2047]++;
		}
		for (unsigned d = 0; d < NR(at); d++) {
			size_t c = at[d];

			at[d] = sum;
			sum += c;
		}
		for (size_t i = 0; i < n; i++) {
			uint64_t a;
			uint8_t *dest;

			memcpy(&a, from + i * size, sizeof a);
			dest = to + at[a >> shift & 2047]++ * size;
			if (size == 16)
				memcpy(dest, from + i * 16, 16);
			else
				memcpy(dest, from + i * 32, 32);
		}
		swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * size);
	free(temp);
}

static uint64_t encoded(struct pm_cur *c, unsigned enc, bool is64, uint64_t section)
{
	uint64_t at = section + pm_cur_at(c), v;

	switch (enc & 0x0f) {
	case DW_EH_PE_absptr:
		v = is64 ? pm_cur_u64(c, "address") : pm_cur_u32(c, "address");
		break;
	case DW_EH_PE_udata2: v = pm_cur_u16(c, "address"); break;
	case DW_EH_PE_udata4: v = pm_cur_u32(c, "address"); break;
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: v = pm_cur_u64(c, "address"); break;
	case DW_EH_PE_sdata2: v = (uint64_t)(int16_t)pm_cur_u16(c, "address"); break;
	case DW_EH_PE_sdata4: v = (uint64_t)(int32_t)pm_cur_u32(c, "address"); break;
	default:
		pm_fail(c->err, pm_cur_at(c), "expected an address encoding, found 0x%02x", enc);
		return 0;
	}
	if ((enc & 0x70) == DW_EH_PE_pcrel)
		v += at;
	else if ((enc & 0x70) != DW_EH_PE_absptr)
		pm_fail(c->err, pm_cur_at(c), "expected an absolute or relative address");
	return is64 ? v : (uint32_t)v;
}

/* The FDEs' address encoding from the CIE that @c stands in; -1 if it cannot be told. */
static int cie_encoding(struct pm_cur c, bool is64)
{
	unsigned version = pm_cur_u8(&c, "version"), enc = DW_EH_PE_absptr;
	const char *aug = (const char *)c.p;

	while (pm_cur_u8(&c, "augmentation"))
		;
	if (pm_failed(c.err))
		return -1;
	if (!strcmp(aug, "eh") || (aug[0] && aug[0] != 'z'))
		return -1;
	pm_cur_varint(&c, "code alignment");
	pm_cur_varint(&c, "data alignment");
	if (version == 1)
		pm_cur_u8(&c, "return address");
	else
		pm_cur_varint(&c, "return address");
	if (!aug[0])
		return DW_EH_PE_absptr;
	pm_cur_varint(&c, "augmentation length");
	for (const char *a = aug + 1; *a; a++) {
		switch (*a) {
		case 'R':
			enc = pm_cur_u8(&c, "encoding");
			break;
		case 'L':
			pm_cur_u8(&c, "encoding");
			break;
		case 'P': {
			unsigned p = pm_cur_u8(&c, "encoding");

			encoded(&c, p & 0x0f, is64, 0);
			break;
		}
		case 'S': case 'B': case 'G':
			break;
		default:
			return -1;
		}
	}
	return pm_failed(c.err) ? -1 : (int)enc;
}

static void scan_frames(struct pm_elf *e, const uint8_t *p, size_t n, uint64_t section)
{
	bool is64 = gelf_getclass(e->elf) == ELFCLASS64;
	struct pm_err err = { 0 };
	struct pm_cur c = pm_cur_init(p, n, 0, &err);
	uint64_t last_cie = UINT64_MAX;
	int enc = -1;

	while (pm_cur_left(&c) >= 4 && !pm_failed(&err)) {
		uint64_t size = pm_cur_u32(&c, "length"), at, id, lo, hi;
		struct pm_cur body;
		const uint8_t *bytes;

		if (size == UINT32_MAX)
			size = pm_cur_u64(&c, "length");
		else if (!size)
			break;
		at = pm_cur_at(&c);
		bytes = pm_cur_bytes(&c, size, "frame");
		if (!bytes)
			break;
		body = pm_cur_init(bytes, size, at, &err);
		id = pm_cur_u32(&body, "id");
		if (!id)
			continue;
		if (id > at)
			break;
		if (at - id != last_cie) {
			/* a CIE's own length is in front of its body: 4 bytes, or 12 */
			struct pm_err bad = { 0 };
			struct pm_cur cie = pm_cur_init(p, n, 0, &bad);
			uint64_t len;

			last_cie = at - id;
			pm_cur_bytes(&cie, last_cie, "CIE");
			len = pm_cur_u32(&cie, "length");
			if (len == UINT32_MAX)
				len = pm_cur_u64(&cie, "length");
			if (pm_cur_u32(&cie, "id"))
				pm_fail(&bad, 0, "not a CIE");
			if (len < pm_cur_left(&cie) + 4)
				cie.end = cie.p + (len > 4 ? len - 4 : 0);
			enc = pm_failed(&bad) ? -1 : cie_encoding(cie, is64);
		}
		if (enc < 0)
			continue;
		lo = encoded(&body, (unsigned)enc, is64, section);
		hi = lo + encoded(&body, (unsigned)enc & 0x0f, is64, 0);
		if (pm_failed(&err) || hi <= lo || !elf_text_at(e, lo))
			continue;
		pm_grow(e->fde, e->nfde, e->cap_fde);
		e->fde[e->nfde++] = (struct elf_frame){ lo, hi };
	}
	elf_sort_by_address(e->fde, e->nfde, sizeof *e->fde);
}

void elf_read_frames(struct pm_elf *e)
{
	Elf_Scn *scn = NULL;
	Elf_Data *d = NULL;
	GElf_Shdr sh;

	if (e->scanned_frames)
		return;
	e->scanned_frames = true;
	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type != SHT_NOBITS &&
		    !strcmp(elf_section_name(e->elf, &sh), ".eh_frame") &&
		    (d = elf_rawdata(scn, NULL)) && d->d_buf)
			scan_frames(e, d->d_buf, d->d_size, sh.sh_addr);
	e->kept.frame = e->fde;
	e->kept.nframe = e->nfde;
	e->fde = NULL;
}

const struct elf_frame *elf_frame_at(struct pm_elf *e, uint64_t addr, uint64_t *next)
{
	const struct elf_kept *k = &e->kept;
	size_t lo;

	elf_read_frames(e);
	lo = pm_upper_bound(k->frame, k->nframe, .lo, addr);
	*next = lo < k->nframe ? k->frame[lo].lo : UINT64_MAX;
	return lo && addr < k->frame[lo - 1].hi ? &k->frame[lo - 1] : NULL;
}
