/* SPDX-License-Identifier: MIT */
/* loader.c - files to execute instead of programs, where ptrace() is refused
 *
 * Such a file is the runtime as an executable of its own, with what it has to know filled in: it
 * loads the program (runtime/map_program.c). What the kernel does for scripts is done here: their
 * interpreters go in front of the arguments. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp.h"
#include "collect/control/process.h"
#include "collect/control/session.h"
#include "elf/elf.h"

extern const uint8_t pm_rt_text[], pm_rt_text_end[], pm_rt_data[], pm_rt_data_end[];
extern const uint8_t pm_rt32_text[], pm_rt32_text_end[], pm_rt32_data[], pm_rt32_data_end[];

#define SCRIPTS_MAX 5 /* the kernel's limit of interpreters that are scripts themselves */
#define LINE_MAX_ 256			/* ... of a script's first line */

/* ---- scripts --------------------------------------------------------------------------------- */
static bool put_string(struct loading *l, const char *s)
{
	const size_t n = strlen(s) + 1;

	if (l->nbytes + n > sizeof l->bytes)
		return false;
	memmove(l->bytes + n, l->bytes, l->nbytes);
	memcpy(l->bytes, s, n);
	l->nbytes += n;
	l->nstring++;
	return true;
}

/* "#! interpreter argument": split in place. False: none is named. */
static bool split_line(char *line, char **interpreter, char **argument)
{
	char *p = line + 2 + strspn(line + 2, " \t");

	*interpreter = p;
	p += strcspn(p, " \t");
	if (*p)
		*p++ = 0;
	p += strspn(p, " \t");
	for (size_t n = strlen(p); n && strchr(" \t", p[n - 1]); )
		p[--n] = 0;
	*argument = p;
	return **interpreter;
}

static bool replace_by(struct loading *l, const char *interpreter)
{
	close(l->program);
	l->program = open(interpreter, O_RDONLY | O_CLOEXEC);
	return l->program >= 0 && put_string(l, interpreter);
}

/* While l->program is a script, its interpreter instead; or of what is nothing the kernel knows
 * @shell, if there is one, as execvp() does it. False: it cannot be executed. */
static bool follow_scripts(struct loading *l, const char *shell)
{
	for (int depth = 0; depth <= SCRIPTS_MAX; depth++) {
		char line[LINE_MAX_ + 1] = "", *interpreter, *argument;
		const ssize_t n = pread(l->program, line, LINE_MAX_, 0);

		if (n >= SELFMAG && !memcmp(line, ELFMAG, SELFMAG))
			return true;
		errno = ENOEXEC;
		if (n < 2 || memcmp(line, "#!", 2))
			return shell && !depth && replace_by(l, shell);
		line[strcspn(line, "\n")] = 0;
		if (!split_line(line, &interpreter, &argument) ||
		    (*argument && !put_string(l, argument)) || !replace_by(l, interpreter))
			return false;
	}
	return false;
}

/* ---- the file -------------------------------------------------------------------------------- */
static bool put_at(int fd, const void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at) == (ssize_t)n;
}

/* The runtime of one width, and where it lies in a process. */
struct image {
	bool i386;
	const uint8_t *text, *text_end, *data, *data_end;
	uint64_t at, data_at, load_at;
};

static const struct image images[2] = {		/* [1]: i386 */
	{ false, pm_rt_text, pm_rt_text_end, pm_rt_data, pm_rt_data_end, RT_IMAGE, RT_IMAGE_DATA,
	  RT_LOAD },
	{ true, pm_rt32_text, pm_rt32_text_end, pm_rt32_data, pm_rt32_data_end, RT32_IMAGE,
	  RT32_IMAGE_DATA, RT32_LOAD },
};

#define SEGMENTS 4
struct load_segment {
	uint32_t type, flags;
	uint64_t off, at, n;
};

/* The ELF header of an executable that begins at @entry, and its program headers. */
static bool put_head(int fd, const struct image *m, const struct load_segment seg[SEGMENTS])
{
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[SEGMENTS];
	} wide = { .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			  .e_entry = m->at, .e_phoff = sizeof wide.h, .e_ehsize = sizeof wide.h,
			  .e_phentsize = sizeof *wide.p, .e_phnum = SEGMENTS } };
	struct {
		Elf32_Ehdr h;
		Elf32_Phdr p[SEGMENTS];
	} narrow = { .h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_EXEC, .e_machine = EM_386, .e_version = EV_CURRENT,
			    .e_entry = (uint32_t)m->at, .e_phoff = sizeof narrow.h,
			    .e_ehsize = sizeof narrow.h, .e_phentsize = sizeof *narrow.p,
			    .e_phnum = SEGMENTS } };

	for (unsigned i = 0; i < SEGMENTS; i++) {
		const struct load_segment *s = &seg[i];

		wide.p[i] = (Elf64_Phdr){ s->type, s->flags, s->off, s->at, s->at, s->n, s->n,
					  4096 };
		narrow.p[i] = (Elf32_Phdr){ s->type, (uint32_t)s->off, (uint32_t)s->at,
					    (uint32_t)s->at, (uint32_t)s->n, (uint32_t)s->n,
					    s->flags, 4096 };
	}
	return m->i386 ? put_at(fd, &narrow, sizeof narrow, 0) : put_at(fd, &wide, sizeof wide, 0);
}

static int write_loader(const struct image *m, const struct rt_boot *boot, const void *load,
			size_t nload, bool exec_stack)
{
	const size_t ntext = (size_t)(m->text_end - m->text),
		     ndata = (size_t)(m->data_end - m->data);
	const uint64_t data = 4096 + ((ntext + 4095) & ~4095ull),
		       behind = data + ((ndata + 4095) & ~4095ull);
	const struct load_segment seg[SEGMENTS] = {
		{ PT_LOAD, PF_R | PF_X, 4096, m->at, ntext },
		{ PT_LOAD, PF_R | PF_W, data, m->data_at, ndata },
		{ PT_LOAD, PF_R | PF_W, behind, m->load_at, nload },
		{ PT_GNU_STACK, PF_R | PF_W | (exec_stack ? PF_X : 0), 0, 0, 0 },
	};
	const int fd = memfd_create("pugmark-runtime", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -1;
	if (put_head(fd, m, seg) && put_at(fd, m->text, ntext, 4096) &&
	    put_at(fd, m->data, ndata, (off_t)data) &&
	    put_at(fd, boot, sizeof *boot, (off_t)data) &&
	    put_at(fd, load, nload, (off_t)behind) && !fchmod(fd, 0500) &&
	    pm_temp_seal(fd, F_SEAL_WRITE))
		return fd;
	close(fd);
	return -1;
}

static bool has_exec_stack(const struct pm_elf_info *info)
{
	for (size_t i = 0; i < info->nseg; i++)
		if (info->seg[i].type == PT_GNU_STACK)
			return info->seg[i].flags & PF_X;
	return false;
}

/* ---- all of it ------------------------------------------------------------------------------- */
void loading_release(struct loading *l)
{
	if (l->file >= 0)
		close(l->file);
	if (l->program >= 0)
		close(l->program);
	if (l->interpreter >= 0)
		close(l->interpreter);
	l->file = l->program = l->interpreter = -1;
}

bool loader_make(struct session *s, int program, const char *name, const char *shell,
		 uint32_t block, const struct space *sp, struct loading *l, char *why, size_t n)
{
	struct rt_load load = { .fix_random = s->opts->fix_random, .no_vdso = s->opts->no_vdso };
	struct rt_boot boot = { .block = block, .code = sp->base, .load = 1 };
	struct pm_elf_info info = { 0 };
	struct pm_err err = { 0 };
	char path[64], machine[24];
	bool ok = false;

	*why = 0;
	*l = (struct loading){ .file = -1, .program = program, .interpreter = -1 };
	snprintf(load.name, sizeof load.name, "%s", name);
	if (!follow_scripts(l, shell))
		goto out;
	snprintf(path, sizeof path, "/proc/self/fd/%d", l->program);
	if (pm_elf_check(path, &info, &err) != PM_OK || info.machine != EM_X86_64 || !info.is64) {
		snprintf(why, n,
			 "only x86-64 programs can be started where ptrace() is refused; this one "
			 "is for %s",
			 pm_elf_machine(info.machine, machine));
		goto out;
	}
	if (info.interp && (l->interpreter = open(info.interp, O_RDONLY | O_CLOEXEC)) < 0) {
		snprintf(why, n, "its interpreter %s cannot be opened", info.interp);
		goto out;
	}
	session_path(s, load.program, l->program);
	if (info.interp)
		session_path(s, load.interpreter, l->interpreter);
	session_path(s, boot.code_path, s->spaces.code_fd);
	session_path(s, boot.data_path, s->data_fd);
	boot.persona = session_persona(s, block);
	l->file = write_loader(&images[0], &boot, &load, sizeof load, has_exec_stack(&info));
	ok = l->file >= 0;
	if (!ok)
		snprintf(why, n, "cannot write shared memory: %s", strerror(errno));
out:
	pm_elf_info_release(&info);
	if (!ok)
		loading_release(l);
	return ok;
}

bool loader_make_replay(struct session *s, const struct rt_start *start, uint32_t block,
			const struct space *sp, struct loading *l, char *why, size_t n)
{
	struct rt_boot boot = { .block = block, .code = sp->base, .load = 2 };

	*l = (struct loading){ .file = -1, .program = -1, .interpreter = -1 };
	session_path(s, boot.code_path, s->spaces.code_fd);
	session_path(s, boot.data_path, s->data_fd);
	if (start->confined)			/* as it is of the program before */
		memcpy(boot.kept, s->head->kept, sizeof boot.kept);
	else
		boot.persona = session_persona(s, block);
	l->file = write_loader(&images[sp->i386], &boot, start, sizeof *start, false);
	if (l->file < 0)
		snprintf(why, n, "cannot write shared memory: %s", strerror(errno));
	return l->file >= 0;
}
