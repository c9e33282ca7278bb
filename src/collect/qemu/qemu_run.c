/* SPDX-License-Identifier: MIT */
#include "collect/qemu/qemu_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/elapsed.h"
#include "base/mem.h"
#include "collect/qemu/stream.h"

#define OLDEST		10		/* of QEMU's versions */
#define MAX_ARGS	64
#define PATIENCE	5.0		/* seconds until QEMU is killed that was asked to end */
#define LEISURE		30.0		/* ... more, while it writes its log */
#define STANDSTILL	60.0		/* ... that replays, and of which nothing is heard */

/* Descriptors in QEMU. A guest may see what its kernel is called (multiboot), so a replay has to
 * call it the same. */
enum { KERNEL_AT = 60, INITRD_AT, LOG_AT, STATE_AT };

extern const char pm_qemu_plugin[], pm_qemu_plugin_end[];

struct qemu {
	const struct qemu_config *cfg;
	pid_t pid;			/* 0: not started, or reaped */
	/* memory files; `said`: its standard error */
	int ring_fd, plugin_fd, watch_fd, memory_fd, said_fd;
	int events[2];			/* sockets: QEMU's reports of what happens to the machine,
					 * and what it is asked */
	struct qmp qmp;			/* our end of it */
	struct qs_reader *reader;	/* who gets words while QEMU is asked something */
	double asked_at;		/* when */
	struct qs_ring *ring;
	uint32_t emptied;		/* buffers */
	uint64_t *copy;			/* of a buffer: nobody else writes to it */
	char *arg[MAX_ARGS];
	unsigned narg;
	int status;
};

/* ---- before it starts ------------------------------------------------------------------------ */

static const char *program(const struct qemu_config *cfg)
{
	return cfg->qemu ? cfg->qemu
	       : !strcmp(cfg->guest, "i386") ? "qemu-system-i386" : "qemu-system-x86_64";
}

static enum pm_status readable(const char *path, struct pm_err *err)
{
	int fd;

	if (!path)
		return PM_OK;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err->file = path;
		return pm_fail_errno(err, "cannot open it");
	}
	close(fd);
	return PM_OK;
}

/* What `QEMU --version` prints, at most @n - 1 bytes of it. */
static bool ask_version(const char *qemu, char *to, size_t n)
{
	size_t got = 0;
	ssize_t k;
	int fd[2], status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		dup2(fd[1], 1);
		execlp(qemu, qemu, "--version", NULL);
		_exit(127);
	}
	close(fd[1]);
	while (pid > 0 && got < n - 1 && (k = read(fd[0], to + got, n - 1 - got)) > 0)
		got += (size_t)k;
	close(fd[0]);
	to[got] = 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) != 127;
}

char *qemu_version(const struct qemu_config *cfg, struct pm_err *err)
{
	char text[256];

	err->file = program(cfg);
	if (!ask_version(program(cfg), text, sizeof text)) {
		pm_fail_file(err, "cannot run it: x86 guests need QEMU %d or newer (Debian "
			     "12: qemu-system-x86 of bookworm-backports)", OLDEST);
		return NULL;
	}
	return pm_strndup(text, strcspn(text, "\r\n"));
}

int qemu_file(struct pm_err *err)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir ? dir : "/tmp", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		fd = memfd_create("pugmark-log", 0);
	if (fd < 0)
		pm_fail_errno(err, "cannot make a file without a name");
	return fd;
}

enum pm_status qemu_check(const struct qemu_config *cfg, struct pm_err *err)
{
	const bool has_files = cfg->log && cfg->kernel_fd >= 0;
	const char *paths[] = { has_files ? NULL : cfg->kernel, has_files ? NULL : cfg->initrd,
				cfg->disk, cfg->input };
	enum pm_status st = PM_OK;
	const char *version;
	char *text;

	for (unsigned i = 0; i < NR(paths); i++)
		if (readable(paths[i], err) != PM_OK)
			return PM_ERR;
	text = qemu_version(cfg, err);
	if (!text)
		return PM_ERR;
	version = strstr(text, "version ");
	if (!version)
		st = pm_fail_file(err, "says nothing of its version: is it QEMU?");
	else if (atoi(version + 8) < OLDEST)
		st = pm_fail_file(err, "is version %.*s, whose plug-ins cannot read registers: "
				  "x86 guests need QEMU %d or newer",
				  (int)strcspn(version + 8, " \n("), version + 8, OLDEST);
	else if (cfg->version && strcmp(cfg->version, text))
		st = pm_fail_file(err, "is \"%s\", and the %s from \"%s\": only that one %s",
				  text, cfg->log == QEMU_REPLAY ? "trace is" : "snapshot is",
				  cfg->version, cfg->log == QEMU_REPLAY ? "replays it"
				  : "goes on with it");
	free(text);
	if (st == PM_OK)
		err->file = NULL;
	return st;
}

__attribute__((format(printf, 2, 3)))
static void arg(struct qemu *q, const char *fmt, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, fmt);
	if (vasprintf(&s, fmt, ap) < 0)
		pm_out_of_memory(strlen(fmt));
	va_end(ap);
	if (q->narg < MAX_ARGS - 1)
		q->arg[q->narg++] = s;
}

/* Commas are doubled where QEMU takes a list. */
static char *listed(const char *path)
{
	char *s = pm_alloc(strlen(path) * 2 + 1), *to = s;

	for (; *path; *to++ = *path++)
		if (*path == ',')
			*to++ = ',';
	return s;
}

/* What the plug-in has to know if the guest runs already. */
static void tell_begin(const struct qemu_state *s, char *to, size_t n)
{
	*to = 0;
	if (s && s->memory)
		snprintf(to, n, ",idt=0x%" PRIx64 ",idt-size=%u,gdt=0x%" PRIx64 ",gdt-size=%u,"
			 "touched=%d", s->idt.at, s->idt.bytes, s->gdt.at, s->gdt.bytes,
			 s->touched_fd);
}

static void make_args(struct qemu *q)
{
	static const char *const always[] = {
		"-accel", "tcg", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot",
	};
	const struct qemu_config *c = q->cfg;
	char warm[160];

	tell_begin(c->state, warm, sizeof warm);
	arg(q, "%s", program(c));
	for (unsigned i = 0; i < NR(always); i++)
		arg(q, "%s", always[i]);
	arg(q, "-cpu");
	arg(q, "%s", c->cpu ? c->cpu : "max,la57=off");
	arg(q, "-m");
	arg(q, "%s", c->ram ? c->ram : QEMU_RAM);
	if (q->memory_fd >= 0) {
		arg(q, "-object");
		arg(q, "memory-backend-file,id=memory,mem-path=/proc/self/fd/%d,share=on,size=%"
		    PRIu64, q->memory_fd, c->ram_size);
		arg(q, "-machine");
		arg(q, "memory-backend=memory");
	}
	arg(q, "-kernel");
	if (c->log)
		arg(q, "/proc/self/fd/%d", KERNEL_AT);
	else
		arg(q, "%s", c->kernel);
	if (c->initrd) {
		arg(q, "-initrd");
		if (c->log)
			arg(q, "/proc/self/fd/%d", INITRD_AT);
		else
			arg(q, "%s", c->initrd);
	}
	if (c->append) {
		arg(q, "-append");
		arg(q, "%s", c->append);
	}
	if (c->disk) {
		char *path = listed(c->disk);

		arg(q, "-drive");
		arg(q, "if=%s,format=raw,%s,file=%s", c->log ? "none,id=image" : "virtio",
		    c->read_only ? "read-only=on" : "snapshot=on", path);
		free(path);
		if (c->log) {
			arg(q, "-drive");
			arg(q, "driver=blkreplay,if=none,image=image,id=disk%s",
			    c->read_only ? ",read-only=on" : "");
			arg(q, "-device");
			arg(q, "virtio-blk-pci,drive=disk");
		}
	}
	if (c->log) {
		arg(q, "-rtc");
		arg(q, "base=%s,clock=vm", c->began);
		arg(q, "-icount");
		arg(q, "shift=%d,rr=%s,rrfile=/proc/self/fd/%d", QEMU_NS_SHIFT,
		    c->log == QEMU_RECORD ? "record" : "replay", LOG_AT);
	}
	if (c->state) {
		arg(q, "-drive");
		arg(q, "if=none,id=state,format=qcow2,discard=unmap,file=/proc/self/fd/%d",
		    STATE_AT);
	}
	if (c->state && c->state->memory)
		arg(q, "-S");
	arg(q, "-chardev");
	arg(q, c->quiet && !c->input ? "null,id=console" : "stdio,id=console");
	arg(q, "-serial");
	arg(q, "chardev:console");
	arg(q, "-chardev");
	arg(q, "socket,id=events,fd=%d", q->events[1]);
	arg(q, "-mon");
	arg(q, "chardev=events,mode=control");
	arg(q, "-plugin");
	arg(q, "/proc/self/fd/%d,ring=%d,watch=%d,memory=%d%s", q->plugin_fd, q->ring_fd,
	    q->watch_fd, c->physical ? q->memory_fd : -1, warm);
}

static enum pm_status make_files(struct qemu *q, struct pm_err *err)
{
	const struct qs_plan *w = q->cfg->watch;
	size_t n = (size_t)(pm_qemu_plugin_end - pm_qemu_plugin);
	void *p;

	q->ring_fd = memfd_create("pugmark-ring", 0);	/* QEMU inherits these */
	q->plugin_fd = memfd_create("pugmark-plugin", 0);
	q->said_fd = memfd_create("pugmark-said", MFD_CLOEXEC);
	if (q->ring_fd < 0 || q->plugin_fd < 0 || q->said_fd < 0 ||
	    ftruncate(q->ring_fd, QS_SIZE) ||
	    write(q->plugin_fd, pm_qemu_plugin, n) != (ssize_t)n)
		return pm_fail_errno(err, "cannot make a memory file");
	if (w) {
		q->watch_fd = memfd_create("pugmark-watch", 0);
		if (q->watch_fd < 0 || write(q->watch_fd, w, sizeof *w) != (ssize_t)sizeof *w)
			return pm_fail_errno(err, "cannot make a memory file");
	}
	if (q->cfg->state) {
		q->memory_fd = dup(q->cfg->state->memory_fd);
		if (q->memory_fd < 0)
			return pm_fail_errno(err, "cannot make a memory file");
	} else if (q->cfg->physical || q->cfg->memory) {
		q->memory_fd = memfd_create("pugmark-memory", 0);
		if (q->memory_fd < 0 || ftruncate(q->memory_fd, (off_t)q->cfg->ram_size))
			return pm_fail_errno(err, "cannot make a memory file");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, q->events) ||
	    fcntl(q->events[0], F_SETFD, FD_CLOEXEC))
		return pm_fail_errno(err, "cannot make a pair of sockets");
	q->qmp.fd = q->events[0];
	if (!qmp_hello(&q->qmp))
		return pm_fail_errno(err, "cannot write to a pair of sockets");
	p = mmap(NULL, QS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, q->ring_fd, 0);
	if (p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map a memory file");
	q->ring = p;
	q->ring->magic = QS_MAGIC;
	q->copy = pm_alloc_unset(QS_BYTES);
	return PM_OK;
}

/* In the new process: the files of a run with a log go where its arguments say. */
static void place_files(const struct qemu_config *c)
{
	const int kernel = c->kernel_fd >= 0 ? c->kernel_fd : open(c->kernel, O_RDONLY),
		  initrd = !c->initrd || c->initrd_fd >= 0 ? c->initrd_fd
			   : open(c->initrd, O_RDONLY);

	if (kernel < 0 || dup2(kernel, KERNEL_AT) < 0 || dup2(c->log_fd, LOG_AT) < 0 ||
	    (c->state && dup2(c->state->image_fd, STATE_AT) < 0) ||
	    (c->initrd && (initrd < 0 || dup2(initrd, INITRD_AT) < 0)))
		_exit(127);
}

static enum pm_status start(struct qemu *q, struct pm_err *err)
{
	const struct qemu_config *c = q->cfg;
	const char *in = c->input ? c->input : c->quiet ? "/dev/null" : NULL;
	pid_t parent = getpid();

	make_args(q);
	q->pid = fork();
	if (q->pid < 0) {
		q->pid = 0;
		return pm_fail_errno(err, "cannot start a process");
	}
	if (q->pid)
		return PM_OK;
	/* whatever becomes of pugmark, QEMU does not outlive it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	if (in) {
		int fd = open(in, O_RDONLY);

		if (fd < 0 || dup2(fd, 0) < 0)
			_exit(127);
	}
	if (c->quiet)
		dup2(open("/dev/null", O_WRONLY), 1);
	else if (c->console_to_stderr)
		dup2(2, 1);
	if (c->log)
		place_files(c);
	dup2(q->said_fd, 2);
	execvp(q->arg[0], q->arg);
	_exit(127);
}

/* ---- while it runs --------------------------------------------------------------------------- */

static bool reaped(struct qemu *q, bool wait)
{
	pid_t got;

	if (!q->pid)
		return true;
	do
		got = waitpid(q->pid, &q->status, wait ? 0 : WNOHANG);
	while (got < 0 && errno == EINTR);
	if (got)
		q->pid = 0;
	return got;
}

/* Wait for the buffer behind @emptied. False: a while has passed. */
static bool wait_buffer(struct qs_ring *s, uint32_t emptied)
{
	const struct timespec while_ = { .tv_nsec = PM_TICK_MS * 1000000L };

	if (__atomic_load_n(&s->filled, __ATOMIC_ACQUIRE) != emptied)
		return true;
	syscall(SYS_futex, &s->filled, FUTEX_WAIT, emptied, &while_, NULL, 0);
	return __atomic_load_n(&s->filled, __ATOMIC_ACQUIRE) != emptied;
}

static void release_buffer(struct qs_ring *s, uint32_t emptied)
{
	__atomic_store_n(&s->emptied, emptied, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->emptied, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* What ends a run that is taking too long to end, or a replay that does not go on. */
static enum pm_status lose_patience(struct qemu *q, double *asked, double heard,
				    struct pm_err *err)
{
	if (*q->cfg->interrupted && !*asked) {
		*asked = pm_now();
		kill(q->pid, SIGTERM);
	} else if (*asked && pm_now() - *asked > PATIENCE) {
		kill(q->pid, SIGKILL);
	}
	if (q->cfg->log == QEMU_REPLAY && pm_now() - heard > STANDSTILL)
		return pm_fail_file(err, "the replay has stood still for %.0f seconds: its log is "
				    "another machine's", STANDSTILL);
	return PM_OK;
}

/* The buffer that is there, to @r or to nobody. */
static enum pm_status take_buffer(struct qemu *q, struct qs_reader *r, struct pm_err *err)
{
	struct qs_ring *s = q->ring;
	const uint32_t n = s->used[q->emptied % QS_BUFFERS];

	if (n > QS_WORDS)
		return pm_fail_file(err, "the plug-in's buffer has %u words", n);
	memcpy(q->copy, (char *)s + QS_HEADER + q->emptied % QS_BUFFERS * QS_BYTES, (size_t)n * 8);
	release_buffer(s, ++q->emptied);
	return r ? qs_read(r, q->copy, n, err) : PM_OK;
}

/* While QEMU is asked something: its processor may wait for room in the ring. */
static enum pm_status meanwhile(void *ctx, struct pm_err *err)
{
	struct qemu *q = ctx;
	enum pm_status st = PM_OK;

	while (st == PM_OK &&
	       __atomic_load_n(&q->ring->filled, __ATOMIC_ACQUIRE) != q->emptied)
		st = take_buffer(q, q->reader, err);
	if (st == PM_END)
		q->reader = NULL;	/* the limit is reached */
	if (st == PM_ERR)
		return PM_ERR;
	if (*q->cfg->interrupted)
		return pm_fail(err, 0, "interrupted");
	return pm_now() - q->asked_at < STANDSTILL ? PM_OK
	     : pm_fail_file(err, "has not answered for %.0f seconds", STANDSTILL);
}

static enum pm_status load_state(struct qemu *q, struct qs_reader *r, struct pm_err *err)
{
	const struct qemu_config *c = q->cfg;
	const char *file = err->file;
	enum pm_status st;

	if (!c->state || !c->state->memory)
		return PM_OK;
	err->file = program(c);
	q->reader = r;
	q->asked_at = pm_now();
	st = qemu_state_load(c->state, c->ram_size, c->log == QEMU_RECORD, &q->qmp, meanwhile, q,
			     err);
	if (st == PM_OK)
		err->file = file;
	return st;
}

/* If it is time to. */
static enum pm_status save_state(struct qemu *q, struct qs_reader *r, struct pm_err *err)
{
	struct qemu_state *s = q->cfg->state;
	const char *file = err->file;
	enum pm_status st;

	if (!s || !s->save_after || s->saved || !r ||
	    qs_reader_totals(r)->instructions < s->save_after)
		return PM_OK;
	err->file = program(q->cfg);
	q->reader = r;
	q->asked_at = pm_now();
	st = qemu_state_save(s, &q->qmp, meanwhile, q, err);
	if (st == PM_OK)
		err->file = file;
	return st;
}

/* Empty the ring until the plug-in ends, QEMU does, or the limit is reached: PM_END. @r: NULL:
 * nobody wants the words any more. */
static enum pm_status empty_ring(struct qemu *q, struct qs_reader *r, struct pm_pipeline *p,
				 double asked, struct pm_err *err)
{
	struct qs_ring *s = q->ring;
	enum pm_status st = PM_OK;
	double heard = pm_now();
	bool gone = false;

	if (r && !q->reader && q->asked_at)
		return PM_END;
	while (st == PM_OK) {
		if (*q->cfg->interrupted && r && q->cfg->log == QEMU_RECORD && !asked) {
			qs_reader_stop(r);	/* soon, and where a replay stops, too */
			asked = pm_now();
		}
		if (lose_patience(q, &asked, heard, err) != PM_OK)
			return PM_ERR;
		if (!wait_buffer(s, q->emptied)) {
			if (gone)
				return PM_END;
			gone = reaped(q, false);
			st = pm_pipeline_tick(p, err);
			continue;
		}
		heard = pm_now();
		st = take_buffer(q, r, err);
		if (st == PM_OK)
			st = save_state(q, r, err);
	}
	return st;
}

/* The trace has ended, and QEMU has not written all of its log: it is asked to end, unless it is
 * about to: a signal would then end it before that. */
static enum pm_status end_log(struct qemu *q, bool off, struct pm_pipeline *p, struct pm_err *err)
{
	enum pm_status st;

	if (!off && q->pid && !__atomic_load_n(&q->ring->ended, __ATOMIC_ACQUIRE))
		kill(q->pid, SIGTERM);
	st = empty_ring(q, NULL, p, pm_now() + LEISURE, err);
	if (st == PM_END && !q->pid && WIFSIGNALED(q->status))
		return pm_fail_file(err, "ended by signal %d (%s): its log is not whole",
				    WTERMSIG(q->status), strsignal(WTERMSIG(q->status)));
	return st;
}

/* ---- how it ended ---------------------------------------------------------------------------- */

/* The last line that QEMU wrote to its standard error. */
static void last_line(const struct qemu *q, char *to, size_t n)
{
	off_t size = lseek(q->said_fd, 0, SEEK_END);
	ssize_t got;
	char *line;

	*to = 0;
	got = pread(q->said_fd, to, n - 1, size > (off_t)n - 1 ? size - (off_t)n + 1 : 0);
	to[got > 0 ? got : 0] = 0;
	while (got > 0 && to[got - 1] == '\n')
		to[--got] = 0;
	line = strrchr(to, '\n');
	if (line)
		memmove(to, line + 1, strlen(line));
}

/* Did the machine end by a reset? QEMU has said so, and is gone. */
static bool was_reset(struct qemu *q)
{
	qmp_listen(&q->qmp);
	return q->qmp.was_reset;
}

static enum qemu_end judge(struct qemu *q, struct pm_err *ended)
{
	char line[160];

	last_line(q, line, sizeof line);
	ended->file = program(q->cfg);
	if (WIFSIGNALED(q->status))
		pm_fail_file(ended, "ended by signal %d (%s)%s%s", WTERMSIG(q->status),
			     strsignal(WTERMSIG(q->status)), *line ? ": " : "", line);
	else if (WEXITSTATUS(q->status))
		pm_fail_file(ended, "ended with status %d%s%s", WEXITSTATUS(q->status),
			     *line ? ": " : "", line);
	else if (was_reset(q))
		return QEMU_RESET;
	else if (!q->ring->ended)
		pm_fail_file(ended, "ended without its plug-in%s%s", *line ? ": " : "", line);
	return QEMU_POWERED_OFF;
}

static void release(struct qemu *q)
{
	if (q->pid) {
		kill(q->pid, SIGKILL);
		reaped(q, true);
	}
	if (q->ring)
		munmap(q->ring, QS_SIZE);
	for (unsigned i = 0; i < q->narg; i++)
		free(q->arg[i]);
	free(q->copy);
	qmp_release(&q->qmp);
	for (unsigned i = 0; i < 7; i++) {
		int fd = ((int[]){ q->ring_fd, q->plugin_fd, q->watch_fd, q->memory_fd,
				   q->said_fd, q->events[0], q->events[1] })[i];

		if (fd >= 0)
			close(fd);
	}
}

static bool is_saved(const struct qemu_config *cfg)
{
	return cfg->state && cfg->state->saved;
}

enum pm_status qemu_run(const struct qemu_config *cfg, struct qs_reader *r, struct pm_pipeline *p,
			enum qemu_end *how, struct pm_err *ended, struct pm_err *err)
{
	struct qemu q = {
		.cfg = cfg, .ring_fd = -1, .plugin_fd = -1, .watch_fd = -1, .memory_fd = -1,
		.said_fd = -1, .events = { -1, -1 },
	};
	enum pm_status st = make_files(&q, err);
	bool off, limit;

	if (st == PM_OK)
		st = start(&q, err);
	if (st == PM_OK)
		st = load_state(&q, r, err);
	if (st == PM_OK)
		st = empty_ring(&q, r, p, 0, err);
	if (st == PM_END) {
		st = PM_OK;
		__atomic_store_n(&q.ring->enough, 1, __ATOMIC_RELAXED);
		off = qs_reader_is_off(r);
		limit = (cfg->limit && qs_reader_totals(r)->instructions >= cfg->limit) ||
			is_saved(cfg);
		*how = off ? QEMU_POWERED_OFF : limit ? QEMU_LIMIT : QEMU_INTERRUPTED;
		if (cfg->log == QEMU_RECORD && q.pid)
			st = end_log(&q, off || is_saved(cfg), p, err) == PM_END ? PM_OK : PM_ERR;
		if (!limit && !off) {
			reaped(&q, true);
			if (!*cfg->interrupted)
				*how = judge(&q, ended);
		}
	}
	if (st == PM_OK && *how == QEMU_INTERRUPTED)
		pm_fail(ended, 0, "interrupted");
	release(&q);
	return st;
}
