/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "library/handle.h"

#define PLACE_BITS	20
#define PLACES		(1u << PLACE_BITS)

struct handle_place {
	void *object;
	uint64_t times;			/* handles that it has had */
	uint32_t next_free;
	enum pm_handle_kind kind;	/* PM_HANDLE_NONE: free */
	bool busy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle_place *place;
static size_t nplace, cap_place;
static uint32_t first_free = PM_NONE;

static const char *kind_name(enum pm_handle_kind kind)
{
	static const char *const names[] = { "handle", "reader", "writer", "simulation",
		"set of results", "kept batch" };

	return names[kind];
}

void *pm_handle_new(enum pm_handle_kind kind, void *object, struct pm_err *err)
{
	uint64_t value = 0;
	uint32_t i;

	pthread_mutex_lock(&lock);
	i = first_free;
	if (i != PM_NONE) {
		first_free = place[i].next_free;
	} else if (nplace < PLACES) {
		pm_grow(place, nplace, cap_place);
		i = (uint32_t)nplace++;
		place[i].times = 0;
	}
	if (i != PM_NONE) {
		place[i] = (struct handle_place){ .object = object, .times = place[i].times + 1,
			.kind = kind };
		value = place[i].times << (PLACE_BITS + 1) | (uint64_t)i << 1 | 1;	/* (1) */
	}
	pthread_mutex_unlock(&lock);
	if (!value)
		pm_fail_file(err, "%u handles are open; close some", PLACES);
	return (void *)(uintptr_t)value;
}

/* Under the lock. NULL: @handle has no place. */
static struct handle_place *place_of(const void *handle)
{
	const uint64_t value = (uintptr_t)handle;
	const uint32_t i = value >> 1 & (PLACES - 1);

	if (!(value & 1) || i >= nplace || place[i].kind == PM_HANDLE_NONE ||
	    place[i].times != value >> (PLACE_BITS + 1))
		return NULL;
	return place + i;
}

/* Under the lock: was @handle open once? */
static bool was_open(const void *handle)
{
	const uint64_t value = (uintptr_t)handle, times = value >> (PLACE_BITS + 1);
	const uint32_t i = value >> 1 & (PLACES - 1);

	return value & 1 && i < nplace && times && times <= place[i].times;
}

void *pm_handle_get(const void *handle, enum pm_handle_kind kind, struct pm_err *err)
{
	struct handle_place *p;
	void *object = NULL;

	pthread_mutex_lock(&lock);
	p = place_of(handle);
	if (!handle)
		pm_fail_file(err, "the %s is NULL", kind_name(kind));
	else if (!p && was_open(handle))
		pm_fail_file(err, "the %s is closed", kind_name(kind));
	else if (!p)
		pm_fail_file(err, "this is no %s, nor any other handle", kind_name(kind));
	else if (p->kind != kind)
		pm_fail_file(err, "this is a %s, not a %s", kind_name(p->kind), kind_name(kind));
	else if (p->busy)
		pm_fail_file(err, "the %s is in use by another call", kind_name(kind));
	else
		object = p->object;
	if (object)
		p->busy = true;		/* (2) */
	pthread_mutex_unlock(&lock);
	return object;
}

void pm_handle_release(const void *handle)
{
	pthread_mutex_lock(&lock);
	place_of(handle)->busy = false;
	pthread_mutex_unlock(&lock);
}

void pm_handle_drop(const void *handle)
{
	struct handle_place *p;

	pthread_mutex_lock(&lock);
	p = place_of(handle);
	p->kind = PM_HANDLE_NONE;
	p->object = NULL;
	p->next_free = first_free;
	first_free = (uint32_t)(p - place);
	pthread_mutex_unlock(&lock);
}

struct pm_err *pm_call_begin(struct pm_err *err, struct pm_err *own)
{
	if (!err)
		err = own;
	*err = (struct pm_err){ 0 };
	return err;
}

enum pm_status pm_call_end(struct pm_err *err)
{
	static _Thread_local char file[4096];

	if (!pm_failed(err))
		return PM_OK;
	if (err->file && err->file != file)
		snprintf(file, sizeof file, "%s", err->file);
	if (err->file)
		err->file = file;
	return PM_ERR;
}
