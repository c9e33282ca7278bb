/* SPDX-License-Identifier: MIT */
/* device_bus.c - what devices do to the rest of the machine: interrupt lines and memory accesses */
#include <string.h>

#include "collect/machine/machine.h"
#include "collect/machine/monitor.h"

void machine_line(struct machine *m, unsigned n, bool up)
{
	bool was = m->cpu->ip & 0x100u << n;

	cpu_line(m->cpu, n, up);
	if (m->monitor && was != up)
		monitor_interrupt(m->monitor, m->cpu, n, up);
}

bool dma_read(struct machine *m, uint64_t pa, void *p, uint32_t n)
{
	if (!machine_has_ram(m, pa, n))
		return false;
	memcpy(p, m->ram + pa, n);
	if (m->monitor && n)
		monitor_dma(m->monitor, m->cpu, false, pa, p, n);
	return true;
}

bool dma_write(struct machine *m, uint64_t pa, const void *p, uint32_t n)
{
	if (!machine_has_ram(m, pa, n))
		return false;
	memcpy(m->ram + pa, p, n);
	if (m->monitor && n)
		monitor_dma(m->monitor, m->cpu, true, pa, p, n);
	return true;
}
