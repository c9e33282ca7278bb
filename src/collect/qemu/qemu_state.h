/* SPDX-License-Identifier: MIT */
/* qemu_state.h - a guest that was saved: QEMU's own snapshot, without memory, in a qcow2 image, and
 * memory beside it
 *
 * A snapshot says where in the log of the run (record/replay) it was made. So one from which a run
 * is to be recorded is made again as that begins, and then is the one that replays of it load.
 *
 * Ownership  files and memory are the caller's.
 * Threads    one */
#ifndef PM_QEMU_QEMU_STATE_H
#define PM_QEMU_QEMU_STATE_H

#include <stdint.h>

#include "collect/qemu/qmp.h"

struct guest_table { uint64_t at; uint32_t bytes; };

struct qemu_state {
	int image_fd;			/* the image; -1: there is none yet */
	int memory_fd;			/* the guest's memory, `ram_size` bytes */
	int touched_fd;			/* gets which pages of it were looked at; -1: not wanted */
	const struct pm_buf *memory;	/* what is in it (guest_memory.h); NULL: nothing is
					 * loaded */
	/* The processor's tables of interrupts and of segments when it was saved. The plug-in has
	 * to know, and cannot ask. */
	struct guest_table idt, gdt;
	uint64_t save_after;		/* save it when so many instructions are over; 0: not */
	bool saved;
};

typedef enum pm_status qemu_meanwhile(void *ctx, struct pm_err *err);

/* An image without a snapshot. */
enum pm_status qemu_state_image(int fd, struct pm_err *err);
/* QEMU waits before the first instruction: load, and go. @again: make the snapshot again. */
enum pm_status qemu_state_load(const struct qemu_state *s, uint64_t ram_size, bool again,
			       struct qmp *q, qemu_meanwhile *meanwhile, void *ctx,
			       struct pm_err *err);
/* QEMU runs: stop it, save, and let it end. */
enum pm_status qemu_state_save(struct qemu_state *s, struct qmp *q, qemu_meanwhile *meanwhile,
			       void *ctx, struct pm_err *err);

#endif
