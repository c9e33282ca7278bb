/* SPDX-License-Identifier: MIT */
/* guest_machine.h - the machine that a trace of an x86 guest begins with, in its file and from it
 * (trace/cat_x86.h), and guests that are saved
 *
 * A machine that is turned on is kernel, initial RAM disk, command line, processor, memory, date.
 * One that was saved is what QEMU knows of processor and devices, and memory. Of a disk image only
 * size and sum are there.
 *
 * Ownership  what guest_machine_of() and guest_state_begin() open, guest_machine_release() closes;
 *            strings are those of the file, which has to live longer.
 * Threads    none. */
#ifndef PM_QEMU_GUEST_MACHINE_H
#define PM_QEMU_GUEST_MACHINE_H

#include "collect/qemu/qemu_run.h"
#include "trace/cat_x86.h"

/* What a run is recorded with, besides the machine. */
struct guest_cat_bus {
	const char *caches;		/* as `pugmark sim --cache` has them, or "off" */
	bool locks;
};

/* The machine of @cfg goes to @w. @from: it goes on from there; NULL: it is turned on.
 * @bus: NULL: it is not recorded. */
enum pm_status guest_machine_put(struct catx_writer *w, const struct qemu_config *cfg,
				 const struct guest_cat_bus *bus, const struct catx *from,
				 struct pm_err *err);
/* The machine of @x. @cfg has what the user wants otherwise: `qemu`, `disk`; and `state`, which
 * gets it if the machine was saved, and is NULL then if it was not. */
enum pm_status guest_machine_of(const struct catx *x, struct qemu_config *cfg,
				struct guest_cat_bus *bus, struct pm_err *err);
/* The date, and a log: the run is recorded, even if nobody wants it. */
enum pm_status guest_machine_record(struct qemu_config *cfg, struct pm_err *err);
/* Before QEMU starts a machine that is turned on and will be saved: files for its state. */
enum pm_status guest_state_begin(struct qemu_config *cfg, struct pm_err *err);
/* QEMU has ended. The state with which the run from @from began goes to @w: what of its memory was
 * looked at. */
enum pm_status guest_state_put(struct catx_writer *w, const struct qemu_config *cfg,
			       const struct catx *from, struct pm_err *err);
/* ... and the guest was saved: to @path, after so many @instructions. @from: as above. */
enum pm_status guest_save(const char *path, const struct qemu_config *cfg, const struct catx *from,
			  uint64_t instructions, struct pm_err *err);
void guest_machine_release(struct qemu_config *cfg);

/* A file without a name that holds @b, of at least @size bytes; -1 and @err. */
int guest_file(const struct pm_buf *b, uint64_t size, struct pm_err *err);
/* All bytes of a file. */
struct guest_mapped { const uint8_t *p; size_t n; };
enum pm_status guest_map(int fd, struct guest_mapped *m, struct pm_err *err);
void guest_unmap(const struct guest_mapped *m);

#endif
