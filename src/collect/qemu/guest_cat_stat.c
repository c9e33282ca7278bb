/* SPDX-License-Identifier: MIT */
/* guest_cat_stat.c - what a trace of an x86 guest costs: the thesis's tables and figures, under the
 * names that citcat_stat() gives them. Nothing is replayed: the clock of the bus is the number of
 * instructions. */
#include "collect/qemu/guest_cat.h"
#include "collect/qemu/qemu_log.h"
#include "trace/cat_cost.h"

#define EVERY		50000u		/* instructions, from point to point of the curve */

static void add_event(void *ctx, enum replay_kind kind, const uint8_t *p, size_t n)
{
	struct size_packer *k = ctx;

	size_packer_add(&k[kind], p, n);
}

/* Fig. 5. *@aes, *@ims: their sums. */
static enum pm_status put_sizes(struct pm_result *r, const struct catx *x, struct packed_size *aes,
				struct packed_size *ims, struct pm_err *err)
{
	struct size_packer k[REPLAY_KINDS], all, state;
	struct replay_log_totals t;
	enum pm_status st;

	for (unsigned i = 0; i < REPLAY_KINDS; i++)
		size_packer_begin(&k[i]);
	size_packer_begin(&all);
	size_packer_begin(&state);
	st = replay_log_check(x->log.p, x->log.n, &t, add_event, k, err);
	size_packer_add(&all, x->log.p, x->log.n);
	for (unsigned i = 0; i < CATX_BUS; i++)
		size_packer_add(&state, x->part[i].p, x->part[i].n);
	size_packer_add(&state, x->state.p, x->state.n);
	size_packer_add(&state, x->memory.p, x->memory.n);
	pm_result_begin_list(r, "sizes");
	for (unsigned i = 0; i < REPLAY_KINDS; i++) {
		const struct packed_size s = size_packer_end(&k[i]);

		if (t.known)
			cat_cost_row(r, replay_kind_names[i], t.of[i].events, s);
	}
	*aes = size_packer_end(&all);
	*ims = size_packer_end(&state);
	cat_cost_row(r, "all", 1, *aes);
	cat_cost_row(r, "IMS", 1, *ims);
	pm_result_end(r);
	return st;
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
			cat_cost_point(r, now, bytes, last, last_bytes);
			last = now;
			last_bytes = bytes;
		}
		bytes += u.type == PM_BUS_INTACK || u.type == PM_BUS_SPECIAL ? 0 : e.size;
	}
	if (st == PM_END) {
		cat_cost_point(r, end->instructions, bytes, last, last_bytes);
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

static void put_dilation(struct pm_result *r)
{
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
		cat_cost_schedule(r, aes, ims, x.end.instructions);
		put_dilation(r);
		if (x.kind == CATX_CAT)
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
		w = catx_create(to, CATX_CIT, err);
		st = w ? PM_OK : PM_ERR;
	}
	for (unsigned i = 0; i < CATX_BUS && st == PM_OK; i++)
		st = catx_put(w, (enum catx_tag)i, x.part[i].p, x.part[i].n, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_LOG, x.log.p, x.log.n, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_STATE, x.state.p, x.state.n, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_MEMORY, x.memory.p, x.memory.n, err);
	if (st == PM_OK)
		st = catx_finish(w, &x.end, err);
	if (st == PM_OK) {
		pm_result_u64(r, "state", x.part[CATX_KERN].n + x.part[CATX_INIT].n +
			      x.state.n + x.memory.n, "bytes");
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
