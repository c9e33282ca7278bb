/* SPDX-License-Identifier: MIT */
/* replay.c - the processor again, with a schedule in place of the world
 *
 * There is no board here: memory is an array, and everything else is read from the schedule. Time
 * does not exist: Count and Cause come from the log, interrupts from (branch count, EPC), DMA from
 * its place between two bus transactions of the processor. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/mem.h"
#include "collect/citcat/citcat.h"
#include "collect/machine/cpu.h"
#include "collect/machine/map.h"
#include "collect/machine/tracer.h"

struct replay {
	const struct citcat *c;
	const struct citcat_replay_opts *o;
	struct cpu *cpu;
	struct machine_tracer *tracer;
	uint8_t *ram;
	uint32_t ram_size;
	bool be;
	size_t intr, cnt, caus, io, dma;	/* next entries */
	uint32_t caus_used;			/* of caus[caus].times */
	uint32_t order;				/* processor transactions completed */
	bool done;				/* the last transaction of the trace has been
						 * made */
	struct pm_err err;			/* divergence, or what record() said */
};

__attribute__((format(printf, 2, 3)))
static void diverge(struct replay *r, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	r->cpu->attn = true;
	if (pm_failed(&r->err))
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	pm_fail_file(&r->err,
		     "replay left the log at instruction %llu (branch count %u, pc 0x%08x): %s",
		     (unsigned long long)cpu_instructions(r->cpu), (uint32_t)r->cpu->nbranch,
		     (uint32_t)r->cpu->pc, what);
}

static void emit(struct replay *r, enum cat_kind kind, unsigned bytes, uint32_t addr, uint32_t data)
{
	struct cat_rec rec = { (uint8_t)kind, (uint8_t)bytes, (uint32_t)r->cpu->nbranch, addr,
		data };

	if (r->o->record && !pm_failed(&r->err) && r->o->record(r->o->ctx, &rec, &r->err) != PM_OK)
		r->cpu->attn = true;
}

static uint32_t get(const struct replay *r, const uint8_t *p, unsigned n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++)
		v |= (uint32_t)p[r->be ? n - 1 - i : i] << 8 * i;
	return v;
}

static void put(const struct replay *r, uint8_t *p, unsigned n, uint32_t v)
{
	for (unsigned i = 0; i < n; i++)
		p[r->be ? n - 1 - i : i] = (uint8_t)(v >> 8 * i);
}

static bool in_ram(const struct replay *r, uint64_t pa, unsigned n)
{
	return pa < r->ram_size && n <= r->ram_size - pa;
}

/* DMA that came before the transaction that is about to happen. */
static void dma(struct replay *r)
{
	while (r->dma < r->c->ndma && r->c->dma[r->dma].order <= r->order) {
		const struct aes_dma *d = &r->c->dma[r->dma++];
		unsigned bytes = d->direction >> 8;
		struct cat_rec rec = {
			d->direction & 1 ? CAT_DMA_WRITE : CAT_DMA_READ, (uint8_t)bytes,
			d->branches, d->addr, d->data,
		};

		if (d->direction & 1) {
			put(r, r->ram + d->addr, bytes, d->data);
		} else {
			rec.data = get(r, r->ram + d->addr, bytes);
			if (rec.data != d->data)
				diverge(r, "DMA %zu reads 0x%x at 0x%08x, the log says 0x%x",
					r->dma - 1, rec.data, d->addr, d->data);
		}
		if (r->o->record && !pm_failed(&r->err) &&
		    r->o->record(r->o->ctx, &rec, &r->err) != PM_OK)
			r->cpu->attn = true;
	}
}

static void transaction_done(struct replay *r)
{
	r->order++;
	if (r->order == r->c->end_order) {
		r->done = true;
		r->cpu->attn = true;
	}
}

/* The trace ended; what the processor still wants to do was never seen. */
static bool beyond(struct replay *r)
{
	if (r->done)
		r->cpu->attn = true;
	return r->done;
}

static void line(struct replay *r, enum cat_kind kind, uint64_t pa, unsigned n)
{
	if (r->o->record)
		for (unsigned i = 0; i < n; i += 4)
			emit(r, kind, 4, (uint32_t)pa + i, get(r, r->ram + pa + i, 4));
}

static bool bus_fill(void *ctx, uint64_t pa, void *p, unsigned n, bool fetch)
{
	struct replay *r = ctx;

	if (!in_ram(r, pa, n))
		return false;
	if (!beyond(r)) {
		dma(r);
		line(r, fetch ? CAT_IFETCH : CAT_FILL, pa, n);
		transaction_done(r);
	}
	cpu_copy_line(p, r->ram + pa, n);
	return true;
}

static bool bus_writeback(void *ctx, uint64_t pa, const void *p, unsigned n)
{
	struct replay *r = ctx;

	if (!in_ram(r, pa, n))
		return false;
	if (beyond(r))
		return true;
	dma(r);
	cpu_copy_line(r->ram + pa, p, n);
	line(r, CAT_WRITEBACK, pa, n);
	transaction_done(r);
	return true;
}

static bool next_io(struct replay *r, uint32_t *v)
{
	if (r->io == r->c->nio) {
		diverge(r, "the log of device accesses is used up");
		*v = 0;
		return false;
	}
	*v = r->c->io[r->io++];
	return true;
}

static bool bus_read(void *ctx, uint64_t pa, unsigned size, uint64_t *val, bool fetch)
{
	struct replay *r = ctx;
	uint32_t v, w[2];

	if (!in_ram(r, pa, size) && (fetch || !map_device(pa)))
		return false;
	*val = 0;
	if (beyond(r))
		return true;
	for (unsigned i = 0; i < size; i += 4) {
		unsigned n = size < 4 ? size : 4;

		dma(r);
		if (in_ram(r, pa, size))
			v = get(r, r->ram + pa + i, n);
		else if (!next_io(r, &v))
			return true;
		emit(r, CAT_READ, n, (uint32_t)pa + i, v);
		w[i / 4] = v;
		transaction_done(r);
	}
	*val = size < 8 ? w[0] : r->be ? (uint64_t)w[0] << 32 | w[1] : (uint64_t)w[1] << 32 | w[0];
	return true;
}

static bool bus_write(void *ctx, uint64_t pa, unsigned size, uint64_t val)
{
	struct replay *r = ctx;

	if (beyond(r))
		return true;
	for (unsigned i = 0, n; i < size; i += n) {
		uint32_t v, want;

		n = cpu_word_of(pa, size, i, val, r->be, &v);
		dma(r);
		if (in_ram(r, pa, size))
			put(r, r->ram + pa + i, n, v);
		else if (pa - WINDOW_BASE >= WINDOW_SIZE || r->c->hdr.sideband) {
			if (!next_io(r, &want))
				return true;
			if (v != want)
				diverge(r,
					"device register 0x%08x is written 0x%x, the log says 0x%x",
					(uint32_t)pa + i, v, want);
		}
		emit(r, CAT_WRITE, n, (uint32_t)pa + i, v);
		transaction_done(r);
	}
	return true;
}

/* A report has its place among the transactions. */
static void report(struct replay *r, uint32_t off, uint32_t v)
{
	if (!r->c->hdr.sideband || beyond(r))
		return;
	dma(r);
	emit(r, CAT_REPORT, 4, WINDOW_BASE + off, v);
	transaction_done(r);
}

static void bus_count(void *ctx, uint32_t *val)
{
	struct replay *r = ctx;

	if (r->cnt == r->c->ncnt) {
		if (!beyond(r) && !r->c->cut)
			diverge(r, "the log of Count values is used up");
		r->done = true;
		r->cpu->attn = true;
		return;
	}
	*val = r->c->cnt[r->cnt++];
	report(r, WIN_COUNT, *val);
}

static void bus_cause(void *ctx, uint32_t *val)
{
	struct replay *r = ctx;

	if (r->caus == r->c->ncaus) {
		if (!beyond(r) && !r->c->cut)
			diverge(r, "the log of Cause values is used up");
		r->done = true;
		r->cpu->attn = true;
		return;
	}
	/* everything but the interrupt lines is the processor's own and known */
	if ((*val ^ r->c->caus[r->caus].value) & ~(0xfc00u | CAUSE_TI))
		diverge(r, "Cause is 0x%08x, the log says 0x%08x", *val, r->c->caus[r->caus].value);
	*val = r->c->caus[r->caus].value;
	if (++r->caus_used == r->c->caus[r->caus].times) {
		r->caus++;
		r->caus_used = 0;
	}
	report(r, WIN_CAUSE_READ, *val);
}

static void bus_exception(void *ctx, enum cpu_exc code, uint64_t pc, bool bd)
{
	struct replay *r = ctx;
	struct cpu *c = r->cpu;

	(void)bd;
	if (code == EXC_INT) {
		report(r, WIN_EPC, (uint32_t)c->c0[C0_EPC]);
		report(r, WIN_STATUS, c->status);
		report(r, WIN_BADVADDR, (uint32_t)c->c0[C0_BADVADDR]);
		report(r, WIN_ENTRYHI, (uint32_t)c->c0[C0_ENTRYHI]);
		report(r, WIN_CAUSE, cpu_cause(c));
	}
	if (r->tracer)
		tracer_exception(r->tracer, c, code, pc);
}

static void bus_space(void *ctx, unsigned asid)
{
	struct replay *r = ctx;

	if (r->tracer)
		tracer_space(r->tracer, r->cpu, asid);
}

static const struct cpu_bus replay_bus = {
	bus_fill, bus_writeback, bus_read, bus_write, bus_count, bus_cause, bus_exception,
	bus_space,
};

static void load_state(struct replay *r)
{
	const uint32_t *s = r->c->state;
	struct cpu *c = r->cpu;
#define W(lo, hi) ((uint64_t)s[lo] | (uint64_t)s[hi] << 32)

	for (unsigned i = 0; i < 32; i++) {
		c->gpr[i] = W(i, 32 + i);
		c->fpr[i] = W(134 + i, 166 + i);
		if (i != C0_RANDOM)
			cpu_cp0_set(c, i, W(64 + i, 96 + i));
	}
	cpu_cp0_set(c, C0_RANDOM, s[64 + C0_RANDOM]);
	c->hi = W(128, 129);
	c->lo = W(130, 131);
	c->pc = W(132, 133);
	c->fcr31 = s[198];
	for (unsigned i = 0; i < CPU_TLB; i++) {
		struct cpu_tlb_entry *e = &c->tlb[i];
		uint64_t hi = W(201 + 4 * i, WINDOW_TLB_HIGH + i);

		e->mask = (s[200 + 4 * i] & 0x01ffe000) | 0x1fff;
		e->vpn = hi & 0xc00000ffffffe000ULL & ~e->mask;
		e->asid = (uint8_t)hi;
		e->lo[0] = s[202 + 4 * i] & 0x3ffffffe;
		e->lo[1] = s[203 + 4 * i] & 0x3ffffffe;
		e->g = s[202 + 4 * i] & s[203 + 4 * i] & 1;
	}
	c->llbit = s[392];
	c->nbranch = s[393];
	c->userlocal = s[WINDOW_R2];
	c->ebase = s[WINDOW_R2 + 1];
	c->hwrena = s[WINDOW_R2 + 2];
	c->ip = 0;
#undef W
	cpu_sync(c);
	c->attn = false;
}

static bool at(const struct cpu *c, const struct aes_intr *i)
{
	if (i->cause & CAUSE_BD)
		return c->in_delay && (uint32_t)c->pc - 4 == i->epc;
	return !c->in_delay && (uint32_t)c->pc == i->epc;
}

static void fire(struct replay *r, const struct aes_intr *i)
{
	struct cpu *c = r->cpu;

	c->ip = i->cause & 0xfc00;
	c->waiting = false;
	cpu_interrupt(c);
	if (c->status != i->status)
		diverge(r, "Status is 0x%08x at interrupt %zu, the log says 0x%08x", c->status,
			r->intr, i->status);
	if ((uint32_t)c->c0[C0_BADVADDR] != i->badvaddr ||
	    (uint32_t)c->c0[C0_ENTRYHI] != i->entryhi)
		diverge(r,
			"BadVAddr and EntryHi are 0x%08x and 0x%08x at interrupt %zu, the log says "
			"0x%08x and 0x%08x",
			(uint32_t)c->c0[C0_BADVADDR], (uint32_t)c->c0[C0_ENTRYHI], r->intr,
			i->badvaddr, i->entryhi);
	c->ip = 0;
	r->intr++;
}

/* What ran behind the last transaction: as many instructions as the processor said. */
static void tail(struct replay *r)
{
	uint64_t end = r->c->end_insns < r->o->limit ? r->c->end_insns : r->o->limit, n;

	while (!pm_failed(&r->err) && (n = cpu_instructions(r->cpu)) < end) {
		r->cpu->attn = r->cpu->waiting = false;
		cpu_budget(r->cpu, end - n);
		cpu_run(r->cpu);
	}
}

#define STUCK	(1u << 22)		/* ticks without a branch: no program does that */

static bool at_interrupt(const struct cpu *p, const struct aes_intr *i)
{
	return i->branches == (uint32_t)p->nbranch && at(p, i);
}

/* Ticks until the next interrupt or the end, at most; 0: they lie behind us, modulo 2^32. */
static uint64_t ticks_ahead(struct replay *r)
{
	const struct citcat *c = r->c;
	uint32_t until;

	if (r->intr < c->nintr) {
		const struct aes_intr *i = &c->intr[r->intr];

		until = i->branches - (uint32_t)r->cpu->nbranch;
		if (until <= 1u << 31)
			return until ? until : 1;
		diverge(r,
			"interrupt %zu is due at branch count %u, EPC 0x%08x, and was not reached",
			r->intr, i->branches, i->epc);
		return 0;
	}
	until = c->end_branches - (uint32_t)r->cpu->nbranch;
	if (until <= 1u << 31)
		return (uint64_t)until + 16;
	diverge(r, "the log ends at branch count %u and transaction %u, only %u are done",
		c->end_branches, c->end_order, r->order);
	return 0;
}

enum pm_status citcat_replay(const struct citcat *c, const struct citcat_replay_opts *o,
			     struct citcat_result *res, struct pm_err *err)
{
	struct replay r = { .c = c, .o = o, .ram_size = c->hdr.ram_size, .be = c->hdr.big_endian };
	struct cpu_config cfg = {
		.big_endian = c->hdr.big_endian, .r2 = c->hdr.r2, .uncached = c->hdr.uncached,
		.iline = c->hdr.iline, .dline = c->hdr.dline,
		.scache = c->hdr.scache, .sline = c->hdr.sline,
	};
	uint64_t last_branch = 0, last_tick = 0, next_progress = o->every;
	struct timespec t0, t1;

	memset(res, 0, sizeof *res);
	r.err.file = err->file;
	r.ram = mmap(NULL, r.ram_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r.ram == MAP_FAILED)
		return pm_fail_errno(err, "cannot allocate %u MiB of guest memory",
				     r.ram_size >> 20);
	madvise(r.ram, r.ram_size, MADV_HUGEPAGE);	/* lines are filled from anywhere */
	for (size_t i = 0; i < c->nmem; i++)
		put(&r, r.ram + c->mem[i][0], 4, c->mem[i][1]);
	r.cpu = cpu_new(&cfg, &replay_bus, &r);
	load_state(&r);
	if (o->trace)
		r.tracer = tracer_new(o->trace, r.cpu, &(struct tracer_config){ 0 });
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
	r.done = c->end_order == 0;
	while (!r.done && !pm_failed(&r.err)) {
		struct cpu *p = r.cpu;
		uint64_t budget, n = cpu_instructions(p);

		if (n >= o->limit || (r.tracer && tracer_failed(r.tracer)))
			break;
		if (o->progress && n >= next_progress) {
			o->progress(o->ctx, n);
			next_progress += o->every;
		}
		if (r.intr < c->nintr && at_interrupt(p, &c->intr[r.intr])) {
			res->interrupts++;
			fire(&r, &c->intr[r.intr]);
			continue;
		}
		budget = ticks_ahead(&r);
		if (!budget)
			break;
		if (budget > 1u << 22)
			budget = 1u << 22;
		if (budget > o->limit - n)
			budget = o->limit - n;
		p->attn = p->waiting = false;
		cpu_budget(p, budget);
		cpu_run(p);
		if (p->nbranch != last_branch) {
			last_branch = p->nbranch;
			last_tick = cpu_ticks(p);
		} else if (cpu_ticks(p) - last_tick > STUCK) {
			diverge(&r, "no branch for %u instructions", STUCK);
		}
	}
	if (!pm_failed(&r.err) && r.done) {
		dma(&r);
		tail(&r);
	}
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
	res->seconds = (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) / 1e9;
	res->instructions = cpu_instructions(r.cpu);
	res->exceptions = r.cpu->exceptions;
	res->transactions = r.order;
	res->branches = r.cpu->nbranch - c->state[393];
	res->pc = r.cpu->pc;
	cpu_print(r.cpu, res->state, sizeof res->state);
	if (r.tracer)
		tracer_finish(r.tracer, r.cpu, &r.err);
	res->tracer = r.tracer;
	cpu_free(r.cpu);
	munmap(r.ram, r.ram_size);
	if (pm_failed(&r.err)) {
		*err = r.err;
		return PM_ERR;
	}
	return PM_OK;
}
