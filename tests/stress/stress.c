/* SPDX-License-Identifier: MIT */
/* stress.c - programs that do everything, traced in every way, killed at any moment, from one seed
 *
 *   stress [-s SEED] [-n SCENARIOS | -m MINUTES] [-1 K] [-p PUGMARK] [-x SECONDS] [-teav]
 *
 * -1 K runs scenario K alone; -x is after how many seconds a run hangs (120); -t prints TAP; -e
 * ends at the first failure; -a kills nobody; -v shows every run. A scenario is a victim and up to
 * three rounds with one cache; a round is up to three runs at once. SEED and K decide all of it but
 * the timing.
 *
 * What must hold:
 *  (1) output and exit status, or signal, are what they are natively; after SIGTERM or SIGINT, or
 *      if the program is killed, the output is a beginning of it; after SIGKILL to pugmark it is
 *      all there, or nothing, where the program had not begun;
 *  (2) profile and trace of a program that always does the same have as many instructions;
 *  (3) `pugmark verify` finds nothing wrong in what was written; if somebody was killed, it may be
 *      cut. Which memory is mapped it knows of one process only: a trace does not say in which
 *      order two processes did what they did;
 *  (4) no process is left behind, and so nobody who holds what pugmark shares with the program;
 *  (5) no file is left but those that were asked for, and none in the cache without a lasting name;
 *  (6) pugmark says nothing, for it was told to be quiet;
 *  (7) nothing hangs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGS 96

static uint64_t state;
static unsigned seed = 1, scenario, failures;
static double limit = 120;
static bool verbose;
static bool all_live;			/* nobody is killed */
static bool runs_32_bit;		/* the machine, and there is a libc */
static char build[4096], pugmark[4096], dir[4096];

struct run {
	char *argv[ARGS];
	int argc;
	pid_t pid;
	int status;			/* 128 + N for signal N; -1: it hung */
	bool done;
	char out[64], err[64];		/* files, in the scratch directory */
	int kill_sig;			/* ... is sent after @kill_after ms; 0: none */
	bool kill_program;		/* to the program, not to pugmark */
	unsigned kill_after;
	bool killed;			/* it was sent */
	bool region, trace, count;
};

static uint32_t rnd(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static bool one_in(uint32_t n)
{
	return !rnd(n);
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "stress: %s: %s\n", what, strerror(errno));
	exit(2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(void)
{
	nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
}

__attribute__((format(printf, 2, 3))) static void arg(struct run *r, const char *fmt, ...)
{
	va_list ap;

	must(r->argc < ARGS - 1, "too many arguments");
	va_start(ap, fmt);
	must(vasprintf(&r->argv[r->argc++], fmt, ap) > 0, "arguments");
	va_end(ap);
	r->argv[r->argc] = NULL;
}

static void show_command(const struct run *r)
{
	printf("#  ");
	for (int i = 0; i < r->argc; i++) {
		const bool quoted = strpbrk(r->argv[i], " ;|&$'\"\n(<>") != NULL;

		printf(quoted ? " '" : " ");
		for (const char *p = r->argv[i]; *p; p++)
			*p == '\'' ? (void)printf("'\\''") : (void)putchar(*p);
		printf(quoted ? "'" : "");
	}
	if (r->kill_sig)
		printf("   # SIG%s to %s after %u ms", sigabbrev_np(r->kill_sig),
		       r->kill_program ? "the program" : "pugmark", r->kill_after);
	printf("\n");
}

__attribute__((format(printf, 2, 3))) static void fail(const struct run *r, const char *fmt, ...)
{
	va_list ap;

	if (!failures++)
		printf("# to reproduce: make stress SEED=%u ONE=%u\n", seed, scenario);
	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	if (r)
		show_command(r);
}

static char *read_file(const char *path, size_t *n)
{
	FILE *f = fopen(path, "r"), *m;
	char *p, buf[65536];
	size_t got;

	m = open_memstream(&p, n);
	must(m, path);
	while (f && (got = fread(buf, 1, sizeof buf, f)))
		fwrite(buf, 1, got, m);
	if (f)
		fclose(f);
	fclose(m);
	return p;
}

/* ---- processes ------------------------------------------------------------------------------- */

/* Calls @f for each child of @pid; how often that was true. */
static unsigned each_child(pid_t pid, bool (*f)(pid_t pid, int sig), int sig)
{
	char path[64], line[4096], *p;
	unsigned n = 0;
	FILE *children;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	children = fopen(path, "r");
	if (children && fgets(line, sizeof line, children))
		for (p = line; *p; ) {
			long child = strtol(p, &p, 10);

			n += child > 0 && f((pid_t)child, sig);
			while (*p == ' ' || *p == '\n')
				p++;
		}
	if (children)
		fclose(children);
	return n;
}

static bool send(pid_t pid, int sig)
{
	return !kill(pid, sig);
}

static bool at_work(pid_t pid, int sig)
{
	char path[64], how = 'S';
	FILE *f;

	(void)sig;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &how) != 1)
		how = 'S';
	if (f)
		fclose(f);
	return how == 'R' || how == 'D';
}

static void start(struct run *r)
{
	r->done = r->killed = false;
	fflush(NULL);
	r->pid = fork();
	must(r->pid >= 0, "fork");
	if (r->pid)
		return;
	must(dup2(open("/dev/null", O_RDONLY), 0) == 0, "/dev/null");
	must(dup2(open(r->out, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644), 1) == 1, r->out);
	must(dup2(open(r->err, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644), 2) == 2, r->err);
	setpgid(0, 0);
	execvp(r->argv[0], r->argv);
	_exit(127);
}

/* Waits for all of them, kills whom the plan names, and then waits for what they left. */
static void wait_all(struct run *runs, unsigned n)
{
	const double begun = now();
	unsigned left = n, strays = 0, asleep = 0, status;
	double ended;

	while (left) {
		const double t = now() - begun;

		for (struct run *r = runs; r < runs + n; r++) {
			if (r->done)
				continue;
			if (waitpid(r->pid, (int *)&status, WNOHANG) == r->pid) {
				r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status)
								: WEXITSTATUS(status);
				r->done = true;
				left--;
			} else if (t > limit) {
				each_child(r->pid, send, SIGKILL);
				kill(-r->pid, SIGKILL);
				waitpid(r->pid, (int *)&status, 0);
				r->status = -1;
				r->done = true;
				left--;
				fail(r, "(7) still running after %.0f s", limit);
			} else if (r->kill_sig && !r->killed &&
				   t * 1000 >= r->kill_after) {
				r->killed = true;
				if (!r->kill_program)
					kill(r->pid, r->kill_sig);
				else if (!each_child(r->pid, send, r->kill_sig))
					r->killed = false;	/* not there yet */
			}
		}
		nap();
	}
	/* Who is left may take his time while he works; asleep, five seconds. */
	ended = now();
	while (waitpid(-1, (int *)&status, WNOHANG) >= 0) {
		if (asleep < 2500 && now() - ended < limit) {
			asleep += !each_child(getpid(), at_work, 0);
			nap();
		} else {
			strays += each_child(getpid(), send, SIGKILL);
			nap();
		}
	}
	if (strays)
		fail(runs, "(4) %u processes were left behind", strays);
}

/* ---- victims --------------------------------------------------------------------------------- */

struct activity {
	const char *name;
	unsigned most;
	bool same;			/* always the same instructions */
};

static const struct activity activities[] = {
	{ "work", 4, true }, { "ticks", 30 }, { "jumps", 20 }, { "timers", 10 },
	{ "raises", 30, true }, { "faults", 40, true }, { "forks", 12 }, { "vforks", 8 },
	{ "spawns", 6 }, { "clones", 8 },
	{ "pipes", 80 }, { "stops", 5 }, { "threads", 200 }, { "births", 20 }, { "cancels", 8 },
	{ "quits", 4 }, { "kills", 5 }, { "libraries", 20, true }, { "generated", 60, true },
	{ "flips", 20, true }, { "doubles", 40, true }, { "maps", 60, true }, { "waits", 4 },
	{ "files", 1, true }, { "exec", 4 }, { "storm", 2 },
};
static const char *const ends[] = {
	"exit:0", "exit:3", "die:9", "die:15", "die:6", "crash:0", "crash:2", "crash:3", "crash:4",
	"crash:7", "quit:5", "quit:0",
};

/* Real programs; each is one command of sh and says what it needs. */
static const struct { const char *needs, *command; } programs[] = {
	{ "gzip", "seq 20000 | gzip -9 | gzip -d | cksum" },
	{ "xz", "seq 20000 | xz -T2 | xz -d | cksum" },
	{ "perl", "perl -e 'for (1..5) { my $p = fork; exit $_ unless $p; waitpid $p, 0;"
		  " print $? >> 8, \" \" }'" },
	{ "perl", "perl -MTime::HiRes=ualarm -e '$SIG{ALRM} = sub { $n++ }; ualarm 1000, 1000;"
		  " $k += $_ for 1 .. 200000; ualarm 0; print \"$k\\n\"'" },
	{ "python3", "python3 -c 'import threading, subprocess\n"
		     "def f(i): r[i] = subprocess.run([\"expr\", str(i), \"+\","
		     " \"1\"], capture_output=True).stdout\n"
		     "r = {}; t = [threading.Thread(target=f, args=(i,)) for i in range(4)]\n"
		     "[x.start() for x in t]; [x.join() for x in t]; print(sorted(r.items()))'" },
	{ "sqlite3", "sqlite3 :memory: 'create table t(a); with recursive n(i) as (select 1"
		     " union all select i+1 from n where i < 5000) insert into t select i*i"
		     " from n; select sum(a), count(*) from t;'" },
	{ "bash", "bash -c 'for i in 1 2 3; do (echo $i; exit $i) | { read x; echo got $x; } |"
		  " tr g G; done; sleep 0.01 & wait $!; echo ${PIPESTATUS[@]};"
		  " trap \"echo caught\" USR1; kill -USR1 $$; exit 4'" },
	{ "node", "node -e 'const w = require(\"worker_threads\"), c = require(\"child_process\");"
		  " new w.Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(6*7)\","
		  " { eval: true }).on(\"message\","
		  " m => console.log(m, String(c.execSync(\"echo hi\"))))'" },
	{ "java", "java -Xshare:auto -version 2>&1" },
};
#define NPROGRAMS (sizeof programs / sizeof *programs)
#define NACTIVITIES (sizeof activities / sizeof *activities)

static bool installed(const char *name)
{
	char command[256];

	snprintf(command, sizeof command, "command -v %s >/dev/null", name);
	return !system(command);
}

/* Adds what natively is the whole command. @same: only what always executes the same. False:
 * @missing is not here. */
static bool add_victim(struct run *r, bool same, const char **missing)
{
	const unsigned n = 1 + rnd(6);
	if (!same && one_in(6)) {
		const unsigned k = rnd(NPROGRAMS);

		*missing = programs[k].needs;
		arg(r, "sh");
		arg(r, "-c");
		arg(r, "%s", programs[k].command);
		return installed(*missing);
	}
	arg(r, "%s/programs/%smedley", build, one_in(6) && runs_32_bit ? "i386/" : "");
	arg(r, "%u", rnd(1000000));
	if (!same && one_in(3))
		arg(r, "storm:1");
	arg(r, "work:1");
	for (unsigned i = 0; i < n; i++) {
		const struct activity *a = &activities[rnd(NACTIVITIES)];

		while (same && !a->same)
			a = &activities[rnd(NACTIVITIES)];
		arg(r, "%s:%u", a->name, a->most > 2 ? 1 + rnd(a->most) : rnd(a->most));
	}
	if (!same && one_in(2))
		arg(r, "%s", ends[rnd(sizeof ends / sizeof *ends)]);
	return true;
}

/* ---- ways of tracing ------------------------------------------------------------------------- */

static void add_region(struct run *r, bool medley)
{
	static const char *const functions[] = { "work", "work_step" };

	r->region = true;
	switch (rnd(medley ? 5 : 2)) {
	case 0:
		arg(r, "--after"), arg(r, "%u", rnd(60000));
		arg(r, "--for"), arg(r, "%u", 1 + rnd(50000));
		break;
	case 1:
		arg(r, "--for"), arg(r, "%u", 1 + rnd(3000));
		arg(r, "--every"), arg(r, "%u", 3000 + rnd(30000));
		break;
	case 2:
		arg(r, "--start-at"), arg(r, "%s", functions[rnd(2)]);
		break;
	case 3:
		arg(r, "--start-at"), arg(r, "work");
		arg(r, "--stop-at"), arg(r, "work_step");
		break;
	case 4:
		arg(r, "--stop-at"), arg(r, "%s", functions[rnd(2)]);
		break;
	}
}

static void add_tracing(struct run *r, unsigned id, bool same, bool medley)
{
	static const char *const kinds[] = { "--branch", "--cache", "--exec", "--exec", "--exec" };

	arg(r, "%s", pugmark);
	arg(r, "run");
	arg(r, "-q");
	if (one_in(8))
		arg(r, "--no-cache");
	else
		arg(r, "--cache-dir"), arg(r, "%s/cache", dir);
	if (one_in(6))
		arg(r, "--strict-flags");
	if (one_in(8) && !same)
		arg(r, "--aslr");
	if (one_in(8) && !same)
		arg(r, "--no-vdso");
	if (same) {
		arg(r, "--fix-random");
		arg(r, "--json"), arg(r, "json.%u", id);
		r->count = true;
		switch (rnd(4)) {
		case 0: arg(r, "--exec"), arg(r, "--count"); break;
		case 1: arg(r, "--exec"), arg(r, "-o"), arg(r, "trace.%u.pug", id), r->trace = true;
		}
		return;
	}
	if (one_in(3))
		return;
	arg(r, "%s", kinds[rnd(5)]);
	switch (rnd(4)) {
	case 0: arg(r, "--count"); break;
	case 1: arg(r, "--discard"); break;
	default:
		arg(r, "-o"), arg(r, "trace.%u.pug", id);
		r->trace = true;
	}
	if (one_in(3))
		add_region(r, medley);
}

static void add_death(struct run *r)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGKILL, SIGKILL };

	if (!one_in(4) || all_live)
		return;
	r->kill_sig = sigs[rnd(4)];
	if (one_in(3)) {
		r->kill_program = true;
		r->kill_sig = SIGKILL;
	}
	r->kill_after = one_in(2) ? rnd(60) : rnd(600);
}

/* ---- what must hold -------------------------------------------------------------------------- */

static const char alone[] = "pugmark: cannot map shared memory in the traced process\n";

static void check_output(const struct run *r, const struct run *native)
{
	size_t n, m, e, ne;
	char *got = read_file(r->out, &n), *want = read_file(native->out, &m),
	     *err = read_file(r->err, &e), *native_err = read_file(native->err, &ne);
	const bool whole = n == m && !memcmp(got, want, n), begun = n <= m && !memcmp(got, want, n);

	/* killed before its first instruction, it could not be run; before a region, not traced */
	if (r->killed && r->status == 1 && begun && e && memchr(err, '\n', e) == err + e - 1 &&
	    ((!n && memmem(err, e, "the program died before it began\n", 33)) ||
	     (r->region && memmem(err, e, "was never reached, so nothing is traced\n", 40)))) {
		e = 0;
	} else if (!r->killed || (r->status == native->status &&
				  r->status != 128 + r->kill_sig)) {
		if (r->status != native->status)
			fail(r, "(1) exit status %d, natively %d", r->status, native->status);
		if (!whole)
			fail(r, "(1) other output: %s", r->out);
	} else if (r->kill_program || r->kill_sig != SIGKILL) {
		if (r->status != 128 + r->kill_sig)
			fail(r, "(1) exit status %d after signal %d", r->status, r->kill_sig);
		if (!begun)
			fail(r, "(1) not a beginning of the output: %s", r->out);
	} else if (r->status != 128 + SIGKILL) {
		fail(r, "(1) exit status %d after SIGKILL", r->status);
	} else if (n && !whole) {
		fail(r, "(1) other output when pugmark was killed: %s", r->out);
	} else if (!n && e && !strcmp(err, alone)) {
		e = 0;		/* the runtime, which begins, is alone */
	}
	if (!r->killed ? e != ne || memcmp(err, native_err, e) : e && memmem(err, e, "pugmark", 7))
		fail(r, "(6) said: %.*s", (int)(e < 600 ? e : 600), err);
	free(got);
	free(want);
	free(err);
	free(native_err);
}

static void check_trace(const struct run *r, unsigned id)
{
	struct run v = { 0 };
	char name[64], *said, *err;
	struct stat st;
	size_t n, e;
	bool wrong = false, map = false;

	snprintf(name, sizeof name, "trace.%u.pug", id);
	if (stat(name, &st) || !st.st_size) {
		if (!r->killed)
			fail(r, "(3) there is no trace");
		return;
	}
	arg(&v, "%s", pugmark);
	arg(&v, "verify");
	arg(&v, "%s", name);
	strcpy(v.out, "verify.out");
	strcpy(v.err, "verify.err");
	start(&v);
	wait_all(&v, 1);
	said = read_file(v.out, &n);
	err = read_file(v.err, &e);
	for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
		if (strncmp(line, "  ", 2) || !strstr(line, " wrong: "))
			continue;
		if (!strncmp(line, "  map ", 6) && !r->count)
			map = true;
		else if (strncmp(line, "  calls ", 8)) {	/* unusual, not wrong */
			wrong = true;
			printf("#%s\n", line);
		}
	}
	if (v.status == 1 && ((r->killed && strstr(err, "the trace is cut here")) || (map && !e)))
		v.status = 0;
	if (wrong || v.status)
		fail(r, "(3) verify says, with status %d: %.*s", v.status,
		     (int)(e < 400 ? e : 400), err);
	unlink(v.out);
	unlink(v.err);
	free(said);
	free(err);
}

static bool ours(const char *name)
{
	static const char *const known[] = {
		"cache", "native.", "out.", "err.", "trace.", "json.", NULL
	};

	for (const char *const *k = known; *k; k++)
		if (!strncmp(name, *k, strlen(*k)))
			return !strstr(name, ".part");
	return false;
}

static void check_files(const char *path, bool top)
{
	DIR *d = opendir(path);

	for (struct dirent *e; d && (e = readdir(d)); )
		if (e->d_name[0] != '.' && (top ? !ours(e->d_name) : !!strstr(e->d_name, ".part")))
			fail(NULL, "(5) left behind: %s/%s", path, e->d_name);
	if (d)
		closedir(d);
}

/* Instructions by the first "instructions" of a report; 0 if there is none. */
static unsigned long long instructions(unsigned id)
{
	char name[64], *text, *at;
	unsigned long long count = 0;
	size_t n;

	snprintf(name, sizeof name, "json.%u", id);
	text = read_file(name, &n);
	at = strstr(text, "\"instructions\":");
	if (at)
		count = strtoull(at + 15, NULL, 10);
	free(text);
	return count;
}

/* ---- scenarios ------------------------------------------------------------------------------- */

static void use_processors(unsigned n)
{
	cpu_set_t all, set;
	unsigned have = 0;

	if (sched_getaffinity(0, sizeof all, &all))
		return;
	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE && have < n; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &set);
			have++;
		}
	sched_setaffinity(0, sizeof set, &set);
}

static unsigned runs_done;

static void play_round(const struct run *native, bool same, bool medley, unsigned round,
		       unsigned long long *count)
{
	struct run runs[3] = { 0 };
	const unsigned n = one_in(3) ? 2 + rnd(2) : 1;

	for (unsigned i = 0; i < n; i++) {
		struct run *r = &runs[i];
		const unsigned id = round * 3 + i;

		snprintf(r->out, sizeof r->out, "out.%u", id);
		snprintf(r->err, sizeof r->err, "err.%u", id);
		add_tracing(r, id, same, medley);
		arg(r, "--");
		for (int k = 0; k < native->argc; k++)
			arg(r, "%s", native->argv[k]);
		if (!same)
			add_death(r);
		if (verbose)
			show_command(r);
		start(r);
	}
	wait_all(runs, n);
	for (unsigned i = 0; i < n; i++) {
		struct run *r = &runs[i];
		const unsigned id = round * 3 + i;

		runs_done++;
		if (r->status == -1)
			continue;
		check_output(r, native);
		if (r->trace)
			check_trace(r, id);
		if (r->count) {
			const unsigned long long c = instructions(id);

			if (!c || (*count && c != *count))
				fail(r, "(2) %llu instructions, %llu before", c, *count);
			*count = c;
		}
	}
	check_files(".", true);
	check_files("cache", false);
}

/* In a process of its own, for the processors that it may use. Status 0: passed, 1: failed, 77:
 * skipped. */
static int play(void)
{
	struct run native = { .out = "native.out", .err = "native.err" };
	unsigned long long count = 0;
	const char *missing;
	unsigned rounds;
	bool same, medley;

	state = seed * 0x9e3779b97f4a7c15u + scenario * 0xbf58476d1ce4e5b9u;
	rnd(2);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	use_processors(1 + rnd(2));
	same = one_in(4);
	if (!add_victim(&native, same, &missing)) {
		printf("# %s is not installed\n", missing);
		return 77;
	}
	medley = strcmp(native.argv[0], "sh") != 0;
	snprintf(dir, sizeof dir, "%s/pugmark-stress-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	must(mkdtemp(dir) && !chdir(dir), dir);
	start(&native);
	wait_all(&native, 1);
	rounds = same ? 2 + rnd(2) : 1 + rnd(3);
	for (unsigned i = 0; i < rounds; i++)
		play_round(&native, same, medley, i, &count);
	if (failures)
		printf("# kept: %s\n", dir);
	else if (!fork())
		execlp("rm", "rm", "-rf", dir, NULL);
	while (wait(NULL) > 0)
		;
	return failures > 0;
}

/* Plays @scenario in a process of its own; its status. What it prints is for @explanation, if that
 * is not NULL. */
static int play_apart(FILE *explanation)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (explanation)
			must(dup2(fileno(explanation), 1) == 1, "output");
		exit(play());
	}
	must(pid > 0 && waitpid(pid, &status, 0) == pid, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

static void show_explanation(FILE *explanation)
{
	char line[4096];

	rewind(explanation);
	while (fgets(line, sizeof line, explanation))
		fputs(line, stdout);
	fclose(explanation);
}

int main(int argc, char **argv)
{
	unsigned n = 20, from = 1, passed = 0, failed = 0, skipped = 0, last;
	double minutes = 0, begun = now();
	bool tap = false, end = false;
	char *slash;
	int c;

	must(realpath("/proc/self/exe", build), "where am I");
	for (int i = 0; i < 3; i++)		/* BUILD/tests/stress/stress */
		if ((slash = strrchr(build, '/')))
			*slash = 0;
	snprintf(pugmark, sizeof pugmark, "%.4000s/pugmark", build);
	if (strlen(build) > 4 && !strcmp(build + strlen(build) - 4, "-san"))
		build[strlen(build) - 4] = 0;	/* programs are built once */
	while ((c = getopt(argc, argv, "s:n:m:1:p:x:teav")) != -1)
		switch (c) {
		case 's': seed = (unsigned)atoi(optarg); break;
		case 'n': n = (unsigned)atoi(optarg); break;
		case 'm': minutes = atof(optarg); break;
		case '1': from = (unsigned)atoi(optarg); n = 1; break;
		case 'p': must(realpath(optarg, pugmark), optarg); break;
		case 'x': limit = atof(optarg); break;
		case 't': tap = true; break;
		case 'e': end = true; break;
		case 'a': all_live = true; break;
		case 'v': verbose = true; break;
		default: return 2;
		}
	snprintf(dir, sizeof dir, "%.4000s/programs/i386/medley 1 2>/dev/null", build);
	runs_32_bit = !system(dir);
	last = minutes > 0 ? ~0u : from + n - 1;
	if (tap)
		printf("1..%u\n", n);
	for (scenario = from; scenario <= last; scenario++) {
		FILE *explanation = tap ? tmpfile() : NULL;	/* TAP has it behind the line */
		int status;

		if (minutes > 0 && now() - begun > minutes * 60)
			break;
		must(!tap || explanation, "temporary file");
		status = play_apart(explanation);
		passed += !status;
		skipped += status == 77;
		failed += status && status != 77;
		if (tap || verbose || (status && status != 77))
			printf("%sok %u - scenario %u of seed %u%s\n",
			       status && status != 77 ? "not " : "", scenario - from + 1, scenario,
			       seed, status == 77 ? " # skip" : "");
		if (explanation)
			show_explanation(explanation);
		if (failed && end)
			break;
	}
	if (!tap)
		printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
	return failed > 0;
}
