/* SPDX-License-Identifier: MIT */
/* test_peek.c - what pugmark finds out about the pages of a process */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/control/session.h"

#define PAGES 1500u			/* more than are looked at at once */

/* A private mapping of a file: none of it in memory, read, and written to at one place. */
static void written_pages_are_noticed(void **state)
{
	char name[] = "/tmp/pugmark-peek-XXXXXX";
	const int fd = mkstemp(name);
	volatile uint8_t *p;
	uint64_t at, end;

	(void)state;
	assert_true(fd >= 0 && !unlink(name) && !ftruncate(fd, PAGES * 4096));
	p = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	at = (uint64_t)(uintptr_t)p;
	end = at + PAGES * 4096;
	assert_true(peek_unwritten(getpid(), at, end));
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(p[i * 4096], 0);
	assert_true(peek_unwritten(getpid(), at, end));
	p[(PAGES - 1) * 4096] = 1;
	assert_false(peek_unwritten(getpid(), at, end));
	assert_true(peek_unwritten(getpid(), at, end - 4096));
	assert_false(peek_unwritten(0, at, end));		/* no process */
	munmap((void *)(uintptr_t)p, PAGES * 4096);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(written_pages_are_noticed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
