/* SPDX-License-Identifier: MIT */
/* diff_read.c - JSON documents and stored profiles as tables
 *
 * Of a document, numbers in objects are totals, called by their path ("cache.l1d.misses"). Lists of
 * objects are tables; of an element
 *
 *	texts			are its name; an object or source file is its place
 *	numbers that order it	(size, from, bytes...) belong to the name
 *	other numbers		are measures
 *	addresses, pids, shares	are neither: they move, or follow from the rest
 *
 * Of a stored profile, with the names that it has itself: totals, objects, functions, lines, and
 * blocks: instructions of a function that follow each other and executed equally often. */
#include <stdio.h>
#include <stdlib.h>

#include "analyse/diff.h"
#include "analyse/stored.h"
#include "base/json.h"
#include "base/result.h"

static bool is_in(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

/* What a machine, a system or the day decides, not the program. */
static bool is_noise(const char *path)
{
	static const char *const names[] = { "wall_s", "user_s", "sys_s", "pugmark_s", "duration_s",
					     NULL };

	return is_in(path, names) || !strncmp(path, "translations.", 13);
}

static bool is_identity(const char *name)
{
	static const char *const names[] = { "pid", "tid", "parent", "process", "address", "space",
		"pc", "stream", "status", "signal", NULL };

	return is_in(name, names);
}

static bool is_share(const char *name)
{
	size_t n = strlen(name);

	return !strcmp(name, "share") || !strcmp(name, "cumulative") ||
	       (n >= 7 && !strcmp(name + n - 7, "percent"));
}

/* Numbers that say which element it is. */
static bool is_dimension(const char *name)
{
	static const char *const names[] = { "size", "line", "sets", "ways", "from", "bytes",
		"bits", "uops", "cluster", "interval", "first_instruction", NULL };

	return is_in(name, names);
}

/* Lists that name everything there is; of others the first rows are in the document. */
static bool is_complete(const char *kind, const char *path)
{
	static const char *const always[] = { "mix", "classes", "by_class", "by_mnemonic",
		"distribution", "distances", "streams", "threads", "processes", "geometries",
		"configurations", "checks", NULL };

	return is_in(pm_diff_last(path), always) ||
	       (!strcmp(kind, "profile") && (!strcmp(path, "functions") ||
					     !strcmp(path, "objects")));
}

static const char *join(struct pm_diff_side *s, const char *path, const char *name)
{
	char *to = pm_arena_alloc(&s->mem, strlen(path) + strlen(name) + 2);

	sprintf(to, "%s%s%s", path, *path ? "." : "", name);
	return to;
}

static bool is_hex(const char *s)
{
	return s[0] == '0' && s[1] == 'x' && s[2] && !s[2 + strspn(s + 2, "0123456789abcdef")];
}

static bool is_number(const struct pm_result_node *n)
{
	return n->kind == PM_RESULT_U64 || n->kind == PM_RESULT_F64;
}

static void set_number(struct pm_diff_table *t, size_t row, unsigned column,
		       const struct pm_result_node *n)
{
	if (n->kind == PM_RESULT_U64)
		pm_diff_set_u64(t, row, column, n->u64);
	else
		pm_diff_set_f64(t, row, column, n->f64);
}

/* ---- elements of lists --------------------------------------------------------------------- */

/* Texts that describe an element and do not name it. */
static bool is_description(const struct pm_result_node *c, bool function, bool object)
{
	static const char *const names[] = { "text", "about", NULL };

	return is_in(c->name, names) || is_hex(c->str) || (function && !strcmp(c->name, "line")) ||
	       (object && !strcmp(c->name, "object"));
}

/* The name of @e, terminated, behind what is in @to. */
static void name_element(const struct pm_result_node *e, const char *place, size_t i,
			 struct pm_buf *to)
{
	const bool function = pm_result_find_text(e, "function");
	const bool by_line = pm_result_find_text(e, "file") && !function;
	const struct pm_result_node *line = pm_result_find(e, "line");

	for (const struct pm_result_node *c = e->first; c && !by_line; c = c->next)
		if (c->name && c->kind == PM_RESULT_STR && !is_description(c, function, place) &&
		    (!function || strcmp(c->name, "file")))
			pm_buf_printf(to, "%s%s", to->n ? " " : "", c->str);
	if (by_line && line && line->kind == PM_RESULT_U64)
		pm_buf_printf(to, "%llu", (unsigned long long)line->u64);
	for (const struct pm_result_node *c = e->first; c && !by_line && !function; c = c->next)
		if (c->name && c->kind == PM_RESULT_U64 && is_dimension(c->name))
			pm_buf_printf(to, "%s%s=%llu", to->n ? " " : "", c->name,
				      (unsigned long long)c->u64);
	if (!to->n && e->first && e->first->kind == PM_RESULT_STR)
		pm_buf_printf(to, "%s", e->first->str);
	if (!to->n && place)
		pm_buf_printf(to, "%s", place);
	if (!to->n)
		pm_buf_printf(to, "#%zu", i + 1);
	pm_buf_add(to, "", 1);
}

static void add_measures(struct pm_diff_side *s, struct pm_diff_table *t, size_t row,
			 const struct pm_result_node *e, const char *path)
{
	const bool function = pm_result_find_text(e, "function");

	for (const struct pm_result_node *c = e->first; c; c = c->next) {
		if (!c->name || is_identity(c->name) || is_share(c->name))
			continue;
		if (c->kind == PM_RESULT_OBJECT && !*path)
			add_measures(s, t, row, c, c->name);
		else if (is_number(c) && (*path || function || !is_dimension(c->name)) &&
			 strcmp(c->name, "line") && strcmp(c->name, "length"))
			set_number(t, row, pm_diff_column(s, t, join(s, path, c->name)), c);
	}
}

static void read_list(struct pm_diff_side *s, const struct pm_result_node *list, const char *path)
{
	struct pm_diff_table *t = pm_diff_table(s, path, is_complete(s->kind, path));
	size_t i = 0;

	for (const struct pm_result_node *e = list->first; e; e = e->next, i++) {
		const char *place = pm_result_find_text(e, "file");
		const char *address = pm_result_find_text(e, "address");
		struct pm_buf key = { 0 };
		size_t row;

		if (e->kind != PM_RESULT_OBJECT)
			continue;
		if (place && !pm_result_find_text(e, "function"))
			t->shape = PM_DIFF_LINES;
		else
			place = pm_result_find_text(e, "object");
		name_element(e, place, i, &key);
		row = pm_diff_add_row(s, t, (const char *)key.p, place,
				      address ? strtoull(address, NULL, 16) : i);
		add_measures(s, t, row, e, "");
		pm_buf_release(&key);
	}
}

/* The blocks of a profile: by where they are in their functions, which are in the same document. */
static void read_hottest(struct pm_diff_side *s, const struct pm_result_node *list,
			 const struct pm_result_node *root)
{
	const struct pm_result_node *functions = pm_result_find(root, "functions");
	struct pm_diff_table *t = pm_diff_table(s, "blocks", false);

	for (const struct pm_result_node *e = list->first; e; e = e->next) {
		const char *function = pm_result_find_text(e, "function");
		const char *object = pm_result_find_text(e, "object");
		const char *address = pm_result_find_text(e, "address"), *from = NULL;
		uint64_t at = address ? strtoull(address, NULL, 16) : 0, best = 0;
		struct pm_buf key = { 0 };
		size_t row;

		if (!function || !object)
			continue;
		for (const struct pm_result_node *f = functions ? functions->first : NULL; f;
		     f = f->next) {
			const char *name = pm_result_find_text(f, "function");
			const char *in = pm_result_find_text(f, "object");
			const char *lo = pm_result_find_text(f, "address");
			uint64_t v = lo ? strtoull(lo, NULL, 16) : 0;

			if (name && in && !strcmp(name, function) && !strcmp(in, object) &&
			    v <= at && v >= best) {
				from = lo;
				best = v;
			}
		}
		pm_buf_printf(&key, "%s", function);
		if (from)
			pm_buf_printf(&key, "+0x%llx", (unsigned long long)(at - best));
		else if (address)
			pm_buf_printf(&key, " %s", address);
		pm_buf_add(&key, "", 1);
		row = pm_diff_add_row(s, t, (const char *)key.p, object, at);
		add_measures(s, t, row, e, "");
		pm_buf_release(&key);
	}
}

/* ---- objects ------------------------------------------------------------------------------- */

static void read_total(struct pm_diff_side *s, const struct pm_result_node *c, const char *path)
{
	const bool noise = is_noise(path);
	struct pm_diff_table *t = pm_diff_table(s, noise ? "times" : PM_DIFF_TOTALS, false);
	size_t row = pm_diff_add_row(s, t, path, NULL, 0);

	t->noise = noise;
	set_number(t, row, pm_diff_column(s, t, PM_DIFF_VALUE), c);
}

/* Texts of a list, one behind the other. */
static void read_texts(struct pm_diff_side *s, const struct pm_result_node *list, const char *path)
{
	struct pm_buf text = { 0 };

	for (const struct pm_result_node *e = list->first; e; e = e->next)
		if (e->kind == PM_RESULT_STR)
			pm_buf_printf(&text, "%s%s", text.n ? " " : "", e->str);
	pm_buf_add(&text, "", 1);
	pm_diff_fact(s, path, (const char *)text.p, false);
	pm_buf_release(&text);
}

static void read_numbers(struct pm_diff_side *s, const struct pm_result_node *list,
			 const char *path)
{
	struct pm_diff_table *t = pm_diff_table(s, path, true);
	const unsigned column = pm_diff_column(s, t, PM_DIFF_VALUE);
	char key[32];
	size_t i = 0;

	for (const struct pm_result_node *e = list->first; e; e = e->next, i++) {
		if (!is_number(e))
			continue;
		snprintf(key, sizeof key, "#%zu", i + 1);
		set_number(t, pm_diff_add_row(s, t, key, NULL, i), column, e);
	}
}

static void read_object(struct pm_diff_side *s, const struct pm_result_node *o, const char *path,
			const struct pm_result_node *root)
{
	for (const struct pm_result_node *c = o->first; c; c = c->next) {
		const char *name = join(s, path, c->name ? c->name : "");
		char number[32];

		switch (c->kind) {
		case PM_RESULT_U64:
			if (!strncmp(name, "exit.", 5)) {
				snprintf(number, sizeof number, "%llu", (unsigned long long)c->u64);
				pm_diff_fact(s, name, number, true);
				break;
			}
			/* fall through */
		case PM_RESULT_F64:
			if (!is_identity(c->name ? c->name : ""))
				read_total(s, c, name);
			break;
		case PM_RESULT_STR:
			pm_diff_fact(s, name, c->str, *path && strncmp(path, "traced", 6));
			break;
		case PM_RESULT_BOOL:
			pm_diff_fact(s, name, c->u64 ? "yes" : "no", true);
			break;
		case PM_RESULT_OBJECT:
			read_object(s, c, name, root);
			break;
		case PM_RESULT_LIST:
			if (!strcmp(s->kind, "profile") && !strcmp(name, "hottest"))
				read_hottest(s, c, root);
			else if (c->first && c->first->kind == PM_RESULT_STR)
				read_texts(s, c, name);
			else if (c->first && is_number(c->first))
				read_numbers(s, c, name);
			else
				read_list(s, c, name);
			break;
		default:
			break;
		}
	}
}

/* A gate would take fewer instructions for progress. */
static enum pm_status check_whole(const struct pm_result_node *root, struct pm_err *err)
{
	const struct pm_result_node *complete = pm_result_find(root, "complete");
	const char *why = pm_result_find_text(root, "reason");

	if (!complete || complete->kind != PM_RESULT_BOOL || complete->u64)
		return PM_OK;
	return pm_fail_file(err, "its numbers are of a part of a trace%s%s", why ? ": " : "",
			    why ? why : "");
}

enum pm_status pm_diff_read_json(struct pm_diff_side *s, const char *path, struct pm_err *err)
{
	struct pm_result *r = pm_result_new();
	struct pm_buf text = { 0 }, schema = { 0 };
	enum pm_status st;

	err->file = path;
	s->file = path;
	st = pm_json_load(path, &text, err);
	if (!st)
		st = pm_json_read_named((const char *)text.p, text.n - 1, r, &schema, err);
	if (!st && (schema.n < 9 || memcmp(schema.p, "pugmark.", 8)))
		st = pm_fail_file(err, "expected a document that names its schema, \"pugmark.*\"; "
				       "what a command writes with --json does");
	if (!st)
		st = check_whole(pm_result_root(r), err);
	if (!st) {
		s->kind = pm_arena_strdup(&s->mem, (const char *)schema.p + 8);
		read_object(s, pm_result_root(r), "", pm_result_root(r));
	}
	pm_buf_release(&text);
	pm_buf_release(&schema);
	pm_result_free(r);
	return st;
}

/* ---- stored profiles ----------------------------------------------------------------------- */

struct stored_rows {			/* one for each instruction that has costs */
	struct pm_diff_side *s;
	struct pm_listing *l;
	struct pm_diff_table *objects, *functions, *lines, *blocks;
};

static const char *measure_name(const char *column)
{
	static const char *const plain[][2] = { { "Ir", "instructions" }, { "Dr", "reads" },
						{ "Dw", "writes" } };

	for (size_t i = 0; i < NR(plain); i++)
		if (!strcmp(column, plain[i][0]))
			return plain[i][1];
	return column;
}

static void add_sums(struct pm_diff_table *t, size_t row, const uint64_t *v, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		pm_diff_set_u64(t, row, k, v[k] + (k < t->row[row].nv ? t->row[row].v[k].u64 : 0));
}

static void read_function(struct stored_rows *r, const struct pm_listing_function *f)
{
	const struct pm_listing *l = r->l;
	const unsigned n = l->costs->ncolumn;
	uint64_t v[PM_COSTS_MAX], first;
	size_t row, end;

	pm_listing_sum(l, f->first, f->n, v);
	row = pm_diff_add_row(r->s, r->functions, f->name, *f->object ? f->object : NULL,
			      l->insn[f->first].pc);
	add_sums(r->functions, row, v, n);
	if (!r->objects->n || strcmp(r->objects->row[r->objects->n - 1].key, f->object))
		pm_diff_add_row(r->s, r->objects, f->object, f->object, r->objects->n);
	add_sums(r->objects, r->objects->n - 1, v, n);
	first = l->insn[f->first].pc;
	for (size_t i = f->first; i < f->first + f->n; i = end) {
		const uint64_t ran = l->costs->v[0][l->insn[i].row];
		char key[320];

		for (end = i; end < f->first + f->n &&
		     l->costs->v[0][l->insn[end].row] == ran; end++)
			;
		pm_listing_sum(l, i, end - i, v);
		snprintf(key, sizeof key, "%.280s+0x%llx", f->name,
			 (unsigned long long)(l->insn[i].pc - first));
		row = pm_diff_add_row(r->s, r->blocks, key, *f->object ? f->object : NULL,
				      l->insn[i].pc);
		pm_diff_set_u64(r->blocks, row, 0, ran);
		for (unsigned k = 0; k < n; k++)
			pm_diff_set_u64(r->blocks, row, k + 1, v[k]);
	}
}

static void read_listing(struct stored_rows *r)
{
	const struct pm_listing *l = r->l;
	struct pm_listing_line *line;
	size_t n = pm_listing_lines(l, &line);
	char key[32];

	pm_diff_column(r->s, r->blocks, "executions");
	for (unsigned k = 0; k < l->costs->ncolumn; k++) {
		const char *name = measure_name(l->costs->column[k].name);

		pm_diff_total(r->s, name, pm_costs_total(l->costs, k));
		pm_diff_column(r->s, r->objects, name);
		pm_diff_column(r->s, r->functions, name);
		pm_diff_column(r->s, r->lines, name);
		pm_diff_column(r->s, r->blocks, name);
	}
	for (size_t i = 0; i < l->nfunction; i++)
		if (l->function[i].n)
			read_function(r, l->function + i);
	for (size_t i = 0; i < n; i++) {
		snprintf(key, sizeof key, "%u", line[i].line);
		add_sums(r->lines, pm_diff_add_row(r->s, r->lines, key, l->file[line[i].file],
						   i), line[i].v, l->costs->ncolumn);
	}
	free(line);
}

/* An instruction as the file names it. */
struct named_row { struct pm_stored_place at; uint64_t pc; size_t row; };

static int by_stored_place(const void *a, const void *b)
{
	const struct named_row *x = a, *y = b;

	if (x->at.object != y->at.object)
		return x->at.object < y->at.object ? -1 : 1;
	if (x->at.function != y->at.function)
		return x->at.function < y->at.function ? -1 : 1;
	if (x->at.home != y->at.home)
		return x->at.home < y->at.home ? -1 : 1;
	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* What pm_listing_new() makes, without the program's files. */
static struct pm_listing *named_listing(const struct pm_costs *c,
					const struct pm_stored_names *names)
{
	struct named_row *v = pm_alloc((c->n + 1) * sizeof *v);
	struct pm_listing *l = pm_alloc(sizeof *l);
	size_t cap = 0;

	for (size_t i = 0; i < c->n; i++)
		v[i] = (struct named_row){ names->place[i], c->pc[i], i };
	qsort(v, c->n, sizeof *v, by_stored_place);
	l->costs = c;
	l->ninsn = c->n;
	l->insn = pm_alloc((c->n + 1) * sizeof *l->insn);
	l->file = pm_alloc((names->nname + 1) * sizeof *l->file);
	for (size_t i = 0; i < names->nname; i++)
		l->file[i] = names->name[i];
	l->nfile = names->nname;
	for (size_t i = 0; i < c->n; i++) {
		const struct pm_stored_place at = v[i].at, before = v[i ? i - 1 : 0].at;
		const bool known = at.line && strcmp(names->name[at.file], "???");

		if (!i || at.object != before.object || at.function != before.function ||
		    at.home != before.home) {
			pm_grow(l->function, l->nfunction, cap);
			l->function[l->nfunction++] = (struct pm_listing_function){
				.name = names->name[at.function],
				.object = at.object ? names->name[at.object] : "", .first = i };
		}
		l->function[l->nfunction - 1].n++;
		l->insn[i] = (struct pm_listing_insn){ .pc = v[i].pc, .row = v[i].row,
			.function = (uint32_t)l->nfunction - 1, .file = known ? at.file : 0,
			.line = known ? at.line : 0 };
	}
	free(v);
	return l;
}

enum pm_status pm_diff_read_stored(struct pm_diff_side *s, const char *path, struct pm_err *err)
{
	struct stored_rows r = { .s = s };
	struct pm_costs costs = { 0 };
	struct pm_code_book book = { 0 };
	struct pm_stored_names names = { 0 };
	enum pm_status st;

	s->file = path;
	s->kind = "stored profile";
	st = pm_stored_read(path, &costs, &book, &names, err);
	if (!st) {
		if (!names.n)
			pm_stored_code(&costs, &book);
		r.l = names.n ? named_listing(&costs, &names) :
				pm_listing_new(&costs, &book.names, &book);
		r.objects = pm_diff_table(s, "objects", true);
		r.functions = pm_diff_table(s, "functions", true);
		r.lines = pm_diff_table(s, "lines", true);
		r.lines->shape = PM_DIFF_LINES;
		r.blocks = pm_diff_table(s, "blocks", true);
		read_listing(&r);
		pm_listing_free(r.l);
	}
	pm_stored_names_release(&names);
	pm_code_book_release(&book);
	pm_costs_release(&costs);
	return st;
}
