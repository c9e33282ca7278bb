/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/kept_dir.h"
#include "base/ledger.h"
#include "base/mix.h"

#define BUCKETS 512u
#define BUCKET 8u
#define HOUR 3600
/* A change gets the time of the last tick of the kernel's clock, at most 10 ms ago; where files
 * have whole seconds only, or two of them, that. */
#define TICK 20000000
#define COARSE 3

struct record {
	uint64_t file;			/* see file_number(); 0: none */
	uint64_t checked;		/* see checked_number() */
	uint32_t used, spent;
};

static int ledger = -1;
static uint64_t boot;			/* 0: not known, and nothing has been checked */

static uint64_t file_number(const struct stat *st)
{
	const uint64_t v[] = {
		st->st_dev, st->st_ino, (uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec,
	};

	return pm_mix(v, sizeof v, 1) | 1;
}

static uint64_t checked_number(uint64_t file)
{
	return pm_mix(&file, sizeof file, boot);
}

static uint64_t boot_number(void)
{
	const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char id[64];
	const ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof id);

	if (fd >= 0)
		close(fd);
	return n < 32 ? 0 : pm_mix(id, (size_t)n, 2) | 1;
}

void pm_ledger_close(void)
{
	if (ledger >= 0)
		close(ledger);
	ledger = -1;
}

void pm_ledger_open(void)
{
	struct stat st;

	pm_ledger_close();
	ledger = pm_kept_open(PM_LEDGER_NAME, O_RDWR | O_CREAT, &st);
	if (ledger < 0)
		ledger = pm_kept_open(PM_LEDGER_NAME, O_RDONLY, &st);
	if (ledger >= 0 && !boot)
		boot = boot_number();
}

static off_t place_of(uint64_t file)
{
	return (off_t)((file >> 32) % BUCKETS * (BUCKET * sizeof(struct record)));
}

/* The file's record in the bucket, which is read; NULL: it has none. */
static struct record *find(struct record bucket[BUCKET], uint64_t file)
{
	memset(bucket, 0, BUCKET * sizeof *bucket);
	if (ledger < 0 || pread(ledger, bucket, BUCKET * sizeof *bucket, place_of(file)) < 0)
		return NULL;
	for (unsigned i = 0; i < BUCKET; i++)
		if (bucket[i].file == file)
			return &bucket[i];
	return NULL;
}

static struct record *find_or_add(struct record bucket[BUCKET], uint64_t file)
{
	struct record *r = find(bucket, file);

	if (r)
		return r;
	r = bucket;
	for (unsigned i = 1; i < BUCKET; i++)
		if (bucket[i].used < r->used)
			r = &bucket[i];
	*r = (struct record){ .file = file };
	return r;
}

static void write_down(struct record bucket[BUCKET], struct record *r)
{
	r->used = (uint32_t)time(NULL);
	if (ledger >= 0)		/* what cannot be written is found out again */
		(void)!pwrite(ledger, r, sizeof *r,
			      place_of(r->file) + (r - bucket) * (off_t)sizeof *r);
}

bool pm_ledger_checked(const struct stat *st)
{
	struct record bucket[BUCKET], *r = find(bucket, file_number(st));
	const bool checked = r && boot && r->checked == checked_number(r->file);

	if (r && r->used + HOUR < (uint64_t)time(NULL))
		write_down(bucket, r);
	return checked;
}

static bool has_settled(const struct stat *st)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now))
		return false;
	if (!st->st_ctim.tv_nsec)
		return now.tv_sec - st->st_ctim.tv_sec >= COARSE;
	return (now.tv_sec - st->st_ctim.tv_sec) * 1000000000ll +
	       (now.tv_nsec - st->st_ctim.tv_nsec) >= TICK;
}

void pm_ledger_check(const struct stat *st)
{
	struct record bucket[BUCKET], *r;

	if (!boot || !has_settled(st))
		return;
	r = find_or_add(bucket, file_number(st));
	r->checked = checked_number(r->file);
	write_down(bucket, r);
}

uint32_t pm_ledger_spent(const struct stat *st)
{
	struct record bucket[BUCKET];
	const struct record *r = find(bucket, file_number(st));

	return r ? r->spent : 0;
}

void pm_ledger_spend(const struct stat *st, uint32_t more)
{
	struct record bucket[BUCKET], *r = find_or_add(bucket, file_number(st));

	r->spent = r->spent + more < more ? UINT32_MAX : r->spent + more;
	write_down(bucket, r);
}

time_t pm_ledger_used(const struct stat *st)
{
	struct record bucket[BUCKET];
	const struct record *r = find(bucket, file_number(st));

	return r && r->used > st->st_mtime ? (time_t)r->used : st->st_mtime;
}
