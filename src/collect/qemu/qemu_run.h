/* SPDX-License-Identifier: MIT */
/* qemu_run.h - an x86 system in QEMU, whose plug-in (plugins/qemu) says what it executes
 *
 * The plug-in is a part of this executable. QEMU gets it, and the ring that it fills, as memory
 * files.
 *
 * Threads    one; signals that ask to end set *interrupted. */
#ifndef PM_QEMU_RUN_H
#define PM_QEMU_RUN_H

#include <stdbool.h>

#include "collect/qemu/qemu_state.h"
#include "collect/qemu/stream_reader.h"

#define QEMU_RAM	"256M"		/* unless `ram` says another size */
#define QEMU_LOW_RAM	(3ull << 30)	/* so much has no hole in it for devices */

struct qs_plan;
struct qemu_config {
	const char *guest;		/* x86_64 or i386 */
	const char *qemu;		/* NULL: qemu-system-GUEST */
	const char *kernel, *initrd, *append, *disk;	/* NULL: none; there is a kernel */
	const char *cpu, *ram;		/* as QEMU has them; NULL: its best one,
					 * QEMU_RAM */
	const char *input;		/* what is typed at the console; NULL: standard input */
	bool read_only;			/* the disk */
	bool quiet;			/* the console is dropped */
	bool console_to_stderr;
	bool physical;			/* where things are in memory is told, too, and ports and
					 * the like: for a guest_bus. Takes time */
	uint64_t ram_size;		/* the same as `ram`, in bytes; at most QEMU_LOW_RAM then */
	const struct qs_plan *watch;	/* the kernel's functions to watch; NULL: none */
	uint64_t limit;			/* instructions; 0: none */
	volatile int *interrupted;

	/* Record or replay, by QEMU's own log: the clock is the number of instructions then */
	enum qemu_log { QEMU_NO_LOG, QEMU_RECORD, QEMU_REPLAY } log;
	int log_fd;			/* that log, a file; the caller's */
	/* Files that hold what `kernel` and `initrd` name, for a replay; the caller's; -1: none */
	int kernel_fd, initrd_fd;
	bool memory;			/* the guest's memory is a file, which `physical` needs */
	char began[32];			/* the guest's date at power-on: 2026-11-26T12:00:00 */
	const char *version;		/* QEMU has to be this one; NULL: any */
	/* The guest goes on from where it was saved, or is to be: with a log. NULL: neither */
	struct qemu_state *state;
};

#define QEMU_NS_SHIFT	1		/* with a log an instruction takes 1 << so many ns */

enum qemu_end { QEMU_POWERED_OFF, QEMU_RESET, QEMU_LIMIT, QEMU_INTERRUPTED };

/* What QEMU calls itself and its version: one line, free() it. NULL and @err: there is none. */
char *qemu_version(const struct qemu_config *cfg, struct pm_err *err);
/* An empty file that has no name and that QEMU may inherit; -1 and @err. */
int qemu_file(struct pm_err *err);
/* Could it be run? One sentence if not: a file that is not there, a QEMU that is too old. */
enum pm_status qemu_check(const struct qemu_config *cfg, struct pm_err *err);
/* Run it until it ends. PM_ERR and @err: the pipeline or the plug-in's words failed. @ended says
 * why it ended otherwise than it should have: what was seen until then is good. */
enum pm_status qemu_run(const struct qemu_config *cfg, struct qs_reader *r, struct pm_pipeline *p,
			enum qemu_end *how, struct pm_err *ended, struct pm_err *err);

#endif
