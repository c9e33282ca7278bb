/* SPDX-License-Identifier: MIT */
#include "collect/machine/tracer.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/tally.h"

#define EVENTS	4096
#define SLACK	256		/* events of one line and its delay slot, exceptions */
#define RARE	64		/* kernel events of a batch */
#define NAME	128		/* bytes of their names, at most */

struct machine_tracer {
	struct pm_pipeline *p;
	struct pm_stream stream;
	struct pm_code code;
	struct pm_insn *insn;
	size_t cap_insn;
	struct pm_map by_key;		/* pc ^ word mixed -> insn index + 1; collisions are
					 * chained */
	uint32_t *chain;
	size_t cap_chain;
	struct pm_event *buf;
	struct pm_event *stamped;	/* with a time for each instruction; NULL: not wanted */
	struct pm_rare rare[RARE];
	char name[RARE][NAME];
	size_t nrare;
	uint64_t time;			/* last said; with `stamped`: of the next instruction */
	bool timed;
	struct pm_err err;
	struct tracer_config cfg;
	bool done, directories;
	bool counts;			/* of instructions and what they do: pm_feed.counts */
	uint64_t insns0, branches0;	/* the processor's, when counting began */
	uint64_t directory;
	bool big_endian;
	uint64_t instructions;
};

static uint32_t intern(void *ctx, uint64_t pc, uint32_t word)
{
	struct machine_tracer *t = ctx;
	uint64_t key = pc * 0x9e3779b97f4a7c15ULL ^ (uint64_t)word << 20;
	uint32_t be = t->big_endian ? htobe32(word) : htole32(word), i;
	struct pm_insn *n;
	uint64_t *at;
	bool fresh;

	at = pm_map_put(&t->by_key, key, &fresh);
	for (i = fresh ? 0 : (uint32_t)*at; i; i = t->chain[i - 1])
		if (t->insn[i - 1].pc == pc && !memcmp(t->insn[i - 1].bytes, &be, 4))
			return i - 1;
	pm_grow(t->insn, t->code.ninsn, t->cap_insn);
	pm_grow(t->chain, t->code.ninsn, t->cap_chain);
	n = &t->insn[t->code.ninsn];
	memset(n, 0, sizeof *n);
	n->pc = pc;
	memcpy(n->bytes, &be, 4);
	n->len = 4;
	{
		enum mips_op op = mips_decode(word, MIPS_ISA_R4400 | MIPS_ISA_r2);

		n->flow = (uint8_t)mips_flow(op, word);
		n->nref = mips_ref_size(op) != 0;
	}
	n->isa = t->big_endian ? PM_ISA_MIPS_BE : PM_ISA_MIPS;
	n->object = PM_NONE;
	t->chain[t->code.ninsn] = (uint32_t)*at;
	*at = ++t->code.ninsn;
	t->code.insn = t->insn;
	return (uint32_t)t->code.ninsn - 1;
}

/* Times that were said already are left out of @ev[0..@n). HOT. How many are left. */
static size_t drop_times(struct machine_tracer *t, struct pm_event *ev, size_t n)
{
	uint64_t instructions = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind == PM_EV_TIME) {
			if (t->timed && t->time == ev[i].value)
				continue;
			t->time = ev[i].value;
			t->timed = true;
		}
		instructions += ev[i].kind == PM_EV_INSN;
		if (k != i)
			ev[k] = ev[i];
		k++;
	}
	t->instructions += instructions;
	return k;
}

/* @ev[0..@n) go to @to, each instruction and kernel event behind its time. How many they are. */
static size_t add_times(struct machine_tracer *t, const struct pm_event *ev, size_t n,
			struct pm_event *to)
{
	const struct pm_event time = { .kind = PM_EV_TIME, .id = PM_NONE };
	struct pm_event *p = to;

	for (size_t i = 0; i < n; i++) {
		if (ev[i].kind == PM_EV_TIME) {
			t->time = ev[i].value;
			t->timed = true;
			continue;
		}
		if (ev[i].kind == PM_EV_INSN || ev[i].kind == PM_EV_KERNEL) {
			*p = time;
			p++->value = t->time;
		}
		if (ev[i].kind == PM_EV_INSN) {
			t->instructions++;
			t->time++;
		}
		*p++ = ev[i];
	}
	return (size_t)(p - to);
}

/* @ev may change. */
static void push(struct machine_tracer *t, struct pm_event *ev, size_t n)
{
	struct pm_batch b = {
		.stream = &t->stream, .code = &t->code, .first_insn = t->instructions,
		.ev = t->stamped ? t->stamped : ev, .rare = t->rare, .nrare = t->nrare,
	};

	b.n = t->stamped ? add_times(t, ev, n, t->stamped) : drop_times(t, ev, n);
	if (b.n && !pm_failed(&t->err))
		pm_pipeline_push(t->p, &b, &t->err);
	t->nrare = 0;
}

static void flush(void *ctx, struct cpu_trace *ct)
{
	const size_t n = (size_t)(ct->ev - ct->first);

	ct->ev = ct->first;
	push(ctx, ct->first, n);
}

static void add_event(struct machine_tracer *t, struct cpu *c, struct pm_event ev)
{
	if (!c->trace.on)
		return;
	if (c->trace.ev >= c->trace.high)
		flush(t, &c->trace);
	*c->trace.ev++ = ev;
}

static void space(struct machine_tracer *t, struct cpu *c, uint64_t value)
{
	add_event(t, c, (struct pm_event){ .kind = PM_EV_SWITCH, .id = PM_NONE, .value = value });
}

struct machine_tracer *tracer_new(struct pm_pipeline *p, struct cpu *c,
				  const struct tracer_config *cfg)
{
	struct machine_tracer *t = pm_alloc(sizeof *t);

	t->p = p;
	t->stream.name = "cpu";
	t->big_endian = c->cfg.big_endian;
	t->buf = pm_alloc((EVENTS + SLACK) * sizeof *t->buf);
	if (cfg->every_cycle)
		t->stamped = pm_alloc(2 * (EVENTS + SLACK) * sizeof *t->stamped);
	t->cfg = *cfg;
	if (!cfg->wait_go) {		/* else tracing begins inside an instruction */
		t->counts = !cfg->every_cycle && pm_pipeline_feed(p, 1).counts;
		tracer_on(t, c);
	}
	return t;
}

void tracer_on(struct machine_tracer *t, struct cpu *c)
{
	c->trace = (struct cpu_trace){
		.ev = t->buf, .first = t->buf, .high = t->buf + EVENTS, .flush = flush, .ctx = t,
		.on = true, .counts = t->counts,
	};
	c->nread = c->nwrite = 0;
	t->insns0 = cpu_instructions(c);
	t->branches0 = c->nbranch;
	c->insn_intern = intern;
	c->insn_ctx = t;
	c->attn = true;		/* the traced variant of the interpreter takes over */
	space(t, c, t->directories ? t->directory
	      : t->cfg.unknown_spaces ? 0 : (unsigned)c->c0[C0_ENTRYHI] & 0xff);
}

void tracer_go(struct machine_tracer *t, struct cpu *c)
{
	if (t->cfg.wait_go && !c->trace.on && !t->done)
		tracer_on(t, c);
}

void tracer_end(struct machine_tracer *t, struct cpu *c)
{
	if (!t->cfg.wait_go || !c->trace.on)
		return;
	t->done = true;
	c->trace_stop = true;
	c->attn = true;
}

static struct pm_event time_event(const struct cpu *c)
{
	return (struct pm_event){ .kind = PM_EV_TIME, .id = PM_NONE,
				  .value = cpu_ticks(c) + c->idle };
}

/* The processor's ticks are up to date: between instructions, or in an exception. */
void tracer_time(struct machine_tracer *t, struct cpu *c)
{
	if (!t->cfg.times)
		return;
	add_event(t, c, time_event(c));
}

void tracer_exception(struct machine_tracer *t, struct cpu *c, enum cpu_exc code, uint64_t pc)
{
	tracer_time(t, c);
	add_event(t, c, (struct pm_event){ .kind = PM_EV_INTERRUPT, .id = PM_NONE, .addr = pc,
					   .value = code });
}

void tracer_space(struct machine_tracer *t, struct cpu *c, unsigned asid)
{
	if (!t->directories && !t->cfg.unknown_spaces)
		space(t, c, asid);
}

void tracer_directory(struct machine_tracer *t, struct cpu *c, uint64_t directory)
{
	t->directories = true;
	t->directory = directory;
	space(t, c, directory);
}

static struct pm_event kernel_event(struct machine_tracer *t, const struct pm_rare *r, uint8_t type)
{
	struct pm_rare *to = &t->rare[t->nrare];

	*to = *r;
	to->name = t->name[t->nrare];
	snprintf(t->name[t->nrare], NAME, "%s", r->name ? r->name : "");
	return (struct pm_event){ .kind = PM_EV_KERNEL, .flags = type,
				  .id = (uint32_t)t->nrare++ };
}

/* Who runs and what is mapped when the trace begins was said before: events are not waited for. */
static void kernel_event_alone(struct machine_tracer *t, struct cpu *c, const struct pm_rare *r,
			       uint8_t type)
{
	struct pm_event ev[2];
	size_t n = 0;

	if (c->trace.ev != c->trace.first)
		flush(t, &c->trace);
	if (t->cfg.times)
		ev[n++] = time_event(c);
	ev[n++] = kernel_event(t, r, type);
	push(t, ev, n);
}

void tracer_kernel(struct machine_tracer *t, struct cpu *c, const struct pm_rare *r, uint8_t type)
{
	if (!c->trace.on) {
		kernel_event_alone(t, c, r, type);
		return;
	}
	/* a record goes with the batch of its event: no flush in between */
	if (t->nrare == RARE || c->trace.ev + 2 > c->trace.high)
		flush(t, &c->trace);
	tracer_time(t, c);
	add_event(t, c, kernel_event(t, r, type));
}

static void push_counts(struct machine_tracer *t, const struct cpu *c)
{
	struct pm_tally n = { .insns = cpu_instructions(c) - t->insns0 };

	n.kind[PM_EV_INSN] = n.insns;
	n.kind[PM_EV_READ] = c->nread;
	n.kind[PM_EV_WRITE] = c->nwrite;
	n.kind[PM_EV_BRANCH] = c->nbranch - t->branches0;
	t->instructions = n.insns;
	if (!pm_failed(&t->err))
		pm_pipeline_push_counts(t->p, &t->stream, &n, &t->err);
}

enum pm_status tracer_finish(struct machine_tracer *t, struct cpu *c, struct pm_err *err)
{
	if (c->trace.on || c->trace.ev != c->trace.first)
		flush(t, &c->trace);
	if (c->trace.on && t->counts)
		push_counts(t, c);
	c->trace.on = false;
	if (pm_failed(&t->err)) {
		*err = t->err;
		return PM_ERR;
	}
	return PM_OK;
}

bool tracer_failed(const struct machine_tracer *t)
{
	return pm_failed(&t->err);
}

uint64_t tracer_instructions(const struct machine_tracer *t)
{
	return t->instructions;
}

void tracer_free(struct machine_tracer *t)
{
	if (!t)
		return;
	free(t->insn);
	free(t->chain);
	free(t->buf);
	free(t->stamped);
	pm_map_release(&t->by_key);
	free(t);
}
