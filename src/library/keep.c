/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "library/handle.h"
#include "library/keep.h"

/* So many closed ones a reader has: who reads batch by batch needs one or two, and their memory is
 * in the processor's caches. */
#define SPARE_MAX	4

struct keep_batch {
	struct pm_parcel parcel;	/* first: the parcel's address is this one's */
	struct pm_kept_room *room;
	struct keep_batch *next;		/* spare ones */
};

struct pm_kept_room {
	pthread_mutex_t lock;
	size_t users;			/* the reader, and batches that are kept */
	bool reader_is_gone;
	struct keep_batch *spare;
	unsigned nspare;
};

struct pm_kept_room *pm_kept_room_new(void)
{
	struct pm_kept_room *room = pm_alloc(sizeof *room);

	pthread_mutex_init(&room->lock, NULL);
	room->users = 1;
	return room;
}

static void free_kept(struct keep_batch *k)
{
	pm_parcel_release(&k->parcel);
	free(k);
}

/* One user less; @k, which may be NULL, is spare now. */
static void leave(struct pm_kept_room *room, struct keep_batch *k, bool reader)
{
	struct keep_batch *rest = k;
	bool last;

	pthread_mutex_lock(&room->lock);
	room->reader_is_gone |= reader;
	if (reader) {
		rest = room->spare;
		room->spare = NULL;
	} else if (!room->reader_is_gone && room->nspare < SPARE_MAX) {
		k->next = room->spare;
		room->spare = k;
		room->nspare++;
		rest = NULL;
	}
	last = !--room->users;
	pthread_mutex_unlock(&room->lock);
	while (rest) {
		k = rest;
		rest = k->next;
		free_kept(k);
	}
	if (last) {
		pthread_mutex_destroy(&room->lock);
		free(room);
	}
}

void pm_kept_room_free(struct pm_kept_room *room)
{
	if (room)
		leave(room, NULL, true);
}

struct pm_kept *pm_kept_new(struct pm_kept_room *room, struct pm_parcel **parcel,
			    struct pm_err *err)
{
	struct pm_kept *handle;
	struct keep_batch *k;

	pthread_mutex_lock(&room->lock);
	k = room->spare;
	if (k) {
		room->spare = k->next;
		room->nspare--;
	}
	room->users++;
	pthread_mutex_unlock(&room->lock);
	if (!k)
		k = pm_alloc(sizeof *k);
	k->room = room;
	k->next = NULL;
	*parcel = &k->parcel;
	handle = pm_handle_new(PM_HANDLE_KEPT, k, err);
	if (!handle)
		leave(room, k, false);
	return handle;
}

enum pm_status pm_kept_close(struct pm_kept *handle, struct pm_err *err)
{
	struct pm_err own;
	struct keep_batch *k;

	err = pm_call_begin(err, &own);
	if (!handle)
		return PM_OK;
	k = pm_handle_get(handle, PM_HANDLE_KEPT, err);
	if (!k)
		return PM_ERR;
	pm_handle_drop(handle);
	leave(k->room, k, false);
	return PM_OK;
}
