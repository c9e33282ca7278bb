/* SPDX-License-Identifier: MIT */
#include "trace/cat_cost.h"

#include <string.h>

#include "base/mem.h"

void size_packer_begin(struct size_packer *k)
{
	memset(k, 0, sizeof *k);
	if (deflateInit2(&k->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		pm_out_of_memory(1 << 18);
}

static void pack(struct size_packer *k, const uint8_t *p, size_t n, int flush)
{
	uint8_t out[4096];

	k->s.raw += n;
	k->z.next_in = (uint8_t *)(uintptr_t)p;
	k->z.avail_in = (uInt)n;
	do {
		k->z.next_out = out;
		k->z.avail_out = sizeof out;
		deflate(&k->z, flush);
		k->s.packed += sizeof out - k->z.avail_out;
	} while (!k->z.avail_out);
}

void size_packer_add(struct size_packer *k, const uint8_t *p, size_t n)
{
	while (n) {			/* zlib counts with 32 bits */
		const size_t some = n < 1u << 30 ? n : 1u << 30;

		pack(k, p, some, Z_NO_FLUSH);
		p += some;
		n -= some;
	}
}

struct packed_size size_packer_end(struct size_packer *k)
{
	pack(k, NULL, 0, Z_FINISH);
	deflateEnd(&k->z);
	return k->s;
}

void cat_cost_row(struct pm_result *r, const char *name, uint64_t records, struct packed_size s)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "record", name);
	pm_result_u64(r, "records", records, NULL);
	pm_result_u64(r, "raw", s.raw, "bytes");
	pm_result_u64(r, "gzip", s.packed, "bytes");
	pm_result_end(r);
}

static double per(double a, uint64_t b)
{
	return b ? a / (double)b : 0;
}

void cat_cost_schedule(struct pm_result *r, struct packed_size schedule, struct packed_size ims,
		       uint64_t work)
{
	const double stored = (double)work * CAT_RAW_INSN;

	pm_result_begin(r, "schedule");
	pm_result_u64(r, "raw", schedule.raw, "bytes");
	pm_result_u64(r, "gzip", schedule.packed, "bytes");
	pm_result_f64(r, "raw_bytes_per_instruction", per((double)schedule.raw, work), NULL);
	pm_result_f64(r, "gzip_bytes_per_instruction", per((double)schedule.packed, work), NULL);
	pm_result_f64(r, "instructions_per_gzip_byte", per((double)work, schedule.packed), NULL);
	pm_result_f64(r, "ratio_to_10_bytes_per_instruction", per(stored, schedule.packed), NULL);
	pm_result_f64(r, "ratio_with_ims", per(stored, schedule.packed + ims.packed), NULL);
	pm_result_end(r);
}

void cat_cost_point(struct pm_result *r, uint64_t insns, uint64_t bytes, uint64_t last_insns,
		    uint64_t last_bytes)
{
	pm_result_begin(r, NULL);
	pm_result_u64(r, "instructions", insns, NULL);
	pm_result_u64(r, "bus_bytes", bytes, "bytes");
	pm_result_f64(r, "bytes_per_instruction",
		      per((double)(bytes - last_bytes), insns - last_insns), NULL);
	pm_result_end(r);
}
