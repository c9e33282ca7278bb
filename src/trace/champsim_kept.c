/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/guard.h"
#include "base/kept.h"
#include "base/mem.h"
#include "base/mix.h"
#include "base/whole_file.h"
#include "trace/champsim_kept.h"

/* All kept modules together. One takes some 100 KiB. */
#define LIMIT		(64ull << 20)
#define MOST		(64u << 20)	/* bytes of a file that a module is made of */

static const struct pm_kept_kind kind = { "pugmkCM\n", 1 };

/* in front of the paths, each with a zero byte behind it, and the object */
struct kept_module {
	uint64_t read;			/* sum of what the compiler read, see sum_of() */
	uint64_t object;		/* ... of the object */
	uint32_t npaths;		/* bytes of paths */
	uint32_t pad;
};

/* ---- files ----------------------------------------------------------------------------------- */

/* Before @when? What has changed at the same tick of the clock may have changed later. */
static bool is_before(const struct timespec *t, const struct timespec *when)
{
	return t->tv_sec < when->tv_sec ||
	       (t->tv_sec == when->tv_sec && t->tv_nsec < when->tv_nsec);
}

/* All of @path, into @to. With @when, false also if it may have changed since then. */
static bool read_file(struct pm_buf *to, const char *path, const struct timespec *when)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	struct pm_err none = { 0 };
	bool good = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= MOST &&
		    (!when || is_before(&st.st_ctim, when));

	to->n = 0;
	good = good && pm_fd_read(fd, to, &none) == PM_OK && to->n == (size_t)st.st_size;
	if (fd >= 0)
		close(fd);
	return good;
}

static bool write_file(const char *path, const uint8_t *p, size_t n)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	const bool good = fd >= 0 && pm_fd_write(fd, p, n);

	return (fd < 0 || !close(fd)) && good;
}

/* ---- the key --------------------------------------------------------------------------------- */

static void add(struct champsim_kept *k, const void *p, size_t n)
{
	const uint64_t size = n;	/* so that nothing runs into what follows */

	pm_sha256_add(&k->key, &size, sizeof size);
	if (n)
		pm_sha256_add(&k->key, p, n);
}

void champsim_kept_text(struct champsim_kept *k, const char *text)
{
	add(k, text, strlen(text));
}

void champsim_kept_file(struct champsim_kept *k, const char *path)
{
	struct pm_buf text = { 0 };

	champsim_kept_text(k, path);
	if (read_file(&text, path, NULL))
		add(k, text.p, text.n);
	pm_buf_release(&text);
}

void champsim_kept_open(struct champsim_kept *k)
{
	struct pm_err none = { 0 };
	const int fd = pm_cache_open(NULL, &none);

	*k = (struct champsim_kept){ .open = fd >= 0 };
	pm_sha256_begin(&k->key);
	/* the clock of files' times */
	if (clock_gettime(CLOCK_REALTIME_COARSE, &k->begun))
		k->begun = (struct timespec){ 0 };
	if (fd < 0)
		return;
	pm_keep_in(fd);
	close(fd);
	pm_guard();
}

/* The file @name as it is now; its contents would say no more. */
static bool add_identity(struct champsim_kept *k, const char *name)
{
	struct stat st;

	if (stat(name, &st) || !S_ISREG(st.st_mode))
		return false;
	champsim_kept_text(k, name);
	add(k, &st.st_dev, sizeof st.st_dev);
	add(k, &st.st_ino, sizeof st.st_ino);
	add(k, &st.st_size, sizeof st.st_size);
	add(k, &st.st_mtim, sizeof st.st_mtim);
	add(k, &st.st_ctim, sizeof st.st_ctim);
	return true;
}

/* A word of a command: a program, looked up in PATH, or another file. */
static void add_word(struct champsim_kept *k, const char *word)
{
	const char *path = getenv("PATH"), *end;
	char name[PATH_MAX];

	if (*word == '@')			/* a file with more words */
		champsim_kept_file(k, word + 1);
	if (strchr(word, '/') || !path) {
		add_identity(k, word);
		return;
	}
	for (; *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (snprintf(name, sizeof name, "%.*s/%s", (int)(end - path), path, word) <
		    (int)sizeof name && !access(name, X_OK) && add_identity(k, name))
			return;
	}
}

void champsim_kept_compiler(struct champsim_kept *k, const char *cxx)
{
	static const char *const from[] = {
		"PATH", "CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH",
		"COMPILER_PATH", "GCC_EXEC_PREFIX", "GCC_SPECS", "CCC_OVERRIDE_OPTIONS",
		"SOURCE_DATE_EPOCH",
	};
	char *words = pm_strdup(cxx), *rest = words, *word, here[PATH_MAX];
	bool options = false;

	champsim_kept_text(k, cxx);
	while ((word = strtok_r(rest, " \t\n", &rest))) {
		add_word(k, word);
		options |= *word == '-';
	}
	free(words);
	for (size_t i = 0; i < NR(from); i++) {
		const char *v = getenv(from[i]);

		champsim_kept_text(k, v ? v : "");
		options |= i && v;
	}
	if (options && getcwd(here, sizeof here))	/* they may name folders by it */
		champsim_kept_text(k, here);
}

/* ---- what the compiler has read -------------------------------------------------------------- */

/* Names of headers in the folder of @path, in any order, into *@sum. */
static bool add_names(const char *path, const struct timespec *when, uint64_t *sum)
{
	static const char *const ends[] = { ".h", ".inc", ".inl", ".ipp", ".tcc", ".tpp", ".def" };
	const char *slash = strrchr(path, '/');
	char *name = pm_strndup(path, (size_t)(slash - path) + 1);
	DIR *dir = opendir(name);
	struct dirent *e;
	struct stat st;
	bool good = dir && !fstat(dirfd(dir), &st) && (!when || is_before(&st.st_ctim, when));

	free(name);
	while (good && (e = readdir(dir))) {
		const char *dot = strrchr(e->d_name, '.');

		for (size_t i = 0; dot && i < NR(ends); i++)
			if (!strncmp(dot, ends[i], strlen(ends[i]))) {
				*sum += pm_mix(e->d_name, strlen(e->d_name), 1);
				break;
			}
	}
	if (dir)
		closedir(dir);
	return good;
}

static bool same_folder(const char *a, const char *b)
{
	const size_t n = (size_t)(strrchr(a, '/') - a) + 1;

	return (size_t)(strrchr(b, '/') - b) + 1 == n && !memcmp(a, b, n);
}

/* Of all files in @paths, @n bytes, each with a zero byte behind it; false: one cannot be read, or
 * is not absolute, or may have changed since @when. */
static bool sum_of(const char *paths, size_t n, const struct timespec *when, uint64_t *sum)
{
	const char *end = paths + n, *before = NULL;
	struct pm_buf text = { 0 };
	bool good = n && !end[-1];

	*sum = 0;
	for (const char *p = paths; good && p < end; before = p, p += strlen(p) + 1) {
		uint64_t of[2];

		good = *p == '/' && read_file(&text, p, when);
		if (!good)
			break;
		of[0] = text.n;
		of[1] = pm_mix(text.p, text.n, 0);
		*sum = pm_mix(of, sizeof of, *sum);
		/* paths are sorted: a folder's files stand together, almost always */
		if (!before || !same_folder(before, p)) {
			uint64_t names = 0;

			good = add_names(p, when, &names);
			*sum = pm_mix(&names, sizeof names, *sum);
		}
	}
	pm_buf_release(&text);
	return good;
}

struct paths { char **v; size_t n, cap; };

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The next word of a rule at *@p, unquoted; false: that was the last. */
static bool next_word(const char **p, struct pm_buf *word)
{
	const char *s = *p;

	word->n = 0;
	while (*s == ' ' || *s == '\t' || *s == '\n' || (s[0] == '\\' && s[1] == '\n'))
		s++;
	for (; *s && *s != ' ' && *s != '\t' && *s != '\n'; s++) {
		if (s[0] == '\\' && s[1] == '\n')
			break;
		if ((s[0] == '\\' && (s[1] == ' ' || s[1] == '#')) || (s[0] == '$' && s[1] == '$'))
			s++;
		pm_buf_add(word, s, 1);
	}
	*p = s;
	pm_buf_add(word, "", 1);
	return word->n > 1;
}

/* To @to what the rule in file @rule needs, but for what lies in @dir. */
static bool read_rule(struct paths *to, const char *rule, const char *dir)
{
	struct pm_buf text = { 0 }, word = { 0 };
	char here[PATH_MAX];
	bool good = read_file(&text, rule, NULL) && getcwd(here, sizeof here);
	const char *p;

	pm_buf_add(&text, "", 1);
	p = strstr((const char *)text.p, ": ");
	good = good && p;
	for (p += good; good && next_word(&p, &word);) {
		const char *name = (const char *)word.p;
		struct pm_buf path = { 0 };

		if (!strncmp(name, dir, strlen(dir)) && name[strlen(dir)] == '/')
			continue;
		/* not realpath(): a link may lead elsewhere next time */
		if (*name != '/')
			pm_buf_printf(&path, "%s/", here);
		pm_buf_add(&path, name, word.n);
		pm_grow(to->v, to->n, to->cap);
		to->v[to->n++] = (char *)path.p;
	}
	pm_buf_release(&text);
	pm_buf_release(&word);
	return good;
}

/* ---- loading and saving ---------------------------------------------------------------------- */

static bool load(const struct pm_kept *from, const char *so)
{
	const struct kept_module *h = from->p;
	const char *paths = (const char *)(h + 1);
	const uint8_t *object;
	uint64_t sum;
	size_t n;

	if (from->n < sizeof *h || from->n - sizeof *h < h->npaths)
		return false;
	object = (const uint8_t *)paths + h->npaths;
	n = from->n - sizeof *h - h->npaths;
	return pm_mix(object, n, 0) == h->object && sum_of(paths, h->npaths, NULL, &sum) &&
	       sum == h->read && write_file(so, object, n) && !pm_guard_cut();
}

bool champsim_kept_load(struct champsim_kept *k, const char *so)
{
	uint8_t sum[PM_SHA256];
	struct pm_kept from;
	bool good;
	int n;

	if (!k->open)
		return false;
	pm_sha256_end(&k->key, sum);
	n = sprintf(k->name, "pugmark-module-");
	pm_sha256_hex(sum, sizeof sum, k->name + n);
	if (!pm_kept_load(&from, k->name, &kind, 0))
		return false;
	good = load(&from, so);
	pm_kept_release(&from);
	return good;
}

void champsim_kept_remove(struct champsim_kept *k)
{
	if (k->open)
		pm_kept_remove(k->name);
}

static void save(const struct champsim_kept *k, const struct paths *p, const struct pm_buf *object)
{
	struct kept_module h = { .object = pm_mix(object->p, object->n, 0) };
	struct pm_buf all = { 0 }, paths = { 0 };

	for (size_t i = 0; i < p->n; i++)
		if (!i || strcmp(p->v[i - 1], p->v[i]))
			pm_buf_add(&paths, p->v[i], strlen(p->v[i]) + 1);
	h.npaths = (uint32_t)paths.n;
	if (sum_of((const char *)paths.p, paths.n, &k->begun, &h.read)) {
		pm_buf_add(&all, &h, sizeof h);
		pm_buf_add(&all, paths.p, paths.n);
		pm_buf_add(&all, object->p, object->n);
		pm_kept_save(k->name, &kind, all.p, all.n);
		pm_cache_limit(pm_kept_dir(), "module-", LIMIT);
	}
	pm_buf_release(&all);
	pm_buf_release(&paths);
}

void champsim_kept_save(struct champsim_kept *k, const char *so, const char *dir,
			char *const *rules, size_t n)
{
	struct pm_buf object = { 0 };
	struct paths p = { 0 };
	bool good = k->open && read_file(&object, so, NULL);

	for (size_t i = 0; good && i < n; i++)
		good = read_rule(&p, rules[i], dir);
	if (good && p.n) {
		qsort(p.v, p.n, sizeof *p.v, by_text);
		save(k, &p, &object);
	}
	for (size_t i = 0; i < p.n; i++)
		free(p.v[i]);
	free(p.v);
	pm_buf_release(&object);
}

void champsim_kept_close(struct champsim_kept *k)
{
	if (k->open)
		pm_keep_in(-1);
	k->open = false;
}
