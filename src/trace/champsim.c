/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"
#include "trace/champsim.h"
#include "trace/champsim_kept.h"

/* ---- what modules are compiled against ------------------------------------------------------- */

#define CARRY(symbol, file)				\
	__asm__(".section .rodata\n"			\
		#symbol ":\n"				\
		".incbin \"" file "\"\n"		\
		".byte 0\n"				\
		".previous\n");				\
	extern const char symbol[] __attribute__((visibility("hidden")))

CARRY(champsim_abi_h, "src/trace/champsim_abi.h");
CARRY(champsim_address_hh, "plugins/champsim/address.hh");
CARRY(champsim_tables_hh, "plugins/champsim/tables.hh");
CARRY(champsim_simulator_hh, "plugins/champsim/simulator.hh");
CARRY(champsim_glue_hh, "plugins/champsim/glue.hh");

static const struct { const char *name, *text; } carried[] = {
	{ "champsim_abi.h", champsim_abi_h },
	{ "address.hh", champsim_address_hh },
	{ "tables.hh", champsim_tables_hh },
	{ "simulator.hh", champsim_simulator_hh },
	{ "glue.hh", champsim_glue_hh },
};

/* Names under which ChampSim has parts of the same. */
static const char *const names[] = {
	"access_type.h", "address.h", "block.h", "cache.h", "champsim.h", "chrono.h", "extent.h",
	"instruction.h", "modules.h", "ooo_cpu.h", "operable.h",
	"msl/bits.h", "msl/fwcounter.h", "msl/lru_table.h",
	"util/bit_enum.h", "util/bits.h", "util/lru_table.h", "util/to_underlying.h",
	"util/units.h",
	"fmt/core.h", "fmt/format.h", "fmt/ostream.h", "fmt/ranges.h",
};

static enum pm_status write_file(const char *dir, const char *name, const char *text,
				 struct pm_err *err)
{
	struct pm_buf path = { 0 };
	enum pm_status st = PM_OK;
	FILE *f;

	pm_buf_printf(&path, "%s/%s", dir, name);
	pm_buf_add(&path, "", 1);
	f = fopen((const char *)path.p, "we");
	if (!f || fputs(text, f) < 0 || fflush(f))
		st = pm_fail_errno(err, "cannot write '%s'", (const char *)path.p);
	if (f)
		fclose(f);
	pm_buf_release(&path);
	return st;
}

static enum pm_status write_interface(const char *dir, struct pm_err *err)
{
	static const char *const below[] = { "msl", "util", "fmt" };
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < NR(below) && !st; i++) {
		struct pm_buf path = { 0 };

		pm_buf_printf(&path, "%s/%s", dir, below[i]);
		pm_buf_add(&path, "", 1);
		if (mkdir((const char *)path.p, 0700))
			st = pm_fail_errno(err, "cannot make '%s'", (const char *)path.p);
		pm_buf_release(&path);
	}
	for (size_t i = 0; i < NR(carried) && !st; i++)
		st = write_file(dir, carried[i].name, carried[i].text, err);
	for (size_t i = 0; i < NR(names) && !st; i++)
		st = write_file(dir, names[i], "#include \"simulator.hh\"\n", err);
	return st;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* Where a module is: the folder, and the name of file and struct. */
struct module_place {
	char *dir, *stem;
	bool header;			/* there is a STEM.h */
};

static bool is_there(const struct module_place *p, const char *name, const char *end)
{
	struct pm_buf path = { 0 };
	bool there;

	pm_buf_printf(&path, "%s/%s%s", p->dir, name, end);
	pm_buf_add(&path, "", 1);
	there = !access((const char *)path.p, R_OK);
	pm_buf_release(&path);
	return there;
}

static enum pm_status find_place(struct module_place *p, const char *path, struct pm_err *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t n = strlen(name);
	char *dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : NULL;
	bool good = n > 3 && !strcmp(name + n - 3, ".cc") && !isdigit((unsigned char)name[0]);

	p->dir = realpath(slash ? dir : ".", NULL);
	free(dir);
	for (size_t i = 0; good && i < n - 3; i++)
		good = isalnum((unsigned char)name[i]) || name[i] == '_';
	if (!good)
		return pm_fail_file(err, "'%.200s' is no ChampSim module: expected X.cc, with a "
				       "struct X in it", path);
	p->stem = strndup(name, n - 3);
	if (!p->dir || !is_there(p, p->stem, ".cc"))
		return pm_fail_errno(err, "cannot read the ChampSim module '%.200s'", path);
	if (is_there(p, "__legacy__", ""))
		return pm_fail_file(err, "'%.200s' is a ChampSim module of the old kind "
				       "(__legacy__); those that derive from champsim::modules can "
				       "be used", path);
	p->header = is_there(p, p->stem, ".h");
	return PM_OK;
}

/* Words of a command that is run, as strings of its own. */
struct words { char **v; size_t n, cap; };

static void add_word(struct words *w, const char *a, const char *b, const char *c)
{
	struct pm_buf word = { 0 };

	pm_buf_printf(&word, "%s%s%s", a, b, c);
	pm_buf_add(&word, "", 1);
	pm_grow(w->v, w->n, w->cap);
	w->v[w->n++] = (char *)word.p;
}

static void free_words(struct words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	free(w->v);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum pm_status find_sources(struct words *w, const struct module_place *p,
				   struct pm_err *err)
{
	struct dirent *e;
	DIR *d = opendir(p->dir);

	if (!d)
		return pm_fail_errno(err, "cannot read '%s'", p->dir);
	while ((e = readdir(d))) {
		const size_t n = strlen(e->d_name);

		if (n > 3 && !strcmp(e->d_name + n - 3, ".cc"))
			add_word(w, p->dir, "/", e->d_name);
	}
	closedir(d);
	qsort(w->v, w->n, sizeof *w->v, by_text);
	return PM_OK;
}

/* Is @path the module's own X.cc? */
static bool is_own(const struct module_place *p, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	const size_t n = strlen(p->stem);

	return !strncmp(name, p->stem, n) && !strcmp(name + n, ".cc");
}

/* The exit status of @argv, whose output goes to the file @log; -1: it cannot be run. */
static int run(char *const *argv, const char *log, struct pm_err *err)
{
	posix_spawn_file_actions_t a;
	int e, status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&a);
	posix_spawn_file_actions_addopen(&a, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawn_file_actions_adddup2(&a, 1, 2);
	e = posix_spawn(&pid, argv[0], &a, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&a);
	if (e) {
		errno = e;
		pm_fail_errno(err, "cannot run '%s'", argv[0]);
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The first error that the compiler's output in @log has, else its first line. */
static void first_error(const char *log, const char *name, struct pm_err *err)
{
	char *line = NULL, *first = NULL, *found = NULL;
	FILE *f = fopen(log, "re");
	size_t cap = 0;

	while (f && !found && getline(&line, &cap, f) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (strstr(line, "error:") || strstr(line, "undefined reference"))
			found = pm_strdup(line);
		if (!first)
			first = pm_strdup(line);
	}
	if (f)
		fclose(f);
	pm_fail_file(err, "the ChampSim module '%s.cc' does not compile: %s", name,
			found   ? found
			: first ? first
				: "the compiler says nothing");
	free(line);
	free(first);
	free(found);
}

/* What is generated: the module as one text with all of its sources, or with its header alone
 * (without one, its own source), to be linked with the other sources. */
static enum pm_status write_module(const struct module_place *p, const char *dir,
				   const struct words *sources, bool whole, struct pm_err *err)
{
	struct pm_buf text = { 0 };
	enum pm_status st;

	pm_buf_printf(&text, "#include \"glue.hh\"\n");
	if (p->header)
		pm_buf_printf(&text, "#include \"%s.h\"\n", p->stem);
	for (size_t i = 0; i < sources->n; i++)
		if (whole || (!p->header && is_own(p, sources->v[i])))
			pm_buf_printf(&text, "#include \"%s\"\n", sources->v[i]);
	pm_buf_printf(&text, "PUGMARK_MODULE(%s)\n", p->stem);
	pm_buf_add(&text, "", 1);
	st = write_file(dir, "module.cc", (const char *)text.p, err);
	pm_buf_release(&text);
	return st;
}

static const char *const options[] = {
	"-std=c++17", "-O2", "-fPIC", "-w", "-fvisibility=hidden", "-fno-lifetime-dse",
	"-DCHAMPSIM_MODULE",
};

static const char *compiler(void)
{
	const char *cxx = getenv("CXX");

	return cxx && *cxx ? cxx : "c++";
}

/* A module that is compiled, in the folder @dir. */
struct compiling {
	const struct module_place *p;
	const char *dir;
	char *log;			/* what the compiler says */
	struct words sources;
	struct words rules;		/* files that say what has been read */
};

/* The command that makes @dir/@to of @from, without a zero at its end. */
static void begin_command(const struct compiling *c, struct words *w, const char *to,
			  const char *from)
{
	/* CXX may be several words */
	add_word(w, "/bin/sh", "", "");
	add_word(w, "-c", "", "");
	add_word(w, "exec ", compiler(), " \"$@\"");
	add_word(w, "sh", "", "");
	for (size_t i = 0; i < NR(options); i++)
		add_word(w, options[i], "", "");
	add_word(w, "-o", c->dir, to);
	add_word(w, from, "", "");
}

static int end_command(const struct compiling *c, struct words *w, struct pm_err *err)
{
	int status;

	pm_grow(w->v, w->n, w->cap);
	w->v[w->n] = NULL;
	status = run(w->v, c->log, err);
	free_words(w);
	return status;
}

/* Compiles the source @from to @dir/@to; the rule goes to another file there, called @rule. The
 * exit status, as run(). */
static int compile_one(struct compiling *c, const char *to, const char *from, const char *rule,
		       bool shared, struct pm_err *err)
{
	struct words w = { 0 };

	begin_command(c, &w, to, from);
	add_word(&w, shared ? "-shared" : "-c", "", "");
	add_word(&w, "-I", c->dir, "");
	add_word(&w, "-I", c->p->dir, "");
	add_word(&w, "-MD", "", "");
	add_word(&w, "-MF", "", "");
	add_word(&w, c->dir, rule, "");
	add_word(&c->rules, c->dir, rule, "");
	return end_command(c, &w, err);
}

static int compile_whole(struct compiling *c, struct pm_err *err)
{
	struct pm_buf from = { 0 };
	int status = -1;

	pm_buf_printf(&from, "%s/module.cc", c->dir);
	pm_buf_add(&from, "", 1);
	if (!write_module(c->p, c->dir, &c->sources, true, err))
		status = compile_one(c, "/module.so", (const char *)from.p, "/module.d", true, err);
	pm_buf_release(&from);
	return status;
}

/* One by one, then all of them are linked. */
static int compile_parts(struct compiling *c, struct pm_err *err)
{
	struct words from = { 0 }, objects = { 0 }, link = { 0 };
	int status = -1;

	free_words(&c->rules);
	c->rules = (struct words){ 0 };
	add_word(&from, c->dir, "/module.cc", "");
	for (size_t i = 0; i < c->sources.n; i++)
		if (c->p->header || !is_own(c->p, c->sources.v[i]))
			add_word(&from, c->sources.v[i], "", "");
	if (!write_module(c->p, c->dir, &c->sources, false, err))
		status = 0;
	for (size_t i = 0; i < from.n && !status; i++) {
		char object[32], rule[32];

		sprintf(object, "/%zu.o", i);
		sprintf(rule, "/%zu.d", i);
		add_word(&objects, c->dir, object, "");
		status = compile_one(c, object, from.v[i], rule, false, err);
	}
	if (!status) {
		begin_command(c, &link, "/module.so", objects.v[0]);
		for (size_t i = 1; i < objects.n; i++)
			add_word(&link, objects.v[i], "", "");
		add_word(&link, "-shared", "", "");
		status = end_command(c, &link, err);
	}
	free_words(&from);
	free_words(&objects);
	return status;
}

/* @dir/module.so. All sources in one text take a third of the time. Those that do not go together
 * are compiled one by one. */
static enum pm_status compile(struct compiling *c, struct pm_err *err)
{
	int status = compile_whole(c, err);

	if (status > 0 && status != 127 && c->sources.n > 1)
		status = compile_parts(c, err);
	if (status == 127)
		pm_fail_file(err, "ChampSim modules need a C++ compiler, and '%s' cannot be run "
			     "(Debian: the package g++; CXX names another)", compiler());
	else if (status > 0)
		first_error(c->log, c->p->stem, err);
	return status ? PM_ERR : PM_OK;
}

/* ---- loading --------------------------------------------------------------------------------- */

static struct { const struct pm_champsim_module *m; char *name; } *loaded;
static size_t nloaded, cap_loaded;

bool pm_champsim_is_name(const char *word)
{
	const size_t n = strlen(word);

	return n > 3 && !strcmp(word + n - 3, ".cc");
}

const struct pm_champsim_module *pm_champsim_find(const char *name)
{
	for (size_t i = 0; i < nloaded; i++)
		if (!strcmp(loaded[i].name, name))
			return loaded[i].m;
	return NULL;
}

bool pm_champsim_any(void)
{
	return nloaded;
}

static enum pm_status load(const struct module_place *p, const char *dir, struct pm_err *err)
{
	const struct pm_champsim_module *m;
	struct pm_buf path = { 0 }, name = { 0 };
	void *so;

	pm_buf_printf(&path, "%s/module.so", dir);
	pm_buf_add(&path, "", 1);
	so = dlopen((const char *)path.p, RTLD_NOW | RTLD_LOCAL);
	pm_buf_release(&path);
	m = so ? dlsym(so, "pm_champsim_table") : NULL;
	if (!m) {
		const char *why = dlerror();

		return pm_fail_file(err, "cannot load the ChampSim module '%s.cc': %s", p->stem,
				       why ? why : "unknown reason");
	}
	pm_buf_printf(&name, "%s.cc", p->stem);
	pm_buf_add(&name, "", 1);
	pm_grow(loaded, nloaded, cap_loaded);
	loaded[nloaded].m = m;
	loaded[nloaded++].name = (char *)name.p;
	return PM_OK;
}

/* Everything that the object depends on but for what the compiler will find by itself. */
static void find_key(struct champsim_kept *k, const struct compiling *c)
{
	champsim_kept_text(k, c->p->dir);
	champsim_kept_text(k, c->p->stem);
	champsim_kept_text(k, c->p->header ? "header" : "");
	for (size_t i = 0; i < c->sources.n; i++)
		champsim_kept_file(k, c->sources.v[i]);
	for (size_t i = 0; i < NR(options); i++)
		champsim_kept_text(k, options[i]);
	for (size_t i = 0; i < NR(carried); i++) {
		champsim_kept_text(k, carried[i].name);
		champsim_kept_text(k, carried[i].text);
	}
	for (size_t i = 0; i < NR(names); i++)
		champsim_kept_text(k, names[i]);
	champsim_kept_compiler(k, compiler());
}

static enum pm_status compile_and_load(struct compiling *c, struct pm_err *err)
{
	struct champsim_kept kept;
	struct pm_err useless = { 0 };
	enum pm_status st = PM_OK;
	struct pm_buf so = { 0 };
	bool done;

	pm_buf_printf(&so, "%s/module.so", c->dir);
	pm_buf_add(&so, "", 1);
	champsim_kept_open(&kept);
	find_key(&kept, c);
	done = champsim_kept_load(&kept, (const char *)so.p);
	if (done && load(c->p, c->dir, &useless)) {
		champsim_kept_remove(&kept);
		done = false;
	}
	if (!done) {
		st = write_interface(c->dir, err);
		if (!st)
			st = compile(c, err);
		if (!st)
			st = load(c->p, c->dir, err);
		if (!st)
			champsim_kept_save(&kept, (const char *)so.p, c->dir, c->rules.v,
					   c->rules.n);
	}
	champsim_kept_close(&kept);
	pm_buf_release(&so);
	return st;
}

/* In a folder of its own, which is removed at once. */
static enum pm_status load_there(const struct module_place *p, struct pm_err *err)
{
	const char *tmp = getenv("TMPDIR");
	struct pm_buf dir = { 0 }, log = { 0 };
	struct compiling c = { .p = p };
	enum pm_status st;
	char *name;

	pm_buf_printf(&dir, "%s/pugmark-module-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	pm_buf_add(&dir, "", 1);
	name = (char *)dir.p;
	if (!mkdtemp(name)) {
		st = pm_fail_errno(err, "cannot make a folder in '%s'", tmp && *tmp ? tmp : "/tmp");
		pm_buf_release(&dir);
		return st;
	}
	pm_buf_printf(&log, "%s/log", name);
	pm_buf_add(&log, "", 1);
	c.dir = name;
	c.log = (char *)log.p;
	st = find_sources(&c.sources, p, err);
	if (!st)
		st = compile_and_load(&c, err);
	nftw(name, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	free_words(&c.sources);
	free_words(&c.rules);
	pm_buf_release(&log);
	pm_buf_release(&dir);
	return st;
}

enum pm_status pm_champsim_load(const char *path, struct pm_err *err)
{
	struct module_place p = { 0 };
	enum pm_status st = find_place(&p, path, err);
	struct pm_buf name = { 0 };

	if (!st) {
		pm_buf_printf(&name, "%s.cc", p.stem);
		pm_buf_add(&name, "", 1);
		if (pm_champsim_find((const char *)name.p))
			st = pm_fail_request(err, "two ChampSim modules are called '%s'",
					     (const char *)name.p);
		pm_buf_release(&name);
	}
	if (!st)
		st = load_there(&p, err);
	free(p.dir);
	free(p.stem);
	return st;
}

bool pm_champsim_well(const struct pm_champsim_module *m, const void *self, const char *what,
		      struct pm_err *err)
{
	const char *why = m && self ? m->failed(self) : NULL;

	if (why)
		pm_fail_file(err, "%s: the ChampSim module '%s' failed: %s", what, m->name, why);
	return !why;
}

enum pm_champsim_branch pm_champsim_branch(unsigned flags)
{
	if (flags & PM_BR_COND)
		return PM_CHAMPSIM_CONDITIONAL;
	if (flags & PM_BR_RET)
		return PM_CHAMPSIM_RETURN;
	if (flags & PM_BR_CALL)
		return flags & PM_BR_INDIRECT ? PM_CHAMPSIM_INDIRECT_CALL : PM_CHAMPSIM_DIRECT_CALL;
	return flags & PM_BR_INDIRECT ? PM_CHAMPSIM_INDIRECT : PM_CHAMPSIM_DIRECT_JUMP;
}
