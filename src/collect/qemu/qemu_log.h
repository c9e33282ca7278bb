/* SPDX-License-Identifier: MIT */
/* qemu_log.h - QEMU's log of a run (record/replay): what happened to the processor from outside,
 * and when
 *
 * The format is QEMU's (replay/replay-internal.h there), version e0200c, of QEMU 10. Integers are
 * big-endian.
 *        0    4  version                       4  8  unused
 * Behind it events: a byte, and
 *        0  4    instructions executed since the event before
 *        1, 2    an interrupt is taken; an exception
 *        3, 4, 8 8    something that a device had put off; a block of a disk is done
 *        5       a key or the mouse; not here: there is no keyboard
 *        7       characters are received: device (1), bytes (4), bytes
 *       10..21   QEMU is asked to end; 14: by a signal
 *       22  8    characters are sent: how many were, and from where on (4 each)
 *       23, 24   ... are asked for: bytes (4), bytes; or an error (4)
 *       27       random numbers: 0 (4), bytes (4), bytes
 *       28, 29   the host's clock; the clock that goes on while the guest waits (8)
 *       30..38   a place where QEMU's threads meet
 *       39       the end
 * Other versions are only known by their first four bytes.
 *
 * Threads    none. */
#ifndef PM_QEMU_QEMU_LOG_H
#define PM_QEMU_QEMU_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define REPLAY_LOG_VERSION	0xe0200cu

/* What kinds of events there are, as tables have them. */
enum replay_kind {
	REPLAY_PLACES,			/* instructions executed: where all others stand */
	REPLAY_INTERRUPTS, REPLAY_EXCEPTIONS, REPLAY_CLOCKS, REPLAY_DEVICES, REPLAY_CHARACTERS,
	REPLAY_RANDOM, REPLAY_MEETINGS,
	REPLAY_ENDS,			/* QEMU is asked to end; the end */
	REPLAY_KINDS
};
extern const char *const replay_kind_names[REPLAY_KINDS];

struct replay_log_totals {
	uint32_t version;
	bool known;			/* it is REPLAY_LOG_VERSION; else nothing below is set */
	uint64_t instructions;		/* as QEMU counts, from power-on */
	struct { uint64_t events, bytes; } of[REPLAY_KINDS];
};

/* Is that the whole log? @each (NULL: not wanted) gets the bytes of each event. */
enum pm_status replay_log_check(const uint8_t *p, size_t n, struct replay_log_totals *t,
				void (*each)(void *ctx, enum replay_kind kind, const uint8_t *p,
					     size_t n),
				void *ctx, struct pm_err *err);

/* The log as a replay needs it: QEMU writes that it is asked to end before the instructions that
 * lead to that, and a replay would end there. So those go, but for one at the log's end. */
enum pm_status replay_log_mend(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err);

#endif
