/* SPDX-License-Identifier: MIT */
/* coverage_lines.c - what ran, in lines of source, counted as gcov counts them
 *
 * A line's count is not how often its instructions ran, for `for` has three parts that run at
 * different times. gcov works on the compiler's basic blocks. We have those of the machine code, of
 * which at -O0 there is one for each: they end behind jumps, calls and returns, and in front of
 * what a jump leads to. Each block has the lines of its instructions, in order. Then
 *
 *   (1) a block belongs to the line with the highest number in it, of the file that it ends in;
 *   (2) a line to which blocks belong counts how often control came to them from other blocks, and
 *       how often the loops went round that such blocks form among themselves;
 *   (3) a line to which none belongs counts each block that it is in.
 *
 * Code that did not run is decoded from the file, so that blocks do not depend on what ran. */
#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include "analyse/coverage.h"
#include "base/bound.h"
#include "base/string_table.h"
#include "elf/symbols.h"
#include "isa/x86/form.h"

#define CYCLE_STEPS	100000		/* looking for loops ends there: a line of macros may have
					 * countless ones */

struct cover_edge { uint32_t from, to; uint64_t count, left; };	/* of basic blocks */

struct cover_bb {
	uint32_t first, n;		/* instructions */
	uint32_t line;			/* that it belongs to: index of a line; PM_NONE */
	uint32_t out, nout;		/* edges */
};

struct cover_use { uint32_t line, bb; uint64_t count; };	/* a line in a block */

struct cover_lines {			/* one object */
	struct pm_cover_object *o;
	struct pm_elf *elf;
	struct pm_elf_row *row;
	struct pm_elf_subprogram *function;
	size_t nrow, nfunction;
	uint32_t *line;			/* of each instruction: index, or PM_NONE */
	bool *leads;			/* a block begins there */
	uint64_t *jumps;		/* to each instruction */
	struct cover_bb *bb;
	uint32_t *bb_of;		/* of instructions */
	struct cover_edge *edge;
	struct cover_use *use;
	size_t nbb, cap_bb, nedge, cap_edge, nuse, cap_use;
	unsigned steps;
};

struct cover_all {			/* all objects */
	struct pm_cover_files *to;
	struct pm_string_table files;	/* as those of .to */
	struct pm_map lines;		/* file << 32 | line -> index + 1 */
	struct { uint32_t file, line; uint64_t count; } *line;
	struct { uint32_t file; struct pm_cover_function f; } *function;
	struct { uint32_t file; struct pm_cover_branch b; } *branch;
	size_t nline, cap_line, nfunction, cap_function, nbranch, cap_branch, cap_file;
};

/* ---- files and lines ----------------------------------------------------------------------- */

/* "/a/b/../c/./d" as "/a/c/d": one file has one name. */
static void normalise(char *path)
{
	char *to = path;

	for (const char *from = path; *from; ) {
		size_t n = strcspn(from + 1, "/") + 1;	/* with the slash in front */

		if (*from != '/') {
			n = strcspn(from, "/");
			memmove(to, from, n);
			to += n;
		} else if (n == 1 || (n == 2 && from[1] == '.')) {
			;
		} else if (n == 3 && from[1] == '.' && from[2] == '.' && *path == '/') {
			while (to > path && *--to != '/')
				;
		} else {
			memmove(to, from, n);
			to += n;
		}
		from += n;
	}
	*to = 0;
}

static uint32_t file_of(struct cover_all *a, const char *path)
{
	char *name = pm_arena_strdup(&a->to->mem, path);
	uint32_t at;

	normalise(name);
	at = pm_string_add(&a->files, name);
	if (at == a->to->n) {
		pm_grow(a->to->v, a->to->n, a->cap_file);
		a->to->v[a->to->n++] = (struct pm_cover_file){ .path = name };
	}
	return at;
}

static uint32_t line_of(struct cover_all *a, uint32_t file, uint32_t line)
{
	uint64_t *at = pm_map_put(&a->lines, (uint64_t)file << 32 | line, NULL);

	if (!*at) {
		pm_grow(a->line, a->nline, a->cap_line);
		a->line[a->nline].file = file;
		a->line[a->nline].line = line;
		a->line[a->nline].count = 0;
		*at = ++a->nline;
	}
	return (uint32_t)*at - 1;
}

/* ---- instructions -------------------------------------------------------------------------- */

static int by_addr(const void *a, const void *b)
{
	const struct pm_cover_insn *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Of the function's code, the instructions that did not run, too: behind those that are there. */
static void decode_function(struct cover_lines *c, struct pm_forms *forms,
			    const struct pm_elf_subprogram *f)
{
	struct pm_cover_object *o = c->o;
	size_t n;
	const uint8_t *p = pm_elf_code_at(c->elf, f->lo, &n);

	if (!p || n < f->hi - f->lo)
		return;
	for (uint64_t at = f->lo; at < f->hi; ) {
		const uint8_t *code = p + (at - f->lo);
		const struct pm_form *form = pm_form_at(forms, code, (size_t)(f->hi - at));

		if (!form->mnemonic || form->len > f->hi - at)
			return;
		if (!pm_map_get(&o->at, at)) {
			*pm_map_put(&o->at, at, NULL) = o->n;
			pm_grow(o->insn, o->n, o->cap);
			o->insn[o->n++] = (struct pm_cover_insn){ .addr = at, .len = form->len,
				.flow = form->flow,
				.target = pm_form_target(form, code, at) };
		}
		at += form->len;
	}
}

static size_t find(const struct pm_cover_object *o, uint64_t addr)
{
	const struct pm_cover_insn key = { .addr = addr };
	const struct pm_cover_insn *at = o->n ? bsearch(&key, o->insn, o->n, sizeof key, by_addr) :
					 NULL;

	return at ? (size_t)(at - o->insn) : SIZE_MAX;
}

/* ---- where functions begin and end --------------------------------------------------------- */

static struct pm_elf_row *row_at(const struct cover_lines *c, uint64_t addr)
{
	const size_t lo = pm_upper_bound(c->row, c->nrow, .lo, addr);

	return lo && addr < c->row[lo - 1].hi ? c->row + lo - 1 : NULL;
}

/* Does the code at @p only give registers and stack back? */
static bool gives_back(const uint8_t *p, unsigned len)
{
	static const struct { uint8_t n, byte[4]; } codes[] = {
		{ 1, { 0xc9 } }, { 1, { 0xc3 } },				/* leave, ret */
		{ 3, { 0x48, 0x83, 0xc4 } }, { 3, { 0x48, 0x81, 0xc4 } },	/* add, %rsp */
		{ 3, { 0x48, 0x8d, 0x65 } },			/* lea -8(%rbp), %rsp */
		{ 3, { 0x48, 0x8b, 0x5d } }, { 2, { 0x4c, 0x8b } },	/* mov -8(%rbp), saved */
		{ 3, { 0x48, 0x8b, 0x45 } }, { 3, { 0x48, 0x8b, 0x85 } },	/* a struct */
		/* the stack protector: mov -8(%rbp), %rdx; sub %fs:40, %rdx; je; call */
		{ 3, { 0x48, 0x8b, 0x55 } }, { 4, { 0x64, 0x48, 0x2b, 0x14 } }, { 1, { 0x74 } },
		{ 1, { 0xe8 } },
	};

	if ((len == 1 && (*p & 0xf8) == 0x58) || (len == 2 && *p == 0x41 && (p[1] & 0xf8) == 0x58))
		return true;						/* pop */
	for (size_t i = 0; i < NR(codes); i++)
		if (len >= codes[i].n && !memcmp(p, codes[i].byte, codes[i].n))
			return true;
	return false;
}

/* A function of -O0 that returns by statements has an end that nobody wrote: its closing brace is
 * no line. Without them a nop, or main()'s zero, stands for what the brace does. */
static bool is_mere_end(const struct cover_lines *c, struct pm_forms *forms,
			const struct pm_elf_subprogram *f, const struct pm_elf_row *row)
{
	static const uint8_t frame[] = { 0x55, 0x48, 0x89, 0xe5 };
	size_t n;
	const uint8_t *p = pm_elf_code_at(c->elf, f->lo, &n);
	bool returns = false;

	if (!p || n < f->hi - f->lo || f->hi - f->lo < sizeof frame ||
	    memcmp(p, frame, sizeof frame) || row->lo <= f->lo || row->hi > f->hi)
		return false;
	for (uint64_t at = row->lo; at < row->hi; ) {
		const struct pm_form *form = pm_form_at(forms, p + (at - f->lo),
							(size_t)(f->hi - at));

		if (!form->mnemonic || !gives_back(p + (at - f->lo), form->len))
			return false;
		returns = form->flow == PM_CLASS_RET;
		at += form->len;
	}
	return returns;
}

/* gcov's line of a function is that of its name, not that of its opening brace. */
static void adjust_rows(struct cover_lines *c, struct pm_forms *forms)
{
	for (size_t i = 0; i < c->nfunction; i++) {
		const struct pm_elf_subprogram *f = c->function + i;
		struct pm_elf_row *row = row_at(c, f->lo);

		if (row && row->lo == f->lo && row->line > f->line && !strcmp(row->file, f->file))
			row->line = f->line;
		row = row_at(c, f->hi - 1);
		if (row && is_mere_end(c, forms, f, row))
			row->line = 0;
	}
}

/* The lines of all rows exist; those of instructions are noted. */
static void assign_lines(struct cover_all *a, struct cover_lines *c)
{
	uint32_t file = 0;
	const char *last = NULL;
	size_t i = 0;

	for (size_t k = 0; k < c->o->n; k++)
		c->line[k] = PM_NONE;
	for (size_t r = 0; r < c->nrow; r++) {
		uint32_t line;

		if (!c->row[r].line)
			continue;
		if (c->row[r].file != last)
			file = file_of(a, last = c->row[r].file);
		line = line_of(a, file, c->row[r].line);
		while (i < c->o->n && c->o->insn[i].addr < c->row[r].lo)
			i++;
		for (size_t k = i; k < c->o->n && c->o->insn[k].addr < c->row[r].hi; k++)
			c->line[k] = line;
	}
}

/* ---- basic blocks -------------------------------------------------------------------------- */

static bool is_jump(uint8_t flow)
{
	return flow == PM_CLASS_JUMP || flow == PM_CLASS_JUMP_IND || flow == PM_CLASS_RET;
}

static bool ends_block(uint8_t flow)
{
	return is_jump(flow) || flow == PM_CLASS_COND || flow == PM_CLASS_CALL ||
	       flow == PM_CLASS_CALL_IND;
}

static void find_leaders(struct cover_lines *c)
{
	const struct pm_cover_object *o = c->o;
	size_t to;

	for (size_t i = 0; i < o->n; i++) {
		const struct pm_cover_insn *in = o->insn + i;

		if (!i || ends_block(in[-1].flow) || in[-1].addr + in[-1].len != in->addr)
			c->leads[i] = true;
		if ((in->flow == PM_CLASS_JUMP || in->flow == PM_CLASS_COND) &&
		    (to = find(o, in->target)) != SIZE_MAX) {
			c->leads[to] = true;
			c->jumps[to] += in->flow == PM_CLASS_JUMP ? in->count : in->taken;
		}
	}
	for (size_t i = 0; i < o->njump; i++)
		if ((to = find(o, o->jump[i].to)) != SIZE_MAX) {
			c->leads[to] = true;
			c->jumps[to] += o->jump[i].count;
		}
	for (size_t i = 0; i < c->nfunction; i++)
		if ((to = find(o, c->function[i].lo)) != SIZE_MAX)
			c->leads[to] = true;
}

/* Once for each block: in which order the lines of a statement come is up to the compiler. */
static void add_use(struct cover_lines *c, uint32_t line, uint64_t count)
{
	for (size_t i = c->nuse; i-- > 0 && c->use[i].bb == c->nbb - 1; )
		if (c->use[i].line == line)
			return;
	pm_grow(c->use, c->nuse, c->cap_use);
	c->use[c->nuse++] = (struct cover_use){ line, (uint32_t)c->nbb - 1, count };
}

/* Does instruction @i, behind a call, put its result into a local variable? That is the call's own
 * work and no statement that follows it. */
static bool keeps_result(const struct cover_lines *c, size_t i)
{
	size_t n;
	const uint8_t *p = pm_elf_code_at(c->elf, c->o->insn[i].addr, &n);

	if (!i || !p || n < 3 || (c->o->insn[i - 1].flow != PM_CLASS_CALL &&
				  c->o->insn[i - 1].flow != PM_CLASS_CALL_IND))
		return false;
	p += p[0] == 0x48;
	return p[0] == 0x89 && (p[1] == 0x45 || p[1] == 0x85);	/* mov %eax, -8(%rbp) */
}

/* The jump back of an endless loop has the line that it leads to; nobody wrote it. */
static bool is_way_back(const struct cover_lines *c, size_t i)
{
	const struct pm_cover_insn *in = c->o->insn + i;
	size_t to;

	if (in->flow != PM_CLASS_JUMP || in->target >= in->addr)
		return false;
	to = find(c->o, in->target);
	return to != SIZE_MAX && c->line[to] == c->line[i];
}

static void make_blocks(const struct cover_all *a, struct cover_lines *c)
{
	uint32_t last = PM_NONE, *owner;

	for (size_t i = 0; i < c->o->n; i++) {
		if (c->leads[i]) {
			pm_grow(c->bb, c->nbb, c->cap_bb);
			c->bb[c->nbb++] = (struct cover_bb){ .first = (uint32_t)i,
				.line = PM_NONE };
			last = PM_NONE;
		}
		c->bb_of[i] = (uint32_t)c->nbb - 1;
		c->bb[c->nbb - 1].n++;
		if (c->line[i] == PM_NONE || is_way_back(c, i) || keeps_result(c, i))
			continue;
		if (c->line[i] != last)
			add_use(c, c->line[i], c->o->insn[i].count);
		last = c->line[i];
		owner = &c->bb[c->nbb - 1].line;
		if (*owner == PM_NONE || a->line[*owner].file != a->line[last].file ||
		    a->line[*owner].line < a->line[last].line)
			*owner = last;
	}
}

static void add_edge(struct cover_lines *c, uint32_t from, size_t to, uint64_t count)
{
	if (to == SIZE_MAX || !count)
		return;
	pm_grow(c->edge, c->nedge, c->cap_edge);
	c->edge[c->nedge++] = (struct cover_edge){ from, c->bb_of[to], count, count };
}

static bool begins_function(const struct cover_lines *c, uint64_t addr)
{
	const size_t lo = pm_lower_bound(c->function, c->nfunction, .lo, addr);

	return lo < c->nfunction && c->function[lo].lo == addr;
}

/* Who went on to the block behind @b: whoever did not jump there. */
static void add_fall(struct cover_lines *c, uint32_t b)
{
	const struct pm_cover_insn *last = c->o->insn + c->bb[b].first + c->bb[b].n - 1;
	size_t next = c->bb[b].first + c->bb[b].n;
	uint64_t count;

	if (next >= c->o->n || last[1].addr != last->addr + last->len ||
	    begins_function(c, last[1].addr))
		return;
	count = last[1].count > c->jumps[next] ? last[1].count - c->jumps[next] : 0;
	if (last->flow == PM_CLASS_COND)
		count = last->fell;
	add_edge(c, b, next, count < last->count ? count : last->count);
}

static void make_edges(struct cover_lines *c)
{
	const struct pm_cover_object *o = c->o;
	size_t j = 0;

	for (uint32_t b = 0; b < c->nbb; b++) {
		const struct pm_cover_insn *last = o->insn + c->bb[b].first + c->bb[b].n - 1;

		c->bb[b].out = (uint32_t)c->nedge;
		if (last->flow == PM_CLASS_JUMP)
			add_edge(c, b, find(o, last->target), last->count);
		else if (last->flow == PM_CLASS_COND)
			add_edge(c, b, find(o, last->target), last->taken);
		while (j < o->njump && o->jump[j].from < last->addr)
			j++;
		for (; j < o->njump && o->jump[j].from == last->addr; j++)
			add_edge(c, b, find(o, o->jump[j].to), o->jump[j].count);
		if (!is_jump(last->flow))
			add_fall(c, b);
		c->bb[b].nout = (uint32_t)c->nedge - c->bb[b].out;
	}
}

/* ---- loops on one line --------------------------------------------------------------------- */

struct cover_path { struct cover_edge *e; const struct cover_path *before; };

static bool is_on(const struct cover_path *p, uint32_t bb)
{
	for (; p; p = p->before)
		if (p->e->from == bb)
			return true;
	return false;
}

/* Circuits through @start that stay on its line, of blocks from @start on: how often each went
 * round is the least of its edges, which have that much less left for the next. */
static uint64_t circuits(struct cover_lines *c, uint32_t start, uint32_t at,
			 const struct cover_path *path, unsigned depth)
{
	uint64_t sum = 0;

	for (uint32_t k = 0; k < c->bb[at].nout; k++) {
		struct cover_edge *e = c->edge + c->bb[at].out + k;
		const struct cover_path here = { e, path };
		uint64_t least = e->left;

		if (e->to < start || !e->left || c->bb[e->to].line != c->bb[start].line ||
		    c->steps++ > CYCLE_STEPS || depth > 200)
			continue;
		if (e->to != start) {
			if (!is_on(&here, e->to))
				sum += circuits(c, start, e->to, &here, depth + 1);
			continue;
		}
		for (const struct cover_path *p = path; p; p = p->before)
			least = p->e->left < least ? p->e->left : least;
		for (const struct cover_path *p = &here; p; p = p->before)
			p->e->left -= least;
		sum += least;
	}
	return sum;
}

/* ---- counts -------------------------------------------------------------------------------- */

static void count_lines(struct cover_all *a, struct cover_lines *c)
{
	bool *owns = pm_alloc(a->nline + 1);	/* a block belongs to the line */
	uint64_t *inside = pm_alloc((c->nbb + 1) * sizeof *inside);

	for (size_t i = 0; i < c->nedge; i++) {
		const struct cover_edge *e = c->edge + i;

		if (c->bb[e->from].line == c->bb[e->to].line)
			inside[e->to] += e->count;
	}
	for (uint32_t b = 0; b < c->nbb; b++) {
		const uint64_t came = c->o->insn[c->bb[b].first].count;
		const uint32_t line = c->bb[b].line;

		if (line == PM_NONE)
			continue;
		owns[line] = true;
		a->line[line].count += came > inside[b] ? came - inside[b] : 0;
		c->steps = 0;
		a->line[line].count += circuits(c, b, b, NULL, 0);
	}
	for (size_t i = 0; i < c->nuse; i++)
		if (!owns[c->use[i].line])
			a->line[c->use[i].line].count += c->use[i].count;
	free(owns);
	free(inside);
}

/* Before its first statement a variadic function may jump, which nobody wrote. */
static bool is_prologue(const struct cover_lines *c, size_t *function, uint64_t addr)
{
	const struct pm_elf_row *row;

	while (*function < c->nfunction && c->function[*function].hi <= addr)
		++*function;
	if (*function == c->nfunction || addr < c->function[*function].lo)
		return false;
	row = row_at(c, c->function[*function].lo);
	return row && addr < row->hi && row->line == c->function[*function].line;
}

static void add_branches(struct cover_all *a, const struct cover_lines *c)
{
	size_t function = 0;

	for (size_t i = 0; i < c->o->n; i++) {
		const struct pm_cover_insn *in = c->o->insn + i;

		if (in->flow != PM_CLASS_COND || c->line[i] == PM_NONE ||
		    is_prologue(c, &function, in->addr))
			continue;
		pm_grow(a->branch, a->nbranch, a->cap_branch);
		a->branch[a->nbranch].file = a->line[c->line[i]].file;
		a->branch[a->nbranch++].b = (struct pm_cover_branch){ a->line[c->line[i]].line,
			in->addr, in->fell, in->taken };
	}
}

static void add_functions(struct cover_all *a, const struct cover_lines *c)
{
	for (size_t i = 0; i < c->nfunction; i++) {
		const struct pm_elf_subprogram *f = c->function + i;
		const size_t at = find(c->o, f->lo);

		pm_grow(a->function, a->nfunction, a->cap_function);
		a->function[a->nfunction].file = file_of(a, f->file);
		a->function[a->nfunction++].f = (struct pm_cover_function){
			pm_arena_strdup(&a->to->mem, f->name), f->line,
			at == SIZE_MAX ? 0 : c->o->insn[at].count };
	}
}

/* Distributions name the folders of their sources away: what is neither absolute nor here was built
 * by somebody else. */
static bool is_ours(const char *file)
{
	return *file == '/' || !access(file, R_OK);
}

static void release_lines(struct cover_lines *c)
{
	pm_elf_close(c->elf);
	free(c->row);
	free(c->function);
	free(c->line);
	free(c->leads);
	free(c->jumps);
	free(c->bb);
	free(c->bb_of);
	free(c->edge);
	free(c->use);
}

static void add_object(struct cover_all *a, struct pm_cover_object *o)
{
	struct pm_err ignored = { 0 };
	struct cover_lines c = { .o = o, .elf = pm_elf_open(o->path, o->build_id, &ignored) };
	struct pm_forms *forms;

	if (c.elf)
		c.nrow = pm_elf_rows(c.elf, is_ours, &c.row);
	if (!c.nrow) {
		a->to->without_lines++;
		release_lines(&c);
		return;
	}
	c.nfunction = pm_elf_subprograms(c.elf, &c.function);
	forms = pm_forms_new(pm_elf_machine_of(c.elf) == EM_386);
	for (size_t i = 0; i < c.nfunction; i++)
		decode_function(&c, forms, c.function + i);
	adjust_rows(&c, forms);
	pm_forms_free(forms);
	if (o->n)
		qsort(o->insn, o->n, sizeof *o->insn, by_addr);
	c.line = pm_alloc((o->n + 1) * sizeof *c.line);
	c.leads = pm_alloc(o->n + 1);
	c.jumps = pm_alloc((o->n + 1) * sizeof *c.jumps);
	c.bb_of = pm_alloc((o->n + 1) * sizeof *c.bb_of);
	assign_lines(a, &c);
	find_leaders(&c);
	make_blocks(a, &c);
	make_edges(&c);
	count_lines(a, &c);
	add_branches(a, &c);
	add_functions(a, &c);
	release_lines(&c);
}

/* ---- sorted, by file ----------------------------------------------------------------------- */

static int by_line(const void *a, const void *b)
{
	const struct pm_cover_line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int by_function(const void *a, const void *b)
{
	const struct pm_cover_function *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_branch(const void *a, const void *b)
{
	const struct pm_cover_branch *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_path(const void *a, const void *b)
{
	const struct pm_cover_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* A function that several programs have is one. */
static void unite_functions(struct pm_cover_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->nfunction; i++)
		if (n && !by_function(f->function + n - 1, f->function + i))
			f->function[n - 1].count += f->function[i].count;
		else
			f->function[n++] = f->function[i];
	f->nfunction = n;
}

static void give_to_files(struct cover_all *a)
{
	struct pm_cover_file *v = a->to->v;

	for (size_t i = 0; i < a->nline; i++)
		v[a->line[i].file].nline++;
	for (size_t i = 0; i < a->nfunction; i++)
		v[a->function[i].file].nfunction++;
	for (size_t i = 0; i < a->nbranch; i++)
		v[a->branch[i].file].nbranch++;
	for (size_t i = 0; i < a->to->n; i++) {
		v[i].line = pm_alloc((v[i].nline + 1) * sizeof *v[i].line);
		v[i].function = pm_alloc((v[i].nfunction + 1) * sizeof *v[i].function);
		v[i].branch = pm_alloc((v[i].nbranch + 1) * sizeof *v[i].branch);
		v[i].nline = v[i].nfunction = v[i].nbranch = 0;
	}
	for (size_t i = 0; i < a->nline; i++) {
		struct pm_cover_file *f = v + a->line[i].file;

		f->line[f->nline++] = (struct pm_cover_line){ a->line[i].line, a->line[i].count };
	}
	for (size_t i = 0; i < a->nfunction; i++) {
		struct pm_cover_file *f = v + a->function[i].file;

		f->function[f->nfunction++] = a->function[i].f;
	}
	for (size_t i = 0; i < a->nbranch; i++) {
		struct pm_cover_file *f = v + a->branch[i].file;

		f->branch[f->nbranch++] = a->branch[i].b;
	}
	for (size_t i = 0; i < a->to->n; i++) {
		qsort(v[i].line, v[i].nline, sizeof *v[i].line, by_line);
		qsort(v[i].function, v[i].nfunction, sizeof *v[i].function, by_function);
		qsort(v[i].branch, v[i].nbranch, sizeof *v[i].branch, by_branch);
		unite_functions(v + i);
	}
	if (a->to->n)
		qsort(v, a->to->n, sizeof *v, by_path);
}

void pm_cover_files(struct pm_cover *c, struct pm_cover_files *to)
{
	struct cover_all a = { .to = to };

	*to = (struct pm_cover_files){ 0 };
	for (size_t i = 0; i < c->n; i++)
		add_object(&a, c->object + i);
	give_to_files(&a);
	free(a.line);
	free(a.function);
	free(a.branch);
	pm_string_table_release(&a.files);
	pm_map_release(&a.lines);
}

void pm_cover_files_release(struct pm_cover_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].line);
		free(f->v[i].function);
		free(f->v[i].branch);
	}
	free(f->v);
	pm_arena_release(&f->mem);
	*f = (struct pm_cover_files){ 0 };
}
