/* SPDX-License-Identifier: MIT */
/* recorder.c - what a recorded process logs goes into the recording */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/control/check_calls.h"
#include "collect/control/recorder.h"
#include "collect/control/remote.h"
#include "collect/record/nr_i386.h"
#include "collect/record/recording.h"

#define PAGE 4096u

struct known_file {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed;
	bool kept;
	uint64_t from, to;		/* what of it was kept last */
};

struct recorder {
	struct rec_writer *w;
	struct known_file *file;
	size_t nfile, cap_file;
	uint32_t nstream;
	uint8_t *piece;			/* for rec_check_file() */
	double passed;			/* when pass_turn() did so last */
	double drained;			/* when all logs were written last */
	bool lost;			/* perhaps any_lost() */
};

enum pm_status record_open(struct session *s, struct pm_err *err)
{
	struct rec_writer *w;

	if (!s->opts->record)
		return PM_OK;
	w = rec_create(s->opts->record, err);
	if (!w)
		return PM_ERR;
	s->recorder = pm_alloc(sizeof *s->recorder);
	s->recorder->w = w;
	s->recorder->piece = pm_alloc_unset(REC_CHECK_PIECE);
	return PM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */
static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* Programs and libraries of the system stay as they are for a while, and are many. */
static bool is_systems(const char *path)
{
	static const char *const dirs[] = { "/usr/", "/lib", "/bin/", "/sbin/", "/opt/", "/nix/",
		"/gnu/" };

	for (size_t i = 0; i < NR(dirs); i++)
		if (!strncmp(path, dirs[i], strlen(dirs[i])))
			return strncmp(path, "/usr/local/", 11);
	return false;
}

/* 1 + its number; 0: it cannot be read. */
static uint32_t add_file(struct session *s, int fd, const struct stat *st, const char *path)
{
	struct recorder *r = s->recorder;
	const bool elf = is_elf(fd);
	const bool nameless = !st->st_nlink;	/* nobody finds it again */
	struct known_file k = { st->st_dev, st->st_ino, st->st_size, st->st_ctim,
				s->opts->portable || !elf || nameless ||
				(!s->opts->lean && !is_systems(path)) };
	struct rec_file f = { path, (uint64_t)st->st_size, 0, k.kept };

	/* what is written to memory by a mapping does not change the file's time */
	for (size_t i = 0; i < r->nfile && !peek_is_memory(path); i++)
		if (r->file[i].dev == k.dev && r->file[i].ino == k.ino &&
		    r->file[i].size == k.size &&
		    r->file[i].changed.tv_sec == k.changed.tv_sec &&
		    r->file[i].changed.tv_nsec == k.changed.tv_nsec)
			return (uint32_t)i + 1;
	if (elf && !rec_check_file(fd, f.size, r->piece, &f.check))
		return 0;
	rec_file(r->w, (uint32_t)r->nfile, &f);
	pm_grow(r->file, r->nfile, r->cap_file);
	r->file[r->nfile++] = k;
	return (uint32_t)r->nfile;
}

static bool keep_part(struct session *s, uint32_t number, int fd, uint64_t off, uint64_t n)
{
	struct known_file *f = &s->recorder->file[number];
	const uint64_t size = (uint64_t)f->size;
	uint8_t *buf;
	bool ok = true;

	if (off >= size)
		return true;
	n = n < size - off ? n : size - off;
	if (off >= f->from && off + n <= f->to)
		return true;			/* every program maps some files */
	f->from = off;
	f->to = off + n;
	buf = pm_alloc_unset(n < 1 << 22 ? n : 1 << 22);
	while (n && ok) {
		const ssize_t got = pread(fd, buf, n < 1 << 22 ? n : 1 << 22, (off_t)off);

		ok = got > 0;
		if (!ok)
			break;
		rec_data(s->recorder->w, number, off, buf, (size_t)got);
		off += (uint64_t)got;
		n -= (uint64_t)got;
	}
	free(buf);
	return ok;
}

/* 1 + the number of the file @fd, of which [off, off + n) is mapped; 0: it cannot be recorded. */
static uint32_t record_file(struct session *s, int fd, uint64_t off, uint64_t n, const char *path)
{
	struct stat st;
	uint32_t number;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	number = add_file(s, fd, &st, path);
	if (number && s->recorder->file[number - 1].kept &&
	    !keep_part(s, number - 1, fd, off, n))
		return 0;
	return number;
}

/* ---- what the program begins with ------------------------------------------------------------ */
struct beginning {
	struct session *s;
	pid_t pid;
	struct rec_map *map;
	struct rec_part *part;
	size_t nmap, cap_map, npart, cap_part;
	struct pm_buf bytes;		/* of the parts, one behind the other */
	struct pm_arena mem;
};

/* The page at @at is not what a new mapping has there: @p. */
static void add_page(struct beginning *b, uint64_t at, const uint8_t *p)
{
	struct rec_part *last = b->npart ? &b->part[b->npart - 1] : NULL;

	pm_buf_add(&b->bytes, p, PAGE);
	if (last && last->at + last->n == at && last->at >= b->map[b->nmap - 1].lo) {
		last->n += PAGE;
		return;
	}
	pm_grow(b->part, b->npart, b->cap_part);
	b->part[b->npart++] = (struct rec_part){ .at = at, .n = PAGE };
}

/* All of them are there: where each lies stays now. */
static void place_parts(struct beginning *b)
{
	const uint8_t *p = b->bytes.p;

	for (size_t i = 0; i < b->npart; i++) {
		b->part[i].p = p;
		p += b->part[i].n;
	}
}

/* Of [@at, @at + @n): false: some of it cannot be read. */
static bool add_pages(struct beginning *b, const struct mapping *x, int fd, uint64_t at, size_t n)
{
	uint8_t now[16 * PAGE], was[sizeof now];
	ssize_t got = 0;

	if (!peek_read(b->pid, now, at, n))
		return false;
	if (fd >= 0)
		got = pread(fd, was, n, (off_t)(x->off + (at - x->lo)));
	if (got < 0)
		got = 0;
	memset(was + got, 0, n - (size_t)got);
	for (size_t i = 0; i < n; i += PAGE)
		if (memcmp(now + i, was + i, PAGE))
			add_page(b, at + i, now + i);
	return true;
}

/* Contents of private memory, where they are not those of the file or 0. */
static void add_contents(struct beginning *b, const struct mapping *x, int fd)
{
	for (uint64_t at = x->lo, n; at < x->hi; at += n) {
		n = x->hi - at < 16 * PAGE ? x->hi - at : 16 * PAGE;
		if (!add_pages(b, x, fd, at, n))
			for (uint64_t i = 0; i < n; i += PAGE)
				add_pages(b, x, fd, at + i, PAGE);
	}
}

static bool add_map(struct beginning *b, const struct mapping *x)
{
	struct rec_map m = { x->lo, x->hi, x->ino ? x->off : 0, x->prot & 7,
			     x->shared ? RT_START_SHARED : 0, 0 };
	int fd = -1;

	if (!strcmp(x->path, "[stack]"))
		m.flags |= RT_START_STACK;
	if (x->ino) {
		fd = maps_open(b->pid, x);
		if (fd >= 0)
			m.file = record_file(b->s, fd, x->off, x->hi - x->lo, x->path);
		if (!m.file) {
			close(fd);
			return false;
		}
	}
	pm_grow(b->map, b->nmap, b->cap_map);
	b->map[b->nmap++] = m;
	if (x->prot & PROT_WRITE)
		add_contents(b, x, fd);
	if (fd >= 0)
		close(fd);
	return true;
}

static bool is_kernels(const struct mapping *x)
{
	return x->lo >> 63 || !strncmp(x->path, "[v", 2);	/* vdso, vvar, vsyscall */
}

/* The arguments of @pid, in @mem. */
static const char *const *read_argv(pid_t pid, struct pm_arena *mem)
{
	char path[64], *text = pm_arena_alloc(mem, 1 << 16);
	const char **argv;
	size_t got = 0, n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		got = fread(text, 1, (1 << 16) - 1, f);
		fclose(f);
	}
	for (size_t i = 0; i < got; i++)
		n += !text[i];
	argv = pm_arena_alloc(mem, (n + 2) * sizeof *argv);
	n = 0;
	for (size_t i = 0; i < got; i += strlen(text + i) + 1)
		argv[n++] = text + i;
	return argv;
}

static uint64_t stack_limit(pid_t pid)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

	prlimit(pid, RLIMIT_STACK, NULL, &l);
	return l.rlim_cur;
}

bool record_begin(struct session *s, pid_t pid, uint32_t block, const struct user_regs_struct *regs,
		  uint64_t mask, bool exec_all, char *why, size_t n)
{
	struct beginning b = { .s = s, .pid = pid };
	struct proc *p = s->proc[s->block_proc[block] - 1];
	struct rec_start start = { .pid = (uint32_t)pid, .parent = p->parent, .sp = regs->rsp,
				   .pc = regs->rip, .rax = regs->rax, .rdx = regs->rdx,
				   .mask = mask, .from = p->from, .i386 = p->user.space->i386,
				   .exec_all = exec_all, .stack_limit = stack_limit(pid) };
	struct peek_status st;
	char dir[32];
	struct maps all = { 0 };
	bool ok;

	if (s->recorder->nstream && !p->from) {		/* its recording is over already */
		session_block(s, block)->logged = RT_LOG_OVER;
		return true;
	}
	snprintf(dir, sizeof dir, "/proc/%d", pid);
	peek_status(dir, &st);
	ok = maps_read(pid, &all);
	for (size_t i = 0; ok && i < all.n; i++) {
		if (is_kernels(&all.v[i]))
			continue;
		ok = add_map(&b, &all.v[i]) && b.nmap < RT_START_MAPS;
		if (!ok)
			snprintf(why, n, "'%s' is mapped, and cannot be read", all.v[i].path);
	}
	if (ok) {
		place_parts(&b);
		start.ignored = st.ignored;
		start.program = p->user.program ? p->user.program : "?";
		start.argv = read_argv(pid, &b.mem);
		start.map = b.map;
		start.nmap = b.nmap;
		start.part = b.part;
		start.npart = b.npart;
		rec_start(s->recorder->w, s->recorder->nstream, &start);
		p->stream = ++s->recorder->nstream;
		session_block(s, block)->logged = RT_LOG_RECORD;
	}
	maps_release(&all);
	free(b.map);
	free(b.part);
	pm_buf_release(&b.bytes);
	pm_arena_release(&b.mem);
	return ok;
}

/* ---- the log --------------------------------------------------------------------------------- */
void record_logged(struct session *s, struct proc *p)
{
	const struct rt_block *b = session_block(s, p->log.block);
	const uint8_t *log = log_bytes(s, p);
	const uint64_t at = __atomic_load_n(&b->log_at, __ATOMIC_ACQUIRE);

	if (p->log.over || at > log_size(p) || at <= p->log.drained)
		return;
	rec_log(s->recorder->w, p->stream - 1, log + p->log.drained,
		(size_t)(at - p->log.drained));
	check_calls_log(s, p, log + p->log.drained, (size_t)(at - p->log.drained));
	p->log.drained = at;
}

#define PATIENCE 2.0	/* seconds that a signal may wait for a place where it can be given */
#define PASS_EVERY 0.02	/* seconds */

/* A program may wait for a signal that waits for a call or a safepoint. */
static void hurry(struct session *s, struct proc *p)
{
	const uint64_t nlogged = session_block(s, p->log.block)->nlogged;
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = SI_QUEUE };
	const struct thread *t = NULL;

	for (size_t i = 0; i < p->nthread && !t; i++)
		if (p->thread[i].live && session_block(s, p->thread[i].block)->deferred)
			t = &p->thread[i];
	if (!t || nlogged != p->log.nlogged || p->log.since <= 0) {
		p->log.nlogged = nlogged;
		p->log.since = pm_now();
	} else if (pm_now() > p->log.since + PATIENCE) {
		p->log.since = pm_now();
		info.si_pid = getpid();
		info.si_int = RT_LOG_GIVE_UP;
		syscall(SYS_rt_tgsigqueueinfo, p->pid, t->tid, SIGTRAP, &info);
	}
}

/* Is there a thread that is no more, and those who have its memory have not logged that? */
static bool any_lost(struct session *s)
{
	for (uint32_t i = 1; i < s->block_high; i++)
		if (s->block_used[i] == BLOCK_HELD && session_block(s, i)->lost)
			return true;
	return false;
}

/* Robust locks have lost their owner, or somebody who had the same memory is no more; and who waits
 * for that may be all that is left: one that sleeps in futex() takes its turn. */
static void pass_turn(struct session *s)
{
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = SI_QUEUE };
	const uint32_t *v = (const uint32_t *)(const void *)((uint8_t *)s->head + RT_HOLDERS);
	const uint32_t n = __atomic_load_n(&s->head->nholder, __ATOMIC_ACQUIRE);
	bool dead = false;

	for (uint32_t i = 0; i < n && i < RT_BLOCKS && !dead; i++)
		dead = v[i] < RT_BLOCKS && session_block(s, v[i])->alive.lock & FUTEX_OWNER_DIED;
	if ((!dead && !s->recorder->lost) || pm_now() < s->recorder->passed + PASS_EVERY)
		return;
	s->recorder->passed = pm_now();
	s->recorder->lost = any_lost(s);
	info.si_pid = getpid();
	info.si_int = RT_LOG_TAKE_TURN;
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		p->misses_lost &= s->recorder->lost;
		if (!record_logger(p)->stream || !p->pid || p->gone)
			continue;
		for (size_t k = 0; k < p->nthread; k++) {
			const struct thread *t = &p->thread[k];
			const struct rt_block *b = session_block(s, t->block);

			if (t->live && t->tid && b->token_free &&
			    remote_is_futex(p->mm->user.space->i386, b->syscall) &&
			    (dead ? session_block(s, p->log.block)->group_member :
				    p->misses_lost))
				syscall(SYS_rt_tgsigqueueinfo, p->pid, t->tid, SIGTRAP, &info);
		}
	}
}

/* Whoever may change the limit of @p's stack: the program uses more of it as soon as it likes. */
static void watch_stack(struct session *s, struct proc *p)
{
	const uint64_t now = stack_limit((pid_t)p->pid);

	if (p->log.stack_limit && now != p->log.stack_limit)
		session_block(s, p->log.block)->stack_limit = now;
	p->log.stack_limit = now;
}

#define DRAIN_EVERY 0.02	/* seconds; a chunk for each request would be many small ones */

void record_drain_all(struct session *s)
{
	const bool due = pm_now() > s->recorder->drained + DRAIN_EVERY;

	if (due)
		s->recorder->drained = pm_now();
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *p = s->proc[i];

		if (!p->stream || p->gone || p->log.over || !p->nthread || !p->pid)
			continue;
		if (due) {
			record_logged(s, p);
			watch_stack(s, p);
		}
		hurry(s, p);
	}
	if (s->head->nholder || s->recorder->lost)
		pass_turn(s);
}

/* What @p, which is in the group, does to shared memory from here on is not recorded. */
static void stop_group(struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *q = s->proc[i];

		if (q != p && q->stream && q->pid && !q->gone && !q->log.over &&
		    session_block(s, q->log.block)->group_member)
			record_stop(s, q, RT_END_GROUP, p->pid);
	}
}

static void write_end(struct session *s, struct proc *p, enum rec_end why, uint64_t more)
{
	if (!p->log.over)
		rec_end(s->recorder->w, p->stream - 1, why, more,
			p->log.handed ? p->log.status : p->status,
			p->log.handed ? p->log.signal : p->signal);
	p->log.over = true;
}

/* ---- who of a group has ended ---------------------------------------------------------------- */
/* What of @p's log stands in its block is looked through, for what free_group() has to know. */
static void note_logged(struct session *s, struct proc *p)
{
	const struct rt_block *b = session_block(s, p->log.block);
	const uint8_t *log = log_bytes(s, p);
	const uint64_t end = __atomic_load_n(&b->log_at, __ATOMIC_ACQUIRE);

	for (uint64_t at = 0; end <= log_size(p) && end - at >= sizeof p->log.last && at < end; ) {
		memcpy(&p->log.last, log + at, sizeof p->log.last);
		if (p->log.last.type == RT_E_GROUP && p->log.last.a[2])
			p->log.turn = (uint32_t)p->log.last.a[2];
		if (p->log.last.size < sizeof p->log.last || p->log.last.size > end - at)
			return;
		at += p->log.last.size;
	}
}

/* Has the program perhaps executed since @p's last event? Not where it gave the token up, nor
 * where it has it again but what its call did is not logged yet. */
static bool may_have_executed(const struct proc *p)
{
	const struct rt_event *e = &p->log.last;
	const unsigned exits = p->mm->user.space->i386 ? NR32_exit_group : SYS_exit_group;

	if (e->type == RT_E_GROUP)
		return e->a[2] && e->nr != RT_PLACE_CALL;
	return e->type != RT_E_DATA && !(e->type == RT_E_CALL && e->nr == exits);
}

/* @p, which has ended, may have had the group's token. If it took that and has not logged it, then
 * it has executed nothing since: the turn was none, and the number is the next one's. */
static void free_group(struct session *s, struct proc *p)
{
	uint64_t *const at = &s->head->group, state = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	const bool had = (uint32_t)state == p->log.block;
	uint32_t number = (uint32_t)(state >> 32);

	if (((uint32_t)state & ~RT_GROUP_FREE) != p->log.block)
		return;
	note_logged(s, p);
	if (number != p->log.turn)
		number--;
	else if (had && !p->log.over && may_have_executed(p))
		stop_group(s, p);	/* nobody knows what it has written last */
	if (__atomic_compare_exchange_n(at, &state, (uint64_t)number << 32, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, at, FUTEX_WAKE, INT32_MAX);
}

void record_over(struct session *s, struct proc *p)
{
	const bool lost = p->execing && !p->execed;

	if (!s->recorder || !p->stream)
		return;
	if (lost && !p->log.over)
		pm_warn(&s->spaces.warn, "process %u executes another program: what that does is "
			"not in the recording", p->pid);
	free_group(s, p);
	record_logged(s, p);
	write_end(s, p, lost || p->execed ? REC_EXECED :
		  (p->log.handed ? p->log.signal : p->signal) > 0 ? REC_KILLED : REC_EXITED, 0);
}

/* ---- processes that have the same memory ----------------------------------------------------- */
struct proc *record_logger(struct proc *p)
{
	return p->logger ? p->logger : p;
}

/* Has it been killed, or ended by a signal? Its threads have not said that they end. */
static bool is_killed(struct session *s, const struct proc *p)
{
	bool live = false, leaves = false;

	for (size_t i = 0; i < p->nthread; i++) {
		live |= p->thread[i].live;
		leaves |= p->thread[i].live && session_block(s, p->thread[i].block)->leaving;
	}
	return live && !leaves;
}

/* Those who keep the memory of @p do without its threads from now on (runtime/token.c), and log
 * that. @stream: where it executes another program. */
static void mark_lost(struct session *s, struct proc *p, enum rt_lost how, uint32_t stream)
{
	for (size_t i = 0; i < p->nthread; i++) {
		struct rt_block *b = session_block(s, p->thread[i].block);

		if (!p->thread[i].live || b->lost)
			continue;
		b->lost_stream = stream;
		__atomic_store_n(&b->lost, how, __ATOMIC_RELEASE);
	}
	s->recorder->lost = true;
}

/* Does somebody log with @p, in whose log that may be? */
static bool is_shared(const struct session *s, const struct proc *p)
{
	for (size_t i = 0; i < s->nproc; i++)
		if (s->proc[i]->logger == p && !s->proc[i]->gone)
			return true;
	return p->logger;
}

uint32_t record_executes(struct session *s, struct proc *p)
{
	struct proc *const logger = record_logger(p);
	const char *const none[] = { NULL };
	const struct rec_start start = { .parent = p->parent, .from = logger->stream, .program = "",
					 .i386 = p->mm->user.space->i386, .argv = none };
	uint32_t stream;

	if (!s->recorder || logger->log.over || !logger->stream)
		return 0;
	if (!is_shared(s, p))
		return p->stream;
	stream = s->recorder->nstream++;
	rec_start(s->recorder->w, stream, &start);
	rec_end(s->recorder->w, stream, REC_EXECED, 0, -1, -1);
	mark_lost(s, p, RT_LOST_EXECUTES, stream + 1);
	return stream + 1;
}

void record_leaves(struct session *s, struct proc *p)
{
	struct proc *heir = NULL, *const logger = record_logger(p);

	for (size_t i = 0; i < s->nproc; i++) {
		struct proc *q = s->proc[i];

		if (q == p || q->logger != p || q->gone)
			continue;
		heir = heir ? heir : q;
		q->logger = q == heir ? NULL : heir;
	}
	if (!s->recorder || !logger->stream || (logger == p && !heir))
		return;
	if (is_killed(s, p) && !logger->log.over)
		mark_lost(s, p, RT_LOST_KILLED, 0);
	for (size_t i = 0; i < s->nproc; i++)
		s->proc[i]->misses_lost |= s->recorder->lost && s->proc[i] != p &&
				      record_logger(s->proc[i]) == (heir ? heir : logger);
	p->logger = NULL;
	if (!heir)
		return;
	heir->stream = p->stream;
	heir->log = p->log;
	if (!heir->log.handed) {
		heir->log.handed = true;
		heir->log.status = p->status;
		heir->log.signal = p->signal;
	}
	p->stream = 0;
}

uint32_t record_child(struct session *s, struct proc *p, struct proc *child)
{
	const char *const none[] = { NULL };
	const struct rec_start start = { .parent = p->pid, .from = p->stream, .program = "",
					 .i386 = p->user.space->i386, .argv = none };

	if (!p->stream || p->log.over)
		return 0;
	rec_start(s->recorder->w, s->recorder->nstream, &start);
	child->stream = ++s->recorder->nstream;
	return child->stream;
}

void record_full(struct session *s, struct proc *p)
{
	record_logged(s, p);
	if (session_block(s, p->log.block)->group_member)
		note_logged(s, p);
	session_block(s, p->log.block)->log_at = 0;
	p->log.drained = 0;
}

uint32_t record_mapped(struct session *s, const char *link, uint64_t off, uint64_t n)
{
	char path[4096];
	uint32_t number;
	int fd;

	if (!peek_link(link, path))
		return 0;
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	number = record_file(s, fd, off, n, path);
	close(fd);
	return number;
}

/* What of [off, off + n) of file @st is in @m, shared: *lo and *hi, of the file. */
static bool maps_part(const struct mapping *m, const struct stat *st, uint64_t off, uint64_t n,
		      uint64_t *lo, uint64_t *hi)
{
	const uint64_t behind = off + n < off ? UINT64_MAX : off + n;
	const uint64_t end = m->off + (m->hi - m->lo);

	*lo = off > m->off ? off : m->off;
	*hi = behind < end ? behind : end;
	return m->shared && m->ino == st->st_ino && m->dev == st->st_dev && *lo < *hi;
}

bool record_shares(struct session *s, const char *link, uint64_t off, uint64_t n, bool writes)
{
	struct maps all = { 0 };
	uint64_t lo, hi;
	struct stat st;
	bool ok = !stat(link, &st) && (S_ISREG(st.st_mode) || !writes);

	n = (n + PAGE - 1) / PAGE * PAGE;
	for (size_t i = 0; i < s->nproc && ok; i++) {
		const struct proc *p = s->proc[i];

		if (!p->stream || p->gone || !p->pid || !maps_read((pid_t)p->pid, &all))
			continue;
		for (size_t k = 0; k < all.n && ok; k++)
			ok = !(writes || all.v[k].prot & PROT_WRITE) ||
			     !maps_part(&all.v[k], &st, off, n, &lo, &hi);
	}
	maps_release(&all);
	return ok;
}

void record_shared(const struct proc *p, const char *link, uint64_t off, uint64_t n,
		   uint64_t to[6])
{
	struct maps all = { 0 };
	uint64_t lo, hi;
	struct stat st;
	size_t k = 0;

	if (stat(link, &st) || !maps_read((pid_t)p->pid, &all))
		return;
	for (size_t i = 0; i < all.n && k < 6; i++)
		if (maps_part(&all.v[i], &st, off, n, &lo, &hi)) {
			to[k++] = all.v[i].lo + (lo - all.v[i].off);
			to[k++] = hi - lo;
		}
	maps_release(&all);
}

void record_stop(struct session *s, struct proc *p, uint64_t why, uint64_t more)
{
	const struct rec_ended e = { .why = REC_STOPPED, .i386 = p->user.space->i386,
				     .more = why << 32 | (uint32_t)more };
	char what[160];

	if (p->log.over)
		return;
	p->log.stopped = true;
	record_logged(s, p);
	write_end(s, p, e.why, e.more);
	rec_end_text(&e, what, sizeof what);
	pm_warn(&s->spaces.warn, "the recording ends here: process %u %s", p->pid, what);
	if (why != RT_END_GROUP && session_block(s, p->log.block)->group_member)
		stop_group(s, p);
}

enum pm_status record_close(struct session *s, struct pm_err *err)
{
	struct recorder *r = s->recorder;
	enum pm_status st;

	if (!r)
		return PM_OK;
	st = rec_finish(r->w, err);
	free(r->file);
	free(r->piece);
	free(r);
	s->recorder = NULL;
	return st;
}
