/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "elf/find.h"

enum fit { FIT_NOT, FIT_COLD, FIT };

struct typed {				/* what is searched for */
	const char *text;
	bool pattern;
	char needle[64]; /* is in the mangled form of every name that can fit; "": who knows */
};

/* ---- names ----------------------------------------------------------------------------------- */

static size_t identifier(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_' || s[n] == '$')
		n++;
	return n;
}

/* The length of @name without its version and what the compiler has appended for a copy. */
static size_t stem_length(const char *name, bool *cold)
{
	static const char *const clone[] = { "isra", "part", "constprop", "lto_priv",
					     "cold", "llvm", "localalias" };
	const char *at = strchr(name, '@');
	size_t n = at && strcmp(at, "@plt") ? (size_t)(at - name) : strlen(name), stem = n;

	*cold = false;
	for (size_t i = 1; i < n; i++)
		for (unsigned k = 0; name[i] == '.' && k < NR(clone); k++) {
			size_t len = strlen(clone[k]);

			if (strncmp(name + i + 1, clone[k], len) ||
			    (i + 1 + len < n && name[i + 1 + len] != '.'))
				continue;
			*cold |= !strcmp(clone[k], "cold");
			stem = stem < i ? stem : i;
		}
	return stem;
}

/* The operator's own brackets are none: how much of @s, which begins with "operator", is its name.
 */
static size_t operator_length(const char *s)
{
	size_t n = strlen("operator");

	if (!strncmp(s + n, "()", 2) || !strncmp(s + n, "[]", 2))
		return n + 2;
	while (s[n] && strchr("<>=!+-*/%^&|~,", s[n]))
		n++;
	return n;
}

/* The function's name in @s, a demangled one: where it begins; *@n with template arguments, *@bare
 * without. */
static const char *plain_name(const char *s, size_t *n, size_t *bare)
{
	const char *begin = s, *p = s, *args = NULL;
	unsigned depth = 0;
	bool op = false;

	for (; *p; p++) {
		if (!strncmp(p, "(anonymous namespace)", 21)) {
			p += 20;
			continue;
		}
		if (*p == '(' && !depth)
			break;
		if (!depth && !strncmp(p, "operator", 8) && (p == s || !identifier(p - 1)) &&
		    !isalnum((unsigned char)p[8]) && p[8] != '_') {
			p += operator_length(p) - 1;
			op = true;
			args = NULL;
		} else if (strchr("<{([", *p)) {
			if (!depth++ && *p == '<')
				args = p;
		} else if (strchr(">})]", *p)) {
			depth -= depth > 0;
		} else if (!depth && *p == ' ' && !op) {
			begin = p + 1;		/* what was in front is what it returns */
			args = NULL;
		} else if (!depth) {
			args = NULL;
		}
	}
	*n = (size_t)(p - begin);
	*bare = args && args > begin ? (size_t)(args - begin) : *n;
	return begin;
}

/* Rust's names end in a hash of everything, which nobody types. */
static size_t without_hash(const char *s, size_t n)
{
	const size_t hash = strlen("::h0123456789abcdef");

	if (n <= hash || strncmp(s + n - hash, "::h", 3))
		return n;
	for (size_t i = n - hash + 3; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return n;
	return n - hash;
}

/* Equal but for blanks? */
static bool equal(const char *a, size_t n, const char *b)
{
	const char *end = a + n;

	for (;; a++, b++) {
		while (a < end && *a == ' ')
			a++;
		while (*b == ' ')
			b++;
		if (a == end || !*b)
			return a == end && !*b;
		if (*a != *b)
			return false;
	}
}

static bool fits_text(const struct typed *t, const char *s, size_t n)
{
	char *copy;
	bool fits;

	if (equal(s, n, t->text) || !t->pattern)
		return equal(s, n, t->text);
	copy = pm_strndup(s, n);
	fits = !fnmatch(t->text, copy, FNM_NOESCAPE);
	free(copy);
	return fits;
}

static void prepare(struct typed *t, const char *text)
{
	size_t n, bare, at = 0;
	const char *s = plain_name(text, &n, &bare);

	*t = (struct typed){ .text = text, .pattern = strpbrk(text, "*?[") };
	if (t->pattern || strstr(text, "operator") || strchr(text, '{'))
		return;
	for (size_t i = 0; i < bare; ) {
		size_t len = identifier(s + i);

		at = len ? i : at;
		i += len ? len : 1;
	}
	n = identifier(s + at);
	if (n < sizeof t->needle)
		memcpy(t->needle, s + at, n);
}

static enum fit fit_of(struct pm_elf *e, const char *name, const struct typed *t)
{
	size_t len = strlen(name), n, bare;
	const char *shown, *s;
	enum fit good;
	char *stem;
	bool cold, fits;

	if (fits_text(t, name, len))
		return FIT;
	n = stem_length(name, &cold);
	good = cold ? FIT_COLD : FIT;
	if (n < len && fits_text(t, name, n))
		return good;
	if (strncmp(name, "_Z", 2) || !strstr(name, t->needle))
		return FIT_NOT;
	stem = pm_strndup(name, n);
	shown = pm_elf_demangle(e, stem);
	len = strlen(shown);
	s = plain_name(shown, &n, &bare);
	fits = shown != stem &&
	       (fits_text(t, shown, len) || fits_text(t, shown, without_hash(shown, len)) ||
		fits_text(t, s, n) || fits_text(t, s, bare));
	free(stem);
	return fits ? good : FIT_NOT;
}

bool pm_elf_is_meant(struct pm_elf *e, const char *name, const char *typed)
{
	struct typed t;

	prepare(&t, typed);
	return fit_of(e, name, &t) != FIT_NOT;
}

/* ---- all of a file --------------------------------------------------------------------------- */

struct finding {
	struct pm_elf *e;
	struct typed t;
	enum fit best;
	uint64_t *v;
	size_t n, cap;
};

static void try_function(void *arg, const char *name, uint64_t lo)
{
	struct finding *f = arg;
	const enum fit fit = fit_of(f->e, name, &f->t);

	if (fit == FIT_NOT || fit < f->best)
		return;
	if (fit > f->best)
		f->n = 0;
	f->best = fit;
	pm_grow(f->v, f->n, f->cap);
	f->v[f->n++] = lo;
}

static int by_address(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

size_t pm_elf_find(struct pm_elf *e, const char *typed, uint64_t **v)
{
	struct finding f = { .e = e };
	struct pm_elf_function fn;
	size_t n = 0;
	char *end;

	prepare(&f.t, typed);
	pm_elf_each_function(e, try_function, &f);
	if (!f.n && !strncmp(typed, "fde_0x", 6)) {	/* as reports call what has no symbol */
		uint64_t at = strtoull(typed + 6, &end, 16);

		if (!*end && pm_elf_function_at(e, at, &fn) && fn.kind == PM_NAME_FDE &&
		    fn.lo == at)
			try_function(&f, typed, at);
	}
	if (f.n)
		qsort(f.v, f.n, sizeof *f.v, by_address);
	for (size_t i = 0; i < f.n; i++)
		if (!n || f.v[n - 1] != f.v[i])
			f.v[n++] = f.v[i];
	*v = f.v;
	return n;
}

/* ---- names that are near --------------------------------------------------------------------- */

struct nearing {
	struct pm_elf *e;
	const char *plain;		/* what was typed, without parameters */
	bool parameters;		/* it had them */
	unsigned most;
	struct pm_nearest *to;
};

static void try_near(void *arg, const char *name, uint64_t lo)
{
	const struct nearing *n = arg;
	size_t len, bare;
	const char *shown, *s, *last;
	char *stem, *plain;
	unsigned d;
	bool cold;

	(void)lo;
	stem = pm_strndup(name, stem_length(name, &cold));
	shown = pm_elf_demangle(n->e, stem);
	s = plain_name(shown, &len, &bare);
	plain = pm_strndup(s, without_hash(s, bare));
	/* a class's function by its last name alone */
	last = strrchr(plain, ':');
	d = pm_distance(last ? last + 1 : plain, n->plain, n->most);
	if (last && d)
		d = pm_distance(plain, n->plain, d - 1 < n->most ? d - 1 : n->most);
	if (d <= n->most && !cold)
		pm_nearest_keep(n->to,
				n->parameters && !strcmp(plain, n->plain) ? shown : plain, d);
	free(plain);
	free(stem);
}

void pm_elf_nearest(struct pm_elf *e, const char *typed, struct pm_nearest *n)
{
	struct nearing near = { .e = e, .to = n };
	size_t len, bare;
	const char *s = plain_name(typed, &len, &bare);
	char *plain = pm_strndup(s, bare);

	near.plain = plain;
	near.parameters = strchr(typed, '(');
	near.most = pm_near_most(bare);
	pm_elf_each_function(e, try_near, &near);
	free(plain);
}
