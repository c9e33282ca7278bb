/* SPDX-License-Identifier: MIT */
/* local.c - gangs in processes of their own, on this machine
 *
 * A gang that fails as a whole is cut in two, so that one bad configuration does not take the
 * others with it; alone, it gets a result that says how it failed. A gang that was killed from
 * outside has not failed: it comes again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/elapsed.h"
#include "base/sanitizer.h"
#include "sweep/sweep_launch.h"

#define KILLS	20			/* of one gang, before somebody should look */
#define CHANGES	5			/* of a trace while gangs read it */
#define OUTPUT	2000			/* bytes of standard error that a failure keeps */

struct gang_item {
	struct sweep_gang g;
	uint64_t mem;
	unsigned kills;
};

struct worker {
	struct gang_item it;
	pid_t pid;			/* 0: none */
	int output;
	double began;
	uint64_t oom;			/* kills for want of memory on this machine until then */
	struct sweep_report *report;	/* shared */
};

struct local {
	struct sweep_launch *l;
	struct worker *w;
	struct gang_item *again;		/* last first */
	size_t nagain, cap_again;
	struct gang_item *busy;		/* computed elsewhere: to be looked at later */
	size_t nbusy, cap_busy;
	struct sweep_gang last;
	bool over;			/* all gangs have been seen once */
	size_t next_only;
	uint64_t used, total;		/* bytes of memory */
	unsigned *changed;		/* by trace */
	struct sweep_stage *stage;
	double began;
	struct pm_err *err;
};

static uint64_t number_in(const char *path, const char *name)
{
	uint64_t v = 0;
	char line[256];
	FILE *f = fopen(path, "re");
	const size_t n = strlen(name);

	while (f && fgets(line, sizeof line, f))
		if (!*name || (!strncmp(line, name, n) && line[n] == ' ')) {
			v = strtoull(line + n, NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return v;
}

/* How often the kernel killed somebody for want of memory: here, or in our control group. */
static uint64_t oom_kills(void)
{
	char line[512], path[600];
	uint64_t n = number_in("/proc/vmstat", "oom_kill");
	FILE *f = fopen("/proc/self/cgroup", "re");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = 0;
			snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.events", line + 3);
			n += number_in(path, "oom_kill");
		}
	if (f)
		fclose(f);
	return n;
}

static uint64_t memory_there(void)
{
	struct sysinfo i;
	uint64_t limit = number_in("/sys/fs/cgroup/memory.max", "");
	uint64_t all = sysinfo(&i) ? 1ull << 32 : (uint64_t)i.totalram * i.mem_unit;

	return limit && limit < all ? limit : all;
}

/* ---- which gangs ---------------------------------------------------------------------------- */

static unsigned gang_size(const struct sweep_launch *l)
{
	const struct sweep_plan *p = l->p;
	uint64_t parts = (uint64_t)p->ntrace * p->nregion, chunks, n;

	if (l->gang)
		return l->gang;
	chunks = (4ull * (l->workers ? l->workers : 1) + parts - 1) / parts;
	n = (p->nconfig + chunks - 1) / chunks;
	if (n < SWEEP_GANG_LEAST)
		n = SWEEP_GANG_LEAST;
	return n < SWEEP_GANG_MOST ? (unsigned)n : SWEEP_GANG_MOST;
}

bool sweep_next_gang(const struct sweep_launch *l, struct sweep_gang *g)
{
	const struct sweep_plan *p = l->p;

	if (g->to == p->nconfig) {
		*g = (struct sweep_gang){ g->trace, g->region + 1, 0, 0 };
		if (g->region == p->nregion)
			*g = (struct sweep_gang){ .trace = g->trace + 1 };
	}
	if (g->trace >= p->ntrace)
		return false;
	g->from = g->to;
	g->to = g->from + gang_size(l);
	if (g->to > p->nconfig)
		g->to = p->nconfig;
	return true;
}

/* The next gang that nobody has seen to. False: that was all. */
static bool next_new(struct local *x, struct gang_item *it)
{
	struct sweep_launch *l = x->l;
	uint64_t missing;

	while (!x->over) {
		if (l->only) {
			if (x->next_only == l->nonly)
				break;
			it->g = l->only[x->next_only++];
		} else {
			if (!sweep_next_gang(l, &x->last))
				break;
			it->g = x->last;
		}
		it->mem = l->mem;
		it->kills = 0;
		missing = sweep_gang_missing(l->d, l->p, l->ids, &it->g, l->retry,
					     &l->progress.there_failed);
		l->progress.there += it->g.to - it->g.from - missing;
		if (missing)
			return true;
		if (l->stop && *l->stop)
			break;
	}
	x->over = true;
	return false;
}

static bool next_item(struct local *x, struct gang_item *it)
{
	if (x->nagain) {
		*it = x->again[--x->nagain];
		return true;
	}
	return next_new(x, it);
}

static void put_again(struct local *x, const struct gang_item *it)
{
	pm_grow(x->again, x->nagain, x->cap_again);
	x->again[x->nagain++] = *it;
}

static void halve(struct local *x, const struct gang_item *it)
{
	struct gang_item half = *it;
	uint64_t middle = it->g.from + (it->g.to - it->g.from) / 2;

	half.kills = 0;
	half.g.from = middle;
	put_again(x, &half);
	half.g = it->g;
	half.g.to = middle;
	put_again(x, &half);
}

/* ---- one gang ------------------------------------------------------------------------------- */

static void out_of_memory(size_t n)
{
	_exit(SWEEP_EXIT_MEMORY);
}

__attribute__((noreturn))
static void be_worker(struct local *x, struct worker *w, const char *path, pid_t parent)
{
	struct sweep_launch *l = x->l;
	struct sweep_gang_opts o = { .path = path, .retry = l->retry };
	struct rlimit limit = { w->it.mem, w->it.mem }, none = { 0, 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t all;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(SWEEP_EXIT_DONE);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(w->output, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &none);
	/* where a sanitizer's own memory would count nothing is limited */
	if (w->it.mem && !PM_SANITIZED)
		setrlimit(RLIMIT_DATA, &limit);
	pm_tell_no_memory(out_of_memory);
	_exit(sweep_gang_run(l->d, l->p, l->ids, &w->it.g, &o, w->report));
}

static enum pm_status start(struct local *x, struct worker *w, const struct gang_item *it)
{
	const char *path = NULL;
	const pid_t self = getpid();

	if (x->stage) {
		path = sweep_stage_get(x->stage, x->l->p, x->l->ids, it->g.trace, x->err);
		if (!path)
			return PM_ERR;
	}
	w->it = *it;
	w->began = pm_now();
	w->oom = oom_kills();
	w->output = memfd_create("stderr", MFD_CLOEXEC);
	memset(w->report, 0, sizeof *w->report);
	w->pid = fork();
	if (!w->pid)
		be_worker(x, w, path, self);
	if (w->pid < 0) {
		w->pid = 0;
		close(w->output);
		return pm_fail_errno(x->err, "cannot start a process");
	}
	x->used += it->mem;
	x->l->progress.running++;
	return PM_OK;
}

/* The end of what it wrote to standard error. */
static char *output_of(const struct worker *w)
{
	off_t n = lseek(w->output, 0, SEEK_END), from = n > OUTPUT ? n - OUTPUT : 0;
	char *text = pm_alloc(OUTPUT + 1);
	ssize_t got = n > 0 ? pread(w->output, text, OUTPUT, from) : 0;

	text[got > 0 ? got : 0] = 0;
	return text;
}

static enum pm_status record_failure(struct local *x, const struct worker *w, const char *cause,
				     const char *message, int sig, uint64_t peak)
{
	struct sweep_launch *l = x->l;
	char *output = output_of(w);
	struct sweep_failure f = {
		.cause = cause, .message = message, .output = output, .signal = sig, .peak = peak,
		.limit = w->it.mem, .insns = w->report->insns, .chunks = w->report->chunks,
	};
	enum pm_status s = sweep_gang_fail(l->d, l->p, l->ids, &w->it.g, &f, x->err);

	l->progress.failed++;
	sweep_dir_log(l->d, "gang %lld 0 0 1 0 0 %zu %zu %" PRIu64 " %" PRIu64,
		      (long long)time(NULL), w->it.g.trace, w->it.g.region, w->it.g.from,
		      w->it.g.to);
	free(output);
	return s;
}

static enum pm_status failed(struct local *x, const struct worker *w, const char *cause,
			     const char *message, int sig, uint64_t peak)
{
	if (w->it.g.to - w->it.g.from == 1)
		return record_failure(x, w, cause, message, sig, peak);
	halve(x, &w->it);
	return PM_OK;
}

static enum pm_status lacked_memory(struct local *x, struct worker *w, int sig, uint64_t peak)
{
	struct gang_item it = w->it;

	it.mem = it.mem ? 2 * it.mem : 0;
	if (!it.mem || w->it.mem >= x->l->mem_most)
		return failed(x, w, "memory", "it needs more memory than it may have", sig, peak);
	if (it.mem > x->l->mem_most)
		it.mem = x->l->mem_most;
	put_again(x, &it);
	return PM_OK;
}

static enum pm_status was_killed(struct local *x, struct worker *w, int sig)
{
	struct gang_item it = w->it;

	if (++it.kills == KILLS) {
		x->err->file = x->l->d->path;
		return pm_fail_file(x->err, "gang %zu %zu %" PRIu64 " %" PRIu64 " was killed %d "
				    "times, the last time by signal %d", it.g.trace, it.g.region,
				    it.g.from, it.g.to, KILLS, sig);
	}
	put_again(x, &it);
	return PM_OK;
}

static enum pm_status trace_changed(struct local *x, struct worker *w)
{
	struct sweep_launch *l = x->l;
	const struct sweep_trace *t = l->p->trace + w->it.g.trace;
	char text[400];

	if (++x->changed[w->it.g.trace] == CHANGES) {
		x->err->file = t->path;
		return pm_fail_file(x->err, "it changes again and again while it is read");
	}
	snprintf(text, sizeof text, "the trace %.100s has changed: its jobs have other keys now",
		 t->name);
	if (l->note)
		l->note(l->arg, text);
	if (sweep_trace_ids_renew(l->ids, l->p, w->it.g.trace, x->err) != PM_OK)
		return PM_ERR;
	put_again(x, &w->it);
	return PM_OK;
}

static enum pm_status ended(struct local *x, struct worker *w, int status, const struct rusage *u)
{
	const struct sweep_report *r = w->report;
	struct sweep_progress *to = &x->l->progress;
	const uint64_t peak = (uint64_t)u->ru_maxrss << 10;
	char text[80];
	int sig;

	to->computed += r->computed;
	to->failed += r->failed;
	sweep_dir_log(x->l->d, "gang %lld %.6f %" PRIu64 " %" PRIu64 " %" PRIu64 " %ld %zu %zu %"
		      PRIu64 " %" PRIu64, (long long)time(NULL), pm_now() - w->began, r->computed,
		      r->failed, r->insns, u->ru_maxrss, w->it.g.trace, w->it.g.region,
		      w->it.g.from, w->it.g.to);
	if (WIFEXITED(status))
		switch (WEXITSTATUS(status)) {
		case SWEEP_EXIT_DONE:
			if (r->busy && !x->l->skip_busy) {
				pm_grow(x->busy, x->nbusy, x->cap_busy);
				x->busy[x->nbusy++] = w->it;
			}
			return PM_OK;
		case SWEEP_EXIT_DISK:
			if (!*r->message)
				break;
			x->err->file = NULL;
			return pm_fail_file(x->err, "%.230s", r->message);
		case SWEEP_EXIT_CHANGED:
			return trace_changed(x, w);
		case SWEEP_EXIT_MEMORY:
			return lacked_memory(x, w, 0, peak);
		case SWEEP_EXIT_SINGLY:
			return failed(x, w, "simulator", "it gave up", 0, peak);
		}
	if (WIFEXITED(status)) {
		snprintf(text, sizeof text, "it ended with status %d", WEXITSTATUS(status));
		return failed(x, w, "crash", text, 0, peak);
	}
	sig = WTERMSIG(status);
	if (sig == SIGKILL && oom_kills() > w->oom)
		return lacked_memory(x, w, sig, peak);
	if (sig == SIGKILL || sig == SIGTERM || sig == SIGINT || sig == SIGHUP)
		return was_killed(x, w, sig);
	snprintf(text, sizeof text, "it was ended by signal %d", sig);
	return failed(x, w, "crash", text, sig, peak);
}

/* Those that have ended. */
static enum pm_status reap(struct local *x)
{
	enum pm_status s = PM_OK;

	for (unsigned i = 0; i < x->l->workers; i++) {
		struct worker *w = x->w + i;
		struct rusage u;
		int status;

		if (!w->pid || wait4(w->pid, &status, WNOHANG, &u) <= 0)
			continue;
		w->pid = 0;
		x->used -= w->it.mem;
		x->l->progress.running--;
		if (!s)
			s = ended(x, w, status, &u);
		close(w->output);
	}
	return s;
}

static void kill_all(struct local *x)
{
	for (unsigned i = 0; i < x->l->workers; i++)
		if (x->w[i].pid)
			kill(x->w[i].pid, SIGKILL);
	for (unsigned i = 0; i < x->l->workers; i++)
		if (x->w[i].pid) {
			waitpid(x->w[i].pid, NULL, 0);
			close(x->w[i].output);
			x->w[i].pid = 0;
		}
}

static enum pm_status start_some(struct local *x)
{
	for (unsigned i = 0; i < x->l->workers; i++) {
		struct gang_item it;

		if (x->w[i].pid)
			continue;
		if (!next_item(x, &it))
			return PM_OK;
		if (x->l->progress.running && x->used + it.mem > x->total) {
			put_again(x, &it);
			return PM_OK;
		}
		if (start(x, x->w + i, &it) != PM_OK)
			return PM_ERR;
	}
	return PM_OK;
}

static void tell(struct local *x)
{
	x->l->progress.seconds = pm_now() - x->began;
	if (x->l->tell)
		x->l->tell(x->l->arg, &x->l->progress);
}

static enum pm_status work(struct local *x)
{
	const struct timespec tick = { 0, 200000000 };
	const struct sweep_launch *l = x->l;
	enum pm_status s = PM_OK;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	while (!s && !(l->stop && *l->stop)) {
		s = start_some(x);
		if (s || (x->over && !x->nagain && !x->nbusy && !l->progress.running))
			break;
		if (x->over && !x->nagain && !l->progress.running) {
			/* what others compute; if they die, it is ours */
			poll(NULL, 0, 300);
			for (; x->nbusy; x->nbusy--)
				put_again(x, x->busy + x->nbusy - 1);
		} else {
			sigtimedwait(&child, NULL, &tick);
		}
		s = reap(x);
		tell(x);
	}
	return s;
}

enum pm_status sweep_run_local(struct sweep_launch *l, struct pm_err *err)
{
	struct local x = { .l = l, .began = pm_now(), .total = memory_there(), .err = err };
	sigset_t child, old;
	enum pm_status s;

	if (!l->workers)
		l->workers = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	if (!l->mem)
		l->mem = x.total / l->workers;
	if (!l->mem_most)
		l->mem_most = x.total > l->mem ? x.total : l->mem;
	l->progress = (struct sweep_progress){ .jobs = l->p->njob };
	for (size_t i = 0; l->only && i < l->nonly; i++)
		l->progress.jobs = (i ? l->progress.jobs : 0) + l->only[i].to - l->only[i].from;
	x.w = pm_alloc(l->workers * sizeof *x.w);
	x.changed = pm_alloc(l->p->ntrace * sizeof *x.changed);
	x.stage = l->stage ? sweep_stage_new(l->stage, l->p->ntrace) : NULL;
	for (unsigned i = 0; i < l->workers; i++) {
		x.w[i].report = mmap(NULL, sizeof *x.w[i].report, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (x.w[i].report == MAP_FAILED)
			pm_out_of_memory(sizeof *x.w[i].report);
	}
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &old);
	s = work(&x);
	kill_all(&x);
	sigprocmask(SIG_SETMASK, &old, NULL);
	tell(&x);
	for (unsigned i = 0; i < l->workers; i++)
		munmap(x.w[i].report, sizeof *x.w[i].report);
	sweep_stage_free(x.stage);
	free(x.w);
	free(x.again);
	free(x.busy);
	free(x.changed);
	return s;
}
