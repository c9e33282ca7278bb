/* SPDX-License-Identifier: MIT */
/* idt_read.c - IDtrace's traces, read: fmt_idt.c draws their entries */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bound.h"
#include "trace/idt_files.h"
#include "trace/idt_format.h"
#include "trace/insns.h"
#include "trace/text.h"

struct idt_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	enum idt_kind kind;
	bool wide, started;
	unsigned line;

	/* branch: what OP entries said, as a code table */
	struct pm_map ops;		/* last byte's address -> index into insn */
	struct pm_insn *insn;
	size_t ninsn, cap_insn;
	bool epochs;			/* the table may begin anew */
	struct pm_block *block;
	struct pm_code code;
	bool pending;			/* an OP entry whose outcome the next block tells */
	struct pm_event branch;

	/* execution */
	struct idt_blk blk;		/* behind its records: parts of them, see rest_of() */
	size_t nrecord, cap_block;
	uint8_t *blk_raw;
	size_t blk_n;
	uint32_t *at_offset;		/* a quarter of a record's offset -> its index + 1 */
	bool *pointer;			/* by instruction: idt_through_memory() */
	uint8_t *pushes;		/* likewise idt_pushes(), where one entry stands for all */
	bool push_left;			/* ... of a far call: the target was there, the data not */
	const struct idt_insn *insns_now;	/* of the block that runs */
	uint32_t now;			/* block that runs, PM_NONE at the start */
	uint32_t at;			/* its instruction that the next entry belongs to */
	int left;			/* entries that this instruction still has; < 0: rep */
	unsigned rep_phase;
	uint64_t iters;
	size_t block_event;		/* of the running block in the batch; SIZE_MAX: not in it */
	uint32_t entries;		/* of the running block so far */
	struct { uint32_t at; uint64_t target; } targ[256];
	unsigned ntarg;
	uint64_t insns;
	uint8_t size[256], bytes[256];	/* by tag: of the entry, 0: none such; of the reference */
};

/* What is known of the code's bytes: files and where they are mapped. */
struct idt_text {
	struct pm_buf *file;		/* by number */
	size_t nfile, cap_file;
	struct part { uint64_t lo, hi, offset, record; size_t file; } *part;
	size_t npart, cap_part;
};

static void text_release(struct idt_text *t)
{
	for (size_t i = 0; i < t->nfile; i++)
		pm_buf_release(&t->file[i]);
	free(t->file);
	free(t->part);
}

/* @record: of the block. Backwards: of what was in one place, later blocks have the later. */
static const uint8_t *text_at(const struct idt_text *t, uint64_t pc, uint64_t record, unsigned n)
{
	for (size_t i = t->npart; i--; ) {
		const struct part *m = &t->part[i];
		const struct pm_buf *f = &t->file[m->file];
		uint64_t at = pc - m->lo + m->offset;

		if (m->lo <= pc && pc < m->hi && m->record <= record && at < f->n && f->n - at >= n)
			return f->p + at;
	}
	return NULL;
}

/* An error in a file beside the trace, as one about the trace. */
static enum pm_status beside(const char *what, const char *path, const struct pm_err *inner,
			     struct pm_err *err)
{
	char place[32] = "";

	if (inner->place == PM_AT_BYTE)
		snprintf(place, sizeof place, "0x%llx: ", (unsigned long long)inner->off);
	else if (inner->place == PM_AT_LINE)
		snprintf(place, sizeof place, "%llu: ", (unsigned long long)inner->off);
	return pm_fail_file(err, "its %s '%.60s': %s%.140s", what, path, place, inner->msg);
}

static enum pm_status text_file(struct idt_text *t, const char *path, struct pm_err *err)
{
	struct pm_err inner = { 0 };

	pm_grow(t->file, t->nfile, t->cap_file);
	if (idt_slurp(path, &t->file[t->nfile++], &inner) == PM_OK)
		return PM_OK;
	return beside("program or library", path, &inner, err);
}

static void text_part(struct idt_text *t, uint64_t lo, uint64_t hi, uint64_t offset,
		      uint64_t record, size_t file)
{
	pm_grow(t->part, t->npart, t->cap_part);
	t->part[t->npart++] = (struct part){ lo, hi, offset, record, file };
}

static enum pm_status text_modules(struct idt_text *t, const char *path, struct pm_err *err)
{
	struct pm_err inner = { 0 };
	struct pm_buf raw = { 0 };
	struct idt_modules m;
	enum pm_status st = idt_slurp(path, &raw, &inner);

	if (st == PM_OK)
		st = idt_modules_parse((char *)raw.p, raw.n, &m, &inner);
	if (st == PM_ERR) {
		beside("module file", path, &inner, err);
	} else {
		for (size_t i = 0; i < m.n && st == PM_OK; i++) {
			size_t k = 0;

			while (k < i && strcmp(m.v[k].path, m.v[i].path))
				k++;
			k = k < i ? t->part[k].file : t->nfile;
			if (k == t->nfile)
				st = text_file(t, m.v[i].path, err);
			text_part(t, m.v[i].lo, m.v[i].hi, m.v[i].offset, m.v[i].record, k);
		}
		idt_modules_release(&m);
	}
	pm_buf_release(&raw);
	return st;
}

/* What is beside the trace though nobody named it: the program, and what the module file lists.
 * Whether they are what ran, each instruction tells: see code_from_blk(). */
static void text_beside(struct idt_reader *r, struct idt_text *t, const char *path)
{
	char *program = idt_program_path(path, r->wide), *modules = idt_modules_path(path, r->wide);
	struct pm_err ignored = { 0 };
	struct stat st;

	if (strcmp(program, path) && !stat(program, &st) && S_ISREG(st.st_mode) &&
	    text_file(t, program, &ignored) == PM_OK)
		text_part(t, 0, UINT64_MAX, -(uint64_t)r->blk.oldt_offset, 0, t->nfile - 1);
	ignored = (struct pm_err){ 0 };
	if (!stat(modules, &st) && S_ISREG(st.st_mode))
		text_modules(t, modules, &ignored);
	free(program);
	free(modules);
}

/* @named: the user named the files of @t. If not, only bytes count that are the instruction which
 * the block table says. Returns how many instructions have bytes. */
static size_t code_from_blk(struct idt_reader *r, const struct idt_text *t, bool named)
{
	size_t known = 0;

	r->at_offset = pm_alloc((r->blk_n / 4 + 1) * sizeof *r->at_offset);
	r->pointer = pm_alloc(r->blk.ninsn * sizeof *r->pointer);
	r->pushes = pm_alloc(r->blk.ninsn);
	r->insn = pm_alloc(r->blk.ninsn * sizeof *r->insn);
	r->block = pm_alloc(r->blk.nblock * sizeof *r->block);
	r->nrecord = r->cap_block = r->blk.nblock;
	r->ninsn = r->blk.ninsn;
	for (size_t i = 0; i < r->blk.nblock; i++) {
		const struct idt_block *k = &r->blk.block[i];
		uint64_t pc = k->address;

		r->block[i] = (struct pm_block){ pc, k->insn, k->n };
		if (!(k->offset % 4))
			r->at_offset[k->offset / 4] = (uint32_t)i + 1;
		for (uint32_t j = k->insn; j < k->insn + k->n; j++) {
			const struct idt_insn *d = &r->blk.insn[j];
			struct pm_insn *in = &r->insn[j];
			const uint8_t *bytes = text_at(t, pc, k->offset, d->size);
			enum idt_pushes pushes;

			*in = (struct pm_insn){
				.pc = pc, .len = d->size, .flow = idt_id_class(d->id),
				.nref = (uint8_t)(d->entries < 0 ? -d->entries : d->entries),
				.rep = d->entries < 0, .isa = PM_ISA_NONE, .object = PM_NONE,
			};
			if (bytes && !named && idt_insn_id(bytes, d->size, r->wide) != d->id)
				bytes = NULL;
			if (bytes) {
				known++;
				memcpy(in->bytes, bytes, d->size);
				in->isa = r->wide ? PM_ISA_X86_64 : PM_ISA_X86_32;
			}
			r->pointer[j] = idt_through_memory(in, r->wide);
			pushes = idt_pushes(in, r->wide);
			if (d->entries == 1 + (pushes == IDT_FAR_CALL))
				r->pushes[j] = (uint8_t)pushes;
			pc += d->size;
		}
	}
	r->code = (struct pm_code){ .insn = r->insn, .block = r->block, .ninsn = r->blk.ninsn,
				    .nblock = r->blk.nblock };
	return known;
}

void idt_read_close(void *self)
{
	struct idt_reader *r = self;

	if (!r)
		return;
	pm_builder_release(&r->b);
	pm_map_release(&r->ops);
	idt_blk_release(&r->blk);
	free(r->blk_raw);
	free(r->at_offset);
	free(r->pointer);
	free(r->pushes);
	free(r->insn);
	free(r->block);
	free(r);
}

static enum pm_status open_exec(struct idt_reader *r, const struct pm_read_opts *o, uint32_t *facts,
				struct pm_err *err)
{
	char buf[4096];
	const char *named = pm_fmt_option(o->options, "blk", buf, sizeof buf);
	char *path = named ? pm_strdup(named) : o->path ? idt_blk_path(o->path, r->wide) : NULL;
	struct pm_buf raw = { 0 };
	struct idt_text text = { 0 };
	struct pm_err inner = { 0 };
	enum pm_status st = PM_OK;
	bool any = false;

	if (!path)
		return pm_fail_file(err, "an execution trace needs its block table; blk=FILE says "
				    "where it is");
	if (idt_slurp(path, &raw, &inner) == PM_ERR ||
	    idt_blk_parse(raw.p, raw.n, r->wide, &r->blk, &inner) == PM_ERR) {
		beside("block table", path, &inner, err);
		pm_buf_release(&raw);
		free(path);
		return PM_ERR;
	}
	r->blk_raw = raw.p;
	r->blk_n = raw.n;
	free(path);
	named = pm_fmt_option(o->options, "binary", buf, sizeof buf);
	if (named) {
		st = text_file(&text, named, err);
		text_part(&text, 0, UINT64_MAX, -(uint64_t)r->blk.oldt_offset, 0, 0);
		any = true;
	}
	named = pm_fmt_option(o->options, "modules", buf, sizeof buf);
	if (named && st == PM_OK) {
		st = text_modules(&text, named, err);
		any = true;
	}
	if (!any && o->path)
		text_beside(r, &text, o->path);
	if (st == PM_OK && (code_from_blk(r, &text, any) || any))
		*facts |= PM_HAS_BYTES;
	text_release(&text);
	return st;
}

/* What NAME.trc.info says, if it is there: the line size. It has to be about this trace. */
static enum pm_status read_info(const char *trace, enum idt_kind kind, bool wide, uint64_t *line,
				struct pm_err *err)
{
	char *path = idt_info_path(trace, wide);
	struct pm_buf raw = { 0 };
	struct pm_err inner = { 0 };
	struct idt_info info;
	enum pm_status st = PM_OK;

	if (access(path, F_OK)) {
		free(path);
		return PM_OK;
	}
	if (idt_slurp(path, &raw, &inner) == PM_ERR ||
	    idt_info_parse((const char *)raw.p, raw.n, &info, &inner) == PM_ERR)
		st = beside("description", path, &inner, err);
	else if (*info.kind && strcmp(info.kind, idt_kind_name[kind]))
		st = pm_fail_file(err, "its description '%.60s' says that it is a trace of kind "
				  "%s, not %s", path, info.kind, idt_kind_name[kind]);
	else if (info.word && info.word != (wide ? 8u : 4u))
		st = pm_fail_file(err, "its description '%.60s' says that its words have %u bytes, "
				  "not %u", path, info.word, wide ? 8u : 4u);
	else if (info.line_size)
		*line = info.line_size;
	pm_buf_release(&raw);
	free(path);
	return st;
}

void *idt_read_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err, enum idt_kind kind, bool wide)
{
	static const char *const known[] = { "", "line", "blk binary modules" };
	struct idt_reader *r;
	struct idt_trailer beside_it;
	uint64_t line = 16, given;
	char buf[24];
	const char *v;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	if (o->path && kind == IDT_CACHE && idt_options_beside(o->path, wide, &beside_it) &&
	    idt_has_option(&beside_it, "-l", &given) && given && !(given & (given - 1)) &&
	    given <= 32768)
		line = given;
	if (o->path && read_info(o->path, kind, wide, &line, err) == PM_ERR)
		return NULL;
	v = pm_fmt_option(o->options, "line", buf, sizeof buf);
	if (v && (!pm_num(v, strlen(v), &line) || !line || line & (line - 1) || line > 32768)) {
		pm_fail_request(err, "line=%s: expected a power of two", v);
		return NULL;
	}
	r = pm_alloc(sizeof *r);
	r->w.in = in;
	r->kind = kind;
	r->wide = wide;
	r->line = (unsigned)line;
	r->now = PM_NONE;
	r->block_event = SIZE_MAX;
	for (unsigned tag = 0; tag < 256; tag++)
		if (idt_legal(kind, tag, wide)) {
			r->size[tag] = (uint8_t)idt_entry_size(tag, wide);
			r->bytes[tag] = (uint8_t)idt_code_bytes(tag & 15, wide);
		}
	switch (kind) {
	case IDT_BRANCH:
		*facts = PM_HAS_BRANCHES | PM_HAS_OPCODES;
		break;
	case IDT_CACHE:
		*facts = PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LINES;
		break;
	case IDT_EXEC:
		*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_REPS |
			 PM_HAS_BLOCKS;
		if (open_exec(r, o, facts, err) == PM_ERR) {
			idt_read_close(r);
			return NULL;
		}
	}
	return r;
}

static uint32_t op_insn(struct idt_reader *r, uint64_t last, uint8_t op1, uint8_t op2, unsigned nop)
{
	bool fresh;
	uint64_t *at = pm_map_put(&r->ops, last, &fresh);
	struct pm_insn *in;
	unsigned len;

	if (!fresh && r->insn[*at].bytes[0] == op1 && r->insn[*at].bytes[1] == op2)
		return (uint32_t)*at;
	*at = r->ninsn;
	/* how long such an instruction usually is; only its last byte's address is in the file */
	if (nop == 2)
		len = (op2 & 0xf0) == 0x80 ? 6 : 2;
	else if (op1 == 0xe8 || op1 == 0xe9)
		len = 5;
	else if (op1 == 0xc2 || op1 == 0xca)
		len = 3;
	else if (op1 == 0x9a || op1 == 0xea)
		len = 7;
	else
		len = op1 == 0xc3 || (op1 >= 0xcb && op1 <= 0xcf && op1 != 0xcd) ? 1 : 2;
	pm_grow(r->insn, r->ninsn, r->cap_insn);
	in = &r->insn[r->ninsn];
	*in = (struct pm_insn){ .pc = last + 1 - len, .len = (uint8_t)len, .isa = PM_ISA_NONE,
				.object = PM_NONE };
	in->bytes[0] = op1;
	in->bytes[1] = op2;
	/* call or jump through a pointer: ModRM is not in the file, and call is the likelier */
	in->flow = nop == 2 ? idt_id_class((uint16_t)(op2 | 1 << 11)) :
		    op1 == 0xff ? PM_CLASS_CALL_IND : idt_id_class(op1);
	return (uint32_t)r->ninsn++;
}

/* Calls, jumps and returns are taken wherever they lead: `call` to the next instruction, to know
 * where one is; `jmp *%rax` into a table of cases. */
static void tell(struct idt_reader *r, bool known, uint64_t next)
{
	unsigned flow;

	if (!r->pending)
		return;
	r->pending = false;
	flow = r->insn[r->branch.id].flow;
	if (flow == PM_CLASS_CALL || flow == PM_CLASS_CALL_IND || flow == PM_CLASS_JUMP ||
	    flow == PM_CLASS_JUMP_IND || flow == PM_CLASS_RET ||
	    (known && next != r->branch.addr + r->branch.size))
		r->branch.flags |= PM_BR_TAKEN;
	r->branch.value = known ? next : 0;
	*pm_ev_add(&r->b, PM_EV_BRANCH, 0, 0, 0, 0) = r->branch;
}

/* ---- execution traces: entries find their instruction --------------------------------------- */

static void tell_targets(struct idt_reader *r)
{
	for (unsigned i = 0; i < r->ntarg; i++) {
		uint64_t target = r->targ[i].target;

		pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_TARG, 0, 0, target)->id = r->targ[i].at;
	}
	r->ntarg = 0;
}

static void end_block(struct idt_reader *r)
{
	if (r->now == PM_NONE)
		return;
	tell_targets(r);
	pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_BLOCK, 0, 0, r->blk.block[r->now].offset);
}

/* Entries that @in still has at first. IDT_MANY_ENTRIES: all until its block ends. */
#define UNCOUNTED (1 << 30)

static int entries_of(const struct idt_insn *in)
{
	return in->entries == IDT_MANY_ENTRIES ? UNCOUNTED : in->entries;
}

static void seek_entry(struct idt_reader *r)
{
	const struct idt_block *k = &r->blk.block[r->now];

	while (r->left == 0 && r->at + 1 <= k->n) {		/* UINT32_MAX: before the first */
		r->at++;
		if (r->at < k->n)
			r->left = entries_of(&r->insns_now[r->at]);
		r->rep_phase = 0;
		r->iters = 0;
	}
}

/* Instructions of the running block whose entries are missing did not execute. */
static void finish_block(struct idt_reader *r)
{
	if (r->now == PM_NONE)
		return;
	if (r->push_left)
		r->left = 1;
	r->push_left = false;
	if (r->left > UNCOUNTED / 2)
		r->left = r->left <= UNCOUNTED - IDT_MANY_ENTRIES ? 0 : 1;
	seek_entry(r);
	if (r->at < r->blk.block[r->now].n && r->block_event != SIZE_MAX) {
		r->b.ev[r->block_event].value = r->at;
		r->insns -= r->blk.block[r->now].n - r->at;
	}
	end_block(r);
	r->now = PM_NONE;
	r->left = 0;
}

static void begin_block(struct idt_reader *r, uint32_t index)
{
	const struct idt_block *k = &r->blk.block[index];
	struct pm_event *e;

	finish_block(r);
	r->now = index;
	r->insns_now = &r->blk.insn[k->insn];
	/* what one entry stands for several references of is exec_rare()'s: it seeks it */
	r->at = r->pushes[k->insn] ? UINT32_MAX : 0;
	r->left = r->pushes[k->insn] ? 0 : entries_of(r->insns_now);
	r->rep_phase = 0;
	r->iters = 0;
	r->entries = 0;
	r->block_event = r->b.b.n;
	e = pm_ev_add(&r->b, PM_EV_BLOCK, 0, 0, k->address, k->n);
	e->id = index;
	r->insns += k->n;
}

static inline uint32_t block_at(const struct idt_reader *r, uint64_t offset)
{
	if (offset % 4)
		return idt_blk_at(&r->blk, offset);
	/* 0 - 1 is PM_NONE */
	return offset < r->blk_n ? r->at_offset[offset / 4] - 1 : PM_NONE;
}

/* The block in whose record @offset is. */
static const struct idt_block *record_with(const struct idt_reader *r, uint64_t offset)
{
	const size_t n = pm_upper_bound(r->blk.block, r->nrecord, .offset, offset);

	return n ? &r->blk.block[n - 1] : NULL;
}

/* Of an instrumented program: a block goes on at its instruction number (@offset - its record's)
 * / 4, where a fault had stopped it. PM_NONE: it makes no sense. */
static uint32_t rest_of(struct idt_reader *r, uint64_t offset)
{
	const struct idt_block *k = record_with(r, offset);
	const uint64_t n = k ? (offset - k->offset) / 4 : 0;
	const size_t index = r->blk.nblock;
	struct idt_block rest;

	if (!k || (offset - k->offset) % 4 || offset % 4 || n >= k->n)
		return PM_NONE;
	rest = (struct idt_block){ r->insn[k->insn + n].pc, offset, k->insn + (uint32_t)n,
				  k->n - (uint32_t)n };
	pm_grow(r->blk.block, r->blk.nblock, r->blk.cap_block);
	r->blk.block[r->blk.nblock++] = rest;
	if (index >= r->cap_block) {
		r->cap_block = 2 * index + 16;
		r->block = pm_realloc(r->block, r->cap_block * sizeof *r->block);
	}
	r->block[index] = (struct pm_block){ rest.address, rest.insn, rest.n };
	r->code.block = r->block;
	r->code.nblock = index + 1;
	r->at_offset[offset / 4] = (uint32_t)index + 1;
	return (uint32_t)index;
}

/* Likewise: the running block has stopped in front of its instruction number (@offset - its
 * record's - 1) / 4, which has no entries that would tell. False: that is not what @offset says. */
static bool stops(struct idt_reader *r, uint64_t offset)
{
	const struct idt_block *k = offset % 4 == 1 ? record_with(r, offset) : NULL;
	const struct idt_block *now = r->now == PM_NONE ? NULL : &r->blk.block[r->now];
	const uint64_t insn = k ? k->insn + (offset - k->offset) / 4 : 0;

	if (!k || !now || now->insn < k->insn || insn < now->insn || insn >= now->insn + now->n ||
	    now->insn >= k->insn + k->n)
		return false;
	r->at = (uint32_t)insn - now->insn;
	r->left = r->left ? r->left : 1;
	finish_block(r);
	pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_STOP, 0, 0, offset);
	return true;
}

/* An entry that is no reference of an instruction without rep. */
static enum pm_status exec_rare(struct idt_reader *r, unsigned tag, uint64_t v, struct pm_err *err)
{
	const unsigned kind = tag & 0xf0;
	const uint64_t where = pm_window_at(&r->w);
	const struct pm_insn *in;
	struct pm_event *e;
	unsigned size;

	if (kind == IDT_BBFP) {
		uint32_t index = block_at(r, v);

		if (index == PM_NONE && stops(r, v))
			return PM_OK;
		if (index == PM_NONE)
			index = rest_of(r, v);
		if (index == PM_NONE)
			return pm_fail(err, where + 1,
				       "no block record at offset 0x%llx of the block table",
				       (unsigned long long)v);
		begin_block(r, index);
		return PM_OK;
	}
	if (r->now == PM_NONE)
		return pm_fail(err, where, "expected a block (tag 0x80), found tag 0x%02x", tag);
	if (r->push_left)
		r->left = 1;
	else
		seek_entry(r);
	r->push_left = false;
	if (r->at >= r->blk.block[r->now].n)
		return pm_fail(err, where, "the block at 0x%llx has no instruction for this entry",
			       (unsigned long long)r->blk.block[r->now].address);
	in = &r->insn[r->blk.block[r->now].insn + r->at];
	if (kind == IDT_REND) {
		if (r->left >= 0)
			return pm_fail(err, where,
				       "end of a rep instruction, but instruction %u of the block "
				       "is none", r->at);
		pm_ev_add(&r->b, PM_EV_REP_END, 0, 0, in->pc, r->iters)->id = r->at;
		r->left = 0;
		r->entries++;
		return PM_OK;
	}
	if (kind == IDT_TARG) {
		if (r->left < 0)
			return pm_fail(err, where, "a control target of a rep instruction");
		if (r->ntarg == NR(r->targ))
			return pm_fail(err, where, "more than %zu control targets in a block",
				       NR(r->targ));
		r->targ[r->ntarg].at = r->entries++;
		r->targ[r->ntarg++].target = v;
		r->left--;
		if (r->pushes[in - r->insn] == IDT_FAR_CALL) {
			r->left = 0;
			r->push_left = true;
		}
		if (r->pointer[in - r->insn])
			pm_ev_add(&r->b, PM_EV_READ, 0, r->wide ? 8 : 4, v, 0)->id = r->at;
		return PM_OK;
	}
	if (r->left < 0) {
		if (kind != IDT_RRD && kind != IDT_RWR)
			return pm_fail(err, where,
				       "expected a reference of a rep instruction or its end");
		if (!r->rep_phase) {
			r->iters++;
			pm_ev_add(&r->b, PM_EV_REP_ITER, 0, 0, in->pc, 0)->id = r->at;
		}
		r->rep_phase = (r->rep_phase + 1) % (unsigned)-r->left;
	} else {
		r->left--;
	}
	size = r->bytes[tag];
	if (kind <= IDT_WR && r->pushes[in - r->insn]) {
		const enum idt_pushes k = r->pushes[in - r->insn];

		if (k != IDT_POPA)
			v -= size * (idt_pushed(k) - 1);
		if (!r->wide)
			v = (uint32_t)v;
		size *= idt_pushed(k);
	}
	e = pm_ev_add(&r->b, kind == IDT_RW ? PM_EV_MODIFY :
		      kind == IDT_RD || kind == IDT_RRD ? PM_EV_READ : PM_EV_WRITE,
		      kind == IDT_RRD || kind == IDT_RWR ? PM_REF_REP : 0, size, v, 0);
	e->id = r->at;
	r->entries++;
	return PM_OK;
}

/* HOT: once per entry. */
static inline enum pm_status exec_entry(struct idt_reader *r, unsigned tag, uint64_t v,
					struct pm_err *err)
{
	static const uint8_t kinds[] = { PM_EV_MODIFY, PM_EV_READ, PM_EV_WRITE };

	/* what is left of an instruction is 0 before the first block */
	if (tag >= IDT_RRD || r->left <= 0)
		return exec_rare(r, tag, v, err);
	r->left--;
	r->entries++;
	pm_ev_put(&r->b, kinds[tag >> 4], 0, r->bytes[tag], v, 0)->id = r->at;
	return PM_OK;
}

static void branch_entry(struct idt_reader *r, const uint8_t *p, uint64_t v)
{
	const unsigned k = *p & 0xf0;
	unsigned c, f;
	uint32_t id;

	if (k == IDT_BBAD) {
		tell(r, true, v);
		pm_ev_add(&r->b, PM_EV_BLOCK, 0, 0, v, 0);
		return;
	}
	tell(r, false, 0);
	id = op_insn(r, v, p[1], k == IDT_OP2 ? p[2] : 0, k == IDT_OP2 ? 2 : 1);
	c = r->insn[id].flow;
	f = c == PM_CLASS_COND ? PM_BR_COND : c == PM_CLASS_RET ? PM_BR_RET | PM_BR_INDIRECT :
	    c == PM_CLASS_CALL ? PM_BR_CALL : c == PM_CLASS_CALL_IND ? PM_BR_CALL | PM_BR_INDIRECT :
	    c == PM_CLASS_JUMP_IND ? PM_BR_INDIRECT : 0;
	r->branch = (struct pm_event){ PM_EV_BRANCH, (uint8_t)f, r->insn[id].len, id,
				      r->insn[id].pc, 0 };
	r->pending = true;
}

static inline void cache_entry(struct idt_reader *r, unsigned tag, uint64_t v)
{
	struct pm_builder *b = &r->b;
	const unsigned bytes = r->bytes[tag];

	switch (tag & 0xf0) {
	case IDT_RD: pm_ev_put(b, PM_EV_READ, 0, bytes, v, 0); break;
	case IDT_WR: pm_ev_put(b, PM_EV_WRITE, 0, bytes, v, 0); break;
	case IDT_RRD: pm_ev_put(b, PM_EV_READ, PM_REF_REP, bytes, v, 0); break;
	case IDT_RWR: pm_ev_put(b, PM_EV_WRITE, PM_REF_REP, bytes, v, 0); break;
	case IDT_POP: pm_ev_put(b, PM_EV_READ, PM_REF_STACK, bytes, v, 0); break;
	case IDT_PUSH: pm_ev_put(b, PM_EV_WRITE, PM_REF_STACK, bytes, v, 0); break;
	case IDT_REND: pm_ev_put(b, PM_EV_REP_END, 0, 0, 0, v); break;
	default: pm_ev_put(b, PM_EV_LINE, 0, r->line, v, 0); break;
	}
}

/* HOT: once per entry, compiled once for each kind and width. */
static inline __attribute__((always_inline))
enum pm_status idt_entries(struct idt_reader *r, enum idt_kind kind, bool wide, struct pm_err *err)
{
	struct pm_builder *b = &r->b;

	for (;;) {
		const uint8_t *p;
		unsigned size;
		uint64_t v;

		if (kind != IDT_EXEC && b->b.n >= PM_BATCH_EVENTS)
			return PM_OK;
		if (pm_window_left(&r->w) < 11) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END) {
				tell(r, false, 0);
				if (kind == IDT_EXEC)
					finish_block(r);
				return PM_OK;
			}
		}
		p = r->w.p;
		size = r->size[*p];
		if (!size)
			return pm_fail(err, pm_window_at(&r->w),
				       "tag 0x%02x does not belong to %s trace", *p,
				       kind == IDT_BRANCH ? "a branch" : kind == IDT_CACHE ?
					       "a cache" : "an execution");
		if (pm_window_left(&r->w) < size)
			return pm_fail(err, pm_window_at(&r->w),
				       "expected an entry of %u bytes, found %zu",
				       size, pm_window_left(&r->w));
		v = wide ? pm_get64(p + size - 8) : pm_get32(p + size - 4);
		if (kind == IDT_EXEC && b->b.n >= PM_BATCH_EVENTS) {
			/* whole blocks, but a rep instruction may go on for ever */
			if (*p == IDT_BBFP && block_at(r, v) != PM_NONE) {
				finish_block(r);
				return PM_OK;
			}
			if (b->b.n >= 16 * PM_BATCH_EVENTS && r->left < 0) {
				tell_targets(r);
				pm_ev_add(b, PM_EV_OPAQUE, PM_OPAQUE_INSIDE, 0, 0,
					  r->blk.block[r->now].offset);
				return PM_OK;
			}
		}
		if (kind == IDT_EXEC)
			pm_ev_room(b, 4);
		if (kind == IDT_CACHE)
			cache_entry(r, *p, v);
		else if (kind == IDT_BRANCH)
			branch_entry(r, p, v);
		else if (exec_entry(r, *p, v, err) == PM_ERR)
			return PM_ERR;
		r->w.p += size;
	}
}

void idt_read_epochs(void *self)
{
	struct idt_reader *r = self;

	r->epochs = r->kind == IDT_BRANCH;
}

/* The table of branches begins anew, with the one whose outcome is still to come. */
static void renew(struct idt_reader *r)
{
	struct pm_insn *in = &r->insn[r->pending ? r->branch.id : 0];
	const uint64_t last = in->pc + in->len - 1;

	pm_map_release(&r->ops);
	r->insn[0] = *in;
	r->ninsn = r->pending;
	if (r->pending)
		*pm_map_put(&r->ops, last, NULL) = 0;
	r->branch.id = 0;
	r->code.epoch++;
}

enum pm_status idt_read_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct idt_reader *r = self;
	struct pm_builder *b = &r->b;
	const bool wide = r->wide;
	enum pm_status st;

	if (r->epochs && r->ninsn >= PM_CODES_MAX)
		renew(r);
	pm_builder_reset(b, &r->stream, r->kind == IDT_CACHE ? NULL : &r->code);
	b->b.first_insn = r->insns;
	r->block_event = SIZE_MAX;
	pm_ev_room(b, 2 * PM_BATCH_EVENTS);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, idt_format_name[wide][r->kind], r->blk_raw, r->blk_n);
	}
	if (r->kind == IDT_BRANCH)
		st = wide ? idt_entries(r, IDT_BRANCH, true, err) : idt_entries(r, IDT_BRANCH,
										false, err);
	else if (r->kind == IDT_CACHE)
		st = wide ? idt_entries(r, IDT_CACHE, true, err) : idt_entries(r, IDT_CACHE, false,
									       err);
	else
		st = wide ? idt_entries(r, IDT_EXEC, true, err) : idt_entries(r, IDT_EXEC, false,
									      err);
	if (st == PM_ERR)
		return st;
	if (!b->b.n)
		return PM_END;
	if (r->kind == IDT_BRANCH) {
		r->code.insn = r->insn;
		r->code.ninsn = r->ninsn;
	}
	*batch = pm_builder_batch(b);
	return PM_OK;
}
