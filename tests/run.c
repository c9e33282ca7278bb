/* SPDX-License-Identifier: MIT */
/* run.c - run test cases and test programs in parallel, show what differs, print one total
 *
 *   tests/run [-j N] [-v] [-vv] [-x N] [--bless] CASE.t | DIRECTORY | 'PROGRAM ARG...' ...
 *
 * A case file holds commands and what is expected of them:
 *
 *   # a comment; comments before the first command may hold these settings:
 *   # needs: PROGRAM...      skip the case, with the reason, where one of them is missing
 *   # if: COMMAND            skip the case where it fails; what it prints is the reason
 *   # timeout: SECONDS       for each command (default 180)
 *   $ command                run by sh; the lines below belong to it
 *   + more                   ... a further line of the command
 *   > line                   expected standard output; ">- line" has no newline at its end
 *   ! line                   expected standard error, likewise
 *   ? N                      expected exit status, 0 if absent; 128 + N for a death by signal N
 *
 * Commands run in an empty scratch directory which is removed afterwards, with standard input
 * empty and PATH, TOP, TESTS, PROGRAMS, HOME, TMPDIR, XDG_CACHE_HOME, LC_ALL=C and TZ=UTC set.
 * Output is compared exactly. A command that leaves a process behind has failed. --bless writes
 * what was seen into the case files: review that with `git diff`. -x N gives all that runs N times
 * its time: sanitized programs take several times as long. -v shows what each took, -vv also each
 * command of a case that took more than a second of processors.
 *
 * A test program speaks TAP (cmocka does when asked to): each test in it counts. Anything else
 * about its exit - a crash, a status, fewer tests than planned - is one more failure.
 *
 * The last line is "N passed, N failed, N skipped"; the exit status is 1 if anything failed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OUTPUT_MAX	(16u << 20)	/* a command that prints more has failed */
#define SHOW_MAX	30		/* lines of a difference that are shown */

struct text { char *p; size_t n, cap; };

struct tally { unsigned passed, failed, skipped; };

struct job {
	char *what;
	bool is_case;
	pid_t pid;
	int report;			/* memfd that the worker writes its report to */
	struct timespec begun;
	double took, cpu;		/* seconds: passed, and of processors */
	int status;
	bool ended;
};

struct step {
	struct text before;		/* comments and blank lines in front of it, verbatim */
	struct text source;		/* its $ and + lines, verbatim */
	struct text command;
	struct text out, err;		/* expected */
	int status;
};

static bool bless, verbose, each_command;
static double patience = 1;	/* -x */
static char top[4096];
static FILE *report;

static void *must(void *p)
{
	if (!p) {
		perror("tests/run");
		exit(2);
	}
	return p;
}

static void add(struct text *t, const char *p, size_t n)
{
	if (t->n + n + 1 > t->cap) {
		t->cap = (t->n + n + 1) * 2;
		t->p = must(realloc(t->p, t->cap));
	}
	memcpy(t->p + t->n, p, n);
	t->n += n;
	t->p[t->n] = 0;
}

static void add_line(struct text *t, const char *line, size_t n, bool newline)
{
	add(t, line, n);
	if (newline)
		add(t, "\n", 1);
}

static double since(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - from->tv_sec + (now.tv_nsec - from->tv_nsec) / 1e9;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Of processors, of all children that have ended. */
static double spent(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return seconds(&u.ru_utime) + seconds(&u.ru_stime);
}

/* ---- running one command ------------------------------------------------------------------ */

struct outcome {
	struct text out, err;
	int status;			/* 128 + N for signal N */
	bool timed_out, too_much;
	unsigned left;			/* processes that it left behind */
};

/* Calls @f for each child; how often that was true. */
static unsigned each_child(bool (*f)(pid_t pid))
{
	char path[64], line[512], *p;
	unsigned n = 0;
	FILE *children;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "r");
	if (children && fgets(line, sizeof line, children))
		for (p = line; *p; ) {
			long child = strtol(p, &p, 10);

			n += child > 0 && f((pid_t)child);
			while (*p == ' ' || *p == '\n')
				p++;
		}
	if (children)
		fclose(children);
	return n;
}

static bool killed(pid_t pid)
{
	return !kill(pid, SIGKILL);
}

static bool at_work(pid_t pid)		/* or waiting for a processor, or for a disk */
{
	char path[64], state = 'S';
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 'S';
	if (f)
		fclose(f);
	return state == 'R' || state == 'D';
}

#define LOOK_NS		5000000
#define LOOKS		1000		/* five seconds */
#define LINGER_S	60

/* Every descendant that lost its parent is ours (we are a subreaper): count and kill them. */
static unsigned reap_strays(void)
{
	unsigned strays = 0, asleep = 0;
	bool killing = false;
	struct timespec begun;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid > 0) {
			strays += killing;
			continue;
		}
		if (pid < 0)
			return strays;
		/* Alive: time to finish by itself (a pager, a translator that is just ending),
		 * which passes while all of them sleep: what is at work may be so for longer on a
		 * busy machine. */
		if (asleep < LOOKS && since(&begun) < LINGER_S) {
			asleep += !each_child(at_work);
			nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
			continue;
		}
		/* Kill our children; what they leave becomes ours and is killed in the next
		 * turn. */
		killing = true;
		each_child(killed);
		nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
	}
}

static void drain(struct pollfd *fd, struct text *to, struct outcome *o)
{
	char buf[65536];
	ssize_t n = read(fd->fd, buf, sizeof buf);

	if (n > 0) {
		if (to->n + (size_t)n > OUTPUT_MAX)
			o->too_much = true;
		else
			add(to, buf, (size_t)n);
	} else if (n == 0 || errno != EINTR) {
		close(fd->fd);
		fd->fd = -1;
	}
}

static void run_command(const char *command, const char *dir, double timeout, struct outcome *o)
{
	int out[2], err[2], status = 0;
	struct pollfd fd[3];
	struct timespec begun, ended = { 0, 0 };
	double cpu = spent();
	pid_t pid;

	memset(o, 0, sizeof *o);
	add(&o->out, "", 0);
	add(&o->err, "", 0);
	if (pipe(out) || pipe(err))
		must(NULL);
	fflush(NULL);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	pid = fork();
	if (pid < 0)
		must(NULL);
	if (!pid) {
		int null = open("/dev/null", O_RDONLY);

		setsid();
		dup2(null, 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		if (chdir(dir))
			_exit(126);
		for (int i = 3; i < 256; i++)
			close(i);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	fd[0] = (struct pollfd){ out[0], POLLIN, 0 };
	fd[1] = (struct pollfd){ err[0], POLLIN, 0 };
	fd[2] = (struct pollfd){ (int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0 };
	if (fd[2].fd < 0)
		must(NULL);
	while (fd[0].fd >= 0 || fd[1].fd >= 0 || fd[2].fd >= 0) {
		double left = fd[2].fd >= 0 ? timeout - since(&begun) : 1 - since(&ended);

		if (left <= 0 && fd[2].fd >= 0) {
			o->timed_out = true;
			kill(-pid, SIGKILL);
			left = 10;
		}
		/* When the command has ended and somebody still holds its pipes, that is a stray:
		 * what is in them by now is all. */
		if (!poll(fd, 3, left > 0 ? (int)(left * 1000) + 1 : 0) && left <= 0)
			break;
		if (left <= 0 && fd[2].fd < 0 && o->too_much)
			break;
		if (fd[0].fd >= 0 && fd[0].revents)
			drain(&fd[0], &o->out, o);
		if (fd[1].fd >= 0 && fd[1].revents)
			drain(&fd[1], &o->err, o);
		if (fd[2].fd >= 0 && fd[2].revents) {
			waitpid(pid, &status, 0);
			clock_gettime(CLOCK_MONOTONIC, &ended);
			close(fd[2].fd);
			fd[2].fd = -1;
		}
	}
	for (int i = 0; i < 2; i++)
		if (fd[i].fd >= 0)
			close(fd[i].fd);
	o->left = reap_strays();
	cpu = spent() - cpu;
	if (each_command && cpu > 1)
		fprintf(report, "     %.1f s: %.*s\n", cpu, (int)strcspn(command, "\n"),
			command);
	o->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- case files ---------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *n)
{
	struct text t = { 0 };
	char buf[65536];
	size_t got;
	FILE *f = fopen(path, "r");

	if (!f)
		return NULL;
	add(&t, "", 0);
	while ((got = fread(buf, 1, sizeof buf, f)) > 0)
		add(&t, buf, got);
	fclose(f);
	*n = t.n;
	return t.p;
}

static const char *next_line(const char *p, size_t *len)
{
	const char *nl = strchr(p, '\n');

	*len = nl ? (size_t)(nl - p) : strlen(p);
	return nl ? nl + 1 : p + *len;
}

/* Returns the number of steps; @tail is what follows the last one. */
static size_t parse_case(const char *path, const char *src, struct step **steps, struct text *tail)
{
	struct step *s = NULL, *cur = NULL;
	struct text before = { 0 };
	size_t n = 0, len, line = 0;

	for (const char *p = src, *next; *p; p = next) {
		next = next_line(p, &len);
		line++;
		if (p[0] == '$' && (len == 1 || p[1] == ' ')) {
			s = must(realloc(s, (n + 1) * sizeof *s));
			cur = &s[n++];
			memset(cur, 0, sizeof *cur);
			cur->before = before;
			memset(&before, 0, sizeof before);
			add(&cur->out, "", 0);
			add(&cur->err, "", 0);
			add(&cur->source, p, next - p);
			add(&cur->command, p + (len > 1 ? 2 : 1), len - (len > 1 ? 2 : 1));
		} else if (p[0] == '+' && (len == 1 || p[1] == ' ') && cur) {
			add(&cur->source, p, next - p);
			add(&cur->command, "\n", 1);
			add(&cur->command, p + (len > 1 ? 2 : 1), len - (len > 1 ? 2 : 1));
		} else if ((p[0] == '>' || p[0] == '!') && cur) {
			size_t skip = 1;
			bool newline = true;

			if (len > skip && p[skip] == '-' && (len == 2 || p[2] == ' ')) {
				newline = false;
				skip++;
			}
			if (len > skip && p[skip] == ' ')
				skip++;
			add_line(p[0] == '>' ? &cur->out : &cur->err, p + skip, len - skip,
				 newline);
		} else if (p[0] == '?' && cur) {
			cur->status = atoi(p + 1);
		} else if (p[0] == '#' || len == 0) {
			add(&before, p, next - p);
		} else {
			fprintf(report, "%s:%zu: not a line of a case: %.*s\n", path, line,
				(int)len, p);
			return 0;
		}
	}
	*tail = before;
	*steps = s;
	return n;
}

static void print_expected(FILE *f, char mark, const struct text *t)
{
	size_t len;

	for (const char *p = t->p, *end = t->p + t->n; p < end; ) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));

		len = nl ? (size_t)(nl - p) : (size_t)(end - p);
		fprintf(f, "%c%s%s", mark, nl ? "" : "-", len ? " " : "");
		fwrite(p, 1, len, f);
		fputc('\n', f);
		p += len + 1;
	}
}

/* Lines that differ, with `-` for expected and `+` for seen; what both share at the beginning
 * and at the end is left out. */
static void show_difference(const char *what, const struct text *want, const struct text *got)
{
	const struct text *side[2] = { want, got };
	size_t from = 0, tail = 0, line = 1, max = want->n < got->n ? want->n : got->n;

	for (size_t i = 0; i < max && want->p[i] == got->p[i]; i++)
		if (want->p[i] == '\n') {
			from = i + 1;
			line++;
		}
	for (size_t i = 1; i <= max - from && want->p[want->n - i] == got->p[got->n - i]; i++)
		if (want->p[want->n - i] == '\n')
			tail = i - 1;
	fprintf(report, "    %s differs from line %zu on (- expected, + seen):\n", what, line);
	for (int k = 0; k < 2; k++) {
		const char *p = side[k]->p + from, *end = side[k]->p + side[k]->n - tail;
		int shown = 0;

		while (p < end) {
			const char *nl = memchr(p, '\n', (size_t)(end - p));
			size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);

			if (shown++ == SHOW_MAX) {
				fprintf(report, "    %c ...\n", "-+"[k]);
				break;
			}
			fprintf(report, "    %c ", "-+"[k]);
			fwrite(p, 1, len < 500 ? len : 500, report);
			fprintf(report, "%s\n", nl ? "" : "   (no newline at the end)");
			p += len + 1;
		}
	}
}

static bool same(const struct text *a, const struct text *b)
{
	return a->n == b->n && !memcmp(a->p, b->p, a->n);
}

/* The value of a `# KEY: VALUE` line in front of the first command, in @buf; else NULL. */
static char *setting(const char *src, const char *key, char *buf, size_t size)
{
	size_t len, klen = strlen(key);

	for (const char *p = src, *next; *p && *p != '$'; p = next) {
		next = next_line(p, &len);
		if (len > klen + 3 && p[0] == '#' && p[1] == ' ' && !strncmp(p + 2, key, klen) &&
		    p[2 + klen] == ':') {
			snprintf(buf, size, "%.*s", (int)(len - klen - 3), p + klen + 3);
			return buf;
		}
	}
	return NULL;
}

static bool missing(const char *needs, char *name, size_t size)
{
	char words[1024], test[1200], *save, *w;

	snprintf(words, sizeof words, "%s", needs);
	for (w = strtok_r(words, " ,", &save); w; w = strtok_r(NULL, " ,", &save)) {
		snprintf(test, sizeof test, "command -v \"%s\" >/dev/null 2>&1", w);
		if (system(test)) {
			snprintf(name, size, "%s", w);
			return true;
		}
	}
	return false;
}

static bool refused(const char *command, char *why, size_t size)
{
	FILE *f = popen(command, "r");

	if (!f || !fgets(why, (int)size, f))
		snprintf(why, size, "%s", command);
	why[strcspn(why, "\n")] = 0;
	return !f || pclose(f);
}

static void run_case(const char *path, struct tally *t)
{
	size_t size, n;
	char *src = read_file(path, &size), buf[1024], name[1024], dir[4096];
	struct step *steps = NULL;
	struct text tail = { 0 }, blessed = { 0 };
	double timeout = 180;
	bool ok = true, changed = false;

	if (!src) {
		fprintf(report, "%s: %s\n", path, strerror(errno));
		t->failed++;
		return;
	}
	if (setting(src, "needs", buf, sizeof buf) && missing(buf, name, sizeof name)) {
		fprintf(report, "skip %s: needs %s\n", path, name);
		t->skipped++;
		return;
	}
	if (setting(src, "if", buf, sizeof buf) && refused(buf, name, sizeof name)) {
		fprintf(report, "skip %s: %s\n", path, name);
		t->skipped++;
		return;
	}
	if (setting(src, "timeout", buf, sizeof buf))
		timeout = atof(buf);
	timeout *= patience;
	n = parse_case(path, src, &steps, &tail);
	if (!n) {
		fprintf(report, "FAIL %s: no command in it\n", path);
		t->failed++;
		return;
	}
	snprintf(dir, sizeof dir, "%s/pugmark-test-XXXXXX", getenv("TMPDIR"));
	must(mkdtemp(dir));
	setenv("HOME", dir, 1);
	for (size_t i = 0; i < n; i++) {
		struct step *s = &steps[i];
		struct outcome o;
		bool good;
		FILE *f;

		run_command(s->command.p, dir, timeout, &o);
		good = !o.timed_out && !o.left && !o.too_much && o.status == s->status &&
		       same(&o.out, &s->out) && same(&o.err, &s->err);
		if (!good && (!bless || o.timed_out || o.left || o.too_much)) {
			if (ok)
				fprintf(report, "FAIL %s\n", path);
			ok = false;
			fprintf(report, "  $ %s\n", s->command.p);
			if (o.timed_out)
				fprintf(report, "    was still running after %g s\n", timeout);
			if (o.too_much)
				fprintf(report, "    printed more than %u MB\n", OUTPUT_MAX >> 20);
			if (o.left)
				fprintf(report, "    left %u process(es) behind\n", o.left);
			if (o.status != s->status)
				fprintf(report, "    exit status: expected %d, seen %d\n",
					s->status, o.status);
			if (!same(&o.out, &s->out))
				show_difference("standard output", &s->out, &o.out);
			if (!same(&o.err, &s->err))
				show_difference("standard error", &s->err, &o.err);
		}
		changed |= !good;
		if (bless) {
			char *p;
			size_t len;

			f = must(open_memstream(&p, &len));
			fwrite(s->before.p ? s->before.p : "", 1, s->before.n, f);
			fwrite(s->source.p, 1, s->source.n, f);
			print_expected(f, '>', &o.out);
			print_expected(f, '!', &o.err);
			if (o.status)
				fprintf(f, "? %d\n", o.status);
			fclose(f);
			add(&blessed, p, len);
			free(p);
		}
	}
	if (bless && ok && changed) {
		FILE *f = must(fopen(path, "w"));

		fwrite(blessed.p, 1, blessed.n, f);
		fwrite(tail.p ? tail.p : "", 1, tail.n, f);
		if (fclose(f))
			must(NULL);
		fprintf(report, "blessed %s\n", path);
	}
	if (system("rm -rf \"$HOME\" 2>/dev/null || { chmod -R u+rwx \"$HOME\"; rm -rf \"$HOME\"; "
		   "}"))
		fprintf(report, "could not remove %s\n", dir);
	if (ok)
		t->passed++;
	else
		t->failed++;
}

/* ---- programs that speak TAP ---------------------------------------------------------------- */

static void run_program(const char *command, struct tally *t)
{
	struct outcome o;
	unsigned planned = 0, seen = 0;
	bool failing = false, has_plan = false;
	const char *said;
	size_t len;

	run_command(command, top, 1200 * patience, &o);
	for (const char *p = o.out.p, *next; *p; p = next) {
		const char *line;
		size_t n;

		next = next_line(p, &len);
		for (line = p, n = len; n && (*line == ' ' || *line == '\t'); line++, n--)
			;
		if (n > 3 && !strncmp(line, "1..", 3)) {
			planned += (unsigned)atoi(line + 3);
			has_plan = true;
		} else if (n >= 2 && !strncmp(line, "ok", 2) && (n == 2 || line[2] == ' ')) {
			char *copy = strndup(line, n), *skip = strcasestr(copy, "# skip");

			seen++;
			failing = false;
			if (skip) {
				t->skipped++;
				fprintf(report, "skip %s: %s\n", command, copy);
			} else {
				t->passed++;
				if (verbose)
					fprintf(report, "     %s\n", copy);
			}
			free(copy);
		} else if (n >= 6 && !strncmp(line, "not ok", 6)) {
			seen++;
			if (memmem(line, n, "# SKIP", 6)) {	/* so says cmocka */
				failing = false;
				t->skipped++;
				fprintf(report, "skip %s: %.*s\n", command, (int)n - 4, line + 4);
				continue;
			}
			t->failed++;
			failing = true;
			fprintf(report, "FAIL %s: %.*s\n", command, (int)n, line);
		} else if (n && (*line == '#' ? (failing || line[1] == '#') : verbose)) {
			/* "#" explains a failure; "##" is always shown, a table for instance */
			fprintf(report, "     %.*s\n", (int)n, line);
		}
	}
	said = o.timed_out		? "was still running when its time was over: -x gives more"
	       : o.left			? "left a process behind"
	       : o.too_much		? "printed too much"
	       : o.status && !t->failed ? "failed"
	       : !has_plan		? "printed no plan (1..N)"
	       : planned != seen	? "did not run every test"
					: NULL;
	if (said) {
		t->failed++;
		fprintf(report, "FAIL %s: %s (status %d, %u of %u tests)\n", command, said,
			o.status, seen, planned);
	}
	if ((said || t->failed) && o.err.n)
		fprintf(report, "%.*s\n", (int)(o.err.n < 8000 ? o.err.n : 8000), o.err.p);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static struct job *jobs;
static size_t njobs;

static void add_job(const char *what, bool is_case)
{
	jobs = must(realloc(jobs, (njobs + 1) * sizeof *jobs));
	jobs[njobs++] = (struct job){ .what = must(strdup(what)), .is_case = is_case };
}

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void add_cases_below(const char *dir)
{
	struct dirent **e;
	int n = scandir(dir, &e, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[4096];
		struct stat st;

		snprintf(path, sizeof path, "%s/%s", dir, e[i]->d_name);
		if (e[i]->d_name[0] != '.' && !stat(path, &st)) {
			if (S_ISDIR(st.st_mode))
				add_cases_below(path);
			else if (ends_in(path, ".t"))
				add_job(path, true);
		}
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

static void start(struct job *j, struct tally *t)
{
	fflush(NULL);
	j->report = memfd_create("report", MFD_CLOEXEC);
	clock_gettime(CLOCK_MONOTONIC, &j->begun);
	j->pid = fork();
	if (j->pid < 0)
		must(NULL);
	if (!j->pid) {
		prctl(PR_SET_CHILD_SUBREAPER, 1);
		report = must(fdopen(j->report, "w"));
		if (j->is_case)
			run_case(j->what, t);
		else
			run_program(j->what, t);
		fclose(report);
		_exit(0);
	}
}

static void show(struct job *j, struct tally *t)
{
	char buf[65536];
	ssize_t n;

	if (j->status) {
		t->failed++;
		printf("FAIL %s: the test runner itself failed on it\n", j->what);
	}
	if (verbose || t->failed)
		printf("%s %s (%u of %u, %.2f s, processors %.2f s)\n",
		       t->failed ? "----" : "ok  ", j->what, t->passed,
		       t->passed + t->failed + t->skipped, j->took, j->cpu);
	fflush(stdout);
	lseek(j->report, 0, SEEK_SET);
	while ((n = read(j->report, buf, sizeof buf)) > 0)
		if (fwrite(buf, 1, (size_t)n, stdout) != (size_t)n)
			must(NULL);
	close(j->report);
}

/* The same wherever we are started from: by nohup, by a daemon that blocks or ignores signals, in
 * somebody's shell. */
static void set_environment(const char *self)
{
	char exe[4096], buf[8500], *slash;
	const char *build;
	struct rlimit stack;
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(022);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	/* without a limit, addresses begin elsewhere, for 32-bit programs where tracing needs
	 * them */
	getrlimit(RLIMIT_STACK, &stack);
	if (stack.rlim_cur == RLIM_INFINITY)
		stack.rlim_cur = 8 << 20;
	setrlimit(RLIMIT_STACK, &stack);
	if (!realpath(self, exe))
		must(NULL);
	/* BUILD/tests/run */
	for (int i = 0; i < 2; i++) {
		slash = strrchr(exe, '/');
		if (!slash)
			must(NULL);
		*slash = 0;
	}
	build = exe;
	must(getcwd(top, sizeof top));
	snprintf(buf, sizeof buf, "%s:%s", build,
		 getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
	setenv("PATH", buf, 1);
	setenv("TOP", top, 1);
	setenv("BUILD", build, 1);
	snprintf(buf, sizeof buf, "%s/tests", top);
	setenv("TESTS", buf, 1);
	snprintf(buf, sizeof buf, "%s/build/programs", top);
	setenv("PROGRAMS", buf, 1);
	snprintf(buf, sizeof buf, "%s/test-cache", build);
	setenv("XDG_CACHE_HOME", buf, 1);
	if (!getenv("TMPDIR"))
		setenv("TMPDIR", "/tmp", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "UTC", 1);
	setenv("TERM", "dumb", 1);
	setenv("PUGMARK_COLUMNS", "80", 1);
	setenv("CMOCKA_MESSAGE_OUTPUT", "TAP", 1);
	unsetenv("MAKEFLAGS");		/* a make inside a case is a new make */
	unsetenv("MFLAGS");
	unsetenv("MAKELEVEL");
}

int main(int argc, char **argv)
{
	long width = sysconf(_SC_NPROCESSORS_ONLN);
	struct tally *tally, total = { 0 };
	size_t next = 0, running = 0, shown = 0;

	set_environment("/proc/self/exe");
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (!strcmp(argv[i], "--bless"))
			bless = true;
		else if (!strcmp(argv[i], "-v"))
			verbose = true;
		else if (!strcmp(argv[i], "-vv"))
			verbose = each_command = true;
		else if (!strcmp(argv[i], "-j") && i + 1 < argc)
			width = atoi(argv[++i]);
		else if (!strncmp(argv[i], "-j", 2) && argv[i][2])
			width = atoi(argv[i] + 2);
		else if (!strcmp(argv[i], "-x") && i + 1 < argc)
			patience = atof(argv[++i]);
		else if (argv[i][0] == '-') {
			fprintf(stderr, "usage: tests/run [-j N] [-v] [-vv] [-x N] [--bless] "
				"CASE.t|DIRECTORY|'PROGRAM ARG...' ...\n");
			return 2;
		} else if (ends_in(argv[i], ".t"))
			add_job(argv[i], true);
		else if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			add_cases_below(argv[i]);
		else
			add_job(argv[i], false);
	}
	tally = mmap(NULL, (njobs + 1) * sizeof *tally, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		must(NULL);
	while (next < njobs || running) {
		struct rusage usage;
		int status;
		pid_t pid;

		while (next < njobs && running < (size_t)(width < 1 ? 1 : width)) {
			start(&jobs[next], &tally[next]);
			next++;
			running++;
		}
		pid = wait4(-1, &status, 0, &usage);
		for (size_t i = 0; i < next; i++)
			if (jobs[i].pid && jobs[i].pid == pid) {
				jobs[i].status = status;
				jobs[i].took = since(&jobs[i].begun);
				jobs[i].cpu = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
				jobs[i].ended = true;
				jobs[i].pid = 0;
				running--;
			}
		for (; shown < next && jobs[shown].ended; shown++)	/* in the order asked for */
			show(&jobs[shown], &tally[shown]);
	}
	for (size_t i = 0; i < njobs; i++) {
		total.passed += tally[i].passed;
		total.failed += tally[i].failed;
		total.skipped += tally[i].skipped;
	}
	printf("%u passed, %u failed, %u skipped\n", total.passed, total.failed, total.skipped);
	return total.failed ? 1 : 0;
}
