/* SPDX-License-Identifier: MIT */
/* bench.c - pugmark against native and against its peers, side by side
 *
 *   bench [-n ROUNDS] [-d DIRECTORY] [-p PUGMARK] [-b PUGMARK] [-q] [-m] [-j FILE] [WORKLOAD...]
 *
 * Every round runs each way once, one after the other, so that other load on the machine falls on
 * all of them alike; a ratio is taken within its round. What is printed is the median of the
 * rounds, and in brackets the least and the most. Time is user + system of everything that ran: the
 * program, its children, the tool. Memory is sampled in runs of its own, because sampling disturbs:
 * the largest sum of PSS over all processes, the median of three runs. A run that fails ends the
 * benchmark with status 2.
 *
 *   native      the program alone
 *   warm        pugmark run; the cache was filled by another input of the same program, and by
 *               nothing else: it is put back before each run. A run of that other input, which is
 *               not measured, follows: the first run that opens a file of the cache checks all its
 *               bytes, and does so once, not in every run
 *   cold        pugmark run with an empty cache
 *   strict      pugmark run --strict-flags, as warm
 *   exec        pugmark run --exec --discard: an execution trace; the cache as for warm
 *   before      as warm, by another pugmark, which -b names
 *   valgrind    valgrind --tool=none, if it is installed
 *   qemu        qemu-x86_64 (user mode), if it is installed
 *
 * -q leaves the peers out, -m the memory; -j FILE: the results, a line for each workload, from
 * which bench/readme makes README's table. The targets stand beside; status 1 if one is missed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX	101
#define RUN_MAX		120		/* seconds */
#define PSS_RUNS	3
#define PSS_MAX		80		/* MiB over native */

enum way { NATIVE, WARM, COLD, STRICT, EXEC, BEFORE, VALGRIND, QEMU, WAYS };
static const char *const way_names[WAYS] = { "native", "warm", "cold", "strict", "exec", "before",
					     "valgrind", "qemu" };

struct workload {
	const char *name;
	const char *command;		/* %s where the tool goes; runs by sh -c "exec ..." */
	const char *other;		/* the same program with another input, to fill the cache */
	int repeat;			/* runs in one measurement */
	double warm_max, cold_max;	/* targets: ratio, or with @added milliseconds; 0: none */
	bool added;
};

/* Inputs are made by bench/inputs. */
static const struct workload workloads[] = {
	{ "gzip", "%s gzip -9c data > out", "%s gzip -9c other > out", 1, 1.10, 0, false },
	{ "xz", "%s xz -T1 -6c small > out", "%s xz -T1 -6c other > out", 1, 1.15, 0, false },
	{ "cc1", "%s $CC1 -quiet -w -O2 big.c -o out.s", "%s $CC1 -quiet -w -O2 other.c -o out.s",
	  1, 1.7, 4, false },
	{ "python3", "%s python3 -S queens.py 12 4", "%s python3 -S queens.py 6 1", 1, 1.7, 0,
	  false },
	{ "sqlite3", "%s sqlite3 :memory: < big.sql", "%s sqlite3 :memory: < other.sql", 1, 1.6, 0,
	  false },
	{ "true", "%s /bin/true", "%s /bin/true --version > out", 20, 7, 0, true },
	{ "sh-ten", "%s sh ten.sh", "%s sh ten-other.sh", 3, 65, 0, true },
};

static const char *pugmark = "pugmark", *before, *directory = "build/bench";
static int rounds = 5;
static bool peers = true, memory = true;

struct sample { double cpu, wall, pss; };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static double children_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return u.ru_utime.tv_sec + u.ru_stime.tv_sec +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* ---- memory --------------------------------------------------------------------------------- */

static long field(const char *path, const char *name)
{
	char line[256];
	long v = -1;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, name, strlen(name))) {
			v = atol(line + strlen(name));
			break;
		}
	if (f)
		fclose(f);
	return v;
}

/* Sum of PSS, in MiB, of all processes of session @sid. */
static double session_pss(pid_t sid)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	double kb = 0;

	while (d && (e = readdir(d))) {
		char path[64];
		int pid = atoi(e->d_name);

		if (pid <= 0 || getsid(pid) != sid)
			continue;
		snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
		long v = field(path, "Pss:");

		if (v > 0)
			kb += v;
	}
	if (d)
		closedir(d);
	return kb / 1024;
}

static pid_t running;

/* A run that does not end is killed, with everything in its session, and counts as failed. */
static void too_long(int sig)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		int pid = atoi(e->d_name);

		if (pid > 0 && getsid(pid) == running)
			kill(pid, SIGKILL);
	}
	if (d)
		closedir(d);
	(void)sig;
}

/* ---- one run -------------------------------------------------------------------------------- */

static void tool_text(enum way way, char *buf, size_t size)
{
	switch (way) {
	case WARM:
	case COLD:
		snprintf(buf, size, "%s run -o report.txt --", pugmark);
		break;
	case STRICT:
		snprintf(buf, size, "%s run --strict-flags -o report.txt --", pugmark);
		break;
	case BEFORE:
		snprintf(buf, size, "%s run -o report.txt --", before);
		break;
	case EXEC:
		snprintf(buf, size, "%s run --exec --discard --report report.txt --", pugmark);
		break;
	case VALGRIND:
		snprintf(buf, size, "valgrind -q --tool=none --trace-children=yes");
		break;
	case QEMU:
		snprintf(buf, size, "qemu-x86_64");
		break;
	default:
		buf[0] = 0;
	}
}

static void run(const char *pattern, enum way way, const char *cache, bool sample_pss,
		struct sample *s)
{
	char tool[512], command[2048];
	double cpu = children_cpu(), begun = now();
	bool over = false;
	int status;
	pid_t pid;

	tool_text(way, tool, sizeof tool);
	/* qemu-x86_64 and valgrind do not look PATH up for the program, or do: name it in full. */
	{
		char full[1024], word[256];
		const char *p = strstr(pattern, "%s ") + 3;
		size_t n = strcspn(p, " ");

		snprintf(word, sizeof word, "%.*s", (int)n, p);
		if (strchr(word, '/') || word[0] == '$')
			snprintf(full, sizeof full, "%s", word);
		else
			snprintf(full, sizeof full, "/usr/bin/%s", word);
		snprintf(command, sizeof command, "exec %s %s%s", tool, full, p + n);
	}
	fflush(NULL);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		setsid();
		if (!strchr(command, '<'))
			dup2(null, 0);
		dup2(null, 1);
		if (chdir(directory))
			_exit(126);
		setenv("XDG_CACHE_HOME", cache, 1);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	s->pss = 0;
	running = pid;
	alarm(RUN_MAX);
	while (!over) {
		if (sample_pss) {
			double v = session_pss(pid);

			if (v > s->pss)
				s->pss = v;
			usleep(3000);
			over = waitpid(pid, &status, WNOHANG) == pid;
		} else {
			over = waitpid(pid, &status, 0) == pid;
		}
	}
	while (waitpid(-1, NULL, 0) > 0)	/* whatever was left to us: we are a subreaper */
		;
	alarm(0);
	s->wall = now() - begun;
	s->cpu = children_cpu() - cpu;
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "bench: status 0x%x: %s\n", (unsigned)status, command);
		exit(2);
	}
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *v, int n)
{
	if (!n)
		return 0;
	qsort(v, (size_t)n, sizeof *v, by_value);
	return n & 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static bool present(const char *program)
{
	char command[256];

	snprintf(command, sizeof command, "command -v %s > /dev/null 2>&1", program);
	return system(command) == 0;
}

static void clear(const char *dir)
{
	char command[9000];

	snprintf(command, sizeof command, "rm -rf '%s'; mkdir -p '%s'", dir, dir);
	if (system(command))
		exit(2);
}

static void copy(const char *from, const char *to)
{
	char command[3 * 4200 + 64];

	snprintf(command, sizeof command, "rm -rf '%s'; cp -a '%s' '%s'", to, from, to);
	if (system(command))
		exit(2);
}

/* ---- a workload ----------------------------------------------------------------------------- */
static char warm_cache[4200], cold_cache[4200], filled[4200], filled_before[4200];

/* Whether @way begins with what a run with another input has left in the cache. */
static bool is_warm(int way)
{
	return way == WARM || way == STRICT || way == EXEC || way == BEFORE;
}

struct results {
	bool on[WAYS];
	int n[WAYS];			/* rounds */
	double cpu[WAYS][ROUNDS_MAX], wall[WAYS][ROUNDS_MAX];
	double value[WAYS][ROUNDS_MAX];	/* ratio, or milliseconds added; sorted once it has been
					 * printed */
	double pss[WAYS];		/* MiB, median */
};

static void warm_up(const struct workload *w, enum way way)
{
	struct sample s;

	copy(way == BEFORE ? filled_before : filled, warm_cache);
	run(w->other, way, warm_cache, false, &s);
}

static void one_round(const struct workload *w, struct results *r, int round)
{
	struct sample s;

	for (int way = 0; way < WAYS; way++) {
		double cpu = 0, wall = 0;

		if (!r->on[way] || (way >= VALGRIND && round >= 3))
			continue;
		for (int i = 0; i < w->repeat; i++) {
			if (way == COLD)
				clear(cold_cache);
			else if (is_warm(way))
				warm_up(w, way);
			run(w->command, way, way == COLD ? cold_cache : warm_cache, false, &s);
			cpu += s.cpu / w->repeat;
			wall += s.wall / w->repeat;
		}
		r->cpu[way][round] = cpu;
		r->wall[way][round] = wall;
		r->value[way][round] = w->added ? (cpu - r->cpu[NATIVE][round]) * 1000
						: cpu / r->cpu[NATIVE][round];
		r->n[way]++;
	}
}

static void measure_memory(const struct workload *w, struct results *r)
{
	double pss[PSS_RUNS];
	struct sample s;

	for (int way = 0; way < WAYS; way++) {
		if (!r->on[way] || way == COLD)
			continue;
		for (int i = 0; i < PSS_RUNS; i++) {
			if (is_warm(way))
				warm_up(w, way);
			run(w->command, way, warm_cache, true, &s);
			pss[i] = s.pss;
		}
		r->pss[way] = median(pss, PSS_RUNS);
	}
}

static void measure(const struct workload *w, struct results *r)
{
	struct sample s;

	memset(r, 0, sizeof *r);
	for (int way = 0; way < WAYS; way++)
		r->on[way] = way < VALGRIND
				     ? way != BEFORE || before
				     : peers && present(way == QEMU ? "qemu-x86_64" : "valgrind");
	if (!strcmp(w->name, "sh-ten"))
		r->on[QEMU] = false;			/* it does not follow exec */
	clear(filled);
	run(w->other, WARM, filled, false, &s);
	run(w->other, STRICT, filled, false, &s);
	run(w->other, EXEC, filled, false, &s);
	if (before) {
		clear(filled_before);
		run(w->other, BEFORE, filled_before, false, &s);
	}
	run(w->command, NATIVE, filled, false, &s);	/* files into memory */
	for (int i = 0; i < rounds; i++)
		one_round(w, r, i);
	if (memory)
		measure_memory(w, r);
}

static bool print(const struct workload *w, struct results *r)
{
	double m[WAYS] = { 0 };
	bool ok;

	printf("%-8s %8.3f", w->name, median(r->cpu[NATIVE], r->n[NATIVE]));
	for (int way = WARM; way < WAYS; way++) {
		const char *form = w->added ? "%+.1f (%.1f-%.1f)" : "%.2f (%.2f-%.2f)";
		char buf[64] = "-";

		m[way] = median(r->value[way], r->n[way]);
		if (r->on[way])
			snprintf(buf, sizeof buf, form, m[way], r->value[way][0],
				 r->value[way][r->n[way] - 1]);
		printf(" %19s", buf);
	}
	ok = (!w->warm_max || m[WARM] <= w->warm_max) && (!w->cold_max || m[COLD] <= w->cold_max);
	printf(w->added ? "   [%+g ms]" : "   [%.2f]", w->warm_max);
	if (w->cold_max)
		printf(" [cold %g]", w->cold_max);
	if (memory) {
		ok = ok && r->pss[WARM] - r->pss[NATIVE] <= PSS_MAX;
		printf("\n%-8s %8.1f", "  MiB", r->pss[NATIVE]);
		for (int way = WARM; way < WAYS; way++)
			if (r->on[way] && way != COLD)
				printf(" %+19.1f", r->pss[way] - r->pss[NATIVE]);
			else
				printf(" %19s", "-");
	}
	printf("%s\n", ok ? "" : "   MISSED");
	fflush(stdout);
	return ok;
}

static void print_json(FILE *f, const struct workload *w, struct results *r, bool ok)
{
	fprintf(f, "%s\n {\"workload\":\"%s\",\"rounds\":%d,\"unit\":\"%s\",\"native_s\":%.4f",
		ftell(f) > 1 ? "," : "", w->name, rounds, w->added ? "ms added" : "x native",
		median(r->cpu[NATIVE], r->n[NATIVE]));
	for (int way = WARM; way < WAYS; way++)
		if (r->on[way])
			fprintf(f,
				",\"%s\":%.4f,\"%s_least\":%.4f,\"%s_most\":%.4f,\"%s_wall_s\":%."
				"4f",
				way_names[way], median(r->value[way], r->n[way]), way_names[way],
				r->value[way][0], way_names[way], r->value[way][r->n[way] - 1],
				way_names[way], median(r->wall[way], r->n[way]));
	for (int way = 0; memory && way < WAYS; way++)
		if (r->on[way] && way != COLD)
			fprintf(f, ",\"pss_%s_mib\":%.1f", way_names[way], r->pss[way]);
	fprintf(f, ",\"met\":%s}", ok ? "true" : "false");
}

static bool wanted(const char *name, char **names)
{
	bool any = !*names;

	for (; *names; names++)
		any |= !strcmp(*names, name);
	return any;
}

/* Programs run in @directory: a path is made absolute, a name is looked for as shells do. */
static const char *find_program(const char *name)
{
	char *path = strchr(name, '/') ? realpath(name, NULL) : strdup(name);

	if (!path) {
		fprintf(stderr, "bench: %s: %s\n", name, strerror(errno));
		exit(2);
	}
	return path;
}

static void find_places(void)
{
	static char data[4096];

	if (!realpath(directory, data)) {
		fprintf(stderr, "bench: %s: %s (bench/inputs makes it)\n", directory,
			strerror(errno));
		exit(2);
	}
	directory = data;
	pugmark = find_program(pugmark);
	if (before)
		before = find_program(before);
	snprintf(warm_cache, sizeof warm_cache, "%s/cache-warm", directory);
	snprintf(cold_cache, sizeof cold_cache, "%s/cache-cold", directory);
	snprintf(filled, sizeof filled, "%s/cache-filled", directory);
	snprintf(filled_before, sizeof filled_before, "%s/cache-before", directory);
}

int main(int argc, char **argv)
{
	static struct results r;
	bool missed = false;
	FILE *json = NULL;
	int c;

	while ((c = getopt(argc, argv, "n:d:qmj:p:b:")) > 0)
		switch (c) {
		case 'n': rounds = atoi(optarg); break;
		case 'd': directory = optarg; break;
		case 'p': pugmark = optarg; break;
		case 'b': before = optarg; break;
		case 'q': peers = false; break;
		case 'm': memory = false; break;
		case 'j': json = fopen(optarg, "w"); break;
		default: return 2;
		}
	if (rounds < 1 || rounds > ROUNDS_MAX)
		rounds = 5;
	find_places();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = too_long, .sa_flags = SA_RESTART },
		  NULL);
	printf("user + system time over native: median (least-most) of %d rounds, of the peers at "
	       "most 3%s\n",
	       rounds, memory ? "; MiB over native: median of 3" : "");
	printf("%-8s %8s", "", "native s");
	for (int w = WARM; w < WAYS; w++)
		printf(" %19s", way_names[w]);
	printf("   targets\n");
	if (json)
		fprintf(json, "[");
	for (size_t k = 0; k < sizeof workloads / sizeof *workloads; k++) {
		bool ok;

		if (!wanted(workloads[k].name, argv + optind))
			continue;
		measure(&workloads[k], &r);
		ok = print(&workloads[k], &r);
		if (json)
			print_json(json, &workloads[k], &r, ok);
		missed |= !ok;
	}
	if (json) {
		fprintf(json, "\n]\n");
		fclose(json);
	}
	return missed;
}
