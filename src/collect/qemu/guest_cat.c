/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_cat.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collect/qemu/qemu_log.h"

enum pm_status guest_cat_record(struct catx_writer *w, struct qemu_config *cfg,
				const struct guest_cat_bus *bus, const struct catx *from,
				struct pm_err *err)
{
	if (guest_machine_record(cfg, err) != PM_OK)
		return PM_ERR;
	cfg->physical = true;
	if (from) {
		cfg->state->touched_fd = memfd_create("pugmark-touched", 0);
		if (cfg->state->touched_fd < 0)
			return pm_fail_errno(err, "cannot make a memory file");
	}
	return guest_machine_put(w, cfg, bus, from, err);
}

enum pm_status guest_cat_log(struct catx_writer *w, const struct qemu_config *cfg,
			     const struct catx *from, struct pm_err *err)
{
	struct replay_log_totals t;
	struct guest_mapped m;
	enum pm_status st = guest_map(cfg->log_fd, &m, err);

	if (st != PM_OK)
		return st;
	st = replay_log_check(m.p, m.n, &t, NULL, NULL, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_LOG, m.p, m.n, err);
	guest_unmap(&m);
	return st == PM_OK && from ? guest_state_put(w, cfg, from, err) : st;
}

enum pm_status guest_cat_replay(const struct catx *x, struct qemu_config *cfg,
				struct guest_cat_bus *bus, struct pm_err *err)
{
	struct pm_buf log = { 0 };

	if (guest_machine_of(x, cfg, bus, err) != PM_OK)
		return PM_ERR;
	cfg->log = QEMU_REPLAY;
	cfg->limit = !cfg->limit || cfg->limit > x->end.instructions ? x->end.instructions
								     : cfg->limit;
	if (replay_log_mend(x->log.p, x->log.n, &log, err) == PM_OK)
		cfg->log_fd = guest_file(&log, 0, err);
	pm_buf_release(&log);
	return cfg->log_fd >= 0 ? PM_OK : PM_ERR;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* HOT */
static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct guest_cat_sink *s = self;
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < b->n && st == PM_OK; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind != PM_EV_BUS)
			continue;
		st = s->to ? catx_put_bus(s->to, e, &b->bus[e->id], err)
			   : catx_compare(s->with, e, &b->bus[e->id], err);
		s->compared++;
	}
	if (st != PM_OK && !err->file)
		err->file = s->path;
	return st;
}

const struct pm_sink_ops guest_cat_sink_ops = {
	.abi = PM_ABI, .needs = PM_HAS_BUS | PM_HAS_TIME, .name = "cat",
	.about = "an x86 guest's .cat", .consume = consume,
};
