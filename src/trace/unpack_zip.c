/* SPDX-License-Identifier: MIT */
/* unpack_zip.c - the members of a zip archive, one behind another, as they stand in it
 *
 *   OFFSET SIZE  FIELD of a local header, little-endian
 *        0    4  "PK\3\4"
 *        6    2  flags: 1 encrypted, 8 sizes and sum stand behind the data
 *        8    2  method: 0 stored, 8 deflated
 *       14    4  CRC-32
 *       18    4  packed size, 22 4 size; ~0: in the extra field 1, eight bytes each
 *       26    2  length of the name, 28 2 of extra fields; both follow, then the data
 *
 * Behind the data, where flag 8 says so: "PK\7\10" (may be absent), CRC-32, packed size, size: four
 * or eight bytes each. The directory at the end is not needed: what is read may be a pipe. */
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>

#include "base/mem.h"
#include "trace/input_state.h"
#include "trace/text.h"

#define LOCAL		0x04034b50
#define DESCRIPTOR	0x08074b50
#define HEAD		30

struct pm_zip {
	struct inflate_state z;
	bool stored, behind;		/* behind: sum and sizes stand behind the data */
	uint32_t crc, want;
	uint64_t packed, size;		/* as the header says */
	uint64_t used, made;		/* so far */
};

struct pm_zip *pm_zip_new(void)
{
	return pm_alloc(sizeof(struct pm_zip));
}

void pm_zip_free(struct pm_zip *z)
{
	free(z);
}

static bool broken(struct pm_input *in, const char *why)
{
	pm_raw_broken(in, "zip", why);
	return false;
}

/* Sizes that do not fit into the header. */
static void read_zip64(struct pm_zip *z, const uint8_t *p, size_t n)
{
	while (n >= 4) {
		const size_t len = pm_get16(p + 2);

		if (len > n - 4)
			return;
		if (pm_get16(p) == 1 && len >= 16) {
			z->size = pm_get64(p + 4);
			z->packed = pm_get64(p + 12);
		}
		p += 4 + len;
		n -= 4 + len;
	}
}

/* The next member begins; false: there is none, or the input's error says why. */
static bool begin_member(struct pm_input *in)
{
	struct pm_zip *z = in->zip;
	const uint8_t *p;
	size_t names;
	unsigned flags, method;

	if (!pm_raw_need(in, 4))
		return broken(in, "is cut here");
	if (pm_get32(in->raw + in->raw_at) != LOCAL) {
		if (memcmp(in->raw + in->raw_at, "PK", 2))
			return broken(in, "is followed by something else");
		in->raw_at = in->raw_n;		/* the directory */
		return false;
	}
	if (!pm_raw_need(in, HEAD))
		return broken(in, "is cut here");
	p = in->raw + in->raw_at;
	names = pm_get16(p + 26) + (size_t)pm_get16(p + 28);
	if (!pm_raw_need(in, HEAD + names))
		return broken(in, "is cut here");
	p = in->raw + in->raw_at;
	flags = pm_get16(p + 6);
	method = pm_get16(p + 8);
	if (flags & 1)
		return broken(in, "is encrypted");
	if (method && method != 8)
		return broken(in, "is packed in another way than deflated");
	z->stored = !method;
	z->behind = flags & 8;
	z->want = pm_get32(p + 14);
	z->packed = pm_get32(p + 18);
	z->size = pm_get32(p + 22);
	if (z->packed == UINT32_MAX || z->size == UINT32_MAX)
		read_zip64(z, p + HEAD + pm_get16(p + 26), pm_get16(p + 28));
	if (z->stored && z->behind)
		return broken(in, "does not say how long a member is");
	z->crc = 0;
	z->used = z->made = 0;
	isal_inflate_reset(&z->z);
	z->z.crc_flag = ISAL_DEFLATE;
	in->raw_at += HEAD + names;
	in->member = true;
	return true;
}

/* Sum and sizes behind the data. */
static bool read_descriptor(struct pm_input *in)
{
	struct pm_zip *z = in->zip;
	size_t n = 12;
	const uint8_t *p;

	if (!pm_raw_need(in, n))
		return broken(in, "is cut here");
	p = in->raw + in->raw_at;
	if (pm_get32(p) == DESCRIPTOR) {
		in->raw_at += 4;
		if (!pm_raw_need(in, n))
			return broken(in, "is cut here");
		p = in->raw + in->raw_at;
	}
	z->want = pm_get32(p);
	/* four bytes or eight? What stands there must be what was read */
	if (pm_get32(p + 4) == (uint32_t)z->used && pm_get32(p + 8) == (uint32_t)z->made) {
		in->raw_at += n;
	} else if (pm_raw_need(in, 20) &&
		   pm_get64(in->raw + in->raw_at + 4) == z->used &&
		   pm_get64(in->raw + in->raw_at + 12) == z->made) {
		in->raw_at += 20;
	} else {
		return broken(in, "has other sizes than it says");
	}
	z->packed = z->used;
	z->size = z->made;
	return true;
}

static bool end_member(struct pm_input *in)
{
	struct pm_zip *z = in->zip;

	in->member = false;
	if (z->behind && !read_descriptor(in))
		return false;
	if (z->packed != z->used || z->size != z->made)
		return broken(in, "has other sizes than it says");
	if (z->crc != z->want)
		return broken(in, "has a wrong checksum");
	return true;
}

/* Bytes of the member that is read. */
static size_t inflate_some(struct pm_input *in, uint8_t *to, size_t room)
{
	struct pm_zip *z = in->zip;
	const size_t was = in->raw_n - in->raw_at;
	size_t back = 0;

	z->z.next_in = (uint8_t *)in->raw + in->raw_at;
	z->z.avail_in = was > UINT32_MAX ? UINT32_MAX : (uint32_t)was;
	z->z.next_out = to;
	z->z.avail_out = room > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)room;
	if (isal_inflate(&z->z) < 0)
		return broken(in, "is damaged");
	/* it has read ahead, up to RAW_KEPT bytes that are not its own */
	if (z->z.block_state == ISAL_BLOCK_FINISH)
		back = (size_t)z->z.read_in_length / 8;
	z->used += (size_t)(z->z.next_in - (in->raw + in->raw_at));
	in->raw_at = (size_t)(z->z.next_in - in->raw);
	if (back > in->raw_at || back > z->used)
		return broken(in, "is damaged");
	in->raw_at -= back;
	z->used -= back;
	return (size_t)(z->z.next_out - to);
}

static size_t copy_some(struct pm_input *in, uint8_t *to, size_t room)
{
	struct pm_zip *z = in->zip;
	size_t n = in->raw_n - in->raw_at;

	if (n > room)
		n = room;
	if (n > z->packed - z->used)
		n = (size_t)(z->packed - z->used);
	memcpy(to, in->raw + in->raw_at, n);
	in->raw_at += n;
	z->used += n;
	return n;
}

size_t pm_unpack_zip(struct pm_input *in, uint8_t *to, size_t room)
{
	struct pm_zip *z = in->zip;

	for (;;) {
		bool over;
		size_t n;

		if (!in->member && !begin_member(in))
			return 0;
		n = z->stored ? copy_some(in, to, room) : inflate_some(in, to, room);
		if (pm_failed(&in->err))
			return 0;
		z->crc = crc32_gzip_refl(z->crc, to, n);
		z->made += n;
		over = z->stored ? z->used == z->packed : z->z.block_state == ISAL_BLOCK_FINISH;
		/* what was good is delivered even if the sum is not */
		if (over && !end_member(in))
			return n;
		if (n)
			return n;
		if (!over && in->raw_at == in->raw_n && !pm_raw_fill(in)) {
			if (!pm_failed(&in->err))
				broken(in, "is cut here");
			return 0;
		}
	}
}
