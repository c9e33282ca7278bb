/* SPDX-License-Identifier: MIT */
/* guest_events.h - events of an x86 guest's kernel (trace/kernel_event.h), from the functions that
 * it calls
 *
 * The kernel's own image says where these functions are and how its structures are laid out. So a
 * plan is made for the plug-in (stream.h: struct qs_plan), and what the plug-in says at each call
 * becomes events. The kernel is watched from its first task on: nothing existed before.
 *
 * Ownership  guest_events_new()/guest_events_free().
 * Errors     a kernel without what is needed is one sentence. Any words may come from the plug-in.
 * Threads    one */
#ifndef PM_QEMU_GUEST_EVENTS_H
#define PM_QEMU_GUEST_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "pugmark/pugmark.h"

struct guest_events;
struct linux_image;
struct qs_plan;

struct guest_events *guest_events_new(const char *kernel, struct pm_err *err);
struct guest_events *guest_events_of(const struct linux_image *k, struct pm_err *err);
void guest_events_free(struct guest_events *g);	/* NULL is fine */
const struct qs_plan *guest_events_plan(const struct guest_events *g);
/* What is to be called for each event; @type: the file type's letter, 0 none. @r is borrowed. */
void guest_events_to(struct guest_events *g,
		     void (*event)(void *self, const struct pm_rare *r, uint8_t type), void *self);
/* A record QS_WATCHED: its number, and the @n words behind the block's address. False: it makes no
 * sense. */
bool guest_events_read(struct guest_events *g, uint32_t number, const uint64_t *w, size_t n);
/* What references are tagged with while the page directory is on page @page: as in events, or 0 if
 * that is no process's. With two directories for each process (PTI), the one for user mode is on
 * the page behind the other, whose number is even; events say the other. */
uint64_t guest_events_space(const struct guest_events *g, uint64_t page);
/* The trace ends: the last event. */
void guest_events_end(struct guest_events *g);

#endif
