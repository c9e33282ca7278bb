/* SPDX-License-Identifier: MIT */
#include "collect/citcat/citcat.h"

#include <string.h>

#include "collect/machine/window.h"

struct check {
	struct cat_reader *cat;
	struct citcat_verify *v;
	const char *path;
};

/* The next record of the .cat that replay can produce: interrupt lines have no place among
 * transactions. */
static enum pm_status next(struct check *k, struct cat_rec *r, struct pm_err *err)
{
	enum pm_status st;

	do
		st = cat_next(k->cat, r, err);
	while (st == PM_OK && (r->kind == CAT_END || r->kind == CAT_INTERRUPT));
	return st;
}

static enum pm_status compare(void *ctx, const struct cat_rec *got, struct pm_err *err)
{
	struct check *k = ctx;
	struct cat_rec want;
	enum pm_status st = next(k, &want, err);

	if (st == PM_ERR)
		return st;
	err->file = k->path;
	if (st == PM_END)
		return pm_fail_file(err,
				    "record %llu: the trace ends, replay goes on with %s 0x%08x = "
				    "0x%x at branch count %u",
				    (unsigned long long)cat_record(k->cat) + 1,
				    cat_kind_names[got->kind], got->addr, got->data, got->branches);
	k->v->compared++;
	if (want.kind == got->kind && want.bytes == got->bytes && want.branches == got->branches &&
	    want.addr == got->addr && want.data == got->data)
		return PM_OK;
	return pm_fail_file(err,
			    "record %llu differs: the trace has %s of %u bytes, 0x%08x = 0x%x at "
			    "branch count %u; "
			    "replay has %s of %u bytes, 0x%08x = 0x%x at branch count %u",
			    (unsigned long long)cat_record(k->cat), cat_kind_names[want.kind],
			    want.bytes, want.addr, want.data, want.branches,
			    cat_kind_names[got->kind], got->bytes, got->addr, got->data,
			    got->branches);
}

enum pm_status citcat_verify(const char *cat, const char *ims, const char *aes,
			     struct pm_pipeline *trace, struct citcat_verify *v, struct pm_err *err)
{
	struct check k = { .v = v, .path = cat };
	struct citcat_replay_opts o = { .trace = trace, .record = compare, .ctx = &k,
		.limit = UINT64_MAX };
	struct citcat c = { 0 };
	struct cat_header h;
	struct cat_rec r;
	enum pm_status st;
	uint64_t id = 0;

	memset(v, 0, sizeof *v);
	st = ims ? citcat_read(ims, aes, &c, err) : citcat_extract(cat, &c, err);
	if (st == PM_OK && ims && c.identity)
		st = citcat_identity(cat, &id, err);
	if (st == PM_OK && id && id != c.identity) {
		err->file = ims;
		st = pm_fail_file(err, "it is not from this .cat: its identity is %016llx, that of "
				  "%s is %016llx", (unsigned long long)c.identity, cat,
				  (unsigned long long)id);
	}
	if (st != PM_OK)
		goto out;
	v->cut = c.cut;
	err->file = cat;
	k.cat = cat_open(cat, &h, err);
	st = k.cat ? PM_OK : PM_ERR;
	/* replay begins behind the go store */
	while (st == PM_OK && (st = cat_next(k.cat, &r, err)) == PM_OK)
		if ((r.kind == CAT_WRITE || r.kind == CAT_REPORT) && r.addr == WINDOW_BASE + WIN_GO)
			break;
	if (st == PM_END)
		st = pm_fail_file(err, "expected a begin record and the processor's state, found "
				       "neither");
	if (st == PM_OK)
		st = citcat_replay(&c, &o, &v->replay, err);
	if (st == PM_OK && !c.cut) {
		st = next(&k, &r, err);
		if (st == PM_OK) {
			err->file = cat;
			st = pm_fail_file(err,
					  "record %llu: replay ends, the trace goes on with %s "
					  "0x%08x = 0x%x at branch count %u",
					  (unsigned long long)cat_record(k.cat),
					  cat_kind_names[r.kind], r.addr, r.data, r.branches);
		} else if (st == PM_END) {
			st = PM_OK;
		}
	}
	if (k.cat)
		v->records = cat_record(k.cat) + 1;
out:
	cat_reader_close(k.cat);
	citcat_release(&c);
	return st;
}
