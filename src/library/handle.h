/* SPDX-License-Identifier: MIT */
/* handle.h - handles of the library: numbers that only this table turns into objects
 *
 * What a caller holds is never followed as a pointer, so that any value of it is safe:
 *	bit 0	1, so that it is no pointer to anything
 *	1..20	a place in the table, from 0
 *	21..63	how many handles the place has had
 *
 * INVARIANTS
 * (1) No value is given out twice.
 * (2) One call at a time has an object: from pm_handle_get() to pm_handle_release().
 *
 * Threads    any. */
#ifndef PM_LIBRARY_HANDLE_H
#define PM_LIBRARY_HANDLE_H

#include "pugmark/library.h"

enum pm_handle_kind {
	PM_HANDLE_NONE, PM_HANDLE_READER, PM_HANDLE_WRITER, PM_HANDLE_SIMULATION,
	PM_HANDLE_RESULTS, PM_HANDLE_KEPT
};

/* The table does not own @object. NULL if there are a million already. */
void *pm_handle_new(enum pm_handle_kind kind, void *object, struct pm_err *err);
/* NULL: @handle is none of that kind, or somebody has it. */
void *pm_handle_get(const void *handle, enum pm_handle_kind kind, struct pm_err *err);
void pm_handle_release(const void *handle);
/* Between get and release: @handle is none any more; not to be released. */
void pm_handle_drop(const void *handle);

/* At the begin of every call: the error to fill in, which is @err or, if that is NULL, @own. */
struct pm_err *pm_call_begin(struct pm_err *err, struct pm_err *own);
/* At its end: the file that @err names is kept for the caller. Returns what there is to return. */
enum pm_status pm_call_end(struct pm_err *err);

#endif
