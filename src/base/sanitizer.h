/* SPDX-License-Identifier: MIT */
/* sanitizer.h - is this compiled for a sanitizer? gcc and clang say it differently. */
#ifndef PM_BASE_SANITIZER_H
#define PM_BASE_SANITIZER_H

#ifndef __has_feature			/* clang's */
#define __has_feature(x) 0
#endif

#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define PM_ADDRESS_SANITIZER 1
#else
#define PM_ADDRESS_SANITIZER 0
#endif
#if defined __SANITIZE_THREAD__ || __has_feature(thread_sanitizer)
#define PM_THREAD_SANITIZER 1
#else
#define PM_THREAD_SANITIZER 0
#endif
/* Either of them: everything takes some ten times as long, the sanitizer's own memory counts as the
 * process's, and its shadow takes terabytes of addresses. What is freed is kept for a while. */
#define PM_SANITIZED (PM_ADDRESS_SANITIZER || PM_THREAD_SANITIZER)

/* A function that stands for another process: the thread sanitizer does not see its accesses, as it
 * would not see those. Whoever shares memory with a hostile program has races with it. */
#define PM_ANOTHER_PROCESS __attribute__((no_sanitize("thread"), noinline))

#endif
