/* SPDX-License-Identifier: MIT */
/* fmt_laplace.c - reference and kernel event traces of Laplace and kVMTrace, and their merged forms
 *
 *   laplace, 18 bytes packed, little-endian       laplace64, 26 bytes
 *      0  1  'r' load 'w' store 'i' fetch            0 1
 *      1  8  timestamp, cycles                       1 8
 *      9  1  length                                  9 1
 *     10  4  address space                          10 8
 *     14  4  virtual address                        18 8
 *   laplace-text      "<type> <timestamp> <length> <space> <address>", hexadecimal
 *   laplace-events    one kernel event a line: tag, timestamp, fields; kinds[] below
 *   laplace-basic     "<R|W|I> <canonical page>"
 *   laplace-process   "<type> <timestamp> <length> <page> <canonical page>" with kernel events; as
 *                     output a directory per process with a file per task
 *
 * Readers also accept 'x' for a fetch and capital letters; writers never write them. Dialects of
 * event traces: laplace, and kVMTrace 0.5 and 0.6, whose records have a second number behind the
 * timestamp (docs/formats/laplace.md). */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/kernel_event.h"
#include "trace/text.h"

enum laplace_kind { BIN32, BIN64, TEXT, EVENTS, BASIC, PROCESS };
static const char *const lap_name[] = {
	"laplace", "laplace64", "laplace-text", "laplace-events", "laplace-basic",
	"laplace-process",
};

/* Fields behind the timestamp: x number, t file type letter, n name up to the end of the line; v a
 * number that only the version before 0.6 has (the minor device), T a letter that only kVMTrace
 * has. */
static const struct event_kind {
	char tag;
	const char *fields;
	bool strict;			/* in `strict` mode, too */
} kinds[] = {
	{ 'S', "x", true }, { 'F', "xx", true }, { 'X', "xxxvn", true }, { 'T', "xxx", true },
	{ 'A', "xx", true }, { 'D', "xxxx", true }, { 'M', "xxxxxvxTn", true },
	{ 'm', "xxx", true }, { '@', "xxxxx", false }, { 'U', "xxx", true }, { 'u', "x", true },
	{ 'C', "xx", true }, { 's', "xxxx", false }, { '/', "xx", false }, { '(', "xxxvxtn", true },
	{ ')', "xxxv", true }, { '<', "xxxvxx", true }, { '>', "xxxvxx", true },
	{ '-', "xxv", true }, { 't', "xxvx", false }, { 'a', "x", false }, { 'e', "", false },
	{ '&', "xxxx", false },
};

/* pm_rare.code is the tag: the numbers of enum pm_kernel are theirs. */
_Static_assert(PM_KERNEL_SCHEDULE == 'S' && PM_KERNEL_FORK == 'F' && PM_KERNEL_EXEC == 'X' &&
		       PM_KERNEL_CONTEXT == 'A' && PM_KERNEL_COPY_RANGE == 'D' &&
		       PM_KERNEL_MAP_FILE == 'M' && PM_KERNEL_MAP == 'm' &&
		       PM_KERNEL_MAP_SHARED == 's' && PM_KERNEL_MOVE == '@' &&
		       PM_KERNEL_UNMAP == 'U' && PM_KERNEL_UNMAP_ALL == 'u' &&
		       PM_KERNEL_COPY_ON_WRITE == 'C' && PM_KERNEL_OPEN == '(' &&
		       PM_KERNEL_CLOSE == ')' && PM_KERNEL_READ == '<' && PM_KERNEL_WRITE == '>' &&
		       PM_KERNEL_DELETE == '-' && PM_KERNEL_TRUNCATE == 't',
	       "the tags above");

static const struct event_kind *kind_of(char tag)
{
	for (size_t i = 0; i < NR(kinds); i++)
		if (kinds[i].tag == tag)
			return &kinds[i];
	return NULL;
}

int pm_kernel_args(char tag)
{
	const struct event_kind *k = kind_of(tag);
	int n = 0;

	for (const char *f = k ? k->fields : ""; *f; f++)
		n += *f == 'x' || *f == 'v';
	return k ? n : -1;
}

enum dialect { LAPLACE, KVM05, KVM06 };
static const char *const dialect_name[] = { "laplace", "kvmtrace-0.5", "kvmtrace-0.6" };

struct kernel_line {
	char tag, type;			/* type: of the file, 0 none */
	uint64_t time, rt, arg[8];
	unsigned nargs;
	const char *name;		/* not terminated */
	size_t nname;
};

/* Does the line fit the dialect? */
static bool parse_event(const char *s, size_t n, enum dialect d, struct kernel_line *k)
{
	struct pm_tok t = { s, s + n };
	const struct event_kind *kind;
	const char *tok;
	size_t len;

	tok = pm_tok_next(&t, &len);
	if (len != 1)
		return false;
	kind = kind_of(*tok);
	if (!kind)
		return false;
	*k = (struct kernel_line){ .tag = *tok };
	tok = pm_tok_next(&t, &len);
	if (!pm_hex(tok, len, &k->time))
		return false;
	if (d != LAPLACE && kind->fields[0]) {
		tok = pm_tok_next(&t, &len);
		if (!pm_hex(tok, len, &k->rt))
			return false;
	}
	for (const char *f = kind->fields; *f; f++) {
		if ((*f == 'v' && d == KVM06) || (*f == 'T' && d == LAPLACE))
			continue;
		if (*f == 'n') {
			while (t.p < t.end && *t.p == ' ')
				t.p++;
			k->name = t.p;
			k->nname = (size_t)(t.end - t.p);
			return k->nname > 0 && k->nname < 4096 && !memchr(k->name, 0, k->nname);
		}
		tok = pm_tok_next(&t, &len);
		if (*f == 't' || *f == 'T') {
			if (len != 1 || !strchr("fpdso", *tok))
				return false;
			k->type = *tok;
		} else if (!pm_hex(tok, len, &k->arg[k->nargs++])) {
			return false;
		}
	}
	pm_tok_next(&t, &len);
	return !len;
}

/* The first dialect that every line of the window fits. */
static enum dialect guess_dialect(const char *s, size_t n)
{
	const char *end = s + n;

	for (unsigned d = 0; d < 3; d++) {
		const char *p = s;
		bool ok = true;

		while (ok && p < end) {
			const char *nl = memchr(p, '\n', (size_t)(end - p));
			size_t len = (size_t)((nl ? nl : end) - p);
			struct kernel_line k;

			if (!nl && n >= PM_WINDOW)
				break;
			if (len && p[len - 1] == '\r')
				len--;
			ok = parse_event(p, len, (enum dialect)d, &k);
			p = nl ? nl + 1 : end;
		}
		if (ok)
			return (enum dialect)d;
	}
	return LAPLACE;
}

struct lap_line {
	char type;
	uint64_t time, length, space, addr, page;
};

static int ref_kind(char type)
{
	switch (type) {
	case 'r': case 'R': return PM_EV_READ;
	case 'w': case 'W': return PM_EV_WRITE;
	case 'i': case 'x': case 'I': return PM_EV_INSN;
	}
	return -1;
}

static bool parse_ref(const char *s, size_t n, enum laplace_kind kind, struct lap_line *l)
{
	struct pm_tok t = { s, s + n };
	const char *tok[6];
	size_t len[6], count = 0, want = kind == BASIC ? 2 : 5;

	while (count < 6 && (tok[count] = pm_tok_next(&t, &len[count]), len[count]))
		count++;
	if (count != want || len[0] != 1 || ref_kind(*tok[0]) < 0)
		return false;
	l->type = *tok[0];
	if (kind == BASIC)
		return pm_hex(tok[1], len[1], &l->page);
	if (!pm_hex(tok[1], len[1], &l->time) || !pm_hex(tok[2], len[2], &l->length) ||
	    l->length > 255)
		return false;
	if (kind == PROCESS)
		return pm_hex(tok[3], len[3], &l->addr) && pm_hex(tok[4], len[4], &l->page) &&
		       l->addr < 1ull << 52;
	return pm_hex(tok[3], len[3], &l->space) && pm_hex(tok[4], len[4], &l->addr);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct lap_reader {
	struct pm_window w;
	struct pm_lines l;
	struct pm_builder b;
	struct pm_stream stream;
	enum laplace_kind kind;
	enum dialect dialect;
	uint64_t insns, time, space;
	bool started, timed, spaced;
};

static void *lap_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err, enum laplace_kind kind)
{
	static const uint32_t fact[] = {
		[BIN32] = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES |
			PM_HAS_SPACES,
		[BIN64] = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES |
			PM_HAS_SPACES,
		[TEXT] = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES |
			PM_HAS_SPACES,
		[EVENTS] = PM_HAS_KERNEL | PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_SPACES,
		[BASIC] = PM_HAS_REFS | PM_HAS_PAGES,
		[PROCESS] = PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES |
			PM_HAS_PAGES |
			    PM_HAS_KERNEL,
	};
	struct lap_reader *r;
	const uint8_t *p;
	size_t got = 0;
	char buf[16];
	const char *v;

	if (pm_fmt_options_check(o->options, kind == EVENTS || kind == PROCESS ? "dialect" : "",
				 err) != PM_OK)
		return NULL;
	p = pm_input_peek(in, PM_WINDOW, &got, err);
	if (!p && pm_failed(err))
		return NULL;
	r = pm_alloc(sizeof *r);
	r->kind = kind;
	r->w.in = in;
	pm_lines_init(&r->l, in);
	v = pm_fmt_option(o->options, "dialect", buf, sizeof buf);
	if (kind == EVENTS && !v && p)
		r->dialect = guess_dialect((const char *)p, got < PM_WINDOW ? got : PM_WINDOW);
	for (unsigned d = 0; v && d < 3; d++)
		if (!strcmp(v, dialect_name[d])) {
			r->dialect = (enum dialect)d;
			v = NULL;
		}
	if (v) {
		pm_fail_request(err,
				"dialect=%s: expected laplace, kvmtrace-0.5 or kvmtrace-0.6", v);
		free(r);
		return NULL;
	}
	*facts = fact[kind];
	return r;
}

static void lap_close(void *self)
{
	struct lap_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	free(r);
}

static void at_time(struct lap_reader *r, uint64_t time)
{
	if (r->timed && time == r->time)
		return;
	r->timed = true;
	r->time = time;
	pm_ev_add(&r->b, PM_EV_TIME, 0, 0, 0, time);
}

static void add_ref(struct lap_reader *r, const struct lap_line *l, bool page)
{
	int kind = ref_kind(l->type);

	if (r->kind != BASIC)
		at_time(r, l->time);
	if (r->kind <= TEXT && (!r->spaced || l->space != r->space)) {
		r->spaced = true;
		r->space = l->space;
		pm_ev_add(&r->b, PM_EV_SWITCH, 0, 0, 0, l->space);
	}
	r->insns += kind == PM_EV_INSN;
	pm_ev_add(&r->b, (enum pm_kind)kind, 0, (unsigned)l->length, l->addr, page ? l->page : 0);
}

static void add_event(struct lap_reader *r, const struct kernel_line *k)
{
	char name[4096];
	struct pm_rare *rare;
	struct pm_event *e;

	at_time(r, k->time);
	memcpy(name, k->nname ? k->name : "", k->nname);
	name[k->nname] = 0;
	rare = pm_builder_rare(&r->b, PM_EV_KERNEL, k->name ? name : NULL);
	rare->code = (uint32_t)(unsigned char)k->tag;
	rare->nargs = k->nargs;
	memcpy(rare->arg, k->arg, sizeof rare->arg);
	e = &r->b.ev[r->b.b.n - 1];
	e->value = k->rt;
	e->flags = (uint8_t)k->type;
}

static enum pm_status lap_binary(struct lap_reader *r, struct pm_err *err)
{
	const unsigned size = r->kind == BIN64 ? 26 : 18;

	while (r->b.b.n < PM_BATCH_EVENTS) {
		struct lap_line l;
		const uint8_t *p;

		if (pm_window_left(&r->w) < size) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st != PM_OK)
				return st;
			if (pm_window_left(&r->w) < size)
				return pm_fail(err, pm_window_at(&r->w),
					       "expected %u bytes of record, found "
					       "%zu",
					       size, pm_window_left(&r->w));
		}
		p = r->w.p;
		l.type = (char)p[0];
		if (ref_kind(l.type) < 0)
			return pm_fail(err, pm_window_at(&r->w),
				       "expected type r, w or i, found 0x%02x", p[0]);
		l.time = pm_get64(p + 1);
		l.length = p[9];
		l.space = size == 26 ? pm_get64(p + 10) : pm_get32(p + 10);
		l.addr = size == 26 ? pm_get64(p + 18) : pm_get32(p + 14);
		add_ref(r, &l, false);
		r->w.p += size;
	}
	return PM_OK;
}

static enum pm_status lap_lines(struct lap_reader *r, struct pm_err *err)
{
	static const char *const want[] = {
		[TEXT] = "'r TIME LENGTH SPACE ADDRESS'", [EVENTS] = "a kernel event record",
		[BASIC] = "'R PAGE'",
		[PROCESS] = "'r TIME LENGTH PAGE CANONICAL' or a kernel event record",
	};

	while (r->b.b.n < PM_BATCH_EVENTS) {
		struct kernel_line k;
		struct lap_line l = { 0 };
		const char *s;
		size_t n;
		enum pm_status st = pm_lines_next(&r->l, &s, &n, err);

		if (st != PM_OK)
			return st;
		/* an event's tag is never r, w or i */
		if (r->kind != EVENTS && parse_ref(s, n, r->kind, &l)) {
			if (r->kind == PROCESS)
				l.addr <<= 12;
			else if (r->kind == BASIC)
				l.addr = l.page << 12;
			add_ref(r, &l, r->kind >= BASIC);
		} else if ((r->kind == EVENTS || r->kind == PROCESS) &&
			   parse_event(s, n, r->dialect, &k)) {
			add_event(r, &k);
		} else {
			return pm_fail_text(err, r->l.line, want[r->kind], s, n);
		}
	}
	return PM_OK;
}

static enum pm_status lap_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct lap_reader *r = self;
	enum pm_status st;
	bool header = false;

	pm_builder_reset(&r->b, &r->stream, NULL);
	r->b.b.first_insn = r->insns;
	if (!r->started) {
		const char *d = dialect_name[r->dialect];

		r->started = header = true;
		pm_opaque_header(&r->b, lap_name[r->kind], d, strlen(d));
	}
	st = r->kind <= BIN64 ? lap_binary(r, err) : lap_lines(r, err);
	if (st == PM_ERR || (st == PM_END && r->b.b.n == header))
		return st;
	*batch = pm_builder_batch(&r->b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct lap_writer {
	struct pm_plain w;
	enum laplace_kind kind;
	enum dialect dialect;
	bool chosen, timed, strict;
	uint64_t now, space, kernel;

	/* per-process directories */
	char *dir;
	struct pm_map leader;		/* task -> process; a thread shares its parent's address
					 * space */
	struct pm_map made;		/* files that this run has begun */
	struct pm_map owns;		/* task -> 1 once it got an address space of its own */
	struct task_file { uint64_t pid, tid; FILE *f; } file[64];
	unsigned nfile, turn;
	uint64_t pid;			/* the task that runs */
};

/* An existing one has to be empty: files of other tasks would be taken for this trace's. */
static enum pm_status make_directory(const char *path, struct pm_err *err)
{
	const struct dirent *e;
	bool empty = true;
	DIR *d;

	if (!mkdir(path, 0777))
		return PM_OK;
	d = errno == EEXIST ? opendir(path) : NULL;
	if (!d)
		return pm_fail_errno(err, "cannot make the directory");
	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(d);
	return empty ? PM_OK
		     : pm_fail_file(err, "this directory has files already, which would be mixed "
				    "with the new ones");
}

static void *lap_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			enum laplace_kind kind)
{
	static const char *const known[] = { "", "", "", "dialect strict", "", "kernel" };
	struct lap_writer *w;
	char buf[24];
	const char *v;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	/* what happens to a process is known as PM_EV_SYSCALL, PM_EV_MMAP..., never as
	 * PM_EV_KERNEL */
	if (kind == EVENTS && o->facts & PM_HAS_THREADS) {
		pm_fail_file(err, "a traced process's system calls and mappings are no kernel "
				  "events of Laplace; "
				  "those come from a kernel that is traced as a whole");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = kind;
	w->timed = o->facts & PM_HAS_TIME;
	w->strict = pm_fmt_option(o->options, "strict", buf, sizeof buf);
	w->kernel = 0xc0000000;
	v = pm_fmt_option(o->options, "kernel", buf, sizeof buf);
	if (v && !pm_hex(v, strlen(v), &w->kernel)) {
		pm_fail_request(err, "kernel=%s: expected a hexadecimal address", v);
		goto fail;
	}
	v = pm_fmt_option(o->options, "dialect", buf, sizeof buf);
	if (v) {
		unsigned d = 0;

		while (d < 3 && strcmp(v, dialect_name[d]))
			d++;
		if (d == 3) {
			pm_fail_request(err,
				     "dialect=%s: expected laplace, kvmtrace-0.5 or kvmtrace-0.6",
				     v);
			goto fail;
		}
		w->dialect = (enum dialect)d;
		w->chosen = true;
	}
	if (kind == PROCESS) {
		/* into memory: one file for all, for tests and for reading back */
		if (o->path) {
			w->dir = pm_strdup(o->path);
			if (make_directory(w->dir, err) != PM_OK) {
				free(w->dir);
				goto fail;
			}
		}
	}
	return w;
fail:
	free(w);
	return NULL;
}

static void lap_free(void *self)
{
	struct lap_writer *w = self;

	if (!w)
		return;
	for (unsigned i = 0; i < w->nfile; i++)
		if (w->file[i].f)
			fclose(w->file[i].f);
	pm_map_release(&w->leader);
	pm_map_release(&w->owns);
	pm_map_release(&w->made);
	free(w->dir);
	free(w);
}

static char type_of(const struct pm_event *e, bool upper)
{
	char c = e->kind == PM_EV_READ ? 'r' : e->kind == PM_EV_WRITE ? 'w' : 'i';

	return upper ? c & ~32 : c;
}

static char *put_ref(struct lap_writer *w, char *p, const struct pm_event *e, uint64_t addr,
		     unsigned length, struct pm_err *err)
{
	switch (w->kind) {
	case BIN32:
		if (addr > UINT32_MAX || w->space > UINT32_MAX) {
			pm_fail_wide(err, addr > UINT32_MAX ? addr : w->space,
				     "write laplace64, whose records are 26 bytes, or "
				     "laplace-text");
			return NULL;
		}
		/* fall through */
	case BIN64:
		*p++ = type_of(e, false);
		p = pm_put64(p, w->now);
		*p++ = (char)length;
		p = w->kind == BIN64 ? pm_put64(p, w->space) : pm_put32(p, (uint32_t)w->space);
		return w->kind == BIN64 ? pm_put64(p, addr) : pm_put32(p, (uint32_t)addr);
	case BASIC:
		*p++ = type_of(e, true);
		*p++ = ' ';
		p = pm_put_hex(p, e->value);
		break;
	default:
		*p++ = type_of(e, false);
		*p++ = ' ';
		p = pm_put_hex(p, w->now);
		*p++ = ' ';
		p = pm_put_hex(p, length);
		*p++ = ' ';
		p = pm_put_hex(p, w->kind == PROCESS ? addr >> 12 : w->space);
		*p++ = ' ';
		p = pm_put_hex(p, w->kind == PROCESS ? e->value : addr);
	}
	*p++ = '\n';
	return p;
}

#define LAP_MAX 8192			/* bytes that one event becomes at most */

static char *put_refs(struct lap_writer *w, char *p, const struct pm_batch *b,
		      const struct pm_event *e, struct pm_err *err)
{
	unsigned size = e->size;
	uint64_t addr = w->kind == BIN32 ? pm_narrow(b, e->addr) : e->addr;

	/* from Laplace itself a size may be 0; elsewhere that means unknown */
	if (!size && !w->w.native && w->kind != BASIC)
		size = 4;
	/* the length is one byte: longer references are several */
	do {
		unsigned n = size < 255 ? size : 255;

		p = put_ref(w, p, e, addr, n, err);
		addr += n;
		size -= n;
	} while (p && size && w->kind != BASIC);
	if (!w->timed)
		w->now++;
	return p;
}

static char *put_kernel(struct lap_writer *w, char *p, const struct pm_batch *b,
			const struct pm_event *e)
{
	const struct pm_rare *r = &b->rare[e->id];
	const struct event_kind *k = kind_of((char)r->code);
	unsigned arg = 0;

	if (!k || (w->strict && !k->strict)) {
		w->w.dropped[PM_EV_KERNEL]++;
		return p;
	}
	*p++ = k->tag;
	*p++ = ' ';
	p = pm_put_hex(p, w->now);
	if (w->dialect != LAPLACE && k->fields[0]) {
		*p++ = ' ';
		p = pm_put_hex(p, e->value);
	}
	for (const char *f = k->fields; *f; f++) {
		if ((*f == 'v' && w->dialect == KVM06) || (*f == 'T' && w->dialect == LAPLACE))
			continue;
		*p++ = ' ';
		if (*f == 'n')
			p = pm_put_str(p, r->name && *r->name && strlen(r->name) < 4096 ?
					  r->name : "?");
		else if (*f == 't' || *f == 'T')
			*p++ = e->flags ? (char)e->flags : 'f';
		else
			p = pm_put_hex(p, arg < 8 ? r->arg[arg++] : 0);
	}
	if (k->tag == '@' && w->dialect == KVM05)
		*p++ = ' ';
	*p++ = '\n';
	return p;
}

/* ---- a file per task ------------------------------------------------------------------------ */

static FILE *task_file(struct lap_writer *w, uint64_t pid, uint64_t tid, struct pm_err *err)
{
	struct task_file *t = NULL;
	char path[4200];
	uint64_t *seen;

	for (unsigned i = 0; i < w->nfile; i++)
		if (w->file[i].pid == pid && w->file[i].tid == tid)
			return w->file[i].f;
	if (w->nfile < NR(w->file)) {
		t = &w->file[w->nfile++];
	} else {
		/* many tasks, few descriptors: the oldest comes back with append */
		t = &w->file[w->turn++ % NR(w->file)];
		if (t->f)
			fclose(t->f);
	}
	*t = (struct task_file){ pid, tid, NULL };
	if (pid == UINT64_MAX)
		snprintf(path, sizeof path, "%s/kernel", w->dir);
	else
		snprintf(path, sizeof path, "%s/%llx", w->dir, (unsigned long long)pid);
	if (mkdir(path, 0777) && errno != EEXIST) {
		pm_fail_errno(err, "cannot make the directory");
		return NULL;
	}
	snprintf(path + strlen(path), sizeof path - strlen(path), "/%llx", (unsigned long long)tid);
	/* a task whose file was closed for want of descriptors goes on where it was */
	seen = pm_map_put(&w->made, tid ^ pid << 32, NULL);
	t->f = fopen(path, *seen ? "a" : "w");
	*seen = 1;
	if (!t->f)
		pm_fail_errno(err, "cannot write a task's file");
	return t->f;
}

static uint64_t leader_of(struct lap_writer *w, uint64_t tid)
{
	uint64_t *at;

	/* as long as a task has no address space of its own, it belongs to its parent */
	for (int depth = 0; depth < 64; depth++) {
		if (pm_map_get(&w->owns, tid) || !(at = pm_map_get(&w->leader, tid)))
			return tid;
		tid = *at;
	}
	return tid;
}

static enum pm_status process_write(struct lap_writer *w, const struct pm_batch *b,
				    struct pm_err *err)
{
	char line[LAP_MAX];

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		uint64_t pid = w->pid, tid = w->pid;
		char *p = line;
		FILE *f;

		if (e->kind == PM_EV_TIME) {
			w->now = e->value;
			continue;
		} else if (e->kind == PM_EV_KERNEL) {
			const struct pm_rare *r = &b->rare[e->id];

			if (r->code == PM_KERNEL_SCHEDULE)
				w->pid = r->arg[0];
			else if (r->code == PM_KERNEL_FORK)
				*pm_map_put(&w->leader, r->arg[0], NULL) = r->arg[1];
			else if (r->code == PM_KERNEL_CONTEXT)
				*pm_map_put(&w->owns, r->arg[0], NULL) = 1;
			/* events that name no task belong to the one that runs, a fork to the
			 * parent */
			pid = tid = strchr("uD/-te", (int)r->code)
					    ? w->pid
					    : r->arg[r->code == PM_KERNEL_FORK];
			p = put_kernel(w, p, b, e);
		} else if (pm_is_ref(e) || e->kind == PM_EV_INSN) {
			/* of a file, by a system call: its record says it */
			if (e->flags & PM_REF_UNCACHED)
				continue;
			if (pm_is_kernel_address(e->addr, w->kernel))
				pid = UINT64_MAX;
			p = put_refs(w, p, b, e, err);
		} else {
			if (e->kind != PM_EV_OPAQUE && e->kind != PM_EV_SWITCH)
				w->w.dropped[e->kind]++;
			continue;
		}
		if (!p)
			return PM_ERR;
		if (pid == UINT64_MAX)
			tid = 0;
		else
			pid = leader_of(w, tid);
		f = task_file(w, pid, tid, err);
		if (!f)
			return PM_ERR;
		if (fwrite(line, 1, (size_t)(p - line), f) != (size_t)(p - line))
			return pm_fail_errno(err, "cannot write a task's file");
	}
	return PM_OK;
}

static char *lap_put(void *self, char *p, const struct pm_batch *b, const struct pm_event *e,
		     struct pm_err *err)
{
	struct lap_writer *w = self;
	const uint8_t *d;
	size_t n;

	switch (e->kind) {
	case PM_EV_OPAQUE:
		d = pm_opaque_is(b, e, lap_name[w->kind], &n);
		for (unsigned k = 0; d && !w->chosen && k < 3; k++)
			if (strlen(dialect_name[k]) == n && !memcmp(dialect_name[k], d, n))
				w->dialect = (enum dialect)k;
		for (unsigned k = 0; k < NR(lap_name); k++)
			w->w.native |= k != BASIC && pm_opaque_is(b, e, lap_name[k], &n) != NULL;
		return p;
	case PM_EV_TIME:
		if (w->kind == BASIC)
			break;
		w->now = e->value;
		return p;
	case PM_EV_SWITCH:
		if (w->kind == BASIC)
			break;
		w->space = e->value;
		return p;
	case PM_EV_KERNEL:
		if (w->kind != EVENTS && w->kind != PROCESS)
			break;
		return put_kernel(w, p, b, e);
	case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY: case PM_EV_INSN: case PM_EV_LINE:
		if (w->kind == EVENTS ||
		    (e->kind != PM_EV_INSN && e->kind != PM_EV_LINE && !pm_is_ref(e)))
			break;
		if (e->kind == PM_EV_MODIFY) {
			struct pm_event rd = *e;

			rd.kind = PM_EV_READ;
			p = put_refs(w, p, b, &rd, err);
			rd.kind = PM_EV_WRITE;
			return p ? put_refs(w, p, b, &rd, err) : NULL;
		}
		return put_refs(w, p, b, e, err);
	}
	w->w.dropped[e->kind]++;
	return p;
}

static enum pm_status lap_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct lap_writer *w = self;

	if (w->dir)
		return process_write(w, b, err);
	return pm_plain_write(&w->w, " ", b, LAP_MAX, lap_put, err);
}

static enum pm_status lap_finish(void *self, struct pm_err *err)
{
	struct lap_writer *w = self;

	for (unsigned i = 0; i < w->nfile; i++)
		if (w->file[i].f) {
			FILE *f = w->file[i].f;

			w->file[i].f = NULL;
			if (fclose(f))
				return pm_fail_errno(err, "cannot write a task's file");
		}
	return PM_OK;
}

/* ---- probing -------------------------------------------------------------------------------- */

static int bin_probe(const uint8_t *head, size_t n, unsigned size)
{
	size_t records = n / size < 64 ? n / size : 64;
	uint64_t time = 0;

	if (!records || (n < PM_WINDOW && n % size) || pm_looks_text(head, n))
		return 0;
	for (size_t i = 0; i < records; i++) {
		const uint8_t *p = head + size * i;

		if (ref_kind((char)p[0]) < 0 || !p[9] || pm_get64(p + 1) < time)
			return 0;
		time = pm_get64(p + 1);
	}
	return 40 + 8 * (int)(records < 16 ? records : 16);
}

static int lap32_bid(const uint8_t *head, size_t n)
{
	return bin_probe(head, n, 18);
}

static int lap64_bid(const uint8_t *head, size_t n)
{
	return bin_probe(head, n, 26);
}

/* @refs and @events: lines of either kind in the window's first lines; false if one is neither. */
static bool count_lines(const uint8_t *head, size_t n, enum laplace_kind kind, int *refs,
			int *events)
{
	const char *s = (const char *)head, *end = s + n;
	enum dialect d = kind >= BASIC ? LAPLACE : guess_dialect(s, n);

	*refs = *events = 0;
	for (int lines = 0; s < end && lines < 32; lines++) {
		const char *nl = memchr(s, '\n', (size_t)(end - s));
		size_t len = (size_t)((nl ? nl : end) - s);
		struct kernel_line k;
		struct lap_line l;

		if (!nl && n >= PM_WINDOW)
			break;
		if (len && s[len - 1] == '\r')
			len--;
		if (kind != EVENTS && parse_ref(s, len, kind, &l))
			++*refs;
		else if (kind != BASIC && kind != TEXT && parse_event(s, len, d, &k))
			++*events;
		else
			return false;
		s = nl ? nl + 1 : end;
	}
	return true;
}

static int text_bid(const uint8_t *head, size_t n)
{
	int refs, events;

	return count_lines(head, n, TEXT, &refs, &events) && refs ? 40 + refs : 0;
}

static int events_bid(const uint8_t *head, size_t n)
{
	int refs, events;

	return count_lines(head, n, EVENTS, &refs, &events) && events ? 44 + events : 0;
}

static int basic_bid(const uint8_t *head, size_t n)
{
	int refs, events;

	/* capital letters, which nothing else with two fields has */
	if (!n || (*head != 'R' && *head != 'W' && *head != 'I'))
		return 0;
	return count_lines(head, n, BASIC, &refs, &events) && refs ? 28 + refs : 0;
}

static int process_bid(const uint8_t *head, size_t n)
{
	int refs, events;

	/* five fields like laplace-text, but pages instead of addresses: with events it is clear,
	 * and without them the space comes before the address, the larger number last in this
	 * one */
	return count_lines(head, n, PROCESS, &refs, &events) && refs && events ? 60 + refs + events
									       : 0;
}

#define LAP_DIALECT "dialect=laplace, kvmtrace-0.5, kvmtrace-0.6  (reading: guessed)"
#define LAP_STRICT "\nstrict  writing: only what Laplace itself had"
#define LAP_KERNEL LAP_DIALECT "\nkernel=HEX  writing: where kernel addresses begin (c0000000)"
#define ROW(id, text, descr, names, k, bid, ext, fact, need, files)			\
static void *row_##id##_open(struct pm_input *in, const struct pm_read_opts *o,		\
	uint32_t *f, struct pm_err *e)							\
{											\
	return lap_open(in, o, f, e, k);						\
}											\
static void *row_##id##_create(struct pm_output *out, const struct pm_write_opts *o,	\
			       struct pm_err *e)					\
{											\
	return lap_create(out, o, e, k);						\
}											\
static const struct pm_reader_ops row_##id##_read = { row_##id##_open, lap_next,	\
	lap_close };									\
static const struct pm_writer_ops row_##id##_write = {					\
	row_##id##_create, lap_write, lap_finish, lap_free, pm_plain_dropped		\
};											\
const struct pm_format pm_fmt_##id = {							\
	.name = text, .about = descr, .plural = names, .suffixes = ext, .has = fact,	\
	.options = (k) == EVENTS ? LAP_DIALECT LAP_STRICT : (k) == PROCESS ? LAP_KERNEL : NULL, \
	.needs = need,									\
	.own_files = files, .probe = bid, .read = &row_##id##_read,			\
	.write = &row_##id##_write,							\
};
#define REF_FACTS (PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES | \
		   PM_HAS_SPACES)
ROW(laplace, "laplace", "Laplace reference records, 18 bytes", "Laplace traces", BIN32,
	lap32_bid,
    ".ref", REF_FACTS, PM_HAS_REFS, false)
ROW(laplace64, "laplace64", "Laplace reference records with 64-bit addresses",
    "Laplace traces (laplace64)", BIN64, lap64_bid, ".ref64", REF_FACTS, PM_HAS_REFS, false)
ROW(laplace_text, "laplace-text", "Laplace reference records as text", "Laplace text traces", TEXT,
    text_bid, ".ref.txt", REF_FACTS, PM_HAS_REFS, false)
ROW(laplace_events, "laplace-events", "kernel events of Laplace and kVMTrace",
    "Laplace event traces", EVENTS, events_bid, ".kev",
    (PM_HAS_KERNEL | PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_SPACES), PM_HAS_KERNEL, false)
ROW(laplace_basic, "laplace-basic", "Laplace basic merge: canonical pages", "Laplace basic merges",
    BASIC, basic_bid, ".bm", (PM_HAS_REFS | PM_HAS_PAGES), (PM_HAS_REFS | PM_HAS_PAGES), false)
ROW(laplace_process, "laplace-process", "Laplace per-process merge, a directory per process",
    "Laplace per-process merges", PROCESS, process_bid, ".pp",
    (PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_TIME | PM_HAS_CYCLES | PM_HAS_PAGES | PM_HAS_KERNEL),
    (PM_HAS_REFS | PM_HAS_PAGES | PM_HAS_KERNEL), true)
