/* SPDX-License-Identifier: MIT */
#include "collect/machine/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "collect/machine/window.h"
#include "trace/kernel_event.h"
#include "trace/kernel_file.h"

struct guest_kernel {
	struct pm_kernel_file *out;	/* NULL: none */
	struct pm_rare now;		/* the event being reported; its name is `name` */
	char name[WINDOW_NAME + 1];
	uint8_t type;			/* of a file; 0 none */
	bool event, space;		/* complete, and to be passed on */
	uint64_t directory;
};

struct guest_kernel *guest_kernel_new(const char *path, struct pm_err *err)
{
	struct guest_kernel *k = pm_alloc(sizeof *k);

	if (!path)
		return k;
	err->file = path;
	k->out = pm_kernel_file_new(path, "kernel events of the machine", err);
	if (k->out) {
		err->file = NULL;
		return k;
	}
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
	k->now.name = k->name;
	if (k->out)
		pm_kernel_file_add(k->out, cpu_ticks(c) + c->idle, &k->now, k->type);
	if (t && k->out)
		tracer_kernel(t, c, &k->now, k->type);
	k->now = (struct pm_rare){ 0 };
	memset(k->name, 0, sizeof k->name);
}

uint64_t guest_kernel_events(const struct guest_kernel *k)
{
	return k->out ? pm_kernel_file_events(k->out) : 0;
}

bool guest_kernel_failed(const struct guest_kernel *k)
{
	return k->out && pm_kernel_file_failed(k->out);
}

enum pm_status guest_kernel_finish(struct guest_kernel *k, struct pm_err *err)
{
	if (!k->out)
		return PM_OK;
	return pm_kernel_file_finish(k->out, "the guest's kernel reported no events: it needs the "
				     "laplace module, or stores of its own to the monitor's window",
				     err);
}

void guest_kernel_free(struct guest_kernel *k)
{
	if (!k)
		return;
	pm_kernel_file_free(k->out);
	free(k);
}
