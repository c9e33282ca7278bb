/* SPDX-License-Identifier: MIT */
/* registers.h - registers of x86-64 by name, of a thread that stands (control/stop_at.h)
 *
 * General registers with their parts (rax, eax, ax, al, ah), rip, eip, eflags, fs_base, gs_base;
 * xmm0, ymm0, zmm0...; st0...; k0...; mxcsr, fctrl, fstat; "all" are rip, eflags and the general
 * ones, in 32-bit code those of 32 bits. */
#ifndef PM_QUERY_REGISTERS_H
#define PM_QUERY_REGISTERS_H

#include "collect/control/stop_at.h"
#include "collect/query/query.h"

#define QUERY_REGISTERS 20

bool query_is_register(const char *name);
/* Into @to, QUERY_REGISTERS; how many; 0: it cannot be read, or this processor has no such one. */
size_t query_registers(struct standing *st, const char *name, struct query_register *to);

/* One that is in @r. False: it is not. */
bool query_general(const struct user_regs_struct *r, const char *name, struct query_register *to);

#endif
