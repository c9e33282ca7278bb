/* SPDX-License-Identifier: MIT */
/* place_files.c - which files a program is made of, and where each of them will be mapped */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/instrument/job.h"
#include "collect/translate/reach.h"
#include "base/proc_maps.h"
#include "base/whole_file.h"
#include "elf/elf.h"
#include "elf/elf_image.h"

/* ---- files ----------------------------------------------------------------------------------- */
static enum pm_status map_file(struct job *j, const char *path, struct pm_err *err)
{
	struct file *f = &j->file[j->nfile];
	struct pm_elf_info info = { 0 };
	char machine[24];
	struct stat st;
	int fd;

	if (j->nfile == MAX_FILES)
		return pm_fail_file(err, "it has more than %d libraries", MAX_FILES);
	*f = (struct file){ .path = pm_arena_strdup(&j->mem, path) };
	err->file = f->path;
	if (pm_elf_check(f->path, &info, err) != PM_OK) {
		pm_elf_info_release(&info);
		return PM_ERR;
	}
	if (j->nfile == 0)
		j->i386 = info.machine == EM_386;
	if (info.script || info.machine != (j->i386 ? EM_386 : EM_X86_64) || info.is64 == j->i386)
		pm_fail_file(err, info.script ?
			     "it is a script; instrument the program that interprets it" :
			     j->nfile ? "it is for %s, unlike the program" :
			     "it is a program for %s; x86-64 and i386 programs can be instrumented",
			     pm_elf_machine(info.machine, machine));
	snprintf(f->build_id, sizeof f->build_id, "%s", info.build_id);
	pm_elf_info_release(&info);
	if (pm_failed(err))
		return PM_ERR;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		return pm_fail_errno(err, "cannot open");
	f->n = (size_t)st.st_size;
	f->changed = (uint64_t)st.st_mtim.tv_sec << 32 | (uint64_t)st.st_mtim.tv_nsec;
	f->p = mmap(NULL, f->n, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (f->p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map");
	if (!elf_image_header(f->p, f->n, &f->eh))
		return pm_fail_file(err, "its program headers are not in the file");
	f->ph = pm_arena_alloc(&j->mem, f->eh.e_phnum * sizeof *f->ph);
	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		f->ph[i] = elf_image_segment(f->p, &f->eh, i);
	j->nfile++;
	if (j->i386 &&
	    elf_image_dynamic(&(struct elf_image){ .file = f->p, .size = f->n, .narrow = true },
			      DT_TEXTREL))
		return pm_fail_file(err, "its text is changed when it is loaded (DT_TEXTREL)");
	err->file = NULL;
	return PM_OK;
}

static void busy(struct job *j, uint64_t lo, uint64_t hi)
{
	pm_grow(j->busy, j->nbusy, j->cap_busy);
	j->busy[j->nbusy++] = (struct address_range){ lo, hi };
}

static bool is_free(const void *job, uint64_t lo, uint64_t hi)
{
	const struct job *j = job;

	if (lo < 0x10000 || hi > (j->i386 ? 0xffff0000 : 0x7fffff000000))
		return false;
	if (j->i386 ? lo < RT32_CODE_VAULT + RT32_CODE_SIZE && hi > RT32_BLOCKS :
	    lo < RT_SHADOW + RT_SHADOW_SIZE && hi > RT_SHADOW)
		return false;
	for (size_t i = 0; i < j->nbusy; i++)
		if (lo < j->busy[i].hi && j->busy[i].lo < hi)
			return false;
	return true;
}

/* The file is mapped with its first segment's page at @base. */
static void place_file(struct job *j, struct file *f, uint64_t base)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD) {
			if (down(f->ph[i].p_vaddr) < first)
				first = down(f->ph[i].p_vaddr);
			if (up(f->ph[i].p_vaddr + f->ph[i].p_memsz) > last)
				last = up(f->ph[i].p_vaddr + f->ph[i].p_memsz);
		}
	f->bias = base - first;
	f->base = base;
	f->end = f->bias + last;
	busy(j, f->base, f->end);
}

static uint64_t lowest(const struct file *f)
{
	uint64_t first = UINT64_MAX;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && down(f->ph[i].p_vaddr) < first)
			first = down(f->ph[i].p_vaddr);
	return first;
}

static void add_texts(struct job *j, size_t file)
{
	struct file *f = &j->file[file];

	for (unsigned i = 0; i < f->eh.e_phnum; i++) {
		const Elf64_Phdr *p = &f->ph[i];
		struct program_text *t;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || !p->p_filesz)
			continue;
		pm_grow(j->text, j->ntext, j->cap_text);
		t = &j->text[j->ntext++];
		*t = (struct program_text){
			.file = file, .lo = down(p->p_vaddr) + f->bias,
			.hi = up(p->p_vaddr + p->p_memsz) + f->bias, .offset = down(p->p_offset),
			.bytes = p->p_filesz + (p->p_vaddr & (PAGE - 1)),
			.prot = (p->p_flags & PF_R ? 1u : 0) | (p->p_flags & PF_W ? 2u : 0) | 4,
		};
	}
}

static const struct address_range rest32[] = {
	{ IMG32_REST, RT32_CODE_VAULT + RT32_CODE_SIZE }, { 0x80000000, 0xb0000000 },
};

uint64_t place32(struct job *j, uint64_t size)
{
	for (size_t i = 0; i < NR(rest32); i++) {
		uint64_t at = j->next32[i] ? j->next32[i] : rest32[i].lo;

		size = (size + IMG_PIECE - 1) & ~(uint64_t)(IMG_PIECE - 1);
		if (size > rest32[i].hi - at)
			continue;
		j->next32[i] = at + size;
		return at;
	}
	return 0;
}

uint64_t left32(const struct job *j)
{
	return rest32[0].hi - (j->next32[0] ? j->next32[0] : rest32[0].lo);
}

static bool place_code(struct job *j, struct program_text *t)
{
	t->room = up((t->hi - t->lo) * 9 + (1 << 20));
	if (j->i386)
		return (t->code = place32(j, t->room)) != 0;
	t->code = xl_find_place(t->lo, t->hi, t->room, is_free, j);
	if (t->code)
		busy(j, t->code, t->code + t->room);
	return t->code != 0;
}

/* ---- libraries ------------------------------------------------------------------------------- */
/* The dynamic linker lists what it would load, and where. The program itself does not run. */
static FILE *list_libraries(const struct job *j, pid_t *pid)
{
	const struct file *f = &j->file[0];
	const char *interp = j->file[1].path, *base = strrchr(interp, '/');
	const bool musl = base && !strncmp(base, "/ld-musl", 8);
	char path[4096];
	int fd[2];

	if (!realpath(f->path, path) || pipe2(fd, O_CLOEXEC))
		return NULL;
	*pid = fork();
	if (*pid < 0)
		return NULL;
	if (!*pid) {
		int null = open("/dev/null", O_RDWR);

		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
		dup2(null, 0);
		dup2(fd[1], 1);
		dup2(null, 2);
		if (musl) {
			execl(interp, interp, "--list", path, (char *)NULL);
		} else {
			setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
			unsetenv("LD_WARN");
			unsetenv("LD_BIND_NOW");
			unsetenv("LD_VERBOSE");
			execl(path, path, (char *)NULL);
		}
		_exit(127);
	}
	close(fd[1]);
	return fdopen(fd[0], "r");
}

static bool have_file(const struct job *j, const char *path)
{
	for (size_t i = 0; i < j->nfile; i++)
		if (pm_same_file(j->file[i].path, path))
			return true;
	return false;
}

/* Where a file goes whose natural place is not known: below the others. */
static uint64_t any_base(const struct job *j, const struct file *f)
{
	uint64_t size = 0;

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && f->ph[i].p_vaddr + f->ph[i].p_memsz > size)
			size = f->ph[i].p_vaddr + f->ph[i].p_memsz;
	size = up(size) + (1 << 20);
	for (uint64_t at = j->i386 ? 0xf0000000 : 0x7ffff0000000;
	     at > (j->i386 ? 0xb0000000 : 0x7ff000000000); at -= 2 << 20)
		if (is_free(j, at, at + size))
			return at;
	return 0;
}

static enum pm_status add_library(struct job *j, const char *path, uint64_t at, struct pm_err *err)
{
	struct file *f = &j->file[j->nfile];
	uint64_t size;

	if (map_file(j, path, err) != PM_OK)
		return PM_ERR;
	size = 0;
	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && up(f->ph[i].p_vaddr + f->ph[i].p_memsz) > size)
			size = up(f->ph[i].p_vaddr + f->ph[i].p_memsz);
	if (!at || !is_free(j, at, at + size))
		at = any_base(j, f);
	place_file(j, f, at + lowest(f));
	return PM_OK;
}

/* A process that has just been made a 32-bit program: its vDSO is not ours. -1: there is none. */
static pid_t begin32(const struct job *j)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execl(j->file[0].path, j->file[0].path, (char *)NULL);
		_exit(127);
	}
	if (pid > 0 && (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)))
		return -1;
	return pid;
}

/* The vDSO would be at @at, with its data in front of it: as much as we have ourselves. */
static void place_vdso(struct job *j, uint64_t at)
{
	const pid_t pid = j->i386 ? begin32(j) : getpid();
	uint64_t first = 0, code = 0, end = 0;
	struct maps all = { 0 };

	if (pid > 0 && maps_read(pid, &all))
		for (const struct mapping *m = all.v; m < all.v + all.n; m++) {
			if (!strncmp(m->path, "[vvar", 5) && !first)
				first = m->lo;
			if (!strcmp(m->path, "[vdso]")) {
				code = m->lo;
				end = m->hi;
			}
		}
	maps_release(&all);
	if (j->i386 && pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	if (!first || !code || first > code)
		return;
	j->vdso = at - (code - first);
	j->vdso_end = at + (end - code);
	busy(j, j->vdso, j->vdso_end);
}

static enum pm_status libraries(struct job *j, struct pm_err *err)
{
	struct { char path[4096]; uint64_t at; } *v = pm_alloc(MAX_FILES * sizeof *v);
	size_t n = 0;
	enum pm_status st = PM_OK;
	char *line = NULL;
	size_t cap = 0;
	uint64_t interp_at = 0;
	pid_t pid = -1;
	int status = 0;
	FILE *out = list_libraries(j, &pid);

	if (!out) {
		free(v);
		return pm_fail_errno(err, "cannot ask its dynamic linker for its libraries");
	}
	while (getline(&line, &cap, out) > 0 && n < MAX_FILES) {
		char name[256], path[4096];
		uint64_t at = 0;

		if (strstr(line, "not found")) {
			sscanf(line, " %255s", name);
			st = pm_fail_file(err, "its library '%.100s' is not found", name);
			break;
		}
		if (sscanf(line, " %255s => %4095s (%" SCNx64 ")", name, path, &at) < 2 &&
		    sscanf(line, " %4095s (%" SCNx64 ")", path, &at) < 1)
			continue;
		if (!strcmp(path, j->i386 ? "linux-gate.so.1" : "linux-vdso.so.1") && at)
			place_vdso(j, at);
		if (!strchr(path, '/'))
			continue;
		if (pm_same_file(path, j->file[1].path)) {
			interp_at = at;
			continue;
		}
		snprintf(v[n].path, sizeof v[n].path, "%s", path);
		v[n++].at = at;
	}
	free(line);
	fclose(out);
	waitpid(pid, &status, 0);
	if (st == PM_OK && !(WIFEXITED(status) && !WEXITSTATUS(status)))
		st = pm_fail_file(err, "its dynamic linker does not tell its libraries");
	if (st == PM_OK) {
		struct file *f = &j->file[1];

		if (!interp_at || !is_free(j, interp_at, interp_at + (4 << 20)))
			interp_at = j->i386 ? 0xf7fc0000 : 0x7ffff7fc0000;
		place_file(j, f, interp_at + lowest(f));
	}
	for (size_t i = 0; i < n && st == PM_OK; i++)
		if (!have_file(j, v[i].path))
			st = add_library(j, v[i].path, v[i].at, err);
	free(v);
	return st;
}

/* What glibc loads by itself when threads are cancelled or end: in its own folder, or nowhere. */
static enum pm_status add_unwinder(struct job *j, struct pm_err *err)
{
	for (size_t i = 1; i < j->nfile; i++) {
		const char *slash = strrchr(j->file[i].path, '/');
		char path[4096];

		if (!slash || strcmp(slash, "/libc.so.6"))
			continue;
		snprintf(path, sizeof path, "%.*s/libgcc_s.so.1", (int)(slash - j->file[i].path),
			 j->file[i].path);
		if (!access(path, R_OK) && !have_file(j, path))
			return add_library(j, path, 0, err);
	}
	return PM_OK;
}

static char *interpreter(struct job *j)
{
	const struct file *f = &j->file[0];

	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_INTERP && f->ph[i].p_offset < f->n &&
		    memchr(f->p + f->ph[i].p_offset, 0, f->n - f->ph[i].p_offset))
			return pm_arena_strdup(&j->mem, (const char *)f->p + f->ph[i].p_offset);
	return NULL;
}

static bool begins_in_text(const struct file *f)
{
	for (unsigned i = 0; i < f->eh.e_phnum; i++)
		if (f->ph[i].p_type == PT_LOAD && f->ph[i].p_flags & PF_X &&
		    f->eh.e_entry - f->ph[i].p_vaddr < f->ph[i].p_filesz)
			return true;
	return false;
}

enum pm_status place_all(struct job *j,
			 enum pm_status (*place_hints)(struct job *j, struct pm_err *err),
			 struct pm_err *err)
{
	char *interp;

	if (map_file(j, j->o->path, err) != PM_OK || check_outputs(j, err) != PM_OK)
		return PM_ERR;
	place_file(j, &j->file[0],
		   (j->file[0].eh.e_type != ET_DYN ? 0 : j->i386 ? PIE32_BASE : PIE_BASE) +
		   lowest(&j->file[0]));
	if (j->i386 && j->file[0].base < RT32_CODE_VAULT + RT32_CODE_SIZE &&
	    j->file[0].end > RT32_BLOCKS) {
		err->file = j->file[0].path;
		return pm_fail_file(err, "it occupies addresses that tracing needs (0x%x-0x%x)",
				    RT32_BLOCKS, RT32_CODE_VAULT + RT32_CODE_SIZE);
	}
	if (!begins_in_text(&j->file[0])) {
		err->file = j->file[0].path;
		return pm_fail_file(err,
				    "it has no entry point in its text: it is no program, but "
				    "perhaps a library");
	}
	if (place_hints(j, err) != PM_OK)
		return PM_ERR;
	interp = interpreter(j);
	j->interp = interp;
	if (interp && (map_file(j, interp, err) != PM_OK || libraries(j, err) != PM_OK))
		return PM_ERR;
	if (add_unwinder(j, err) != PM_OK)
		return PM_ERR;
	for (const char *const *l = j->o->library; l && *l; l++)
		if (!have_file(j, *l) && add_library(j, *l, 0, err) != PM_OK)
			return PM_ERR;
	for (size_t i = 0; i < j->nfile; i++)
		add_texts(j, i);
	for (size_t i = 0; i < j->ntext; i++)
		if (!place_code(j, &j->text[i])) {
			err->file = j->file[j->text[i].file].path;
			return pm_fail_file(err,
					    "there is no room near its text for the translated "
					    "code");
		}
	return PM_OK;
}

