/* SPDX-License-Identifier: MIT */
/* machine_guest.h - `pugmark machine run --guest`: an x86 system in QEMU in place of the R4400 */
#ifndef PM_CLI_MACHINE_GUEST_H
#define PM_CLI_MACHINE_GUEST_H

#include "cli/named_files.h"
#include "cli/opt.h"
#include "collect/qemu/guest_cat.h"

struct machine_guest {
	struct qemu_config qemu;
	struct qemu_state state;			/* qemu.state, if that is not NULL */
	const char *trace, *trace_format, *json;	/* NULL: none */
	const char *refs, *refs_format;			/* every reference with its address space */
	const char *kernel_events;			/* NULL: none */
	/* what is on its bus, and caches before that: as the simulator has them, or "off" */
	const char *bus, *bus_format, *bus_caches;
	bool bus_locks;					/* locked instructions lock the bus */
	bool frames;					/* which frame each page is in */
	const char *cat;				/* the same, and what a replay needs */
	const struct catx *from;			/* it was saved, and goes on; NULL */
	const char *save;				/* save it behind `limit`; NULL: not */
	/* This one again, in place of a machine; its transactions are compared with the file's if
	 * `verify` is not NULL. */
	const struct catx *replay;
	const char *path, *verify;			/* of that file; NULL, or the same */
	const struct pm_opt_list *sims;
	bool stats;
	const struct named_file *files;			/* all of the above that are files */
	size_t nfiles;
};

/* Run it; the exit status. */
int machine_guest(struct machine_guest *g);
/* The guest that was saved at @path goes on; of qemu @g has only what the user may say otherwise.
 * Is there one? */
int machine_guest_from(struct machine_guest *g, const char *path);
bool machine_guest_is_saved(const char *path);
/* `pugmark citcat replay` and `verify` of the x86 guest's file @path. @verify: compare. The other
 * members of @g say what is wanted of it. */
int machine_guest_again(struct machine_guest *g, const char *path, bool verify);

#endif
