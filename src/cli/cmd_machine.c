/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/result.h"
#include "cli/machine_guest.h"
#include "cli/named_files.h"
#include "cli/traces.h"
#include "collect/machine/idle.h"
#include "collect/machine/kernel.h"
#include "collect/machine/machine.h"
#include "collect/machine/monitor.h"
#include "collect/machine/tracer.h"
#include "report/out.h"
#include "report/result_view.h"
#include "trace/sinks.h"

static volatile int interrupted;
static struct termios saved_tty;
static bool tty_raw;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void tty_restore(void)
{
	if (tty_raw)
		tcsetattr(0, TCSANOW, &saved_tty);
}

/* Key by key to the guest; ^C stays ours. */
static void tty_setup(void)
{
	struct termios t;

	if (!isatty(0) || tcgetattr(0, &saved_tty))
		return;
	t = saved_tty;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tty_raw = !tcsetattr(0, TCSANOW, &t);
	atexit(tty_restore);
}

/* "r4400", "r4400,isa=mips32r2,endian=big,line=16,l2=1M,l2line=64,caches=off" */
static bool parse_cpu(const char *s, struct cpu_config *c)
{
	char *copy = pm_strdup(s), *rest = copy;
	bool ok = true, first = true, sline = false;
	uint64_t v;

	for (char *t; ok && (t = strsep(&rest, ",")); first = false) {
		if (first)
			ok = !strcmp(t, "r4400");
		else if (!strcmp(t, "isa=mips32r2"))
			c->r2 = true;
		else if (!strcmp(t, "isa=mips3"))
			c->r2 = false;
		else if (!strcmp(t, "endian=big"))
			c->big_endian = true;
		else if (!strcmp(t, "endian=little"))
			c->big_endian = false;
		else if (!strcmp(t, "caches=off"))
			c->uncached = true;
		else if (!strcmp(t, "line=16") || !strcmp(t, "line=32"))
			c->iline = c->dline = (unsigned)atoi(t + 5);
		else if (!strncmp(t, "l2=", 3) && pm_parse_size(t + 3, &v) && v >= 131072 &&
			 v <= 4194304 && !(v & (v - 1)))
			c->scache = (uint32_t)v;
		else if (!strncmp(t, "l2line=", 7) && pm_parse_size(t + 7, &v) && v >= 32 &&
			 v <= 128 && !(v & (v - 1))) {
			c->sline = (unsigned)v;
			sline = true;
		} else
			ok = false;
	}
	free(copy);
	return ok && (!sline || c->scache);
}

static int fail(const struct pm_err *err)
{
	return traces_fail(err);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);	/* the host may be busy, and compressing
							 * is another thread's */
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* @mips: of this run, which may have begun at a snapshot; the counts are since power-on. */
static void put_run(struct pm_result *r, const struct machine *m, double seconds, double mips)
{
	static const char *const how[] = {
		[RUNNING] = "stopped", [POWERED_OFF] = "power-off", [RESET] = "reset",
		[LIMIT] = "limit",
		[INTERRUPTED] = "interrupted", [STUCK] = "exceptions without end",
	};
	const struct cpu *c = m->cpu;

	pm_result_begin(r, "machine");
	pm_result_str(r, "ended", how[m->stop]);
	pm_result_u64(r, "instructions", cpu_instructions(c), "instructions");
	pm_result_u64(r, "exceptions", c->exceptions, NULL);
	pm_result_u64(r, "branches", c->nbranch, NULL);
	pm_result_u64(r, "cycles", machine_cycle(m), "cycles");
	if (m->kernel && guest_kernel_events(m->kernel))
		pm_result_u64(r, "kernel_events", guest_kernel_events(m->kernel), NULL);
	if (m->monitor)
		pm_result_u64(r, "transactions", monitor_transactions(m->monitor), NULL);
	pm_result_f64(r, "cpu_seconds", seconds, "s");
	pm_result_f64(r, "mips", mips, NULL);
	pm_result_end(r);
}

/* What `pugmark machine run` is asked for. */
static struct {
	const char *elf, *kernel, *initrd, *append, *disk, *cpu, *ram;
	const char *input, *save, *load, *trace, *trace_format, *json, *gdb;
	const char *refs, *refs_format, *kernel_events, *guest, *qemu, *bus_caches;
	struct pm_opt_list sims;
	struct monitor_config monitor;
	uint64_t limit, cycles, port, warmup;
	bool readonly, quiet, stats, no_idle, bus_locks, frames;
} run;

static const struct pm_opt run_opts[] = {
	OPT_HEAD("what to run"),
	OPT_STR(0, "elf", &run.elf, "FILE", "a bare program"),
	OPT_STR(0, "kernel", &run.kernel, "FILE", "a Linux kernel (ELF; x86: bzImage)"),
	OPT_STR(0, "initrd", &run.initrd, "FILE", "its initial RAM disk"),
	OPT_STR(0, "append", &run.append, "TEXT", "its command line"),
	OPT_STR(0, "disk", &run.disk, "FILE", "disk image; the guest's writes stay in memory"),
	OPT_FLAG(0, "read-only", &run.readonly, "the disk refuses writes"),
	OPT_STR(0, "load", &run.load, "FILE", "go on from a snapshot"),
	OPT_HEAD("the machine"),
	OPT_STR(0, "guest", &run.guest, "ISA",
		"in place of the R4400 an x86 system in QEMU: x86_64 or i386"),
	OPT_STR(0, "qemu", &run.qemu, "FILE", "QEMU 10 or newer (qemu-system-x86_64)"),
	OPT_STR(0, "cpu", &run.cpu, "CPU",
		"r4400; behind it ,isa=mips32r2 ,endian=big ,line=16 ,l2=1M "
		",l2line=64 ,caches=off; with --guest what QEMU's -cpu takes"),
	OPT_STR('m', "ram", &run.ram, "SIZE", "RAM, 1M to 496M (64M; with --guest 256M)"),
	OPT_STR(0, "input", &run.input, "FILE", "what is typed at the console"),
	OPT_FLAG('q', "quiet", &run.quiet, "do not show the console"),
	OPT_HEAD("when to stop"),
	OPT_U64('n', "limit", &run.limit, "N", "after N instructions (0: no limit)"),
	OPT_U64(0, "cycles", &run.cycles, "N",
		"after N cycles, of which 20 million are a second (0: no limit)"),
	OPT_STR(0, "save", &run.save, "FILE",
		"write a snapshot at the end; with --guest behind --limit instructions"),
	OPT_HEAD("what to record"),
	OPT_STR(0, "cat", &run.monitor.cat, "FILE",
		"the bus with data, from the guest's begin to its end; with --guest the bus "
		"without data, and what a replay needs"),
	OPT_FLAG(0, "sideband", &run.monitor.sideband,
		 "record from power-on or from --load, with reports from the processor itself"),
	OPT_STR(0, "bus", &run.monitor.bus, "FILE",
		"bus transactions (byu, byu12), or as references (din, lackey...)"),
	OPT_STR(0, "bus-format", &run.monitor.bus_format, "FORMAT",
		"its format (default: by the name)"),
	OPT_STR(0, "bus-caches", &run.bus_caches, "CONFIG",
		"--guest: caches before the bus, as `pugmark sim --cache` has them; off: none"),
	OPT_FLAG(0, "bus-locks", &run.bus_locks,
		 "--guest: locked instructions lock the bus, as a Pentium's, and no line"),
	OPT_STR('o', "exec-trace", &run.trace, "FILE",
		"every instruction; with --cat, from the begin on"),
	OPT_STR('t', "to", &run.trace_format, "FORMAT", "its format (default: by the name)"),
	OPT_STR(0, "refs", &run.refs, "FILE",
		"every fetch, load and store with its cycle and address space (laplace)"),
	OPT_STR(0, "refs-format", &run.refs_format, "FORMAT",
		"its format (default: by the name, else laplace; x86_64: laplace64)"),
	OPT_FLAG(0, "frames", &run.frames,
		"--guest: the frame that each page is in, in the trace (frame events)"),
	OPT_STR(0, "kernel-events", &run.kernel_events, "FILE",
		"what the guest's kernel does: switches, forks, mappings (laplace-events)"),
	OPT_LIST('s', "sim", &run.sims, "NAME:CONFIG",
		 "a simulator or sink on these instructions, as `pugmark sim` has them"),
	OPT_FLAG(0, "no-idle", &run.no_idle, "leave out loops that provably only wait"),
	OPT_U64(0, "warmup", &run.warmup, "N", "leave out the first N instructions"),
	OPT_HEAD("watching"),
	OPT_STR(0, "gdb", &run.gdb, "PORT",
		"wait for a debugger on this TCP port; 0: on any that is free"),
	OPT_FLAG(0, "stats", &run.stats, "instructions, cycles and speed at the end"),
	OPT_STR(0, "json", &run.json, "FILE",
		"the same and the simulators' results as JSON; '-' is standard output"),
	OPT_END
};

static struct named_file files[14];
static bool x86;			/* not the R4400 */
static bool to_stdout;			/* an output goes there: nothing else does */

static void check_files(const struct pm_opt_help *help)
{
	const struct named_file all[] = {
		{ "--elf", run.elf, false }, { "--kernel", run.kernel, false },
		{ "--initrd", run.initrd, false }, { "--disk", run.disk, false },
		{ "--load", run.load, false }, { "--input", run.input, false },
		{ "--qemu", run.qemu, false },
		{ "--exec-trace", run.trace, true }, { "--refs", run.refs, true },
		{ "--bus", run.monitor.bus, true }, { "--cat", run.monitor.cat, true },
		{ "--kernel-events", run.kernel_events, true }, { "--save", run.save, true },
		{ "--json", run.json, true },
	};

	_Static_assert(sizeof all == sizeof files, "all of them");
	memcpy(files, all, sizeof files);
	named_files_check(help, files, NR(files));
	to_stdout = named_files_stdout(files, NR(files));
}

/* Options that say how something is done that is not done at all. */
static void check_needed(const struct pm_opt_help *help)
{
	const bool traced = run.trace || run.refs || run.sims.n;
	const struct { const char *option; bool given, of_use; const char *needed; } all[] = {
		{ "--refs-format", run.refs_format, run.refs, "--refs" },
		{ "--bus-format", run.monitor.bus_format, run.monitor.bus, "--bus" },
		{ "--to", run.trace_format, run.trace, "--exec-trace" },
		{ "--frames", run.frames, traced, "--exec-trace, --refs or --sim" },
		{ "--no-idle", run.no_idle, traced, "--exec-trace, --refs or --sim" },
		{ "--warmup", run.warmup, traced, "--exec-trace, --refs or --sim" },
		{ "--read-only", run.readonly, run.disk, "--disk" },
		{ "--initrd", run.initrd, run.kernel || run.load, "--kernel" },
		{ "--append", run.append, run.kernel || run.load, "--kernel" },
	};
	const struct { const char *option; bool given; } saved[] = {
		{ "--ram", run.ram }, { "--cpu", run.cpu }, { "--append", run.append },
		{ "--initrd", run.initrd }, { "--kernel", run.kernel },
		{ "--read-only", run.readonly && x86 },
	};

	for (size_t i = 0; i < NR(all); i++)
		if (all[i].given && !all[i].of_use)
			pm_opt_usage(help, "%s needs %s", all[i].option, all[i].needed);
	for (size_t i = 0; run.load && i < NR(saved); i++)
		if (saved[i].given)
			pm_opt_usage(help, "%s is as the snapshot has it: --load excludes it",
				     saved[i].option);
	if (run.monitor.bus && !run.monitor.bus_format && !pm_format_by_name(run.monitor.bus))
		pm_opt_usage(help, "no format has names like '%s'; --bus-format FORMAT says which "
			     "to write", run.monitor.bus);
}

/* Guests of x86 that are saved, or go on. */
static void check_saved(const struct pm_opt_help *help)
{
	if (run.load && run.kernel_events)
		pm_opt_usage(help, "--kernel-events begins at power-on: --load excludes it");
	if (run.save && !run.limit)
		pm_opt_usage(help, "--guest is saved behind so many instructions: --save needs "
			     "--limit");
	if (run.save && run.monitor.cat)
		pm_opt_usage(help, "--save excludes --cat: save the guest first, then --load it");
	if (run.save && run.disk && !run.readonly && !run.load)
		pm_opt_usage(help, "--save needs --read-only with --disk: what the guest writes to "
			     "it would not be saved");
}

/* What an x86 guest can do, and what only the R4400 can. How much RAM it has. */
static uint64_t check_guest(const struct pm_opt_help *help)
{
	const struct { const char *option; bool given; } r4400[] = {
		{ "--elf", run.elf },
		{ "--sideband", run.monitor.sideband },
		{ "--no-idle", run.no_idle }, { "--warmup", run.warmup },
		{ "--cycles", run.cycles }, { "--gdb", run.gdb },
	};
	uint64_t ram;

	if (run.guest && strcmp(run.guest, "x86_64") && strcmp(run.guest, "i386"))
		pm_opt_usage(help, "'%s' is not a guest: x86_64 or i386", run.guest);
	for (size_t i = 0; i < sizeof r4400 / sizeof r4400[0]; i++)
		if (r4400[i].given)
			pm_opt_usage(help, "%s is for the R4400, not for --guest", r4400[i].option);
	check_saved(help);
	if (!run.kernel && !run.load)
		pm_opt_usage(help, "--guest needs --kernel or --load");
	if (run.kernel_events && run.guest && strcmp(run.guest, "x86_64"))
		pm_opt_usage(help, "--kernel-events is for guests of x86_64, not of %s", run.guest);
	if (!pm_parse_size(run.ram ? run.ram : QEMU_RAM, &ram) || ram < 1 << 20)
		pm_opt_usage(help, "'%s' is not a size of RAM", run.ram);
	if ((run.monitor.bus || run.monitor.cat || run.frames || run.save) &&
	    (ram > QEMU_LOW_RAM || ram % 4096))
		pm_opt_usage(help, "%s is for guests with at most 3G of RAM, in whole pages",
			     run.monitor.bus   ? "--bus"
			     : run.monitor.cat ? "--cat"
			     : run.frames      ? "--frames"
					       : "--save");
	if (!run.monitor.bus && !run.monitor.cat && (run.bus_caches || run.bus_locks))
		pm_opt_usage(help, "%s needs --bus or --cat", run.bus_caches ? "--bus-caches"
			     : "--bus-locks");
	return ram;
}

static void parse_run(int argc, char **argv, struct machine_config *cfg)
{
	static const struct pm_opt_help help = {
		"pugmark machine run [options]",
		"Run a program or an operating system on a simulated R4400 computer: RAM, a "
		"serial console, a\n"
		"disk, and, if asked for, a monitor on its bus that disturbs nothing. Or, with "
		"--guest, an x86\n"
		"system in QEMU.",
		"  pugmark machine run --kernel vmlinux --initrd root.cpio.gz --disk disk.img\n"
		"  pugmark machine run --elf program.elf --exec-trace program.pug\n"
		"  pugmark machine run --guest x86_64 --kernel vmlinuz --initrd root.cpio.gz -o "
		"boot.pug\n"
		"The R4400 has no clock but its own: two runs with the same input are the same "
		"in every cycle.\n"
		"Exit status: 0 after power-off or a limit, 1 after a reset (a panicked kernel) "
		"or an error."
	};
	uint64_t ram;

	if (pm_opt_parse(argc, argv, run_opts, &help, false))
		pm_opt_usage(&help, "unexpected operand '%s'", argv[0]);
	x86 = run.guest || (run.load && machine_guest_is_saved(run.load));
	if (x86) {
		cfg->ram_size = (uint32_t)check_guest(&help);
		check_needed(&help);
		check_files(&help);
		return;
	}
	if (run.bus_caches || run.bus_locks)
		pm_opt_usage(&help, "%s is for --guest; the R4400 has caches of its own: --cpu",
			     run.bus_caches ? "--bus-caches" : "--bus-locks");
	if (run.qemu || run.frames)
		pm_opt_usage(&help, "%s needs --guest", run.qemu ? "--qemu" : "--frames");
	if (!!run.elf + !!run.kernel + !!run.load != 1)
		pm_opt_usage(&help, "give exactly one of --elf, --kernel and --load");
	if (run.kernel_events && run.warmup)
		pm_opt_usage(&help, "--warmup would leave out what --kernel-events says of "
			     "mappings");
	check_needed(&help);
	run.cpu = run.cpu ? run.cpu : "r4400";
	run.ram = run.ram ? run.ram : "64M";
	if (!parse_cpu(run.cpu, &cfg->cpu))
		pm_opt_usage(&help, "'%s' is not a processor", run.cpu);
	if (cfg->cpu.scache && cfg->cpu.sline < cfg->cpu.dline)
		pm_opt_usage(&help, "secondary cache lines are at least as long as primary ones");
	if (!pm_parse_size(run.ram, &ram) || ram < 1 << 20 || ram > RAM_MAX || ram % 4096)
		pm_opt_usage(&help, "'%s' is not a size of RAM between 1M and 496M", run.ram);
	if (run.gdb && (!pm_parse_u64(run.gdb, &run.port) || run.port > 65535))
		pm_opt_usage(&help, "'%s' is not a TCP port", run.gdb);
	if (run.monitor.sideband && !run.monitor.cat)
		pm_opt_usage(&help, "--sideband needs --cat");
	check_files(&help);
	cfg->ram_size = (uint32_t)ram;
}

/* The state that a bus trace begins with has neither what caches hold nor a branch under way. */
static void empty_caches(struct machine *m)
{
	while (m->cpu->in_delay && m->stop == RUNNING)
		machine_step(m, 1);
	cpu_flush_caches(m->cpu);
}

static uint64_t later(uint64_t now, uint64_t n)
{
	return n < NEVER - now ? now + n : NEVER;
}

/* The machine with what it is to run; NULL and @err. *input: to be freed after the machine. */
static struct machine *set_up(const struct machine_config *cfg, uint8_t **input,
			      struct pm_err *err)
{
	struct machine *m = machine_new(cfg, err);
	enum pm_status st = PM_OK;
	size_t len;

	if (!m)
		return NULL;
	m->console = run.quiet ? NULL : to_stdout ? stderr : stdout;
	if (run.elf)
		st = machine_boot_elf(m, run.elf, err);
	else if (run.kernel)
		st = machine_boot(m, run.kernel, run.initrd, run.append, err);
	if (st == PM_OK && run.disk)
		st = machine_disk(m, run.disk, run.readonly, err);
	if (st == PM_OK && run.load)
		st = machine_load(m, run.load, err);
	if (st == PM_OK && m->stop != RUNNING)
		st = pm_fail_file(err, m->stop == RESET
				  ? "the machine is off: it was saved when it had asked for a reset"
				  : "the machine is off: it was saved after it had powered off");
	if (st != PM_OK)
		goto bad;
	if (run.load && run.monitor.sideband)
		empty_caches(m);
	if (run.input) {
		*input = machine_read_file(run.input, &len, err);
		if (!*input)
			goto bad;
		m->input = *input;
		m->ninput = len;
	} else if (isatty(0)) {
		m->input_fd = 0;
		tty_setup();
	}
	if (run.limit)
		m->insn_limit = later(cpu_instructions(m->cpu), run.limit);
	if (run.cycles)
		m->stop_at = later(machine_cycle(m), run.cycles);
	m->interrupted = &interrupted;
	return m;
bad:
	machine_free(m);
	return NULL;
}

/* What watches it. *pipe: what instructions go through; NULL if nobody wants them. */
static enum pm_status watch(struct machine *m, struct pm_pipeline **pipe, struct pm_err *err)
{
	struct idle_config idle = { .big_endian = m->cpu->cfg.big_endian, .keep = !run.no_idle,
				    .warmup = run.warmup };
	const struct tracer_config how = {
		.wait_go = run.monitor.cat && !run.monitor.sideband, .times = true,
		.every_cycle = run.refs, .unknown_spaces = run.refs || run.kernel_events,
	};
	uint32_t facts = TRACER_FACTS | TRACER_TIMES;

	err->file = NULL;
	if (run.monitor.cat || run.monitor.bus) {
		m->monitor = monitor_new(&run.monitor, m->cpu, m->ram_size, err);
		if (!m->monitor)
			return PM_ERR;
		if (run.monitor.sideband)
			monitor_begin_sideband(m->monitor, m->cpu);
	}
	if (run.kernel_events)
		facts |= PM_HAS_KERNEL;
	else if (!run.trace && !run.refs && !run.sims.n)
		return PM_OK;
	if (how.unknown_spaces) {
		m->kernel = guest_kernel_new(run.kernel_events, err);
		if (!m->kernel)
			return PM_ERR;
	}
	if (!run.trace && !run.refs && !run.sims.n)
		return PM_OK;
	*pipe = pm_pipeline_new();
	if (run.no_idle || run.warmup)
		pm_pipeline_transform(*pipe, &idle_ops, idle_new(&idle));
	for (unsigned i = 0; i < run.sims.n; i++)
		if (pm_sink_add(*pipe, run.sims.v[i], pm_sims, err) != PM_OK)
			return PM_ERR;
	err->file = run.trace;
	if (run.trace &&
	    pm_trace_create(*pipe, run.trace, run.trace_format, facts, err) != PM_OK)
		return PM_ERR;
	err->file = run.refs;
	if (run.refs &&
	    pm_trace_create(*pipe, run.refs,
			    run.refs_format || pm_format_by_name(run.refs) ? run.refs_format
									    : "laplace",
			    facts, err) != PM_OK)
		return PM_ERR;
	err->file = NULL;
	if (pm_pipeline_start(*pipe, facts, "machine traces", err) != PM_OK)
		return PM_ERR;
	m->tracer = tracer_new(*pipe, m->cpu, &how);
	return PM_OK;
}

static void say_port(unsigned port)
{
	fprintf(stderr, "pugmark: waiting for a debugger: target remote localhost:%u\n", port);
}

/* Run, and say how it went. The exit status; @err says more. */
static int run_machine(struct machine *m, struct pm_pipeline *pipe, struct pm_result *result,
		       struct pm_err *err)
{
	struct pm_err ended = { .file = run.load ? run.load : run.elf ? run.elf : run.kernel };
	enum pm_status st;
	const uint64_t before = cpu_instructions(m->cpu);
	double t0 = now_s(), mips;

	st = run.gdb ? machine_gdb(m, (unsigned)run.port, say_port, err) : machine_run(m, &ended);
	t0 = now_s() - t0;
	mips = (double)(cpu_instructions(m->cpu) - before) / t0 / 1e6;
	put_run(result, m, t0, mips);
	if (pm_failed(&ended))		/* what was seen until then is kept */
		st = PM_OK;
	if (st == PM_OK && m->tracer)
		st = tracer_finish(m->tracer, m->cpu, err);
	/* where the trace never began there are none of the others, either */
	if (st == PM_OK && m->monitor && (monitor_begun(m->monitor) || !pm_failed(&ended)))
		st = monitor_finish(m->monitor, err);
	if (st == PM_OK && pipe)
		st = pm_pipeline_finish(pipe, result, err);
	if (st == PM_OK && m->kernel)
		st = guest_kernel_finish(m->kernel, err);
	if (st == PM_OK && run.save)
		st = machine_save(m, run.save, err);
	if (run.stats)
		fprintf(stderr, "%" PRIu64 " instructions, %" PRIu64 " exceptions, %" PRIu64
			" cycles, %.3f s of CPU, %.1f MIPS\n", cpu_instructions(m->cpu),
			m->cpu->exceptions, machine_cycle(m), t0, mips);
	if (st == PM_OK && run.json)
		named_files_put(result, files, NR(files));
	if (st == PM_OK && run.json)
		st = traces_json(result, run.json) ? PM_ERR : PM_OK;
	else if (st == PM_OK && run.sims.n)
		st = traces_show(result, to_stdout, err);
	if (st == PM_OK && pm_failed(&ended)) {
		*err = ended;
		st = PM_ERR;
	}
	return st == PM_OK && m->stop != RESET ? 0 : 1;
}

static int run_guest(uint32_t ram)
{
	struct machine_guest g = {
		.qemu = {
			.guest = run.guest, .qemu = run.qemu, .kernel = run.kernel,
			.initrd = run.initrd, .append = run.append, .disk = run.disk,
			.cpu = run.cpu, .ram = run.ram, .input = run.input,
			.read_only = run.readonly, .quiet = run.quiet,
			.console_to_stderr = to_stdout,
			.limit = run.limit, .physical = run.monitor.bus || run.frames,
			.ram_size = ram,
			.kernel_fd = -1, .initrd_fd = -1, .log_fd = -1,
		},
		.trace = run.trace, .trace_format = run.trace_format, .json = run.json,
		.refs = run.refs, .refs_format = run.refs_format,
		.kernel_events = run.kernel_events, .sims = &run.sims, .stats = run.stats,
		.bus = run.monitor.bus, .bus_format = run.monitor.bus_format,
		.bus_caches = run.bus_caches, .bus_locks = run.bus_locks,
		.frames = run.frames,
		.cat = run.monitor.cat, .save = run.save, .files = files, .nfiles = NR(files),
	};

	return run.load ? machine_guest_from(&g, run.load) : machine_guest(&g);
}

static int machine_run_cmd(int argc, char **argv)
{
	struct machine_config cfg = { .cpu = { .iline = 32, .dline = 32, .sline = 64 } };
	struct pm_result *result;
	struct pm_pipeline *pipe = NULL;
	struct machine *m = NULL;
	struct pm_err err = { 0 };
	uint8_t *input = NULL;
	int ret = 1;

	parse_run(argc, argv, &cfg);
	if (x86)
		return run_guest(cfg.ram_size);
	result = pm_result_for("machine-run");
	if (!run.load || machine_snapshot_config(run.load, &cfg, &err) == PM_OK)
		m = set_up(&cfg, &input, &err);
	if (m && watch(m, &pipe, &err) == PM_OK) {
		signal(SIGINT, on_interrupt);
		signal(SIGTERM, on_interrupt);
		ret = run_machine(m, pipe, result, &err);
	}
	if (pm_failed(&err))
		ret = fail(&err);
	pm_pipeline_free(pipe);
	if (m) {
		monitor_free(m->monitor);
		guest_kernel_free(m->kernel);
		tracer_free(m->tracer);	/* behind the pipeline, which refers to its code table */
	}
	pm_result_free(result);
	machine_free(m);
	free(input);
	return ret;
}

/* The script that fetches Debian's own kernel and busybox is part of the program. */
extern const char fetch_debian[], fetch_debian_end[];
__asm__(".section .rodata\n"
	".globl fetch_debian, fetch_debian_end\n"
	"fetch_debian: .incbin \"guest/debian/private-apt.sh\"\n"
	".incbin \"guest/debian/fetch-debian.sh\"\n"
	"fetch_debian_end: .byte 0\n"
	".previous\n");

static int fetch_debian_cmd(int argc, char **argv)
{
	static const struct pm_opt none[] = { OPT_END };
	static const struct pm_opt_help help = {
		"pugmark machine fetch-debian [DIR]",
		"Fetch an unmodified Debian kernel and busybox for the machine, with apt, into "
		"DIR; nothing on the\n"
		"host changes.",
		"The last lines that it prints say how to run what it fetched."
	};
	int n = pm_opt_parse(argc, argv, none, &help, false);

	if (n > 1)
		pm_opt_usage(&help, "expected one directory, found %d operands", n);
	execl("/bin/sh", "sh", "-c", fetch_debian, "fetch-debian", n ? argv[0] : NULL, NULL);
	perror("pugmark: cannot run sh");
	return 1;
}

static struct machine *from_snapshot(const char *path, const char *disk, struct pm_err *err)
{
	struct machine_config cfg;
	struct machine *m;

	err->file = path;
	if (machine_snapshot_config(path, &cfg, err) != PM_OK)
		return NULL;
	m = machine_new(&cfg, err);
	if (!m)
		return NULL;
	if ((!disk || machine_disk(m, disk, false, err) == PM_OK) &&
	    machine_load(m, path, err) == PM_OK)
		return m;
	machine_free(m);
	return NULL;
}

static bool differ(const struct machine *a, const struct machine *b)
{
	const struct cpu_field *f;
	unsigned i;

	if (a->ram_size != b->ram_size || memcmp(&a->cpu->cfg, &b->cpu->cfg, sizeof a->cpu->cfg)) {
		printf("two different machines\n");
		return true;
	}
	f = cpu_diff(a->cpu, b->cpu, &i);
	if (f) {
		printf("%s[%u] (%s): 0x%" PRIx64 " and 0x%" PRIx64 "\n", f->name, i, f->about,
		       cpu_field_get(a->cpu, f, i), cpu_field_get(b->cpu, f, i));
		return true;
	}
	for (uint32_t k = 0; k < a->ram_size; k++)
		if (a->ram[k] != b->ram[k]) {
			printf("memory at 0x%08x: 0x%02x and 0x%02x\n", k, a->ram[k], b->ram[k]);
			return true;
		}
	return false;
}

static int diff_cmd(int argc, char **argv)
{
	static const struct pm_opt_help help = {
		"pugmark machine diff [options] A B",
		"Compare two snapshots: the first register, cache line, TLB entry or byte of "
		"memory that differs.",
		"Exit status: 0 if there is none, 1 if there is one."
	};
	const char *disk = NULL;
	bool print = false;
	const struct pm_opt opts[] = {
		OPT_STR(0, "disk", &disk, "FILE", "the disk image that both were made with"),
		OPT_FLAG('p', "print", &print, "show the registers of both"),
		OPT_END
	};
	int n = pm_opt_parse(argc, argv, opts, &help, false), ret = 1;
	struct machine *a, *b = NULL;
	struct pm_err err = { 0 };
	char text[8192];

	if (n != 2)
		pm_opt_usage(&help, "expected two snapshots, found %d operands", n);
	a = from_snapshot(argv[0], disk, &err);
	if (a)
		b = from_snapshot(argv[1], disk, &err);
	if (!b) {
		ret = fail(&err);
	} else {
		for (unsigned i = 0; print && i < 2; i++) {
			cpu_print(i ? b->cpu : a->cpu, text, sizeof text);
			printf("%s:\n%s", argv[i], text);
		}
		ret = differ(a, b);
	}
	machine_free(a);
	machine_free(b);
	return ret;
}

int cmd_machine(int argc, char **argv)
{
	static const struct pm_opt_command all[] = {
		{ "run", machine_run_cmd, "run a program or a system on it" },
		{ "diff", diff_cmd, "compare two snapshots" },
		{ "fetch-debian", fetch_debian_cmd, "fetch a Debian that it can run" },
		{ 0 }
	};
	static const struct pm_opt_help help = {
		"pugmark machine run|diff|fetch-debian [options]",
		"The simulated R4400 computer.",
		"`pugmark machine run --help` and so on list the options.", all
	};

	return pm_opt_run(argc, argv, &help);
}
