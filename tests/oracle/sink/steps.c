/* SPDX-License-Identifier: MIT */
/* steps.c - a sink that writes a trace as tests/oracle/singlestep.c does with -s and -d
 *
 *	pugmark run --exec --sink steps.so:PREFIX ...		v:PREFIX: as with -v, too
 *
 * PREFIX.s.P.T: addresses of instructions, u64; PREFIX.d.P.T: lines "N PC KIND ADDRESS SIZE", N
 * instructions before it. P numbers process images, T a process's threads, both from 1 in the order
 * in which they appear. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pugmark/pugmark.h>

#define STREAMS 4096

struct one {
	FILE *insns, *refs;
	uint64_t pc, n;
	uint32_t pid;
	int thread;			/* of the image before it, not the first of a new one */
};

struct steps {
	char prefix[200];
	int values;
	struct one one[STREAMS];
	int image[STREAMS];		/* of each stream */
};

static void *create(const char *config, struct pm_err *err)
{
	struct steps *s = calloc(1, sizeof *s);

	s->values = !strncmp(config, "v:", 2);
	snprintf(s->prefix, sizeof s->prefix, "%s", config + 2 * s->values);
	return s;
}

/* Streams have numbers in the order in which they begin, but reach us in another one: their files
 * get their names at the end. */
static void begin(struct steps *s, struct one *o, const struct pm_stream *st)
{
	char path[300];

	o->pid = st->pid;
	snprintf(path, sizeof path, "%s.s.stream%u", s->prefix, st->index);
	o->insns = fopen(path, "w");
	snprintf(path, sizeof path, "%s.d.stream%u", s->prefix, st->index);
	o->refs = fopen(path, "w");
}

static void name(const struct steps *s, char which, int stream, int image, int thread)
{
	char from[300], to[300];

	snprintf(from, sizeof from, "%s.%c.stream%d", s->prefix, which, stream);
	snprintf(to, sizeof to, "%s.%c.%d.%d", s->prefix, which, image, thread);
	rename(from, to);
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct steps *s = self;
	struct one *o = &s->one[b->stream->index % STREAMS];

	if (!o->insns)
		begin(s, o, b->stream);
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *ev = pm_event_at(b, i);
		uint64_t pc = ev->addr;

		switch (ev->kind) {
		case PM_EV_THREAD:
			o->thread = 1;
			break;
		case PM_EV_INSN:
			o->pc = pc;
			o->n++;
			fwrite(&pc, 8, 1, o->insns);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			pc = ev->id == PM_NONE ? o->pc : pm_insn_at(b, ev->id)->pc;
			/* of an instruction that did not complete: behind, not of, the last that
			 * did */
			fprintf(o->refs, "%" PRIu64 " %" PRIx64 " %c %" PRIx64 " %u",
				o->n - (pc == o->pc), pc,
				ev->kind == PM_EV_READ	  ? 'r'
				: ev->kind == PM_EV_WRITE ? 'w'
							  : 'm',
				ev->addr, ev->size);
			if (s->values)
				fprintf(o->refs, " %" PRIx64, ev->value);
			fputc('\n', o->refs);
			break;
		}
	}
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct steps *s = self;

	for (int i = 0; i < STREAMS; i++) {
		struct one *o = &s->one[i];
		int image = 0, thread = 1;

		if (!o->insns)
			continue;
		if (fclose(o->insns) | fclose(o->refs)) {
			snprintf(err->msg, sizeof err->msg, "cannot write %s", s->prefix);
			return PM_ERR;
		}
		for (int k = 0; k <= i; k++) {
			const struct one *p = &s->one[k];

			if (!p->insns)
				continue;
			image += !p->thread;
			if (p->pid == o->pid && !p->thread)
				s->image[i] = image;
			if (p->pid == o->pid)
				thread = p->thread ? thread + 1 : 1;
		}
		name(s, 's', i, s->image[i], thread);
		name(s, 'd', i, s->image[i], thread);
	}
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	.abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .needs = PM_HAS_INSNS,
	.name = "steps", .about = "what a single-stepper writes",
	.create = create, .consume = consume, .finish = finish, .destroy = free,
};
