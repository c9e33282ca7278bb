/* SPDX-License-Identifier: MIT */
#include "collect/machine/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/window.h"
#include "trace/format.h"
#include "trace/kernel_event.h"
#include "trace/text.h"

struct guest_kernel {
	struct pm_pipeline *out;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_err err;
	struct pm_rare now;		/* the event being reported; its name is `name` */
	char name[WINDOW_NAME + 1];
	uint8_t type;			/* of a file; 0 none */
	bool event, space;		/* complete, and to be passed on */
	uint64_t directory;
	uint64_t events, time;
	bool timed;
};

static const uint32_t facts = PM_HAS_KERNEL | PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_SPACES;

struct guest_kernel *guest_kernel_new(const char *path, const char *format, struct pm_err *err)
{
	struct guest_kernel *k = pm_alloc(sizeof *k);

	k->stream.name = "kernel";
	pm_builder_reset(&k->b, &k->stream, NULL);
	if (!path)
		return k;
	if (!format && !pm_format_by_name(path))
		format = "laplace-events";
	k->out = pm_pipeline_new();
	if (pm_trace_create(k->out, path, format, facts, err) == PM_OK &&
	    pm_pipeline_start(k->out, facts, "kernel events of the machine", err) == PM_OK)
		return k;
	guest_kernel_free(k);
	return NULL;
}

static bool complete(struct guest_kernel *k, uint32_t v)
{
	int n = pm_kernel_args((char)v);

	/* what nobody knows is nobody's event */
	if (n < 0) {
		k->now = (struct pm_rare){ 0 };
		memset(k->name, 0, sizeof k->name);
		return false;
	}
	k->now.code = v & 0xff;
	k->now.nargs = (uint32_t)n;
	k->type = (uint8_t)(v >> 8);
	for (char *s = k->name; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = '?';
	k->event = true;
	return true;
}

bool guest_kernel_store(struct guest_kernel *k, uint32_t off, uint32_t v)
{
	unsigned i;

	if (off == WIN_SPACE) {
		k->directory = v;
		k->space = true;
		return true;
	}
	if (off == WIN_EVENT)
		return complete(k, v);
	if (off >= WIN_ARG && off < WIN_ARG + 8 * WINDOW_ARGS) {
		uint64_t *a = &k->now.arg[(off - WIN_ARG) / 8];

		*a = off & 4 ? (uint32_t)*a | (uint64_t)v << 32 : (*a & ~0xffffffffULL) | v;
	} else if (off >= WIN_NAME && off < WIN_NAME + WINDOW_NAME) {
		for (i = 0; i < 4; i++)
			k->name[off - WIN_NAME + i] = (char)(v >> 8 * i);
	}
	return false;
}

static void add_event(struct guest_kernel *k, uint64_t time)
{
	struct pm_rare *r;
	const char *name;

	if (!k->timed || time != k->time)
		pm_ev_add(&k->b, PM_EV_TIME, 0, 0, 0, time);
	k->timed = true;
	k->time = time;
	r = pm_builder_rare(&k->b, PM_EV_KERNEL, *k->name ? k->name : NULL);
	name = r->name;
	*r = k->now;
	r->name = name;
	k->b.ev[k->b.b.n - 1].flags = k->type;
	k->events++;
}

static void push(struct guest_kernel *k)
{
	if (!pm_failed(&k->err) && k->b.b.n)
		pm_pipeline_push(k->out, pm_builder_batch(&k->b), &k->err);
	pm_builder_reset(&k->b, &k->stream, NULL);
}

void guest_kernel_pass(struct guest_kernel *k, struct machine_tracer *t, struct cpu *c)
{
	if (k->space) {
		k->space = false;
		if (t)
			tracer_directory(t, c, k->directory);
	}
	if (!k->event)
		return;
	k->event = false;
	if (k->out)
		add_event(k, cpu_ticks(c) + c->idle);
	if (t && k->out) {
		k->now.name = k->name;
		tracer_kernel(t, c, &k->now, k->type);
	}
	k->now = (struct pm_rare){ 0 };
	memset(k->name, 0, sizeof k->name);
	if (k->b.b.n >= PM_BATCH_EVENTS)
		push(k);
}

uint64_t guest_kernel_events(const struct guest_kernel *k)
{
	return k->events;
}

bool guest_kernel_failed(const struct guest_kernel *k)
{
	return pm_failed(&k->err);
}

enum pm_status guest_kernel_finish(struct guest_kernel *k, struct pm_err *err)
{
	if (!k->out)
		return PM_OK;
	push(k);
	if (!pm_failed(&k->err) && !k->events)
		pm_fail_file(&k->err,
			     "the guest's kernel reported no events: it needs the laplace module, "
			     "or stores of its own to the monitor's window");
	if (!pm_failed(&k->err))
		pm_pipeline_finish(k->out, NULL, &k->err);
	if (pm_failed(&k->err)) {
		*err = k->err;
		return PM_ERR;
	}
	return PM_OK;
}

void guest_kernel_free(struct guest_kernel *k)
{
	if (!k)
		return;
	pm_pipeline_free(k->out);
	pm_builder_release(&k->b);
	free(k);
}
