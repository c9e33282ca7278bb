/* SPDX-License-Identifier: MIT */
/* kernel.h - what the guest's kernel tells of itself through the monitor's window (window.h):
 * events and address spaces, each at its place in the stream of instructions
 *
 * Units      times are cycles of the machine, those of its references
 * Ownership  guest_kernel_new()/guest_kernel_free(); the machine's owner frees it.
 * Errors     the first one comes out of guest_kernel_finish() at the latest.
 *
 * An event belongs behind the instruction whose store completed it. So the store only leaves it
 * here, and the board passes it on at the next boundary between instructions. */
#ifndef PM_MACHINE_KERNEL_H
#define PM_MACHINE_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/machine/cpu.h"
#include "collect/machine/tracer.h"

struct guest_kernel;

/* Events go to the file @path (NULL: to none). */
struct guest_kernel *guest_kernel_new(const char *path, struct pm_err *err);
/* A 32-bit store of @v to offset @off of the window. True: call guest_kernel_pass() before the next
 * instruction. */
bool guest_kernel_store(struct guest_kernel *k, uint32_t off, uint32_t v);
/* What the last instruction completed goes to the file and, unless it is NULL, to @t. */
void guest_kernel_pass(struct guest_kernel *k, struct machine_tracer *t, struct cpu *c);
/* Events for the file so far. */
uint64_t guest_kernel_events(const struct guest_kernel *k);
bool guest_kernel_failed(const struct guest_kernel *k);
/* Completes the file. An error if there is to be one and not one event came: it is not made. */
enum pm_status guest_kernel_finish(struct guest_kernel *k, struct pm_err *err);
void guest_kernel_free(struct guest_kernel *k);

#endif
