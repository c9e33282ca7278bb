/* SPDX-License-Identifier: MIT */
#include "collect/machine/monitor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/window.h"
#include "trace/format.h"
#include "trace/text.h"

struct monitor {
	struct cat_writer *cat;
	struct pm_pipeline *bus;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_err err;
	bool recording, ended, sideband, big_endian;
	uint64_t transactions, last_time;
	const struct cpu *cpu;
	uint64_t first_insn;		/* sideband: the processor's count at the begin */
};

struct monitor *monitor_new(const struct monitor_config *cfg, const struct cpu *cpu,
			    uint32_t ram_size, struct pm_err *err)
{
	struct monitor *m = pm_alloc(sizeof *m);
	struct cat_header h = {
		.big_endian = cpu->cfg.big_endian, .r2 = cpu->cfg.r2, .uncached = cpu->cfg.uncached,
		.sideband = cfg->sideband,
		.ram_size = ram_size, .iline = cpu->cfg.iline, .dline = cpu->cfg.dline,
		.scache = cpu->cfg.scache, .sline = cpu->cfg.sline, .tlb = CPU_TLB,
	};
	const uint32_t facts = PM_HAS_BUS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_PHYS |
			       PM_HAS_LANES | PM_HAS_TIME | PM_HAS_CYCLES;

	m->cpu = cpu;
	m->sideband = cfg->sideband;
	m->big_endian = cpu->cfg.big_endian;
	m->last_time = UINT64_MAX;
	if (cfg->cat) {
		m->cat = cat_create(cfg->cat, &h, err);
		if (!m->cat)
			goto fail;
	}
	if (cfg->bus) {
		m->bus = pm_pipeline_new();
		err->file = cfg->bus;
		if (pm_trace_create(m->bus, cfg->bus, cfg->bus_format, facts, err) != PM_OK ||
		    pm_pipeline_start(m->bus, facts, "bus traces", err) != PM_OK)
			goto fail;
		err->file = NULL;
		m->stream.name = "bus";
		pm_builder_reset(&m->b, &m->stream, NULL);
		/* without a .cat there is nobody to give a begin to: the whole run is recorded */
		if (!cfg->cat)
			m->recording = true;
	}
	return m;
fail:
	monitor_free(m);
	return NULL;
}

static void push(struct monitor *m)
{
	if (!pm_failed(&m->err))
		pm_pipeline_push(m->bus, pm_builder_batch(&m->b), &m->err);
	pm_builder_reset(&m->b, &m->stream, NULL);
}

enum pm_status monitor_finish(struct monitor *m, struct pm_err *err)
{
	if (!monitor_begun(m) && !pm_failed(&m->err)) {
		err->file = NULL;
		return pm_fail_file(err, "the guest never began the bus trace: it needs a driver "
				    "that stores to the monitor's window, or --sideband");
	}
	if (m->bus) {
		push(m);
		if (!pm_failed(&m->err))
			pm_pipeline_finish(m->bus, NULL, &m->err);
	}
	if (m->cat && m->sideband && m->recording) {
		uint64_t n = cpu_instructions(m->cpu) - m->first_insn;

		cat_put(m->cat, CAT_END, 0, (uint32_t)m->cpu->nbranch, (uint32_t)(n >> 32),
			(uint32_t)n);
	}
	if (m->cat && !pm_failed(&m->err))
		cat_finish(m->cat, &m->err);
	if (pm_failed(&m->err)) {
		*err = m->err;
		return PM_ERR;
	}
	return PM_OK;
}

void monitor_free(struct monitor *m)
{
	if (!m)
		return;
	cat_close(m->cat);
	pm_pipeline_free(m->bus);
	pm_builder_release(&m->b);
	free(m);
}

bool monitor_begun(const struct monitor *m)
{
	return m->recording || m->ended;
}

bool monitor_recording(const struct monitor *m)
{
	return m->recording;
}

bool monitor_failed(const struct monitor *m)
{
	return pm_failed(&m->err);
}

uint64_t monitor_transactions(const struct monitor *m)
{
	return m->transactions;
}

/* The reference, line fetch, DMA or device access that the transaction stands for, as
 * trace/fmt_cat.c has it. */
static void access_event(struct monitor *m, enum pm_bus_type type, uint64_t pa, unsigned size,
			 uint64_t val, bool cacheable, unsigned agent)
{
	const bool write = type == PM_BUS_WRITE || type == PM_BUS_WRITEBACK ||
			   type == PM_BUS_IO_WRITE;
	unsigned flags = cacheable ? 0 : PM_REF_UNCACHED;
	enum pm_kind kind = write ? PM_EV_WRITE : PM_EV_READ;

	if (type == PM_BUS_FETCH) {
		kind = PM_EV_LINE;
		flags = 0;
	} else if (agent || type == PM_BUS_IO_READ || type == PM_BUS_IO_WRITE) {
		kind = agent ? PM_EV_DMA : PM_EV_DEVICE;
		flags = write ? PM_REF_WRITE : 0;
	}
	pm_ev_add(&m->b, kind, flags, size, pa, val);
}

static void bus_event(struct monitor *m, const struct cpu *c, enum pm_bus_type type, uint64_t pa,
		      unsigned size, uint64_t val, bool cacheable, unsigned agent)
{
	uint64_t now = cpu_ticks(c) + c->idle;
	unsigned off = pa & 7;
	struct pm_event *ev;
	struct pm_bus *b;

	if (now != m->last_time)
		pm_ev_add(&m->b, PM_EV_TIME, 0, 0, 0, now);
	b = pm_builder_bus(&m->b);
	ev = &m->b.ev[m->b.b.n - 1];
	b->type = (uint8_t)type;
	b->time = m->last_time == UINT64_MAX ? UINT64_MAX : now - m->last_time;
	m->last_time = now;
	b->attr = cacheable ? 3 : 0;
	b->agent = (uint8_t)agent;
	b->data = val;
	b->lanes = 0;
	if (size < 8)
		b->lanes = (uint8_t)~(((1u << size) - 1) << off);
	ev->addr = pa;
	ev->size = (uint16_t)size;
	ev->value = val;
	if (!cacheable)
		ev->flags |= PM_REF_UNCACHED;
	access_event(m, type, pa, size, val, cacheable, agent);
	if (m->b.b.n >= PM_BATCH_EVENTS)
		push(m);
}

static uint32_t word(const struct monitor *m, const uint8_t *p, unsigned n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint32_t)p[m->big_endian ? n - 1 - i : i] << 8 * i;
	return v;
}

void monitor_line(struct monitor *m, const struct cpu *c, enum cat_kind kind, uint64_t pa,
		  const void *p, unsigned n)
{
	if (!m->recording)
		return;
	m->transactions++;
	if (m->cat)
		cat_put_line(m->cat, kind, (uint32_t)c->nbranch, (uint32_t)pa, p, n);
	if (m->bus)
		bus_event(m, c, kind == CAT_IFETCH ? PM_BUS_FETCH : kind == CAT_FILL ? PM_BUS_READ :
			  PM_BUS_WRITEBACK, pa, n, 0, true, 0);
}

static void window(struct monitor *m, const struct cpu *c, uint32_t off, uint32_t v)
{
	if (off == WIN_BEGIN && !m->recording && !m->ended) {
		m->recording = true;
		if (m->cat)
			cat_put(m->cat, CAT_BEGIN, 0, (uint32_t)c->nbranch, 0, 0);
	} else if (off == WIN_END && m->recording) {
		if (m->cat)
			cat_put(m->cat, CAT_END, 0, (uint32_t)c->nbranch, 0, 0);
		m->recording = false;
		m->ended = true;
	}
}

void monitor_uncached(struct monitor *m, const struct cpu *c, bool write, bool fetch, uint64_t pa,
		      unsigned size, uint64_t val)
{
	bool in_window = write && pa >= WINDOW_BASE && pa < WINDOW_BASE + WINDOW_SIZE;

	if (in_window && !m->sideband && pa != WINDOW_BASE + WIN_END)
		window(m, c, (uint32_t)(pa - WINDOW_BASE), (uint32_t)val);
	if (m->recording) {
		m->transactions++;
		if (m->cat) {
			enum cat_kind kind = write ? CAT_WRITE : CAT_READ;

			uint32_t v;

			for (unsigned i = 0, n; i < size; i += n) {
				n = cpu_word_of(pa, size, i, val, m->big_endian, &v);
				cat_put(m->cat, kind, n, (uint32_t)c->nbranch, (uint32_t)pa + i, v);
			}
		}
		if (m->bus) {
			bool io = pa >= 0x1f000000u;

			bus_event(m, c,
				  fetch	  ? PM_BUS_FETCH
				  : io	  ? write ? PM_BUS_IO_WRITE : PM_BUS_IO_READ
				  : write ? PM_BUS_WRITE
					  : PM_BUS_READ,
				  pa, size, val, false, 0);
		}
	}
	if (in_window && !m->sideband && pa == WINDOW_BASE + WIN_END)
		window(m, c, WIN_END, (uint32_t)val);
}

void monitor_dma(struct monitor *m, const struct cpu *c, bool write, uint64_t pa, const void *p,
		 unsigned n)
{
	const uint8_t *q = p;

	if (!m->recording)
		return;
	m->transactions++;
	for (unsigned i = 0; i < n; ) {
		unsigned a = (unsigned)(pa + i) & 3, k = n - i;

		k = a & 1 || k == 1 ? 1 : a & 2 || k < 4 ? 2 : 4;
		if (m->cat)
			cat_put(m->cat, write ? CAT_DMA_WRITE : CAT_DMA_READ, k,
				(uint32_t)c->nbranch, (uint32_t)pa + i, word(m, q + i, k));
		if (m->bus)
			bus_event(m, c, write ? PM_BUS_WRITE : PM_BUS_READ, pa + i, k,
				  word(m, q + i, k), false, 1);
		i += k;
	}
}

void monitor_interrupt(struct monitor *m, const struct cpu *c, unsigned n, bool up)
{
	if (m->recording && m->cat)
		cat_put(m->cat, CAT_INTERRUPT, 1, (uint32_t)c->nbranch, n, up);
}

/* ---- sideband ------------------------------------------------------------------------------- */
static void report(struct monitor *m, const struct cpu *c, uint32_t off, uint32_t v)
{
	if (m->recording && m->cat && m->sideband)
		cat_put(m->cat, CAT_REPORT, 4, (uint32_t)c->nbranch, WINDOW_BASE + off, v);
}

void monitor_exception(struct monitor *m, const struct cpu *c, enum cpu_exc code, uint64_t pc,
		       bool bd)
{
	(void)pc;
	(void)bd;
	if (code != EXC_INT)
		return;
	report(m, c, WIN_EPC, (uint32_t)c->c0[C0_EPC]);
	report(m, c, WIN_STATUS, c->status);
	report(m, c, WIN_BADVADDR, (uint32_t)c->c0[C0_BADVADDR]);
	report(m, c, WIN_ENTRYHI, (uint32_t)c->c0[C0_ENTRYHI]);
	report(m, c, WIN_CAUSE, cpu_cause(c));
}

void monitor_count(struct monitor *m, const struct cpu *c, uint32_t v)
{
	report(m, c, WIN_COUNT, v);
}

void monitor_cause(struct monitor *m, const struct cpu *c, uint32_t v)
{
	report(m, c, WIN_CAUSE_READ, v);
}

static void state(struct monitor *m, const struct cpu *c, unsigned k, uint64_t v, unsigned high)
{
	report(m, c, WIN_STATE + 4 * k, (uint32_t)v);
	if (high)
		report(m, c, WIN_STATE + 4 * high, (uint32_t)(v >> 32));
}

void monitor_begin_sideband(struct monitor *m, const struct cpu *c)
{
	m->recording = true;
	m->first_insn = cpu_instructions(c);
	if (!m->cat)
		return;
	cat_put(m->cat, CAT_BEGIN, 0, (uint32_t)c->nbranch, 0, 0);
	for (unsigned i = 0; i < 32; i++) {
		state(m, c, i, c->gpr[i], 32 + i);
		state(m, c, 64 + i, cpu_cp0_get(c, i), 96 + i);
		state(m, c, 134 + i, c->fpr[i], 166 + i);
	}
	state(m, c, 128, c->hi, 129);
	state(m, c, 130, c->lo, 131);
	state(m, c, 132, c->pc, 133);
	state(m, c, 198, c->fcr31, 0);
	for (unsigned i = 0; i < CPU_TLB; i++) {
		const struct cpu_tlb_entry *e = &c->tlb[i];

		state(m, c, 200 + 4 * i, e->mask & 0x01ffe000, 0);
		state(m, c, 201 + 4 * i, e->vpn | e->asid, WINDOW_TLB_HIGH + i);
		state(m, c, 202 + 4 * i, e->lo[0] | e->g, 0);
		state(m, c, 203 + 4 * i, e->lo[1] | e->g, 0);
	}
	state(m, c, 392, c->llbit, 0);
	state(m, c, 393, c->nbranch, 0);
	if (c->cfg.r2) {
		state(m, c, WINDOW_R2, c->userlocal, 0);
		state(m, c, WINDOW_R2 + 1, c->ebase, 0);
		state(m, c, WINDOW_R2 + 2, c->hwrena, 0);
	}
	report(m, c, WIN_GO, 0);
}
