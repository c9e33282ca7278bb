/* SPDX-License-Identifier: MIT */
/* code_addresses.c - which code addresses an ELF file gives away: relocations, pointers in data,
 * and the landing pads that exceptions come to
 *
 *   .eh_frame     through PT_GNU_EH_FRAME: u8 1, encodings of (frame pointer, count, table),
 *                 pointer
 *   CIE           u32 length, u32 0, u8 version, augmentation string, alignments, return register,
 *                 augmentation data: an item for each letter - L: encoding of
 *                 the FDE's LSDA pointer
 *   FDE           u32 length, u32 distance to its CIE, begin, range, augmentation data: LSDA
 *                 pointer
 *   LSDA          u8 encoding [landing pad base], u8 encoding [uleb distance to the types],
 *                 u8 encoding of the call sites, uleb their length; start, length, landing pad,
 *                 uleb (Itanium C++ ABI, exception handling; LSB Core 10.6) */
#include <elf.h>
#include <string.h>

#include "base/cur.h"
#include "base/mem.h"
#include "elf/elf_image.h"

enum { ABSPTR = 0, ULEB = 1, UDATA2 = 2, UDATA4 = 3, UDATA8 = 4, SLEB = 9, SDATA2 = 10, SDATA4 = 11,
       SDATA8 = 12, PCREL = 0x10, DATAREL = 0x30, INDIRECT = 0x80, OMIT = 0xff };

struct finder {
	const struct elf_image *e;
	uint64_t lo, hi;
	void (*add)(void *ctx, uint64_t addr);
	void *ctx;
};

static void found(const struct finder *f, uint64_t addr)
{
	if (addr >= f->lo && addr < f->hi)
		f->add(f->ctx, addr);
}

/* ---- relocations ----------------------------------------------------------------------------- */
static uint64_t word_at(const struct elf_image *e, uint64_t vaddr)
{
	uint64_t avail;
	const uint8_t *p = elf_image_bytes(e, vaddr + e->bias, &avail, NULL);

	return p && avail >= elf_word_size(e) ? elf_word(e, p) : 0;
}

static void rela(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	uint64_t avail;
	const uint8_t *p = elf_image_bytes(f->e, vaddr + f->e->bias, &avail, NULL);
	Elf64_Rela r;

	if (!p)
		return;
	for (uint64_t i = 0; i + sizeof r <= size && i + sizeof r <= avail; i += sizeof r) {
		memcpy(&r, p + i, sizeof r);
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE ||
		    ELF64_R_TYPE(r.r_info) == R_X86_64_IRELATIVE)
			found(f, (uint64_t)r.r_addend + f->e->bias);
	}
}

/* i386: what is to be added to is where it will be. */
static void rel(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	uint64_t avail;
	const uint8_t *p = elf_image_bytes(f->e, vaddr + f->e->bias, &avail, NULL);
	Elf32_Rel r;

	if (!p)
		return;
	for (uint64_t i = 0; i + sizeof r <= size && i + sizeof r <= avail; i += sizeof r) {
		memcpy(&r, p + i, sizeof r);
		if (ELF32_R_TYPE(r.r_info) == R_386_RELATIVE ||
		    ELF32_R_TYPE(r.r_info) == R_386_IRELATIVE)
			found(f, word_at(f->e, r.r_offset) + f->e->bias);
	}
}

/* Packed relative relocations: an address, then bit maps of the words behind it, one for each bit
 * but the first. */
static void relr(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	const unsigned n = elf_word_size(f->e);
	uint64_t avail, where = 0, v;
	const uint8_t *p = elf_image_bytes(f->e, vaddr + f->e->bias, &avail, NULL);

	if (!p)
		return;
	for (uint64_t i = 0; i + n <= size && i + n <= avail; i += n) {
		v = elf_word(f->e, p + i);
		if (!(v & 1)) {
			found(f, word_at(f->e, v) + f->e->bias);
			where = v + n;
			continue;
		}
		for (unsigned bit = 1; bit < 8 * n; bit++)
			if (v >> bit & 1)
				found(f, word_at(f->e, where + n * (bit - 1)) + f->e->bias);
		where += n * (8 * n - 1);
	}
}

static void dynamic(const struct finder *f, const Elf64_Phdr *ph)
{
	uint64_t tag[40] = { 0 }, avail, t, v;
	const unsigned n = 2 * elf_word_size(f->e);
	const uint8_t *p = elf_image_bytes(f->e, ph->p_vaddr + f->e->bias, &avail, NULL);

	if (!p)
		return;
	for (uint64_t i = 0; i + n <= ph->p_filesz && i + n <= avail &&
			     elf_dynamic_entry(f->e, p + i, &t, &v); i += n)
		if (t < NR(tag))
			tag[t] = v;
	if (f->e->narrow) {
		rel(f, tag[DT_REL], tag[DT_RELSZ]);
		rel(f, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	} else {
		rela(f, tag[DT_RELA], tag[DT_RELASZ]);
		rela(f, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	}
	relr(f, tag[36 /* DT_RELR */], tag[35 /* DT_RELRSZ */]);
}

/* A program at a fixed address has its pointers in place already. */
static void pointers(const struct finder *f, const Elf64_Phdr *ph)
{
	const unsigned n = elf_word_size(f->e);

	if (ph->p_offset > f->e->size || ph->p_filesz > f->e->size - ph->p_offset)
		return;
	for (uint64_t i = -ph->p_vaddr & (n - 1); i + n <= ph->p_filesz; i += n)
		found(f, elf_word(f->e, f->e->file + ph->p_offset + i));
}

/* ---- landing pads ---------------------------------------------------------------------------- */
static int64_t sleb(struct pm_cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = pm_cur_u8(c, "number");
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80 && shift < 70);
	if (shift < 64 && b & 0x40)
		v |= ~0ull << shift;
	return (int64_t)v;
}

/* @c counts addresses in memory (pm_cur.where). */
static uint64_t encoded(const struct finder *f, struct pm_cur *c, unsigned enc)
{
	uint64_t at = pm_cur_at(c), v;

	if (enc == OMIT)
		return 0;
	switch (enc & 15) {
	case ABSPTR: v = f->e->narrow ? pm_cur_u32(c, "pointer") : pm_cur_u64(c, "pointer"); break;
	case UDATA8: case SDATA8: v = pm_cur_u64(c, "pointer"); break;
	case ULEB: v = pm_cur_varint(c, "pointer"); break;
	case SLEB: v = (uint64_t)sleb(c); break;
	case UDATA2: v = pm_cur_u16(c, "pointer"); break;
	case SDATA2: v = (uint64_t)(int16_t)pm_cur_u16(c, "pointer"); break;
	case UDATA4: v = pm_cur_u32(c, "pointer"); break;
	case SDATA4: v = (uint64_t)(int32_t)pm_cur_u32(c, "pointer"); break;
	default:
		pm_fail(c->err, at, "pointer encoding 0x%02x", enc);
		return 0;
	}
	if (v && (enc & 0x70) == PCREL)
		v += at;
	return f->e->narrow ? (uint32_t)v : v;
}

static bool cursor(const struct finder *f, uint64_t addr, struct pm_cur *c, struct pm_err *err)
{
	uint64_t avail;
	const uint8_t *p = elf_image_bytes(f->e, addr, &avail, NULL);

	if (!p)
		return false;
	*c = pm_cur_init(p, avail, addr, err);
	return true;
}

static void landing_pads(const struct finder *f, uint64_t lsda, uint64_t function)
{
	struct pm_err err = { 0 };
	uint64_t base = function, end;
	struct pm_cur c;
	unsigned enc;

	if (!cursor(f, lsda, &c, &err))
		return;
	enc = pm_cur_u8(&c, "encoding");
	if (enc != OMIT)
		base = encoded(f, &c, enc);
	if (pm_cur_u8(&c, "encoding") != OMIT)
		pm_cur_varint(&c, "types");
	enc = pm_cur_u8(&c, "encoding");
	end = pm_cur_varint(&c, "length");
	end += pm_cur_at(&c);
	while (pm_cur_at(&c) < end && !pm_failed(&err)) {
		uint64_t pad;

		encoded(f, &c, enc);
		encoded(f, &c, enc);
		pad = encoded(f, &c, enc);
		pm_cur_varint(&c, "action");
		if (pad && !pm_failed(&err))
			found(f, base + pad);
	}
}

struct cie {
	uint64_t at;			/* its address; 0: none yet */
	unsigned code, lsda;		/* encodings */
	bool sized;			/* has augmentation data */
};

static void read_cie(const struct finder *f, uint64_t at, struct cie *to)
{
	struct pm_err err = { 0 };
	const char *aug;
	struct pm_cur c;
	unsigned version;

	*to = (struct cie){ .at = at, .code = ABSPTR, .lsda = OMIT };
	if (!cursor(f, at, &c, &err))
		return;
	pm_cur_u32(&c, "length");
	pm_cur_u32(&c, "id");
	version = pm_cur_u8(&c, "version");
	aug = (const char *)c.p;
	while (pm_cur_u8(&c, "augmentation"))
		;
	pm_cur_varint(&c, "alignment");
	sleb(&c);
	if (version == 1)
		pm_cur_u8(&c, "register");
	else
		pm_cur_varint(&c, "register");
	if (pm_failed(&err) || *aug != 'z')
		return;
	to->sized = true;
	pm_cur_varint(&c, "length");
	for (aug++; *aug && !pm_failed(&err); aug++) {
		if (*aug == 'L')
			to->lsda = pm_cur_u8(&c, "encoding");
		else if (*aug == 'R')
			to->code = pm_cur_u8(&c, "encoding");
		else if (*aug == 'P')
			encoded(f, &c, pm_cur_u8(&c, "encoding") & 0x7f);
		else if (*aug != 'S' && *aug != 'B')
			break;
	}
}

static void frames(const struct finder *f, uint64_t eh_frame_hdr)
{
	struct pm_err err = { 0 };
	struct cie cie = { 0 };
	struct pm_cur c;
	uint64_t frame;
	unsigned enc;

	if (!cursor(f, eh_frame_hdr, &c, &err) || pm_cur_u8(&c, "version") != 1)
		return;
	enc = pm_cur_u8(&c, "encoding");
	pm_cur_u8(&c, "encoding");
	pm_cur_u8(&c, "encoding");
	frame = encoded(f, &c, enc);
	if (pm_failed(&err) || !cursor(f, frame, &c, &err))
		return;
	while (pm_cur_left(&c) >= 8 && !pm_failed(&err)) {
		uint64_t size = pm_cur_u32(&c, "length"), at = pm_cur_at(&c), id, lo;
		struct pm_cur body;
		const uint8_t *p;

		if (!size || size == UINT32_MAX)
			break;
		p = pm_cur_bytes(&c, size, "frame");
		if (!p)
			break;
		body = pm_cur_init(p, size, at, &err);
		id = pm_cur_u32(&body, "id");
		if (!id)
			continue;
		if (at - id != cie.at)
			read_cie(f, at - id, &cie);
		lo = encoded(f, &body, cie.code);
		encoded(f, &body, cie.code & 15);
		if (cie.sized && cie.lsda != OMIT) {
			uint64_t lsda;

			pm_cur_varint(&body, "length");
			lsda = encoded(f, &body, cie.lsda & ~(unsigned)INDIRECT);
			if (lsda && !pm_failed(&err))
				landing_pads(f, lsda, lo);
		}
	}
}

void elf_code_addresses(const struct elf_image *e, uint64_t lo, uint64_t hi,
			void (*add)(void *ctx, uint64_t addr), void *ctx)
{
	const struct finder f = { e, lo, hi, add, ctx };
	Elf64_Ehdr eh;

	if (!elf_image_header(e->file, e->size, &eh))
		return;
	found(&f, eh.e_entry + e->bias);
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		const Elf64_Phdr ph = elf_image_segment(e->file, &eh, i);

		if (ph.p_type == PT_DYNAMIC)
			dynamic(&f, &ph);
		else if (ph.p_type == PT_GNU_EH_FRAME)
			frames(&f, ph.p_vaddr + e->bias);
		else if (ph.p_type == PT_LOAD && eh.e_type == ET_EXEC)
			pointers(&f, &ph);
	}
}
