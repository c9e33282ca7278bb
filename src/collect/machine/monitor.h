/* SPDX-License-Identifier: MIT */
/* monitor.h - the bus monitor: sees what is on the bus, writes it down, changes nothing
 *
 * Recording runs from a guest's store to WIN_BEGIN to WIN_END or power-off, or with
 * `sideband` from the start. Branch counts come from the processor's status pins. */
#ifndef PM_MACHINE_MONITOR_H
#define PM_MACHINE_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/machine/cpu.h"
#include "trace/cat.h"
#include "trace/pipeline.h"

struct monitor;

struct monitor_config {
	const char *cat;		/* .cat file, NULL: none */
	const char *bus;		/* a file in any format that takes bus events (byu,
					 * byu12, ...) */
	const char *bus_format;		/* its format, NULL: by name */
	bool sideband;
};

struct monitor *monitor_new(const struct monitor_config *cfg, const struct cpu *cpu,
			    uint32_t ram_size, struct pm_err *err); /* borrows @cpu */
/* Everything to the files; an error if recording never began. The first error of the whole
 * recording comes out here at the latest. */
enum pm_status monitor_finish(struct monitor *m, struct pm_err *err);
void monitor_free(struct monitor *m);
bool monitor_recording(const struct monitor *m);
bool monitor_begun(const struct monitor *m);	/* ... or has been, and has ended */
bool monitor_failed(const struct monitor *m);
uint64_t monitor_transactions(const struct monitor *m);

/* What the board tells it, in bus order. @c gives the branch count and time. */
void monitor_line(struct monitor *m, const struct cpu *c, enum cat_kind kind, uint64_t pa,
		  const void *p, unsigned n);
void monitor_uncached(struct monitor *m, const struct cpu *c, bool write, bool fetch, uint64_t pa,
		      unsigned size, uint64_t val);
void monitor_dma(struct monitor *m, const struct cpu *c, bool write, uint64_t pa, const void *p,
		 unsigned n);
/* An interrupt line at the processor's pins; the timer has none. */
void monitor_interrupt(struct monitor *m, const struct cpu *c, unsigned line, bool up);
/* Sideband: what the processor itself reports. */
void monitor_exception(struct monitor *m, const struct cpu *c, enum cpu_exc code, uint64_t pc,
		       bool bd);
void monitor_count(struct monitor *m, const struct cpu *c, uint32_t v);
void monitor_cause(struct monitor *m, const struct cpu *c, uint32_t v);
/* Sideband: the state from which recording starts; before the first instruction. */
void monitor_begin_sideband(struct monitor *m, const struct cpu *c);

#endif
