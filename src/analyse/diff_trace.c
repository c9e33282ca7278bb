/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/diff_trace.h"
#include "analyse/names.h"
#include "isa/mips/mips.h"
#include "isa/x86/disasm.h"
#include "trace/expand.h"
#include "trace/format.h"
#include "trace/pug_file.h"
#include "trace/sinks.h"

#define MOST_SHOWN	16		/* events, where they are no instructions */

/* An event that can be compared with one of the other side. */
struct diff_item {
	uint8_t kind, flags, len, isa;
	uint16_t size;
	uint8_t bytes[15];
	uint64_t addr, value;
	char *text;			/* of what is more than this: as dump has it */
};

struct diff_queue {
	struct diff_item *v;
	size_t first, n, cap;		/* v[first .. n) wait */
};

enum diff_state { DIFF_ACTIVE, DIFF_PUT_OFF, DIFF_PARTED, DIFF_FINISHED };

struct diff_stream {
	enum diff_state state;
	struct diff_queue waiting[2];
	struct diff_item recent[MOST_SHOWN];	/* the last ones that were the same, a ring */
	uint64_t shown_insns[2];	/* behind the difference */
	size_t cap_before, cap_after[2];
};

struct diff_reader {			/* one side */
	struct trace_diff *of;
	unsigned side;
	const char *path;
	struct pm_source src;
	const struct pm_format *format;
	struct pm_pipeline *p;
	struct pm_names names;
	uint64_t kind[PM_EV_COUNT];	/* events */
	uint64_t waiting;		/* events of all streams */
	bool ended;
};

struct trace_diff {
	struct diff_reader r[2];
	struct pm_diff_threads *to;
	struct diff_stream *stream;	/* as to->v */
	size_t cap, cap_stream;
	uint64_t kinds;			/* that are compared */
	uint32_t limit;
	bool sizes, values, bytes, first_pass;
};

/* ---- events -------------------------------------------------------------------------------- */

static uint64_t bit(enum pm_kind k)
{
	return 1ull << k;
}

/* The rest of these is in the batch: text has all of it. */
static bool is_more(enum pm_kind k)
{
	return k == PM_EV_UOP || k == PM_EV_BUS || k == PM_EV_REG_READ || k == PM_EV_REG_WRITE ||
	       k == PM_EV_OPAQUE || (k >= PM_EV_KERNEL && k != PM_EV_SWITCH);
}

/* One event as dump has it, but for its stream. */
static char *dump_text(const struct pm_batch *b, const struct pm_event *e)
{
	struct pm_buf line = { 0 };
	char *from, *text;

	pm_dump_event(&line, b, e);
	line.p[line.n - 1] = 0;
	from = strchr((char *)line.p, ' ');
	text = pm_strdup(from ? from + 1 : (char *)line.p);
	pm_buf_release(&line);
	return text;
}

/* Processes and threads by what they are, not by their numbers. */
static char *text_without_numbers(const struct pm_batch *b, const struct pm_event *e)
{
	const char *name = e->id < b->nrare ? b->rare[e->id].name : NULL;
	struct pm_buf text = { 0 };

	pm_buf_printf(&text, "%s%s%s", pm_kind_name(e->kind), name ? " " : "", name ? name : "");
	pm_buf_add(&text, "", 1);
	return (char *)text.p;
}

static struct diff_item item_of(const struct trace_diff *t, const struct pm_batch *b,
				const struct pm_event *e)
{
	struct diff_item i = { .kind = e->kind };

	if (e->kind == PM_EV_PROCESS || e->kind == PM_EV_EXEC || e->kind == PM_EV_THREAD) {
		i.text = text_without_numbers(b, e);
		return i;
	}
	/* a thread that learns its own number */
	if (e->kind == PM_EV_SYSRET && e->value &&
	    (e->value == b->stream->tid || e->value == b->stream->pid)) {
		i.text = pm_strdup(e->value == b->stream->tid ? "sysret its tid" :
				   "sysret its pid");
		return i;
	}
	if (is_more(e->kind)) {
		i.text = dump_text(b, e);
		return i;
	}
	i.flags = e->flags;
	i.addr = e->addr;
	i.size = t->sizes || e->kind == PM_EV_INSN ? e->size : 0;
	i.value = t->values || e->kind > PM_EV_MODIFY ? e->value : 0;
	if (e->kind == PM_EV_INSN && t->bytes && b->code && e->id < b->code->ninsn) {
		const struct pm_insn *in = b->code->insn + e->id;

		i.len = in->len <= sizeof i.bytes ? in->len : sizeof i.bytes;
		i.isa = in->isa;
		memcpy(i.bytes, in->bytes, i.len);
	}
	return i;
}

static bool same_item(const struct diff_item *a, const struct diff_item *b)
{
	if (a->kind != b->kind || a->flags != b->flags || a->size != b->size ||
	    a->addr != b->addr || a->value != b->value || a->len != b->len ||
	    !a->text != !b->text)
		return false;
	return !memcmp(a->bytes, b->bytes, a->len) && (!a->text || !strcmp(a->text, b->text));
}

/* ---- what is shown of a difference --------------------------------------------------------- */

static char *code_of(const struct diff_item *i)
{
	char text[200] = "";
	uint32_t w;

	if (pm_mips_word(i->isa, i->bytes, i->len, &w)) {
		mips_disasm(w, i->addr, ~0u, text, sizeof text);
	} else if (i->len && i->isa <= PM_ISA_X86_32) {
		x86_text(i->bytes, i->len, i->addr, i->isa == PM_ISA_X86_32, false, text,
			 sizeof text);
	}
	return *text ? pm_strdup(text) : NULL;
}

static char *place_of(struct pm_names *names, uint64_t pc)
{
	char function[300], line[300], both[620];
	const char *f = pm_name_of(names, pc, function, sizeof function);
	const char *l = pm_line_of(names, pc, line, sizeof line);

	if (!f && !l)
		return NULL;
	snprintf(both, sizeof both, "%s%s%s", f ? f : "", f && l ? "  " : "", l ? l : "");
	return pm_strdup(both);
}

static struct pm_diff_moment moment_of(struct pm_names *names, const struct diff_item *i,
				       uint64_t event, uint64_t insn)
{
	struct pm_diff_moment m = { .event = event, .insn = insn,
		.is_insn = i->kind == PM_EV_INSN };
	const struct pm_stream stream = { 0 };
	const struct pm_batch b = { .stream = &stream };
	const struct pm_event e = { .kind = i->kind, .flags = i->flags, .size = i->size,
		.id = PM_NONE, .addr = i->addr, .value = i->value };

	m.text = i->text ? pm_strdup(i->text) : dump_text(&b, &e);
	if (m.is_insn) {
		m.code = code_of(i);
		m.place = place_of(names, i->addr);
	}
	return m;
}

static void show_before(struct trace_diff *t, struct diff_stream *s, struct pm_diff_thread *th)
{
	const uint64_t n = th->events < MOST_SHOWN ? th->events : MOST_SHOWN;
	uint64_t first = th->events, insns = 0;

	while (first > th->events - n && insns < PM_DIFF_BEFORE)
		insns += s->recent[--first % MOST_SHOWN].kind == PM_EV_INSN;
	insns = th->insns - insns;
	for (uint64_t e = first; e < th->events; e++) {
		const struct diff_item *i = s->recent + e % MOST_SHOWN;

		insns += i->kind == PM_EV_INSN;
		pm_grow(th->before, th->nbefore, s->cap_before);
		th->before[th->nbefore++] = moment_of(&t->r[0].names, i, e,
						      insns ? insns - 1 : 0);
	}
}

static void show_after(struct trace_diff *t, struct diff_stream *s, struct pm_diff_thread *th,
		       unsigned side, const struct diff_item *i)
{
	const uint64_t n = th->nafter[side];
	uint64_t insn;

	if (n >= MOST_SHOWN || s->shown_insns[side] > PM_DIFF_AFTER)
		return;
	s->shown_insns[side] += i->kind == PM_EV_INSN;
	if (s->shown_insns[side] > PM_DIFF_AFTER)
		return;
	insn = th->insns + s->shown_insns[side];
	pm_grow(th->after[side], th->nafter[side], s->cap_after[side]);
	th->after[side][th->nafter[side]++] = moment_of(&t->r[side].names, i, th->events + n,
							insn ? insn - 1 : 0);
}

/* ---- waiting ------------------------------------------------------------------------------- */

static void release_item(struct diff_item *i)
{
	free(i->text);
	i->text = NULL;
}

static void empty_queue(struct trace_diff *t, unsigned side, struct diff_queue *q)
{
	t->r[side].waiting -= q->n - q->first;
	for (; q->first < q->n; q->first++)
		release_item(q->v + q->first);
	free(q->v);
	*q = (struct diff_queue){ 0 };
}

static void wait_for_other(struct trace_diff *t, unsigned side, struct diff_queue *q,
			   const struct diff_item *i)
{
	if (q->first == q->n) {
		q->first = q->n = 0;
	} else if (q->n == q->cap && q->first >= q->n / 2) {
		memmove(q->v, q->v + q->first, (q->n - q->first) * sizeof *q->v);
		q->n -= q->first;
		q->first = 0;
	}
	pm_grow(q->v, q->n, q->cap);
	q->v[q->n++] = *i;
	t->r[side].waiting++;
}

/* The two sides part here, or one of them has ended. */
static void part(struct trace_diff *t, struct diff_stream *s, struct pm_diff_thread *th)
{
	show_before(t, s, th);
	th->diverged = true;
	s->state = DIFF_PARTED;
	for (unsigned side = 0; side < 2; side++) {
		struct diff_queue *q = s->waiting + side;

		for (size_t i = q->first; i < q->n; i++)
			show_after(t, s, th, side, q->v + i);
		empty_queue(t, side, q);
	}
}

static void finish_stream(struct trace_diff *t, struct diff_stream *s)
{
	for (unsigned side = 0; side < 2; side++)
		empty_queue(t, side, s->waiting + side);
	s->state = DIFF_FINISHED;
}

/* Too much waits: the thread that waits for most has another turn, unless it is the only one. */
static void put_off(struct trace_diff *t)
{
	size_t active = 0, worst = 0;
	uint64_t most = 0;

	for (size_t i = 0; i < t->to->n; i++) {
		const struct diff_queue *q = t->stream[i].waiting;
		const uint64_t n = q[0].n - q[0].first + q[1].n - q[1].first;

		if (t->stream[i].state != DIFF_ACTIVE)
			continue;
		active++;
		if (n > most) {
			most = n;
			worst = i;
		}
	}
	if (active < 2)
		return;
	for (unsigned side = 0; side < 2; side++)
		empty_queue(t, side, t->stream[worst].waiting + side);
	t->stream[worst].state = DIFF_PUT_OFF;
}

static void compare(struct trace_diff *t, size_t at, unsigned side, struct diff_item i)
{
	struct diff_stream *s = t->stream + at;
	struct pm_diff_thread *th = t->to->v + at;
	struct diff_queue *other = s->waiting + !side;
	struct diff_item *o;

	if (s->state == DIFF_PARTED)
		show_after(t, s, th, side, &i);
	if (s->state != DIFF_ACTIVE) {
		release_item(&i);
		return;
	}
	if (other->first == other->n) {
		wait_for_other(t, side, s->waiting + side, &i);
		if (t->r[!side].ended && th->of[!side].there)
			part(t, s, th);
		else if (t->r[!side].ended)
			finish_stream(t, s);
		else if (t->r[0].waiting + t->r[1].waiting > t->limit)
			put_off(t);
		return;
	}
	o = other->v + other->first;
	if (!same_item(o, &i)) {
		wait_for_other(t, side, s->waiting + side, &i);
		part(t, s, th);
		return;
	}
	release_item(o);
	other->first++;
	t->r[!side].waiting--;
	o = s->recent + th->events % MOST_SHOWN;
	release_item(o);
	*o = i;
	th->events++;
	th->insns += i.kind == PM_EV_INSN;
}

/* ---- reading ------------------------------------------------------------------------------- */

static size_t thread_at(struct trace_diff *t, uint32_t index)
{
	while (t->to->n <= index) {
		pm_grow(t->to->v, t->to->n, t->cap);
		if (t->cap_stream < t->cap) {
			t->stream = pm_realloc(t->stream, t->cap * sizeof *t->stream);
			t->cap_stream = t->cap;
		}
		t->stream[t->to->n] = (struct diff_stream){ 0 };
		t->to->v[t->to->n] = (struct pm_diff_thread){ .index = (uint32_t)t->to->n };
		t->to->n++;
	}
	return index;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct diff_reader *r = self;
	struct trace_diff *t = r->of;
	const size_t at = thread_at(t, b->stream->index);
	struct pm_diff_thread *th = t->to->v + at;

	pm_names_learn(&r->names, b->code);
	th->of[r->side].there |= b->n > 0;
	th->of[r->side].pid = b->stream->pid;
	th->of[r->side].tid = b->stream->tid;
	if (b->stream->name && !th->of[r->side].name)
		th->of[r->side].name = pm_strdup(b->stream->name);
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = b->ev + i;

		if (t->first_pass && e->kind < PM_EV_COUNT) {
			r->kind[e->kind]++;
			th->of[r->side].events++;
			th->of[r->side].insns += e->kind == PM_EV_INSN;
		}
		if (e->kind < PM_EV_COUNT && t->kinds & bit(e->kind) &&
		    (t->stream[at].state == DIFF_ACTIVE ||
		     (t->stream[at].state == DIFF_PARTED && th->nafter[r->side] < MOST_SHOWN)))
			compare(t, at, r->side, item_of(t, b, e));
	}
	return PM_OK;
}

static const struct pm_sink_ops compare_ops = {
	.abi = PM_ABI, .name = "compare", .about = "one side of a comparison", .consume = consume,
};

static enum pm_status open_side(struct diff_reader *r, const char *format, struct pm_err *err)
{
	err->file = r->path;
	if (pm_trace_open(r->path, format, &r->src, &r->format, err))
		return PM_ERR;
	r->p = pm_pipeline_new();
	r->ended = false;
	pm_pipeline_sink(r->p, &compare_ops, r);
	return pm_pipeline_start(r->p, r->src.facts, r->format->plural, err);
}

static void close_side(struct diff_reader *r)
{
	if (r->src.ops)
		r->src.ops->close(r->src.self);
	pm_pipeline_free(r->p);
	r->src = (struct pm_source){ 0 };
	r->p = NULL;
}

static enum pm_status read_some(struct diff_reader *r, struct pm_err *err)
{
	const struct pm_batch *b;
	enum pm_status st;

	err->file = r->path;
	st = r->src.ops->next(r->src.self, &b, err);
	if (st == PM_OK)
		return pm_pipeline_push(r->p, b, err);
	if (st == PM_ERR)
		return PM_ERR;
	r->ended = true;
	return pm_pipeline_finish(r->p, NULL, err);
}

static bool any_in(const struct trace_diff *t, enum diff_state state)
{
	for (size_t i = 0; i < t->to->n; i++)
		if (t->stream[i].state == state)
			return true;
	return false;
}

/* Both files once. */
static enum pm_status pass(struct trace_diff *t, struct pm_err *err)
{
	while (!t->r[0].ended || !t->r[1].ended) {
		/* the side for which less waits is behind */
		unsigned side = t->r[0].ended ? 1 : t->r[1].ended ? 0 :
				t->r[0].waiting > t->r[1].waiting;

		if (!t->first_pass && !any_in(t, DIFF_ACTIVE))
			break;
		if (read_some(t->r + side, err))
			return PM_ERR;
	}
	for (size_t i = 0; i < t->to->n; i++) {
		struct diff_stream *s = t->stream + i;
		struct pm_diff_thread *th = t->to->v + i;

		if (s->state != DIFF_ACTIVE)
			continue;
		if (th->of[0].there && th->of[1].there &&
		    (s->waiting[0].first < s->waiting[0].n ||
		     s->waiting[1].first < s->waiting[1].n))
			part(t, s, th);
		else
			finish_stream(t, s);
	}
	return PM_OK;
}

/* Threads that were put off begin anew. */
static void begin_again(struct trace_diff *t)
{
	for (size_t i = 0; i < t->to->n; i++) {
		struct diff_stream *s = t->stream + i;

		if (s->state != DIFF_PUT_OFF) {
			s->state = DIFF_FINISHED;
			continue;
		}
		s->state = DIFF_ACTIVE;
		t->to->v[i].events = t->to->v[i].insns = 0;
		for (unsigned k = 0; k < MOST_SHOWN; k++)
			release_item(s->recent + k);
	}
}

/* ---- all of it ----------------------------------------------------------------------------- */

/* What both hold, of what is wanted. */
static enum pm_status choose_kinds(struct trace_diff *t, const struct pm_diff_trace_opts *o,
				   struct pm_err *err)
{
	static const struct { uint32_t fact; uint64_t kinds; } needs[] = {
		{ PM_HAS_INSNS, 1ull << PM_EV_INSN },
		{ PM_HAS_REFS, 1ull << PM_EV_READ | 1ull << PM_EV_WRITE | 1ull << PM_EV_MODIFY },
		{ PM_HAS_BRANCHES, 1ull << PM_EV_BRANCH },
		{ PM_HAS_REPS, 1ull << PM_EV_REP_ITER | 1ull << PM_EV_REP_END },
		{ PM_HAS_UOPS, 1ull << PM_EV_UOP },
		{ PM_HAS_LINES, 1ull << PM_EV_LINE },
		{ PM_HAS_BUS, 1ull << PM_EV_BUS },
		{ PM_HAS_KERNEL, 1ull << PM_EV_KERNEL },
	};
	const uint32_t facts = t->r[0].src.facts & t->r[1].src.facts;
	const uint64_t rest = ~((1ull << PM_EV_REG_READ) - 1);

	t->kinds = t->r[0].format == t->r[1].format ? rest : 0;
	for (size_t i = 0; i < NR(needs); i++) {
		t->kinds &= ~needs[i].kinds;
		if (facts & needs[i].fact)
			t->kinds |= needs[i].kinds;
	}
	t->kinds &= ~(bit(PM_EV_TIME) | bit(PM_EV_NONE));
	if (o->kinds)
		t->kinds &= o->kinds;
	t->sizes = facts & PM_HAS_SIZES;
	t->values = facts & PM_HAS_VALUES;
	t->bytes = facts & PM_HAS_BYTES;
	if (t->kinds)
		return PM_OK;
	err->file = t->r[1].path;
	return pm_fail_file(err, "has no kind of event that %s has, too%s", t->r[0].path,
			    o->kinds ? " and that is asked for" : "");
}

static void describe(struct pm_diff_side *s, struct diff_reader *r)
{
	char names[300];

	s->file = r->path;
	s->kind = "trace";
	pm_diff_fact(s, "format", r->format->name, false);
	pm_fact_names(r->src.facts, names, sizeof names);
	pm_diff_fact(s, "contents", names, false);
	if (!strcmp(r->format->name, "pug")) {
		const char *info = pug_read_info(pm_trace_reader(&r->src));

		for (; *info; info += strlen(info) + 1) {
			const char *eq = strchr(info, '=');
			char *name;

			if (!eq)
				continue;
			name = pm_strndup(info, (size_t)(eq - info));
			pm_diff_fact(s, name, eq + 1, false);
			free(name);
		}
	}
}

/* What has been counted; and whose code it was. */
static void count_side(struct pm_diff_side *s, struct diff_reader *r,
		       const struct pm_diff_threads *to)
{
	struct pm_diff_table *threads = pm_diff_table(s, "threads", true);
	const unsigned insns = pm_diff_column(s, threads, "instructions");
	const unsigned events = pm_diff_column(s, threads, "events");
	uint64_t sum = 0;
	char key[48];

	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		sum += r->kind[k];
	pm_diff_total(s, "instructions", r->kind[PM_EV_INSN]);
	pm_diff_total(s, "events", sum);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		if (k != PM_EV_INSN && pm_kind_name(k)) {
			char name[48];

			snprintf(name, sizeof name, "events.%.40s", pm_kind_name(k));
			pm_diff_total(s, name, r->kind[k]);
		}
	for (size_t i = 0; i < to->n; i++) {
		const struct pm_diff_thread *th = to->v + i;
		size_t row;

		if (!th->of[r->side].there)
			continue;
		snprintf(key, sizeof key, "thread %u", th->index);
		row = pm_diff_add_row(s, threads, key, NULL, i);
		pm_diff_set_u64(threads, row, insns, th->of[r->side].insns);
		pm_diff_set_u64(threads, row, events, th->of[r->side].events);
	}
	for (size_t i = 0; i < r->names.n; i++) {
		const char *base = strrchr(r->names.object[i].path, '/');
		char name[80];

		snprintf(name, sizeof name, "build id of %.60s",
			 base ? base + 1 : r->names.object[i].path);
		if (r->names.object[i].build_id)
			pm_diff_fact(s, name, r->names.object[i].build_id, false);
	}
}

enum pm_status pm_diff_traces(const char *const path[2], const struct pm_diff_trace_opts *o,
			      struct pm_diff_side *a, struct pm_diff_side *b,
			      struct pm_diff_threads *to, struct pm_err *err)
{
	struct pm_diff_side *const side[2] = { a, b };
	struct trace_diff t = { .to = to, .limit = o->waiting ? o->waiting : PM_DIFF_WAITING };
	enum pm_status st = PM_OK;

	for (unsigned i = 0; i < 2; i++)
		t.r[i] = (struct diff_reader){ .of = &t, .side = i, .path = path[i] };
	for (t.first_pass = true; !st; t.first_pass = false) {
		to->passes++;
		for (unsigned i = 0; i < 2 && !st; i++)
			st = open_side(t.r + i, o->format[i], err);
		for (unsigned i = 0; i < 2 && !st && t.first_pass; i++)
			describe(side[i], t.r + i);
		if (!st && t.first_pass)
			st = choose_kinds(&t, o, err);
		if (!st)
			st = pass(&t, err);
		for (unsigned i = 0; i < 2; i++)
			close_side(t.r + i);
		for (unsigned i = 0; i < 2 && !st && t.first_pass; i++)
			count_side(side[i], t.r + i, to);
		if (st || !any_in(&t, DIFF_PUT_OFF))
			break;
		begin_again(&t);
	}
	for (size_t i = 0; i < to->n; i++) {
		struct pm_diff_thread *th = to->v + i;

		to->differ |= th->diverged || th->of[0].there != th->of[1].there;
		for (unsigned k = 0; k < 2; k++)
			empty_queue(&t, k, t.stream[i].waiting + k);
		for (unsigned k = 0; k < MOST_SHOWN; k++)
			release_item(t.stream[i].recent + k);
	}
	for (unsigned i = 0; i < 2; i++)
		pm_names_release(&t.r[i].names);
	free(t.stream);
	return st;
}

static void release_moments(struct pm_diff_moment *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(m[i].text);
		free(m[i].code);
		free(m[i].place);
	}
	free(m);
}

void pm_diff_threads_release(struct pm_diff_threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct pm_diff_thread *th = t->v + i;

		release_moments(th->before, th->nbefore);
		for (unsigned k = 0; k < 2; k++) {
			release_moments(th->after[k], th->nafter[k]);
			free(th->of[k].name);
		}
	}
	free(t->v);
	*t = (struct pm_diff_threads){ 0 };
}
