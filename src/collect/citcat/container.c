/* SPDX-License-Identifier: MIT */
/* container.c - .cit: an .ims and an .aes in one packed file; reading either kind
 *
 * Three quarters of an .ims are memory, and half of that are addresses that follow from those
 * before them. So memory stands as runs here, and both files come out again byte for byte: their
 * readers check what they say, sums and identities included. */
#include <endian.h>
#include <string.h>
#include <zstd.h>

#include "base/cur.h"
#include "collect/citcat/citcat.h"

#define LEVEL	9		/* levels above it take three times as long for an eighth less */

static const uint8_t magic[8] = "PMCIT1";

bool citcat_is_packed(const uint8_t *p, size_t n)
{
	return n >= sizeof magic && !memcmp(p, magic, sizeof magic);
}

static uint32_t be_word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return be32toh(v);
}

static void add_be(struct pm_buf *to, uint32_t v)
{
	v = htobe32(v);
	pm_buf_add(to, &v, 4);
}

/* A word of the guest's memory, which .ims files have as a number. */
static void add_memory(struct pm_buf *to, const uint8_t *word, bool big_endian)
{
	const uint32_t v = be_word(word), mem = big_endian ? htobe32(v) : htole32(v);

	pm_buf_add(to, &mem, 4);
}

/* All pairs of a whole .ims as runs. */
static void add_runs(struct pm_buf *to, const struct pm_buf *ims, bool big_endian)
{
	const uint8_t *p = ims->p + CAT_HEADER, *const end = ims->p + ims->n - 8;

	while (p < end) {
		const uint32_t first = be_word(p);
		uint32_t n = 1;

		while (p + 8 * (size_t)n < end && be_word(p + 8 * (size_t)n) == first + 4 * n)
			n++;
		add_be(to, first);
		add_be(to, n);
		for (; n; n--, p += 8)
			add_memory(to, p + 4, big_endian);
	}
	add_be(to, 0);
	add_be(to, 0);
}

enum pm_status citcat_pack(const struct citcat *c, struct pm_buf *cit, struct pm_err *err)
{
	struct pm_buf ims = citcat_ims(c), aes = citcat_aes(c), plain = { 0 };
	ZSTD_CCtx *z = ZSTD_createCCtx();
	enum pm_status st = PM_OK;
	uint64_t size;
	size_t n;

	pm_buf_add(&plain, ims.p, CAT_HEADER);
	add_runs(&plain, &ims, c->hdr.big_endian);
	pm_buf_add(&plain, ims.p + ims.n - 8, 8);
	pm_buf_add(&plain, aes.p, aes.n);
	if (plain.n > CIT_MAX) {
		st = pm_fail_file(err, "state and schedule of %zu bytes are more than a .cit holds "
				  "(%u)", plain.n, CIT_MAX);
		goto out;
	}
	size = htobe64(plain.n);
	pm_buf_add(cit, magic, sizeof magic);
	pm_buf_add(cit, &size, 8);
	ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	n = ZSTD_compress2(z, pm_buf_room(cit, ZSTD_compressBound(plain.n)),
			   ZSTD_compressBound(plain.n), plain.p, plain.n);
	if (ZSTD_isError(n))
		st = pm_fail_file(err, "cannot be packed: %s", ZSTD_getErrorName(n));
	else
		cit->n += n;
out:
	ZSTD_freeCCtx(z);
	pm_buf_release(&ims);
	pm_buf_release(&aes);
	pm_buf_release(&plain);
	return st;
}

/* Offsets in errors are those of the unpacked bytes. */
static enum pm_status unpack_runs(struct pm_cur *in, bool big_endian, struct pm_buf *ims)
{
	for (;;) {
		const uint32_t first = pm_cur_be32(in, "a run"), n = pm_cur_be32(in, "a run");
		const uint8_t *p = pm_cur_bytes(in, 4 * (size_t)n, "the words of a run");

		if (pm_failed(in->err))
			return PM_ERR;
		if (!n)
			return PM_OK;
		for (uint32_t i = 0; i < n; i++) {
			add_be(ims, first + 4 * i);
			add_memory(ims, p + 4 * (size_t)i, big_endian);
		}
	}
}

static enum pm_status unpack_parts(const struct pm_buf *plain, struct pm_buf *ims,
				   struct pm_buf *aes, struct pm_err *err)
{
	struct pm_cur in = pm_cur_init(plain->p, plain->n, 0, err);
	const uint8_t *head = pm_cur_bytes(&in, CAT_HEADER, "header"), *p;
	struct cat_header h;

	if (!head || cat_header_get(head, CAT_HEADER, &h, "PMIMS2", err) != PM_OK)
		return PM_ERR;
	pm_buf_add(ims, head, CAT_HEADER);
	if (unpack_runs(&in, h.big_endian, ims) != PM_OK)
		return PM_ERR;
	p = pm_cur_bytes(&in, 8, "the sum");
	if (!p)
		return PM_ERR;
	pm_buf_add(ims, p, 8);
	pm_buf_add(aes, p + 8, pm_cur_left(&in));
	pm_buf_room(aes, 1);
	return PM_OK;
}

enum pm_status citcat_unpack(const uint8_t *p, size_t n, struct pm_buf *ims, struct pm_buf *aes,
			     struct pm_err *err)
{
	struct pm_buf plain = { 0 };
	enum pm_status st;
	uint64_t size;
	size_t got;

	if (n < CIT_HEAD)
		return pm_fail(err, n, "expected a header of %d bytes, found the end", CIT_HEAD);
	memcpy(&size, p + 8, 8);
	size = be64toh(size);
	if (size > CIT_MAX || size < CAT_HEADER)
		return pm_fail(err, 8, "expected %d to %u unpacked bytes, found %llu", CAT_HEADER,
			       CIT_MAX, (unsigned long long)size);
	got = ZSTD_decompress(pm_buf_room(&plain, size), size, p + CIT_HEAD, n - CIT_HEAD);
	if (ZSTD_isError(got))
		st = pm_fail(err, CIT_HEAD, "zstd data is damaged: %s", ZSTD_getErrorName(got));
	else if (got != size)
		st = pm_fail(err, 8, "expected %llu unpacked bytes, found %zu",
			     (unsigned long long)size, got);
	else {
		plain.n = got;
		st = unpack_parts(&plain, ims, aes, err);
	}
	pm_buf_release(&plain);
	return st;
}

/* All of @path, unpacked. */
static enum pm_status read_whole(const char *path, struct pm_buf *all, struct pm_err *err)
{
	struct pm_input *in;
	const uint8_t *p;
	size_t got;

	err->file = path;
	in = pm_input_open(path, err);
	if (!in)
		return PM_ERR;
	while ((p = pm_input_peek(in, 1 << 16, &got, err)) && got) {
		pm_buf_add(all, p, got);
		pm_input_skip(in, got);
	}
	pm_input_close(in);
	if (!all->p)
		pm_buf_room(all, 1);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static enum pm_status read_parts(const struct pm_buf *ims, const struct pm_buf *aes,
				 const char *aes_name, struct citcat *c, struct pm_err *err)
{
	if (citcat_read_ims(ims->p, ims->n, c, err) != PM_OK)
		return PM_ERR;
	err->file = aes_name;
	return citcat_read_aes(aes->p, aes->n, c, err);
}

/* Said of a file that is something else before its schedule is looked for. */
static enum pm_status check_magic(const uint8_t *p, size_t n, struct pm_err *err)
{
	if (n >= 6 && !memcmp(p, "PMCAT1", 6))
		return pm_fail_file(err, "a bus trace: `pugmark citcat extract` makes the state "
				    "and the schedule of it that are replayed");
	if (n < 6 || (memcmp(p, "PMIMS1", 6) && memcmp(p, "PMIMS2", 6)))
		return pm_fail(err, 0, "expected the magic \"PMIMS2\" or \"PMCIT1\", found "
			       "something else");
	return PM_OK;
}

enum pm_status citcat_read(const char *path, const char *aes_path, struct citcat *c,
			   struct pm_err *err)
{
	struct pm_buf file = { 0 }, ims = { 0 }, aes = { 0 };
	enum pm_status st;

	memset(c, 0, sizeof *c);
	st = read_whole(path, &file, err);
	if (st == PM_OK && citcat_is_packed(file.p, file.n)) {
		st = citcat_unpack(file.p, file.n, &ims, &aes, err);
		if (st == PM_OK)
			st = read_parts(&ims, &aes, path, c, err);
	} else if (st == PM_OK && (st = check_magic(file.p, file.n, err)) == PM_OK) {
		st = read_whole(aes_path, &aes, err);
		err->file = path;
		if (st == PM_OK)
			st = read_parts(&file, &aes, aes_path, c, err);
		else
			err->file = aes_path;
	}
	pm_buf_release(&file);
	pm_buf_release(&ims);
	pm_buf_release(&aes);
	return st;
}
