/* SPDX-License-Identifier: MIT */
/* stored.h - what an earlier run has counted, read back from its file as a table of costs
 *
 *	# callgrind format			pugmark's --callgrind, and callgrind's own with
 *                                              --dump-instr=yes
 *	# object 3f...e1 /usr/bin/gzip		build id: pugmark's
 *	positions: instr line
 *	events: Ir Dr Dw
 *	ob=(1) /usr/bin/gzip
 *	fn=(1) deflate
 *	0x4011d0 123 1000 500 0			self costs of an instruction: what is read
 *	calls=1000 0x4020 17
 *	0x4011d0 123 9000 4000 100		inclusive costs of calls: left out
 *
 *	# object 0x555555554000 0x555555556000 0x55555556a000 3f...e1 /usr/bin/gzip	pugmark's
 *	--counts:
 *	0x555555558a10 1000			bias, text, build id; executions of the instruction
 *                                              at an address
 *
 * Code, names and lines come from the files that the profile names; one that is gone or has changed
 * since (where the profile knows its build id) gives none. Addresses are those in files, with the
 * object's number above bit 48 (profile_costs.h), in counts those in memory. */
#ifndef PM_ANALYSE_STORED_H
#define PM_ANALYSE_STORED_H

#include "analyse/listing.h"
#include "base/err.h"

/* Does @path begin as one of these do? False, too, if it cannot be read, or only once. */
bool pm_stored_is(const char *path);
/* What the file itself says about each row of the costs: right even if the program has gone or was
 * built again. Counts say nothing: n is 0. */
struct pm_stored_names {
	char **name;			/* [0] = "???" */
	size_t nname, cap_name;
	struct pm_stored_place {	/* indices of names; 0: not known */
		uint32_t object, function, file;
		uint32_t home;		/* the file that the function is in */
		uint32_t line;
	} *place;			/* by row */
	size_t n, cap;
};
void pm_stored_names_release(struct pm_stored_names *names);
/* Into empty @c, @book and @names (NULL: not wanted), which the caller releases, also after an
 * error. */
enum pm_status pm_stored_read(const char *path, struct pm_costs *c, struct pm_code_book *book,
			      struct pm_stored_names *names, struct pm_err *err);
/* The instructions of @c into @book, from the files of its objects. */
void pm_stored_code(const struct pm_costs *c, struct pm_code_book *book);

#endif
