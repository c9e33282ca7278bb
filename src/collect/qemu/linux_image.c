/* SPDX-License-Identifier: MIT */
/* linux_image.c - a kernel's image is unpacked, and its sections are found
 *
 *   bzImage   0x1f1  1  sectors behind the first one: n; 0 means 4
 *             0x202  4  "HdrS"
 *             0x206  2  version of this, 0x208 or newer
 *             0x248  4  where the packed kernel is, behind (n + 1) * 512
 *             0x24c  4  its bytes; but for gzip the last 4 of them are its size, unpacked
 *   LZ4       02 21 4c 18, and then blocks: 4 bytes of size, the block. A block is a row of: a byte
 *             (literals << 4 | match - 4; 15 is continued by bytes, the first below 255 the last),
 *             literals, 2 bytes of distance; without the last of these at the end. */
#include "collect/qemu/linux_image.h"

#include <elf.h>
#include <stdlib.h>

#include "base/cur.h"
#include "base/mem.h"
#include "collect/qemu/linux_tables.h"
#include "trace/io.h"

#define MAX_UNPACKED	(1u << 30)
#define LZ4_BLOCK	(8u << 20)	/* unpacked */
#define MAX_SECTIONS	1024
#define WINDOW		(1u << 20)

struct image_section {
	uint64_t addr, at, size;
};

struct linux_image {
	struct pm_buf b;		/* the vmlinux */
	struct image_section section[MAX_SECTIONS];
	unsigned nsection;
	struct linux_symbols symbols;
	struct linux_types types;
};

/* ---- unpacking ------------------------------------------------------------------------------- */

static uint64_t lz4_length(struct pm_cur *c, unsigned nibble)
{
	uint64_t n = nibble;
	uint8_t b = 255;

	while (nibble == 15 && b == 255 && !pm_failed(c->err)) {
		b = pm_cur_u8(c, "LZ4 length");
		n += b;
	}
	return n;
}

static void lz4_block(struct pm_cur *c, struct pm_buf *to)
{
	const size_t begin = to->n;

	while (pm_cur_left(c) && !pm_failed(c->err)) {
		unsigned token = pm_cur_u8(c, "LZ4 token"), distance;
		uint64_t n = lz4_length(c, token >> 4);
		const uint8_t *p = pm_cur_bytes(c, n, "LZ4 literals");
		uint8_t *w;

		if (!p)
			return;
		pm_buf_add(to, p, n);
		if (!pm_cur_left(c))
			return;
		distance = pm_cur_u16(c, "LZ4 distance");
		n = lz4_length(c, token & 15) + 4;
		if (pm_failed(c->err))
			return;
		if (!distance || distance > to->n - begin || n > LZ4_BLOCK ||
		    to->n - begin + n > LZ4_BLOCK) {
			pm_fail(c->err, pm_cur_at(c), "LZ4 match out of its block");
			return;
		}
		w = pm_buf_room(to, n);
		for (uint64_t i = 0; i < n; i++)
			w[i] = (w - distance)[i];
		to->n += n;
	}
}

static bool unpack_lz4(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(p, n, 0, err);

	pm_cur_u32(&c, "LZ4 magic");
	while (pm_cur_left(&c) >= 4 && to->n < MAX_UNPACKED) {
		uint32_t size = pm_cur_u32(&c, "LZ4 size");
		const uint8_t *q;
		struct pm_cur block;

		if (size == 0x184c2102)
			continue;
		q = pm_cur_bytes(&c, size, "LZ4 block");
		if (!q)
			return false;
		block = pm_cur_init(q, size, pm_cur_at(&c) - size, err);
		lz4_block(&block, to);
		if (pm_failed(err))
			return false;
	}
	return true;
}

static bool unpack_stream(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err)
{
	struct pm_input *in = pm_input_memory(p, n, "the packed kernel");
	const uint8_t *q;
	size_t got;

	while ((q = pm_input_peek(in, WINDOW, &got, err)) && got && to->n < MAX_UNPACKED) {
		pm_buf_add(to, q, got);
		pm_input_skip(in, got);
	}
	pm_input_close(in);
	return !pm_failed(err);
}

static bool unpack(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err)
{
	static const uint8_t lz4[] = { 0x02, 0x21, 0x4c, 0x18 }, gzip[] = { 0x1f, 0x8b },
			     zstd[] = { 0x28, 0xb5, 0x2f, 0xfd }, xz[] = { 0xfd, '7', 'z', 'X' };

	if (n > 8 && !memcmp(p, lz4, 4))
		return unpack_lz4(p, n - 4, to, err);
	if (n > 8 && !memcmp(p, gzip, 2))
		return unpack_stream(p, n, to, err);
	if (n > 8 && (!memcmp(p, zstd, 4) || !memcmp(p, xz, 4) || !memcmp(p, "BZh", 3)))
		return unpack_stream(p, n - 4, to, err);
	if (n > 4 && !memcmp(p, ELFMAG, 4)) {
		pm_buf_add(to, p, n);
		return true;
	}
	pm_fail(err, 0, "the kernel in it is packed in a way that is not known: not by gzip, xz, "
		"zstd, bzip2 or LZ4");
	return false;
}

/* The vmlinux in @p. */
static bool find_vmlinux(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err)
{
	struct pm_cur c;
	uint64_t at, size;

	if (n > 4 && !memcmp(p, ELFMAG, 4)) {
		pm_buf_add(to, p, n);
		return true;
	}
	if (n < 0x250 || memcmp(p + 0x202, "HdrS", 4)) {
		pm_fail(err, 0, "is neither a bzImage nor an ELF file");
		return false;
	}
	c = pm_cur_init(p, n, 0, err);
	c.p += 0x206;
	if (pm_cur_u16(&c, "version") < 0x208) {
		pm_fail(err, 0x206, "this bzImage does not say where its kernel is");
		return false;
	}
	c.p = p + 0x248;
	at = ((p[0x1f1] ? p[0x1f1] : 4) + 1) * 512u + (uint64_t)pm_cur_u32(&c, "payload");
	size = pm_cur_u32(&c, "payload");
	if (at > n || size > n - at) {
		pm_fail(err, 0x248, "its packed kernel is at 0x%llx, behind the end",
			(unsigned long long)at);
		return false;
	}
	return unpack(p + at, size, to, err);
}

/* ---- sections -------------------------------------------------------------------------------- */

/* Those that have bytes in memory go to the list; *@btf: where that section is. */
static void read_sections(struct linux_image *k, struct image_section *btf, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(k->b.p, k->b.n, 0, err);
	const uint8_t *p = pm_cur_bytes(&c, sizeof(Elf64_Ehdr), "ELF header"), *names;
	Elf64_Ehdr h;
	Elf64_Shdr s, str;

	if (!p)
		return;
	memcpy(&h, p, sizeof h);
	if (memcmp(h.e_ident, ELFMAG, 4) || h.e_ident[EI_CLASS] != ELFCLASS64 ||
	    h.e_machine != EM_X86_64) {
		pm_fail(err, 0, "is no kernel for x86_64");
		return;
	}
	if (h.e_shentsize != sizeof s || h.e_shoff > k->b.n || h.e_shnum > MAX_SECTIONS ||
	    (uint64_t)h.e_shnum * sizeof s > k->b.n - h.e_shoff || h.e_shstrndx >= h.e_shnum) {
		pm_fail(err, h.e_shoff, "the kernel's sections make no sense");
		return;
	}
	memcpy(&str, k->b.p + h.e_shoff + h.e_shstrndx * sizeof str, sizeof str);
	if (str.sh_offset > k->b.n || str.sh_size > k->b.n - str.sh_offset)
		str.sh_offset = str.sh_size = 0;
	names = k->b.p + str.sh_offset;
	for (unsigned i = 0; i < h.e_shnum; i++) {
		memcpy(&s, k->b.p + h.e_shoff + i * sizeof s, sizeof s);
		if (s.sh_type == SHT_NOBITS || s.sh_offset > k->b.n ||
		    s.sh_size > k->b.n - s.sh_offset)
			continue;
		if (s.sh_name < str.sh_size && str.sh_size - s.sh_name > 4 &&
		    !memcmp(names + s.sh_name, ".BTF", 5))
			*btf = (struct image_section){ s.sh_addr, s.sh_offset, s.sh_size };
		if (s.sh_flags & SHF_ALLOC && s.sh_addr)
			k->section[k->nsection++] =
				(struct image_section){ s.sh_addr, s.sh_offset, s.sh_size };
	}
}

const uint8_t *linux_image_bytes(const struct linux_image *k, uint64_t addr, size_t n)
{
	for (unsigned i = 0; i < k->nsection; i++) {
		const struct image_section *s = &k->section[i];

		if (addr >= s->addr && addr - s->addr <= s->size && n <= s->size - (addr - s->addr))
			return k->b.p + s->at + (addr - s->addr);
	}
	return NULL;
}

const uint8_t *linux_image_mark(const struct linux_image *k, uint64_t *addr, size_t n)
{
	const size_t at = k->symbols.tokens;

	for (unsigned i = 0; i < k->nsection; i++) {
		const struct image_section *s = &k->section[i];

		if (at >= s->at && at - s->at <= s->size && n <= s->size - (at - s->at)) {
			*addr = s->addr + (at - s->at);
			return k->b.p + at;
		}
	}
	return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

struct linux_image *linux_image_read(const void *p, size_t n, struct pm_err *err)
{
	struct linux_image *k = pm_alloc(sizeof *k);
	struct image_section btf = { 0 };

	if (find_vmlinux(p, n, &k->b, err))
		read_sections(k, &btf, err);
	if (!pm_failed(err))
		linux_symbols_read(&k->symbols, k->b.p, k->b.n, err);
	if (!pm_failed(err) && !btf.size)
		pm_fail(err, 0, "the kernel has no types (BTF): it was built without "
			"CONFIG_DEBUG_INFO_BTF");
	if (!pm_failed(err))
		linux_types_read(&k->types, k->b.p + btf.at, btf.size, btf.at, err);
	if (!pm_failed(err))
		return k;
	linux_image_free(k);
	return NULL;
}

struct linux_image *linux_image_open(const char *path, struct pm_err *err)
{
	struct linux_image *k = NULL;
	struct pm_buf b = { 0 };
	FILE *f = fopen(path, "rb");
	size_t got;

	err->file = path;
	if (!f) {
		pm_fail_errno(err, "cannot open it");
		return NULL;
	}
	while (b.n < MAX_UNPACKED && (got = fread(pm_buf_room(&b, WINDOW), 1, WINDOW, f)) > 0)
		b.n += got;
	if (ferror(f))
		pm_fail_errno(err, "cannot read it");
	else
		k = linux_image_read(b.p, b.n, err);
	fclose(f);
	pm_buf_release(&b);
	if (k)
		err->file = NULL;
	return k;
}

void linux_image_free(struct linux_image *k)
{
	if (!k)
		return;
	linux_symbols_release(&k->symbols);
	linux_types_release(&k->types);
	pm_buf_release(&k->b);
	free(k);
}

uint64_t linux_image_symbol(const struct linux_image *k, const char *name)
{
	return linux_symbols_find(&k->symbols, name);
}

size_t linux_image_symbols(const struct linux_image *k)
{
	return k->symbols.n;
}

bool linux_image_member(const struct linux_image *k, const char *type, const char *member,
			uint32_t *at)
{
	return linux_types_member(&k->types, type, member, at);
}
