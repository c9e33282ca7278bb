/* SPDX-License-Identifier: MIT */
/* session.c - the controller's loop: start the program, answer its threads, see it out */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/temp.h"
#include "collect/consume/trace.h"
#include "collect/control/check_calls.h"
#include "collect/control/checkpoint.h"
#include "collect/control/recorder.h"
#include "collect/control/stop_at.h"
#include "isa/x86/decode.h"

static enum pm_status session_open(struct session *s, struct pm_err *err)
{
	cpu_set_t cpus;

	if (rlimits_raise(s, err) != PM_OK || spaces_open(&s->spaces, err) != PM_OK)
		return PM_ERR;
	s->data_fd = memfd_create("pugmark-data", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->data_fd < 0)
		return pm_fail_errno(err, "cannot create shared memory");
	if (ftruncate(s->data_fd, (off_t)RT_DATA_SIZE))
		return pm_fail_errno(err, "cannot size shared memory");
	s->data = pm_map_shared(s->data_fd, RT_DATA_SIZE);
	if (!s->data)
		return pm_fail_errno(err, "cannot map shared memory");
	if (!pm_temp_seal(s->data_fd, 0))
		return pm_fail_errno(err, "cannot seal shared memory");
	s->head = (struct rt_session *)s->data;
	s->head->abi = RT_ABI;
	s->head->pid = (uint32_t)getpid();
	s->head->no_aslr = !s->opts->aslr;
	s->head->chaos = s->opts->chaos;
	s->head->checks = s->opts->checks;
	s->head->bare = s->spaces.bare;
	s->head->constants = s->spaces.edges;
	s->head->no_vdso = s->opts->no_vdso || s->opts->record;
	snprintf(s->pid_text, sizeof s->pid_text, "%d", getpid());
	s->block_used = pm_alloc(RT_BLOCKS);
	s->block_proc = pm_alloc(RT_BLOCKS * sizeof *s->block_proc);
	if (!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) > 1)
		s->spin = 600;
	return PM_OK;
}

static enum pm_status open_trace(struct session *s, struct pm_err *err)
{
	const struct trace_opts o = {
		.kind = s->opts->kind,
		.aslr = s->opts->aslr,
		.pipeline = s->opts->pipeline,
		.grow = s->opts->grow,
		.mem = &s->out->mem,
		.data = s->data,
		.head = s->head,
		.block_high = &s->block_high,
		.spaces = &s->spaces,
		.in_parts = s->opts->seams,
		.unwanted = s->opts->seams && !s->opts->seams->wanted,
		.interrupted = wake_interrupted,
	};

	return s->opts->kind == XL_PROFILE ? PM_OK : trace_open(&o, &s->tracer, err);
}

static void session_close(struct session *s)
{
	checkpoints_close(s);
	stops_close(s);
	pm_guard_last(PM_GUARD_SESSION, NULL, NULL);
	if (s->data && s->data != MAP_FAILED)
		__atomic_store_n(&s->head->closed, 1, __ATOMIC_SEQ_CST);
	rlimits_restore(s);
	wake_session_over();
	close(s->data_fd);
	for (size_t i = 0; i < NR(s->rt_fd); i++)
		close(s->rt_fd[i]);
	free(s->block_used);
	free(s->block_proc);
	for (size_t i = 0; i < s->nproc; i++)
		free(s->proc[i]);
	free(s->proc);
	pm_map_release(&s->watched);
	pm_buf_release(&s->unused_procs);
	x86_decoder_free(s->dec[0]);
	x86_decoder_free(s->dec[1]);
	for (size_t i = 0; i < s->nslots; i++)
		pm_map_release(&s->slots[i].to);
	free(s->slots);
	segments_release(s);
	gather_release(s);
	functions_close(s);
	cache_close(&s->spaces);
	spaces_close(&s->spaces);
	if (s->data && s->data != MAP_FAILED)
		munmap(s->data, RT_DATA_SIZE);
}

/* Wait for a request that may come very soon: as long as that has paid lately. True: there is
 * one. */
static bool spin(const struct session *s, uint32_t seen, uint32_t *eager)
{
	for (uint32_t i = 0; i < *eager; i++) {
		if (__atomic_load_n(&s->head->doorbell, __ATOMIC_RELAXED) != seen)
			break;
		__builtin_ia32_pause();
	}
	if (__atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST) != seen) {
		*eager = *eager * 2 < s->spin ? *eager * 2 : s->spin;
		return true;
	}
	*eager = *eager / 2 > s->spin / 32 ? *eager / 2 : s->spin / 32;
	return false;
}

/* Until somebody rings, or a tenth of a second has passed. */
static void sleep_on_doorbell(struct session *s, uint32_t seen)
{
	const struct timespec wait = { 0, 100000000 };

	__atomic_store_n(&s->head->asleep, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST) == seen)
		syscall(SYS_futex, &s->head->doorbell, FUTEX_WAIT, seen, &wait);
	__atomic_store_n(&s->head->asleep, 0, __ATOMIC_SEQ_CST);
}

static void interrupt_replay(struct session *s, int sig)
{
	s->interrupted = sig;
	replay_ends(s);
}

#define STUCK 3.0	/* seconds that somebody has been kept waiting */

/* What is sent to us is for the program. A program in which one thread keeps the others waiting for
 * ever, and so from their signals, has written over what is ours: it is ended, if that is what it
 * has been asked for. @asked, @since: 0 at first. */
static void pass_signal(struct session *s, bool *asked, double *since)
{
	const int sig = wake_signal();

	if (sig && s->opts->pid)
		s->detaching = true;
	else if (sig && s->replayer)
		interrupt_replay(s, sig);	/* what it gets is recorded */
	else if (sig && !s->root_done)
		kill(s->root, sig);
	*asked |= sig;
	if (!*asked || !s->kept_waiting)
		*since = 0;
	else if (!*since)
		*since = pm_now();
	else if (pm_now() > *since + STUCK && !s->root_done && s->root)
		kill(s->root, SIGKILL);
}

/* Leave all processes to themselves, once it is time for that. */
static void detach_in_time(struct session *s)
{
	const double after = s->opts->detach_after;
	double begun;

	if (after > 0 && !s->detached && pm_now() > s->begun + after)
		s->detaching = true;
	if (s->opts->pid && s->opts->enough && s->opts->enough(s->opts->enough_of))
		s->detaching = true;
	if (!s->detaching || s->detached)
		return;
	begun = pm_now();
	s->detached = detach(s);
	if (s->opts->stat)
		s->opts->stat(s->detached ? "detach us" : "detach later us",
			      (uint64_t)((pm_now() - begun) * 1e6));
}

#define GRACE 1.0	/* seconds that children may outlive the program before they are let go */
#define LEAVING 2.0	/* seconds until they have been, if they are traced */
#define BUSY_ROUNDS 64	/* who asks for ever does not keep us from the rest longer than that */

/* The program is over, and children go on that are still traced. Their traces end between two
 * instructions, if they can be detached from: 32-bit programs cannot. True: they are left. */
static bool leave_children(struct session *s, double since)
{
	if (!s->tracer || s->detached)
		return true;
	s->said_no_detach = s->detaching = true;
	detach_in_time(s);
	return s->detached || pm_now() > since + LEAVING;
}

static void loop(struct session *s)
{
	uint32_t eager = s->spin, rounds = 0;
	bool asked = false;
	double end = 0, stuck = 0;

	for (;;) {
		const uint32_t seen = __atomic_load_n(&s->head->doorbell, __ATOMIC_SEQ_CST);
		bool busy;

		s->head->beat++;
		if (s->spaces.ni386 && !s->tracer && pm_now() > s->sampled + GATHER_EVERY)
			gather_sample(s);
		busy = requests_answer(s);
		if (s->stops)
			stops_run(s);
		if (s->spaces.released) {
			s->spaces.released = false;
			continue;
		}
		if (busy && spin(s, seen, &eager) && ++rounds % BUSY_ROUNDS)
			continue;
		if (s->recorder) {
			record_drain_all(s);
			segments_watch(s);
		}
		if (s->replayer)
			replay_check_group(s);
		if (s->replayer && trace_failed(s->tracer))
			replay_ends(s);		/* nobody wants to know how it goes on */
		exec_reap(s);
		procs_finish_ended(s);
		if (s->spaces.released)
			continue;
		pass_signal(s, &asked, &stuck);
		detach_in_time(s);
		if (s->opts->pid && !session_running(s))
			return;
		if (s->root_done) {
			if (!session_running(s))
				return;
			if (!end)
				end = pm_now() + GRACE;
			else if (pm_now() > end && !s->replayer && leave_children(s, end))
				return;			/* replayed, each ends with its log */
		}
		sleep_on_doorbell(s, seen);
	}
}

static double tv(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* No process lives any more, but those that were let go. */
static void finish_processes(struct session *s)
{
	wake_program_over();
	procs_finish_ended(s);
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->pid) {
			s->proc[i]->let_go = s->proc[i]->pidfd >= 0;
			proc_finish(s, s->proc[i]);
		} else if (!s->proc[i]->gone)	/* prepared for a child that has not come */
			proc_discard(s, s->proc[i], s->proc[i]->log.block);
}

static enum pm_status replay_status(const struct session *s, struct pm_counts *c,
				    struct pm_err *err)
{
	const enum pm_status st = s->interrupted ?
		pm_fail_file(err, "interrupted by signal %d", s->interrupted) :
		replay_result(s, c, err);

	return stops_error(s) && st == PM_OK ? pm_fail_file(err, "%s", stops_error(s)) : st;
}

/* The program has ended, and all that is waited for. */
static enum pm_status finish(struct session *s, double start, struct pm_counts **out,
			     struct pm_err *err)
{
	enum pm_status trace_status;
	struct rusage self, kids;
	struct pm_counts *c;

	__atomic_store_n(&s->head->closed, 1, __ATOMIC_SEQ_CST);
	finish_processes(s);
	trace_status = trace_close(s->tracer, &s->out->trace_bytes, &s->out->trace_insns, err);
	c = *out = gather_counts(s);
	if (s->opts->follow_only && !c->nprocess && trace_status == PM_OK)
		trace_status = pm_fail_file(err, "--follow-only: no program that ran matches '%s'",
					    s->opts->follow_only);
	c->wall_s = pm_now() - start;
	cache_close(&s->spaces);
	getrusage(RUSAGE_SELF, &self);
	getrusage(RUSAGE_CHILDREN, &kids);
	c->user_s = tv(kids.ru_utime);
	c->sys_s = tv(kids.ru_stime);
	c->own_s = tv(self.ru_utime) + tv(self.ru_stime);
	c->status = c->signal = -1;
	if (s->opts->pid)
		return trace_status;
	c->status = WIFEXITED(s->root_status) ? WEXITSTATUS(s->root_status) : -1;
	c->signal = WIFSIGNALED(s->root_status) ? WTERMSIG(s->root_status) : -1;
	if (s->replayer && trace_status == PM_OK)
		trace_status = replay_status(s, c, err);
	replay_release(s);
	check_calls_report(s);
	check_calls_close(s);
	if (s->recorder && trace_status == PM_OK)
		trace_status = record_close(s, err);
	return trace_status;
}

static void report_stats(const struct session *s)
{
	char name[32];

	if (!s->opts->stat)
		return;
	for (unsigned i = 0; i <= RQ_LAST; i++) {
		snprintf(name, sizeof name, "requests %s", request_name(i));
		if (s->requests[i])
			s->opts->stat(name, s->requests[i]);
	}
	s->opts->stat("made own", s->spaces.nmade_own);
}

/* We die: those who are traced go on without us. They would wait for a controller that is there, if
 * only as a zombie. */
static void let_go(void *ctx, int sig, unsigned removed)
{
	const struct session *s = ctx;

	(void)sig, (void)removed;
	if (s->head)
		__atomic_store_n(&s->head->closed, 1, __ATOMIC_SEQ_CST);
}

static void close_unused(struct session *s)
{
	struct pm_err later = { 0 };
	uint64_t bytes, insns;

	trace_close(s->tracer, &bytes, &insns, &later);	/* its threads look at the session */
	check_calls_close(s);
	record_close(s, &later);
	replay_release(s);
	session_close(s);
	pm_keep(s->out);			/* what the error says may lie there */
}

static void session_init(struct session *s, const struct pm_run_opts *o)
{
	*s = (struct session){
		.opts = o,
		.thread = pthread_self(),
		.data_fd = -1,
		.rt_fd = { -1, -1 },
		.spaces = { .hooks = &session_hooks,
			    .warn = o->warn,
			    .code_fd = -1,
			    .kind = o->kind,
			    .records = o->kind != XL_PROFILE,
			    .edges = o->edges && o->kind == XL_PROFILE,
			    .tree = o->grow != NULL,
			    .strict_flags = o->strict_flags || o->stops,
			    .logged = o->record || o->replay,
			    .bare = o->record || (o->replay && o->bare),
			    .all_live = o->stops },
	};
	s->out = pm_alloc(sizeof *s->out);
}

/* The program runs. PM_ERR: the session is closed. */
static enum pm_status begin(struct session *s, bool goes_back, struct pm_err *err)
{
	const struct pm_run_opts *o = s->opts;
	const struct cache_opts cache = { .dir = o->cache_dir,
					  .limit = o->cache_limit,
					  .aslr = o->aslr };

	pm_guard();
	pm_guard_last(PM_GUARD_SESSION, let_go, s);
	if (session_open(s, err) != PM_OK ||
	    (!o->no_cache && cache_open(&s->spaces, &cache, err) != PM_OK) ||
	    open_trace(s, err) != PM_OK || record_open(s, err) != PM_OK) {
		close_unused(s);
		return PM_ERR;
	}
	/* What comes while the program is launched waits: it is the program's. That has the
	 * dispositions that were here before, so no handler of ours is set yet. */
	wake_hold_signals(&s->signals, s->head);
	s->begun = pm_now();
	check_calls_open(s);
	stops_open(s);
	if (goes_back)
		checkpoints_open(s);
	if ((o->pid ? attach : o->replay ? replay_launch : launch)(s, err) != PM_OK) {
		close_unused(s);
		wake_drop_signals(&s->signals);
		return PM_ERR;
	}
	wake_pass_signals(&s->signals);
	if (o->replay)
		wake_program_over();		/* keys are for us: it gets what is recorded */
	if (o->pid && o->stat)
		o->stat("attach us", (uint64_t)((pm_now() - s->begun) * 1e6));
	return PM_OK;
}

/* A replay has been interrupted by signal @sig, if that is not 0, and is over: so are we, if nobody
 * has said otherwise. */
static void heed(int sig)
{
	if (sig)
		raise(sig);
}

enum pm_status pm_run(const struct pm_run_opts *o, struct pm_counts **out, struct pm_err *err)
{
	struct session s;
	enum pm_status st;
	double start;

	*out = NULL;
	session_init(&s, o);
	if (begin(&s, false, err) != PM_OK)
		return PM_ERR;
	start = s.begun;
	s.begun = pm_now();
	if (o->pid)
		wake_program_over();	/* keys are for us: the program has its own terminal */
	loop(&s);
	st = finish(&s, start, out, err);
	report_stats(&s);
	wake_restore_signals(&s.signals);
	session_close(&s);
	heed(s.interrupted);
	return st;
}

/* ---- replays that are kept ------------------------------------------------------------------- */
struct pm_kept_replay {
	struct session s;
	struct pm_run_opts opts;
};

/* False: it has to begin anew. */
static bool go_back(struct pm_kept_replay *k)
{
	struct session *s = &k->s;
	bool went;

	pm_guard_last(PM_GUARD_SESSION, let_go, s);
	wake_hold_signals(&s->signals, s->head);
	stops_again(s);
	went = checkpoints_return(s);
	wake_pass_signals(&s->signals);
	wake_program_over();
	if (went)
		return true;
	wake_restore_signals(&s->signals);
	return false;
}

void pm_replay_close(struct pm_kept_replay *k)
{
	struct pm_counts *counts;
	struct pm_err past = { 0 };

	if (!k)
		return;
	k->s.spaces.warn = (struct pm_warn){ 0 };	/* it has been said */
	checkpoints_close(&k->s);
	finish(&k->s, k->s.begun, &counts, &past);
	session_close(&k->s);
	pm_counts_free(counts);
	free(k);
}

enum pm_status pm_replay_go(struct pm_kept_replay **kept, const struct pm_run_opts *o,
			    struct pm_err *err)
{
	struct pm_kept_replay *k = *kept;
	enum pm_status st;
	int sig;

	if (k) {
		k->opts.stops = o->stops;
		if (!go_back(k)) {
			pm_replay_close(k);
			k = *kept = NULL;
			o->stops->from(o->stops->self, NULL);
		}
	}
	if (!k) {
		k = pm_alloc(sizeof *k);
		k->opts = *o;
		session_init(&k->s, &k->opts);
		if (begin(&k->s, true, err) != PM_OK) {
			free(k);
			return PM_ERR;
		}
		*kept = k;
	}
	loop(&k->s);
	finish_processes(&k->s);
	st = replay_status(&k->s, k->s.out, err);
	sig = k->s.interrupted;
	wake_restore_signals(&k->s.signals);
	wake_session_over();
	pm_guard_last(PM_GUARD_SESSION, NULL, NULL);
	if (sig) {
		pm_replay_close(k);
		*kept = NULL;
	}
	heed(sig);
	return st;
}
