/* SPDX-License-Identifier: MIT */
#include "cli/machine_guest.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/bus_caches.h"
#include "analyse/cache_sim.h"
#include "analyse/sims.h"
#include "base/elapsed.h"
#include "base/whole_file.h"
#include "cli/manners.h"
#include "cli/traces.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"

#define NO_EVENTS \
	"the guest's kernel called none of the functions that its events are known by"

struct guest {
	struct pm_pipeline *p;
	struct pm_pipeline *bus_p;	/* NULL: what is on the bus is not wanted */
	struct guest_bus *bus;
	struct pm_bus_counts behind;	/* its caches */
	bool cached;
	struct pm_result *result;
	struct qs_reader *r;
	struct guest_events *events;	/* NULL: not wanted */
	struct pm_kernel_file *file;
	struct guest_cat_sink cat;
};

static volatile int interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

static enum pm_status set_up(const struct machine_guest *g, struct pm_pipeline *p,
			     struct pm_err *err)
{
	const uint32_t facts = g->kernel_events ? QS_KERNEL_FACTS : QS_FACTS;
	const char *refs_format = g->refs_format;

	pm_pipeline_info(p, "source", "QEMU");
	pm_pipeline_info(p, "isa", g->qemu.guest);
	pm_pipeline_info(p, "program", g->qemu.kernel);
	for (unsigned i = 0; i < g->sims->n; i++)
		if (pm_sink_add(p, g->sims->v[i], pm_sims, err) != PM_OK)
			return PM_ERR;
	if (g->trace &&
	    pm_trace_create(p, g->trace, g->trace_format, facts, err) != PM_OK)
		return PM_ERR;
	if (g->refs && !refs_format) {
		const struct pm_format *f = pm_format_by_name(g->refs);

		refs_format = f && strcmp(f->name, "laplace") ? f->name
			      : strcmp(g->qemu.guest, "i386") ? "laplace64" : "laplace";
	}
	if (g->refs && pm_trace_create(p, g->refs, refs_format, facts, err) != PM_OK)
		return PM_ERR;
	return pm_pipeline_start(p, facts, "traces of x86 guests", err);
}

/* What takes transactions: files, or a comparison with one. */
static enum pm_status add_bus_sinks(const struct machine_guest *g, struct guest *x,
				    struct pm_err *err)
{
	if (g->bus && pm_trace_create(x->bus_p, g->bus, g->bus_format, GUEST_BUS_FACTS,
				      err) != PM_OK)
		return PM_ERR;
	if (g->verify) {
		x->cat.with = catx_open(g->verify, err);
		if (!x->cat.with)
			return PM_ERR;
	}
	x->cat.path = g->verify ? g->verify : g->cat;
	if (x->cat.with || x->cat.to)
		pm_pipeline_sink(x->bus_p, &guest_cat_sink_ops, &x->cat);
	return PM_OK;
}

/* The bus, as transactions behind caches or without. */
static enum pm_status set_up_bus(struct machine_guest *g, struct guest *x, struct pm_err *err)
{
	const struct guest_cat_bus how = {
		.caches = g->bus_caches ? g->bus_caches : pm_cache_default(false),
		.locks = g->bus_locks,
	};
	const struct guest_bus_config cfg = {
		.ram = g->qemu.ram_size, .cached = strcmp(how.caches, "off"),
	};

	x->cached = cfg.cached;
	x->bus_p = pm_pipeline_new();
	pm_pipeline_info(x->bus_p, "source", "QEMU");
	pm_pipeline_info(x->bus_p, "program", g->qemu.kernel);
	if (cfg.cached && pm_bus_caches_add(x->bus_p, how.caches, how.locks, &x->behind,
					    err) != PM_OK)
		return PM_ERR;
	if (g->cat) {
		err->file = g->cat;
		x->cat.to = catx_create(g->cat, CATX_CAT, err);
		if (!x->cat.to || guest_cat_record(x->cat.to, &g->qemu, &how, g->from,
						   err) != PM_OK)
			return PM_ERR;
		err->file = NULL;
	}
	if (add_bus_sinks(g, x, err) != PM_OK ||
	    pm_pipeline_start(x->bus_p, GUEST_BUS_FACTS, "bus traces of x86 guests", err) != PM_OK)
		return PM_ERR;
	x->bus = guest_bus_new(x->bus_p, &cfg);
	return PM_OK;
}

static void put_bus(struct pm_result *r, const struct guest *x)
{
	static const struct { uint8_t type; const char *name; } all[] = {
		{ PM_BUS_FETCH, "fetches" }, { PM_BUS_READ, "reads" },
		{ PM_BUS_READ_INVAL, "reads_for_stores" }, { PM_BUS_WRITE, "writes" },
		{ PM_BUS_WRITEBACK, "write_backs" }, { PM_BUS_IO_READ, "port_reads" },
		{ PM_BUS_IO_WRITE, "port_writes" }, { PM_BUS_INTACK, "interrupts" },
		{ PM_BUS_SPECIAL, "special" },
	};
	const struct guest_bus_totals *t = guest_bus_totals(x->bus);
	const struct pm_bus_counts *c = x->cached ? &x->behind : &t->transactions;

	pm_result_begin(r, "bus");
	for (unsigned i = 0; i < NR(all); i++)
		pm_result_u64(r, all[i].name, c->of[all[i].type], "transactions");
	pm_result_u64(r, "locked", t->locked, "transactions");
	pm_result_u64(r, "unplaced", t->lost, NULL);
	pm_result_end(r);
}

static void put_run(struct pm_result *r, const struct qs_totals *t, uint64_t events,
		    uint64_t before, enum qemu_end how, double seconds)
{
	static const char *const name[] = {
		[QEMU_POWERED_OFF] = "power-off", [QEMU_RESET] = "reset", [QEMU_LIMIT] = "limit",
		[QEMU_INTERRUPTED] = "interrupted",
	};

	pm_result_begin(r, "guest");
	pm_result_str(r, "ended", name[how]);
	pm_result_u64(r, "instructions", t->instructions, "instructions");
	if (before)
		pm_result_u64(r, "before", before, "instructions");
	pm_result_u64(r, "reads", t->reads, "references");
	pm_result_u64(r, "writes", t->writes, "references");
	pm_result_u64(r, "interrupts", t->interrupts, NULL);
	pm_result_u64(r, "switches", t->switches, NULL);
	if (events)
		pm_result_u64(r, "kernel_events", events, NULL);
	pm_result_u64(r, "cut_blocks", t->cut, "blocks");
	pm_result_u64(r, "attempts", t->attempts, "instructions");
	pm_result_u64(r, "further_goes", t->goes, NULL);
	pm_result_u64(r, "unexplained", t->unexplained, "blocks");
	pm_result_f64(r, "seconds", seconds, "s");
	pm_result_f64(r, "mips", (double)t->instructions / seconds / 1e6, NULL);
	pm_result_end(r);
}

/* Of a replay. */
static void put_replay(struct pm_result *r, const struct machine_guest *g, const struct guest *x,
		       double seconds)
{
	const struct qs_totals *t = qs_reader_totals(x->r);

	if (g->verify) {
		pm_result_u64(r, "differences", 0, NULL);
		pm_result_u64(r, "compared", x->cat.compared, "records");
	}
	pm_result_begin(r, "replay");
	pm_result_u64(r, "instructions", t->instructions, "instructions");
	pm_result_u64(r, "exceptions", t->interrupts - t->external, NULL);
	pm_result_u64(r, "interrupts", t->external, NULL);
	pm_result_u64(r, "transactions", x->cat.compared, NULL);
	pm_result_f64(r, "seconds", seconds, "s");
	pm_result_f64(r, "mips", (double)t->instructions / seconds / 1e6, NULL);
	pm_result_end(r);
}

/* What is to be printed and written once it has ended. */
static enum pm_status report(const struct machine_guest *g, const struct pm_result *r,
			     const struct qs_totals *t, double seconds, struct pm_err *err)
{
	const bool to_stdout = named_files_stdout(g->files, g->nfiles);

	if (g->verify && !(g->json && !strcmp(g->json, "-")) &&
	    !(manners.quiet && to_stdout))
		fprintf(to_stdout ? stderr : stdout, "0 differences in %" PRIu64 " bus records; %"
			PRIu64 " instructions, %" PRIu64 " interrupts\n",
			g->replay->end.transactions, t->instructions, t->external);
	if (g->stats)
		fprintf(stderr, "%" PRIu64 " instructions, %" PRIu64 " references, %" PRIu64
			" interrupts, %" PRIu64 " switches, %.3f s, %.1f MIPS\n", t->instructions,
			t->reads + t->writes, t->interrupts, t->switches, seconds,
			(double)t->instructions / seconds / 1e6);
	if (g->json)
		return traces_json(r, g->json) ? PM_ERR : PM_OK;
	return g->sims->n ? traces_show(r, to_stdout, err) : PM_OK;
}

/* It is to be saved: so it is recorded, and runs until it is. */
static enum pm_status begin_save(struct machine_guest *g, struct pm_err *err)
{
	if (!g->save)
		return PM_OK;
	g->state.save_after = g->qemu.limit;
	g->qemu.limit = 0;
	if (g->from)
		return PM_OK;
	g->state.image_fd = g->state.memory_fd = g->state.touched_fd = -1;
	g->qemu.state = &g->state;
	return guest_state_begin(&g->qemu, err);
}

/* The reader of all, with kernel events if they are wanted. */
static enum pm_status begin(struct machine_guest *g, struct guest *x, struct pm_err *err)
{
	if (qemu_check(&g->qemu, err) != PM_OK || begin_save(g, err) != PM_OK)
		return PM_ERR;
	if (g->kernel_events) {
		x->events = guest_events_new(g->qemu.kernel, err);
		if (!x->events)
			return PM_ERR;
		g->qemu.watch = guest_events_plan(x->events);
		x->file = pm_kernel_file_new(g->kernel_events, "kernel events of the guest", err);
		if (!x->file)
			return PM_ERR;
	}
	if (set_up(g, x->p, err) != PM_OK ||
	    ((g->bus || g->cat || g->verify) && set_up_bus(g, x, err) != PM_OK))
		return PM_ERR;
	x->r = qs_reader_new(x->p, g->qemu.limit);
	if (x->bus)
		qs_reader_bus(x->r, x->bus);
	if (g->frames)
		qs_reader_frames(x->r);
	if (g->cat)
		qs_reader_until_off(x->r);
	if (x->events)
		qs_reader_kernel(x->r, x->events, x->file, g->refs);
	return PM_OK;
}

/* Did it come to where it was to end? */
static enum pm_status replayed_all(const struct machine_guest *g, const struct guest *x,
				   enum qemu_end how, const struct pm_err *ended,
				   struct pm_err *err)
{
	const uint64_t n = qs_reader_totals(x->r)->instructions;

	err->file = g->path;
	if (n == g->replay->end.instructions &&
	    qs_reader_totals(x->r)->witness != g->replay->end.witness)
		return pm_fail_file(err, "interrupts came elsewhere than when it was recorded: "
				    "QEMU's firmware may be another one");
	if (n == g->qemu.limit)
		return PM_OK;
	if (how == QEMU_INTERRUPTED || pm_failed(ended)) {
		if (pm_failed(ended))
			*err = *ended;
		return how == QEMU_INTERRUPTED ? pm_fail(err, 0, "interrupted") : PM_ERR;
	}
	return pm_fail_file(err, "the replay ended after %" PRIu64 " instructions of %" PRIu64
			    ": its log is another machine's", n, g->qemu.limit);
}

/* Run it. @ended: why it ended otherwise than it should have. */
static enum pm_status run_guest(struct machine_guest *g, struct guest *x, enum qemu_end *how,
				struct pm_err *ended, struct pm_err *err)
{
	enum pm_status st;

	g->qemu.interrupted = &interrupted;
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	st = qemu_run(&g->qemu, x->r, x->p, how, ended, err);
	if (st == PM_OK && !qs_reader_totals(x->r)->instructions) {
		if (!pm_failed(ended))
			pm_fail_file(ended, "the guest ended before it had turned on paging: there "
				     "is nothing to trace");
		*err = *ended;
		st = PM_ERR;
	}
	if (st == PM_OK && g->save && !g->state.saved) {
		if (pm_failed(ended))
			*err = *ended;
		else
			pm_fail_file(err, "the guest ended after %" PRIu64 " instructions, before "
				     "it was to be saved", qs_reader_totals(x->r)->instructions);
		st = PM_ERR;
	}
	if (st == PM_OK)
		st = qs_reader_finish(x->r, err);
	if (st == PM_OK && g->replay)
		st = replayed_all(g, x, *how, ended, err);
	if (st == PM_OK && x->bus)
		st = guest_bus_end(x->bus, g->replay ? g->replay->end.how == CATX_RESET
				   : *how == QEMU_RESET, err);
	return st;
}

/* Does a replay end before the trace does? */
static bool limited(const struct machine_guest *g)
{
	return g->qemu.limit < g->replay->end.instructions;
}

static enum pm_status finish_cat(const struct machine_guest *g, struct guest *x, enum qemu_end how,
				 struct pm_err *err)
{
	static const uint8_t as[] = {
		[QEMU_POWERED_OFF] = CATX_POWERED_OFF, [QEMU_RESET] = CATX_RESET,
		[QEMU_LIMIT] = CATX_LIMIT, [QEMU_INTERRUPTED] = CATX_INTERRUPTED,
	};
	const struct qs_totals *t = qs_reader_totals(x->r);
	struct catx_end end = {
		.instructions = t->instructions, .interrupts = t->external, .witness = t->witness,
		.how = as[how],
	};

	err->file = g->cat;
	if (guest_cat_log(x->cat.to, &g->qemu, g->from, err) != PM_OK)
		return PM_ERR;
	return catx_finish(x->cat.to, &end, err);
}

/* Instructions before the trace. */
static uint64_t begins_at(const struct machine_guest *g)
{
	return g->from ? g->from->end.instructions : 0;
}

static enum pm_status finish(const struct machine_guest *g, struct guest *x, enum qemu_end how,
			     double seconds, struct pm_err *err)
{
	const struct qs_totals *t = qs_reader_totals(x->r);

	/* what does not agree with the bus gets no name */
	if (x->bus && pm_pipeline_finish(x->bus_p, NULL, err) != PM_OK)
		return PM_ERR;
	if (x->cat.with && !limited(g)) {
		err->file = g->verify;
		if (catx_compare_end(x->cat.with, err) != PM_OK)
			return PM_ERR;
	}
	if (g->replay)
		put_replay(x->result, g, x, seconds);
	else
		put_run(x->result, t, x->file ? pm_kernel_file_events(x->file) : 0, begins_at(g),
			how, seconds);
	if (pm_pipeline_finish(x->p, x->result, err) != PM_OK)
		return PM_ERR;
	if (g->cat && finish_cat(g, x, how, err) != PM_OK)
		return PM_ERR;
	if (g->save && guest_save(g->save, &g->qemu, g->from, begins_at(g) + t->instructions,
				  err) != PM_OK)
		return PM_ERR;
	if (x->bus && !g->replay)
		put_bus(x->result, x);
	if (x->file && pm_kernel_file_finish(x->file, NO_EVENTS, err) != PM_OK)
		return PM_ERR;
	if (g->json && !g->replay)
		named_files_put(x->result, g->files, g->nfiles);
	return report(g, x->result, t, seconds, err);
}

/* A replay that went another way is not the trace: unlike one that was only cut short it does not
 * stay, not even as a .pug, which has its name from the first batch on. */
static void drop_trace(const struct machine_guest *g, const struct guest *x)
{
	struct stat st;

	if (g->replay && !interrupted && g->trace && strcmp(g->trace, "-") && x->r &&
	    qs_reader_totals(x->r)->instructions && !lstat(g->trace, &st) && S_ISREG(st.st_mode))
		unlink(g->trace);
}

int machine_guest(struct machine_guest *g)
{
	struct guest x = {
		.p = pm_pipeline_new(),
		.result = pm_result_for(g->verify ? "citcat-verify" : g->replay ? "citcat-replay"
					: "machine-guest"),
	};
	struct pm_err err = { 0 }, ended = { 0 };
	enum qemu_end how = QEMU_POWERED_OFF;
	double seconds = pm_now();
	enum pm_status st = begin(g, &x, &err);

	if (st == PM_OK)
		st = run_guest(g, &x, &how, &ended, &err);
	if (st == PM_OK)
		st = finish(g, &x, how, pm_now() - seconds, &err);
	if (st == PM_OK && pm_failed(&ended)) {
		err = ended;
		st = PM_ERR;
	}
	if (pm_failed(&err))
		traces_fail(&err);
	if (st != PM_OK)
		drop_trace(g, &x);
	pm_pipeline_free(x.p);
	pm_pipeline_free(x.bus_p);
	guest_bus_free(x.bus);
	qs_reader_free(x.r);	/* behind the pipeline, which refers to its code table */
	pm_kernel_file_free(x.file);
	guest_events_free(x.events);
	pm_result_free(x.result);
	catx_close(x.cat.to);
	catx_reader_close(x.cat.with);
	guest_machine_release(&g->qemu);
	return st == PM_OK && (how != QEMU_RESET || g->replay) ? 0 : 1;
}

/* Nothing is open, and there may be a state. */
static void no_files(struct machine_guest *g)
{
	g->qemu.kernel_fd = g->qemu.initrd_fd = g->qemu.log_fd = -1;
	g->state.image_fd = g->state.memory_fd = g->state.touched_fd = -1;
	g->qemu.state = &g->state;
}

bool machine_guest_is_saved(const char *path)
{
	uint8_t head[8];

	return pm_file_head(path, head, sizeof head) && catx_is_saved(head, sizeof head);
}

/* The guest comes from the file @path, which @load reads. Not 0: it cannot be read; that is said,
 * and is the exit status. */
static int begin_file(struct machine_guest *g, const char *path,
		       enum pm_status (*load)(const char *path, struct catx *x, struct pm_err *err),
		       struct catx *x, struct pm_err *err)
{
	no_files(g);
	if (load(path, x, err) != PM_OK)
		return traces_fail(err);
	err->file = g->path = path;
	return 0;
}

/* The file that the guest came from is not needed any more. */
static int end_file(struct machine_guest *g, struct catx *x, int ret, const struct pm_err *err)
{
	if (pm_failed(err))
		traces_fail(err);
	guest_machine_release(&g->qemu);
	catx_release(x);
	return ret;
}

int machine_guest_from(struct machine_guest *g, const char *path)
{
	const char *guest = g->qemu.guest;
	struct guest_cat_bus none;
	struct pm_err err = { 0 };
	struct catx x;
	int ret;

	ret = begin_file(g, path, catx_load_saved, &x, &err);
	if (ret)
		return ret;
	ret = 1;
	if (guest_machine_of(&x, &g->qemu, &none, &err) == PM_OK &&
	    guest_machine_record(&g->qemu, &err) == PM_OK) {
		if (guest && strcmp(guest, g->qemu.guest)) {
			pm_fail_file(&err, "it is a guest of %s, not of %s", g->qemu.guest, guest);
		} else {
			g->from = &x;
			ret = machine_guest(g);
		}
	}
	return end_file(g, &x, ret, &err);
}

int machine_guest_again(struct machine_guest *g, const char *path, bool verify)
{
	struct guest_cat_bus bus = { 0 };
	struct pm_err err = { 0 };
	struct catx x;
	int ret;

	ret = begin_file(g, path, catx_load, &x, &err);
	if (ret)
		return ret;
	ret = 1;
	if (verify && x.kind != CATX_CAT)
		pm_fail_file(&err, "a .cit has no transactions to compare with: give the .cat");
	else if (guest_cat_replay(&x, &g->qemu, &bus, &err) == PM_OK) {
		g->qemu.physical = true;	/* which references are of devices */
		g->qemu.quiet = true;
		g->bus_caches = bus.caches;
		g->bus_locks = bus.locks;
		g->replay = &x;
		g->verify = verify ? path : NULL;
		ret = machine_guest(g);
	}
	return end_file(g, &x, ret, &err);
}
