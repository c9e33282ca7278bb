/* SPDX-License-Identifier: MIT */
/* nr_i386.h - numbers of i386's system calls: NR32_open, for <sys/syscall.h> has only x86-64's */
#ifndef PM_RECORD_NR_I386_H
#define PM_RECORD_NR_I386_H

#define CALL(nr, name, ...) NR32_##name = nr,
enum nr_i386 {
#include "collect/runtime/calls32.inc"
};
#undef CALL

#endif
