/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording. Checksums would turn away nearly everything, so they are made right
 * first: what is tested is that contents are not believed. The first byte chooses whether they are,
 * and what is asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/record/chunk.h"
#include "fuzz.h"

const unsigned fuzz_inputs = 20000;
static volatile uint64_t keep;

static void mend(uint8_t *p, size_t n)
{
	const uint32_t version = REC_VERSION;

	if (n < REC_HEAD)
		return;
	memcpy(p, REC_MAGIC, 8);
	memcpy(p + 8, &version, 4);
	for (size_t at = REC_HEAD; n - at >= REC_CHUNK_HEAD; ) {
		const size_t left = n - at - REC_CHUNK_HEAD;
		uint64_t stored, check;
		uint32_t head;

		memcpy(p + at, "chnk", 4);
		p[at + 4] = (uint8_t)(p[at + 4] % 6);
		memcpy(&stored, p + at + 16, 8);
		if (stored > left)
			stored = left;
		memcpy(p + at + 16, &stored, 8);
		check = pm_mix(p + at + REC_CHUNK_HEAD, stored, 0);
		memcpy(p + at + 32, &check, 8);
		head = chunk_head_check(p + at);
		memcpy(p + at + 12, &head, 4);
		at += REC_CHUNK_HEAD + stored;
	}
}

/* Everything that a replay would ask for. */
static void use(struct rec_reader *r, uint8_t *log)
{
	struct pm_err err = { 0 };
	uint64_t sum = 0;

	for (uint32_t k = 0; rec_start_of(r, k); k++) {
		const struct rec_start *s = rec_start_of(r, k);

		for (size_t i = 0; i < s->npart; i++)
			sum += s->part[i].n ? s->part[i].p[s->part[i].n - 1] : 0;
		for (size_t n; (n = rec_next(r, k, log)) > 0; )
			sum += log[n - 1];
		sum += rec_why(r, k).why;
	}
	for (uint32_t i = 0; i < rec_nfile(r); i++) {
		const struct rec_file *f = rec_file_of(r, i);
		const int fd = f && f->kept ? rec_file_open(r, i, &err) : -1;

		if (fd >= 0)
			close(fd);
	}
	keep = sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *log;
	struct rec_reader *r;
	struct pm_err err = { 0 };
	char path[64];
	uint8_t *copy;
	int fd;

	if (!size)
		return 0;
	if (!log)
		log = malloc(RT_LOG_SIZE);
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	if (data[0] & 1)
		mend(copy, size - 1);
	fd = memfd_create("fuzz", 0);
	if (fd >= 0 && write(fd, copy, size - 1) == (ssize_t)(size - 1)) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		if (rec_open(path, &r, &err) == PM_OK) {
			use(r, log);
			rec_close(r);
		} else if (!pm_failed(&err)) {
			abort();
		}
	}
	if (fd >= 0)
		close(fd);
	free(copy);
	return 0;
}
