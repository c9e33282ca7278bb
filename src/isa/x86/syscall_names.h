/* SPDX-License-Identifier: MIT */
/* syscall_names.h - what Linux calls its system calls: of 64-bit programs, and of 32-bit ones */
#ifndef PM_ISA_X86_SYSCALL_NAMES_H
#define PM_ISA_X86_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* NULL: no call that this pugmark knows has the number. */
const char *x86_syscall_name(uint64_t number, bool i386);

#endif
