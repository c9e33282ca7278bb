/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <glob.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bound.h"
#include "base/json.h"
#include "base/number.h"
#include "sweep/sweep_plan.h"
#include "trace/format.h"

#define TEXT_MAX	(16u << 20)	/* bytes of a plan */

struct plan_reader {
	struct sweep_plan *p;
	unsigned line;
	struct pm_err *err;
};

__attribute__((format(printf, 2, 3)))
static enum pm_status fail(struct plan_reader *r, const char *fmt, ...)
{
	char msg[240];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	return pm_fail_line(r->err, r->line, "%s", msg);
}

/* What values.c found wrong, at this line. */
static enum pm_status values(struct plan_reader *r, struct pm_values *v, const char *text)
{
	struct pm_err why = { 0 };

	return pm_values_parse(v, &r->p->mem, text, &why) ? fail(r, "%s", why.msg) : PM_OK;
}

static bool is_name(const char *s)
{
	if (!*s || strlen(s) > 100)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_.-+", *s))
			return false;
	return true;
}

/* ---- traces and regions --------------------------------------------------------------------- */

static enum pm_status add_trace(struct plan_reader *r, const char *name, const char *path)
{
	struct sweep_plan *p = r->p;

	pm_grow(p->trace, p->ntrace, p->cap_trace);
	p->trace[p->ntrace++] = (struct sweep_trace){ pm_arena_strdup(&p->mem, name),
						      pm_arena_strdup(&p->mem, path) };
	return PM_OK;
}

static char *below_base(const struct sweep_plan *p, const char *path)
{
	struct pm_buf b = { 0 };

	if (*path == '/')
		pm_buf_printf(&b, "%s", path);
	else
		pm_buf_printf(&b, "%s/%s", p->base, path);
	pm_buf_add(&b, "", 1);
	return (char *)b.p;
}

/* "dir/gzip.champsim.xz": gzip */
static char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *pug = strstr(name, ".pug");
	size_t n = pug && !pug[4] ? (size_t)(pug - name) : strcspn(name, ".");

	return pm_strndup(name, n ? n : strlen(name));
}

static enum pm_status add_matching(struct plan_reader *r, const char *pattern)
{
	char *full = below_base(r->p, pattern);
	enum pm_status s = PM_OK;
	glob_t g;

	if (glob(full, 0, NULL, &g)) {
		s = fail(r, "no file is called like '%s'", pattern);
		free(full);
		return s;
	}
	for (size_t i = 0; i < g.gl_pathc && !s; i++) {
		char *name = name_of(g.gl_pathv[i]);

		s = is_name(name) ? add_trace(r, name, g.gl_pathv[i]) :
			fail(r, "'%s' gives no name for a trace: use trace NAME = PATH",
			     g.gl_pathv[i]);
		free(name);
	}
	globfree(&g);
	free(full);
	return s;
}

static enum pm_status add_region(struct plan_reader *r, const char *name, const char *text)
{
	struct sweep_plan *p = r->p;
	struct sweep_region g = { pm_arena_strdup(&p->mem, name), 0, UINT64_MAX };
	const char *dots = strstr(text, "..");
	char from[32] = "";

	if (strcmp(text, "all")) {
		if (!dots || dots - text >= (long)sizeof from)
			return fail(r, "'%s' is no region: `all`, or FROM..BEFORE in instructions",
				    text);
		memcpy(from, text, (size_t)(dots - text));
		if (!pm_parse_u64(from, &g.from) || !pm_parse_u64(dots + 2, &g.to))
			return fail(r, "'%s': a region is from one number to before another", text);
		if (g.from >= g.to)
			return fail(r, "the region '%s' is empty", text);
	}
	pm_grow(p->region, p->nregion, p->cap_region);
	p->region[p->nregion++] = g;
	return PM_OK;
}

const char *sweep_region_text(const struct sweep_region *g, char buf[static 48])
{
	if (!g->from && g->to == UINT64_MAX)
		strcpy(buf, "all");
	else
		snprintf(buf, 48, "%" PRIu64 "..%" PRIu64, g->from, g->to);
	return buf;
}

/* ---- simulators ----------------------------------------------------------------------------- */

static int add_param(struct plan_reader *r, const char *name, const struct pm_values *v)
{
	struct sweep_plan *p = r->p;

	pm_grow(p->param, p->nparam, p->cap_param);
	p->param[p->nparam] = (struct sweep_param){ pm_arena_strdup(&p->mem, name), *v, r->line,
						    false };
	return (int)p->nparam++;
}

static enum pm_status add_let(struct plan_reader *r, const char *name, const char *text)
{
	struct pm_values v = { 0 };
	enum pm_status s = PM_OK;

	if (r->p->nsim)
		return fail(r, "`let` comes before the simulators that use it");
	for (size_t i = 0; i < r->p->nparam && !s; i++)
		if (!strcmp(r->p->param[i].name, name))
			s = fail(r, "'%s' is there already", name);
	if (!s)
		s = values(r, &v, text);
	if (s) {
		pm_values_release(&v);
		return s;
	}
	add_param(r, name, &v);
	r->p->nlet = r->p->nparam;
	return PM_OK;
}

/* What is called so far in @s, for the names of parameters. */
struct param_place {
	char item[40], key[40];		/* "l2", "prefetch" */
	unsigned field;			/* of the item, from 0 */
};

/* The name of a parameter at @at: after its place, and different from the others of its
 * simulator. */
static void name_param(const struct sweep_plan *p, const struct sweep_sim *s,
		       const struct param_place *at, const struct pm_values *v,
		       char name[static 120])
{
	const char *item = *at->item ? at->item : s->name;
	char unit[16], base[100];
	unsigned same = 1;

	pm_values_unit(v, unit);
	if (*at->key)
		snprintf(base, sizeof base, "%s.%s", item, at->key);
	else if (*unit)
		snprintf(base, sizeof base, "%s.%s", item, unit);
	else if (at->field)
		snprintf(base, sizeof base, "%s.%u", item, at->field + 1);
	else
		snprintf(base, sizeof base, "%s", item);
	strcpy(name, base);
	for (bool again = true; again; ) {
		again = false;
		for (size_t i = 0; i < s->nparam; i++)
			if (!strcmp(p->param[s->param[i]].name, name)) {
				snprintf(name, 120, "%s#%u", base, ++same);
				again = true;
			}
	}
}

static void use_param(struct sweep_plan *p, struct sweep_sim *s, const char *text, size_t n,
		      int param)
{
	char *copy = pm_strndup(text, n);
	size_t i = 0;

	pm_grow(s->piece, s->npiece, s->cap_piece);
	s->piece[s->npiece++] = (struct sweep_piece){ pm_arena_strdup(&p->mem, copy), param };
	free(copy);
	while (param >= 0 && i < s->nparam && s->param[i] != param)
		i++;
	if (param < 0 || i < s->nparam)
		return;
	pm_grow(s->param, s->nparam, s->cap_param);
	s->param[s->nparam++] = param;
}

/* $name at @*at, behind which it moves; -1 after fail(). */
static int use_let(struct plan_reader *r, const char **at)
{
	const bool braces = (*at)[1] == '{';
	const char *from = *at + 1 + braces, *end = from;

	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	for (size_t i = 0; i < r->p->nlet; i++) {
		const char *name = r->p->param[i].name;

		if (strlen(name) == (size_t)(end - from) && !memcmp(name, from, strlen(name)) &&
		    (!braces || *end == '}')) {
			*at = end + braces;
			r->p->param[i].used = true;
			return (int)i;
		}
	}
	fail(r, "no `let` defines '$%.*s'", (int)(end - from), from);
	return -1;
}

/* Between separators, braces count as one: where the word at @s ends. */
static const char *word_end(const char *s)
{
	unsigned depth = 0;

	for (; *s; s++) {
		if (*s == '{')
			depth++;
		else if (*s == '}' && depth)
			depth--;
		else if (!depth && strchr(":;,=", *s))
			break;
	}
	return s;
}

/* One word of a configuration: text, $name, a list, or {lists} inside of text. */
static enum pm_status add_word(struct plan_reader *r, struct sweep_sim *s, const char *w, size_t n,
			       const struct param_place *at)
{
	char *word = pm_strndup(w, n), name[120];
	const char *p = word, *text = word;
	struct pm_values v = { 0 };
	enum pm_status st = PM_OK;

	if (!strpbrk(word, "{}$") && pm_is_list(word)) {
		st = values(r, &v, word);
		if (!st) {
			name_param(r->p, s, at, &v, name);
			use_param(r->p, s, "", 0, add_param(r, name, &v));
		} else {
			pm_values_release(&v);
		}
		free(word);
		return st;
	}
	while (*p && !st) {
		const char *from = p, *end;
		int param;

		if (*p == '$') {
			param = use_let(r, &p);
			if (param < 0)
				st = PM_ERR;
			else
				use_param(r->p, s, text, (size_t)(from - text), param);
			text = p;
		} else if (*p == '{') {
			char *inside;

			end = strchr(p, '}');
			if (!end || memchr(p + 1, '{', (size_t)(end - p - 1))) {
				st = fail(r, "braces do not match in '%s'", word);
				break;
			}
			inside = pm_strndup(p + 1, (size_t)(end - p - 1));
			v = (struct pm_values){ 0 };
			st = values(r, &v, inside);
			free(inside);
			if (st) {
				pm_values_release(&v);
				break;
			}
			name_param(r->p, s, at, &v, name);
			use_param(r->p, s, text, (size_t)(from - text),
				  add_param(r, name, &v));
			p = text = end + 1;
		} else {
			p++;
		}
	}
	if (!st && p > text)
		use_param(r->p, s, text, (size_t)(p - text), -1);
	free(word);
	return st;
}

static void set_word(char to[static 40], const char *w, size_t n)
{
	snprintf(to, 40, "%.*s", (int)n, w);
}

static enum pm_status parse_sim(struct plan_reader *r, struct sweep_sim *s)
{
	struct param_place at = { .item = "" };
	const char *p = s->text;
	bool in_item = false;

	while (*p) {
		const char *end = word_end(p);
		size_t n = (size_t)(end - p);

		if (*end == '=' && !in_item)
			set_word(at.item, p, n);
		else if (*end == '=')
			set_word(at.key, p, n);
		if (add_word(r, s, p, n, &at))
			return PM_ERR;
		if (*end)
			use_param(r->p, s, end, 1, -1);
		switch (*end) {
		case '=':
			in_item = true;
			break;
		case ',':
			at.field++;
			at.key[0] = 0;
			break;
		case ':': case ';':
			at = (struct param_place){ .item = "" };
			in_item = false;
			break;
		}
		p = end + (*end != 0);
	}
	return PM_OK;
}

static enum pm_status add_sim(struct plan_reader *r, const char *name, const char *text)
{
	struct sweep_plan *p = r->p;
	struct sweep_sim *s;

	for (size_t i = 0; i < p->nsim; i++)
		if (!strcmp(p->sim[i].name, name))
			return fail(r, "a simulator is called '%s' already, in line %u", name,
				    p->sim[i].line);
	pm_grow(p->sim, p->nsim, p->cap_sim);
	s = p->sim + p->nsim++;
	*s = (struct sweep_sim){ .name = pm_arena_strdup(&p->mem, name), .line = r->line,
				 .text = pm_arena_strdup(&p->mem, text), .n = 1 };
	if (parse_sim(r, s))
		return PM_ERR;
	for (size_t i = 0; i < s->nparam; i++) {
		s->n *= p->param[s->param[i]].values.n;
		if (s->n > SWEEP_JOBS)
			return fail(r, "more than %llu configurations", SWEEP_JOBS);
	}
	s->first = p->nconfig;
	p->nconfig += s->n;
	return PM_OK;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static enum pm_status statement(struct plan_reader *r, const char *key, const char *name,
				char *value)
{
	static const struct {
		const char *key;
		enum pm_status (*add)(struct plan_reader *r, const char *name, const char *value);
	} named[] = {
		{ "region", add_region }, { "let", add_let }, { "sim", add_sim },
	};
	enum pm_status s = PM_OK;

	for (size_t i = 0; i < NR(named); i++)
		if (!strcmp(key, named[i].key)) {
			if (!is_name(name))
				return fail(r, "expected %s NAME = ..., and a name of letters, "
					    "digits, _ . + -", key);
			return named[i].add(r, name, value);
		}
	if (!strcmp(key, "trace")) {
		char *path = below_base(r->p, value);

		s = is_name(name) ? add_trace(r, name, path) :
			fail(r, "expected trace NAME = PATH");
		free(path);
		return s;
	}
	if (*name)
		return fail(r, "'%s' is not a statement; allowed: trace, traces, format, base, "
			    "region, let, sim", key);
	if (!strcmp(key, "traces")) {
		for (char *at = value, *one; !s && (one = strsep(&at, " \t")); )
			if (*one)
				s = add_matching(r, one);
	} else if (!strcmp(key, "base")) {
		char *path = below_base(r->p, value);

		r->p->base = pm_arena_strdup(&r->p->mem, path);
		free(path);
	} else if (!strcmp(key, "format")) {
		struct pm_err why = { 0 };

		if (!pm_format_find(value, &why))
			return fail(r, "%s", why.msg);
		r->p->format = pm_arena_strdup(&r->p->mem, value);
	} else {
		s = fail(r, "'%s' is not a statement; allowed: trace, traces, format, base, "
			 "region, let, sim", key);
	}
	return s;
}

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = 0;
	return s;
}

static enum pm_status whole_line(struct plan_reader *r, char *line)
{
	char *eq = strchr(line, '='), *key, *name;

	if (!*trim(line))
		return PM_OK;
	if (!eq)
		return fail(r, "expected KEY = VALUE");
	*eq = 0;
	key = trim(line);
	name = key + strcspn(key, " \t");
	if (*name)
		*name++ = 0;
	if (!*trim(eq + 1))
		return fail(r, "'%s' has no value", key);
	return statement(r, key, trim(name), trim(eq + 1));
}

static void cut_comment(char *line)
{
	for (char *p = line; (p = strchr(p, '#')); p++)
		if (p == line || isspace((unsigned char)p[-1])) {
			*p = 0;
			return;
		}
}

static enum pm_status read_lines(struct plan_reader *r, char *text)
{
	struct pm_buf whole = { 0 };
	enum pm_status s = PM_OK;
	unsigned number = 0;

	for (char *at = text, *line; !s && (line = strsep(&at, "\n")); ) {
		number++;
		cut_comment(line);
		if (!isspace((unsigned char)*line) && *line) {
			pm_buf_add(&whole, "", 1);
			s = whole_line(r, (char *)whole.p);
			whole.n = 0;
			r->line = number;
		}
		pm_buf_printf(&whole, "%s ", line);
	}
	pm_buf_add(&whole, "", 1);
	if (!s)
		s = whole_line(r, (char *)whole.p);
	pm_buf_release(&whole);
	return s;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sweep_trace *)a)->name, ((const struct sweep_trace *)b)->name);
}

static enum pm_status complete(struct sweep_plan *p, struct pm_err *err)
{
	struct sweep_trace *sorted = pm_alloc((p->ntrace + 1) * sizeof *sorted);
	enum pm_status s = PM_OK;
	uint64_t n;

	if (p->ntrace)
		memcpy(sorted, p->trace, p->ntrace * sizeof *sorted);
	qsort(sorted, p->ntrace, sizeof *sorted, by_name);
	for (size_t i = 1; i < p->ntrace && !s; i++)
		if (!strcmp(sorted[i - 1].name, sorted[i].name))
			s = pm_fail_file(err, "'%s' and '%s' are both called '%s': use trace NAME "
					 "= PATH", sorted[i - 1].path, sorted[i].path,
					 sorted[i].name);
	free(sorted);
	if (s)
		return s;
	if (!p->ntrace)
		return pm_fail_file(err, "the plan has no trace: trace NAME = PATH");
	if (!p->nsim)
		return pm_fail_file(err, "the plan has no simulator: sim NAME = cache:...");
	if (!p->nregion) {
		pm_grow(p->region, p->nregion, p->cap_region);
		p->region[p->nregion++] = (struct sweep_region){ "all", 0, UINT64_MAX };
	}
	if (__builtin_mul_overflow(p->nconfig, (uint64_t)p->ntrace * p->nregion, &n) ||
	    n > SWEEP_JOBS)
		return pm_fail_file(err, "%zu traces, %zu regions and %" PRIu64 " configurations "
				    "are more than the %llu jobs that a plan may have", p->ntrace,
				    p->nregion, p->nconfig, SWEEP_JOBS);
	p->njob = n;
	return PM_OK;
}

enum pm_status sweep_plan_read(struct sweep_plan *p, const char *path, struct pm_err *err)
{
	struct plan_reader r = { .p = p, .err = err };
	const char *slash = strrchr(path, '/');
	char *dir = slash == path ? pm_strdup("/") : slash ?
		pm_strndup(path, (size_t)(slash - path)) : pm_strdup("."), *full;
	struct pm_buf text = { 0 };
	struct stat st;
	enum pm_status s = PM_OK;

	*p = (struct sweep_plan){ 0 };
	if (!err->file)
		err->file = path;
	full = realpath(dir, NULL);
	p->base = pm_arena_strdup(&p->mem, full ? full : dir);
	free(full);
	free(dir);
	if (!stat(path, &st) && st.st_size > (off_t)TEXT_MAX)
		s = pm_fail_file(err, "more than %u bytes: no plan", TEXT_MAX);
	if (!s)
		s = pm_json_load(path, &text, err);
	if (!s && strlen((const char *)text.p) + 1 < text.n)
		s = pm_fail(err, strlen((const char *)text.p), "a zero byte: no plan");
	if (!s)
		s = read_lines(&r, (char *)text.p);
	if (!s)
		s = complete(p, err);
	pm_buf_release(&text);
	return s;
}

void sweep_plan_text(const struct sweep_plan *p, struct pm_buf *to)
{
	char range[48];

	pm_buf_printf(to, "base = %s\n", p->base);
	if (p->format)
		pm_buf_printf(to, "format = %s\n", p->format);
	for (size_t i = 0; i < p->ntrace; i++)
		pm_buf_printf(to, "trace %s = %s\n", p->trace[i].name, p->trace[i].path);
	for (size_t i = 0; i < p->nregion; i++)
		pm_buf_printf(to, "region %s = %s\n", p->region[i].name,
			      sweep_region_text(p->region + i, range));
	for (size_t i = 0; i < p->nlet; i++) {
		pm_buf_printf(to, "let %s = ", p->param[i].name);
		for (size_t k = 0; k < p->param[i].values.n; k++)
			pm_buf_printf(to, "%s%s", k ? "|" : "", p->param[i].values.v[k]);
		pm_buf_printf(to, "\n");
	}
	for (size_t i = 0; i < p->nsim; i++)
		pm_buf_printf(to, "sim %s = %s\n", p->sim[i].name, p->sim[i].text);
}

void sweep_plan_release(struct sweep_plan *p)
{
	for (size_t i = 0; i < p->nparam; i++)
		pm_values_release(&p->param[i].values);
	for (size_t i = 0; i < p->nsim; i++) {
		free(p->sim[i].piece);
		free(p->sim[i].param);
	}
	free(p->trace);
	free(p->region);
	free(p->param);
	free(p->sim);
	pm_arena_release(&p->mem);
	*p = (struct sweep_plan){ 0 };
}

/* ---- jobs ----------------------------------------------------------------------------------- */

struct sweep_job sweep_plan_job(const struct sweep_plan *p, uint64_t number)
{
	uint64_t part = number / p->nconfig;

	return (struct sweep_job){ part / p->nregion, part % p->nregion, number % p->nconfig };
}

uint64_t sweep_plan_number(const struct sweep_plan *p, const struct sweep_job *j)
{
	return (j->trace * p->nregion + j->region) * p->nconfig + j->config;
}

const struct sweep_sim *sweep_plan_sim(const struct sweep_plan *p, uint64_t config)
{
	return p->sim + pm_upper_bound(p->sim, p->nsim, .first, config) - 1;
}

size_t sweep_plan_value(const struct sweep_plan *p, const struct sweep_sim *s, size_t i,
			uint64_t config)
{
	uint64_t left = config - s->first;

	for (size_t k = s->nparam; k-- > i + 1; )
		left /= p->param[s->param[k]].values.n;
	return left % p->param[s->param[i]].values.n;
}

void sweep_plan_spec(const struct sweep_plan *p, uint64_t config, struct pm_buf *to)
{
	const struct sweep_sim *s = sweep_plan_sim(p, config);

	to->n = 0;
	for (size_t i = 0; i < s->npiece; i++) {
		const struct sweep_piece *w = s->piece + i;

		pm_buf_add(to, w->text, strlen(w->text));
		for (size_t k = 0; w->param >= 0 && k < s->nparam; k++)
			if (s->param[k] == w->param) {
				const char *v = p->param[w->param].values.v[
					sweep_plan_value(p, s, k, config)];

				pm_buf_add(to, v, strlen(v));
			}
	}
	pm_buf_add(to, "", 1);
}
