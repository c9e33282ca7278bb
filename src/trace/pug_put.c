/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "trace/pug_put.h"

enum pm_status pug_put_header(struct pug_put *f, uint32_t facts, struct pm_err *err)
{
	uint8_t head[PUG_HEADER] = { 0 };

	memcpy(head, PUG_MAGIC, 8);
	head[8] = PUG_MAJOR;
	head[10] = PUG_MINOR;
	pug_put32(head + 12, PUG_HEADER);
	pug_put64(head + 16, facts);
	pug_put32(head + 28, pug_crc(head, 28));
	return pm_output_write(f->out, head, sizeof head, err);
}

void pug_put_info(struct pm_buf *to, const char *level, const char *const *info)
{
	pm_buf_printf(to, "tool=pugmark %s%clevel=%s%c", PM_VERSION, 0, level, 0);
	for (const char *const *kv = info; kv && kv[0]; kv += 2)
		if (kv[1])
			pm_buf_printf(to, "%s=%s%c", kv[0], kv[1], 0);
}

static void index_add(struct pug_put *f, uint64_t at, const uint8_t rec[PUG_RECORD])
{
	uint8_t entry[8];

	pug_put64(entry, at);
	pm_buf_add(&f->index, entry, 8);
	pm_buf_add(&f->index, rec, PUG_RECORD);
	f->nindex++;
}

enum pm_status pug_put_record(struct pug_put *f, enum pug_tag tag, uint64_t insns,
			      const struct pm_buf *payload, struct pm_err *err)
{
	struct pug_rec rec = { .tag = tag, .insns = f->insns, .events = f->events, .time = f->time,
			       .ninsn = (uint32_t)insns };
	uint8_t head[PUG_RECORD];

	if (payload->n > PUG_MAX_PAYLOAD)
		return pm_fail_file(err, "a record of %zu bytes, more than a .pug can hold",
				    payload->n);
	rec.size = (uint32_t)payload->n;
	rec.crc = pug_crc(payload->p, payload->n);
	pug_rec_put(head, &rec);
	if (tag != PUG_INDX)
		index_add(f, pm_output_offset(f->out), head);
	if (pm_output_write(f->out, head, sizeof head, err) != PM_OK)
		return PM_ERR;
	return pm_output_write(f->out, payload->p, payload->n, err);
}

enum pm_status pug_put_index(struct pug_put *f, const uint64_t kind[PM_EV_COUNT],
			     const struct pug_put_stream *stream, size_t nstream,
			     struct ZSTD_CCtx_s *z, struct pm_err *err)
{
	struct pm_buf raw = { 0 }, payload = { 0 };
	uint64_t at = pm_output_offset(f->out);
	uint8_t trail[PUG_TRAILER];
	enum pm_status s;

	pug_varint(&raw, PM_EV_COUNT);
	for (unsigned k = 0; k < PM_EV_COUNT; k++)
		pug_varint(&raw, kind[k]);
	pug_varint(&raw, nstream);
	for (size_t i = 0; i < nstream; i++) {
		pug_varint(&raw, stream[i].index);
		pug_varint(&raw, stream[i].insns);
	}
	pug_varint(&raw, f->nindex);
	pm_buf_add(&raw, f->index.p, f->index.n);
	pug_pack(&payload, raw.p, raw.n, z, 3);
	s = pug_put_record(f, PUG_INDX, 0, &payload, err);
	pm_buf_release(&raw);
	pm_buf_release(&payload);
	if (s != PM_OK)
		return s;
	pug_put64(trail, at);
	pug_put32(trail + 8, 0);
	pug_put32(trail + 12, pug_crc(trail, 12));
	memcpy(trail + 16, PUG_TRAIL_MAGIC, 8);
	return pm_output_write(f->out, trail, sizeof trail, err);
}

void pug_put_release(struct pug_put *f)
{
	pm_buf_release(&f->index);
}
