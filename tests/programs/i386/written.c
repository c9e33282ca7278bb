/* SPDX-License-Identifier: MIT */
/* What the kernel writes where it says how much at the beginning: as much as the table of system
 * calls has (calls32.inc). Each call is made twice, with other bytes there. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct part { int arg, size; };
#define fix(a, n)	{ 1 + a, n }
#define FIX(a, n)	{ 1 + a, n }
#define ret(a, n)	{ 0 }
#define arr(a, b, n)	{ 0 }
#define len(a, b)	{ 0 }
#define iov(a, b)	{ 0 }
#define msg(a)		{ 0 }
#define msgs(a)		{ 0 }
#define set(a, b)	{ 0 }
#define CALL(nr, name, how, ...) [nr] = { #name, { __VA_ARGS__ } },
static const struct { const char *name; struct part part[4]; } calls[] = {
#include "../../../src/collect/runtime/calls32.inc"
};

static unsigned char *at;
static unsigned checked;

static int extent(int fill)
{
	int n = 4096;

	while (n && at[n - 1] == fill)
		n--;
	return n;
}

/* Call @nr writes to its argument @arg, which is 0 here. */
static void check(int nr, int arg, long a, long b, long c, long d, long e)
{
	long v[5] = { a, b, c, d, e };
	int n = 0, size = -1;

	for (int i = 0; i < 4; i++)
		if (calls[nr].part[i].arg == 1 + arg)
			size = calls[nr].part[i].size;
	v[arg] = (long)at;
	for (int fill = 0x55; fill <= 0xaa; fill += 0x55) {
		memset(at, fill, 4096);
		if (syscall(nr, v[0], v[1], v[2], v[3], v[4]) < 0)
			printf("%s fails\n", calls[nr].name);
		n = extent(fill) > n ? extent(fill) : n;
	}
	if (n != size)
		printf("%s: %d bytes at argument %d, in the table %d\n", calls[nr].name, n, arg,
		       size);
	checked++;
}

static void files(void)
{
	static const int by_name[] = { 106, 107, 195, 196, 99 }, old[] = { 18, 84 };
	static const char file[] = "/proc/self/exe";
	const int fd = open(file, O_RDONLY);

	for (int i = 0; i < 5; i++)
		check(by_name[i], 1, (long)"/", 0, 0, 0, 0);
	for (int i = 0; i < 2; i++)		/* the root's inode may have a large number */
		check(old[i], 1, (long)"/proc", 0, 0, 0, 0);
	check(108, 1, fd, 0, 0, 0, 0);
	check(197, 1, fd, 0, 0, 0, 0);
	check(100, 1, fd, 0, 0, 0, 0);
	check(268, 2, (long)"/", 84, 0, 0, 0);
	check(269, 2, fd, 84, 0, 0, 0);
	check(300, 2, AT_FDCWD, (long)file, 0, 0, 0);
	check(383, 4, AT_FDCWD, (long)file, 0, 0xfff, 0);
	check(140, 3, fd, 0, 0, 0, 0);
	check(42, 0, 0, 0, 0, 0, 0);
	check(331, 0, 0, 0, 0, 0, 0);
	check(360, 3, 1, 1, 0, 0, 0);
	close(fd);
}

static void times(void)
{
	static const int clocks[] = { 265, 266, 403, 406 };
	static const long none[8];
	long event[13] = { 0, 0, 1 /* SIGEV_NONE */ }, id, fd = syscall(322, 0, 0);

	check(13, 0, 0, 0, 0, 0, 0);
	check(43, 0, 0, 0, 0, 0, 0);
	check(78, 0, 0, 0, 0, 0, 0);
	check(78, 1, 0, 0, 0, 0, 0);
	for (int i = 0; i < 4; i++)
		check(clocks[i], 1, 0, 0, 0, 0, 0);
	check(104, 2, 0, (long)none, 0, 0, 0);
	check(105, 1, 0, 0, 0, 0, 0);
	check(161, 1, 0, 0, 0, 0, 0);
	check(423, 1, 0, 0, 0, 0, 0);
	check(259, 2, 0, (long)event, 0, 0, 0);
	memcpy(&id, at, 4);
	check(260, 3, id, 0, (long)none, 0, 0);
	check(261, 1, id, 0, 0, 0, 0);
	check(409, 3, id, 0, (long)none, 0, 0);
	check(408, 1, id, 0, 0, 0, 0);
	check(325, 3, fd, 0, (long)none, 0, 0);
	check(326, 1, fd, 0, 0, 0, 0);
	check(411, 3, fd, 0, (long)none, 0, 0);
	check(410, 1, fd, 0, 0, 0, 0);
}

static void process(void)
{
	static const int alone[] = { 59, 109, 122, 73, 116, 318 };
	static const int limits[] = { 76, 191 }, ids[] = { 165, 171, 209, 211 };
	long other[2];

	for (int i = 0; i < 6; i++)
		check(alone[i], 0, 0, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++)
		check(limits[i], 1, 3, 0, 0, 0, 0);
	check(340, 3, 0, 3, 0, 0, 0);
	check(77, 1, 0, 0, 0, 0, 0);
	check(155, 1, 0, 0, 0, 0, 0);
	check(67, 2, 10, 0, 0, 0, 0);
	check(174, 2, 10, 0, 0, 8, 0);
	check(126, 2, 0, 0, 0, 0, 0);
	check(175, 2, 0, 0, 0, 8, 0);
	check(186, 1, 0, 0, 0, 0, 0);
	check(312, 1, 0, 0, (long)other, 0, 0);
	check(312, 2, 0, (long)other, 0, 0, 0);
	for (int i = 0; i < 12; i++)
		check(ids[i / 3], i % 3, (long)other, (long)other, (long)other, 0, 0);
	for (int i = 0; i < 4; i++)
		if (!fork())
			_exit(0);
	check(7, 1, -1, 0, 0, 0, 0);
	check(114, 3, -1, 0, 0, 0, 0);
}

int main(void)
{
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	files();
	times();
	process();
	printf("%u calls\n", checked);
	return 0;
}
