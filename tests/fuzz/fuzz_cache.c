/* SPDX-License-Identifier: MIT */
/* fuzz_cache.c - files of translations: refused, or loaded, looked at everywhere and written again
 *
 * The bytes are a file without its shadow. What nobody guesses - whose it is, for which text, its
 * sum - is put right, so that all else is read. What is written for what was loaded is a good file.
 */
#include "base/mix.h"
#include "collect/cache/cache_internal.h"
#include "fuzz/cache_session.h"

const unsigned fuzz_inputs = 3000;

/* What nobody guesses. */
static void put_right(struct cache_file *f, const struct space *sp, size_t size, bool sum)
{
	const struct module *m = &sp->module[0];
	uint64_t sections;

	memcpy(f->magic, CACHE_MAGIC, sizeof f->magic);
	f->version = CACHE_VERSION;
	f->abi = RT_ABI;
	f->kind = cache_kind(&s, sp);
	f->absolute = f->i386 = 0;
	f->build = cache_build();
	f->text_hash = pm_mix(text, TEXT, 0);
	f->text_len = TEXT;
	f->file_off = 0;
	f->nused = (uint32_t)shadow_bits(m);
	f->shadow = 0;
	f->size = size;
	f->distance &= 0x3fffffff;
	if (sum && cache_file_whole(f, size) && cache_file_sections_sum(f, -1, &sections))
		f->sum = cache_file_sum(f, sections);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cache_file *f = (struct cache_file *)pm_alloc(size + sizeof *f);
	const bool sum = size > 2 && data[1] & 7, map_files = size > 2 && data[2] & 1;
	struct elf_head head = { .fd = -1 };
	struct space *sp;

	fuzz_session();
	memcpy(f, data, size);
	if (size >= sizeof *f)
		put_right(f, sp = fuzz_space(f->distance & 0x3fffffff), size, sum);
	else
		sp = fuzz_space(0);
	cache_key(&sp->module[0], cache_kind(&s, sp), -1, &head);
	fuzz_file(sp->module[0].stored.key, f, size);
	cache_begin(&s, sp, 0, 0, &head);
	cache_load(&s, sp, 0, map_files);
	if (sp->module[0].stored.file) {
		const int64_t distance = sp->module[0].stored.file->distance;

		fuzz_look(sp);
		if (space_check(&s, sp))
			abort();
		make_code_own(&s, sp, &sp->module[0]);
		make_shadow_own(&s, sp, &sp->module[0]);
		sp->module[0].stored.saved_nunit = 0;
		cache_save(&s, sp, true);
		space_unref(&s, sp);
		sp = fuzz_space(distance);
		cache_begin(&s, sp, 0, 0, &head);
		cache_load(&s, sp, 0, map_files);
		if (!sp->module[0].stored.file)
			abort();
		fuzz_look(sp);
		if (space_check(&s, sp))
			abort();
	}
	space_unref(&s, sp);
	free(f);
	return 0;
}
