/* SPDX-License-Identifier: MIT */
/* fmt_idt.c - IDtrace's traces: a stream of tagged entries without a header, little-endian
 *
 *   TAG   KIND    INFORMATION (u32; u64 in the wide variants)
 *   0s    RW      data read and written; s is the size code     branch    70 a0 b0
 *   1s    RD      data read                                     cache     1s 2s 3s 4s 50 60
 *   2s    WR      data written                                  execution 0s-4s 50 80 90
 *   3s 4s RRD RWR the same by a rep instruction
 *   50    REND    end of a rep instruction: 0
 *   60    LINE    instruction cache line
 *   70    BBAD    block begins at this address
 *   80    BBFP    block begins: offset of its record in the .blk beside the .trc
 *   90    TARG    control target; of an indirect transfer the pointer's address
 *   a0    OP1     u8 opcode, address of the instruction's last byte
 *   b0    OP2     u8, u8 opcode, the same
 *
 * docs/formats/idtrace.md has the rules and worked examples. Branch blocks become PM_EV_BLOCK without
 * an id, since nothing is known about them but where they begin. Execution blocks have a code table
 * from the .blk: lengths and classes, and bytes if `binary=FILE` names the program. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/expand.h"
#include "trace/group.h"
#include "trace/idt_files.h"
#include "trace/insns.h"
#include "trace/text.h"

enum kind { BRANCH, CACHE, EXEC };

static const char *const idt_name[2][3] = {
	{ "idt-branch", "idt-cache", "idt-exec" }, { "idt-branch64", "idt-cache64", "idt-exec64" },
};

struct idt_reader {
	struct pm_window w;
	struct pm_builder b;
	struct pm_stream stream;
	enum kind kind;
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
	bool *pointer;			/* by instruction: through_memory() */
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
	uint8_t size[256], bytes[256];	/* by tag: of the entry, 0 if there is none such; of what it refers to */
};

static const char *const kind_name[] = { "branch", "cache", "execution" };

/* "x.trc.gz" -> "x.blk", or with what else than a block table is beside it. */
static char *companion_of(const char *path, bool wide, const char *suffix)
{
	size_t n = strlen(path), cut = 0;
	char *s = pm_alloc(n + 16);
	const char *from = wide ? ".trc64" : ".trc";

	memcpy(s, path, n);
	for (size_t i = 0; i + strlen(from) <= n; i++)
		if (!memcmp(s + i, from, strlen(from)) && (!s[i + strlen(from)] || s[i + strlen(from)] == '.'))
			cut = i;
	if (n > 4 && !strcmp(path + n - 4, ".otr"))	/* a FIFO */
		cut = n - 4;
	strcpy(s + (cut ? cut : n), suffix);
	return s;
}

static char *companion(const char *path, bool wide)
{
	return companion_of(path, wide, wide ? ".blk64" : ".blk");
}

static char *info_path(const char *path, bool wide)
{
	return companion_of(path, wide, wide ? ".trc64.info" : ".trc.info");
}

/* What is known of the code's bytes: files and where they are mapped. */
struct text {
	struct pm_buf *file;		/* by number */
	size_t nfile, cap_file;
	struct part { uint64_t lo, hi, offset, record; size_t file; } *part;
	size_t npart, cap_part;
};

static void text_release(struct text *t)
{
	for (size_t i = 0; i < t->nfile; i++)
		pm_buf_release(&t->file[i]);
	free(t->file);
	free(t->part);
}

/* @record: of the block. Backwards: of what was in one place in turn, later blocks have the later. */
static const uint8_t *text_at(const struct text *t, uint64_t pc, uint64_t record, unsigned n)
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
static enum pm_status beside(const char *what, const char *path, const struct pm_err *inner, struct pm_err *err)
{
	char place[32] = "";

	if (inner->place == PM_AT_BYTE)
		snprintf(place, sizeof place, "0x%llx: ", (unsigned long long)inner->off);
	else if (inner->place == PM_AT_LINE)
		snprintf(place, sizeof place, "%llu: ", (unsigned long long)inner->off);
	return pm_fail_file(err, "its %s '%.60s': %s%.140s", what, path, place, inner->msg);
}

static enum pm_status text_file(struct text *t, const char *path, struct pm_err *err)
{
	struct pm_err inner = { 0 };

	pm_grow(t->file, t->nfile, t->cap_file);
	if (idt_slurp(path, &t->file[t->nfile++], &inner) == PM_OK)
		return PM_OK;
	return beside("program or library", path, &inner, err);
}

static void text_part(struct text *t, uint64_t lo, uint64_t hi, uint64_t offset, uint64_t record, size_t file)
{
	pm_grow(t->part, t->npart, t->cap_part);
	t->part[t->npart++] = (struct part){ lo, hi, offset, record, file };
}

static enum pm_status text_modules(struct text *t, const char *path, struct pm_err *err)
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

static bool through_memory(const struct pm_insn *in, bool wide);

static void code_from_blk(struct idt_reader *r, const struct text *t)
{
	r->at_offset = pm_alloc((r->blk_n / 4 + 1) * sizeof *r->at_offset);
	r->pointer = pm_alloc(r->blk.ninsn * sizeof *r->pointer);
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

			*in = (struct pm_insn){
				.pc = pc, .len = d->size, .flow = idt_id_class(d->id),
				.nref = (uint8_t)(d->entries < 0 ? -d->entries : d->entries),
				.rep = d->entries < 0, .isa = PM_ISA_NONE, .object = PM_NONE,
			};
			if (bytes) {
				memcpy(in->bytes, bytes, d->size);
				in->isa = r->wide ? PM_ISA_X86_64 : PM_ISA_X86_32;
			}
			r->pointer[j] = through_memory(in, r->wide);
			pc += d->size;
		}
	}
	r->code = (struct pm_code){ .insn = r->insn, .block = r->block, .ninsn = r->blk.ninsn,
				    .nblock = r->blk.nblock };
}

static void idt_close(void *self)
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
	free(r->insn);
	free(r->block);
	free(r);
}

static enum pm_status open_exec(struct idt_reader *r, const struct pm_read_opts *o, uint32_t *facts,
				struct pm_err *err)
{
	char buf[4096];
	const char *named = pm_fmt_option(o->options, "blk", buf, sizeof buf);
	char *path = named ? pm_strdup(named) : o->path ? companion(o->path, r->wide) : NULL;
	struct pm_buf raw = { 0 };
	struct text text = { 0 };
	struct pm_err inner = { 0 };
	enum pm_status st = PM_OK;

	if (!path)
		return pm_fail_file(err, "an execution trace needs its block table; blk=FILE says where it is");
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
		*facts |= PM_HAS_BYTES;
	}
	named = pm_fmt_option(o->options, "modules", buf, sizeof buf);
	if (named && st == PM_OK) {
		st = text_modules(&text, named, err);
		*facts |= PM_HAS_BYTES;
	}
	if (st == PM_OK)
		code_from_blk(r, &text);
	text_release(&text);
	return st;
}

/* What NAME.trc.info says, if it is there: the line size. That it is about this trace is checked. */
static enum pm_status read_info(const char *trace, enum kind kind, bool wide, uint64_t *line, struct pm_err *err)
{
	char *path = info_path(trace, wide);
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
	else if (*info.kind && strcmp(info.kind, kind_name[kind]))
		st = pm_fail_file(err, "its description '%.60s' says that it is a trace of kind %s, not %s", path,
				  info.kind, kind_name[kind]);
	else if (info.word && info.word != (wide ? 8u : 4u))
		st = pm_fail_file(err, "its description '%.60s' says that its words have %u bytes, not %u", path,
				  info.word, wide ? 8u : 4u);
	else if (info.line_size)
		*line = info.line_size;
	pm_buf_release(&raw);
	free(path);
	return st;
}

static bool legal(enum kind kind, unsigned tag, bool wide)
{
	unsigned k = tag & 0xf0;

	if (k <= IDT_RWR)
		return kind != BRANCH && (kind == EXEC || k != IDT_RW) && idt_code_bytes(tag & 15, wide);
	if (tag & 15)
		return false;
	switch (k) {
	case IDT_REND: return kind != BRANCH;
	case IDT_LINE: return kind == CACHE;
	case IDT_BBAD: case IDT_OP1: case IDT_OP2: return kind == BRANCH;
	case IDT_BBFP: case IDT_TARG: return kind == EXEC;
	}
	return false;
}

static unsigned entry_size(unsigned tag, bool wide)
{
	return (wide ? 9u : 5u) + ((tag & 0xf0) == IDT_OP1) + 2 * ((tag & 0xf0) == IDT_OP2);
}

static void *idt_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		      struct pm_err *err, enum kind kind, bool wide)
{
	static const char *const known[] = { "", "line", "blk binary modules" };
	struct idt_reader *r;
	uint64_t line = 16;
	char buf[24];
	const char *v;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	if (o->path && read_info(o->path, kind, wide, &line, err) == PM_ERR)
		return NULL;
	v = pm_fmt_option(o->options, "line", buf, sizeof buf);
	if (v && (!pm_num(v, strlen(v), &line) || !line || line & (line - 1) || line > 32768)) {
		pm_fail_file(err, "line=%s: expected a power of two", v);
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
		if (legal(kind, tag, wide)) {
			r->size[tag] = (uint8_t)entry_size(tag, wide);
			r->bytes[tag] = (uint8_t)idt_code_bytes(tag & 15, wide);
		}
	switch (kind) {
	case BRANCH:
		*facts = PM_HAS_BRANCHES | PM_HAS_OPCODES;
		break;
	case CACHE:
		*facts = PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LINES;
		break;
	case EXEC:
		*facts = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_REPS |
			 PM_HAS_BLOCKS;
		if (open_exec(r, o, facts, err) == PM_ERR) {
			idt_close(r);
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
		len = op1 == 0xc3 || op1 == 0xcb || op1 == 0xcc || op1 == 0xcf || op1 == 0xce ? 1 : 2;
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

static void tell(struct idt_reader *r, bool known, uint64_t next)
{
	if (!r->pending)
		return;
	r->pending = false;
	if (known && next != r->branch.addr + r->branch.size)
		r->branch.flags |= PM_BR_TAKEN;
	r->branch.value = known ? next : 0;
	*pm_ev_add(&r->b, PM_EV_BRANCH, 0, 0, 0, 0) = r->branch;
}

/* ---- execution traces: entries find their instruction ------------------------------------------- */

static void tell_targets(struct idt_reader *r)
{
	for (unsigned i = 0; i < r->ntarg; i++)
		pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_TARG, 0, 0, r->targ[i].target)->id = r->targ[i].at;
	r->ntarg = 0;
}

static void end_block(struct idt_reader *r)
{
	if (r->now == PM_NONE)
		return;
	tell_targets(r);
	pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_BLOCK, 0, 0, r->blk.block[r->now].offset);
}

/* Entries that @in still has at first. IDT_MANY_ENTRIES: nobody knows; it has them until its block ends. */
#define UNCOUNTED (1 << 30)

static int entries_of(const struct idt_insn *in)
{
	return in->entries == IDT_MANY_ENTRIES ? UNCOUNTED : in->entries;
}

static void seek_entry(struct idt_reader *r)
{
	const struct idt_block *k = &r->blk.block[r->now];

	while (r->left == 0 && r->at < k->n) {
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
	r->at = 0;
	r->left = entries_of(r->insns_now);
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
	return offset < r->blk_n ? r->at_offset[offset / 4] - 1 : PM_NONE;	/* 0 - 1 is PM_NONE */
}

/* The block in whose record @offset is. */
static const struct idt_block *record_with(const struct idt_reader *r, uint64_t offset)
{
	size_t a = 0, z = r->nrecord;

	while (z - a > 1) {
		size_t mid = (a + z) / 2;

		if (r->blk.block[mid].offset <= offset)
			a = mid;
		else
			z = mid;
	}
	return z && r->blk.block[a].offset <= offset ? &r->blk.block[a] : NULL;
}

/* Of an instrumented program: a block goes on at its instruction number (@offset - its record's) / 4, where a
 * fault had stopped it. PM_NONE: it makes no sense. */
static uint32_t rest_of(struct idt_reader *r, uint64_t offset)
{
	const struct idt_block *k = record_with(r, offset);
	const uint64_t n = k ? (offset - k->offset) / 4 : 0;
	const size_t index = r->blk.nblock;
	struct idt_block rest;

	if (!k || (offset - k->offset) % 4 || offset % 4 || n >= k->n)
		return PM_NONE;
	rest = (struct idt_block){ r->insn[k->insn + n].pc, offset, k->insn + (uint32_t)n, k->n - (uint32_t)n };
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

/* Likewise: the running block has stopped in front of its instruction number (@offset - its record's - 1) / 4, which
 * has no entries that would tell. False: that is not what @offset says. */
static bool stops(struct idt_reader *r, uint64_t offset)
{
	const struct idt_block *k = offset % 4 == 1 ? record_with(r, offset) : NULL;
	const struct idt_block *now = r->now == PM_NONE ? NULL : &r->blk.block[r->now];
	const uint64_t insn = k ? k->insn + (offset - k->offset) / 4 : 0;

	if (!k || !now || now->insn < k->insn || insn < now->insn || insn >= now->insn + now->n || now->insn >= k->insn + k->n)
		return false;
	r->at = (uint32_t)insn - now->insn;
	r->left = r->left ? r->left : 1;
	finish_block(r);
	pm_ev_add(&r->b, PM_EV_OPAQUE, IDT_OP_STOP, 0, 0, offset);
	return true;
}

/* Does this jump or call read its target from memory? The target entry is then the pointer's place,
 * and stands for the read. */
static bool through_memory(const struct pm_insn *in, bool wide)
{
	uint8_t op[2];

	if (in->isa == PM_ISA_NONE || (in->flow != PM_CLASS_JUMP_IND && in->flow != PM_CLASS_CALL_IND))
		return false;
	for (unsigned i = 0; i + 1 < in->len; i++)
		if (idt_opcode(in->bytes + i, in->len - i, wide, op) == 1 && in->bytes[i] == 0xff)
			return in->bytes[i + 1] < 0xc0;
	return false;
}

/* An entry that is no reference of an instruction without rep. */
static enum pm_status exec_rare(struct idt_reader *r, unsigned tag, uint64_t v, struct pm_err *err)
{
	const unsigned kind = tag & 0xf0;
	const uint64_t where = pm_window_at(&r->w);
	const struct pm_insn *in;
	struct pm_event *e;

	if (kind == IDT_BBFP) {
		uint32_t index = block_at(r, v);

		if (index == PM_NONE && stops(r, v))
			return PM_OK;
		if (index == PM_NONE)
			index = rest_of(r, v);
		if (index == PM_NONE)
			return pm_fail(err, where + 1, "no block record at offset 0x%llx of the block table",
				       (unsigned long long)v);
		begin_block(r, index);
		return PM_OK;
	}
	if (r->now == PM_NONE)
		return pm_fail(err, where, "expected a block (tag 0x80), found tag 0x%02x", tag);
	seek_entry(r);
	if (r->at >= r->blk.block[r->now].n)
		return pm_fail(err, where, "the block at 0x%llx has no instruction for this entry",
			       (unsigned long long)r->blk.block[r->now].address);
	in = &r->insn[r->blk.block[r->now].insn + r->at];
	if (kind == IDT_REND) {
		if (r->left >= 0)
			return pm_fail(err, where, "end of a rep instruction, but instruction %u of the block "
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
			return pm_fail(err, where, "more than %zu control targets in a block", NR(r->targ));
		r->targ[r->ntarg].at = r->entries++;
		r->targ[r->ntarg++].target = v;
		r->left--;
		if (r->pointer[in - r->insn])
			pm_ev_add(&r->b, PM_EV_READ, 0, r->wide ? 8 : 4, v, 0)->id = r->at;
		return PM_OK;
	}
	if (r->left < 0) {
		if (kind != IDT_RRD && kind != IDT_RWR)
			return pm_fail(err, where, "expected a reference of a rep instruction or its end");
		if (!r->rep_phase) {
			r->iters++;
			pm_ev_add(&r->b, PM_EV_REP_ITER, 0, 0, in->pc, 0)->id = r->at;
		}
		r->rep_phase = (r->rep_phase + 1) % (unsigned)-r->left;
	} else {
		r->left--;
	}
	e = pm_ev_add(&r->b, kind == IDT_RW ? PM_EV_MODIFY : kind == IDT_RD || kind == IDT_RRD ? PM_EV_READ :
		      PM_EV_WRITE, kind == IDT_RRD || kind == IDT_RWR ? PM_REF_REP : 0, r->bytes[tag], v, 0);
	e->id = r->at;
	r->entries++;
	return PM_OK;
}

/* HOT: once per entry. */
static inline enum pm_status exec_entry(struct idt_reader *r, unsigned tag, uint64_t v, struct pm_err *err)
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
	r->branch = (struct pm_event){ PM_EV_BRANCH, (uint8_t)f, r->insn[id].len, id, r->insn[id].pc, 0 };
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
	case IDT_REND: pm_ev_put(b, PM_EV_REP_END, 0, 0, 0, v); break;
	default: pm_ev_put(b, PM_EV_LINE, 0, r->line, v, 0); break;
	}
}

/* HOT: once per entry, compiled once for each kind and width. */
static inline __attribute__((always_inline))
enum pm_status idt_entries(struct idt_reader *r, enum kind kind, bool wide, struct pm_err *err)
{
	struct pm_builder *b = &r->b;

	for (;;) {
		const uint8_t *p;
		unsigned size;
		uint64_t v;

		if (kind != EXEC && b->b.n >= PM_BATCH_EVENTS)
			return PM_OK;
		if (pm_window_left(&r->w) < 11) {
			enum pm_status st = pm_window_fill(&r->w, PM_WINDOW, err);

			if (st == PM_ERR)
				return st;
			if (st == PM_END) {
				tell(r, false, 0);
				if (kind == EXEC)
					finish_block(r);
				return PM_OK;
			}
		}
		p = r->w.p;
		size = r->size[*p];
		if (!size)
			return pm_fail(err, pm_window_at(&r->w), "tag 0x%02x does not belong to %s trace", *p,
				       kind == BRANCH ? "a branch" : kind == CACHE ? "a cache" : "an execution");
		if (pm_window_left(&r->w) < size)
			return pm_fail(err, pm_window_at(&r->w), "expected an entry of %u bytes, found %zu",
				       size, pm_window_left(&r->w));
		v = wide ? pm_get64(p + size - 8) : pm_get32(p + size - 4);
		if (kind == EXEC && b->b.n >= PM_BATCH_EVENTS) {
			/* whole blocks, but a rep instruction may go on for ever */
			if (*p == IDT_BBFP && block_at(r, v) != PM_NONE) {
				finish_block(r);
				return PM_OK;
			}
			if (b->b.n >= 16 * PM_BATCH_EVENTS && r->left < 0) {
				tell_targets(r);
				pm_ev_add(b, PM_EV_OPAQUE, PM_OPAQUE_INSIDE, 0, 0, r->blk.block[r->now].offset);
				return PM_OK;
			}
		}
		if (kind == EXEC)
			pm_ev_room(b, 4);
		if (kind == CACHE)
			cache_entry(r, *p, v);
		else if (kind == BRANCH)
			branch_entry(r, p, v);
		else if (exec_entry(r, *p, v, err) == PM_ERR)
			return PM_ERR;
		r->w.p += size;
	}
}

static void idt_epochs(void *self)
{
	struct idt_reader *r = self;

	r->epochs = r->kind == BRANCH;
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

static enum pm_status idt_next(void *self, const struct pm_batch **batch, struct pm_err *err)
{
	struct idt_reader *r = self;
	struct pm_builder *b = &r->b;
	const bool wide = r->wide;
	enum pm_status st;

	if (r->epochs && r->ninsn >= PM_CODES_MAX)
		renew(r);
	pm_builder_reset(b, &r->stream, r->kind == CACHE ? NULL : &r->code);
	b->b.first_insn = r->insns;
	r->block_event = SIZE_MAX;
	pm_ev_room(b, 2 * PM_BATCH_EVENTS);
	if (!r->started) {
		r->started = true;
		pm_opaque_header(b, idt_name[wide][r->kind], r->blk_raw, r->blk_n);
	}
	if (r->kind == BRANCH)
		st = wide ? idt_entries(r, BRANCH, true, err) : idt_entries(r, BRANCH, false, err);
	else if (r->kind == CACHE)
		st = wide ? idt_entries(r, CACHE, true, err) : idt_entries(r, CACHE, false, err);
	else
		st = wide ? idt_entries(r, EXEC, true, err) : idt_entries(r, EXEC, false, err);
	if (st == PM_ERR)
		return st;
	if (!b->b.n)
		return PM_END;
	if (r->kind == BRANCH) {
		r->code.insn = r->insn;
		r->code.ninsn = r->ninsn;
	}
	*batch = pm_builder_batch(b);
	return PM_OK;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct idt_writer {
	struct pm_plain w;
	struct pm_grouper g;
	enum kind kind;
	bool wide, rep;
	uint64_t line_mask;
	char *blk_path, *info_path;	/* NULL: none is written */

	/* the block being put together */
	struct idt_insn insn[IDT_MAX_INSNS];
	unsigned ninsn;
	uint64_t address, next_pc;
	bool open, in_rep;
	uint32_t undone;		/* instruction of the code table that the block ends in and that did not complete */
	struct pm_buf entries;
	uint64_t lines[3 * IDT_MAX_INSNS];
	unsigned nlines;

	/* execution */
	void *expander;			/* blocks of another format; NULL: none have come */
	uint32_t block;			/* from an execution trace: the block that runs */
	size_t put;			/* ... and its entries that are out, if part of it is */
	bool part;
	struct idt_blk blk;
	struct pm_map known;		/* hash of a block -> its index + 1, chained by retry */
	struct pm_buf native_blk;	/* .blk of the source, as it was */
	struct { uint32_t at; uint64_t target; } *targ;
	size_t ntarg, cap_targ;
	struct form { uint16_t id; uint8_t class, known; } *form;	/* by number in the code table */
	size_t cap_form;
};

static enum pm_status put_info(struct idt_writer *w, struct pm_buf *to, const uint8_t *head, unsigned n,
			       uint64_t v, struct pm_err *err)
{
	uint8_t e[11];
	char instead[64];

	if (!w->wide && v > UINT32_MAX) {
		snprintf(instead, sizeof instead, "write %s, whose entries are 64 bits wide",
			 idt_name[1][w->kind]);
		return pm_fail_wide(err, v, instead);
	}
	memcpy(e, head, n);
	if (w->wide)
		pm_put64(e + n, v);
	else
		pm_put32(e + n, (uint32_t)v);
	n += w->wide ? 8 : 4;
	if (!to)
		return pm_output_write(w->w.out, e, n, err);
	pm_buf_add(to, e, n);
	return PM_OK;
}

static enum pm_status put_tag(struct idt_writer *w, struct pm_buf *to, unsigned tag, uint64_t v,
			      struct pm_err *err)
{
	uint8_t t = (uint8_t)tag;

	return put_info(w, to, &t, 1, v, err);
}

/* A reference larger than the largest code is several entries. Returns how many, 0 after an error. */
static unsigned put_ref(struct idt_writer *w, struct pm_buf *to, unsigned tag, uint64_t addr,
			unsigned size, struct pm_err *err)
{
	unsigned n = 0;

	if (!size)
		size = 4;
	while (size) {
		unsigned code = idt_bytes_code(size, w->wide), bytes = idt_code_bytes(code, w->wide);

		if (put_tag(w, to, tag | code, addr, err) == PM_ERR)
			return 0;
		addr += bytes;
		size -= bytes;
		n++;
	}
	return n;
}

static const uint8_t *bytes_of(const struct pm_batch *b, const struct pm_event *e, unsigned *len)
{
	if (!b->code || e->id >= b->code->ninsn || !b->code->insn[e->id].len)
		return NULL;
	*len = b->code->insn[e->id].len;
	return b->code->insn[e->id].bytes;
}

static enum pm_status branch_write(struct idt_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		const uint8_t *bytes;
		uint8_t head[3];
		unsigned len = 0, n;

		switch (e->kind) {
		case PM_EV_BLOCK:
			if (put_tag(w, NULL, IDT_BBAD, e->addr, err) == PM_ERR)
				return PM_ERR;
			break;
		case PM_EV_INSN:
			if ((!w->open || e->addr != w->next_pc) &&
			    put_tag(w, NULL, IDT_BBAD, e->addr, err) == PM_ERR)
				return PM_ERR;
			w->open = true;
			w->next_pc = e->addr + e->size;
			break;
		case PM_EV_BRANCH:
			bytes = bytes_of(b, e, &len);
			n = bytes ? idt_opcode(bytes, len, b->code->insn[e->id].isa == PM_ISA_X86_64, head + 1)
				  : 0;
			if (!n)
				return pm_fail_file(err, "the branch at 0x%llx has no opcode bytes; branch "
						    "traces hold them", (unsigned long long)e->addr);
			head[0] = n == 1 ? IDT_OP1 : IDT_OP2;
			if (put_info(w, NULL, head, n + 1, e->addr + e->size - 1, err) == PM_ERR)
				return PM_ERR;
			w->open = false;
			break;
		case PM_EV_OPAQUE:
			break;
		default:
			w->w.dropped[e->kind]++;
		}
	}
	return PM_OK;
}

static enum pm_status flush_cache(struct idt_writer *w, struct pm_err *err)
{
	enum pm_status st = PM_OK;

	for (unsigned i = 0; i < w->nlines && st == PM_OK; i++)
		st = put_tag(w, NULL, IDT_LINE, w->lines[i], err);
	if (st == PM_OK)
		st = pm_output_write(w->w.out, w->entries.p, w->entries.n, err);
	w->entries.n = 0;
	w->nlines = 0;
	return st;
}

static void add_line(struct idt_writer *w, uint64_t line)
{
	unsigned i = w->nlines;

	while (i && w->lines[i - 1] > line)
		i--;
	if ((i && w->lines[i - 1] == line) || w->nlines == NR(w->lines))
		return;
	memmove(w->lines + i + 1, w->lines + i, (w->nlines - i) * sizeof *w->lines);
	w->lines[i] = line;
	w->nlines++;
}

static enum pm_status cache_write(struct idt_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		bool rep = (e->flags & PM_REF_REP || w->in_rep) && (w->rep || w->w.native), ok = true;
		size_t n;

		switch (e->kind) {
		case PM_EV_LINE:
			ok = flush_cache(w, err) == PM_OK && put_tag(w, NULL, IDT_LINE, e->addr, err) == PM_OK;
			break;
		case PM_EV_INSN:
			if ((!w->open || e->addr != w->next_pc || w->ninsn == IDT_MAX_INSNS) &&
			    flush_cache(w, err) == PM_ERR)
				return PM_ERR;
			w->ninsn = w->open && e->addr == w->next_pc && w->ninsn < IDT_MAX_INSNS ? w->ninsn + 1
				   : 1;
			w->open = true;
			w->in_rep = b->code && e->id < b->code->ninsn && b->code->insn[e->id].rep;
			w->next_pc = e->addr + e->size;
			for (uint64_t l = e->addr & w->line_mask; l < e->addr + (e->size ? e->size : 1);
			     l += ~w->line_mask + 1)
				add_line(w, l);
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			if (!pm_is_ref(e)) {
				w->w.dropped[e->kind]++;
				break;
			}
			if (e->kind != PM_EV_WRITE)
				ok = put_ref(w, &w->entries, rep ? IDT_RRD : IDT_RD, e->addr, e->size, err);
			if (ok && e->kind != PM_EV_READ)
				ok = put_ref(w, &w->entries, rep ? IDT_RWR : IDT_WR, e->addr, e->size, err);
			/* a rep instruction may refer without end: the lines came first in any case */
			if (ok && w->entries.n > 65536)
				ok = flush_cache(w, err) == PM_OK;
			break;
		case PM_EV_REP_END:
			if (w->rep || w->w.native)
				ok = put_tag(w, &w->entries, IDT_REND, 0, err) == PM_OK;
			else
				w->w.dropped[PM_EV_REP_END]++;
			break;
		case PM_EV_BRANCH:
			w->open = false;
			w->w.dropped[PM_EV_BRANCH]++;
			break;
		case PM_EV_REP_ITER:
			/* marked, an iteration is its references */
			w->w.dropped[PM_EV_REP_ITER] += !(w->rep || w->w.native);
			break;
		case PM_EV_OPAQUE:
			if (pm_opaque_is(b, e, idt_name[w->wide][CACHE], &n))
				w->w.native = true;
			break;
		default:
			w->w.dropped[e->kind]++;
		}
		if (!ok)
			return PM_ERR;
	}
	return PM_OK;
}

/* Sources that mark no ends of rep instructions leave it to the next instruction to say so. */
static enum pm_status end_rep(struct idt_writer *w, struct pm_err *err)
{
	if (!w->in_rep)
		return PM_OK;
	w->in_rep = false;
	return put_tag(w, &w->entries, IDT_REND, 0, err);
}

static enum pm_status put_entries(struct idt_writer *w, struct pm_err *err)
{
	size_t n = w->entries.n;

	w->entries.n = 0;
	return n ? pm_output_write(w->w.out, w->entries.p, n, err) : PM_OK;
}

/* The block ends here. If it ends in a rep instruction that goes on, more of its entries may follow. */
static enum pm_status flush_exec(struct idt_writer *w, struct pm_err *err)
{
	uint64_t hash = w->address * 0x9e3779b97f4a7c15u + w->ninsn;
	uint32_t index;

	if (!w->ninsn)
		return put_entries(w, err);
	for (unsigned i = 0; i < w->ninsn; i++)
		hash = (hash ^ (w->insn[i].id | (uint64_t)w->insn[i].size << 16 |
				(uint64_t)(uint8_t)w->insn[i].entries << 24)) * 0x100000001b3u;
	for (;; hash++) {
		uint64_t *at = pm_map_put(&w->known, hash, NULL);
		const struct idt_block *k;

		if (!*at) {
			index = idt_blk_add(&w->blk, w->address, w->insn, w->ninsn);
			if (!w->wide && w->blk.block[index].offset > UINT32_MAX)
				return pm_fail_file(err, "the block table grows beyond 4 GiB; write idt-exec64");
			*at = index + 1;
			break;
		}
		index = (uint32_t)*at - 1;
		k = &w->blk.block[index];
		if (k->address == w->address && k->n == w->ninsn &&
		    !memcmp(w->blk.insn + k->insn, w->insn, w->ninsn * sizeof *w->insn))
			break;
	}
	w->ninsn = 0;
	if (put_tag(w, NULL, IDT_BBFP, w->blk.block[index].offset, err) == PM_ERR)
		return PM_ERR;
	return put_entries(w, err);
}

/* pusha and popa are one entry: the first push's, or the address they start to pop from */
static bool is_pusha(const struct pm_group *g)
{
	return g->insn.isa == PM_ISA_X86_32 && (g->insn.bytes[0] == 0x60 || g->insn.bytes[0] == 0x61);
}

/* Decoded once per instruction of the code table. */
static struct form form_of(struct idt_writer *w, uint32_t number, const struct pm_insn *insn)
{
	struct form *f;

	if (number >= w->cap_form) {
		size_t cap = w->cap_form ? w->cap_form : 1024;

		while (cap <= number)
			cap *= 2;
		w->form = pm_realloc(w->form, cap * sizeof *w->form);
		memset(w->form + w->cap_form, 0, (cap - w->cap_form) * sizeof *w->form);
		w->cap_form = cap;
	}
	f = &w->form[number];
	if (!f->known) {
		f->id = idt_insn_id(insn->bytes, insn->len, insn->isa == PM_ISA_X86_64);
		f->class = (uint8_t)idt_id_class(f->id);
		f->known = 1;
	}
	return *f;
}

/* One more instruction of the block, or the first of the next one. */
static enum pm_status add_insn(struct idt_writer *w, uint64_t pc, struct form form, uint8_t len, struct pm_err *err)
{
	if (end_rep(w, err) == PM_ERR)
		return PM_ERR;
	if ((!w->open || pc != w->next_pc || w->ninsn == IDT_MAX_INSNS) && flush_exec(w, err) == PM_ERR)
		return PM_ERR;
	if (!w->ninsn)
		w->address = pc;
	w->insn[w->ninsn++] = (struct idt_insn){ form.id, len, 0 };
	w->open = true;
	w->next_pc = pc + len;
	w->undone = PM_NONE;
	return PM_OK;
}

/* movs and cmps refer twice in an iteration, the others once. */
static int8_t rep_entries(uint16_t id)
{
	return (id & 0xff) >= 0xa4 && (id & 0xff) <= 0xa7 ? -2 : -1;
}

static enum pm_status exec_group(void *self, const struct pm_group *g, struct pm_err *err)
{
	struct idt_writer *w = self;
	struct pm_buf *to = &w->entries;
	unsigned first = 0, entries = 0, n, class;
	bool rep, xfer, indirect;
	struct idt_insn *in, gone = { 0 };
	struct form form;
	uint16_t id;

	if (!g->known || !g->insn.len || g->insn.isa > PM_ISA_X86_32)
		return pm_fail_file(err, "the instruction at 0x%llx has no x86 bytes; execution traces need them "
				    "(-f idt-exec:binary=PROGRAM says where they are)", (unsigned long long)g->pc);
	form = form_of(w, g->id, &g->insn);
	id = form.id;
	class = form.class;
	xfer = class != PM_CLASS_NONE && class != PM_CLASS_SYSCALL;
	indirect = class == PM_CLASS_JUMP_IND || class == PM_CLASS_CALL_IND;
	rep = id >> 15;
	if (!g->again) {
		if (add_insn(w, g->pc, form, g->insn.len, err) == PM_ERR)
			return PM_ERR;
		in = &w->insn[w->ninsn - 1];
	} else {
		/* of a rep instruction the block may be out already */
		in = w->ninsn ? &w->insn[w->ninsn - 1] : &gone;
	}
	if (xfer) {
		uint64_t target = g->has_branch ? g->branch.value : g->next_known ? g->next_pc : 0;

		/* through memory: the pointer's address stands for the target and for the read of it */
		if (indirect && g->nref && g->ref[0].kind == PM_EV_READ) {
			target = g->ref[0].addr;
			first = 1;
		}
		if (put_tag(w, to, IDT_TARG, target, err) == PM_ERR)
			return PM_ERR;
		entries++;
		w->open = false;
	}
	for (unsigned i = first; i < g->nref; i++) {
		const struct pm_event *e = &g->ref[i];
		unsigned tag = e->kind == PM_EV_MODIFY ? IDT_RW : e->kind == PM_EV_READ ? IDT_RD : IDT_WR;

		if (!pm_is_ref(e)) {
			w->w.dropped[e->kind]++;
			continue;
		}
		if (rep)
			tag = e->kind == PM_EV_WRITE ? IDT_RWR : IDT_RRD;
		if (is_pusha(g) && i)
			break;
		n = put_ref(w, to, tag, e->addr, e->size, err);
		if (!n)
			return PM_ERR;
		entries += n;
	}
	if (rep) {
		in->entries = rep_entries(id);
		w->in_rep = true;
		if (g->rep_end && end_rep(w, err) == PM_ERR)
			return PM_ERR;
		/* it may go on for ever: the block ends with it */
		if (w->entries.n > 65536) {
			w->open = false;
			if (flush_exec(w, err) == PM_ERR)
				return PM_ERR;
		}
	} else {
		entries += g->again ? (unsigned)in->entries : 0;
		in->entries = (int8_t)(entries < IDT_MANY_ENTRIES ? entries : IDT_MANY_ENTRIES);
		if (in->entries == IDT_MANY_ENTRIES)
			w->open = false;
	}
	w->w.dropped[PM_EV_REG_READ] += g->nrd;
	w->w.dropped[PM_EV_REG_WRITE] += g->nwr;
	w->w.dropped[PM_EV_UOP] += g->nuop;
	return PM_OK;
}

/* A reference of an instruction that did not complete: its block ends with that, and the instruction has more entries
 * than there are. */
static enum pm_status undone_ref(struct idt_writer *w, const struct pm_batch *b, const struct pm_event *e,
				 struct pm_err *err)
{
	const struct pm_insn *insn = &b->code->insn[e->id];
	const struct form form = form_of(w, e->id, insn);
	const bool rep = form.id >> 15;
	const unsigned tag = rep ? e->kind == PM_EV_WRITE ? IDT_RWR : IDT_RRD :
			     e->kind == PM_EV_MODIFY ? IDT_RW : e->kind == PM_EV_READ ? IDT_RD : IDT_WR;
	struct idt_insn *in;
	unsigned n;

	if (w->undone != e->id) {
		if (add_insn(w, insn->pc, form, insn->len, err) == PM_ERR)
			return PM_ERR;
		w->insn[w->ninsn - 1].entries = rep ? rep_entries(form.id) : 1;
		w->open = false;
		w->undone = e->id;
	}
	in = w->ninsn ? &w->insn[w->ninsn - 1] : NULL;
	/* with so many it would seem complete */
	if (in && !rep && in->entries + e->size / (w->wide ? 64u : 8u) + 7 >= IDT_MANY_ENTRIES) {
		w->w.dropped[e->kind]++;
		return PM_OK;
	}
	n = put_ref(w, &w->entries, tag, e->addr, e->size, err);
	if (!n)
		return PM_ERR;
	if (in && !rep)
		in->entries = (int8_t)(in->entries + (int)n);
	return w->entries.n > 65536 ? flush_exec(w, err) : PM_OK;
}

static enum pm_status exec_other(void *self, const struct pm_batch *b, const struct pm_event *e,
				 struct pm_err *err)
{
	struct idt_writer *w = self;
	const bool known = b->code && e->id < b->code->ninsn && b->code->insn[e->id].len &&
			   b->code->insn[e->id].isa <= PM_ISA_X86_32;

	if (e->kind >= PM_EV_READ && e->kind <= PM_EV_MODIFY && known && pm_is_ref(e))
		return undone_ref(w, b, e, err);
	if (e->kind != PM_EV_OPAQUE && !(e->kind == PM_EV_REP_ITER && known))
		w->w.dropped[e->kind]++;
	if (e->kind != PM_EV_REP_ITER)
		w->undone = PM_NONE;
	return PM_OK;
}

/* From an execution trace: the block's entries, with its targets where they stood among them. */
static enum pm_status put_block(struct idt_writer *w, uint64_t offset, bool whole, struct pm_err *err)
{
	const size_t each = w->wide ? 9 : 5;
	const uint8_t *p = w->entries.p, *end = p + w->entries.n;

	if (!w->part && put_tag(w, NULL, IDT_BBFP, offset, err) == PM_ERR)
		return PM_ERR;
	for (size_t i = 0; i < w->ntarg; i++) {
		size_t n = w->targ[i].at > w->put ? w->targ[i].at - w->put : 0;

		if (n > (size_t)(end - p) / each)
			n = (size_t)(end - p) / each;
		if (pm_output_write(w->w.out, p, n * each, err) == PM_ERR ||
		    put_tag(w, NULL, IDT_TARG, w->targ[i].target, err) == PM_ERR)
			return PM_ERR;
		p += n * each;
		w->put += n + 1;
	}
	w->put = whole ? 0 : w->put + (size_t)(end - p) / each;
	w->part = !whole;
	w->entries.n = w->ntarg = 0;
	return pm_output_write(w->w.out, p, (size_t)(end - p), err);
}

/* HOT: once per event; there is room. Is @e a reference that one entry stands for? */
static inline bool one_entry(struct idt_writer *w, const struct pm_event *e)
{
	static const uint8_t tags[2][PM_EV_MODIFY + 1] = {
		{ [PM_EV_READ] = IDT_RD, [PM_EV_WRITE] = IDT_WR, [PM_EV_MODIFY] = IDT_RW },
		{ [PM_EV_READ] = IDT_RRD, [PM_EV_WRITE] = IDT_RWR, [PM_EV_MODIFY] = IDT_RW },
	};
	const unsigned code = e->size ? idt_bytes_code(e->size, w->wide) : 0;
	uint8_t *p = w->entries.p + w->entries.n;

	if (idt_code_bytes(code, w->wide) != e->size || !e->size || (!w->wide && e->addr > UINT32_MAX))
		return false;
	*p = (uint8_t)(tags[!!(e->flags & PM_REF_REP)][e->kind] | code);
	if (w->wide)
		pm_put64(p + 1, e->addr);
	else
		pm_put32(p + 1, (uint32_t)e->addr);
	w->entries.n += w->wide ? 9 : 5;
	return true;
}

static enum pm_status exec_native(struct idt_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		const struct pm_code *c = b->code;

		switch (e->kind) {
		case PM_EV_BLOCK:
			w->block = e->id;
			break;
		case PM_EV_READ: case PM_EV_WRITE: case PM_EV_MODIFY:
			/* a target entry stands for the read of a pointer */
			if (e->kind == PM_EV_READ && c && w->block < c->nblock && e->id < c->block[w->block].n &&
			    through_memory(&c->insn[c->block[w->block].insn + e->id], w->wide))
				break;
			if (w->entries.cap - w->entries.n < 16) {
				w->entries.cap = 2 * w->entries.cap + 4096;
				w->entries.p = pm_realloc(w->entries.p, w->entries.cap);
			}
			if (one_entry(w, e))
				break;
			if (!put_ref(w, &w->entries, e->kind == PM_EV_MODIFY ? IDT_RW : e->flags & PM_REF_REP ?
				     e->kind == PM_EV_READ ? IDT_RRD : IDT_RWR : e->kind == PM_EV_READ ? IDT_RD :
				     IDT_WR, e->addr, e->size, err))
				return PM_ERR;
			break;
		case PM_EV_REP_END:
			if (put_tag(w, &w->entries, IDT_REND, 0, err) == PM_ERR)
				return PM_ERR;
			break;
		case PM_EV_OPAQUE:
			if (e->size)
				break;
			if (e->flags == IDT_OP_TARG) {
				pm_grow(w->targ, w->ntarg, w->cap_targ);
				w->targ[w->ntarg].at = e->id;
				w->targ[w->ntarg++].target = e->value;
			} else if ((e->flags == IDT_OP_BLOCK || e->flags == PM_OPAQUE_INSIDE) &&
				   put_block(w, e->value, e->flags == IDT_OP_BLOCK, err) == PM_ERR) {
				return PM_ERR;
			} else if (e->flags == IDT_OP_STOP && put_tag(w, NULL, IDT_BBFP, e->value, err) == PM_ERR) {
				return PM_ERR;
			}
			break;
		}
	}
	return PM_OK;
}

static enum pm_status to_groups(void *self, const struct pm_batch *b, struct pm_err *err)
{
	return pm_grouper_batch(&((struct idt_writer *)self)->g, b, err);
}

/* From any other trace. Blocks arrive as they are, because our own have to. */
static enum pm_status exec_foreign(struct idt_writer *w, const struct pm_batch *b, struct pm_err *err)
{
	const struct pm_emit emit = { to_groups, w };

	for (size_t i = 0; i < b->n && !w->expander; i++)
		if (b->ev[i].kind == PM_EV_BLOCK)
			w->expander = pm_expand_new();
	return w->expander ? pm_expand_ops.consume(w->expander, b, &emit, err) : to_groups(w, b, err);
}

static void idt_free(void *self)
{
	struct idt_writer *w = self;

	if (!w)
		return;
	if (w->expander)
		pm_expand_ops.destroy(w->expander);
	pm_grouper_release(&w->g);
	pm_buf_release(&w->entries);
	pm_buf_release(&w->native_blk);
	pm_map_release(&w->known);
	idt_blk_release(&w->blk);
	free(w->targ);
	free(w->form);
	free(w->blk_path);
	free(w->info_path);
	free(w);
}

static void *idt_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
			enum kind kind, bool wide)
{
	static const char *const known[] = { "info", "line rep info", "blk info" };
	struct idt_writer *w;
	uint64_t line = 16;
	char buf[4096];
	const char *v;

	if (pm_fmt_options_check(o->options, known[kind], err) != PM_OK)
		return NULL;
	v = pm_fmt_option(o->options, "line", buf, sizeof buf);
	if (v && (!pm_num(v, strlen(v), &line) || !line || line & (line - 1) || line > 32768)) {
		pm_fail_file(err, "line=%s: expected a power of two", v);
		return NULL;
	}
	if (kind == BRANCH && !(o->facts & (PM_HAS_BYTES | PM_HAS_OPCODES))) {
		pm_fail_file(err, "writing IDtrace branch traces needs the branches' opcodes, and the input "
			     "holds no instruction bytes (`pugmark run --exec` traces them)");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->w.out = out;
	w->kind = kind;
	w->wide = w->blk.wide = wide;
	w->line_mask = ~(line - 1);
	w->undone = PM_NONE;
	w->rep = pm_fmt_option(o->options, "rep", buf, sizeof buf);
	w->g = (struct pm_grouper){ .group = exec_group, .other = exec_other, .self = w,
				     .no_regs = true };
	if (pm_fmt_option(o->options, "info", buf, sizeof buf)) {
		if (!o->path) {
			pm_fail_file(err, "info: a trace without a name has nothing beside it");
			idt_free(w);
			return NULL;
		}
		w->info_path = info_path(o->path, wide);
	}
	if (kind == EXEC) {
		v = pm_fmt_option(o->options, "blk", buf, sizeof buf);
		if (!v && !o->path) {
			pm_fail_file(err, "an execution trace has a block table beside it; blk=FILE says where "
				     "to write it");
			idt_free(w);
			return NULL;
		}
		w->blk_path = v ? pm_strdup(v) : companion(o->path, wide);
	}
	return w;
}

static enum pm_status idt_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct idt_writer *w = self;
	const uint8_t *d;
	size_t n;

	if (w->kind == BRANCH)
		return branch_write(w, b, err);
	if (w->kind == CACHE)
		return cache_write(w, b, err);
	if (!w->w.native && b->n && (d = pm_opaque_is(b, b->ev, idt_name[w->wide][EXEC], &n))) {
		w->w.native = true;
		pm_buf_add(&w->native_blk, d, n);
	}
	return w->w.native ? exec_native(w, b, err) : exec_foreign(w, b, err);
}

static enum pm_status save(const char *path, const struct pm_buf *b, struct pm_err *err)
{
	struct pm_output *out = pm_output_open(path, err);
	enum pm_status st;

	if (!out)
		return PM_ERR;
	st = pm_output_write(out, b->p, b->n, err);
	if (st == PM_OK)
		st = pm_output_finish(out, err);
	if (st == PM_ERR && pm_failed(err))
		err->file = NULL;
	pm_output_close(out);
	return st;
}

static enum pm_status save_info(const struct idt_writer *w, struct pm_err *err)
{
	struct idt_info info = { .word = w->wide ? 8 : 4, .rep = w->kind == EXEC || w->rep || w->w.native };
	struct pm_buf text = { 0 };
	enum pm_status st;

	strcpy(info.kind, kind_name[w->kind]);
	if (w->kind == CACHE)
		info.line_size = (unsigned)(~w->line_mask + 1);
	if (w->kind == BRANCH)
		info.rep = false;
	idt_info_write(&info, &text);
	st = save(w->info_path, &text, err);
	pm_buf_release(&text);
	return st;
}

static enum pm_status idt_finish(void *self, struct pm_err *err)
{
	struct idt_writer *w = self;

	if (w->info_path && save_info(w, err) == PM_ERR)
		return PM_ERR;
	if (w->kind == BRANCH)
		return PM_OK;
	if (w->kind == CACHE)
		return flush_cache(w, err);
	if (!w->w.native) {
		const struct pm_emit emit = { to_groups, w };

		if ((w->expander && pm_expand_ops.finish(w->expander, &emit, err) == PM_ERR) ||
		    pm_grouper_finish(&w->g, err) == PM_ERR || end_rep(w, err) == PM_ERR ||
		    flush_exec(w, err) == PM_ERR)
			return PM_ERR;
		idt_blk_write(&w->blk, &w->native_blk);
	}
	return save(w->blk_path, &w->native_blk, err);
}

/* ---- probing: walk the entries, see whether all tags belong to the kind ------------------------- */

static int idt_probe(const uint8_t *head, size_t n, enum kind kind, bool wide)
{
	static const uint8_t first[] = { IDT_BBAD, IDT_LINE, IDT_BBFP };
	size_t at = 0;
	int entries = 0;

	/* without instruction references a cache trace is data from its beginning */
	if (!n || (head[0] != first[kind] && kind != CACHE))
		return 0;
	while (at < n && entries < 40) {
		unsigned size;

		if (!legal(kind, head[at], wide))
			return 0;
		size = entry_size(head[at], wide);
		if (n - at < size) {
			if (n < PM_WINDOW)
				return 0;
			break;
		}
		/* upper halves of addresses, and the blocks' places in the table */
		if (wide && kind != CACHE && pm_get16(head + at + size - 2) &&
		    pm_get16(head + at + size - 2) != 0xffff)
			return 0;
		if (kind == EXEC && head[at] == IDT_BBFP &&
		    (wide ? pm_get64(head + at + 1) < 32 || pm_get64(head + at + 1) % 8 :
		     pm_get32(head + at + 1) < 16))
			return 0;
		at += size;
		entries++;
	}
	return (head[0] == first[kind] ? 20 : 10) + 5 * entries;
}

#define ROW(id, text, names, ext, k, wd, fact, need, flags)						\
static void *id##_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,			\
		       struct pm_err *e)								\
{													\
	return idt_open(in, o, f, e, k, wd);								\
}													\
static void *id##_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)	\
{													\
	return idt_create(out, o, e, k, wd);								\
}													\
static int id##_probe(const uint8_t *head, size_t n)							\
{													\
	return idt_probe(head, n, k, wd);								\
}													\
static const struct pm_reader_ops id##_read = { id##_open, idt_next, idt_close, NULL, idt_epochs };			\
static const struct pm_writer_ops id##_write = {							\
	id##_create, idt_write, idt_finish, idt_free, pm_plain_dropped					\
};													\
const struct pm_format pm_fmt_##id = {									\
	.name = text, .about = names, .plural = "IDtrace traces (" text ")", .suffixes = ext,		\
	.has = fact, .needs = need, .sink_flags = flags,						\
	.probe = id##_probe, .read = &id##_read, .write = &id##_write,					\
};
#define CACHE_FACTS (PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LINES)
#define EXEC_FACTS (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |	\
		    PM_HAS_REPS | PM_HAS_BLOCKS)
#define EXEC_NEEDS (PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES)

ROW(idt_branch, "idt-branch", "IDtrace branch trace", NULL, BRANCH, false,
    PM_HAS_BRANCHES | PM_HAS_OPCODES, PM_HAS_BRANCHES, 0)
ROW(idt_cache, "idt-cache", "IDtrace cache trace: instruction lines and data references", NULL, CACHE,
    false, CACHE_FACTS, PM_HAS_REFS, 0)
ROW(idt_exec, "idt-exec", "IDtrace execution trace with its .blk", NULL, EXEC, false, EXEC_FACTS, EXEC_NEEDS,
    PM_SINK_BLOCKS)
ROW(idt_branch64, "idt-branch64", "IDtrace branch trace, 64-bit addresses", NULL, BRANCH, true,
    PM_HAS_BRANCHES | PM_HAS_OPCODES, PM_HAS_BRANCHES, 0)
ROW(idt_cache64, "idt-cache64", "IDtrace cache trace, 64-bit addresses", NULL, CACHE, true, CACHE_FACTS,
    PM_HAS_REFS, 0)
ROW(idt_exec64, "idt-exec64", "IDtrace execution trace, 64-bit addresses, with its .blk64", NULL, EXEC,
    true, EXEC_FACTS, EXEC_NEEDS, PM_SINK_BLOCKS)
