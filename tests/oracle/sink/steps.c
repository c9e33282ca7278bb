/* SPDX-License-Identifier: MIT */
/* steps.c - a sink that writes a trace as tests/oracle/singlestep.c does with -s and -d
 *
 *	pugmark run --exec --sink steps.so:PREFIX ...
 *
 * PREFIX.s.P.T: addresses of instructions, u64; PREFIX.d.P.T: lines "PC KIND ADDRESS SIZE". P numbers
 * process images, T a process's threads, both from 1 in the order in which they appear. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pugmark/pugmark.h>

#define STREAMS 4096

struct one {
	FILE *insns, *refs;
	uint64_t pc;
	int image, thread;
};

struct steps {
	char prefix[200];
	struct one one[STREAMS];
	struct { uint32_t pid; int image, threads; } process[STREAMS];
	int nprocess, nimage;
};

static void *create(const char *config, struct pm_err *err)
{
	struct steps *s = calloc(1, sizeof *s);

	snprintf(s->prefix, sizeof s->prefix, "%s", config);
	return s;
}

static void begin(struct steps *s, struct one *o, const struct pm_stream *st, int thread)
{
	char path[300];
	int k = s->nprocess - 1;

	while (k >= 0 && s->process[k].pid != st->pid)
		k--;
	if (k < 0 || !thread) {
		k = s->nprocess++;
		s->process[k].pid = st->pid;
		s->process[k].image = ++s->nimage;
	}
	o->image = s->process[k].image;
	o->thread = ++s->process[k].threads;
	snprintf(path, sizeof path, "%s.s.%d.%d", s->prefix, o->image, o->thread);
	o->insns = fopen(path, "w");
	snprintf(path, sizeof path, "%s.d.%d.%d", s->prefix, o->image, o->thread);
	o->refs = fopen(path, "w");
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct steps *s = self;
	struct one *o = &s->one[b->stream->index % STREAMS];

	if (!o->insns) {
		int thread = 0;

		for (size_t i = 0; i < b->n; i++)
			thread |= b->ev[i].kind == PM_EV_THREAD;
		begin(s, o, b->stream, thread);
	}
	for (const struct pm_event *ev = b->ev; ev < b->ev + b->n; ev++) {
		switch (ev->kind) {
		case PM_EV_INSN:
			o->pc = ev->addr;
			fwrite(&ev->addr, 8, 1, o->insns);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			fprintf(o->refs, "%" PRIx64 " %c %" PRIx64 " %u\n", o->pc,
				ev->kind == PM_EV_READ ? 'r' : ev->kind == PM_EV_WRITE ? 'w' : 'm', ev->addr,
				ev->size);
			break;
		}
	}
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct steps *s = self;

	for (int i = 0; i < STREAMS; i++)
		if (s->one[i].insns && (fclose(s->one[i].insns) | fclose(s->one[i].refs))) {
			snprintf(err->msg, sizeof err->msg, "cannot write %s", s->prefix);
			return PM_ERR;
		}
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	PM_ABI, PM_HAS_INSNS, 0, "steps", "what a single-stepper writes", create, consume, NULL, finish, free,
};
