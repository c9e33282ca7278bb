/* SPDX-License-Identifier: MIT */
/* drmemtrace_read.c - DynamoRIO's off-line traces, a file or a directory with a file for each
 * thread, become batches
 *
 * Files of a directory take turns as their time markers say: the one that is behind goes on, up to
 * its next time. Instructions of all files have numbers in one table; what a file's entries without
 * an encoding stand for is that file's business, because processes may differ. */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "isa/x86/regs.h"
#include "trace/drmemtrace.h"
#include "trace/insns.h"

#define HEAD_ENTRIES	16		/* among which those that describe a file are */
#define SIGNALS		16		/* handlers one inside the other that are kept track of */

struct dr_file {
	struct pm_input *in;
	char *path;			/* NULL: the caller's input, which he closes */
	char name[DR_NAME];		/* "": it is alone */
	struct pm_window w;
	struct pm_stream **of;		/* its threads */
	size_t nof, cap_of;
	struct pm_stream *now;
	struct pm_map known;		/* of one among several: pc -> instruction */
	struct pm_map regdeps;		/* pc -> place in dr_reader.regdeps */
	unsigned width;
	uint64_t type, version, when;
	uint8_t isa;
	uint8_t enc[DR_ENCODED];
	unsigned nenc;
	uint64_t target;		/* of the indirect branch that comes; 0: unknown */
	bool started, ended;
	struct pm_outcome branch;
	struct pm_reps rep;
	uint64_t resume[SIGNALS];	/* where handlers will return to */
	unsigned nsignal;
};

struct dr_reader {
	struct dr_file *file;
	size_t n, cap;
	struct pm_builder b;
	struct pm_streams streams;	/* owns those of all files */
	uint64_t *insns;		/* of each stream so far */
	struct pm_codes codes;
	struct dr_encoding { uint8_t n, bytes[DR_ENCODED]; } *regdeps;
	size_t nregdeps, cap_regdeps;
	bool timed;
	uint64_t first_time;
};

static bool is_instr(unsigned type)
{
	return (type >= DR_INSTR && type <= DR_RET) || type == DR_NO_FETCH || type == DR_SYSENTER ||
	       type == DR_TAKEN || type == DR_UNTAKEN;
}

static bool is_prefetch(unsigned type)
{
	return (type >= DR_PREFETCH && type <= DR_PREFETCH_LAST) || type == DR_PREFETCH_HARDWARE ||
	       (type >= DR_PREFETCH_NT && type <= DR_PREFETCH_NT_LAST);
}

unsigned dr_width(const uint8_t *p, size_t n)
{
	if (n < DR_WIDE || pm_get16(p) != DR_HEADER || pm_get16(p + 2))
		return 0;
	if (!pm_get32(p + 4) || pm_get32(p + 4) > DR_VERSION)
		return 0;
	if (!pm_get32(p + 8))			/* the address goes on */
		return n < 2 * DR_WIDE || pm_get16(p + DR_WIDE) <= DR_LAST ? DR_WIDE : 0;
	return pm_get16(p + 8) == DR_MARKER || pm_get16(p + 8) == DR_THREAD ? DR_NARROW : 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* What the first entries say. */
static enum pm_status read_head(struct dr_file *f, struct pm_err *err)
{
	const uint8_t *p;
	size_t got;

	p = pm_input_peek(f->in, HEAD_ENTRIES * DR_WIDE, &got, err);
	if (!p)
		return PM_ERR;
	f->width = dr_width(p, got);
	if (!f->width && got >= DR_WIDE && pm_get16(p) == DR_HEADER && !pm_get16(p + 2))
		return pm_fail(err, 4, "expected version 1..%d, found %llu", DR_VERSION,
			       (unsigned long long)dr_get(p, DR_WIDE).addr);
	if (!f->width)
		return pm_fail(err, 0, "expected a header entry (type 25), found %s",
			       got < DR_WIDE ? "a shorter file" : "another type");
	f->version = dr_get(p, f->width).addr;
	f->isa = PM_ISA_NONE;
	f->rep.id = PM_NONE;
	f->w.in = f->in;
	for (size_t i = 0; i + f->width <= got; i += f->width) {
		const struct dr_entry e = dr_get(p + i, f->width);

		if (is_instr(e.type))
			break;
		if (e.type == DR_MARKER && e.size == MK_FILETYPE)
			f->type = e.addr;
		if (e.type == DR_MARKER && e.size == MK_TIMESTAMP && !f->when)
			f->when = e.addr;
	}
	if (f->type & FT_FILTERED)
		f->type |= FT_I_FILTERED;
	if (f->type & FT_X86_64)
		f->isa = PM_ISA_X86_64;
	else if (f->type & FT_X86_32)
		f->isa = PM_ISA_X86_32;
	return PM_OK;
}

static uint32_t facts_of(const struct dr_file *f)
{
	uint32_t facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |
			 PM_HAS_THREADS | PM_HAS_TIME;

	if (f->type & FT_REGDEPS)
		facts |= f->type & FT_ENCODINGS ? PM_HAS_REGS : 0;
	else if (f->type & FT_ENCODINGS)
		facts |= PM_HAS_BYTES | PM_HAS_REPS;
	if (f->type & FT_INSTR_ONLY)
		facts &= ~(uint32_t)PM_HAS_REFS;
	if (f->type & FT_I_FILTERED)	/* what follows a branch tells nothing */
		facts &= ~(uint32_t)PM_HAS_BRANCHES;
	return facts;
}

static void dr_close(void *self)
{
	struct dr_reader *r = self;

	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct dr_file *f = r->file + i;

		if (f->path)
			pm_input_close(f->in);
		free(f->path);
		free(f->of);
		pm_map_release(&f->known);
		pm_map_release(&f->regdeps);
	}
	free(r->file);
	free(r->insns);
	free(r->regdeps);
	pm_builder_release(&r->b);
	pm_streams_release(&r->streams);
	pm_codes_release(&r->codes);
	free(r);
}

/* A member of a directory: is it one of a trace? Schedules and logs are not. */
static bool probe_member(const char *path)
{
	struct pm_err err = { 0 };
	struct pm_input *in;
	const uint8_t *p;
	struct stat st;
	size_t n;
	bool good;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(in = pm_input_open(path, &err)))
		return false;
	p = pm_input_peek(in, 2 * DR_WIDE, &n, &err);
	/* packed in a way that this machine cannot unpack: the reader will say so */
	good = p ? dr_width(p, n) != 0 : pm_failed(&err);
	pm_input_close(in);
	return good;
}

static char *path_in(const char *dir, const char *name)
{
	struct pm_buf b = { 0 };

	pm_buf_printf(&b, "%s/%s%c", dir, name, 0);
	return (char *)b.p;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The paths of a trace's files in @dir, sorted; NULL: there are none. */
static char **members(const char *dir, size_t *n)
{
	DIR *d = opendir(dir);
	char **v = NULL;
	size_t cap = 0;
	struct dirent *e;

	*n = 0;
	while (d && (e = readdir(d))) {
		char *path;

		if (*e->d_name == '.')
			continue;
		path = path_in(dir, e->d_name);
		if (!probe_member(path)) {
			free(path);
			continue;
		}
		pm_grow(v, *n, cap);
		v[(*n)++] = path;
	}
	if (d)
		closedir(d);
	if (v)
		qsort(v, *n, sizeof *v, by_name);
	return v;
}

/* DIR, or DIR/trace, where DynamoRIO puts them. */
static char **members_of(const char *dir, size_t *n)
{
	char *inner = path_in(dir, "trace"), **v;
	struct stat st;
	const bool has = !stat(inner, &st) && S_ISDIR(st.st_mode);

	v = members(has ? inner : dir, n);
	free(inner);
	return v;
}

bool dr_probe_directory(const char *path)
{
	size_t n;
	char **v = members_of(path, &n);

	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
	return n;
}

static enum pm_status open_member(struct dr_reader *r, char *path, struct pm_err *err)
{
	const char *slash = strrchr(path, '/');
	struct pm_err own = { 0 };
	struct dr_file *f;

	pm_grow(r->file, r->n, r->cap);
	f = r->file + r->n++;
	*f = (struct dr_file){ .path = path };
	snprintf(f->name, sizeof f->name, "%s", slash ? slash + 1 : path);
	f->in = pm_input_open(path, &own);
	if (f->in && read_head(f, &own) == PM_OK)
		return PM_OK;
	return pm_fail(err, own.off, "%s: %s", f->name, own.msg);
}

static enum pm_status open_directory(struct dr_reader *r, const char *dir, struct pm_err *err)
{
	enum pm_status st = PM_OK;
	size_t n;
	char **v = members_of(dir, &n);

	if (!n)
		st = pm_fail_file(err, "no drmemtrace files are in this directory");
	for (size_t i = 0; i < n; i++) {
		if (st == PM_OK)
			st = open_member(r, v[i], err);
		else
			free(v[i]);
	}
	free(v);
	return st;
}

static void *dr_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		     struct pm_err *err)
{
	struct dr_reader *r;
	enum pm_status st;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	r = pm_alloc(sizeof *r);
	if (in) {
		pm_grow(r->file, r->n, r->cap);
		r->file[r->n++] = (struct dr_file){ .in = in };
		st = read_head(r->file, err);
	} else {
		st = open_directory(r, o->path, err);
	}
	if (st != PM_OK) {
		dr_close(r);
		return NULL;
	}
	*facts = UINT32_MAX;
	for (size_t i = 0; i < r->n; i++)
		*facts &= facts_of(r->file + i);
	return r;
}

/* Of one file only: code of several may differ at one address. */
static void dr_epochs(void *self)
{
	struct dr_reader *r = self;

	r->codes.epochs = r->codes.once = r->n == 1;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* The stream of thread @tid of @f. */
static struct pm_stream *stream_of(struct dr_reader *r, struct dr_file *f, uint32_t tid)
{
	struct pm_streams *s = &r->streams;
	struct pm_stream *n;

	for (size_t i = 0; i < f->nof; i++)
		if (f->of[i]->tid == tid)
			return f->of[i];
	pm_grow(s->v, s->n, s->cap);
	n = pm_alloc(sizeof *n);
	n->index = (uint32_t)s->n;
	n->tid = tid;
	s->v[s->n++] = n;
	r->insns = pm_realloc(r->insns, s->cap * sizeof *r->insns);
	r->insns[n->index] = 0;
	pm_grow(f->of, f->nof, f->cap_of);
	return f->of[f->nof++] = n;
}

static uint32_t insn_of(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e)
{
	static const uint8_t class[] = {
		[DR_JUMP] = PM_CLASS_JUMP, [DR_JUMP_IND] = PM_CLASS_JUMP_IND,
		[DR_COND] = PM_CLASS_COND, [DR_CALL] = PM_CLASS_CALL,
		[DR_CALL_IND] = PM_CLASS_CALL_IND, [DR_RET] = PM_CLASS_RET,
		[DR_SYSENTER] = PM_CLASS_SYSCALL, [DR_TAKEN] = PM_CLASS_COND,
		[DR_UNTAKEN] = PM_CLASS_COND,
	};
	const unsigned bytes = f->type & FT_REGDEPS ? 0 : f->nenc;
	uint64_t *known = r->n > 1 ? pm_map_put(&f->known, e->addr, NULL) : NULL;
	bool fresh;
	uint32_t id;
	struct pm_insn *in;
	struct x86_regs x;

	if (known && *known && !bytes)
		return (uint32_t)(*known - 1);
	id = pm_codes_put(&r->codes, e->addr, f->enc, bytes, false, f->isa, &fresh);
	if (known)
		*known = id + 1ull;
	in = &r->codes.insn[id];
	if (!fresh)
		return id;
	in->flow = e->type < NR(class) ? class[e->type] : PM_CLASS_NONE;
	if (f->isa != PM_ISA_NONE && in->len &&
	    x86_regs(in->bytes, in->len, f->isa == PM_ISA_X86_64, &x))
		in->rep = x.rep;
	return id;
}

/* The instruction before is complete: nothing (known false) or the one at @next follows it. */
static void close_insn(struct dr_reader *r, struct dr_file *f, bool known, uint64_t next)
{
	pm_outcome_tell(&f->branch, &r->b, &r->codes, known, next);
	if (!known)
		pm_reps_end(&f->rep, &r->b, &r->codes);
}

/* The encoding of the instruction that follows stands in the code table: its entries, as far as
 * they are in this batch, need no events. Were there any? The writer puts them where they were. */
static uint64_t take_encoding(struct pm_builder *b)
{
	size_t first = b->b.n, to;
	bool any = false;

	while (first && b->ev[first - 1].kind == PM_EV_OPAQUE && b->ev[first - 1].flags == 2) {
		first--;
		any |= (b->ev[first].id & 0xffff) == DR_ENCODING;
	}
	if (!any)
		return 0;
	to = first;
	for (size_t i = first; i < b->b.n; i++)
		if ((b->ev[i].id & 0xffff) != DR_ENCODING)
			b->ev[to++] = b->ev[i];
	b->b.n = to;
	return 1;
}

static enum pm_status add_registers(struct dr_reader *r, struct dr_file *f, uint64_t pc,
				    struct pm_err *err)
{
	bool fresh;
	uint64_t *at = pm_map_put(&f->regdeps, pc, &fresh);

	if (fresh && !f->nenc) {
		*at = SIZE_MAX;
	} else if (f->nenc) {
		struct dr_encoding *e;

		pm_grow(r->regdeps, r->nregdeps, r->cap_regdeps);
		e = r->regdeps + r->nregdeps;
		e->n = (uint8_t)f->nenc;
		memcpy(e->bytes, f->enc, f->nenc);
		/* the same again, at the beginning of a chunk? */
		if (fresh || *at == SIZE_MAX || memcmp(r->regdeps + *at, e, 1u + f->nenc))
			*at = r->nregdeps++;
	}
	if (*at == SIZE_MAX || dr_regdeps(&r->b, r->regdeps[*at].bytes, r->regdeps[*at].n))
		return PM_OK;
	return pm_fail(err, pm_window_at(&f->w), "an encoding of registers that makes no sense");
}

static void begin_branch(struct dr_file *f, const struct dr_entry *e, uint32_t id)
{
	static const uint8_t flags[] = {
		[DR_JUMP] = PM_BR_TAKEN, [DR_JUMP_IND] = PM_BR_TAKEN | PM_BR_INDIRECT,
		[DR_COND] = PM_BR_COND,
		[DR_CALL] = PM_BR_TAKEN | PM_BR_CALL,
		[DR_CALL_IND] = PM_BR_TAKEN | PM_BR_CALL | PM_BR_INDIRECT,
		[DR_RET] = PM_BR_TAKEN | PM_BR_RET | PM_BR_INDIRECT,
		[DR_TAKEN] = PM_BR_TAKEN | PM_BR_COND, [DR_UNTAKEN] = PM_BR_COND,
	};

	if (e->type >= NR(flags) || !flags[e->type] || f->type & FT_I_FILTERED)
		return;
	f->branch = (struct pm_outcome){ true, e->type != DR_COND,
					 { PM_EV_BRANCH, flags[e->type], (uint16_t)e->size, id,
					   e->addr, f->target } };
}

static enum pm_status add_instr(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e,
				struct pm_err *err)
{
	const bool regdeps = f->type & FT_REGDEPS;
	uint32_t id = insn_of(r, f, e);

	close_insn(r, f, true, e->addr);
	if (e->type == DR_NO_FETCH) {
		pm_ev_add(&r->b, PM_EV_REP_ITER, 0, 0, e->addr, e->size)->id = id;
		f->nenc = 0;
		f->rep.iters++;
		return PM_OK;
	}
	pm_reps_end(&f->rep, &r->b, &r->codes);
	pm_ev_add(&r->b, PM_EV_INSN, e->type, e->size, e->addr,
		  regdeps ? 0 : take_encoding(&r->b))->id = id;
	r->insns[f->now->index]++;
	if (regdeps && add_registers(r, f, e->addr, err) != PM_OK)
		return PM_ERR;
	f->nenc = 0;
	if (r->codes.insn[id].rep)
		f->rep = (struct pm_reps){ id, 0 };
	begin_branch(f, e, id);
	f->target = 0;
	return PM_OK;
}

/* A marker that says more than that it is there. */
static void add_marker(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e)
{
	struct pm_builder *b = &r->b;

	switch (e->size) {
	case MK_TIMESTAMP:
		if (!r->timed)
			r->first_time = e->addr;
		r->timed = true;
		pm_ev_add(b, PM_EV_TIME, 0, 0, 0,
			  e->addr > r->first_time ? (e->addr - r->first_time) * 1000 : 0);
		break;
	case MK_TARGET:
		f->target = e->addr;
		break;
	case MK_SYSCALL:
		pm_ev_add(b, PM_EV_SYSCALL, 0, 0, 0, e->addr);
		break;
	case MK_KERNEL_EVENT:		/* a branch before it led to where it came */
		close_insn(r, f, true, e->addr);
		pm_ev_add(b, PM_EV_SIGNAL, 0, 0, e->addr, 0);
		f->resume[f->nsignal++ % SIGNALS] = e->addr;
		break;
	case MK_KERNEL_XFER:
		close_insn(r, f, false, 0);
		pm_ev_add(b, PM_EV_SIGRETURN, 0, 0,
			  f->nsignal ? f->resume[--f->nsignal % SIGNALS] : 0, 0);
		break;
	case MK_WINDOW:			/* something is left out */
		close_insn(r, f, false, 0);
		break;
	}
}

/* An entry that is no instruction and no reference. */
static enum pm_status add_other(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e,
				struct pm_err *err)
{
	if (e->type > DR_LAST)
		return pm_fail(err, pm_window_at(&f->w), "unknown entry type %u", e->type);
	if (e->type == DR_BUNDLE || e->type == DR_MAYBE_FETCH)
		return pm_fail(err, pm_window_at(&f->w), "entry type %u is only in traces on the "
			       "way to a simulator, not in off-line traces", e->type);
	if (e->type == DR_THREAD && !r->insns[f->now->index])
		f->now->tid = (uint32_t)e->addr;
	if (e->type == DR_PID)
		f->now->pid = (uint32_t)e->addr;
	if (e->type == DR_ENCODING) {
		const unsigned most = f->type & FT_REGDEPS ? DR_ENCODED : 15;

		if (!e->size || e->size > f->width - 4 || f->nenc + e->size > most)
			return pm_fail(err, pm_window_at(&f->w) + 2, "an encoding of %u bytes: "
				       "expected 1..%u, at most %u together", e->size,
				       f->width - 4, most);
		memcpy(f->enc + f->nenc, f->w.p + 4, e->size);
		f->nenc += e->size;
	}
	pm_ev_add(&r->b, PM_EV_OPAQUE, 2, 0, 0, e->addr)->id = e->type | e->size << 16;
	if (e->type == DR_MARKER)
		add_marker(r, f, e);
	return PM_OK;
}

static enum pm_status check_instr(const struct dr_file *f, const struct dr_entry *e,
				  struct pm_err *err)
{
	if (!e->size || e->size > 15)
		return pm_fail(err, pm_window_at(&f->w) + 2,
			       "expected an instruction of 1..15 bytes, found %u", e->size);
	if (f->nenc && f->nenc != e->size && !(f->type & FT_REGDEPS))
		return pm_fail(err, pm_window_at(&f->w) + 2,
			       "the instruction has %u bytes, its encoding %u", e->size, f->nenc);
	return PM_OK;
}

static void add_reference(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e)
{
	struct pm_builder *b = &r->b;

	/* the first iteration has no entry of its own: value 0 says so to our writer */
	if (f->rep.id != PM_NONE && !f->rep.iters) {
		f->rep.iters = 1;
		pm_ev_add(b, PM_EV_REP_ITER, 0, 0, r->codes.insn[f->rep.id].pc, 0)->id =
			f->rep.id;
	}
	pm_ev_add(b, e->type == DR_WRITE ? PM_EV_WRITE : PM_EV_READ,
		  e->type > DR_WRITE ? PM_REF_PREFETCH : 0, e->size, e->addr, e->type);
}

/* ---- batches -------------------------------------------------------------------------------- */

/* The file that is behind; NULL: all have ended. */
static struct dr_file *next_file(struct dr_reader *r)
{
	struct dr_file *best = NULL;

	for (size_t i = 0; i < r->n; i++) {
		struct dr_file *f = r->file + i;

		if (!f->ended && (!best || f->when < best->when))
			best = f;
	}
	return best;
}

static void begin_batch(struct dr_reader *r, struct dr_file *f)
{
	struct pm_builder *b = &r->b;

	if (!f->now)
		f->now = stream_of(r, f, 0);
	if (pm_codes_full(&r->codes)) {
		uint32_t none = PM_NONE;

		pm_codes_renew(&r->codes, f->branch.pending ? &f->branch.ev.id : &none, &f->rep.id);
	}
	pm_builder_reset(b, f->now, &r->codes.code);
	b->b.first_insn = r->insns[f->now->index];
	if (!f->started && !(f->type & FT_CORE_SHARDED)) {
		char detail[DR_NAME + 8] = "";

		if (f->path)
			snprintf(detail, sizeof detail, "%u %s", f->width, f->name);
		else if (f->width != DR_WIDE)
			snprintf(detail, sizeof detail, "%u", f->width);
		pm_opaque_header(b, "drmemtrace", detail, strlen(detail));
	}
	f->started = true;
}

/* One entry is whole in the window; PM_END: the file ends. */
static enum pm_status want_entry(struct dr_reader *r, struct dr_file *f, struct pm_err *err)
{
	enum pm_status st;

	if (pm_window_left(&f->w) >= f->width)
		return PM_OK;
	st = pm_window_fill(&f->w, PM_WINDOW, err);
	if (st == PM_END) {
		close_insn(r, f, false, 0);
		f->ended = true;
	}
	if (st != PM_OK || pm_window_left(&f->w) >= f->width)
		return st;
	return pm_fail(err, pm_window_at(&f->w), "expected %u bytes of entry, found %zu", f->width,
		       pm_window_left(&f->w));
}

/* Must the batch end before entry @e? A batch has one stream, and other files may be behind. */
static bool ends_batch(struct dr_reader *r, struct dr_file *f, const struct dr_entry *e)
{
	if (e->type == DR_MARKER && e->size == MK_TIMESTAMP && r->n > 1 && e->addr > f->when) {
		f->when = e->addr;
		return r->b.b.n;
	}
	if (e->type != DR_THREAD || !r->insns[f->now->index] || f->now->tid == (uint32_t)e->addr)
		return false;
	close_insn(r, f, false, 0);
	f->now = stream_of(r, f, (uint32_t)e->addr);
	if (r->b.b.n)
		return true;
	r->b.b.stream = f->now;
	r->b.b.first_insn = r->insns[f->now->index];
	return false;
}

/* HOT: once per entry. */
static enum pm_status fill_batch(struct dr_reader *r, struct dr_file *f, struct pm_err *err)
{
	struct pm_builder *b = &r->b;

	/* an encoding and its instruction are in one batch, unless damage keeps them apart */
	while (b->b.n < PM_BATCH_EVENTS || (f->nenc && b->b.n < 2 * PM_BATCH_EVENTS)) {
		enum pm_status st = want_entry(r, f, err);
		struct dr_entry e;

		if (st != PM_OK)
			return st == PM_END ? PM_OK : PM_ERR;
		e = dr_get(f->w.p, f->width);
		if (is_instr(e.type)) {
			if (check_instr(f, &e, err) != PM_OK || add_instr(r, f, &e, err) != PM_OK)
				return PM_ERR;
		} else if (e.type <= DR_WRITE || is_prefetch(e.type)) {
			add_reference(r, f, &e);
		} else if (ends_batch(r, f, &e)) {
			return PM_OK;
		} else if (add_other(r, f, &e, err) != PM_OK) {
			return PM_ERR;
		}
		f->w.p += f->width;
	}
	return PM_OK;
}

static enum pm_status dr_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct dr_reader *r = self;
	struct pm_builder *b = &r->b;
	struct pm_err own = { 0 };

	do {
		struct dr_file *f = next_file(r);

		if (!f)
			return PM_END;
		begin_batch(r, f);
		if (fill_batch(r, f, &own) == PM_OK)
			continue;
		/* damaged packed data: the reader has only seen that it ends */
		if (f->path && pm_input_failed(f->in, &(struct pm_err){ 0 })) {
			own = (struct pm_err){ 0 };
			pm_input_failed(f->in, &own);
		}
		return f->path ? pm_fail(err, own.off, "%s: %s", f->name, own.msg) :
			pm_fail(err, own.off, "%s", own.msg);
	} while (!b->b.n);
	if (pm_failed(&r->codes.err)) {
		*err = r->codes.err;
		return PM_ERR;
	}
	pm_codes_lend(&r->codes);
	*batch = pm_builder_batch(b);
	return PM_OK;
}

const struct pm_reader_ops dr_read_ops = { dr_open, dr_next, dr_close, NULL, dr_epochs };
