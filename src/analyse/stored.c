/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/cachegrind.h"
#include "analyse/stored.h"
#include "base/string_table.h"
#include "isa/x86/form.h"

static const char callgrind_head[] = "# callgrind format";

struct stored_reader {
	FILE *f;
	char *line;
	size_t cap;
	uint64_t n;			/* of the line */
	struct pm_costs *c;
	struct pm_code_book *book;
	struct pm_err *err;
	char **object, **id;		/* id by object, NULL: none */
	size_t nobject, cap_object, cap_id;
	size_t now;			/* object, + 1; 0: none */
	struct { uint64_t number; size_t object; } *numbered;	/* "(1) name" */
	size_t nnumbered, cap_numbered;
	int column[PM_COSTS_MAX];
	unsigned ncolumn;
	bool instr, lines, body;
	uint64_t pos[2];		/* the last ones, for relative positions */
	struct pm_stored_names *names;	/* NULL: not wanted */
	struct pm_string_table texts;	/* as those of .names */
	struct pm_map function_of, file_of;	/* "(1) name" -> index of the name */
	struct pm_stored_place at;	/* of the next costs */
};

static enum pm_status wrong(struct stored_reader *r, const char *what)
{
	return pm_fail_line(r->err, r->n, "expected %s, found '%.60s'", what, r->line);
}

/* The next line without its end; false at the end of the file. */
static bool next(struct stored_reader *r)
{
	ssize_t n = getline(&r->line, &r->cap, r->f);

	if (n < 0)
		return false;
	r->n++;
	while (n > 0 && (r->line[n - 1] == '\n' || r->line[n - 1] == '\r'))
		r->line[--n] = 0;
	return true;
}

static bool number(const char **p, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*v = strtoull(*p, &end, (*p)[0] == '0' && ((*p)[1] | 32) == 'x' ? 16 : 10);
	*p = end;
	return true;
}

static const char *blanks(const char *p)
{
	while (*p == ' ' || *p == '\t')
		p++;
	return p;
}

static bool begins(const char *s, const char *with, const char **rest)
{
	size_t n = strlen(with);

	if (strncmp(s, with, n))
		return false;
	*rest = blanks(s + n);
	return true;
}

static size_t object_of(struct stored_reader *r, const char *path)
{
	size_t i = 0;

	while (i < r->nobject && strcmp(r->object[i], path))
		i++;
	if (i == r->nobject) {
		pm_grow(r->object, r->nobject, r->cap_object);
		pm_grow(r->id, r->nobject, r->cap_id);
		r->id[r->nobject] = NULL;
		r->object[r->nobject++] = pm_strdup(path);
	}
	return i;
}

/* "/usr/bin/gzip", "(1) /usr/bin/gzip", later "(1)". */
static enum pm_status named_object(struct stored_reader *r, const char *s, size_t *now)
{
	uint64_t n;

	if (*s == '(' && (s++, number(&s, &n)) && *s == ')') {
		s = blanks(s + 1);
		if (!*s) {
			for (size_t i = 0; i < r->nnumbered; i++)
				if (r->numbered[i].number == n) {
					*now = r->numbered[i].object + 1;
					return PM_OK;
				}
			return wrong(r, "the number of an object that has been named");
		}
		pm_grow(r->numbered, r->nnumbered, r->cap_numbered);
		r->numbered[r->nnumbered].number = n;
		r->numbered[r->nnumbered++].object = object_of(r, s);
	}
	*now = object_of(r, s) + 1;
	return PM_OK;
}

/* ---- names, as the file has them ----------------------------------------------------------- */

static uint32_t name_index(struct stored_reader *r, const char *s)
{
	struct pm_stored_names *names = r->names;
	const uint32_t at = pm_string_add(&r->texts, s);

	if (at == names->nname) {
		pm_grow(names->name, names->nname, names->cap_name);
		names->name[names->nname++] = pm_strdup(s);
	}
	return at;
}

/* "deflate", "(1) deflate", later "(1)"; 0 for a number that has no name. */
static uint32_t named(struct stored_reader *r, struct pm_map *numbered, const char *s)
{
	uint64_t n, *at;

	if (*s != '(' || (s++, !number(&s, &n)) || *s != ')')
		return name_index(r, s);
	s = blanks(s + 1);
	at = pm_map_put(numbered, n, NULL);
	if (*s)
		*at = name_index(r, s);
	return (uint32_t)*at;
}

/* Where the costs behind this line belong. */
static void place_line(struct stored_reader *r)
{
	const char *s = r->line, *rest;

	if (!r->names)
		return;
	if (begins(s, "fn=", &rest)) {
		r->at.function = named(r, &r->function_of, rest);
		r->at.home = r->at.file;
	} else if (begins(s, "cfn=", &rest)) {
		named(r, &r->function_of, rest);
	} else if (begins(s, "fl=", &rest) || begins(s, "fi=", &rest) ||
		   begins(s, "fe=", &rest)) {
		r->at.file = named(r, &r->file_of, rest);
	} else if (begins(s, "cfi=", &rest) || begins(s, "cfl=", &rest)) {
		named(r, &r->file_of, rest);
	}
}

/* The first costs of an instruction say where it is. */
static void place_row(struct stored_reader *r, size_t row)
{
	struct pm_stored_names *names = r->names;

	if (!names || row < names->n)
		return;
	pm_grow(names->place, names->n, names->cap);
	names->place[names->n] = r->at;
	if (r->lines && r->pos[1] <= UINT32_MAX)
		names->place[names->n].line = (uint32_t)r->pos[1];
	if (r->now)
		names->place[names->n].object = name_index(r, r->object[r->now - 1]);
	names->n++;
}

void pm_stored_names_release(struct pm_stored_names *names)
{
	for (size_t i = 0; i < names->nname; i++)
		free(names->name[i]);
	free(names->name);
	free(names->place);
}

/* Costs that are no trouble by themselves: how often something happened at all. */
static bool is_trouble(const char *name)
{
	static const char *const plain[] = { "Ir", "Dr", "Dw", "Bc", "Bi", "Br" };

	for (size_t i = 0; i < NR(plain); i++)
		if (!strncmp(name, plain[i], 2) && name[2 + strspn(name + 2, "0123456789")] == 0)
			return false;
	return true;
}

/* What is known about an event of that name. */
static const char *about(const char *name)
{
	static const char *const known[][2] = {
#define E(name, about) { #name, about },
		PM_CG_EVENTS(E)
#undef E
	};

	for (size_t i = 0; i < NR(known); i++)
		if (!strcmp(known[i][0], name))
			return known[i][1];
	return "as stored";
}

static enum pm_status set_events(struct stored_reader *r, const char *s)
{
	if (r->ncolumn)
		return wrong(r, "events once");
	while (*s) {
		size_t n = strcspn(s, " \t");
		char name[24];

		snprintf(name, sizeof name, "%.*s", (int)(n < 20 ? n : 20), s);
		if (r->ncolumn < PM_COSTS_MAX)
			r->column[r->ncolumn++] = pm_costs_column(r->c, name, about(name),
								  is_trouble(name));
		s = blanks(s + n);
	}
	return r->ncolumn ? PM_OK : wrong(r, "the names of events");
}

/* "0x4011d0 123", "+4 *", "-3": into r->pos. */
static bool positions(struct stored_reader *r, const char **p)
{
	for (int i = 0; i < r->instr + r->lines; i++) {
		char sign = **p;
		uint64_t v = 0;

		if (sign == '*') {
			++*p;
		} else {
			*p += sign == '+' || sign == '-';
			if (!number(p, &v))
				return false;
			r->pos[i] = sign == '+' ? r->pos[i] + v : sign == '-' ? r->pos[i] - v : v;
		}
		*p = blanks(*p);
	}
	return true;
}

static void put(struct stored_reader *r, uint64_t pc, int column, uint64_t v)
{
	size_t row;

	if (column < 0)
		return;
	row = pm_costs_row(r->c, pc);
	place_row(r, row);
	r->c->v[column][row] += v;
}

static enum pm_status costs_line(struct stored_reader *r)
{
	const char *p = r->line;
	uint64_t pc, v;

	if (!r->ncolumn)
		return wrong(r, "events: before costs");
	if (!positions(r, &p))
		return wrong(r, "an address, a line and costs");
	pc = PM_LISTING_ADDRESS(r->pos[0]) | (uint64_t)r->now << PM_LISTING_OBJECT_SHIFT;
	for (unsigned k = 0; *p; k++) {
		if (k == r->ncolumn || !number(&p, &v))
			return wrong(r, "a number for each event");
		put(r, pc, r->column[k], v);
		p = blanks(p);
	}
	return PM_OK;
}

/* "# object ID PATH": before any other mention of the object. */
static void learn_id(struct stored_reader *r, const char *s)
{
	size_t n = strcspn(s, " "), o;

	if (!n || !s[n])
		return;
	o = object_of(r, blanks(s + n));
	if (!r->id[o]) {
		r->id[o] = pm_strdup(s);
		r->id[o][n] = 0;
	}
}

static enum pm_status callgrind_line(struct stored_reader *r)
{
	const char *s = r->line, *rest;
	size_t called;

	place_line(r);
	if (begins(s, "# object ", &rest))
		learn_id(r, rest);
	else if (begins(s, "positions:", &rest)) {
		r->instr = !strncmp(rest, "instr", 5);
		r->lines = strstr(rest, "line");
	} else if (begins(s, "events:", &rest)) {
		return set_events(r, rest);
	} else if (begins(s, "ob=", &rest)) {
		return named_object(r, rest, &r->now);
	} else if (begins(s, "cob=", &rest)) {
		return named_object(r, rest, &called);
	} else if (begins(s, "calls=", &rest) || begins(s, "jump=", &rest) ||
		   begins(s, "jcnd=", &rest)) {
		/* the line behind it has what is not wanted, but its positions count */
		if (next(r) && (s = r->line, !positions(r, &s)))
			return wrong(r, "the position of a call or jump");
	} else if (isdigit((unsigned char)*s) || *s == '+' || *s == '-' || *s == '*') {
		if (!r->instr)
			return pm_fail_line(r->err, r->n,
					    "expected addresses of instructions (`positions: instr "
					    "line`); "
					    "callgrind writes them with --dump-instr=yes");
		return costs_line(r);
	} else if (*s && *s != '#' && !strpbrk(s, ":=")) {
		return wrong(r, "a line of a callgrind file");
	}
	return PM_OK;
}

static enum pm_status counts_line(struct stored_reader *r)
{
	const char *s = r->line, *rest;
	uint64_t v[3];

	if (begins(s, "# object ", &rest)) {
		struct pm_object o = { 0 };
		char id[140];
		size_t n;

		for (int i = 0; i < 3; i++) {
			if (!number(&rest, v + i))
				return wrong(r, "# object BIAS FROM TO BUILD-ID PATH");
			rest = blanks(rest);
		}
		n = strcspn(rest, " ");
		if (n >= sizeof id || !rest[n])
			return wrong(r, "# object BIAS FROM TO BUILD-ID PATH");
		memcpy(id, rest, n);
		id[n] = 0;
		o = (struct pm_object){ .path = blanks(rest + n),
					.build_id = strcmp(id, "-") ? id : NULL,
					.base = v[0],
					.lo = v[1],
					.hi = v[2] };
		pm_names_put_object(&r->book->names, &o);
		return PM_OK;
	}
	if (*s == '#' || !*s)
		return PM_OK;
	if (!number(&s, v) || (s = blanks(s), !number(&s, v + 1)))
		return wrong(r, "an address and a count");
	put(r, v[0], r->column[0], v[1]);
	return PM_OK;
}

/* 'c' callgrind, 'n' counts, 0 neither. */
static char kind_of(const char *line)
{
	const char *rest = line;
	uint64_t v;

	if (begins(line, callgrind_head, &rest))
		return 'c';
	if (begins(line, "# object 0x", &rest))
		return 'n';
	if (line[0] != '0' || line[1] != 'x' || !number(&rest, &v) || *rest != ' ')
		return 0;
	rest = blanks(rest);
	return number(&rest, &v) && !*rest ? 'n' : 0;
}

bool pm_stored_is(const char *path)
{
	struct stat st;
	char line[512];
	bool is = false;
	FILE *f;

	if (stat(path, &st) || !S_ISREG(st.st_mode) || !(f = fopen(path, "re")))
		return false;
	if (fgets(line, sizeof line, f)) {
		line[strcspn(line, "\r\n")] = 0;
		is = kind_of(line);
	}
	fclose(f);
	return is;
}

static void put_objects(struct stored_reader *r)
{
	for (size_t i = 0; i < r->nobject; i++) {
		uint64_t base = (uint64_t)(i + 1) << PM_LISTING_OBJECT_SHIFT;

		if (*r->object[i] == '/' || *r->object[i] == '[')
			pm_names_put_object(&r->book->names,
					    &(struct pm_object){
						    .path = r->object[i],
						    .build_id = r->id[i],
						    .base = base,
						    .lo = base,
						    .hi = base +
							  (1ull << PM_LISTING_OBJECT_SHIFT) });
	}
}

enum pm_status pm_stored_read(const char *path, struct pm_costs *c, struct pm_code_book *book,
			      struct pm_stored_names *names, struct pm_err *err)
{
	struct stored_reader r = { .c = c, .book = book, .err = err, .lines = true,
		.names = names };
	enum pm_status st = PM_OK;
	char kind = 0;

	err->file = path;
	r.f = fopen(path, "re");
	if (!r.f)
		return pm_fail_errno(err, "cannot open");
	if (names)
		name_index(&r, "???");
	while (st == PM_OK && next(&r)) {
		if (r.n == 1) {
			kind = kind_of(r.line);
			if (kind == 'n')
				r.names = NULL;
			if (!kind)
				st = wrong(&r, "a callgrind file or `pugmark run --counts`");
			if (kind == 'n')
				r.column[0] = pm_costs_column(c, "Ir", "instructions executed",
							      false);
		}
		if (st == PM_OK)
			st = kind == 'c' ? callgrind_line(&r) : counts_line(&r);
		if (st == PM_OK && r.nobject >= UINT16_MAX)
			st = pm_fail_file(err, "more than %d objects", UINT16_MAX);
	}
	if (st == PM_OK && ferror(r.f))
		st = pm_fail_errno(err, "cannot read");
	if (st == PM_OK && !c->n)
		st = pm_fail_file(err, "the profile holds no costs");
	put_objects(&r);
	fclose(r.f);
	free(r.line);
	for (size_t i = 0; i < r.nobject; i++) {
		free(r.object[i]);
		free(r.id[i]);
	}
	free(r.object);
	free(r.id);
	free(r.numbered);
	pm_string_table_release(&r.texts);
	pm_map_release(&r.function_of);
	pm_map_release(&r.file_of);
	return st;
}

void pm_stored_code(const struct pm_costs *c, struct pm_code_book *book)
{
	struct pm_forms *forms[2] = { pm_forms_new(false), pm_forms_new(true) };

	for (size_t i = 0; i < c->n; i++) {
		struct pm_insn in = { .pc = c->pc[i], .object = PM_NONE };
		const uint8_t *p;
		size_t n;
		bool fresh;

		p = pm_names_code(&book->names, in.pc, &n, &in.isa);
		if (!p)
			continue;
		in.len = pm_form_at(forms[in.isa == PM_ISA_X86_32], p, n)->len;
		if (in.len > n || in.len > sizeof in.bytes)
			continue;
		memcpy(in.bytes, p, in.len);
		*pm_map_put(&book->at, in.pc, &fresh) = book->n;
		in.pc = PM_LISTING_ADDRESS(in.pc);
		pm_grow(book->insn, book->n, book->cap);
		book->insn[book->n++] = in;
	}
	pm_forms_free(forms[0]);
	pm_forms_free(forms[1]);
}
