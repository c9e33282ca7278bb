/* SPDX-License-Identifier: MIT */
/* driver.c - feeds a fuzzer with mutated corpus files; speaks TAP
 *
 *   fuzz_NAME [-n INPUTS] [-t SECONDS] [-s SEED] [FILE|DIRECTORY...]
 *
 * With files and -n 0 it only runs those: that is how a crash is looked at. The same seed gives
 * the same inputs. */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "fuzz/fuzz.h"

#define INPUT_MAX	65536

#define INPUTS		20000		/* where the fuzzer does not say */
#define INPUTS_SHARE	(PM_SANITIZED ? 8 : 1)	/* one of so many: each takes 10 times as long */

struct seed { uint8_t *p; size_t n; };

static struct seed *seeds;
static size_t nseeds;
static uint64_t rng = 0x9e3779b97f4a7c15;
static uint8_t input[INPUT_MAX];
static size_t input_size;
static unsigned long count;
static char name[256];

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? rng % below : 0;
}

static void add_seed(const char *path)
{
	struct stat st;
	FILE *f;

	if (stat(path, &st))
		return;
	if (S_ISDIR(st.st_mode)) {
		struct dirent **e;
		int n = scandir(path, &e, NULL, alphasort);

		for (int i = 0; i < n; i++) {
			char below[4096];

			snprintf(below, sizeof below, "%s/%s", path, e[i]->d_name);
			if (e[i]->d_name[0] != '.')
				add_seed(below);
			free(e[i]);
		}
		if (n >= 0)
			free(e);
		return;
	}
	f = fopen(path, "r");
	if (!f)
		return;
	seeds = realloc(seeds, (nseeds + 1) * sizeof *seeds);
	seeds[nseeds].p = malloc(INPUT_MAX);
	seeds[nseeds].n = fread(seeds[nseeds].p, 1, INPUT_MAX, f);
	nseeds++;
	fclose(f);
}

static void mutate_once(void)
{
	static const uint64_t odd[] = {
		0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff,
		0x7fffffffffffffff, 0x8000000000000000, 0xffffffffffffffff, 0x100, 0x10000,
	};
	size_t n = input_size, at = rnd(n), len, to;
	uint64_t v;

	switch (rnd(9)) {
	case 0:
		if (n)
			input[at] ^= (uint8_t)(1u << rnd(8));
		break;
	case 1:
		if (n)
			input[at] = (uint8_t)rnd(256);
		break;
	case 2:				/* an interesting number of 1, 2, 4 or 8 bytes */
		v = odd[rnd(sizeof odd / sizeof *odd)];
		len = 1u << rnd(4);
		if (rnd(4) == 0)
			v = __builtin_bswap64(v) >> (64 - 8 * len);
		if (at + len <= n)
			memcpy(input + at, &v, len);
		break;
	case 3:				/* add or subtract a little */
		if (n)
			input[at] = (uint8_t)(input[at] + rnd(33) - 16);
		break;
	case 4:				/* cut */
		input_size = rnd(n + 1);
		break;
	case 5:				/* remove a part */
		len = rnd(n - at + 1);
		memmove(input + at, input + at + len, n - at - len);
		input_size = n - len;
		break;
	case 6:				/* repeat a part */
		len = 1 + rnd(64);
		if (at + len <= n && n + len <= INPUT_MAX) {
			memmove(input + at + len, input + at, n - at);
			input_size = n + len;
		}
		break;
	case 7:				/* a part of another seed */
		if (nseeds) {
			const struct seed *s = &seeds[rnd(nseeds)];

			to = rnd(s->n);
			len = rnd(s->n - to + 1);
			if (len > INPUT_MAX - at)
				len = INPUT_MAX - at;
			memcpy(input + at, s->p + to, len);
			if (at + len > n)
				input_size = at + len;
		}
		break;
	case 8:				/* noise at the end */
		len = rnd(32);
		for (size_t i = 0; i < len && input_size < INPUT_MAX; i++)
			input[input_size++] = (uint8_t)rnd(256);
		break;
	}
}

static void keep_input(int sig)
{
	char path[300], text[512];
	int fd, n;

	snprintf(path, sizeof path, "%s.crash", name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd >= 0) {
		if (write(fd, input, input_size) != (ssize_t)input_size)
			path[0] = 0;
		close(fd);
	}
	n = snprintf(text, sizeof text, "not ok 1 - %s: %s at input %lu, kept in %s\n", name,
		     sig == SIGPROF ? "more than ten seconds" : strsignal(sig), count, path);
	if (write(1, text, (size_t)n) == n)
		_exit(1);
	_exit(1);
}

static void feed(void)
{
	/* A copy of the exact size, so that a sanitizer sees a read behind its end. */
	uint8_t *copy = malloc(input_size ? input_size : 1);

	memcpy(copy, input, input_size);
	/* of its own time: on a busy machine others may take more than that */
	setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = 10 }, NULL);
	count++;
	LLVMFuzzerTestOneInput(copy, input_size);
	free(copy);
}

int main(int argc, char **argv)
{
	unsigned long limit = (&fuzz_inputs ? fuzz_inputs : INPUTS) / INPUTS_SHARE;
	const uint64_t room = &fuzz_room ? fuzz_room : 2ull << 30;
	double seconds = 0;
	time_t begun = time(NULL);
	const char *base = strrchr(argv[0], '/');
	bool files = false;
	int c;

	snprintf(name, sizeof name, "%s", base ? base + 1 : argv[0]);
	/* Each input frees all that it took. To give that back to the kernel, and to have it filled
	 * with zeroes again, took nearly all of the time. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	while ((c = getopt(argc, argv, "n:t:s:")) > 0) {
		if (c == 'n')
			limit = strtoul(optarg, NULL, 0);
		else if (c == 't')
			seconds = atof(optarg);
		else if (c == 's')
			rng ^= strtoull(optarg, NULL, 0) * 0x2545f4914f6cdd1d;
		else
			return 2;
	}
	for (; optind < argc; optind++, files = true)
		add_seed(argv[optind]);
	if (!files) {
		char path[300];

		snprintf(path, sizeof path, "tests/fuzz/corpus/%s",
			 strncmp(name, "fuzz_", 5) ? name : name + 5);
		add_seed(path);
	}
	if (!PM_SANITIZED)
		setrlimit(RLIMIT_AS, &(struct rlimit){ room, room });
	for (const int *s = (const int[]){ SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGPROF, 0 };
	     *s; s++)
		signal(*s, keep_input);
	printf("1..1\n");
	fflush(stdout);
	for (size_t i = 0; i < nseeds; i++) {
		memcpy(input, seeds[i].p, seeds[i].n);
		input_size = seeds[i].n;
		feed();
	}
	while (seconds > 0 ? difftime(time(NULL), begun) < seconds : count < limit) {
		input_size = 0;
		if (nseeds && rnd(16)) {
			const struct seed *s = &seeds[rnd(nseeds)];

			memcpy(input, s->p, s->n);
			input_size = s->n;
		} else {
			input_size = rnd(rnd(4) ? 64 : 4096);
			for (size_t i = 0; i < input_size; i++)
				input[i] = (uint8_t)rnd(256);
		}
		for (uint64_t n = rnd(8); n > 0; n--)
			mutate_once();
		feed();
	}
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	printf("ok 1 - %s: %lu inputs, %zu seeds\n", name, count, nseeds);
	return 0;
}
