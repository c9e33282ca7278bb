/* SPDX-License-Identifier: MIT */
/* fmt_lackey.c - what `valgrind --tool=lackey --trace-mem=yes` prints
 *
 *   "I  %08lx,%lu"  instruction     " L %08lx,%lu"  load      " S %08lx,%lu"  store
 *   " M %08lx,%lu"  load and store of one address             "SB %08lx"      superblock entered
 *
 * Valgrind's own lines (==pid==, --pid--) are skipped. An instruction's references follow it; a rep
 * instruction's line is repeated for each iteration. Addresses: older releases wrote upper case. */
#include <stdlib.h>

#include "trace/text.h"

struct lackey_reader {
	struct pm_lines l;
	struct pm_builder b;
	struct pm_stream stream;
	uint64_t insns;
	bool started;
};

static void *lackey_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
			 struct pm_err *err)
{
	struct lackey_reader *r;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	pm_lines_init(&r->l, in);
	*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES;
	return r;
}

static void lackey_close(void *self)
{
	struct lackey_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

/* The event that a line stands for; PM_EV_NONE: a line to skip; -1: no lackey line. */
static int lackey_line(const char *s, size_t n, uint64_t *addr, uint64_t *size)
{
	const char *comma;
	int kind;

	if (n >= 2 && ((s[0] == '=' && s[1] == '=') || (s[0] == '-' && s[1] == '-')))
		return PM_EV_NONE;
	if (!n)
		return PM_EV_NONE;
	if (n > 3 && !memcmp(s, "SB ", 3))
		return pm_hex(s + 3, n - 3, addr) ? PM_EV_OPAQUE : -1;
	if (n < 4)
		return -1;
	if (!memcmp(s, "I  ", 3))
		kind = PM_EV_INSN;
	else if (s[0] == ' ' && s[2] == ' ' && s[1] == 'L')
		kind = PM_EV_READ;
	else if (s[0] == ' ' && s[2] == ' ' && s[1] == 'S')
		kind = PM_EV_WRITE;
	else if (s[0] == ' ' && s[2] == ' ' && s[1] == 'M')
		kind = PM_EV_MODIFY;
	else
		return -1;
	comma = memchr(s + 3, ',', n - 3);
	if (!comma || !pm_hex(s + 3, (size_t)(comma - s) - 3, addr) ||
	    !pm_dec(comma + 1, (size_t)(s + n - comma) - 1, size) || !*size || *size > UINT16_MAX)
		return -1;
	return kind;
}

static enum pm_status lackey_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct lackey_reader *r = self;
	struct pm_builder *b = &r->b;

	pm_builder_reset(b, &r->stream, NULL);
	b->b.first_insn = r->insns;
	pm_ev_room(b, PM_BATCH_EVENTS + 2);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, "lackey", "", 0);
	}
	while (b->b.n < PM_BATCH_EVENTS) {
		uint64_t addr, size = 0;
		const char *s;
		size_t n;
		enum pm_status st = pm_lines_next(&r->l, &s, &n, err);
		int kind;

		if (st == PM_ERR)
			return st;
		if (st == PM_END)
			break;
		kind = lackey_line(s, n, &addr, &size);
		if (kind < 0)
			return pm_fail_text(err, r->l.line, "'I  ADDR,SIZE' or ' L', ' S', ' M'", s,
					    n);
		if (kind == PM_EV_NONE)
			continue;
		r->insns += kind == PM_EV_INSN;
		pm_ev_put(b, (enum pm_kind)kind, 0, (unsigned)size, addr, 0);
	}
	if (!b->b.n)
		return PM_END;
	*batch = pm_builder_batch(b);
	return PM_OK;
}

static void *lackey_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct pm_plain *w;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->out = out;
	return w;
}

static char *lackey_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
			struct pm_err *err)
{
	struct pm_plain *w = self;
	const char *tag;

	switch (e->kind) {
	case PM_EV_INSN:
	case PM_EV_LINE:
		tag = "I  ";
		break;
	case PM_EV_READ:
		tag = " L ";
		break;
	case PM_EV_WRITE:
		tag = " S ";
		break;
	case PM_EV_MODIFY:
		tag = " M ";
		break;
	case PM_EV_OPAQUE:
		if (!w->native || e->size)
			return p;
		p = pm_put_str(p, "SB ");
		p = pm_put_hex0(p, e->addr, 8);
		*p++ = '\n';
		return p;
	default:
		w->dropped[e->kind]++;
		return p;
	}
	if (e->kind != PM_EV_INSN && e->kind != PM_EV_LINE && !pm_is_ref(e)) {
		w->dropped[e->kind]++;
		return p;
	}
	memcpy(p, tag, 3);
	p = pm_put_hex0(p + 3, e->addr, 8);
	*p++ = ',';
	p = pm_put_dec(p, e->size ? e->size : 4);
	*p++ = '\n';
	return p;
}

static enum pm_status lackey_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_plain_write(self, "lackey", b, 40, lackey_put, err);
}

static int lackey_probe(const uint8_t *head, size_t n)
{
	const char *s = (const char *)head, *end = s + n;
	int good = 0;

	for (int lines = 0; s < end && lines < 64; lines++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		uint64_t a, z;
		int kind;

		if (!nl && n >= PM_WINDOW)
			break;
		kind = lackey_line(s, (size_t)((nl ? nl : end) - s), &a, &z);
		if (kind < 0)
			return 0;
		good += kind != PM_EV_NONE;
		s = nl ? nl + 1 : end;
	}
	return good ? 60 + (good < 32 ? good : 32) : 0;
}

static const struct pm_reader_ops lackey_read = { lackey_open, lackey_next, lackey_close };
static const struct pm_writer_ops lackey_write_ops = {
	lackey_create, lackey_write, pm_plain_finish, free, pm_plain_dropped
};

const struct pm_format pm_fmt_lackey = {
	.name = "lackey", .about = "memory trace of Valgrind's lackey tool",
	.plural = "lackey traces", .suffixes = ".lackey",
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES, .needs = PM_HAS_REFS,
	.probe = lackey_probe, .read = &lackey_read, .write = &lackey_write_ops,
};
