/* SPDX-License-Identifier: MIT */
/* board.c - the bus, and the machine as a whole */
#include "collect/machine/machine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/machine/kernel.h"
#include "collect/machine/monitor.h"
#include "collect/machine/tracer.h"
#include "collect/machine/window.h"

/* ---- the bus -------------------------------------------------------------------------------- */
static bool bus_fill(void *ctx, uint64_t pa, void *line, unsigned n, bool fetch)
{
	struct machine *m = ctx;

	if (!machine_has_ram(m, pa, n))
		return false;
	cpu_copy_line(line, m->ram + pa, n);
	if (m->monitor)
		monitor_line(m->monitor, m->cpu, fetch ? CAT_IFETCH : CAT_FILL, pa, line, n);
	return true;
}

static bool bus_writeback(void *ctx, uint64_t pa, const void *line, unsigned n)
{
	struct machine *m = ctx;

	if (!machine_has_ram(m, pa, n))
		return false;
	cpu_copy_line(m->ram + pa, line, n);
	if (m->monitor)
		monitor_line(m->monitor, m->cpu, CAT_WRITEBACK, pa, line, n);
	return true;
}

static uint64_t get(const struct machine *m, const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)p[m->cpu->cfg.big_endian ? n - 1 - i : i] << 8 * i;
	return v;
}

static void put(const struct machine *m, uint8_t *p, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		p[m->cpu->cfg.big_endian ? n - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

static bool device_read(struct machine *m, uint32_t a, unsigned size, uint64_t *val)
{
	*val = 0;
	if (a - UART_BASE < UART_SIZE)
		*val = uart_read(m, (a - UART_BASE) >> 2);
	else if (a - VIRTIO_BASE < VIRTIO_SIZE)
		*val = virtio_read(m, a - VIRTIO_BASE, size);
	else
		return map_device(a);
	return true;
}

static bool bus_read(void *ctx, uint64_t pa, unsigned size, uint64_t *val, bool fetch)
{
	struct machine *m = ctx;

	if (machine_has_ram(m, pa, size))
		*val = get(m, m->ram + pa, size);
	else if (pa >> 32 || fetch || !device_read(m, (uint32_t)pa, size, val))
		return false;
	if (size < 8)
		*val &= (1ULL << 8 * size) - 1;
	if (m->monitor)
		monitor_uncached(m->monitor, m->cpu, false, fetch, pa, size, *val);
	return true;
}

static void power(struct machine *m, uint32_t v)
{
	if (v == 0x5555 || v == 0x7777) {
		m->stop = v == 0x5555 ? POWERED_OFF : RESET;
		m->cpu->attn = true;
	}
}

static bool bus_write(void *ctx, uint64_t pa, unsigned size, uint64_t val)
{
	struct machine *m = ctx;
	uint32_t a = (uint32_t)pa;

	if (size < 8)
		val &= (1ULL << 8 * size) - 1;
	if (machine_has_ram(m, pa, size)) {
		put(m, m->ram + pa, size, val);
		if (m->monitor)
			monitor_uncached(m->monitor, m->cpu, true, false, pa, size, val);
		return true;
	}
	/* Stores to where nothing is go nowhere: the R4400 reports them, if at all, by an
	 * interrupt. */
	if (m->monitor)
		monitor_uncached(m->monitor, m->cpu, true, false, pa, size, val);
	if (pa >> 32)
		return true;
	if (m->kernel && a - WINDOW_BASE < WINDOW_SIZE && size == 4 &&
	    guest_kernel_store(m->kernel, a - WINDOW_BASE, (uint32_t)val))
		m->cpu->attn = true;
	if (a == WINDOW_BASE + WIN_GO && m->tracer)
		tracer_go(m->tracer, m->cpu);
	if (a == WINDOW_BASE + WIN_END && m->tracer)
		tracer_end(m->tracer, m->cpu);
	if (a - UART_BASE < UART_SIZE)
		uart_write(m, (a - UART_BASE) >> 2, (uint32_t)val);
	else if (a - VIRTIO_BASE < VIRTIO_SIZE)
		virtio_write(m, a - VIRTIO_BASE, size, (uint32_t)val);
	else if (a - POWER_BASE < POWER_SIZE)
		power(m, (uint32_t)val);
	return true;
}

static void bus_count(void *ctx, uint32_t *val)
{
	struct machine *m = ctx;

	if (m->monitor)
		monitor_count(m->monitor, m->cpu, *val);
}

static void bus_cause(void *ctx, uint32_t *val)
{
	struct machine *m = ctx;

	if (m->monitor)
		monitor_cause(m->monitor, m->cpu, *val);
}

static void bus_exception(void *ctx, enum cpu_exc code, uint64_t pc, bool bd)
{
	struct machine *m = ctx;

	if (m->monitor)
		monitor_exception(m->monitor, m->cpu, code, pc, bd);
	if (m->tracer)
		tracer_exception(m->tracer, m->cpu, code, pc);
}

static void bus_space(void *ctx, unsigned asid)
{
	struct machine *m = ctx;

	if (m->tracer)
		tracer_space(m->tracer, m->cpu, asid);
}

static const struct cpu_bus board_bus = {
	bus_fill, bus_writeback, bus_read, bus_write, bus_count, bus_cause, bus_exception,
	bus_space,
};

/* ---- life ----------------------------------------------------------------------------------- */
struct machine *machine_new(const struct machine_config *cfg, struct pm_err *err)
{
	struct machine *m = pm_alloc(sizeof *m);

	m->ram_size = cfg->ram_size;
	m->ram = mmap(NULL, m->ram_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->ram == MAP_FAILED) {
		free(m);
		pm_fail_errno(err, "cannot get %llu bytes of memory for the machine",
			      (unsigned long long)cfg->ram_size);
		return NULL;
	}
	/* lines are filled from anywhere: spare the host's TLB */
	madvise(m->ram, m->ram_size, MADV_HUGEPAGE);
	m->cpu = cpu_new(&cfg->cpu, &board_bus, m);
	m->uart.thre_pending = false;
	m->uart.rx_at = NEVER;
	m->virtio.done_at = NEVER;
	m->stop_at = NEVER;
	m->insn_limit = NEVER;
	m->input_fd = -1;
	return m;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	munmap(m->ram, m->ram_size);
	machine_disk_close(m);
	cpu_free(m->cpu);
	pm_buf_release(&m->out);
	free(m);
}

/* ---- running -------------------------------------------------------------------------------- */
static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void timer_fire(struct machine *m)
{
	m->timer_up = true;
	cpu_line(m->cpu, TIMER_IRQ, true);
}

/* One stretch up to the next event, or @most ticks. */
static void stretch(struct machine *m, uint64_t most)
{
	struct cpu *c = m->cpu;
	uint64_t now, timer, left;

	uart_poll(m);
	virtio_poll(m);
	if (cpu_irq_pending(c)) {
		timer = cpu_timer_ticks(c);
		cpu_interrupt(c);
		if (timer == 1)
			timer_fire(m);
	}
	now = machine_cycle(m);
	timer = cpu_timer_ticks(c);
	left = min64(most, timer);
	left = min64(left, m->uart.rx_at > now ? m->uart.rx_at - now : NEVER);
	left = min64(left, m->virtio.done_at > now ? m->virtio.done_at - now : NEVER);
	/* never so long that an interrupted pugmark seems dead */
	left = min64(left, 50000000);
	c->attn = false;
	c->timer_moved = false;
	if (c->waiting && !(c->status & ST_IM & (c->cause | c->ip))) {
		c->idle += left;
		c->attn = false;
		/* with interrupts disabled, ten seconds of waiting are for ever: the system has
		 * halted */
		if (!(c->status & ST_IE) && (m->halted_for += left) > 10ULL * CPU_HZ)
			m->stop = POWERED_OFF;
	} else {
		c->waiting = false;
		if (c->status & ST_IE)
			m->halted_for = 0;
		cpu_budget(c, left);
		if (m->tracer)
			tracer_time(m->tracer, c);
		cpu_run(c);
		if (m->kernel)
			guest_kernel_pass(m->kernel, m->tracer, c);
	}
	if (c->trace_stop) {
		tracer_finish(m->tracer, c, &m->err);
		c->trace_stop = false;
	}
	if (machine_cycle(m) - now >= timer && !c->timer_moved)
		timer_fire(m);
}

void machine_step(struct machine *m, uint64_t ticks)
{
	uint64_t end = cpu_ticks(m->cpu) + ticks, idle = m->cpu->idle;

	m->stop = RUNNING;
	while (m->stop == RUNNING && cpu_ticks(m->cpu) < end && m->cpu->idle - idle < 1000000000) {
		uint64_t now = machine_cycle(m), n = cpu_instructions(m->cpu);

		if (now >= m->stop_at || n >= m->insn_limit)
			m->stop = LIMIT;
		else
			stretch(m, min64(end - cpu_ticks(m->cpu),
					 min64(m->stop_at - now, m->insn_limit - n)));
	}
}

enum pm_status machine_run(struct machine *m, struct pm_err *err)
{
	struct cpu *c = m->cpu;

	m->stop = RUNNING;
	while (m->stop == RUNNING) {
		uint64_t now = machine_cycle(m), n = cpu_instructions(c), most = NEVER;

		if (now >= m->stop_at || n >= m->insn_limit) {
			m->stop = LIMIT;
			break;
		}
		if (m->interrupted && *m->interrupted) {
			m->stop = INTERRUPTED;
			break;
		}
		most = min64(m->stop_at - now, m->insn_limit - n);
		stretch(m, most);
		if (c->stuck) {
			m->stop = STUCK;
			break;
		}
		if ((m->monitor && monitor_failed(m->monitor)) ||
		    (m->tracer && tracer_failed(m->tracer)) ||
		    (m->kernel && guest_kernel_failed(m->kernel)))
			break;
	}
	if (m->console)
		fflush(m->console);
	if (m->stop == STUCK)
		return pm_fail_file(err,
				    "the processor takes exceptions without end: the instruction "
				    "at the exception vector 0x%08x raises exception %u itself, "
				    "and EPC is 0x%08x",
				    (uint32_t)c->pc, c->cause >> 2 & 31,
				    (uint32_t)c->c0[C0_EPC]);
	return PM_OK;
}
