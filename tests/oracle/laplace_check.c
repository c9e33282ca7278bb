/* SPDX-License-Identifier: MIT */
/* laplace_check.c - a reference trace (18 bytes a record, standard input) and the kernel events of
 * the same run: does every reference of a user address lie in what the events say is mapped?
 *
 *   laplace EVENTS <REFERENCES
 *   laplace --wide EVENTS <REFERENCES      of x86-64: 26 bytes a record
 *
 * Independent of pugmark: its own readers, a bit for each page of each address space. Prints what
 * it counted, a line for each; and after each read of /proc/stat, vmstat and loadavg how many
 * switches, forks, exits and page faults there were until then, to be compared with what the
 * kernel says there. Exit status: 1 if a reference lies outside, or an event makes no sense. */
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART		(1u << 15)	/* pages */
#define SPACES		(1u << 20)	/* numbers of page directories */
#define PIDS		(1u << 16)

static bool wide;
static uint64_t end_of_users = 0x80000000;
static uint8_t **space[SPACES];		/* a bit a page, in parts; NULL: not known */
static uint32_t context[PIDS];
static unsigned long long of_tag[256], user, kernel, unknown, outside, contexts_wrong;
static bool ended;

static void die(const char *what, const char *line)
{
	fprintf(stderr, "laplace: %s: %s\n", what, line);
	exit(1);
}

static uint64_t parts(void)
{
	return (end_of_users >> 12) / PART;
}

static uint8_t **bits(uint64_t n, const char *line)
{
	if (n >= SPACES)
		die("no such address space", line);
	if (!space[n])
		space[n] = calloc(parts(), sizeof *space[n]);
	return space[n];
}

static bool is_mapped(uint8_t *const *b, uint64_t page)
{
	const uint8_t *part = b[page / PART];

	return part && part[page % PART / 8] >> page % 8 & 1;
}

static void set(uint8_t **b, uint64_t from, uint64_t to, bool mapped, const char *line)
{
	if (from > to || to > end_of_users || from & 4095)
		die("no such range", line);
	for (uint64_t p = from >> 12; p < (to + 4095) >> 12; p++) {
		uint8_t **part = &b[p / PART];

		if (!*part)
			*part = calloc(PART / 8, 1);
		if (mapped)
			(*part)[p % PART / 8] |= (uint8_t)(1 << p % 8);
		else
			(*part)[p % PART / 8] &= (uint8_t)~(1 << p % 8);
	}
}

static void clear(uint8_t **b)
{
	for (uint64_t i = 0; i < parts(); i++)
		if (b[i])
			memset(b[i], 0, PART / 8);
}

static struct { char name[16]; uint64_t inode[3]; } watched[] = {
	{ "stat", { 0 } }, { "vmstat", { 0 } }, { "loadavg", { 0 } },
};

static void look_at_file(char tag, const uint64_t *a, const char *name)
{
	for (unsigned i = 0; i < 3; i++) {
		if (tag == '(' && !strcmp(name, watched[i].name))
			memcpy(watched[i].inode, a + 1, sizeof watched[i].inode);
		if (tag == '<' && watched[i].inode[0] &&
		    !memcmp(watched[i].inode, a + 1, sizeof watched[i].inode)) {
			printf("at %s switches %llu forks %llu exits %llu faults %llu\n",
			       watched[i].name, of_tag['S'], of_tag['F'], of_tag['T'],
			       of_tag['&']);
			watched[i].inode[0] = 0;
		}
	}
}

static void event(const char *line)
{
	uint64_t a[9] = { 0 };
	const char *p = line + 1;
	char tag = line[0], *end, name[64] = "";
	int n = 0;
	uint8_t **b;

	strtoull(p, &end, 16);
	/* the letter behind an open file's size may look like a number */
	for (p = end; *p == ' ' && n < (tag == '(' ? 5 : 9); p = end) {
		a[n] = strtoull(p + 1, &end, 16);
		if (end == p + 1 || (*end != ' ' && *end))
			break;
		n++;
	}
	sscanf(p, tag == '(' ? " %*c %63s" : " %63s", name);
	of_tag[(uint8_t)tag]++;
	if (strchr("FATMm@UCs", tag) && a[0] >= PIDS)
		die("no such process", line);
	switch (tag) {
	case 'F':
		context[a[0]] = context[a[1] % PIDS];
		break;
	case 'A':
		context[a[0]] = (uint32_t)a[1];
		bits(a[1], line);
		break;
	case 'D':
		b = bits(a[0], line);
		for (uint64_t q = a[2] >> 12; q < a[3] >> 12; q++)
			if (!is_mapped(b, q))
				die("a page is duplicated that is not there", line);
		set(bits(a[1], line), a[2], a[3], true, line);
		break;
	case 'M': case 'm': case 's':
		set(bits(context[a[0]], line), a[1], a[1] + a[2], true, line);
		break;
	case '@':
		b = bits(context[a[0]], line);
		set(b, a[3], a[3] + a[4], false, line);
		set(b, a[1], a[1] + a[2], true, line);
		break;
	case 'U':
		set(bits(context[a[0]], line), a[1], a[1] + a[2], false, line);
		break;
	case 'u':
		clear(bits(a[0], line));
		break;
	case 'C':
		b = bits(context[a[0]], line);
		if (!is_mapped(b, a[1] >> 12))
			die("a page is copied that is not there", line);
		break;
	case 'e':
		ended = true;
		break;
	}
	if (tag == '(' || tag == '<')
		look_at_file(tag, a, name);
}

static uint64_t le(const unsigned char *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | p[n];
	return v;
}

static void reference(const unsigned char *r)
{
	uint64_t ctx = wide ? le(r + 10, 8) : le(r + 10, 4);
	uint64_t at = wide ? le(r + 18, 8) : le(r + 14, 4);
	uint8_t *const *b;

	if (at >= end_of_users) {
		kernel++;
		return;
	}
	if (!ctx || ended) {
		unknown++;
		return;
	}
	user++;
	b = ctx < SPACES ? space[ctx] : NULL;
	contexts_wrong += !b;
	if (b && is_mapped(b, at >> 12))
		return;
	if (outside++ < 10)
		printf("outside: %c at time %llx in space %llx: %llx\n", r[0],
		       (unsigned long long)le(r + 1, 8), (unsigned long long)ctx,
		       (unsigned long long)at);
}

static uint64_t time_of(const char *line)
{
	return strlen(line) > 2 ? strtoull(line + 1, NULL, 16) : 0;
}

int main(int argc, char **argv)
{
	static unsigned char buf[26 * 65536];
	FILE *ev;
	char line[512];
	uint64_t next;
	bool have;
	size_t n, each;

	wide = argc == 3 && !strcmp(argv[1], "--wide");
	ev = argc == 2 + wide ? fopen(argv[1 + wide], "r") : NULL;
	if (wide)
		end_of_users = 1ull << 47;
	each = wide ? 26 : 18;
	if (!ev) {
		fprintf(stderr, "usage: laplace [--wide] EVENTS <REFERENCES\n");
		return 2;
	}
	have = fgets(line, sizeof line, ev);
	next = time_of(line);
	while ((n = fread(buf, each, 65536, stdin)))
		for (size_t i = 0; i < n; i++) {
			while (have && next <= le(buf + each * i + 1, 8)) {
				line[strcspn(line, "\n")] = 0;
				event(line);
				have = fgets(line, sizeof line, ev);
				next = time_of(line);
			}
			reference(buf + each * i);
		}
	for (; have; have = fgets(line, sizeof line, ev)) {
		line[strcspn(line, "\n")] = 0;
		event(line);
	}
	for (unsigned t = 0; t < 256; t++)
		if (of_tag[t])
			printf("events %c %llu\n", t, of_tag[t]);
	printf("references of user addresses %llu\n", user);
	printf("references of kernel addresses %llu\n", kernel);
	printf("references of unknown spaces %llu\n", unknown);
	printf("outside %llu\n", outside);
	return outside || contexts_wrong || !user;
}
