/* SPDX-License-Identifier: MIT */
/* fmt_parquet.c - a trace as a table, for DuckDB, pandas and whatever else reads Parquet
 *
 * A row per event, in the order in which `pugmark dump` shows them: row i is line i. Only what is
 * opaque to all but one format (PM_EV_OPAQUE) has no row. docs/formats/parquet.md is the schema's
 * manual; `columns` and `shape` below are the schema. The container is base/parquet.h.
 *
 * A column of the first twelve is always there, others only if a row has a value in it. What a
 * trace does not know is null: a size of 0, process 0, values without PM_HAS_VALUES.
 *
 * pc is the instruction to which an event belongs: its own, or that of its id, or the stream's last
 * one. insn is how many instructions of the stream came before that one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/parquet.h"
#include "trace/penn.h"
#include "trace/sinks.h"
#include "trace/text.h"

#define FEW	PM_PARQUET_FEW
#define NEAR	PM_PARQUET_NEAR
#define EXTRA	PM_PARQUET_EXTRA
#define HELD	PM_PARQUET_HELD

enum {
	STREAM, PID, TID, KIND, INSN, PC, ADDR, SIZE, TAKEN, TARGET, FLAGS, VALUE,
	TIME, SPACE, PROGRAM, OBJECT, BYTES, PAGE, REG, NAME, CODE, ARG0,
	UOP = ARG0 + 8, SRC1, SRC2, DEST, IMM, FALL, FLAG_USE, ACCESS, MACRO, MICRO,
	BUS, LANES, ATTR, AGENT, DATA, CLOCKS,
	COLUMNS
};

static const struct pm_parquet_column columns[COLUMNS] = {
	[STREAM] = { "stream", PM_PARQUET_U32, PM_PARQUET_REQUIRED | FEW | HELD },
	[PID] = { "pid", PM_PARQUET_U32, FEW | HELD },
	[TID] = { "tid", PM_PARQUET_U32, FEW | HELD },
	[KIND] = { "kind", PM_PARQUET_STRING, PM_PARQUET_REQUIRED },
	[INSN] = { "insn", PM_PARQUET_U64, NEAR },
	[PC] = { "pc", PM_PARQUET_U64, FEW | PM_PARQUET_NUMBERED },
	[ADDR] = { "addr", PM_PARQUET_U64, FEW },
	[SIZE] = { "size", PM_PARQUET_U32, FEW },
	[TAKEN] = { "taken", PM_PARQUET_BOOL, 0 },
	[TARGET] = { "target", PM_PARQUET_U64, FEW },
	[FLAGS] = { "flags", PM_PARQUET_STRING, 0 },
	[VALUE] = { "value", PM_PARQUET_U64, FEW },
	[TIME] = { "time", PM_PARQUET_U64, EXTRA | NEAR | HELD },
	[SPACE] = { "space", PM_PARQUET_U64, EXTRA | FEW | HELD },
	[PROGRAM] = { "program", PM_PARQUET_STRING, EXTRA | HELD },
	[OBJECT] = { "object", PM_PARQUET_STRING, EXTRA | HELD },
	[BYTES] = { "bytes", PM_PARQUET_BYTES, EXTRA },
	[PAGE] = { "page", PM_PARQUET_U64, EXTRA | FEW },
	[REG] = { "reg", PM_PARQUET_U32, EXTRA | FEW },
	[NAME] = { "name", PM_PARQUET_STRING, EXTRA },
	[CODE] = { "code", PM_PARQUET_U32, EXTRA | FEW },
	[ARG0] = { "arg0", PM_PARQUET_U64, EXTRA | FEW }, { "arg1", PM_PARQUET_U64, EXTRA | FEW },
	{ "arg2", PM_PARQUET_U64, EXTRA | FEW }, { "arg3", PM_PARQUET_U64, EXTRA | FEW },
	{ "arg4", PM_PARQUET_U64, EXTRA | FEW }, { "arg5", PM_PARQUET_U64, EXTRA | FEW },
	{ "arg6", PM_PARQUET_U64, EXTRA | FEW }, { "arg7", PM_PARQUET_U64, EXTRA | FEW },
	[UOP] = { "uop", PM_PARQUET_I32, EXTRA | FEW },
	[SRC1] = { "src1", PM_PARQUET_I32, EXTRA | FEW },
	[SRC2] = { "src2", PM_PARQUET_I32, EXTRA | FEW },
	[DEST] = { "dest", PM_PARQUET_I32, EXTRA | FEW },
	[IMM] = { "imm", PM_PARQUET_I64, EXTRA | FEW },
	[FALL] = { "fall", PM_PARQUET_U64, EXTRA | FEW },
	[FLAG_USE] = { "flag_use", PM_PARQUET_STRING, EXTRA },
	[ACCESS] = { "access", PM_PARQUET_STRING, EXTRA },
	[MACRO] = { "macro", PM_PARQUET_STRING, EXTRA },
	[MICRO] = { "micro", PM_PARQUET_STRING, EXTRA },
	[BUS] = { "bus", PM_PARQUET_STRING, EXTRA },
	[LANES] = { "lanes", PM_PARQUET_U32, EXTRA | FEW },
	[ATTR] = { "attr", PM_PARQUET_U32, EXTRA | FEW },
	[AGENT] = { "agent", PM_PARQUET_U32, EXTRA | FEW },
	[DATA] = { "data", PM_PARQUET_U64, EXTRA | FEW },
	[CLOCKS] = { "clocks", PM_PARQUET_U64, EXTRA | FEW },
};

/* Where the fields of kinds that are not frequent go. */
enum { NEVER, NOT_ZERO, ALWAYS };
static const struct { uint8_t addr_is_pc, addr, size, value, rare; } shape[PM_EV_COUNT] = {
	[PM_EV_BLOCK] = { true, ALWAYS, NEVER, ALWAYS, false },
	[PM_EV_REP_ITER] = { true, ALWAYS, NEVER, NEVER, false },
	[PM_EV_REP_END] = { true, ALWAYS, NEVER, ALWAYS, false },
	[PM_EV_LINE] = { false, ALWAYS, NOT_ZERO, NEVER, false },
	[PM_EV_BUS] = { false, ALWAYS, NOT_ZERO, NEVER, false },
	[PM_EV_REG_READ] = { false, NEVER, NOT_ZERO, NEVER, false },
	[PM_EV_REG_WRITE] = { false, NEVER, NOT_ZERO, NEVER, false },
	[PM_EV_KERNEL] = { false, NOT_ZERO, NEVER, NOT_ZERO, true },
	[PM_EV_INTERRUPT] = { true, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_DMA] = { false, ALWAYS, NOT_ZERO, NOT_ZERO, true },
	[PM_EV_DEVICE] = { false, ALWAYS, NOT_ZERO, ALWAYS, true },
	[PM_EV_SYSCALL] = { true, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_SYSRET] = { true, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_SIGNAL] = { true, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_SIGRETURN] = { true, NOT_ZERO, NEVER, NOT_ZERO, true },
	[PM_EV_PROCESS] = { false, NEVER, NEVER, ALWAYS, true },
	[PM_EV_EXEC] = { false, NEVER, NEVER, ALWAYS, true },
	[PM_EV_THREAD] = { false, NEVER, NEVER, ALWAYS, true },
	[PM_EV_EXIT] = { false, NEVER, NEVER, ALWAYS, true },
	[PM_EV_MMAP] = { false, ALWAYS, NEVER, ALWAYS, true },
	[PM_EV_MUNMAP] = { false, ALWAYS, NEVER, ALWAYS, true },
	[PM_EV_SWITCH] = { false, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_TIME] = { false, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_MARKER] = { false, NOT_ZERO, NOT_ZERO, NOT_ZERO, true },
	[PM_EV_LOST] = { false, NOT_ZERO, NEVER, ALWAYS, true },
	[PM_EV_FRAME] = { false, ALWAYS, NOT_ZERO, ALWAYS, true },
};

struct parquet_stream {				/* what is so until it changes */
	uint64_t insns;			/* instructions so far */
	uint64_t pc, time;		/* of the last instruction; of now */
	bool timed;
};

struct parquet_insn {			/* of one in the code table, in this row group */
	uint32_t pc, bytes, object;	/* number + 1; 0: not known yet; NONE: it has none */
};
#define NONE PM_NONE

struct parquet_writer {
	struct pm_parquet *p;
	struct pm_output *out;
	uint32_t facts;
	bool sizes_in_value;		/* requests may be larger than an event's size */
	bool stores_have_values;	/* ... though loads have none */
	struct parquet_stream *stream;
	size_t nstream;
	/* numbers + 1 of strings in row group `group`; 0: not known yet */
	uint32_t group;
	uint32_t kind[PM_EV_COUNT], flags[4][256];
	struct parquet_insn *insn;
	size_t ninsn;
	uint32_t object;		/* of the row before, in the same way */
	const struct pm_code *code;	/* `insn` is about its epoch */
	uint32_t epoch;
	uint64_t count[PM_EV_COUNT], dropped[PM_EV_COUNT];
};

static enum pm_status to_output(void *to, const void *p, size_t n, struct pm_err *err)
{
	return pm_output_write(to, p, n, err);
}

static void note_contents(struct parquet_writer *w, const struct pm_write_opts *o)
{
	struct pm_buf key = { 0 };
	char names[600];

	pm_parquet_note(w->p, "pugmark.schema", "events 1");
	pm_fact_names(o->facts & ~PM_HAS_BLOCKS, names, sizeof names);
	pm_parquet_note(w->p, "pugmark.contents", names);
	for (const char *const *i = o->info; i && *i; i += 2) {
		key.n = 0;
		pm_buf_printf(&key, "pugmark.%s", i[0]);
		pm_buf_add(&key, "", 1);
		pm_parquet_note(w->p, (const char *)key.p, i[1]);
	}
	pm_buf_release(&key);
}

static bool number_option(const char *options, const char *key, uint64_t least, uint64_t most,
			  uint64_t *v, struct pm_err *err)
{
	char buf[24];
	const char *s = pm_fmt_option(options, key, buf, sizeof buf);

	if (!s || (pm_dec(s, strlen(s), v) && *v >= least && *v <= most))
		return true;
	pm_fail_file(err, "%s=%s: expected a number from %" PRIu64 " to %" PRIu64, key, s, least,
		     most);
	return false;
}

static void *parquet_create(struct pm_output *out, const struct pm_write_opts *o,
			    struct pm_err *err)
{
	const struct pm_parquet_out to = { to_output, out };
	uint64_t level = 1, group = PM_PARQUET_GROUP;
	struct parquet_writer *w;

	if (pm_fmt_options_check(o->options, "level group", err) != PM_OK ||
	    !number_option(o->options, "level", 1, 19, &level, err) ||
	    !number_option(o->options, "group", 1, 1u << 30, &group, err))
		return NULL;
	w = pm_alloc(sizeof *w);
	w->out = out;
	w->facts = o->facts;
	w->object = NONE;
	w->p = pm_parquet_new(columns, COLUMNS, to, &(struct pm_parquet_opts){
			      .level = (int)level, .group = (uint32_t)group });
	note_contents(w, o);
	return w;
}

static void parquet_free(void *self)
{
	struct parquet_writer *w = self;

	if (!w)
		return;
	pm_parquet_free(w->p);
	free(w->stream);
	free(w->insn);
	free(w);
}

/* ---- strings --------------------------------------------------------------------------------- */

static void forget_strings(struct parquet_writer *w)
{
	w->group = w->p->group;
	w->object = NONE;
	memset(w->kind, 0, sizeof w->kind);
	memset(w->flags, 0, sizeof w->flags);
	if (w->ninsn)
		memset(w->insn, 0, w->ninsn * sizeof *w->insn);
}

/* Room for what is known of @code's instructions. */
static void know_code(struct parquet_writer *w, const struct pm_code *code)
{
	if (w->code != code || w->epoch != code->epoch) {
		if (w->ninsn)
			memset(w->insn, 0, w->ninsn * sizeof *w->insn);
		w->code = code;
		w->epoch = code->epoch;
	}
	if (code->ninsn > w->ninsn) {
		size_t n = code->ninsn + code->ninsn / 2 + 64;

		w->insn = pm_realloc(w->insn, n * sizeof *w->insn);
		memset(w->insn + w->ninsn, 0, (n - w->ninsn) * sizeof *w->insn);
		w->ninsn = n;
	}
}

static void find(struct parquet_writer *w, const struct pm_code *code, uint32_t id)
{
	const struct pm_insn *in = &code->insn[id];
	struct parquet_insn *t = &w->insn[id];
	const char *path = in->object < code->nobject ? code->object[in->object].path : NULL;

	t->pc = pm_parquet_number(w->p, PC, in->pc) + 1;
	t->object = path ? pm_parquet_string(w->p, OBJECT, path, strlen(path)) + 1 : NONE;
}

/* HOT: the bytes of instruction @id, which find() knows. */
static inline void put_bytes(struct parquet_writer *w, const struct pm_code *code, uint32_t id)
{
	const struct pm_insn *in = &code->insn[id];
	struct parquet_insn *t = &w->insn[id];

	if (!t->bytes) {
		size_t len = in->len <= sizeof in->bytes ? in->len : sizeof in->bytes;

		t->bytes = len && w->facts & (PM_HAS_BYTES | PM_HAS_OPCODES) ?
			pm_parquet_string(w->p, BYTES, in->bytes, len) + 1 : NONE;
	}
	if (t->bytes != NONE)
		pm_parquet_put(w->p, BYTES, t->bytes - 1);
}

static void hold_object(struct parquet_writer *w, uint32_t object)
{
	w->object = object;
	if (object == NONE)
		pm_parquet_hold_null(w->p, OBJECT);
	else
		pm_parquet_hold(w->p, OBJECT, object - 1);
}

/* HOT: to which instruction the row belongs: @id of the code table, or the one at @pc. */
static inline void put_pc(struct parquet_writer *w, const struct pm_code *code, uint32_t id,
			  uint64_t pc)
{
	uint32_t object = NONE;

	if (code && id < code->ninsn) {
		const struct parquet_insn *t = &w->insn[id];

		if (!t->pc)
			find(w, code, id);
		object = t->object;
		pm_parquet_put(w->p, PC, t->pc - 1);
	} else {
		pm_parquet_put(w->p, PC, pm_parquet_number(w->p, PC, pc));
	}
	if (object != w->object)
		hold_object(w, object);
}

static inline void without_pc(struct parquet_writer *w)
{
	if (w->object != NONE)
		hold_object(w, NONE);
}

static void find_kind(struct parquet_writer *w, unsigned kind)
{
	const char *s = pm_kind_name((enum pm_kind)kind);

	w->kind[kind] = pm_parquet_string(w->p, KIND, s, strlen(s)) + 1;
}

static void find_flags(struct parquet_writer *w, unsigned kind, unsigned flags, uint32_t *to)
{
	struct pm_buf b = { 0 };

	for (unsigned i = 0; i < 8; i++)
		if (flags >> i & 1)
			pm_buf_printf(&b, "%s%s", b.n ? "," : "",
				      pm_flag_name((enum pm_kind)kind, i));
	*to = pm_parquet_string(w->p, FLAGS, b.p, b.n) + 1;
	pm_buf_release(&b);
}

/* HOT: as dump names them, but for what `taken` says. */
static inline void put_flags(struct parquet_writer *w, unsigned kind, unsigned flags)
{
	/* kinds whose flags have the same names */
	static const uint8_t class[PM_EV_COUNT] = {
		[PM_EV_BRANCH] = 1, [PM_EV_READ] = 2, [PM_EV_WRITE] = 2, [PM_EV_LINE] = 2,
		[PM_EV_EXIT] = 3,
	};
	uint32_t *number;

	if (kind == PM_EV_BRANCH)
		flags &= ~(unsigned)PM_BR_TAKEN;
	if (!flags)
		return;
	number = &w->flags[class[kind]][flags];
	if (!*number)
		find_flags(w, kind, flags, number);
	pm_parquet_put(w->p, FLAGS, *number - 1);
}

/* ---- events ---------------------------------------------------------------------------------- */

static inline void put_if(struct pm_parquet *p, unsigned column, unsigned when, uint64_t v)
{
	if (when == ALWAYS || (when && v))
		pm_parquet_u64(p, column, v);
}

static void put_rare(struct pm_parquet *p, const struct pm_rare *r)
{
	put_if(p, CODE, NOT_ZERO, r->code);
	for (unsigned i = 0; i < r->nargs && i < NR(r->arg); i++)
		pm_parquet_u64(p, ARG0 + i, r->arg[i]);
	if (r->name)
		pm_parquet_text(p, NAME, r->name);
}

static void put_name(struct pm_parquet *p, unsigned column, const char *s, size_t most)
{
	size_t n = strnlen(s, most);

	if (n)
		pm_parquet_put(p, column, pm_parquet_string(p, column, s, n));
}

static void put_uop(struct pm_parquet *p, const struct pm_uop *u)
{
	static const char *const use[] = { [PM_UOP_READS_FLAGS] = "reads",
		[PM_UOP_WRITES_FLAGS] = "writes" };
	static const char *const access[] = { [PM_UOP_LOAD] = "load", [PM_UOP_STORE] = "store" };

	pm_parquet_u64(p, UOP, (uint64_t)(int64_t)u->index);
	pm_parquet_u64(p, SRC1, (uint64_t)(int64_t)u->src1);
	pm_parquet_u64(p, SRC2, (uint64_t)(int64_t)u->src2);
	pm_parquet_u64(p, DEST, (uint64_t)(int64_t)u->dest);
	pm_parquet_u64(p, IMM, (uint64_t)u->imm);
	pm_parquet_u64(p, FALL, u->fall);
	put_if(p, TARGET, NOT_ZERO, u->target);
	put_if(p, SIZE, NOT_ZERO, u->msize);
	if (u->mem || u->access)
		pm_parquet_u64(p, ADDR, u->mem);
	if (u->outcome)
		pm_parquet_u64(p, TAKEN, u->outcome == PM_UOP_TAKEN);
	if (u->flag_use && u->flag_use < NR(use))
		pm_parquet_text(p, FLAG_USE, use[u->flag_use]);
	if (u->access && u->access < NR(access))
		pm_parquet_text(p, ACCESS, access[u->access]);
	put_name(p, MACRO, u->macro, sizeof u->macro);
	put_name(p, MICRO, u->micro, sizeof u->micro);
}

static void put_bus(struct pm_parquet *p, const struct pm_bus *u)
{
	static const char *const type[] = { [PM_BUS_FETCH] = "fetch", [PM_BUS_READ] = "read",
		[PM_BUS_WRITE] = "write", [PM_BUS_WRITEBACK] = "writeback",
		[PM_BUS_READ_INVAL] = "read-inval", [PM_BUS_IO_READ] = "io-read",
		[PM_BUS_IO_WRITE] = "io-write", [PM_BUS_INTACK] = "intack",
		[PM_BUS_SPECIAL] = "special", [PM_BUS_INVALID] = "invalid" };

	pm_parquet_text(p, BUS, u->type < NR(type) ? type[u->type] : "invalid");
	pm_parquet_u64(p, LANES, u->lanes);
	pm_parquet_u64(p, ATTR, u->attr);
	pm_parquet_u64(p, AGENT, u->agent);
	pm_parquet_u64(p, DATA, u->data);
	if (u->time != UINT64_MAX)
		pm_parquet_u64(p, CLOCKS, u->time);
}

static void put_register(struct pm_parquet *p, const struct pm_batch *b, const struct pm_event *e)
{
	if (e->id != PM_NONE)
		pm_parquet_u64(p, REG, e->id);
	if (e->size == 16 && b->narena >= 16 && e->addr <= b->narena - 16)
		pm_parquet_put(p, BYTES, pm_parquet_string(p, BYTES, b->arena + e->addr, 16));
	else
		pm_parquet_u64(p, VALUE, e->value);
}

/* Whatever is no instruction, reference or branch. */
static void put_other(struct parquet_writer *w, const struct pm_batch *b, const struct pm_event *e)
{
	struct pm_parquet *p = w->p;

	if (e->kind == PM_EV_UOP && e->id < b->nuop) {
		put_pc(w, NULL, PM_NONE, b->uop[e->id].pc);
		put_uop(p, &b->uop[e->id]);
	} else if (shape[e->kind].addr_is_pc && (e->addr || shape[e->kind].addr == ALWAYS)) {
		bool own = shape[e->kind].rare || e->kind == PM_EV_BLOCK;

		put_pc(w, b->code, own ? PM_NONE : e->id, e->addr);
	} else {
		without_pc(w);
		if (!shape[e->kind].addr_is_pc)
			put_if(p, ADDR, shape[e->kind].addr, e->addr);
	}
	put_if(p, SIZE, shape[e->kind].size, e->size);
	put_if(p, VALUE, shape[e->kind].value, e->value);
	put_flags(w, e->kind, e->flags);
	if (e->kind == PM_EV_BUS && e->id < b->nbus)
		put_bus(p, &b->bus[e->id]);
	if (e->kind == PM_EV_REG_READ || e->kind == PM_EV_REG_WRITE)
		put_register(p, b, e);
	if (shape[e->kind].rare && e->id < b->nrare)
		put_rare(p, &b->rare[e->id]);
}

/* HOT */
static inline void put_reference(struct parquet_writer *w, const struct pm_batch *b,
				 const struct pm_event *e, const struct parquet_stream *s)
{
	bool large = w->sizes_in_value && e->value > e->size;
	struct pm_parquet *p = w->p;

	if (s->insns || (b->code && e->id < b->code->ninsn))
		put_pc(w, b->code, e->id, s->pc);
	else
		without_pc(w);
	pm_parquet_u64(p, ADDR, e->addr);
	put_if(p, SIZE, NOT_ZERO, large ? (uint32_t)e->value : e->size);
	put_flags(w, e->kind, e->flags);
	if (w->facts & PM_HAS_VALUES || (w->stores_have_values && e->kind == PM_EV_WRITE))
		pm_parquet_u64(p, VALUE, e->value);
	if (w->facts & PM_HAS_PAGES)
		pm_parquet_u64(p, PAGE, e->value);
}

/* HOT: the row of @e. */
static inline void put_event(struct parquet_writer *w, const struct pm_batch *b,
			     const struct pm_event *e, struct parquet_stream *s)
{
	struct pm_parquet *p = w->p;

	switch (e->kind) {
	case PM_EV_INSN:
		s->insns++;
		s->pc = e->addr;
		put_pc(w, b->code, e->id, e->addr);
		if (b->code && e->id < b->code->ninsn)
			put_bytes(w, b->code, e->id);
		put_if(p, SIZE, NOT_ZERO, e->size);
		if (w->facts & PM_HAS_PAGES)
			pm_parquet_u64(p, PAGE, e->value);
		break;
	case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
		put_reference(w, b, e, s);
		break;
	case PM_EV_BRANCH:
		put_pc(w, b->code, e->id, e->addr);
		put_if(p, SIZE, NOT_ZERO, e->size);
		pm_parquet_u64(p, TAKEN, e->flags & PM_BR_TAKEN);
		put_if(p, TARGET, NOT_ZERO, e->value);
		put_flags(w, e->kind, e->flags);
		break;
	case PM_EV_TIME:
		s->time = e->value;
		s->timed = true;
		pm_parquet_hold(p, TIME, s->time);
		/* fall through */
	default:
		put_other(w, b, e);
	}
	if (s->insns)
		pm_parquet_u64(p, INSN, s->insns - 1);
}

static struct parquet_stream *stream_of(struct parquet_writer *w, uint32_t index)
{
	if (index >= w->nstream) {
		size_t n = index + index / 2 + 8;

		w->stream = pm_realloc(w->stream, n * sizeof *w->stream);
		memset(w->stream + w->nstream, 0, (n - w->nstream) * sizeof *w->stream);
		w->nstream = n;
	}
	return &w->stream[index];
}

static void hold_if(struct pm_parquet *p, unsigned column, uint64_t v)
{
	if (v)
		pm_parquet_hold(p, column, v);
	else
		pm_parquet_hold_null(p, column);
}

/* What is so for all events of a batch, until time passes. */
static void hold_stream(struct parquet_writer *w, const struct pm_stream *of,
			const struct parquet_stream *s)
{
	struct pm_parquet *p = w->p;

	pm_parquet_hold(p, STREAM, of->index);
	hold_if(p, PID, of->pid);
	hold_if(p, TID, of->tid);
	hold_if(p, SPACE, of->space);
	if (of->name)
		pm_parquet_hold(p, PROGRAM,
				pm_parquet_string(p, PROGRAM, of->name, strlen(of->name)));
	else
		pm_parquet_hold_null(p, PROGRAM);
	if (s->timed)
		pm_parquet_hold(p, TIME, s->time);
	else
		pm_parquet_hold_null(p, TIME);
}

/* What formats keep in events beyond what their contents say. */
static void note_source(struct parquet_writer *w, const struct pm_batch *b,
			const struct pm_event *e)
{
	size_t n;

	if (e->flags != PM_OPAQUE_HEADER)
		return;
	w->sizes_in_value |= pm_opaque_is(b, e, "lcs", &n) ||
			     pm_opaque_is(b, e, "oraclegeneral", &n);
	w->stores_have_values |= pm_opaque_is(b, e, "spike", &n) != NULL;
}

static enum pm_status parquet_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct parquet_writer *w = self;
	const struct pm_stream *of = b->stream;
	struct pm_parquet *p = w->p;
	struct parquet_stream *s;

	if (!b->n)
		return PM_OK;
	s = stream_of(w, of->index);
	/* some readers count, and what was left out before this counts, too */
	if (b->first_insn > s->insns)
		s->insns = b->first_insn;
	if (b->code)
		know_code(w, b->code);
	if (w->group == p->group)
		hold_stream(w, of, s);
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind == PM_EV_OPAQUE) {
			note_source(w, b, e);
			continue;
		}
		if (e->kind >= PM_EV_COUNT || !e->kind) {
			w->dropped[0]++;
			continue;
		}
		if (w->group != p->group) {
			forget_strings(w);
			hold_stream(w, of, s);
		}
		if (!w->kind[e->kind])
			find_kind(w, e->kind);
		w->count[e->kind]++;
		pm_parquet_put(p, KIND, w->kind[e->kind] - 1);
		put_event(w, b, e, s);
		if (pm_parquet_row(p, err) == PM_ERR)
			return PM_ERR;
	}
	return PM_OK;
}

static enum pm_status parquet_finish(void *self, struct pm_err *err)
{
	struct parquet_writer *w = self;
	uint64_t rows = 0;
	char key[64], n[24];

	for (unsigned k = 0; k < PM_EV_COUNT; k++) {
		if (!w->count[k])
			continue;
		rows += w->count[k];
		snprintf(key, sizeof key, "pugmark.count.%s", pm_kind_name((enum pm_kind)k));
		snprintf(n, sizeof n, "%" PRIu64, w->count[k]);
		pm_parquet_note(w->p, key, n);
	}
	snprintf(n, sizeof n, "%" PRIu64, rows);
	pm_parquet_note(w->p, "pugmark.count", n);
	return pm_parquet_finish(w->p, err);
}

static const uint64_t *parquet_dropped(void *self)
{
	return ((struct parquet_writer *)self)->dropped;
}

static const struct pm_writer_ops parquet_write_ops = {
	parquet_create, parquet_write, parquet_finish, parquet_free, parquet_dropped
};

static int parquet_probe(const uint8_t *head, size_t n)
{
	return n >= 12 && !memcmp(head, "PAR1", 4) ? 32 : 0;
}

const struct pm_format pm_fmt_parquet = {
	.name = "parquet", .about = "a table for DuckDB, pandas and the like (write only)",
	.plural = "Parquet tables", .suffixes = ".parquet",
	.has = 2 * PM_HAS_OBJECTS - 1,
	.options = "level=N  1 to 19: of zstd\n"
		   "group=N  rows of a row group",
	.probe = parquet_probe, .write = &parquet_write_ops,
};
