/* SPDX-License-Identifier: MIT */
/* bus.h - bus transactions: how they are put into batches, and names of special cycles
 *
 * Special cycles are told apart by the byte enables on a Pentium's bus, by the request type on a
 * Pentium II's. Who makes them uses the byte enables (enum pm_bus_special), at address 0. */
#ifndef PM_TRACE_BUS_H
#define PM_TRACE_BUS_H

#include "trace/pipeline.h"
#include "trace/text.h"

enum pm_bus_special {			/* pm_bus.lanes */
	PM_BUS_SHUTDOWN = 0xfe, PM_BUS_INVALIDATE = 0xfd, PM_BUS_HALT = 0xfb, PM_BUS_FLUSH = 0xf7,
};
/* pm_bus.attr & 3, as 12-byte records have it; only the first is not cacheable */
enum pm_bus_memory { PM_BUS_UNCACHED, PM_BUS_WRITE_THROUGH, PM_BUS_WRITE_PROTECTED,
		     PM_BUS_WRITE_BACK };

struct pm_bus_counts { uint64_t of[PM_BUS_INVALID + 1]; };	/* transactions by type */

/* The name of a special cycle at @addr; NULL: it is none that is known. */
const char *pm_bus_cycle(const struct pm_bus *u, uint64_t addr);
/* Of a special cycle: the request type that says the same on a Pentium II's bus; 0: none does. */
uint8_t pm_bus_request(const struct pm_bus *u, uint64_t addr);
/* The other way: byte enables and *@addr; 0: there are none. */
uint8_t pm_bus_enables(uint8_t request, uint64_t *addr);

/* Room for @n more transactions, each with a time before it and an access behind, so that the
 * following need not ask. */
void pm_bus_room(struct pm_builder *b, size_t n);

/* PM_EV_BUS with its transaction, of which the caller sets what is not 0. HOT. */
static inline struct pm_bus *pm_bus_put(struct pm_builder *b, uint64_t addr, unsigned size,
					uint64_t time)
{
	struct pm_bus *u = &b->bus[b->b.nbus];

	pm_ev_put(b, PM_EV_BUS, 0, size, addr, 0)->id = (uint32_t)b->b.nbus++;
	*u = (struct pm_bus){ .time = time };
	return u;
}

/* Behind it: the reference, line, or device access that it stands for, if it does for one. HOT. */
static inline void pm_bus_access(struct pm_builder *b, unsigned type, uint64_t addr, unsigned size)
{
	static const struct { uint8_t kind, flags; } as[PM_BUS_INVALID + 1] = {
		[PM_BUS_FETCH] = { PM_EV_LINE, 0 },
		[PM_BUS_READ] = { PM_EV_READ, 0 }, [PM_BUS_READ_INVAL] = { PM_EV_READ, 0 },
		[PM_BUS_WRITE] = { PM_EV_WRITE, 0 }, [PM_BUS_WRITEBACK] = { PM_EV_WRITE, 0 },
		[PM_BUS_IO_READ] = { PM_EV_DEVICE, 0 }, [PM_BUS_IO_WRITE] = { PM_EV_DEVICE,
			PM_REF_WRITE },
	};

	if (as[type].kind)
		pm_ev_put(b, as[type].kind, as[type].flags, size, addr, 0);
}

/* Byte enables of a transfer that does not leave its eight bytes. */
static inline uint8_t pm_bus_lanes(uint64_t addr, unsigned size)
{
	return size < 8 ? (uint8_t)~(((1u << size) - 1) << (addr & 7)) : 0;
}

#endif
