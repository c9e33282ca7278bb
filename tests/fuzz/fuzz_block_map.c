/* SPDX-License-Identifier: MIT */
/* fuzz_block_map.c - clang's map of basic blocks: an input is the first byte, whose bits say the
 * section's type and the file's class, and the section. It is read or refused with a message, and
 * what is read is as block_map.h says. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/block_map.h"
#include "fuzz.h"

#define PUT_FILE(bits)                                                                           \
static void put_file##bits(struct pm_buf *to, uint32_t type, const uint8_t *data, size_t size)   \
{                                                                                                \
	Elf##bits##_Ehdr eh = { .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,        \
		.e_ehsize = sizeof eh, .e_shoff = sizeof eh,                                     \
		.e_shentsize = sizeof(Elf##bits##_Shdr), .e_shnum = 3, .e_shstrndx = 2 };        \
	Elf##bits##_Shdr sh[3] = {                                                               \
		[1] = { .sh_type = type, .sh_size = size, .sh_addralign = 1,                     \
			.sh_offset = sizeof eh + sizeof sh + 1 },                                \
		[2] = { .sh_type = SHT_STRTAB, .sh_size = 1, .sh_addralign = 1,                  \
			.sh_offset = sizeof eh + sizeof sh },                                    \
	};                                                                                       \
                                                                                                 \
	memcpy(eh.e_ident, ELFMAG, SELFMAG);                                                     \
	eh.e_ident[EI_CLASS] = ELFCLASS##bits;                                                   \
	eh.e_ident[EI_DATA] = ELFDATA2LSB;                                                       \
	eh.e_ident[EI_VERSION] = EV_CURRENT;                                                     \
	pm_buf_add(to, &eh, sizeof eh);                                                          \
	pm_buf_add(to, sh, sizeof sh);                                                           \
	pm_buf_add(to, "", 1);                                                                   \
	pm_buf_add(to, data, size);                                                              \
}
PUT_FILE(32)
PUT_FILE(64)

static void check(const struct pm_block_map *m)
{
	size_t next = 0;

	for (size_t i = 0; i < m->nfunction; i++) {
		const struct pm_map_function *f = &m->function[i];

		if (f->first != next || !f->n || !f->lo || m->block[f->first].lo != f->lo)
			abort();
		next += f->n;
		for (size_t k = f->first; k < next; k++)
			if (m->block[k].lo + m->block[k].size < m->block[k].lo)
				abort();
	}
	if (next != m->nblock || m->version > 2)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_buf file = { 0 };
	struct pm_err err = { 0 };
	struct pm_block_map m;
	struct pm_elf *e;

	if (!size)
		return 0;
	(data[0] & 2 ? put_file32 : put_file64)(&file, data[0] & 1 ? 0x6fff4c0a : 0x6fff4c08,
						data + 1, size - 1);
	e = pm_elf_open_memory(file.p, file.n, "fuzz", &err);
	if (!e || !pm_elf_has_block_map(e))
		abort();
	if (pm_block_map_read(e, &m, &err) == PM_OK)
		check(&m);
	else if (!err.msg[0])
		abort();
	pm_block_map_release(&m);
	pm_elf_close(e);
	pm_buf_release(&file);
	return 0;
}
