/* SPDX-License-Identifier: MIT */
/* addenda.h - units that were translated since a cache's file was written, kept beside it; see
 * addenda.c */
#ifndef PM_CACHE_ADDENDA_H
#define PM_CACHE_ADDENDA_H

#include "collect/cache/cache.h"

struct addenda_head {			/* no padding: compared as bytes */
	char magic[8];			/* "pugmkMR\n" */
	uint32_t version, abi, kind, counting_copies;
	uint64_t build, absolute; /* of pugmark; 1 + where the text is, if that is in the code */
	uint64_t text_hash, text_len, file_off;
};
#define ADDENDA_VERSION 1u
/* What is kept beside the file @m->key, @most bytes of it, as far as it is for @head. Adds to
 * m->used. */
struct addenda *addenda_open(struct spaces *s, const struct module *m,
			     const struct addenda_head *head, uint64_t most);
/* for (size_t i = 0; addenda_next(a, &i, &pc); ): the entries, from m->lo, of all units that can be
 * read */
bool addenda_next(const struct addenda *a, size_t *i, uint32_t *pc);
/* The unit whose entry is @pc, from m->lo, as xl_translate() made it, but when @m's next code and
 * its text were
 * *@distance from each other. False: there is none. */
bool addenda_read(const struct addenda *a, const struct module *m, uint32_t pc, struct xl_unit *u,
		  int64_t *distance);
/* @u, which xl_translate() has just made for the end of @m's code, and nothing has been done to;
 * the pages of the shadow that are needed. */
void addenda_note(struct spaces *s, struct addenda *a, const struct module *m,
		  const struct xl_unit *u);
void addenda_used(struct spaces *s, struct addenda *a, const struct module *m);
bool addenda_flush(struct spaces *s,
		   struct addenda *a); /* false: not all of it has been written, or ever will be */
void addenda_remove(struct spaces *s, const struct module *m);	/* those of @m */
void addenda_close(struct spaces *s);

#endif
