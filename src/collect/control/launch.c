/* SPDX-License-Identifier: MIT */
/* launch.c - the program is started: by ptrace(), or where that is refused as what is loaded */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/control/remote.h"
#include "collect/control/session.h"
#include "elf/elf.h"

struct spawn {
	char **argv;
	int file; /* what is executed instead, where ptrace() is refused; -1: argv[0] */
	bool aslr;
	pid_t self;
	sigset_t mask;			/* of the program */
	const struct rlimit *limit;	/* likewise */
	/* Shared with the child, 0: none. vfork() shares everything, but not the thread
	 * sanitizer's, which is fork(). */
	struct spawn_failures {
		int trace_errno, exec_errno;
	} *failed;
};

/* A child that borrows our memory until it execs: copying page tables takes longer than all it
 * does. */
static __attribute__((noinline)) pid_t spawn(struct spawn *o)
{
	sigset_t mask = o->mask;
	const pid_t pid = vfork();

	if (pid)
		return pid;
	rlimits_of_program(o->limit);
	if (!o->aslr)
		personality((unsigned long)personality(0xffffffff) | ADDR_NO_RANDOMIZE);
	if (o->file >= 0) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		syscall(SYS_execveat, o->file, "", o->argv, environ, AT_EMPTY_PATH);
		o->failed->exec_errno = errno;
		_exit(127);
	}
	if (ptrace(PTRACE_TRACEME, 0, 0, 0)) {
		o->failed->trace_errno = errno;
		_exit(127);
	}
	if (getppid() !=
	    o->self) /* killed meanwhile: whose tracee we are now does not know of us */
		_exit(127);
	sigdelset(&mask, SIGTRAP);	/* which tells of the exec */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	execvp(o->argv[0], o->argv);
	o->failed->exec_errno = errno;
	_exit(127);
}

bool pm_run_find(const char *name, char *path, size_t n)
{
	const char *dirs = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(path, n, "%s", name);
		return access(path, X_OK) == 0;
	}
	for (const char *d = dirs ? dirs : "/bin:/usr/bin"; *d; ) {
		int len = (int)strcspn(d, ":");

		snprintf(path, n, "%.*s/%s", len ? len : 1, len ? d : ".", name);
		if (access(path, X_OK) == 0)
			return true;
		d += len + (d[len] == ':');
	}
	return false;
}

bool pm_run_i386(const char *program)
{
	unsigned char head[EI_CLASS + 1] = { 0 };
	char path[4096];
	int fd = pm_run_find(program, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const bool got = fd >= 0 && read(fd, head, sizeof head) == sizeof head;

	if (fd >= 0)
		close(fd);
	return got && !memcmp(head, ELFMAG, SELFMAG) && head[EI_CLASS] == ELFCLASS32;
}

/* Say what is wrong with a program before it is started: the kernel kills what it cannot load. What
 * is no ELF file is a script, or execvp() gives it to the shell. */
static enum pm_status check_program(struct session *s, struct pm_err *err)
{
	struct pm_elf_info info = { 0 };
	char path[4096], magic[4] = "", machine[24];
	enum pm_status st;
	int fd;

	if (!pm_run_find(s->opts->argv[0], path, sizeof path))
		return PM_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return PM_OK;
	if (read(fd, magic, 4) != 4 || memcmp(magic, "\177ELF", 4)) {
		close(fd);
		return PM_OK;
	}
	close(fd);
	err->file = pm_arena_strdup(&s->out->mem, path);
	st = pm_elf_check(err->file, &info, err);
	if (st == PM_OK && (info.machine != EM_X86_64 || !info.is64) &&		/* x32 is neither */
	    (info.machine != EM_386 || info.is64))
		st = pm_fail_file(err,
				  "it is a program for %s; x86-64 and i386 programs can be traced",
				  pm_elf_machine(info.machine, machine));
	pm_elf_info_release(&info);
	if (st == PM_OK)
		err->file = NULL;
	return st;
}

static enum pm_status refused(int why, struct pm_err *err)
{
	return pm_fail_file(err, "cannot trace the program: %s", strerror(why));
}

/* s->root is the child. */
static enum pm_status spawn_masked(struct session *s, struct spawn *o, struct pm_err *err)
{
	sigset_t all, was;
	int failed;

	o->failed = mmap(NULL, sizeof *o->failed, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (o->failed == MAP_FAILED)
		return pm_fail_errno(err, "no memory to share with the program");
	o->mask = s->signals.mask;
	sigfillset(&all);			/* handlers are not to run in the child */
	sigprocmask(SIG_SETMASK, &all, &was);
	s->root = spawn(o);
	failed = errno;
	sigprocmask(SIG_SETMASK, &was, NULL);
	errno = failed;
	return s->root < 0 ? pm_fail_errno(err, "cannot fork") : PM_OK;
}

static void spawn_release(struct spawn *o)
{
	if (o->failed != MAP_FAILED)
		munmap(o->failed, sizeof *o->failed);
}

/* The arguments @argv of a program, with those of @l's scripts' interpreters in front. In
 * s->spaces.mem. */
static char **script_argv(struct session *s, const struct loading *l, char **argv, char *path)
{
	char **v, *string = (char *)l->bytes;
	size_t n = 0;

	if (!l->nstring)
		return argv;
	while (argv[n])
		n++;
	v = pm_arena_alloc(&s->spaces.mem, (l->nstring + n + 1) * sizeof *v);
	for (unsigned i = 0; i < l->nstring; i++, string += strlen(string) + 1)
		v[i] = string;
	v[l->nstring] = path;
	memcpy(v + l->nstring + 1, argv + 1, n * sizeof *v);
	return v;
}

enum pm_status launch_file(struct session *s, struct proc *p, char **argv, struct pm_err *err)
{
	struct spawn o = { .argv = argv,
			   .file = p->loading->file,
			   .aslr = s->opts->aslr,
			   .self = getpid(),
			   .limit = s->limit };
	enum pm_status st = spawn_masked(s, &o, err);
	int status;

	if (st == PM_OK && o.failed->exec_errno) {
		wait_for(s->root, &status);
		st = refused(o.failed->exec_errno, err);
	} else if (st == PM_OK) {
		p->loads = (uint32_t)s->root;
	}
	spawn_release(&o);
	return st;
}

/* Where ptrace() is refused: the program is loaded by the runtime. */
static enum pm_status launch_loaded(struct session *s, struct pm_err *err)
{
	char path[4096], why[256] = "", **argv;
	struct proc *p;
	int fd;

	if (s->opts->record)
		return pm_fail_file(err, "ptrace() is refused here, and nothing can be recorded "
				    "without it");
	if (s->opts->follow_only)
		return pm_fail_file(err, "ptrace() is refused here: what is not to be traced "
				    "cannot be watched, as --follow-only does");
	err->file = s->opts->argv[0];
	fd = pm_run_find(s->opts->argv[0], path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC)
							      : -1;
	if (fd < 0)
		return pm_fail_errno(err, "cannot execute");
	s->loaded = true;
	if (!load_prepare(s, 0, fd, path, "/bin/sh", &p, why, sizeof why))
		return *why ? pm_fail_file(err, "cannot be traced: %s", why)
			    : pm_fail_errno(err, "cannot execute");
	argv = script_argv(s, p->loading, s->opts->argv, path);
	err->file = NULL;
	return launch_file(s, p, argv, err);
}

/* What a child that has not reached its program says why. */
static enum pm_status not_executed(struct session *s, const struct spawn *o, struct pm_err *err)
{
	if (o->failed->trace_errno == EPERM || o->failed->trace_errno == EACCES ||
	    o->failed->trace_errno == ENOSYS)
		return launch_loaded(s, err);
	if (o->failed->trace_errno)
		return refused(o->failed->trace_errno, err);
	errno = o->failed->exec_errno;
	if (errno) {
		err->file = s->opts->argv[0];
		return pm_fail_errno(err, "cannot execute");
	}
	return pm_fail_file(err, "the program died before it began");
}

/* The root, which was stopped: has it been killed? */
static bool is_killed(struct session *s)
{
	struct user_regs_struct regs;
	siginfo_t ended = { 0 };

	if (!ptrace(PTRACE_GETREGS, s->root, 0, &regs))
		return false;
	if (waitid(P_PID, (id_t)s->root, &ended, WEXITED | WNOWAIT)) {
		/* who waited for its stop has its status; nothing else ends what is stopped */
		s->root_done = true;
		s->root_status = SIGKILL;
	}
	return true;
}

/* s->root stands at its exec stop: tracing begins, and it goes on. */
static enum pm_status trace_stopped(struct session *s, const struct spawn *o, struct pm_err *err)
{
	char why[256] = "";
	int status;

	const bool wanted = watch_wants(s, s->root);

	if (ptrace(PTRACE_SETOPTIONS, s->root, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) ||
	    (sigismember(&o->mask, SIGTRAP) &&
	     ptrace(PTRACE_SETSIGMASK_, s->root, 8, &o->mask)) ||
	    (!wanted && !watch_root(s))) {
		if (errno == ESRCH && is_killed(s))
			return PM_OK;
		refused(errno, err);
		kill(s->root, SIGKILL);
		wait_for(s->root, &status);
		return PM_ERR;
	}
	if (!wanted)
		return PM_OK;
	if (!exec_stop(s, s->root, why, sizeof why)) {
		if (is_killed(s))		/* meanwhile: its status says so */
			return PM_OK;
		kill(s->root, SIGKILL);
		ptrace(PTRACE_DETACH, s->root, 0, 0);
		wait_for(s->root, &status);
		err->file = s->opts->argv[0];
		return pm_fail_file(err, "cannot be traced: %s", why);
	}
	ptrace(PTRACE_DETACH, s->root, 0, 0);
	return PM_OK;
}

/* It stops behind execve(); other signals may come first. */
static enum pm_status to_exec_stop(struct session *s, const struct spawn *o, struct pm_err *err)
{
	int status;

	for (;;) {
		if (wait_for(s->root, &status) != s->root)
			return pm_fail_errno(err, "cannot wait for the program");
		if (WIFEXITED(status) || o->failed->trace_errno || o->failed->exec_errno)
			return not_executed(s, o, err);
		if (WIFSIGNALED(status)) {
			s->root_done = true;
			s->root_status = status;
			return PM_OK;
		}
		if (WSTOPSIG(status) == SIGTRAP)
			return trace_stopped(s, o, err);
		ptrace(PTRACE_CONT, s->root, 0, WSTOPSIG(status));
	}
}

enum pm_status launch(struct session *s, struct pm_err *err)
{
	struct spawn o = { .argv = s->opts->argv,
			   .file = -1,
			   .aslr = s->opts->aslr,
			   .self = getpid(),
			   .limit = s->limit };
	enum pm_status st;

	if (check_program(s, err) != PM_OK)
		return PM_ERR;
	st = spawn_masked(s, &o, err);
	if (st == PM_OK)
		st = to_exec_stop(s, &o, err);
	spawn_release(&o);
	return st;
}
