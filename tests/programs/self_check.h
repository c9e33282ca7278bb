/* SPDX-License-Identifier: MIT */
/* self_check.h - a victim checks itself: the first wrong thing ends it with a message and status 1,
 * and the end of main prints what was checked. Output depends on nothing but the program. */
#ifndef SELF_CHECK_H
#define SELF_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int checks __attribute__((unused));

#define CHECK(what) do {								\
	if (!(what)) {									\
		int err_ = errno;							\
		fprintf(stderr, "%s:%d: wrong: %s (errno %d)\n", __FILE_NAME__,		\
			__LINE__, #what, err_);						\
		_exit(1);								\
	}										\
	checks++;									\
} while (0)

#define SECTION(...) do { printf(__VA_ARGS__); putchar('\n'); fflush(stdout); } while (0)

/* 32-bit programs have the same registers under other names. */
#ifdef __i386__
#define REG_RIP REG_EIP
#define REG_RAX REG_EAX
#define REG_RSP REG_ESP
#endif

#ifndef __FILE_NAME__
#define __FILE_NAME__ __FILE__
#endif

#endif
