/* SPDX-License-Identifier: MIT */
/* fmt_pinatrace.c - pinatrace.out of Pin's example tool: "PC: R ADDRESS" or "PC: W ADDRESS", one
 * line per memory operand, "#eof" at the end
 *
 * The pc is that of the instruction that refers: the reader puts it into a code table (of
 * instructions without bytes) and the reference's id points there. Sizes are not in the file. */
#include <stdlib.h>

#include "trace/insns.h"
#include "trace/text.h"

struct pina_reader {
	struct pm_lines l;
	struct pm_builder b;
	struct pm_stream stream;
	struct pm_codes codes;
	bool started, eof;
};

static void *pina_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		       struct pm_err *err)
{
	struct pina_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	pm_lines_init(&r->l, in);
	*facts = PM_HAS_REFS;
	return r;
}

static void pina_close(void *self)
{
	struct pina_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_codes_release(&r->codes);
	free(r);
}

/* 'R', 'W', '#' for the end mark, 0 if it is no such line */
static int pina_line(const char *s, size_t n, uint64_t *pc, uint64_t *addr)
{
	const char *colon;

	if (n == 4 && !memcmp(s, "#eof", 4))
		return '#';
	colon = memchr(s, ':', n);
	if (!colon || s + n - colon < 5 || colon[1] != ' ' || colon[3] != ' ' ||
	    (colon[2] != 'R' && colon[2] != 'W') || !pm_hex(s, (size_t)(colon - s), pc))
		return 0;
	return pm_hex(colon + 4, (size_t)(s + n - colon) - 4, addr) ? colon[2] : 0;
}

static void pina_epochs(void *self)
{
	((struct pina_reader *)self)->codes.epochs = true;
}

static enum pm_status pina_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct pina_reader *r = self;
	struct pm_builder *b = &r->b;

	if (pm_codes_full(&r->codes)) {
		uint32_t none[2] = { PM_NONE, PM_NONE };

		pm_codes_renew(&r->codes, none, none + 1);
	}
	pm_builder_reset(b, &r->stream, &r->codes.code);
	pm_ev_room(b, PM_BATCH_EVENTS + 2);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, "pinatrace", "", 0);
	}
	while (b->b.n < PM_BATCH_EVENTS) {
		uint64_t pc, addr;
		const char *s;
		size_t n;
		enum pm_status st = pm_lines_next(&r->l, &s, &n, err);
		bool fresh;
		int op;

		if (st == PM_ERR)
			return st;
		if (st == PM_END)
			break;
		if (r->eof)
			return pm_fail_text(err, r->l.line, "nothing behind '#eof'", s, n);
		op = pina_line(s, n, &pc, &addr);
		if (!op)
			return pm_fail_text(err, r->l.line, "'PC: R ADDRESS' or 'PC: W ADDRESS'", s,
					    n);
		if (op == '#') {
			r->eof = true;
			continue;
		}
		pm_ev_put(b, op == 'R' ? PM_EV_READ : PM_EV_WRITE, 0, 0, addr, 0)->id =
			pm_codes_put(&r->codes, pc, NULL, 0, false, PM_ISA_NONE, &fresh);
	}
	if (!b->b.n)
		return PM_END;
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch(b);
	return PM_OK;
}

struct pina_writer {
	struct pm_plain w;
	uint64_t pc;
	bool bare;			/* the instruction there has referred to nothing */
};

static void *pina_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct pina_writer *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	return w;
}

static char *pina_one(char *p, uint64_t pc, char op, uint64_t addr)
{
	p[0] = '0';
	p[1] = 'x';
	p = pm_put_hex(p + 2, pc);
	p[0] = ':';
	p[1] = ' ';
	p[2] = op;
	p[3] = ' ';
	p[4] = '0';
	p[5] = 'x';
	p = pm_put_hex(p + 6, addr);
	*p++ = '\n';
	return p;
}

static char *pina_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
		      struct pm_err *err)
{
	struct pina_writer *w = self;

	if (e->kind == PM_EV_INSN) {
		/* an instruction is said by what it refers to */
		w->w.dropped[PM_EV_INSN] += w->bare;
		w->bare = true;
		w->pc = e->addr;
		return p;
	}
	if (!pm_is_ref(e)) {
		if (e->kind != PM_EV_OPAQUE)
			w->w.dropped[e->kind]++;
		return p;
	}
	w->bare = false;
	if (w->w.native && b->code && e->id < b->code->ninsn)
		w->pc = b->code->insn[e->id].pc;
	if (e->kind != PM_EV_WRITE)
		p = pina_one(p, w->pc, 'R', e->addr);
	if (e->kind != PM_EV_READ)
		p = pina_one(p, w->pc, 'W', e->addr);
	return p;
}

static enum pm_status pina_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_plain_write(self, "pinatrace", b, 96, pina_put, err);
}

static enum pm_status pina_finish(void *self, struct pm_err *err)
{
	struct pina_writer *w = self;

	w->w.dropped[PM_EV_INSN] += w->bare;
	w->bare = false;
	return pm_output_write(w->w.out, "#eof\n", 5, err);
}

static int pina_probe(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *end = s + n;
	int lines = 0;

	while (s < end && lines < 32) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		uint64_t pc, addr;

		if (!nl && n >= PM_WINDOW)
			break;
		if (!pina_line(s, (size_t)((nl ? nl : end) - s), &pc, &addr))
			return 0;
		lines++;
		s = nl ? nl + 1 : end;
	}
	return lines ? 40 + lines : 0;
}

static const struct pm_reader_ops pina_read = { pina_open, pina_next, pina_close, NULL,
	pina_epochs };
static const struct pm_writer_ops pina_write_ops = {
	pina_create, pina_write, pina_finish, free, pm_plain_dropped
};

const struct pm_format pm_fmt_pinatrace = {
	.name = "pinatrace", .about = "pinatrace.out of Pin's example tool",
	.plural = "pinatrace files", .suffixes = "pinatrace.out .pinatrace",
	.has = PM_HAS_REFS, .needs = PM_HAS_REFS,
	.probe = pina_probe, .read = &pina_read, .write = &pina_write_ops,
};
