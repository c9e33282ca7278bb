/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/temp.h"
#include "sweep/sweep_plan.h"
#include "sweep/trace_id.h"
#include "trace/pug.h"

static int64_t mtime_of(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

bool sweep_trace_same(const struct sweep_trace_id *id, const struct stat *st)
{
	return id->size == (uint64_t)st->st_size && id->inode == st->st_ino &&
	       id->mtime == mtime_of(st);
}

/* The headers of a .pug file's records, up to the end or to where it is cut. False: it is none, or
 * something in it is no record. */
static bool add_records(int fd, uint64_t size, struct pm_sha256 *h, uint64_t *insns)
{
	uint8_t head[PUG_RECORD];
	uint64_t at = PUG_HEADER;
	struct pug_rec rec;

	if (pread(fd, head, PUG_HEADER, 0) != PUG_HEADER || memcmp(head, PUG_MAGIC, 8))
		return false;
	pm_sha256_add(h, head, PUG_HEADER);
	while (at + PUG_RECORD <= size && pread(fd, head, PUG_RECORD, (off_t)at) == PUG_RECORD) {
		if (!pug_rec_get(head, &rec))
			return at + PUG_TRAILER == size;
		if (rec.tag == PUG_DATA || rec.tag == PUG_CODE || rec.tag == PUG_STRM)
			pm_sha256_add(h, head, PUG_RECORD);
		if (rec.tag == PUG_DATA)
			*insns = rec.insns + rec.ninsn;
		at += PUG_RECORD + (uint64_t)rec.size;
	}
	/* what a cut leaves of the last chunk is part of what a simulator sees: an error there */
	pm_sha256_add(h, at > size ? "cut" : "", at > size ? 3 : 0);
	return true;
}

static enum pm_status add_bytes(int fd, struct pm_sha256 *h, struct pm_err *err)
{
	uint8_t *room = pm_alloc_unset(1 << 20);
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) < 0) {
		free(room);
		return pm_fail_errno(err, "cannot read twice");
	}
	while ((n = read(fd, room, 1 << 20)) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			pm_sha256_add(h, room, (size_t)n);
	free(room);
	return n < 0 ? pm_fail_errno(err, "cannot read") : PM_OK;
}

enum pm_status sweep_trace_identify(const char *path, struct sweep_trace_id *id,
				    struct pm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	enum pm_status s = PM_OK;
	struct pm_sha256 h;
	struct stat st;

	if (!err->msg[0])
		err->file = path;
	*id = (struct sweep_trace_id){ 0 };
	if (fd < 0 || fstat(fd, &st))
		s = pm_fail_errno(err, "cannot open");
	else if (!S_ISREG(st.st_mode))
		s = pm_fail_file(err, "a trace of a sweep is a file: jobs read it many times");
	if (!s) {
		id->size = (uint64_t)st.st_size;
		id->inode = st.st_ino;
		id->mtime = mtime_of(&st);
		pm_sha256_begin(&h);
		pm_sha256_add(&h, "pug", 3);
		if (!add_records(fd, id->size, &h, &id->insns)) {
			id->insns = 0;
			pm_sha256_begin(&h);
			s = add_bytes(fd, &h, err);
		}
		pm_sha256_end(&h, id->sum);
	}
	if (fd >= 0)
		close(fd);
	return s;
}

/* ---- on disk -------------------------------------------------------------------------------- */

static bool unhex(const char *s, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned v;

		if (sscanf(s + 2 * i, "%2x", &v) != 1)
			return false;
		to[i] = (uint8_t)v;
	}
	return true;
}

/* Lines of "SUM INSNS SIZE INODE MTIME PATH". */
static void read_known(struct sweep_trace_ids *ids, const struct sweep_plan *p, const char *path)
{
	struct pm_err ignored = { 0 };
	struct pm_buf text = { 0 };

	size_t next = 0;		/* lines and traces mostly have one order */

	if (pm_json_load(path, &text, &ignored) == PM_OK)
		for (char *at = (char *)text.p, *line; (line = strsep(&at, "\n")); ) {
			struct sweep_trace_id id;
			struct stat st;
			char sum[2 * PM_SHA256 + 1];
			int n = 0;

			if (sscanf(line, "%64s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNd64 " %n",
				   sum, &id.insns, &id.size, &id.inode, &id.mtime, &n) < 5 || !n ||
			    strlen(sum) != 2 * PM_SHA256 || !unhex(sum, id.sum, PM_SHA256))
				continue;
			for (size_t k = 0; k < p->ntrace; k++) {
				size_t i = (next + k) % p->ntrace;

				if (strcmp(p->trace[i].path, line + n))
					continue;
				next = i + 1;
				if (!stat(line + n, &st) && sweep_trace_same(&id, &st)) {
					ids->id[i] = id;
					ids->known[i] = true;
				}
				break;
			}
		}
	pm_buf_release(&text);
}

void sweep_trace_ids_keep(const struct sweep_trace_ids *ids, const struct sweep_plan *p,
			  const char *path)
{
	struct pm_beside b;
	FILE *f;

	if (!pm_beside_open(&b, path))
		return;			/* they are found again */
	f = fdopen(b.fd, "w");
	for (size_t i = 0; f && i < ids->n; i++) {
		const struct sweep_trace_id *id = ids->id + i;
		char sum[2 * PM_SHA256 + 1];

		pm_sha256_hex(id->sum, PM_SHA256, sum);
		fprintf(f, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %s\n", sum,
			id->insns, id->size, id->inode, id->mtime, p->trace[i].path);
	}
	if (f && !fflush(f))
		pm_beside_place(&b, b.fd, path);
	if (f)
		fclose(f);
	pm_beside_release(&b);
}

enum pm_status sweep_trace_ids_get(struct sweep_trace_ids *ids, const struct sweep_plan *p,
				   const char *path, struct pm_err *err)
{
	bool more = false;

	*ids = (struct sweep_trace_ids){ pm_alloc(p->ntrace * sizeof *ids->id),
					 pm_alloc(p->ntrace * sizeof *ids->known), p->ntrace };
	read_known(ids, p, path);
	for (size_t i = 0; i < ids->n; i++) {
		if (ids->known[i])
			continue;
		if (sweep_trace_ids_renew(ids, p, i, err) != PM_OK)
			return PM_ERR;
		more = true;
	}
	if (more)
		sweep_trace_ids_keep(ids, p, path);
	return PM_OK;
}

enum pm_status sweep_trace_ids_renew(struct sweep_trace_ids *ids, const struct sweep_plan *p,
				     size_t i, struct pm_err *err)
{
	ids->known[i] = sweep_trace_identify(p->trace[i].path, ids->id + i, err) == PM_OK;
	return ids->known[i] ? PM_OK : PM_ERR;
}

void sweep_trace_ids_release(struct sweep_trace_ids *ids)
{
	free(ids->id);
	free(ids->known);
	*ids = (struct sweep_trace_ids){ 0 };
}
