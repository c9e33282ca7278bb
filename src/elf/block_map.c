/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cur.h"
#include "elf/block_map.h"
#include "elf/elf_file.h"

#define TYPE_VERSION_0	0x6fff4c08u	/* SHT_LLVM_BB_ADDR_MAP_V0 */
#define TYPE		0x6fff4c0au	/* SHT_LLVM_BB_ADDR_MAP */
#define HOW "build it with clang 14 to 19 and -fbasic-block-address-map (clang 18 and before: " \
	    "-fbasic-block-sections=labels)"

enum { ENTRY_COUNT = 1, FREQUENCY = 2, PROBABILITY = 4, MULTI_RANGE = 8, KNOWN = 15 };
enum { GOES_ON = 1 << 3 };		/* of what a block is */

void pm_block_map_release(struct pm_block_map *m)
{
	free(m->function);
	free(m->block);
	*m = (struct pm_block_map){ 0 };
}

/* The blocks of one range, from @lo on; *@id: the number of the next one. */
static void read_range(struct pm_cur *c, unsigned version, uint64_t lo, uint32_t *id,
		       struct pm_block_map *m)
{
	const uint64_t n = pm_cur_varint(c, "number of blocks");
	uint64_t at = lo;

	for (uint64_t i = 0; i < n && !pm_failed(c->err); i++) {
		const uint64_t here = pm_cur_at(c);
		const uint64_t own = version >= 2 ? pm_cur_varint(c, "block id") : *id;
		const uint64_t offset = pm_cur_varint(c, "block offset");
		const uint64_t size = pm_cur_varint(c, "block size");
		const uint64_t what = pm_cur_varint(c, "block metadata");

		++*id;
		at = version ? at : lo;
		if (pm_failed(c->err))
			return;
		if (own > UINT32_MAX || offset > UINT64_MAX - at ||
		    size > UINT64_MAX - at - offset) {
			pm_fail(c->err, here, "block %" PRIu64 " of the function at 0x%" PRIx64
				" is out of range", own, lo);
			return;
		}
		pm_grow(m->block, m->nblock, m->cap_block);
		m->block[m->nblock++] = (struct pm_map_block){
			at + offset, size, (uint32_t)own, what & GOES_ON,
		};
		at += offset + size;
	}
}

static void skip_frequencies(struct pm_cur *c, unsigned features, size_t nblock)
{
	if (features & ENTRY_COUNT)
		pm_cur_varint(c, "entry count");
	for (size_t i = 0; i < nblock && features & (FREQUENCY | PROBABILITY); i++) {
		uint64_t n = 0;

		if (features & FREQUENCY)
			pm_cur_varint(c, "block frequency");
		if (features & PROBABILITY)
			n = pm_cur_varint(c, "number of successors");
		for (; n && !pm_failed(c->err); n--) {
			pm_cur_varint(c, "successor");
			pm_cur_varint(c, "probability");
		}
	}
}

static void read_function(struct pm_cur *c, bool is64, bool has_version, struct pm_block_map *m)
{
	const uint64_t here = pm_cur_at(c);
	const unsigned version = has_version ? pm_cur_u8(c, "version") : 0;
	const unsigned features = has_version ? pm_cur_u8(c, "features") : 0;
	struct pm_map_function f = { .first = m->nblock };
	uint64_t nrange = 1;
	uint32_t id = 0;

	if (pm_failed(c->err))
		return;
	if (has_version && (version < 1 || version > 2 || features & ~(unsigned)KNOWN)) {
		pm_fail(c->err, here, "its map of basic blocks has version %u, features 0x%x, "
			"which are not known; " HOW, version, features);
		return;
	}
	if (features & MULTI_RANGE)
		nrange = pm_cur_varint(c, "number of block ranges");
	for (uint64_t i = 0; i < nrange && !pm_failed(c->err); i++) {
		const uint64_t lo = is64 ? pm_cur_u64(c, "address") : pm_cur_u32(c, "address");

		f.lo = i ? f.lo : lo;
		read_range(c, version, lo, &id, m);
	}
	f.n = m->nblock - f.first;
	skip_frequencies(c, features, f.n);
	if (pm_failed(c->err))
		return;
	if (!f.lo || !f.n || m->block[f.first].lo != f.lo) {
		m->nblock = f.first;
		return;
	}
	m->version = version > m->version ? version : m->version;
	pm_grow(m->function, m->nfunction, m->cap_function);
	m->function[m->nfunction++] = f;
}

static void read_section(struct pm_elf *e, Elf_Scn *scn, const GElf_Shdr *sh,
			 struct pm_block_map *m, struct pm_err *err)
{
	const bool is64 = gelf_getclass(e->elf) == ELFCLASS64;
	Elf_Data *d = elf_rawdata(scn, NULL);
	struct pm_cur c;

	if (sh->sh_flags & SHF_COMPRESSED) {
		pm_fail(err, sh->sh_offset, "its map of basic blocks is compressed; " HOW);
		return;
	}
	if (!d || !d->d_buf) {
		if (sh->sh_size)
			pm_fail(err, sh->sh_offset, "its map of basic blocks is not all there");
		return;
	}
	c = pm_cur_init(d->d_buf, d->d_size, sh->sh_offset, err);
	while (pm_cur_left(&c) && !pm_failed(err))
		read_function(&c, is64, sh->sh_type == TYPE, m);
}

/* The section behind @scn that is one; *@sh is its header. NULL: there is none. */
static Elf_Scn *next_section(struct pm_elf *e, Elf_Scn *scn, GElf_Shdr *sh)
{
	while ((scn = elf_nextscn(e->elf, scn)))
		if (gelf_getshdr(scn, sh) &&
		    (sh->sh_type == TYPE || sh->sh_type == TYPE_VERSION_0))
			break;
	return scn;
}

bool pm_elf_has_block_map(struct pm_elf *e)
{
	GElf_Shdr sh;

	return next_section(e, NULL, &sh);
}

enum pm_status pm_block_map_read(struct pm_elf *e, struct pm_block_map *m, struct pm_err *err)
{
	Elf_Scn *scn = NULL;
	bool found = false;
	GElf_Shdr sh;

	*m = (struct pm_block_map){ 0 };
	while (!pm_failed(err) && (scn = next_section(e, scn, &sh))) {
		found = true;
		read_section(e, scn, &sh, m, err);
	}
	if (!found && !pm_failed(err))
		pm_fail_file(err, "it has no map of basic blocks (section .llvm_bb_addr_map); "
			     HOW);
	return pm_failed(err) ? PM_ERR : PM_OK;
}
