/* SPDX-License-Identifier: MIT */
/* seeds.c - which code addresses an ELF file gives away: relocations, pointers in data, and the
 * landing pads that exceptions come to
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
#include "collect/translate/whole_text.h"

enum { ABSPTR = 0, ULEB = 1, UDATA2 = 2, UDATA4 = 3, UDATA8 = 4, SLEB = 9, SDATA2 = 10, SDATA4 = 11,
       SDATA8 = 12, PCREL = 0x10, DATAREL = 0x30, INDIRECT = 0x80, OMIT = 0xff };

struct finder {
	const struct xl_image_input *in;
	void (*add)(void *ctx, uint64_t addr);
	void *ctx;
};

bool xl_elf_header(const uint8_t *file, size_t size, Elf64_Ehdr *eh)
{
	Elf32_Ehdr narrow;

	if (size < sizeof *eh)
		return false;
	memcpy(eh, file, sizeof *eh);
	if (eh->e_ident[EI_CLASS] == ELFCLASS32) {
		memcpy(&narrow, file, sizeof narrow);
		eh->e_entry = narrow.e_entry;
		eh->e_phoff = narrow.e_phoff;
		eh->e_shoff = narrow.e_shoff;
		eh->e_phentsize = narrow.e_phentsize;
		eh->e_phnum = narrow.e_phnum;
	}
	return eh->e_phentsize == (xl_elf_narrow(eh) ? sizeof(Elf32_Phdr) : sizeof(Elf64_Phdr)) &&
	       eh->e_phoff <= size && (size - eh->e_phoff) / eh->e_phentsize >= eh->e_phnum;
}

Elf64_Phdr xl_elf_phdr(const uint8_t *file, const Elf64_Ehdr *eh, unsigned i)
{
	const uint8_t *p = file + eh->e_phoff + (size_t)i * eh->e_phentsize;
	Elf32_Phdr narrow;
	Elf64_Phdr ph;

	if (!xl_elf_narrow(eh)) {
		memcpy(&ph, p, sizeof ph);
		return ph;
	}
	memcpy(&narrow, p, sizeof narrow);
	return (Elf64_Phdr){
		.p_type = narrow.p_type, .p_flags = narrow.p_flags, .p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr, .p_paddr = narrow.p_paddr, .p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz, .p_align = narrow.p_align,
	};
}

const uint8_t *xl_image_bytes(const struct xl_image_input *in, uint64_t addr, uint64_t *avail,
			      bool *exec)
{
	Elf64_Ehdr eh;

	if (!xl_elf_header(in->file, in->size, &eh))
		return NULL;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = xl_elf_phdr(in->file, &eh, i);
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

/* ---- relocations ----------------------------------------------------------------------------- */
static unsigned word_size(const struct xl_image_input *in)
{
	return in->i386 ? 4 : 8;
}

static uint64_t word(const struct xl_image_input *in, const uint8_t *p)
{
	uint64_t v = 0;

	memcpy(&v, p, word_size(in));
	return v;
}

static uint64_t word_at(const struct xl_image_input *in, uint64_t vaddr)
{
	uint64_t avail;
	const uint8_t *p = xl_image_bytes(in, vaddr + in->bias, &avail, NULL);

	return p && avail >= word_size(in) ? word(in, p) : 0;
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
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE ||
		    ELF64_R_TYPE(r.r_info) == R_X86_64_IRELATIVE)
			found(f, (uint64_t)r.r_addend + f->in->bias);
	}
}

/* i386: what is to be added to is where it will be. */
static void rel(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	uint64_t avail;
	const uint8_t *p = xl_image_bytes(f->in, vaddr + f->in->bias, &avail, NULL);
	Elf32_Rel r;

	if (!p)
		return;
	for (uint64_t i = 0; i + sizeof r <= size && i + sizeof r <= avail; i += sizeof r) {
		memcpy(&r, p + i, sizeof r);
		if (ELF32_R_TYPE(r.r_info) == R_386_RELATIVE ||
		    ELF32_R_TYPE(r.r_info) == R_386_IRELATIVE)
			found(f, word_at(f->in, r.r_offset) + f->in->bias);
	}
}

/* Packed relative relocations: an address, then bit maps of the words behind it, one for each bit
 * but the first. */
static void relr(const struct finder *f, uint64_t vaddr, uint64_t size)
{
	const unsigned n = word_size(f->in);
	uint64_t avail, where = 0, v;
	const uint8_t *p = xl_image_bytes(f->in, vaddr + f->in->bias, &avail, NULL);

	if (!p)
		return;
	for (uint64_t i = 0; i + n <= size && i + n <= avail; i += n) {
		v = word(f->in, p + i);
		if (!(v & 1)) {
			found(f, word_at(f->in, v) + f->in->bias);
			where = v + n;
			continue;
		}
		for (unsigned bit = 1; bit < 8 * n; bit++)
			if (v >> bit & 1)
				found(f, word_at(f->in, where + n * (bit - 1)) + f->in->bias);
		where += n * (8 * n - 1);
	}
}

static bool dynamic_tag(const struct xl_image_input *in, const uint8_t *p, uint64_t *tag,
			uint64_t *value)
{
	*tag = word(in, p);
	*value = word(in, p + word_size(in));
	return *tag != DT_NULL;
}

static void dynamic(const struct finder *f, const Elf64_Phdr *ph)
{
	uint64_t tag[40] = { 0 }, avail, t, v;
	const unsigned n = 2 * word_size(f->in);
	const uint8_t *p = xl_image_bytes(f->in, ph->p_vaddr + f->in->bias, &avail, NULL);

	if (!p)
		return;
	for (uint64_t i = 0;
	     i + n <= ph->p_filesz && i + n <= avail && dynamic_tag(f->in, p + i, &t, &v); i += n)
		if (t < NR(tag))
			tag[t] = v;
	if (f->in->i386) {
		rel(f, tag[DT_REL], tag[DT_RELSZ]);
		rel(f, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	} else {
		rela(f, tag[DT_RELA], tag[DT_RELASZ]);
		rela(f, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
	}
	relr(f, tag[36 /* DT_RELR */], tag[35 /* DT_RELRSZ */]);
}

uint64_t xl_image_dynamic(const struct xl_image_input *in, uint64_t tag)
{
	const unsigned n = 2 * word_size(in);
	Elf64_Ehdr eh;
	uint64_t t, v;

	if (!xl_elf_header(in->file, in->size, &eh))
		return 0;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = xl_elf_phdr(in->file, &eh, i);
		uint64_t avail = 0;
		const uint8_t *p = xl_image_bytes(in, ph.p_vaddr + in->bias, &avail, NULL);

		if (ph.p_type != PT_DYNAMIC || !p)
			continue;
		for (uint64_t k = 0;
		     k + n <= ph.p_filesz && k + n <= avail && dynamic_tag(in, p + k, &t, &v);
		     k += n)
			if (t == tag)
				return v;
	}
	return 0;
}

/* A program at a fixed address has its pointers in place already. */
static void pointers(const struct finder *f, const Elf64_Phdr *ph)
{
	const unsigned n = word_size(f->in);

	if (ph->p_offset > f->in->size || ph->p_filesz > f->in->size - ph->p_offset)
		return;
	for (uint64_t i = -ph->p_vaddr & (n - 1); i + n <= ph->p_filesz; i += n)
		found(f, word(f->in, f->in->file + ph->p_offset + i));
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
	case ABSPTR: v = f->in->i386 ? pm_cur_u32(c, "pointer") : pm_cur_u64(c, "pointer"); break;
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
	return f->in->i386 ? (uint32_t)v : v;
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

void xl_image_seeds(const struct xl_image_input *in, void (*add)(void *ctx, uint64_t addr),
		    void *ctx)
{
	struct finder f = { in, add, ctx };
	Elf64_Ehdr eh;

	if (!xl_elf_header(in->file, in->size, &eh))
		return;
	found(&f, eh.e_entry + in->bias);
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		Elf64_Phdr ph = xl_elf_phdr(in->file, &eh, i);

		if (ph.p_type == PT_DYNAMIC)
			dynamic(&f, &ph);
		else if (ph.p_type == PT_GNU_EH_FRAME)
			frames(&f, ph.p_vaddr + in->bias);
		else if (ph.p_type == PT_LOAD && eh.e_type == ET_EXEC)
			pointers(&f, &ph);
	}
}
