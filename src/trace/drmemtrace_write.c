/* SPDX-License-Identifier: MIT */
/* drmemtrace_write.c - events become DynamoRIO's off-line traces: one file, or a directory with a
 * file for each thread, as its tools want them
 *
 * What its invariant checker asks for, and where it is seen to:
 * (1) A file describes itself before anything else, and ends with its thread: begin(), end().
 * (2) Whatever control flow the instructions do not explain, a marker does: a signal's handler, a
 *     return from it, else a window, which says that something is left out.
 * (3) No time stands between a branch and where it leads: stamp().
 * (4) Times do not go back: now_of().
 * (5) Behind each system call's instruction stand a time and the call's number, in traces that say
 *     so in their type.
 * (6) Before an indirect branch stands its target; bytes stand before an instruction's first
 *     execution, and are as many as it is long. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "trace/drmemtrace.h"
#include "trace/expand.h"
#include "trace/group.h"
#include "trace/insns.h"

#define CHUNK		1024		/* entries that a file's buffer holds */
#define PER_INSN	(2 * PM_GROUP_REFS + 16)	/* more than any instruction has */
/* One fixed instant, 1 January 2024, in microseconds since 1601: equal traces give equal files. */
#define FIRST_TIME	13348540800000000ull
#define EXITED		UINT64_MAX	/* dr_out.exited: no thread */

struct dr_out {
	struct pm_output *out;
	char *path;			/* of one of several; NULL: the caller's output */
	unsigned width;
	enum pm_isa isa;
	bool native;			/* entries come as they were */
	struct pm_map known;		/* pc -> insn id + 1 whose encoding the file has */
	uint32_t epoch;			/* ... of these numbers (pm_code.epoch) */
	bool encoded, held;		/* native: encodings, a target marker wait for their
					 * instruction */
	uint64_t target;
	uint32_t stream;		/* the last one */
	unsigned last;			/* type of the entry written last */
	uint64_t tid, exited;
	uint64_t next;			/* where the flow must go on; 0: anywhere */
	bool branch;			/* the last instruction is one */
	bool call;			/* ... a system call, of which the number is not written */
	bool stamp;			/* a time is wanted */
	uint64_t window;
	size_t n;
	uint8_t chunk[DR_WIDE * CHUNK];
};

struct dr_writer {
	struct pm_plain w;
	struct pm_grouper g;
	struct pm_regs_cache regs;
	char *dir;			/* NULL: one file */
	bool gzip;
	bool encodings, calls;
	enum pm_isa isa;		/* of the trace; PM_ISA_NONE: of its first instruction */
	struct dr_out **of;		/* of each stream; of one file all are the same */
	size_t cap;
	struct dr_out *spare;		/* the one file's, before it begins: made early, so that it
					 * does not stand where the code table grows */
	unsigned files;			/* made so far */
	struct pm_map app;		/* pid -> its program's name */
	char **name;
	size_t nname, cap_name;
	const char *program;
	uint64_t time;			/* written last */
	uint64_t at;			/* what the trace says, microseconds from its start */
	uint32_t stream;		/* that ran last */
};

/* ---- entries -------------------------------------------------------------------------------- */

static inline uint8_t *put_entry(uint8_t *p, unsigned width, unsigned type, unsigned size,
				 uint64_t addr)
{
	pm_put32(p, type | size << 16);
	if (width == DR_WIDE)
		pm_put64(p + 4, addr);
	else
		pm_put32(p + 4, (uint32_t)addr);
	return p + width;
}

static enum pm_status flush(struct dr_out *o, struct pm_err *err)
{
	const size_t n = o->n;

	o->n = 0;
	return pm_output_write(o->out, o->chunk, n, err);
}

static enum pm_status add_entry(struct dr_out *o, unsigned type, unsigned size, uint64_t addr,
				struct pm_err *err)
{
	put_entry(o->chunk + o->n, o->width, type, size, addr);
	o->n += o->width;
	o->last = type;
	if (type == DR_THREAD)
		o->tid = addr;
	return o->n + DR_WIDE > sizeof o->chunk ? flush(o, err) : PM_OK;
}

/* (4) */
static uint64_t now_of(struct dr_writer *w)
{
	const uint64_t least = w->time + 1, said = FIRST_TIME + w->at;

	return w->time = said > least ? said : least;
}

static void put_time(struct dr_writer *w, struct dr_out *o, struct pm_err *err)
{
	add_entry(o, DR_MARKER, MK_TIMESTAMP, now_of(w), err);
	add_entry(o, DR_MARKER, MK_CPU, 0, err);
	o->stamp = false;
}

/* (3) A time that is wanted, unless a branch was last. */
static inline void stamp(struct dr_writer *w, struct dr_out *o, struct pm_err *err)
{
	if (o->stamp && !o->branch)
		put_time(w, o, err);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void out_free(struct dr_out *o)
{
	if (!o)
		return;
	if (o->path)
		pm_output_close(o->out);
	free(o->path);
	pm_map_release(&o->known);
	free(o);
}

static struct dr_out *out_new(struct dr_writer *w)
{
	struct dr_out *o = w->spare ? w->spare : pm_alloc(sizeof *o);

	w->spare = NULL;
	o->out = w->w.out;
	o->width = DR_WIDE;
	o->isa = PM_ISA_NONE;
	o->stream = UINT32_MAX;
	o->exited = EXITED;
	return o;
}

/* Where the file of @stream is; the place is valid until the next call. */
static struct dr_out **place_of(struct dr_writer *w, uint32_t stream)
{
	if (!w->dir)
		stream = 0;
	if (stream >= w->cap) {
		size_t cap = w->cap ? w->cap : 4;

		while (cap <= stream)
			cap *= 2;
		w->of = pm_realloc(w->of, cap * sizeof *w->of);
		memset(w->of + w->cap, 0, (cap - w->cap) * sizeof *w->of);
		w->cap = cap;
	}
	return w->of + stream;
}

/* A program's name as part of a file's name. */
static void put_app(const struct dr_writer *w, uint32_t pid, struct pm_buf *b)
{
	const uint64_t *at = pm_map_get(&w->app, pid);
	const char *s = at ? w->name[*at] : w->program ? w->program : "program", *slash;

	slash = strrchr(s, '/');
	s = slash ? slash + 1 : s;
	for (unsigned i = 0; i < 64 && *s; i++, s++)
		pm_buf_printf(b, "%c", (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
			      (*s >= 'A' && *s <= 'Z') || *s == '-' || *s == '+' ? *s : '_');
}

/* A file of its own in the directory, called @name, or as DynamoRIO would call it. */
static enum pm_status open_out(struct dr_writer *w, struct dr_out *o, const struct pm_stream *s,
			       const char *name, size_t n, struct pm_err *err)
{
	struct pm_buf b = { 0 };
	struct pm_err own = { 0 };

	pm_buf_printf(&b, "%s/", w->dir);
	if (name) {
		pm_buf_printf(&b, "%.*s", (int)n, name);
	} else {
		pm_buf_printf(&b, "drmemtrace.");
		put_app(w, s->pid, &b);
		pm_buf_printf(&b, ".%u.%04u.trace%s", s->tid ? s->tid : s->index + 1, w->files,
			      w->gzip ? ".gz" : "");
	}
	pm_buf_add(&b, "", 1);
	w->files++;
	o->path = (char *)b.p;
	o->out = pm_output_open(o->path, &own);
	return o->out ? PM_OK : pm_fail_file(err, "%s: %s", strrchr(o->path, '/') + 1, own.msg);
}

/* Another thread's events follow. */
static void begin_thread(struct dr_out *o, const struct pm_stream *s, struct pm_err *err)
{
	add_entry(o, DR_THREAD, 4, s->tid ? s->tid : s->index + 1, err);
	add_entry(o, DR_PID, 4, s->pid ? s->pid : 1, err);
	o->stream = s->index;
}

/* (1) */
static enum pm_status begin(struct dr_writer *w, struct dr_out *o, const struct pm_stream *s,
			    const struct pm_insn *first, struct pm_err *err)
{
	uint64_t type = w->encodings ? FT_ENCODINGS : 0;

	o->isa = first ? (enum pm_isa)first->isa : w->isa;
	/* no file type names it, and where branches have delay slots is not what readers expect */
	if (pm_isa_is_mips((uint8_t)o->isa))
		return pm_fail_file(err, "drmemtrace files have no form for MIPS code");
	if (o->isa == PM_ISA_X86_32) {
		type |= FT_X86_32;
		o->width = DR_NARROW;
	} else if (o->isa == PM_ISA_X86_64) {
		type |= FT_X86_64;
	}
	if (w->calls && o->isa <= PM_ISA_X86_32)
		type |= FT_SYSCALLS;
	if (w->dir && open_out(w, o, s, NULL, 0, err) != PM_OK)
		return PM_ERR;
	add_entry(o, DR_HEADER, 0, DR_VERSION, err);
	add_entry(o, DR_MARKER, MK_VERSION, DR_VERSION, err);
	add_entry(o, DR_MARKER, MK_FILETYPE, type, err);
	begin_thread(o, s, err);
	add_entry(o, DR_MARKER, MK_LINE, 64, err);
	add_entry(o, DR_MARKER, MK_PAGE, 4096, err);
	put_time(w, o, err);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* The file that events of @s go to; begun, if @first says with which instruction. NULL: none, or an
 * error. */
static struct dr_out *out_of(struct dr_writer *w, const struct pm_stream *s,
			     const struct pm_insn *first, bool may_begin, struct pm_err *err)
{
	struct dr_out **at = place_of(w, s->index), *o = *at;

	if (!o) {
		if (!may_begin)
			return NULL;
		o = *at = out_new(w);
		if (begin(w, o, s, first, err) != PM_OK)
			return NULL;
	}
	if (o->stream != s->index && !o->native) {
		begin_thread(o, s, err);
		put_time(w, o, err);
		o->next = 0;
		o->call = false;
	}
	if (w->stream != s->index) {
		w->stream = s->index;
		o->stamp = true;
	}
	return pm_failed(err) ? NULL : o;
}

static enum pm_status put_held(struct dr_out *o, struct pm_err *err)
{
	if (!o->held)
		return PM_OK;
	o->held = false;
	return add_entry(o, DR_MARKER, MK_TARGET, o->target, err);
}

/* Also of a part of a trace, which ends before its own end mark. */
static enum pm_status end(struct dr_out *o, struct pm_err *err)
{
	if (put_held(o, err) == PM_ERR)
		return PM_ERR;
	if (o->last != DR_FOOTER) {
		if (o->tid != o->exited)
			add_entry(o, DR_THREAD_EXIT, 4, o->tid, err);
		add_entry(o, DR_FOOTER, 0, 0, err);
	}
	if (pm_failed(err) || flush(o, err) == PM_ERR)
		return PM_ERR;
	return o->path ? pm_output_finish(o->out, err) : PM_OK;
}

/* ---- instructions --------------------------------------------------------------------------- */

/* Does the kernel return to one fixed place? AMD's syscall in 32-bit programs is like that, too. */
static bool is_sysenter(const struct pm_group *g)
{
	return g->known && g->insn.len == 2 && g->insn.bytes[0] == 0x0f &&
	       (g->insn.bytes[1] == 0x34 ||
		(g->insn.bytes[1] == 0x05 && g->insn.isa == PM_ISA_X86_32));
}

static unsigned type_of(const struct pm_group *g, const struct x86_regs *x)
{
	unsigned f = g->branch.flags, class = x		 ? x->class
					      : g->known ? g->insn.flow
							 : PM_CLASS_NONE;

	if (g->again)
		return DR_NO_FETCH;
	if (class == PM_CLASS_SYSCALL && is_sysenter(g))
		return DR_SYSENTER;
	if (!g->has_branch) {
		switch (class) {
		case PM_CLASS_COND: return DR_UNTAKEN;
		case PM_CLASS_JUMP: return DR_JUMP;
		case PM_CLASS_JUMP_IND: return DR_JUMP_IND;
		case PM_CLASS_CALL: return DR_CALL;
		case PM_CLASS_CALL_IND: return DR_CALL_IND;
		case PM_CLASS_RET: return DR_RET;
		}
		/* a source without branches: a jump is what explains the gap */
		return g->next_known && g->size && g->next_pc != g->pc + g->size &&
				       g->next_pc != g->pc && class == PM_CLASS_NONE && !x
			       ? DR_JUMP
			       : DR_INSTR;
	}
	if (f & PM_BR_COND)
		return f & PM_BR_TAKEN ? DR_TAKEN : DR_UNTAKEN;
	if (f & PM_BR_RET)
		return DR_RET;
	if (f & PM_BR_CALL)
		return f & PM_BR_INDIRECT ? DR_CALL_IND : DR_CALL;
	return f & PM_BR_INDIRECT ? DR_JUMP_IND : DR_JUMP;
}

static void put_encoding(struct dr_out *o, const struct pm_insn *in, struct pm_err *err)
{
	const unsigned most = o->width - 4;

	for (unsigned i = 0; i < in->len; i += most) {
		uint8_t eight[8] = { 0 };
		unsigned n = in->len - i < most ? in->len - i : most;

		memcpy(eight, in->bytes + i, n);
		add_entry(o, DR_ENCODING, n, pm_get64(eight), err);
	}
}

/* The instruction's bytes, unless the file has them already for this address; @always: in any
 * case. */
static void encode(struct dr_out *o, const struct pm_insn *in, uint32_t id, bool always,
		   struct pm_err *err)
{
	uint64_t *at = pm_map_put(&o->known, in->pc, NULL);

	if (always || *at != id + 1ull)
		put_encoding(o, in, err);
	*at = id + 1ull;
}

/* Where control goes behind @g; 0: who knows. */
static uint64_t next_of(const struct pm_group *g, unsigned type, unsigned size)
{
	uint64_t target;

	switch (type) {
	case DR_INSTR:
	case DR_NO_FETCH:
	case DR_UNTAKEN:
		return g->pc + size;
	case DR_SYSENTER:
		return 0;
	case DR_JUMP:
	case DR_CALL:			/* what follows may do so behind a gap */
		if (!g->has_branch && g->known && pm_insn_target(&g->insn, &target))
			return target;
		break;
	}
	return g->has_branch ? g->branch.value : g->next_known ? g->next_pc : 0;
}

static uint8_t *put_references(struct dr_writer *w, const struct dr_out *o, uint8_t *p,
			       const struct pm_group *g)
{
	for (unsigned i = 0; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];
		unsigned bytes = e->size ? e->size : 4;

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		if (e->kind != PM_EV_WRITE)
			p = put_entry(p, o->width,
				      e->flags & PM_REF_PREFETCH ? DR_PREFETCH : DR_READ, bytes,
				      e->addr);
		if (e->kind != PM_EV_READ)
			p = put_entry(p, o->width, DR_WRITE, bytes, e->addr);
	}
	return p;
}

/* What stands before an instruction, apart from its target: (2), (3), (6). */
static void put_before(struct dr_writer *w, struct dr_out *o, const struct pm_group *g,
		       unsigned size, struct pm_err *err)
{
	if (o->stamp)
		stamp(w, o, err);
	if (o->next && g->pc != o->next && !g->again)
		add_entry(o, DR_MARKER, MK_WINDOW, ++o->window, err);
	if (w->encodings && g->known && g->insn.len == size && !g->again) {
		if (g->epoch != o->epoch && pm_epoch_begins(&o->epoch, g))
			pm_map_release(&o->known);
		encode(o, &g->insn, g->id, g->epoch != o->epoch, err);
	}
}

/* HOT: once per instruction. */
static enum pm_status dr_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct dr_writer *w = self;
	const struct x86_regs *x = g->known ? pm_regs_of(&w->regs, g) : NULL;
	unsigned type = type_of(g, x), size = g->size;
	struct dr_out *o = out_of(w, g->stream, g->known ? &g->insn : NULL, true, err);
	uint64_t next;
	bool indirect;
	uint8_t *p;

	if (!o)
		return PM_ERR;
	if (!size)
		size = g->known && g->insn.len ? g->insn.len : 4;
	if (size > 15)
		return pm_fail_file(err,
				    "a fetch of %u bytes at 0x%llx is no instruction; drmemtrace "
				    "holds "
				    "instructions of 1..15 bytes",
				    size, (unsigned long long)g->pc);
	if (g->known && g->insn.isa != o->isa && g->insn.isa <= PM_ISA_X86_32 &&
	    o->isa <= PM_ISA_X86_32)
		return pm_fail_file(err, "programs of 32 and of 64 bits are in this trace, and a "
				    "drmemtrace file has entries for one of them; a directory, "
				    "-o NAME/, has a file for each thread");
	next = next_of(g, type, size);
	indirect = type == DR_JUMP_IND || type == DR_CALL_IND || type == DR_RET;
	if (indirect && !next) {	/* the thread was killed there */
		w->w.dropped[PM_EV_INSN]++;
		return PM_OK;
	}
	put_before(w, o, g, size, err);
	if (o->n > sizeof o->chunk - DR_WIDE * PER_INSN && flush(o, err) == PM_ERR)
		return PM_ERR;
	p = o->chunk + o->n;
	if (indirect)
		p = put_entry(p, o->width, DR_MARKER, MK_TARGET, next);
	p = put_entry(p, o->width, type, size, g->pc);
	p = put_references(w, o, p, g);
	o->n = (size_t)(p - o->chunk);
	o->last = type;
	o->next = next;
	o->branch = type != DR_INSTR && type != DR_NO_FETCH && type != DR_SYSENTER;
	o->call = x && x->class == PM_CLASS_SYSCALL;
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* ---- other events --------------------------------------------------------------------------- */

/* What a process executes is called @name from now on. */
static void set_app(struct dr_writer *w, uint32_t pid, const char *name)
{
	if (!name || !*name)
		return;
	pm_grow(w->name, w->nname, w->cap_name);
	*pm_map_put(&w->app, pid, NULL) = w->nname;
	w->name[w->nname++] = pm_strdup(name);
}

/* (5) */
static void put_call(struct dr_writer *w, struct dr_out *o, uint64_t number, struct pm_err *err)
{
	put_time(w, o, err);
	add_entry(o, DR_MARKER, MK_SYSCALL, number, err);
	o->call = false;
}

/* A thread has ended: nothing more comes of it. */
static enum pm_status end_thread(struct dr_writer *w, const struct pm_stream *s, struct pm_err *err)
{
	struct dr_out *o = out_of(w, s, NULL, false, err), **at;

	if (!o || o->native)
		return pm_failed(err) ? PM_ERR : PM_OK;
	if (!w->dir) {
		add_entry(o, DR_THREAD_EXIT, 4, o->tid, err);
		o->exited = o->tid;
		return pm_failed(err) ? PM_ERR : PM_OK;
	}
	if (end(o, err) != PM_OK)
		return PM_ERR;
	at = place_of(w, s->index);
	out_free(*at);
	*at = NULL;
	return PM_OK;
}

/* (2) A signal with a handler, or the return from it. */
static void put_transfer(struct dr_writer *w, const struct pm_batch *b, const struct pm_event *e,
			 struct pm_err *err)
{
	const bool returns = e->kind == PM_EV_SIGRETURN;
	struct dr_out *o = out_of(w, b->stream, NULL, returns, err);

	if (!o) {			/* before the first instruction: what would it interrupt? */
		w->w.dropped[e->kind]++;
		return;
	}
	add_entry(o, DR_MARKER, returns ? MK_KERNEL_XFER : MK_KERNEL_EVENT, e->addr, err);
	o->next = 0;
	o->branch = false;
}

static enum pm_status dr_other(void *self, const struct pm_batch *b, const struct pm_event *e,
			       struct pm_err *err)
{
	struct dr_writer *w = self;
	const struct pm_rare *rare = e->id < b->nrare ? b->rare + e->id : NULL;
	struct dr_out *o;

	switch (e->kind) {
	case PM_EV_OPAQUE:
		break;
	case PM_EV_SIGNAL:
	case PM_EV_INTERRUPT:
	case PM_EV_SIGRETURN:
		if (pm_grouper_flush(&w->g, b->stream, err) == PM_OK)
			put_transfer(w, b, e, err);
		break;
	case PM_EV_SYSCALL:
		if (pm_grouper_flush(&w->g, b->stream, err) == PM_ERR)
			break;
		o = w->calls ? out_of(w, b->stream, NULL, false, err) : NULL;
		if (o && o->call)
			put_call(w, o, e->value, err);
		else
			w->w.dropped[e->kind]++;
		break;
	case PM_EV_SYSRET:
		o = w->calls ? out_of(w, b->stream, NULL, false, err) : NULL;
		if (o)
			o->stamp = true;
		w->w.dropped[e->kind]++;
		break;
	case PM_EV_PROCESS:
	case PM_EV_EXEC:
		set_app(w, (uint32_t)e->value, rare ? rare->name : NULL);
		w->w.dropped[e->kind]++;
		break;
	case PM_EV_EXIT:
		if (pm_grouper_flush(&w->g, b->stream, err) == PM_OK)
			end_thread(w, b->stream, err);
		w->w.dropped[e->kind]++;
		break;
	case PM_EV_LOST:
		pm_grouper_flush(&w->g, b->stream, err);
		w->w.dropped[e->kind]++;
		break;
	case PM_EV_TIME:
		w->at = e->value / 1000;
		w->w.dropped[e->kind]++;
		break;
	default:
		w->w.dropped[e->kind]++;
	}
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* ---- from drmemtrace itself: every event is one entry --------------------------------------- */

/* The bytes of the instruction that follows: a part of a trace may have instructions whose encoding
 * was before it. */
static void encode_native(struct dr_out *o, const struct pm_batch *b, const struct pm_event *e,
			  struct pm_err *err)
{
	const struct pm_insn *in = &b->code->insn[e->id];

	if (b->code->epoch != o->epoch) {
		o->epoch = b->code->epoch;
		pm_map_release(&o->known);
	}
	if (o->epoch) {
		/* a part of a trace comes with a table that keeps everything */
		if (e->value && !o->encoded)
			put_encoding(o, in, err);
	} else if (o->encoded) {
		*pm_map_put(&o->known, in->pc, NULL) = e->id + 1ull;
	} else {
		encode(o, in, e->id, e->value, err);
	}
	o->encoded = false;
}

static enum pm_status dr_native(struct dr_writer *w, struct dr_out *o, const struct pm_batch *b,
				size_t i, struct pm_err *err)
{
	for (; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		enum pm_status st = PM_OK;

		if (e->kind == PM_EV_INSN && w->encodings && b->code && e->id < b->code->ninsn)
			encode_native(o, b, e, err);
		if (e->kind != PM_EV_TIME)
			put_held(o, err);
		if (pm_failed(err))
			return PM_ERR;
		switch (e->kind) {
		case PM_EV_INSN:
			st = add_entry(o, e->flags, e->size, e->addr, err);
			break;
		case PM_EV_REP_ITER:
			if (e->value)
				st = add_entry(o, DR_NO_FETCH, (unsigned)e->value, e->addr, err);
			break;
		case PM_EV_READ:
		case PM_EV_WRITE:
			st = add_entry(o, (unsigned)e->value, e->size, e->addr, err);
			break;
		case PM_EV_OPAQUE:
			if (e->size)
				break;
			o->encoded |= (e->id & 0xffff) == DR_ENCODING;
			o->held = e->id == (DR_MARKER | MK_TARGET << 16);
			o->target = e->value;
			if (!o->held)
				st = add_entry(o, e->id & 0xffff, e->id >> 16, e->value, err);
			break;
		}
		if (st == PM_ERR)
			return st;
	}
	return PM_OK;
}

/* Does the batch begin a file that is to be copied as it was? *err: it cannot be made. */
static bool begin_native(struct dr_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	struct dr_out **at = place_of(w, b->stream->index);
	const uint8_t *detail;
	const char *name;
	size_t n;

	if (*at || !b->n)
		return false;
	detail = pm_opaque_is(b, b->ev, "drmemtrace", &n);
	name = detail && n ? memchr(detail, ' ', n) : NULL;
	/* one of several belongs into a directory, and a file by itself is one */
	if (!detail || !name != !w->dir)
		return false;
	*at = out_new(w);
	(*at)->native = true;
	(*at)->width = n && detail[0] == '8' ? DR_NARROW : DR_WIDE;
	if (name && open_out(w, *at, b->stream, name + 1,
			     n - (size_t)((const uint8_t *)name + 1 - detail), err) != PM_OK)
		return false;
	return true;
}

static enum pm_status dr_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct dr_writer *w = self;
	const size_t first = begin_native(w, b, err);
	struct dr_out *o = *place_of(w, b->stream->index);

	if (pm_failed(err))
		return PM_ERR;
	return o && o->native ? dr_native(w, o, b, first, err) : pm_grouper_batch(&w->g, b, err);
}

/* ---- the writer ----------------------------------------------------------------------------- */

bool dr_writes_directory(const struct pm_write_opts *o)
{
	const size_t n = o->path ? strlen(o->path) : 0;
	char buf[16];

	return (n && o->path[n - 1] == '/') || pm_fmt_option(o->options, "dir", buf, sizeof buf);
}

/* A trace's files beside those of another trace would be one trace. */
static enum pm_status make_directory(struct dr_writer *w, const char *path, struct pm_err *err)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	w->dir = pm_strndup(path, n);
	if (!mkdir(w->dir, 0777))
		return PM_OK;
	if (errno != EEXIST)
		return pm_fail_errno(err, "cannot make the directory");
	if (dr_probe_directory(w->dir))
		return pm_fail_file(err, "this directory has a drmemtrace trace already, whose "
				    "files would be mixed with the new ones");
	return PM_OK;
}

static void dr_free(void *self)
{
	struct dr_writer *w = self;

	if (!w)
		return;
	for (size_t i = 0; i < w->cap; i++)
		out_free(w->of[i]);
	for (size_t i = 0; i < w->nname; i++)
		free(w->name[i]);
	free(w->spare);
	free(w->of);
	free(w->name);
	free(w->dir);
	pm_map_release(&w->app);
	pm_grouper_release(&w->g);
	pm_regs_release(&w->regs);
	free(w);
}

static void *dr_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct dr_writer *w;
	char buf[16];

	if (pm_fmt_options_check(o->options, "dir gzip", err) != PM_OK)
		return NULL;
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->isa = PM_ISA_NONE;
	w->encodings = o->facts & PM_HAS_BYTES;
	w->calls = w->encodings && o->facts & PM_HAS_KERNEL && o->facts & PM_HAS_THREADS;
	w->gzip = pm_fmt_option(o->options, "gzip", buf, sizeof buf);
	w->time = FIRST_TIME - 1;
	w->stream = UINT32_MAX;
	for (const char *const *kv = o->info; kv && kv[0]; kv += 2) {
		if (!strcmp(kv[0], "isa") && kv[1] && !strcmp(kv[1], "x86-32"))
			w->isa = PM_ISA_X86_32;
		if (!strcmp(kv[0], "program"))
			w->program = kv[1];
	}
	w->g = (struct pm_grouper){ .group = dr_group, .other = dr_other, .self = w,
				    .no_regs = true };
	if (out)
		w->spare = pm_alloc(sizeof *w->spare);
	if (!out && make_directory(w, o->path, err) != PM_OK) {
		dr_free(w);
		return NULL;
	}
	return w;
}

static enum pm_status dr_finish(void *self, struct pm_err *err)
{
	struct dr_writer *w = self;
	static const struct pm_stream none;

	if (pm_grouper_finish(&w->g, err) == PM_ERR)
		return PM_ERR;
	if (!w->dir && !*place_of(w, 0) && !out_of(w, &none, NULL, true, err))
		return PM_ERR;
	for (size_t i = 0; i < w->cap; i++)
		if (w->of[i] && end(w->of[i], err) != PM_OK)
			return PM_ERR;
	return PM_OK;
}

const struct pm_writer_ops dr_write_ops = {
	dr_create, dr_write, dr_finish, dr_free, pm_plain_dropped
};
