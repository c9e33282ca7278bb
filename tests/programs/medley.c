/* SPDX-License-Identifier: MIT */
/* flags: -pthread -ldl */
/* medley.c - does what it is told to, in that order, and prints a sum that depends on nothing else
 *
 *   medley SEED [ACTIVITY:COUNT]...         the activities are in the table at the end
 *   medley SEED =SUM [ACTIVITY:COUNT]...    ... what it executes itself with: the sum so far
 *
 * After each activity it prints what has come out. What is random comes from SEED. Children that
 * wait die with their parent, so nothing is left behind whenever it is killed. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include "self_check.h"

#define PAGE 4096

extern char **environ;
static uint64_t state;
static char **rest_of_list;		/* activities that are still to come */
static char *seed_text, self[PAGE];
static uint64_t sum;

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

/* ---- work: jumps, calls and references of every kind, without a lock or an allocation -------- */

static unsigned add7(unsigned x) { return x + 7; }
static unsigned twist(unsigned x) { return x << 5 | x >> 27; }
static unsigned odd(unsigned x) { return x & 1 ? x * 3 + 1 : x / 2; }
static unsigned (*const turns[])(unsigned) = { add7, twist, odd };

__attribute__((noinline)) unsigned work_step(unsigned x, unsigned i)
{
	char text[64], other[64];
	volatile double d = x;

	switch (i % 9) {
	case 0: return x ^ i;
	case 1: return turns[x % 3](x);
	case 2:
		memset(text, (int)x, sizeof text);
		memcpy(other, text, 33);
		return x + (unsigned char)other[x % 33];
	case 3: d = d / 3 + 1; return (unsigned)d;
	case 4: return i > 9 ? work_step(x + 1, i / 2) : x;
	case 5: return __builtin_popcount(x) + x * 5;
	case 6:
		__asm__ volatile("rep stosb" : "=D"((int){0}), "=c"((int){0})
				 : "0"(text), "1"((size_t)(x % 64)), "a"(x) : "memory");
		return x + 11;
	case 7: return x % (i + 3) * 17;
	}
	return turns[i % 3](turns[x % 3](x));
}

__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned x = n;

	for (unsigned i = 0; i < n * 100; i++)
		x = work_step(x, i);
	return x;
}

/* ---- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t ticks, jumping;
static volatile bool storming;
static sigjmp_buf back;

static void on(int sig, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	sigemptyset(&sa.sa_mask);
	CHECK(!sigaction(sig, &sa, NULL));
}

static void tick(int sig, siginfo_t *si, void *context)
{
	ticks++;
	if (jumping && sig == SIGALRM) {
		jumping = 0;
		siglongjmp(back, 1);
	}
}

static void set_timer(long us)
{
	CHECK(!setitimer(ITIMER_REAL, &(struct itimerval){ { 0, us }, { 0, us } }, NULL));
}

/* 1 kHz until the end or until the next program */
static uint64_t storm(unsigned n)
{
	storming = n;
	on(SIGALRM, tick, SA_RESTART);
	set_timer(n ? 1000 : 0);
	return n;
}

static uint64_t do_ticks(unsigned n)
{
	uint64_t h = 0;

	on(SIGALRM, tick, SA_RESTART);
	set_timer(1000);
	ticks = 0;
	for (unsigned i = 0; i < n || ticks < (int)n; i++)
		if (i < n)
			h = mix(h, work(10));
		else
			work(1);
	set_timer(storming ? 1000 : 0);
	return h;
}

static uint64_t do_jumps(unsigned n)
{
	on(SIGALRM, tick, SA_RESTART);
	set_timer(1000);
	for (volatile unsigned i = 0; i < n; i++)
		if (!sigsetjmp(back, 1)) {
			jumping = 1;
			for (;;)
				work(5);
		}
	set_timer(storming ? 1000 : 0);
	return work(20);
}

static uint64_t do_timers(unsigned n)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	const struct itimerspec at = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t t;
	sigset_t wait, was;

	sigemptyset(&wait);
	sigaddset(&wait, SIGRTMIN);
	on(SIGRTMIN, tick, 0);
	CHECK(!timer_create(CLOCK_MONOTONIC, &e, &t) && !timer_settime(t, 0, &at, NULL));
	for (unsigned i = 0; i < n; i++) {
		siginfo_t si;
		int sig;

		sigprocmask(SIG_BLOCK, &wait, &was);
		while ((sig = sigwaitinfo(&wait, &si)) < 0 && errno == EINTR)
			;
		CHECK(sig == SIGRTMIN && si.si_code == SI_TIMER);
		ticks = 0;
		while (!ticks)
			sigsuspend(&was);
		sigprocmask(SIG_SETMASK, &was, NULL);
	}
	CHECK(!timer_delete(t));
	signal(SIGRTMIN, SIG_IGN);
	return n;
}

static volatile sig_atomic_t depth;
static void nest(int sig, siginfo_t *si, void *context)
{
	if (++depth % 5)
		raise(sig);
}

static uint64_t do_raises(unsigned n)
{
	char *stack = malloc(1 << 17);
	uint64_t h = 0;

	CHECK(!sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = 1 << 17 }, NULL));
	depth = 0;
	for (unsigned i = 0; i < n; i++) {
		on(SIGUSR2, nest, SA_NODEFER | (i & 1 ? SA_ONSTACK : 0));
		raise(SIGUSR2);
		h = mix(h, (unsigned)depth);
	}
	CHECK(!sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL));
	free(stack);
	return h;
}

static volatile sig_atomic_t fault_sig, fault_code;
static void fault(int sig, siginfo_t *si, void *context)
{
	fault_sig = sig;
	fault_code = si->si_code;
	siglongjmp(back, 1);
}

static const int fault_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, 0 };

static void cause(unsigned how, unsigned char *page)
{
	volatile int zero = 0;

	switch (how) {
	case 0: *(volatile int *)(uintptr_t)(8 + zero) = 1; break;
	case 1: *(volatile unsigned char *)page = 1; break;
	case 2: ((void (*)(void))page)(); break;
	case 3: zero = 5 / zero; break;
	case 4: __asm__ volatile("ud2"); break;
	case 5: __asm__ volatile("int3"); break;
	case 6: __asm__ volatile("hlt"); break;
	case 7: ((void (*)(void))(uintptr_t)(16 + zero))(); break;
	}
}

static uint64_t do_faults(unsigned n)
{
	unsigned char *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile uint64_t h = 0;

	CHECK(page != MAP_FAILED);
	for (const int *s = fault_signals; *s; s++)
		on(*s, fault, 0);
	for (volatile unsigned i = 0; i < n; i++) {
		if (!sigsetjmp(back, 1)) {
			cause(rnd(8), page);
			CHECK(!"a fault");
		}
		h = mix(h, (unsigned)fault_sig << 16 ^ (unsigned)fault_code);
	}
	for (const int *s = fault_signals; *s; s++)
		signal(*s, SIG_DFL);
	munmap(page, PAGE);
	return h;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void die_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(99);
}

static int wait_for(pid_t pid, int flags)
{
	int status;
	pid_t got;

	CHECK(pid > 0);
	while ((got = waitpid(pid, &status, flags)) < 0 && errno == EINTR)
		;
	CHECK(got == pid);
	return status;
}

static uint64_t do_forks(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i += 3) {
		pid_t pid[3];

		for (unsigned k = 0; k < 3; k++) {
			pid[k] = fork();
			if (!pid[k])
				_exit((int)(work(3 + i + k) & 63) + (rnd(2) ? 64 : 0));
		}
		rnd(2);
		for (unsigned k = 0; k < 3; k++)
			h = mix(h, (unsigned)wait_for(pid[k], 0));
	}
	return h;
}

static uint64_t do_vforks(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		char *const argv[] = { self, seed_text, "exit:7", NULL };
		pid_t pid = vfork();

		if (!pid) {
			if (i & 1)
				execve(self, argv, environ);
			_exit(5);
		}
		h = mix(h, (unsigned)wait_for(pid, 0));
	}
	return h;
}

static uint64_t do_spawns(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		char *const what = i & 1 ? "exit:3" : "work:2";
		char *const argv[] = { self, seed_text, what, "exit:4", NULL };
		posix_spawn_file_actions_t a;
		pid_t pid;

		posix_spawn_file_actions_init(&a);
		posix_spawn_file_actions_addopen(&a, 1, "/dev/null", O_WRONLY, 0);
		CHECK(!posix_spawn(&pid, self, &a, NULL, argv, environ));
		posix_spawn_file_actions_destroy(&a);
		h = mix(h, (unsigned)wait_for(pid, 0));
	}
	return h;
}

static volatile unsigned cloned;
static int clone_main(void *arg)
{
	cloned = work((unsigned)(uintptr_t)arg);
	syscall(SYS_exit, 6);
	return 0;
}

/* A process that shares our memory, and goes on beside us. */
static uint64_t do_clones(unsigned n)
{
	char *stack = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	uint64_t h = 0;

	CHECK(stack != MAP_FAILED);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = clone(clone_main, stack + (1 << 16), CLONE_VM | SIGCHLD,
				  (void *)(uintptr_t)(i + 1));

		h = mix(h, work(i + 1));
		h = mix(h, (unsigned)wait_for(pid, 0));
		h = mix(h, cloned);
	}
	munmap(stack, 1 << 16);
	return h;
}

static uint64_t do_pipes(unsigned n)
{
	int to[2], from[2];
	unsigned x = n;
	pid_t pid;

	CHECK(!pipe(to) && !pipe(from));
	pid = fork();
	if (!pid) {
		close(to[1]);
		while (read(to[0], &x, sizeof x) == sizeof x) {
			x = work_step(x, x % 50) + 1;
			if (write(from[1], &x, sizeof x) != sizeof x)
				break;
		}
		_exit(2);
	}
	close(to[0]);
	close(from[1]);
	for (unsigned i = 0; i < n; i++) {
		CHECK(write(to[1], &x, sizeof x) == sizeof x);
		CHECK(read(from[0], &x, sizeof x) == sizeof x);
	}
	close(to[1]);
	close(from[0]);
	return mix(x, (unsigned)wait_for(pid, 0));
}

static uint64_t do_stops(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		const pid_t parent = getpid(), pid = fork();

		if (!pid) {
			die_with_parent(parent);
			for (;;)
				i & 1 ? work(1) : pause();
		}
		usleep(rnd(2000));
		kill(pid, SIGSTOP);
		h = mix(h, (unsigned)wait_for(pid, WUNTRACED));
		kill(pid, SIGCONT);
		h = mix(h, (unsigned)wait_for(pid, WCONTINUED));
		kill(pid, i & 2 ? SIGKILL : SIGTERM);
		h = mix(h, (unsigned)wait_for(pid, 0));
	}
	return h;
}

/* ---- threads --------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned turn, rounds, token;

static void *hand_over(void *arg)
{
	const unsigned me = (unsigned)(uintptr_t)arg;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (turn % 4 != me && turn < rounds)
			pthread_cond_wait(&changed, &lock);
		if (turn >= rounds)
			break;
		token = work_step(token, turn++) + me;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static uint64_t do_threads(unsigned n)
{
	pthread_t t[4];

	turn = 0;
	rounds = n;
	token = n;
	for (uintptr_t i = 0; i < 4; i++)
		CHECK(!pthread_create(&t[i], NULL, hand_over, (void *)i));
	for (int i = 0; i < 4; i++)
		CHECK(!pthread_join(t[i], NULL));
	return token;
}

static void *one_work(void *arg)
{
	return (void *)(uintptr_t)work((unsigned)(uintptr_t)arg);
}

static uint64_t do_births(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		pthread_t t;
		void *r;

		CHECK(!pthread_create(&t, NULL, one_work, (void *)(uintptr_t)(i % 7)));
		CHECK(!pthread_join(t, &r));
		h = mix(h, (uintptr_t)r);
	}
	return h;
}

static volatile unsigned cleaned;
static void clean(void *arg)
{
	__atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

static void *cancelled(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	for (;;) {
		work(1);
		arg ? (void)pause() : pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static uint64_t do_cancels(unsigned n)
{
	cleaned = 0;
	for (uintptr_t i = 0; i < n; i++) {
		pthread_t t;
		void *r;

		CHECK(!pthread_create(&t, NULL, cancelled, (void *)(i & 1)));
		usleep(rnd(500));
		CHECK(!pthread_cancel(t) && !pthread_join(t, &r) && r == PTHREAD_CANCELED);
	}
	return cleaned;
}

static void *spin(void *arg)
{
	for (;;)
		arg ? work(1) : (unsigned)usleep(100);
	return NULL;
}

static void start_spinning(unsigned n)
{
	for (uintptr_t i = 0; i < n; i++) {
		pthread_t t;

		CHECK(!pthread_create(&t, NULL, spin, (void *)(i & 1)));
	}
}

static void *leave(void *arg)
{
	usleep(rnd(1000));
	_exit((int)(uintptr_t)arg);
}

/* exit_group() by one thread while others run */
static uint64_t do_quit(unsigned n)
{
	pthread_t t;

	start_spinning(3);
	CHECK(!pthread_create(&t, NULL, leave, (void *)(uintptr_t)n));
	for (;;)
		work(1);
}

static uint64_t do_quits(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		const pid_t parent = getpid(), pid = fork();

		if (!pid) {
			die_with_parent(parent);
			do_quit(i + 1);
		}
		h = mix(h, (unsigned)wait_for(pid, 0));
	}
	return h;
}

/* Children that are killed, from outside, at any moment */
static uint64_t do_kills(unsigned n)
{
	static const int how[] = { SIGKILL, SIGTERM, SIGSEGV, SIGABRT };
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		const pid_t parent = getpid(), pid = fork();

		if (!pid) {
			die_with_parent(parent);
			if (i & 1)
				start_spinning(2);
			for (;;)
				work(1);
		}
		usleep(rnd(3000));
		kill(pid, how[rnd(4)]);
		h = mix(h, (unsigned)wait_for(pid, 0));
	}
	return h;
}

/* ---- the next program ------------------------------------------------------------------------ */

static void next_program(void)
{
	static char so_far[32], *argv[256];
	int n = 0;

	storm(0);
	signal(SIGALRM, SIG_IGN);
	snprintf(so_far, sizeof so_far, "=%llx", (unsigned long long)sum);
	argv[n++] = self;
	argv[n++] = seed_text;
	argv[n++] = so_far;
	for (char **a = rest_of_list; *a && n < 255; a++)
		argv[n++] = *a;
	execve(self, argv, environ);
	CHECK(!"executed");
}

static void *exec_main(void *arg)
{
	next_program();
	return NULL;
}

static uint64_t do_exec(unsigned n)
{
	pthread_t t;

	sum = mix(sum, n);
	if (n & 1)
		next_program();
	start_spinning(2);
	CHECK(!pthread_create(&t, NULL, exec_main, NULL));
	for (;;)
		work(1);
}

/* ---- code that comes and goes ---------------------------------------------------------------- */

#ifdef __i386__
typedef int (*func)(int) __attribute__((regparm(1)));
#define CODE "\xba\0\0\0\0\x01\xd0\xc3"	/* mov $value, %edx; add %edx, %eax; ret */
#else
typedef int (*func)(int);
#define CODE "\xb8\0\0\0\0\x01\xf8\xc3"	/* mov $value, %eax; add %edi, %eax; ret */
#endif

static void emit(unsigned char *p, int value)
{
	memcpy(p, CODE, 8);
	memcpy(p + 1, &value, 4);
}

static uint64_t do_libraries(unsigned n)
{
	uint64_t h = 0;
	char path[PAGE + 32];

	for (unsigned i = 0; i < n; i++) {
		int (*value)(int);
		void *lib;

		strcpy(path, self);
		strcpy(strrchr(path, '/'), rnd(2) ? "/libbeta.so" : "/libalpha.so");
		lib = dlopen(path, rnd(2) ? RTLD_LAZY : RTLD_NOW);
		CHECK(lib);
		value = (int (*)(int))dlsym(lib, "value");
		CHECK(value);
		h = mix(h, (unsigned)value((int)i));
		h = mix(h, (unsigned)value((int)i));
		CHECK(!dlclose(lib));
	}
	return h;
}

static unsigned char *map(int prot)
{
	void *p = mmap(NULL, 16 * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static uint64_t do_generated(unsigned n)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE | PROT_EXEC);
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned char *at = p + rnd(16 * PAGE / 64) * 64;

		emit(at, (int)i);
		h = mix(h, (unsigned)((func)at)((int)i));
		at[1] = (unsigned char)rnd(256);
		h = mix(h, (unsigned)((func)at)(3));
	}
	munmap(p, 16 * PAGE);
	return h;
}

/* Written, then executed, never both */
static uint64_t do_flips(unsigned n)
{
	unsigned char *p = map(PROT_READ | PROT_WRITE);
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++) {
		for (unsigned k = 0; k < 8; k++)
			emit(p + rnd(16 * PAGE / 64) * 64, (int)(i + k));
		emit(p, (int)i);
		CHECK(!mprotect(p, 16 * PAGE, PROT_READ | PROT_EXEC));
		h = mix(h, (unsigned)((func)p)(1));
		CHECK(!mprotect(p, 16 * PAGE, PROT_READ | PROT_WRITE));
	}
	munmap(p, 16 * PAGE);
	return h;
}

static int code_file(unsigned char **w)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, 16 * PAGE));
	*w = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(*w != MAP_FAILED);
	for (int i = 0; i < 16; i++)
		emit(*w + i * PAGE, 100 * i);
	return fd;
}

static uint64_t do_doubles(unsigned n)
{
	unsigned char *w, *x;
	int fd = code_file(&w);
	uint64_t h = 0;

	x = mmap(NULL, 16 * PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	CHECK(x != MAP_FAILED);
	for (unsigned i = 0; i < n; i++) {
		const unsigned at = rnd(16) * PAGE;

		emit(w + at, (int)i);
		h = mix(h, (unsigned)((func)(x + at))((int)i));
	}
	munmap(w, 16 * PAGE);
	munmap(x, 16 * PAGE);
	close(fd);
	return h;
}

static int call(unsigned char *at)
{
	volatile int r = -1;

	if (!sigsetjmp(back, 1))
		r = ((func)at)(1);
	return r;
}

/* Text is mapped, unmapped, moved, protected and mapped over; whether each page can be called, and
 * what it then returns, is known all the time. */
static uint64_t do_maps(unsigned n)
{
	unsigned char *w, *area = map(PROT_NONE);
	int fd = code_file(&w), is[16];
	uint64_t h = 0;

	memset(is, -1, sizeof is);
	on(SIGSEGV, fault, 0);
	for (unsigned i = 0; i < n; i++) {
		const unsigned a = rnd(16), b = rnd(16), v = rnd(16);
		unsigned char *at = area + a * PAGE;

		switch (rnd(6)) {
		case 0:
		case 1:
			CHECK(mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
				   v * PAGE) == at);
			is[a] = (int)v * 100;
			break;
		case 2:
			CHECK(mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1,
				   0) == at);
			is[a] = -1;
			break;
		case 3:
			if (a == b || is[a] < 0)
				break;
			CHECK(mremap(at, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
				     area + b * PAGE) == area + b * PAGE);
			is[b] = is[a];
			is[a] = -1;
			CHECK(mmap(at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1,
				   0) == at);
			break;
		case 4:
			if (is[a] == -2)
				break;
			CHECK(!mprotect(at, PAGE, PROT_READ));
			h = mix(h, (unsigned)call(at));
			CHECK(!mprotect(at, PAGE, is[a] < 0 ? PROT_NONE : PROT_READ | PROT_EXEC));
			break;
		case 5:
			CHECK(!munmap(at, PAGE));
			is[a] = -2;		/* nothing is there */
			break;
		}
		for (unsigned k = 0; k < 16; k++) {
			const int r = call(area + k * PAGE);

			CHECK(r == (is[k] < 0 ? -1 : is[k] + 1));
			h = mix(h, (unsigned)r);
		}
	}
	signal(SIGSEGV, SIG_DFL);
	munmap(area, 16 * PAGE);
	munmap(w, 16 * PAGE);
	close(fd);
	return h;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static uint64_t do_work(unsigned n)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < n; i++)
		h = mix(h, work(100));
	return h;
}

static uint64_t do_waits(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		usleep(rnd(300));
		poll(NULL, 0, 1);
		sched_yield();
		nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	}
	return n;
}

/* How many descriptors are open below 100: nobody else's are to be seen. */
static uint64_t do_files(unsigned n)
{
	unsigned open = 0;

	for (int fd = 3; fd < 100; fd++)
		open += fcntl(fd, F_GETFD) >= 0;
	return open;
}

static uint64_t do_exit(unsigned n)
{
	exit((int)n);
}

static uint64_t do_die(unsigned n)
{
	signal((int)n, SIG_DFL);
	kill(getpid(), (int)n);
	for (;;)
		pause();
}

static uint64_t do_crash(unsigned n)
{
	for (const int *s = fault_signals; *s; s++)
		signal(*s, SIG_DFL);
	cause(n % 8, (unsigned char *)16);
	return 0;
}

static const struct activity {
	const char *name;
	uint64_t (*f)(unsigned n);
} activities[] = {
	{ "work", do_work }, { "ticks", do_ticks }, { "jumps", do_jumps },
	{ "timers", do_timers },
	{ "raises", do_raises }, { "faults", do_faults }, { "forks", do_forks },
	{ "vforks", do_vforks }, { "spawns", do_spawns }, { "clones", do_clones },
	{ "pipes", do_pipes }, { "stops", do_stops }, { "threads", do_threads },
	{ "births", do_births }, { "cancels", do_cancels }, { "quits", do_quits },
	{ "kills", do_kills }, { "libraries", do_libraries }, { "generated", do_generated },
	{ "flips", do_flips }, { "doubles", do_doubles }, { "maps", do_maps },
	{ "waits", do_waits }, { "files", do_files }, { "exec", do_exec }, { "storm", storm },
	{ "exit", do_exit }, { "die", do_die }, { "crash", do_crash }, { "quit", do_quit },
};

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	CHECK(n > 0 && argc > 1);
	signal(SIGALRM, SIG_DFL);
	seed_text = argv[1];
	state = strtoull(argv[1], NULL, 10) + 1;
	rest_of_list = argv + 2;
	if (*rest_of_list && **rest_of_list == '=')
		sum = strtoull(*rest_of_list++ + 1, NULL, 16);
	while (*rest_of_list) {
		char *text = *rest_of_list++, line[100];
		const char *colon = strchr(text, ':');
		const struct activity *a = activities;

		CHECK(colon);
		while (strncmp(a->name, text, (size_t)(colon - text)) || a->name[colon - text]) {
			a++;
			CHECK(a < activities + sizeof activities / sizeof *activities);
		}
		rnd(2);
		sum = mix(sum, a->f((unsigned)atoi(colon + 1)));
		n = snprintf(line, sizeof line, "%s %llx\n", text, (unsigned long long)sum);
		CHECK(write(1, line, (size_t)n) == n);
	}
	return 0;
}
