/* SPDX-License-Identifier: MIT */
/* invariant.h - which invariants are checked in which build
 *
 * An invariant is numbered where it is stated (the top of a header), and asserted under its number:
 *
 *	assert(base >= m->frozen);					(3)
 *
 * assert() is for what costs nothing beside what is done there: it is in every build, the installed
 * one too. What goes through a whole table is asserted where PM_CHECKED is 1: with sanitizers
 * (SAN=1, SAN=thread), or with CFLAGS=-DPM_CHECKED=1. Fuzzers call the same function in any
 * build. */
#ifndef PM_BASE_INVARIANT_H
#define PM_BASE_INVARIANT_H

#include <assert.h>

#ifndef PM_CHECKED
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define PM_CHECKED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PM_CHECKED 1
#endif
#endif
#endif
#ifndef PM_CHECKED
#define PM_CHECKED 0
#endif

#endif
