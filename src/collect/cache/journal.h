/* SPDX-License-Identifier: MIT */
/* journal.h - units that were translated since a cache's file was written, kept beside it
 *
 * A file of translations (file.h) of a large program has a hundred megabytes. What a run has to
 * add to it, because its input is another one, is a few: that is appended to a journal, so that
 * it costs what it is, and the next run that comes to such a unit takes it from there instead of
 * translating it. When that has cost as much as writing the whole file, or there is a lot, the
 * whole is written, and the journal goes.
 *
 *   struct journal_head     what the units are for
 *   struct journal_record   one behind the other; after each the unit's code, blocks, map,
 *                           relocations and links, as struct xl_unit has them, counted from text
 *                           and place as they were then
 *
 * INVARIANTS - tested under their numbers by tests/unit/test_journal.c, (2) by
 * tests/process/journal.t, (3) with any bytes by tests/fuzz/fuzz_journal.c
 * (1) Nothing is ever written but at the end, in one piece, by one process at a time (flock();
 *     whoever does not get the lock soon does without): what has been read once stays as it is.
 *     A file that is no good is unlinked, never changed; what is good of it becomes another one.
 * (2) A unit is what the translator makes of the text, whatever else has been translated: where it
 *     goes on in another unit the relocation names the place in the text, and who takes it looks up
 *     what is there.
 * (3) Sums tell what is damaged; who takes a unit checks every number in it all the same. */
#ifndef PM_CACHE_JOURNAL_H
#define PM_CACHE_JOURNAL_H

#include "collect/cache/cache.h"

struct journal_head {			/* no padding: compared as bytes */
	char magic[8];			/* "pugmkMR\n" */
	uint32_t version, abi, kind, counting_copies;
	uint64_t build, absolute;	/* of pugmark; 1 + where the text is, if that is in the
					 * code */
	uint64_t text_hash, text_len, file_off;
};
#define JOURNAL_VERSION 1u

struct journal_record {
	uint64_t sum;			/* of what is behind the record, then of it with sum 0 */
	uint64_t lo;			/* address of the text */
	int64_t distance;		/* place of the code - lo */
	uint32_t pc;			/* of the entry, from lo */
	uint32_t head_sum;		/* of the record, with sum and head_sum 0 */
	uint32_t ncode, nblock, nmap, nreloc, nlink, pad;
};

/* Bytes behind the record; and its sums are those of what is there, @behind. */
uint64_t journal_bytes(const struct journal_record *r);
void journal_sum(struct journal_record *r, const void *behind);

/* What is kept beside the file @m->stored.key, @most bytes of it, as far as it is for @head. Adds
 * to m->stored.needed. */
struct journal *journal_open(struct spaces *s, const struct module *m,
			     const struct journal_head *head, uint64_t most);
/* for (size_t i = 0; journal_next(a, &i, &pc); ): the entries, from m->text.lo, of all units that
 * can be read */
bool journal_next(const struct journal *a, size_t *i, uint32_t *pc);
/* The unit whose entry is @pc, from m->text.lo, as xl_translate() made it, but when @m's next code
 * and its text were *@distance from each other. False: there is none. */
bool journal_read(const struct journal *a, const struct module *m, uint32_t pc, struct xl_unit *u,
		  int64_t *distance);
/* @u, which xl_translate() has just made for the end of @m's code, and nothing has been done to;
 * the pages of the shadow that are needed. */
void journal_note(struct spaces *s, struct journal *a, const struct module *m,
		  const struct xl_unit *u);
void journal_used(struct spaces *s, struct journal *a, const struct module *m);
/* false: not all of it has been written, or ever will be */
bool journal_flush(struct spaces *s, struct journal *a);
void journal_remove(struct spaces *s, const struct module *m);	/* those of @m */
void journal_close(struct spaces *s);

#endif
