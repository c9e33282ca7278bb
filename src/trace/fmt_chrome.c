/* SPDX-License-Identifier: MIT */
/* fmt_chrome.c - trace-event JSON for chrome://tracing, ui.perfetto.dev and speedscope
 *
 * {"displayTimeUnit":"ns","traceEvents":[...]}: a row per stream (pid, tid). Processes are named
 * after the programs that they execute, system calls as Linux does. Rare events are instants ("i");
 * a kernel schedule record begins a slice ("X") of the task that runs, a system call is one from
 * its entry to its exit. Calls of functions are slices, too (call_stack.h), but not those of fewer
 * than `min=N` instructions (1000): they are nine tenths and more of all calls, a slice takes 130
 * bytes, and a timeline is never wide enough to show one. What is frequent - instructions,
 * references, branches - becomes counters ("C"), one point per `every=N` instructions (10000).
 * Times are microseconds with three decimals: the trace's nanoseconds or cycles, else instructions
 * of all streams together, as if each took a nanosecond. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/result.h"
#include "isa/x86/syscall_names.h"
#include "trace/call_stack.h"
#include "trace/text.h"

struct chrome_slice {			/* what a stream is doing */
	uint64_t begin;
	char name[48];
	bool open;
};

struct chrome_writer {
	struct pm_plain w;
	bool begun, timed, any, calls;
	uint64_t min;			/* instructions of a call that is shown */
	const struct pm_namer *namer;	/* NULL: functions have no names */
	struct {			/* the object that was named last, and its number */
		const struct pm_code *code;
		uint32_t epoch, object, number;
	} last;
	struct pm_buf *out;		/* where calls go that end */
	uint64_t now, every, next, insns, reads, writes, branches, taken;
	struct chrome_stream {
		struct chrome_slice call;
		struct pm_call_stack calls;
		struct chrome_writer *writer;
		bool named;
		uint8_t isa;		/* of its last instruction */
		uint64_t pid, tid;
	} **stream;			/* calls remember where they are */
	size_t nstream;
	struct pm_map processes;	/* those that have a name */
	struct chrome_slice task;		/* the kernel's schedule has one row of its own */
	uint64_t pid;
	char *program;			/* that was run; NULL: not known */
};

static void *chrome_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct chrome_writer *w;
	uint64_t every = 10000, min = 1000;

	if (pm_fmt_options_check(o->options, "every min", err) != PM_OK ||
	    pm_fmt_option_insns(o->options, "every", 1, &every, err) != PM_OK ||
	    pm_fmt_option_insns(o->options, "min", 0, &min, err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->min = min;
	w->namer = o->namer;
	w->calls = o->facts & PM_HAS_INSNS && o->facts & PM_HAS_BRANCHES;
	w->w.out = out;
	w->every = every;
	w->timed = o->facts & PM_HAS_TIME;
	for (size_t i = 0; o->info && o->info[i] && o->info[i + 1]; i += 2)
		if (!strcmp(o->info[i], "program") && *o->info[i + 1])
			w->program = pm_strdup(o->info[i + 1]);
	return w;
}

/* The common beginning of an event: name, phase, time, row. */
static void head(struct chrome_writer *w, struct pm_buf *b, const char *name, const char *cat,
		 char ph, uint64_t ts, uint64_t pid, uint64_t tid)
{
	pm_buf_printf(b, "%s{\"name\":", w->any ? ",\n" : "\n");
	pm_json_string(b, name);
	pm_buf_printf(b, ",\"cat\":\"%s\",\"ph\":\"%c\",\"ts\":%llu.%03u,\"pid\":%llu,\"tid\":%llu",
		      cat, ph, (unsigned long long)(ts / 1000), (unsigned)(ts % 1000),
		      (unsigned long long)pid, (unsigned long long)tid);
	w->any = true;
}

static void put_name(struct chrome_writer *w, struct pm_buf *b, const char *what, const char *name,
		     uint64_t pid, uint64_t tid)
{
	head(w, b, what, "meta", 'M', 0, pid, tid);
	pm_buf_printf(b, ",\"args\":{\"name\":");
	pm_json_string(b, name);
	pm_buf_printf(b, "}}");
}

/* A slice that ends now. Its object stays open. */
static void put_complete(struct chrome_writer *w, struct pm_buf *b, const char *name,
			 const char *cat, uint64_t begin, uint64_t pid, uint64_t tid)
{
	uint64_t dur = w->now - begin;

	head(w, b, name, cat, 'X', begin, pid, tid);
	pm_buf_printf(b, ",\"dur\":%llu.%03u", (unsigned long long)(dur / 1000),
		      (unsigned)(dur % 1000));
}

static void put_slice(struct chrome_writer *w, struct pm_buf *b, struct chrome_slice *s,
		      const char *cat, uint64_t pid, uint64_t tid)
{
	if (!s->open)
		return;
	s->open = false;
	put_complete(w, b, s->name, cat, s->begin, pid, tid);
	pm_buf_printf(b, "}");
}

static void counters(struct chrome_writer *w, struct pm_buf *b, uint64_t pid)
{
	head(w, b, "events", "count", 'C', w->now, pid, 0);
	pm_buf_printf(b,
		      ",\"args\":{\"instructions\":%llu,\"reads\":%llu,\"writes\":%llu,"
		      "\"branches\":%llu,"
		      "\"taken\":%llu}}",
		      (unsigned long long)w->insns, (unsigned long long)w->reads,
		      (unsigned long long)w->writes, (unsigned long long)w->branches,
		      (unsigned long long)w->taken);
	w->insns = w->reads = w->writes = w->branches = w->taken = 0;
}

static void put_call(void *ctx, const struct pm_call *c)
{
	const struct chrome_stream *st = ctx;
	struct chrome_writer *w = st->writer;
	const uint64_t insns = st->calls.insns - c->insns;
	const char *name = NULL;
	char buf[256];

	if (insns < w->min)
		return;
	if (w->namer && c->object != PM_NONE)
		name = w->namer->function(w->namer->self, c->object, c->pc, buf, sizeof buf);
	if (!name) {
		snprintf(buf, sizeof buf, "0x%llx", (unsigned long long)c->pc);
		name = buf;
	}
	put_complete(w, w->out, name, c->handler ? "signal" : "call", c->begin, st->pid, st->tid);
	pm_buf_printf(w->out, ",\"args\":{\"instructions\":%llu}}", (unsigned long long)insns);
}

static struct chrome_stream *stream_of(struct chrome_writer *w, const struct pm_stream *s)
{
	struct chrome_stream *st;

	if (s->index >= w->nstream) {
		size_t n = s->index + 8;

		w->stream = pm_realloc(w->stream, n * sizeof *w->stream);
		memset(w->stream + w->nstream, 0, (n - w->nstream) * sizeof *w->stream);
		w->nstream = n;
	}
	if (!w->stream[s->index]) {
		st = w->stream[s->index] = pm_alloc(sizeof *st);
		st->writer = w;
		st->calls = (struct pm_call_stack){ .ended = put_call, .ctx = st };
	}
	return w->stream[s->index];
}

/* The namer's number of what @e, an instruction, belongs to; PM_NONE: it has none. */
static uint32_t object_of(struct chrome_writer *w, const struct pm_batch *b,
			  const struct pm_event *e)
{
	const struct pm_code *k = b->code;
	uint32_t object = k && e->id < k->ninsn ? k->insn[e->id].object : PM_NONE;

	if (!w->namer || !k || object >= k->nobject)
		return PM_NONE;
	if (w->last.code != k || w->last.epoch != k->epoch || w->last.object != object) {
		w->last.code = k;
		w->last.epoch = k->epoch;
		w->last.object = object;
		w->last.number = w->namer->object(w->namer->self, k->object + object);
	}
	return w->last.number;
}

static void follow_calls(struct chrome_writer *w, struct chrome_stream *st,
			 const struct pm_batch *b, const struct pm_event *e, uint64_t time)
{
	struct pm_call *c;

	pm_call_stack_event(&st->calls, b, e, time);
	if (e->kind != PM_EV_INSN)
		return;
	c = st->calls.call + st->calls.n - 1;
	if (c->object == PM_NONE && c->pc == e->addr)
		c->object = object_of(w, b, e);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void name_process(struct chrome_writer *w, struct pm_buf *b, const char *path, uint64_t pid,
			 uint64_t tid)
{
	char name[300];

	snprintf(name, sizeof name, "%.250s %llu", base_of(path), (unsigned long long)pid);
	put_name(w, b, "process_name", name, pid, tid);
}

static void rare(struct chrome_writer *w, struct pm_buf *b, const struct pm_batch *batch,
		 const struct pm_event *e, uint64_t pid, uint64_t tid, struct chrome_stream *st)
{
	const struct pm_rare *r = e->id < batch->nrare && e->kind >= PM_EV_KERNEL &&
						  e->kind <= PM_EV_MARKER
					  ? &batch->rare[e->id]
					  : NULL;
	const char *called;
	char name[64];

	/* another program, or what runs below a handler: the system call does not go on */
	if (e->kind == PM_EV_EXEC || e->kind == PM_EV_SIGNAL || e->kind == PM_EV_SIGRETURN ||
	    e->kind == PM_EV_EXIT)
		put_slice(w, b, &st->call, "syscall", pid, tid);
	/* a process has the name of the program that it executes */
	if ((e->kind == PM_EV_PROCESS || e->kind == PM_EV_EXEC) && r && r->name && *r->name)
		name_process(w, b, r->name, pid, tid);
	if (e->kind == PM_EV_KERNEL && r && r->code == PM_KERNEL_SCHEDULE) {
		put_slice(w, b, &w->task, "schedule", 0, 0);
		w->task = (struct chrome_slice){ .begin = w->now, .open = true };
		snprintf(w->task.name, sizeof w->task.name, "task %llx",
			 (unsigned long long)r->arg[0]);
		return;
	}
	if (e->kind == PM_EV_SYSCALL) {
		put_slice(w, b, &st->call, "syscall", pid, tid);
		st->call = (struct chrome_slice){ .begin = w->now, .open = true };
		called = st->isa == PM_ISA_X86_64 || st->isa == PM_ISA_X86_32
				 ? x86_syscall_name(e->value, st->isa == PM_ISA_X86_32) : NULL;
		if (called)
			snprintf(st->call.name, sizeof st->call.name, "%s", called);
		else
			snprintf(st->call.name, sizeof st->call.name, "syscall %llu",
				 (unsigned long long)e->value);
		return;
	}
	if (e->kind == PM_EV_SYSRET) {
		put_slice(w, b, &st->call, "syscall", pid, tid);
		return;
	}
	if (e->kind == PM_EV_KERNEL && r)
		snprintf(name, sizeof name, "kernel %c", (char)r->code);
	else
		snprintf(name, sizeof name, "%s", pm_kind_name((enum pm_kind)e->kind));
	head(w, b, e->kind == PM_EV_MARKER && r && r->name ? r->name : name, "event", 'i', w->now,
	     pid, tid);
	pm_buf_printf(b, ",\"s\":\"t\",\"args\":{\"addr\":\"0x%llx\",\"value\":\"0x%llx\"",
		      (unsigned long long)e->addr, (unsigned long long)e->value);
	for (unsigned i = 0; r && i < r->nargs && i < 8; i++)
		pm_buf_printf(b, ",\"arg%u\":\"0x%llx\"", i, (unsigned long long)r->arg[i]);
	if (r && r->name) {
		pm_buf_printf(b, ",\"name\":");
		pm_json_string(b, r->name);
	}
	pm_buf_printf(b, "}}");
}

/* Of the stream, and of its process if it has none yet. */
static void name_stream(struct chrome_writer *w, struct pm_buf *b, const struct pm_stream *s,
			struct chrome_stream *st)
{
	char name[48];
	bool fresh;

	st->named = true;
	st->pid = s->pid ? s->pid : 1;
	st->tid = s->tid ? s->tid : s->index + 1;
	if (s->tid)
		snprintf(name, sizeof name, "%s %llu",
			 st->pid == st->tid ? "first thread" : "thread",
			 (unsigned long long)st->tid);
	else
		snprintf(name, sizeof name, "stream %u", s->index);
	pm_map_put(&w->processes, st->pid, &fresh);
	if (fresh && w->program && !s->name)
		name_process(w, b, w->program, st->pid, st->tid);
	else if (fresh)
		put_name(w, b, "process_name", s->name ? s->name : "trace", st->pid, st->tid);
	put_name(w, b, "thread_name", s->name ? s->name : name, st->pid, st->tid);
}

static enum pm_status chrome_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct chrome_writer *w = self;
	struct chrome_stream *st = stream_of(w, b->stream);
	struct pm_buf out = { 0 };
	enum pm_status s;

	if (!w->begun) {
		w->begun = true;
		pm_buf_printf(&out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	}
	if (!st->named)
		name_stream(w, &out, b->stream, st);
	w->out = &out;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];

		if (w->calls)
			follow_calls(w, st, b, e, w->now);
		switch (e->kind) {
		case PM_EV_INSN:
			w->insns++;
			if (b->code && e->id < b->code->ninsn)
				st->isa = b->code->insn[e->id].isa;
			if (!w->timed)
				w->now++;
			if (++w->next == w->every) {
				w->next = 0;
				counters(w, &out, st->pid);
			}
			break;
		case PM_EV_READ: w->reads++; break;
		case PM_EV_WRITE: w->writes++; break;
		case PM_EV_MODIFY: w->reads++; w->writes++; break;
		case PM_EV_BRANCH: w->branches++; w->taken += e->flags & PM_BR_TAKEN; break;
		case PM_EV_TIME:
			if (w->timed && e->value > w->now)
				w->now = e->value;
			break;
		case PM_EV_KERNEL ... PM_EV_SWITCH: case PM_EV_MARKER: case PM_EV_LOST:
			rare(w, &out, b, e, st->pid, st->tid, st);
			break;
		case PM_EV_OPAQUE:
			break;
		default:
			w->w.dropped[e->kind < PM_EV_COUNT ? e->kind : 0]++;
		}
	}
	s = pm_output_write(w->w.out, out.p, out.n, err);
	pm_buf_release(&out);
	return s;
}

static enum pm_status chrome_finish(void *self, struct pm_err *err)
{
	struct chrome_writer *w = self;
	struct pm_buf out = { 0 };
	enum pm_status s;

	if (!w->begun)
		pm_buf_printf(&out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	put_slice(w, &out, &w->task, "schedule", 0, 0);
	/* calls that never returned: exit, exec, or the trace's end */
	w->out = &out;
	for (size_t i = 0; i < w->nstream; i++) {
		struct chrome_stream *st = w->stream[i];

		if (!st)
			continue;
		put_slice(w, &out, &st->call, "syscall", st->pid, st->tid);
		pm_call_stack_end(&st->calls);
	}
	if (w->insns || w->reads || w->writes)
		counters(w, &out, 1);
	pm_buf_printf(&out, "\n]}\n");
	s = pm_output_write(w->w.out, out.p, out.n, err);
	pm_buf_release(&out);
	return s;
}

static void chrome_free(void *self)
{
	struct chrome_writer *w = self;

	if (w) {
		for (size_t i = 0; i < w->nstream; i++) {
			if (w->stream[i])
				pm_call_stack_release(&w->stream[i]->calls);
			free(w->stream[i]);
		}
		free(w->stream);
		free(w->program);
		pm_map_release(&w->processes);
	}
	free(w);
}

static const struct pm_writer_ops chrome_write_ops = {
	chrome_create, chrome_write, chrome_finish, chrome_free, pm_plain_dropped
};

const struct pm_format pm_fmt_chrome = {
	.name = "chrome", .about = "trace-event JSON for Chrome, Perfetto, speedscope (write only)",
	.options = "every=N  instructions between two points of a counter (10000)\n"
		   "min=N  leave out calls of fewer than N instructions (1000)",
	.plural = "Chrome traces", .suffixes = ".json",
	.has = PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_KERNEL | PM_HAS_THREADS,
	.write = &chrome_write_ops,
};
