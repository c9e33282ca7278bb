/* SPDX-License-Identifier: MIT */
/* fuzz_journal.c - journals of translations: what is good of them is taken, whatever they say
 *
 * The bytes are records, each with what is behind it; sums are put right, so that all else is read.
 * All units are taken, in a session that has no process. */
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collect/cache/journal.h"
#include "fuzz/cache_session.h"

const unsigned fuzz_inputs = 3000;

/* A journal of @size bytes, in which sums are put right up to the first record that does not fit.
 */
static void put_right(uint8_t *p, size_t size, bool sums)
{
	struct journal_record r;

	for (size_t at = 0; sums && size - at >= sizeof r; at += sizeof r + journal_bytes(&r)) {
		memcpy(&r, p + at, sizeof r);
		if (journal_bytes(&r) > size - at - sizeof r) {
			/* such as fit */
			r.ncode %= 64;
			r.nblock %= 4;
			r.nmap %= 4;
			r.nreloc %= 4;
			r.nlink %= 4;
		}
		if (journal_bytes(&r) > size - at - sizeof r)
			return;
		journal_sum(&r, p + at + sizeof r);
		memcpy(p + at, &r, sizeof r);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journal_head head = { .magic = "pugmkMR\n", .version = JOURNAL_VERSION };
	struct module *m;
	struct space *sp;
	uint8_t *p = pm_alloc(sizeof head + size);

	fuzz_session();
	sp = fuzz_space(0x20000000);
	m = &sp->module[0];
	memcpy(p, &head, sizeof head);
	memcpy(p + sizeof head, data, size);
	put_right(p + sizeof head, size, size && data[0] & 7);
	strcpy(m->stored.key, "pugmark-code-fuzz");
	m->stored.needed = pm_alloc(shadow_bits(m));
	m->stored.saved_needed = pm_alloc(shadow_bits(m));
	fuzz_file("pugmark-more-fuzz", p, sizeof head + size);
	m->stored.journal = journal_open(&s, m, &head, 1 << 20);
	space_units_from_store(&s, sp, 0);
	fuzz_look(sp);
	m->stored.key[0] = 0;
	free(m->stored.needed);
	m->stored.needed = NULL;			/* not to be saved */
	journal_close(&s);
	space_unref(&s, sp);
	free(p);
	return 0;
}
