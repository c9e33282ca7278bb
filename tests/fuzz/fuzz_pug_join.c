/* SPDX-License-Identifier: MIT */
/* Any bytes as files of parts, which are put together. The first byte says whether checksums are
 * made right first, as in fuzz_pug.c, and whether parts end where records do; the second, how many
 * files there are. Each is its length, of two bytes, and its bytes. Of each file comes a part in
 * its turn, then another one. An error has to name a file. What has been put together is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pug_mend.h"
#include "trace/pug_file.h"
#include "trace/pug_join.h"
#include "trace/sinks.h"
#include "transform/verify.h"

const unsigned fuzz_inputs = 20000;

#define FILES 3

struct fuzzed {
	struct pug_parts parts;
	uint64_t seam, end;		/* of its two parts */
};

/* @n bytes at @p into @f's file, whose descriptor is there. */
static void put(struct fuzzed *f, const uint8_t *p, size_t n, uint8_t how)
{
	uint8_t *const copy = malloc(n + 1);
	size_t last;

	memcpy(copy, p, n);
	f->seam = n / 2;
	f->end = n;
	if (how & 1) {
		last = pug_mend(copy, n);
		if (last && n - last >= PUG_TRAILER)
			pug_put64(copy + n - PUG_TRAILER, last);
		f->end = last;
	}
	if (how & 2)			/* at a record, about in the middle */
		for (f->seam = PUG_HEADER; f->seam < n / 2 && n - f->seam >= PUG_RECORD; )
			f->seam += PUG_RECORD + (size_t)pug_get32(copy + f->seam + 4);
	if (ftruncate(f->parts.fd, 0) || pwrite(f->parts.fd, copy, n, 0) != (ssize_t)n)
		abort();
	free(copy);
}

static enum pm_status join(struct pug_join *j, const struct fuzzed *f, unsigned n,
			   struct pm_err *err)
{
	for (unsigned i = 0; i < n; i++)
		if (pug_join_part(j, &f[i].parts, PUG_HEADER, f[i].seam, err) != PM_OK)
			return PM_ERR;
	for (unsigned i = 0; i < n; i++)
		if (pug_join_part(j, &f[i].parts, f[i].seam, f[i].end, err) != PM_OK)
			return PM_ERR;
	for (unsigned i = 0; i < n; i++)
		if (pug_join_count(j, &f[i].parts, err) != PM_OK)
			return PM_ERR;
	return pug_join_finish(j, err);
}

static void read_whole(const uint8_t *bytes, size_t n)
{
	struct pm_input *const in = pm_input_memory(bytes, n, "the whole");
	struct pm_read_opts o = { 0 };
	struct pm_err err = { 0 };
	struct pm_pipeline *p;
	uint32_t facts = 0;
	void *const r = pug_read_open(in, &o, &facts, &err);

	if (!r)
		abort();			/* its head and description are ours */
	p = pm_pipeline_new();
	pm_pipeline_sink(p, &pm_verify_ops, pm_verify_new(facts));
	pm_pipeline_start(p, facts | PM_HAS_BLOCKS, "fuzz", &err);
	pug_push_events(r, p, &err);
	err = (struct pm_err){ 0 };
	pm_pipeline_finish(p, NULL, &err);
	pm_pipeline_free(p);
	pug_read_close(r);
	pm_input_close(in);
}

static bool names_file(const struct fuzzed *f, unsigned n, const struct pm_err *err)
{
	for (unsigned i = 0; i < n; i++)
		if (err->file == f[i].parts.name)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[FILES] = { "file 0", "file 1", "file 2" };
	static int fd[FILES];
	const uint8_t *p = data + 2, *const end = data + size;
	struct fuzzed f[FILES];
	struct pm_err err = { 0 };
	struct pm_output *out;
	struct pug_join *j;
	unsigned n;

	if (size < 2)
		return 0;
	for (unsigned i = 0; i < FILES; i++)
		if (!fd[i])
			fd[i] = memfd_create("fuzz", MFD_CLOEXEC);
	n = 1 + data[1] % FILES;
	for (unsigned i = 0; i < n; i++) {
		size_t len = end - p < 2 ? 0 : p[0] | (size_t)p[1] << 8;

		p += end - p < 2 ? 0 : 2;
		if (len > (size_t)(end - p) || i == n - 1)
			len = (size_t)(end - p);
		f[i].parts = (struct pug_parts){ i, fd[i], names[i] };
		put(&f[i], p, len, data[0]);
		p += len;
	}
	out = pm_output_memory();
	j = pug_join_new(out, PM_HAS_INSNS, "default", NULL, &err);
	if (!j)
		abort();
	if (join(j, f, n, &err) == PM_OK) {
		p = pm_output_bytes(out, &size);
		read_whole(p, size);
	} else if (!pm_failed(&err) || !names_file(f, n, &err)) {
		abort();
	}
	pug_join_free(j);
	pm_output_close(out);
	return 0;
}
