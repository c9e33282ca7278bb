/* SPDX-License-Identifier: MIT */
/* fmt_simpoint.c - basic-block vectors for SimPoint: one interval a line, "T:id:count :id:count
 * ..."
 *
 * id counts from 1; count = executions of the block times its instructions. '#' starts a comment.
 * Written: one blank behind each pair as gem5 does, ids in order of first execution; an interval
 * ends with the first block that makes it full, the excess counts for the next (gem5's rule). The
 * last, partial interval is left out unless `keep` is given; `interval=N` instructions, default
 * 100 million. A vector has no order, so reading gives nothing that another format could hold. */
#include <inttypes.h>
#include <stdlib.h>

#include "trace/text.h"

enum { SP_PAIR = 2, SP_END, SP_COMMENT };	/* flags of the opaque events; SP_END: line feed */

struct sp_reader {
	struct pm_input *in;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t line;
	bool started, inside;		/* inside: behind a T */
};

static void *sp_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err)
{
	struct sp_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	r->in = in;
	r->line = 1;
	*facts = 0;
	return r;
}

static void sp_close(void *self)
{
	struct sp_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

/* One element at p: how many bytes it took, 0 if it needs more input, -1 if it makes no sense. */
static int sp_element(struct sp_reader *r, const uint8_t *p, const uint8_t *end, bool eof)
{
	const uint8_t *s = p;
	uint64_t v[2] = { 0, 0 };

	switch (*p) {
	case ' ': case '\t': case '\r':
		return 1;
	case '\n':
		pm_ev_add(&r->b, PM_EV_OPAQUE, SP_END, 0, 0, r->inside);
		r->inside = false;
		r->line++;
		return 1;
	case '#':
		s = memchr(p, '\n', (size_t)(end - p));
		if (!s && !eof)
			return end - p > PM_LINE_MAX ? -1 : 0;
		if (!s)
			s = end;
		if (s - p > PM_LINE_MAX)
			return -1;
		pm_ev_add(&r->b, PM_EV_OPAQUE, SP_COMMENT, pm_opaque_size((size_t)(s - p)),
			  pm_builder_bytes(&r->b, p, (size_t)(s - p)),
			  (uint64_t)(s - p));
		return (int)(s - p);
	case 'T':
		if (r->inside)
			return -1;
		r->inside = true;
		return 1;
	case ':':
		if (!r->inside)
			return -1;
		for (int k = 0; k < 2; k++) {
			const uint8_t *start;

			if (s == end)
				return eof ? -1 : 0;
			if (*s++ != ':')
				return -1;
			for (start = s; s < end && *s >= '0' && *s <= '9'; s++)
				;
			if (s == end && !eof)
				return 0;
			if (!pm_dec((const char *)start, (size_t)(s - start), &v[k]))
				return -1;
		}
		if (!v[0] || v[0] > UINT32_MAX ||
		    (s < end && *s != ' ' && *s != '\t' && *s != '\n' && *s != '\r' && *s != ':' &&
		     *s != '#'))
			return -1;
		pm_ev_add(&r->b, PM_EV_OPAQUE, SP_PAIR, 0, 0, v[1])->id = (uint32_t)v[0];
		return (int)(s - p);
	}
	return -1;
}

static enum pm_status sp_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct sp_reader *r = self;
	const uint8_t *w, *p, *end;
	size_t got, want = PM_WINDOW;

	pm_builder_reset(&r->b, &r->stream, NULL);
	for (;;) {
		w = pm_input_peek(r->in, want, &got, err);
		if (!w || !got)
			return pm_failed(err) ? PM_ERR : PM_END;
		p = w;
		end = w + got;
		if (!r->started) {
			const uint8_t *pair = memmem(w, got, "   :", 4);

			r->started = true;
			pm_opaque_header(&r->b, "simpoint", pair ? "3" : "1", 1);
		}
		while (p < end && r->b.b.n < PM_BATCH_EVENTS) {
			int n = sp_element(r, p, end, got < want);

			if (n < 0)
				return pm_fail_text(err, r->line, "'T', ':ID:COUNT' or a comment",
						    (const char *)p, (size_t)(end - p) < 16 ?
						    (size_t)(end - p) : 16);
			if (!n)
				break;
			p += n;
		}
		pm_input_skip(r->in, (size_t)(p - w));
		if (r->b.b.n)
			break;
		/* nothing but blanks so far, or an element longer than the window */
		if (p == w)
			want = 2 * PM_WINDOW;
	}
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct sp_writer {
	struct pm_plain w;
	unsigned blanks;
	bool keep, have, ended, line_open;
	uint64_t interval, count, drift, next_pc;
	uint64_t vectors;		/* that have been written */
	uint32_t stream;
	struct pm_map ids;		/* block's pc -> id */
	uint64_t *weight;		/* by id: instructions in this interval */
	uint32_t *touched;		/* ids of this interval */
	size_t nid, cap_weight, ntouched, cap_touched;
	uint32_t now;			/* id of the block that runs */
};

static void *sp_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct sp_writer *w;
	uint64_t interval = 100000000;
	char buf[24];

	if (pm_fmt_options_check(o->options, "interval keep", err) != PM_OK ||
	    pm_fmt_option_insns(o->options, "interval", 1, &interval, err) != PM_OK)
		return NULL;
	/* basic-block vectors themselves offer no facts, and may be written again */
	if (o->facts && !(o->facts & PM_HAS_INSNS)) {
		pm_fail_file(err, "writing basic-block vectors needs instruction boundaries, and "
				  "the input "
				  "holds none");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->interval = interval;
	w->blanks = 1;
	w->keep = pm_fmt_option(o->options, "keep", buf, sizeof buf);
	return w;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static enum pm_status sp_vector(struct sp_writer *w, struct pm_err *err)
{
	struct pm_buf line = { 0 };
	enum pm_status st;

	qsort(w->touched, w->ntouched, sizeof *w->touched, by_id);
	pm_buf_add(&line, "T", 1);
	for (size_t i = 0; i < w->ntouched; i++) {
		char pair[48], *p = pair;

		*p++ = ':';
		p = pm_put_dec(p, w->touched[i]);
		*p++ = ':';
		p = pm_put_dec(p, w->weight[w->touched[i]]);
		*p++ = ' ';
		pm_buf_add(&line, pair, (size_t)(p - pair));
		w->weight[w->touched[i]] = 0;
	}
	pm_buf_add(&line, "\n", 1);
	w->ntouched = 0;
	w->vectors++;
	st = pm_output_write(w->w.out, line.p, line.n, err);
	pm_buf_release(&line);
	return st;
}

static enum pm_status sp_insn(struct sp_writer *w, const struct pm_event *e, struct pm_err *err)
{
	if (!w->have || w->ended || e->addr != w->next_pc) {
		bool fresh;
		uint64_t *id;

		if (w->have && w->count + w->drift >= w->interval) {
			if (sp_vector(w, err) == PM_ERR)
				return PM_ERR;
			w->drift = w->count + w->drift - w->interval;
			w->count = 0;
		}
		id = pm_map_put(&w->ids, e->addr, &fresh);
		if (fresh) {
			*id = ++w->nid;
			if (w->nid >= UINT32_MAX)
				return pm_fail_file(err, "more than 2^32 basic blocks");
			if (w->nid >= w->cap_weight) {
				size_t cap = w->cap_weight ? 2 * w->cap_weight : 1024;

				w->weight = pm_realloc(w->weight, cap * sizeof *w->weight);
				memset(w->weight + w->cap_weight, 0,
				       (cap - w->cap_weight) * sizeof *w->weight);
				w->cap_weight = cap;
			}
		}
		w->now = (uint32_t)*id;
	}
	w->have = true;
	w->ended = false;
	w->next_pc = e->addr + e->size;
	if (!w->weight[w->now]++) {
		pm_grow(w->touched, w->ntouched, w->cap_touched);
		w->touched[w->ntouched++] = w->now;
	}
	w->count++;
	return PM_OK;
}

static enum pm_status sp_opaque(struct sp_writer *w, const struct pm_batch *b,
				const struct pm_event *e, struct pm_err *err)
{
	char text[64], *p = text;
	size_t n;
	const uint8_t *d = pm_opaque_is(b, e, "simpoint", &n);

	if (d) {
		w->w.native = true;
		w->blanks = n && *d == '3' ? 3 : 1;
		return PM_OK;
	}
	if (!w->w.native || e->flags == 1)	/* 1: somebody's header */
		return PM_OK;
	if (e->flags == SP_COMMENT)
		return e->addr <= b->narena && b->narena - e->addr >= e->value ?
		       pm_output_write(w->w.out, b->arena + e->addr, e->value, err) : PM_OK;
	if (e->flags == SP_END) {
		if (e->value && !w->line_open)
			*p++ = 'T';
		w->line_open = false;
		*p++ = '\n';
	} else if (e->flags == SP_PAIR) {
		if (!w->line_open)
			*p++ = 'T';
		w->line_open = true;
		*p++ = ':';
		p = pm_put_dec(p, e->id);
		*p++ = ':';
		p = pm_put_dec(p, e->value);
		memset(p, ' ', w->blanks);
		p += w->blanks;
	}
	return pm_output_write(w->w.out, text, (size_t)(p - text), err);
}

static enum pm_status sp_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct sp_writer *w = self;

	if (w->have && b->stream->index != w->stream)
		w->ended = true;
	w->stream = b->stream->index;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		enum pm_status st = PM_OK;

		if (e->kind == PM_EV_INSN)
			st = w->w.native ? PM_OK : sp_insn(w, e, err);
		else if (e->kind == PM_EV_BRANCH)
			w->ended = true;
		else if (e->kind == PM_EV_OPAQUE)
			st = sp_opaque(w, b, e, err);
		else
			w->w.dropped[e->kind]++;
		if (st == PM_ERR)
			return st;
	}
	return PM_OK;
}

static enum pm_status sp_finish(void *self, struct pm_err *err)
{
	struct sp_writer *w = self;

	if (w->line_open)
		return pm_output_write(w->w.out, "\n", 1, err);
	if (w->have && w->count && (w->keep || w->count + w->drift >= w->interval))
		return sp_vector(w, err);
	if (w->have && !w->vectors)
		return pm_fail_file(err, "the trace has %" PRIu64 " instructions, less than an "
				    "interval of %" PRIu64 "; interval=N says how long one is, "
				    "keep writes one that is not full", w->count, w->interval);
	return PM_OK;
}

static void sp_free(void *self)
{
	struct sp_writer *w = self;

	if (!w)
		return;
	pm_map_release(&w->ids);
	free(w->weight);
	free(w->touched);
	free(w);
}

static int sp_probe(const uint8_t *head, size_t n)
{
	const uint8_t *p = head, *end = head + n;

	while (p < end && (*p == '#' || *p == '\n')) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return 0;
		p++;
	}
	if (end - p < 5 || p[0] != 'T' || p[1] != ':' || p[2] < '1' || p[2] > '9')
		return 0;
	for (p += 2; p < end && *p >= '0' && *p <= '9'; p++)
		;
	return p + 1 < end && p[0] == ':' && p[1] >= '0' && p[1] <= '9' ? 40 : 0;
}

static const struct pm_reader_ops sp_read = { sp_open, sp_next, sp_close };
static const struct pm_writer_ops sp_write_ops = {
	sp_create, sp_write, sp_finish, sp_free, pm_plain_dropped
};

const struct pm_format pm_fmt_simpoint = {
	.name = "simpoint", .about = "basic-block vectors for SimPoint (exp-bbv, gem5)",
	.options = "interval=N  instructions of an interval (100000000)\n"
		   "keep  write the last interval, which is not full, too",
	.plural = "basic-block vectors", .suffixes = ".bb",
	.has = 0, .needs = 0,
	.probe = sp_probe, .read = &sp_read, .write = &sp_write_ops,
};
