/* SPDX-License-Identifier: MIT */
/* guest_cat.h - CITCAT for x86 guests: a run of QEMU that is recorded with what is on the bus, and
 * the same run again
 *
 * The initial machine state is the machine as it is turned on, or as it was saved
 * (guest_machine.h). The event schedule is QEMU's log of the run. Both lie in the .cat
 * (trace/cat_x86.h).
 *
 * Ownership  what is opened, guest_machine_release() closes; strings are those of the file, which
 *            has to live longer.
 * Threads    none. */
#ifndef PM_QEMU_GUEST_CAT_H
#define PM_QEMU_GUEST_CAT_H

#include "base/result.h"
#include "collect/qemu/guest_machine.h"

/* Before QEMU starts: @cfg gets its log, date and memory, and the machine goes to @w. @from: it
 * goes on from there; NULL: it is turned on. */
enum pm_status guest_cat_record(struct catx_writer *w, struct qemu_config *cfg,
				const struct guest_cat_bus *bus, const struct catx *from,
				struct pm_err *err);
/* QEMU has ended: its log goes to @w, and the state in which it began if it was not turned on. */
enum pm_status guest_cat_log(struct catx_writer *w, const struct qemu_config *cfg,
			     const struct catx *from, struct pm_err *err);
/* The machine of @x, for a replay. @cfg has what the user wants otherwise: `qemu`, `disk`; and
 * `state`, as for guest_machine_of(). */
enum pm_status guest_cat_replay(const struct catx *x, struct qemu_config *cfg,
				struct guest_cat_bus *bus, struct pm_err *err);

/* A sink that takes transactions to a file, or compares them with one. It owns neither. */
struct guest_cat_sink {
	struct catx_writer *to;		/* NULL: compare */
	struct catx_reader *with;
	const char *path;		/* of either */
	uint64_t compared;
};
extern const struct pm_sink_ops guest_cat_sink_ops;

/* The thesis's tables and figures: sizes raw and gzip-compressed (Fig. 5), bytes on the bus against
 * instructions (Fig. 4), ratios, as citcat_stat() has them. */
enum pm_status guest_cat_stat(const char *path, struct pm_result *r, struct pm_err *err);
/* The .cat at @path without its transactions, at @to. */
enum pm_status guest_cat_extract(const char *path, const char *to, struct pm_result *r,
				 struct pm_err *err);

#endif
