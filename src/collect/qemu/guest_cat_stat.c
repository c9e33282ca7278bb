/* SPDX-License-Identifier: MIT */
/* guest_cat_stat.c - what a trace of an x86 guest costs: the thesis's tables and figures, under the
 * names that citcat_stat() gives them. Nothing is replayed: the clock of the bus is the number of
 * instructions. */
#include <string.h>
#include <zlib.h>

#include "collect/qemu/guest_cat.h"
#include "collect/qemu/qemu_log.h"

#define RAW_INSN	10		/* bytes of a stored instruction, as the thesis assumes */
#define EVERY		50000u		/* instructions, from point to point of the curve */

struct packed_size { uint64_t raw, packed; };

/* Bytes that come piece by piece, through gzip's compressor. */
struct packer {
	z_stream z;
	struct packed_size s;
};

static void packer_begin(struct packer *k)
{
	memset(k, 0, sizeof *k);
	if (deflateInit2(&k->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		pm_out_of_memory(1 << 18);
}

static void packer_add(struct packer *k, const uint8_t *p, size_t n, int flush)
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

static struct packed_size packer_end(struct packer *k)
{
	packer_add(k, NULL, 0, Z_FINISH);
	deflateEnd(&k->z);
	return k->s;
}

static void add_event(void *ctx, enum replay_kind kind, const uint8_t *p, size_t n)
{
	struct packer *k = ctx;

	packer_add(&k[kind], p, n, Z_NO_FLUSH);
}

static void put_row(struct pm_result *r, const char *name, uint64_t records, struct packed_size s)
{
	pm_result_begin(r, NULL);
	pm_result_str(r, "record", name);
	pm_result_u64(r, "records", records, NULL);
	pm_result_u64(r, "raw", s.raw, "bytes");
	pm_result_u64(r, "gzip", s.packed, "bytes");
	pm_result_end(r);
}

/* Fig. 5. *@aes, *@ims: their sums. */
static enum pm_status put_sizes(struct pm_result *r, const struct catx *x, struct packed_size *aes,
				struct packed_size *ims, struct pm_err *err)
{
	struct packer k[REPLAY_KINDS], all, state;
	struct replay_log_totals t;
	enum pm_status st;

	for (unsigned i = 0; i < REPLAY_KINDS; i++)
		packer_begin(&k[i]);
	packer_begin(&all);
	packer_begin(&state);
	st = replay_log_check(x->log.p, x->log.n, &t, add_event, k, err);
	for (size_t at = 0; at < x->log.n; at += CATX_PART)
		packer_add(&all, x->log.p + at,
			   x->log.n - at < CATX_PART ? x->log.n - at : CATX_PART, Z_NO_FLUSH);
	for (unsigned i = 0; i < CATX_BUS; i++)
		packer_add(&state, x->part[i].p, x->part[i].n, Z_NO_FLUSH);
	pm_result_begin_list(r, "sizes");
	for (unsigned i = 0; i < REPLAY_KINDS; i++) {
		const struct packed_size s = packer_end(&k[i]);

		if (t.known)
			put_row(r, replay_kind_names[i], t.of[i].events, s);
	}
	*aes = packer_end(&all);
	*ims = packer_end(&state);
	put_row(r, "all", 1, *aes);
	put_row(r, "IMS", 1, *ims);
	pm_result_end(r);
	return st;
}

static void put_point(struct pm_result *r, uint64_t insns, uint64_t bytes, uint64_t last_insns,
		      uint64_t last_bytes)
{
	const uint64_t n = insns - last_insns;

	pm_result_begin(r, NULL);
	pm_result_u64(r, "instructions", insns, NULL);
	pm_result_u64(r, "bus_bytes", bytes, "bytes");
	pm_result_f64(r, "bytes_per_instruction",
		      n ? (double)(bytes - last_bytes) / (double)n : 0, NULL);
	pm_result_end(r);
}

/* Fig. 4: about a hundred points. */
static enum pm_status put_curve(struct pm_result *r, const char *path, const struct catx_end *end,
				struct pm_err *err)
{
	const uint64_t step = (end->instructions / EVERY / 100 + 1) * EVERY;
	uint64_t now = 0, bytes = 0, last = 0, last_bytes = 0;
	struct catx_reader *in = catx_open(path, err);
	enum pm_status st;
	struct pm_event e;
	struct pm_bus u;

	if (!in)
		return PM_ERR;
	pm_result_begin_list(r, "curve");
	while ((st = catx_next(in, &e, &u, err)) == PM_OK) {
		now += u.time == UINT64_MAX ? 0 : u.time;
		if (now >= last + step) {
			put_point(r, now, bytes, last, last_bytes);
			last = now;
			last_bytes = bytes;
		}
		bytes += u.type == PM_BUS_INTACK || u.type == PM_BUS_SPECIAL ? 0 : e.size;
	}
	if (st == PM_END) {
		put_point(r, end->instructions, bytes, last, last_bytes);
		if (catx_number(in) != end->transactions || bytes != end->bus_bytes)
			st = pm_fail(err, 0, "expected %llu transactions, found %llu",
				     (unsigned long long)end->transactions,
				     (unsigned long long)catx_number(in));
	}
	pm_result_end(r);
	catx_reader_close(in);
	return st == PM_END ? PM_OK : st;
}

static void put_trace(struct pm_result *r, const struct catx_end *end, double work)
{
	pm_result_begin(r, "trace");
	pm_result_u64(r, "instructions", end->instructions, NULL);
	/* an idle x86 halts, which is no loop */
	pm_result_u64(r, "idle", 0, "instructions");
	pm_result_u64(r, "without_idle", end->instructions, NULL);
	pm_result_u64(r, "interrupts", end->interrupts, NULL);
	pm_result_u64(r, "bus_bytes", end->bus_bytes, "bytes");
	pm_result_f64(r, "bus_bytes_per_instruction", (double)end->bus_bytes / work, NULL);
	pm_result_end(r);
}

static double per(double a, uint64_t b)
{
	return b ? a / (double)b : 0;
}

static void put_schedule(struct pm_result *r, const struct packed_size *aes,
			 const struct packed_size *ims, double work)
{
	pm_result_begin(r, "schedule");
	pm_result_u64(r, "raw", aes->raw, "bytes");
	pm_result_u64(r, "gzip", aes->packed, "bytes");
	pm_result_f64(r, "raw_bytes_per_instruction", (double)aes->raw / work, NULL);
	pm_result_f64(r, "gzip_bytes_per_instruction", (double)aes->packed / work, NULL);
	pm_result_f64(r, "instructions_per_gzip_byte", per(work, aes->packed), NULL);
	pm_result_f64(r, "ratio_to_10_bytes_per_instruction", per(work * RAW_INSN, aes->packed),
		      NULL);
	pm_result_f64(r, "ratio_with_ims", per(work * RAW_INSN, aes->packed + ims->packed), NULL);
	pm_result_end(r);
	/* the guest knows nothing of the monitor, and reports nothing */
	pm_result_begin(r, "dilation");
	pm_result_u64(r, "reports_of_exceptions", 0, NULL);
	pm_result_u64(r, "reports_of_cause", 0, NULL);
	pm_result_u64(r, "reports_of_count", 0, NULL);
	pm_result_u64(r, "extra_instructions", 0, NULL);
	pm_result_f64(r, "fraction", 0, NULL);
	pm_result_end(r);
}

enum pm_status guest_cat_stat(const char *path, struct pm_result *r, struct pm_err *err)
{
	struct packed_size aes, ims;
	enum pm_status st;
	struct catx x;
	double work;

	if (catx_load(path, &x, err) != PM_OK)
		return PM_ERR;
	work = (double)(x.end.instructions ? x.end.instructions : 1);
	put_trace(r, &x.end, work);
	st = put_sizes(r, &x, &aes, &ims, err);
	if (st == PM_OK) {
		put_schedule(r, &aes, &ims, work);
		if (!x.cit)
			st = put_curve(r, path, &x.end, err);
	}
	catx_release(&x);
	return st;
}

enum pm_status guest_cat_extract(const char *path, const char *to, struct pm_result *r,
				 struct pm_err *err)
{
	struct replay_log_totals t;
	struct catx_writer *w = NULL;
	enum pm_status st;
	struct catx x;

	if (catx_load(path, &x, err) != PM_OK)
		return PM_ERR;
	st = replay_log_check(x.log.p, x.log.n, &t, NULL, NULL, err);
	if (st == PM_OK) {
		err->file = to;
		w = catx_create(to, true, err);
		st = w ? PM_OK : PM_ERR;
	}
	for (unsigned i = 0; i < CATX_BUS && st == PM_OK; i++)
		st = catx_put(w, (enum catx_tag)i, x.part[i].p, x.part[i].n, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_LOG, x.log.p, x.log.n, err);
	if (st == PM_OK)
		st = catx_finish(w, &x.end, err);
	if (st == PM_OK) {
		pm_result_u64(r, "state", x.part[CATX_KERN].n + x.part[CATX_INIT].n, "bytes");
		pm_result_u64(r, "log", x.log.n, "bytes");
		pm_result_u64(r, "instructions", x.end.instructions, "instructions");
		pm_result_u64(r, "interrupts", t.of[REPLAY_INTERRUPTS].events, NULL);
		pm_result_u64(r, "clocks", t.of[REPLAY_CLOCKS].events, NULL);
		pm_result_u64(r, "characters", t.of[REPLAY_CHARACTERS].events, NULL);
		pm_result_u64(r, "devices", t.of[REPLAY_DEVICES].events, NULL);
		pm_result_u64(r, "random", t.of[REPLAY_RANDOM].events, NULL);
		pm_result_bool(r, "cut", false);
	}
	catx_close(w);
	catx_release(&x);
	return st;
}
