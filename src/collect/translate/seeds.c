/* SPDX-License-Identifier: MIT */
/* seeds.c - which code addresses an ELF file gives away: relocations, pointers in data, and the landing
 * pads that exceptions come to
 *
 *   .eh_frame     through PT_GNU_EH_FRAME: u8 1, encodings of (frame pointer, count, table), pointer
 *   CIE           u32 length, u32 0, u8 version, augmentation string, alignments, return register,
 *                 augmentation data: an item for each letter - L: encoding of the FDE's LSDA pointer
 *   FDE           u32 length, u32 distance to its CIE, begin, range, augmentation data: LSDA pointer
 *   LSDA          u8 encoding [landing pad base], u8 encoding [uleb distance to the types],
 *                 u8 encoding of the call sites, uleb their length; start, length, landing pad, uleb
 *                 (Itanium C++ ABI, exception handling; LSB Core 10.6) */
#include <elf.h>
#include <string.h>

#include "base/cur.h"
#include "collect/translate/image.h"

enum { ABSPTR = 0, ULEB = 1, UDATA2 = 2, UDATA4 = 3, UDATA8 = 4, SLEB = 9, SDATA2 = 10, SDATA4 = 11,
       SDATA8 = 12, PCREL = 0x10, DATAREL = 0x30, INDIRECT = 0x80, OMIT = 0xff };

struct finder {
	const struct xl_image_input *in;
	void (*add)(void *ctx, uint64_t addr);
	void *ctx;
};

static bool header(const struct xl_image_input *in, Elf64_Ehdr *eh)
{
	if (in->size < sizeof *eh)
		return false;
	memcpy(eh, in->file, sizeof *eh);
	return eh->e_phentsize == sizeof(Elf64_Phdr) && eh->e_phoff <= in->size &&
	       (in->size - eh->e_phoff) / sizeof(Elf64_Phdr) >= eh->e_phnum;
}

static Elf64_Phdr phdr(const struct xl_image_input *in, const Elf64_Ehdr *eh, unsigned i)
{
	Elf64_Phdr ph;

	memcpy(&ph, in->file + eh->e_phoff + i * sizeof ph, sizeof ph);
	return ph;
}

const uint8_t *xl_image_bytes(const struct xl_image_input *in, uint64_t addr, uint64_t *avail, bool *exec)
{
	Elf64_Ehdr eh;

	if (!header(in, &eh))
		return NULL;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = phdr(in, &eh, i);
		uint64_t at = addr - in->bias - ph.p_vaddr;

		if (ph.p_type != PT_LOAD || at >= ph.p_filesz || ph.p_offset > in->size ||
		    ph.p_filesz > in->size - ph.p_offset)
			continue;
		*avail = ph.p_filesz - at;
		if (exec)
			*exec = ph.p_flags & PF_X;
		return in->file + ph.p_offset + at;
	}
	return NULL;
}

static void found(const struct finder *f, uint64_t addr)
{
	if (addr >= f->in->lo && addr < f->in->lo + f->in->bytes)
		f->add(f->ctx, addr);
}

/* ---- relocations ---------------------------------------------------------------------------------- */
static uint64_t word_at(const struct xl_image_input *in, uint64_t vaddr)
{
	uint64_t avail, v = 0;
	const uint8_t *p = xl_image_bytes(in, vaddr + in->bias, &avail, NULL);

	if (p && avail >= 8)
		memcpy(&v, p, 8);
	return v;
}

static void rela(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	uint64_t avail;
	const uint8_t *p = xl_image_bytes(f->in, vaddr + f->in->bias, &avail, NULL);
	Elf64_Rela r;

	if (!p)
		return;
	for (uint64_t i = 0; i + sizeof r <= size && i + sizeof r <= avail; i += sizeof r) {
		memcpy(&r, p + i, sizeof r);
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE || ELF64_R_TYPE(r.r_info) == R_X86_64_IRELATIVE)
			found(f, (uint64_t)r.r_addend + f->in->bias);
	}
}

/* Packed relative relocations: an address, then bit maps of the 63 words behind it. */
static void relr(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	uint64_t avail, where = 0, v;
	const uint8_t *p = xl_image_bytes(f->in, vaddr + f->in->bias, &avail, NULL);

	if (!p)
		return;
	for (uint64_t i = 0; i + 8 <= size && i + 8 <= avail; i += 8) {
		memcpy(&v, p + i, 8);
		if (!(v & 1)) {
			found(f, word_at(f->in, v) + f->in->bias);
			where = v + 8;
			continue;
		}
		for (unsigned bit = 1; bit < 64; bit++)
			if (v >> bit & 1)
				found(f, word_at(f->in, where + 8 * (bit - 1)) + f->in->bias);
		where += 8 * 63;
	}
}

static void dynamic(const struct finder *f, const Elf64_Phdr *ph)
{
	uint64_t tag[40] = { 0 }, avail;
	const uint8_t *p = xl_image_bytes(f->in, ph->p_vaddr + f->in->bias, &avail, NULL);
	Elf64_Dyn d;

	if (!p)
		return;
	for (uint64_t i = 0; i + sizeof d <= ph->p_filesz && i + sizeof d <= avail; i += sizeof d) {
		memcpy(&d, p + i, sizeof d);
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag > 0 && d.d_tag < (int64_t)NR(tag))
			tag[d.d_tag] = d.d_un.d_val;
	}
	rela(f, tag[DT_RELA], tag[DT_RELASZ]);
	rela(f, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	relr(f, tag[36 /* DT_RELR */], tag[35 /* DT_RELRSZ */]);
}

/* A program at a fixed address has its pointers in place already. */
static void pointers(const struct finder *f, const Elf64_Phdr *ph)
{
	uint64_t v;

	if (ph->p_offset > f->in->size || ph->p_filesz > f->in->size - ph->p_offset)
		return;
	for (uint64_t i = -ph->p_vaddr & 7; i + 8 <= ph->p_filesz; i += 8) {
		memcpy(&v, f->in->file + ph->p_offset + i, 8);
		found(f, v);
	}
}

/* ---- landing pads ---------------------------------------------------------------------------------- */
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
static uint64_t encoded(struct pm_cur *c, unsigned enc)
{
	uint64_t at = pm_cur_at(c), v;

	if (enc == OMIT)
		return 0;
	switch (enc & 15) {
	case ABSPTR: case UDATA8: case SDATA8: v = pm_cur_u64(c, "pointer"); break;
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
	return v;
}

static bool cursor(const struct finder *f, uint64_t addr, struct pm_cur *c, struct pm_err *err)
{
	uint64_t avail;
	const uint8_t *p = xl_image_bytes(f->in, addr, &avail, NULL);

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
		base = encoded(&c, enc);
	if (pm_cur_u8(&c, "encoding") != OMIT)
		pm_cur_varint(&c, "types");
	enc = pm_cur_u8(&c, "encoding");
	end = pm_cur_varint(&c, "length");
	end += pm_cur_at(&c);
	while (pm_cur_at(&c) < end && !pm_failed(&err)) {
		uint64_t pad;

		encoded(&c, enc);
		encoded(&c, enc);
		pad = encoded(&c, enc);
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
			encoded(&c, pm_cur_u8(&c, "encoding") & 0x7f);
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
	frame = encoded(&c, enc);
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
		lo = encoded(&body, cie.code);
		encoded(&body, cie.code & 15);
		if (cie.sized && cie.lsda != OMIT) {
			uint64_t lsda;

			pm_cur_varint(&body, "length");
			lsda = encoded(&body, cie.lsda & ~(unsigned)INDIRECT);
			if (lsda && !pm_failed(&err))
				landing_pads(f, lsda, lo);
		}
	}
}

void xl_image_seeds(const struct xl_image_input *in, void (*add)(void *ctx, uint64_t addr), void *ctx)
{
	struct finder f = { in, add, ctx };
	Elf64_Ehdr eh;

	if (!header(in, &eh))
		return;
	found(&f, eh.e_entry + in->bias);
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = phdr(in, &eh, i);

		if (ph.p_type == PT_DYNAMIC)
			dynamic(&f, &ph);
		else if (ph.p_type == PT_GNU_EH_FRAME)
			frames(&f, ph.p_vaddr + in->bias);
		else if (ph.p_type == PT_LOAD && eh.e_type == ET_EXEC)
			pointers(&f, &ph);
	}
}
