/* SPDX-License-Identifier: MIT */
/* alike.c - code at addresses that are equal in their low 32 bits, or that go through a multiple of
 * 4 GiB */
#include <sys/mman.h>
#include "self_check.h"

#define CALLS 100

static unsigned char *map(uint64_t at, size_t size, int prot)
{
	void *p = mmap((void *)at, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == (void *)at);
	return p;
}

/* mov $value, %eax; ret */
static void put(unsigned char *p, int value)
{
	p[0] = 0xb8;
	memcpy(p + 1, &value, 4);
	p[5] = 0xc3;
}

static void call(unsigned char *p, int value)
{
	for (int i = 0; i < CALLS; i++)
		CHECK(((int (*volatile)(void))p)() == value);
}

/* Both executable, partly over one another. */
static void generated(void)
{
	unsigned char *a = map(0x210000000000, 65536, 7), *b = map(0x110000008000, 65536, 7);

	put(a, 1);
	put(a + 0x9000, 2);
	put(b, 3);			/* like a + 0x8000 */
	put(b + 0x1000, 4);
	put(b + 0x9000, 5);
	call(a, 1);
	call(a + 0x9000, 2);
	call(b, 3);
	call(b + 0x1000, 4);
	call(b + 0x9000, 5);
	put(a + 0x8000, 6);
	call(a + 0x8000, 6);
	call(b, 3);
	/* and one that becomes executable when the others have run */
	b = map(0x410000000000, 65536, 3);
	put(b, 7);
	CHECK(!mprotect(b, 65536, 5));
	call(b, 7);
	call(a, 1);
	call(a + 0x8000, 6);
}

/* A region that is only reserved, over the program's own code. */
static void reserved(void)
{
	const uint64_t like = 0x230000000000 | (uint32_t)(uint64_t)reserved;
	unsigned char *p = map((like & ~0xfffull) - (64 << 20), 128 << 20, PROT_NONE);

	CHECK(!mprotect(p, 65536, 7));
	put(p, 8);
	call(p, 8);
	CHECK(!mprotect(p + (127 << 20), 65536, 7));
	put(p + (127 << 20), 9);
	call(p + (127 << 20), 9);
	call(p, 8);
}

/* From below a multiple of 4 GiB to above; behind the place that addresses right below it are
 * looked up at is the program's data. */
static void through(void)
{
	unsigned char *p = map(0x2200ffff0000, 131072, 7), *data = map(0x470000000, 1 << 20, 3);

	memset(data, 0x5a, 1 << 20);
	put(p, 10);
	put(p + 65535, 11);
	put(p + 65536 + 100, 12);
	call(p, 10);
	call(p + 65535, 11);
	call(p + 65536 + 100, 12);
	for (int i = 0; i < 1 << 20; i++)
		if (data[i] != 0x5a)
			CHECK(!"overwritten");
}

/* So large that it is like itself. */
static void large(void)
{
	unsigned char *p = map(0x250000000000, 5ull << 30, 7) + (600 << 20);

	put(p, 20);
	put(p + 32, 22);
	put(p + (1ull << 32), 21);
	call(p + 32, 22);
	call(p, 20);
	call(p + (1ull << 32), 21);
	call(p, 20);
}

int main(int argc, char **argv)
{
	const char *const which = argc > 1 ? argv[1] : "grtl";

	if (strchr(which, 'g')) {
		generated();
		SECTION("generated code");
	}
	if (strchr(which, 'r')) {
		reserved();
		SECTION("reserved");
	}
	if (strchr(which, 't')) {
		through();
		SECTION("through 4 GiB");
	}
	if (strchr(which, 'l')) {
		large();
		SECTION("larger than 4 GiB");
	}
	return 0;
}
