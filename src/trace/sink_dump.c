/* SPDX-License-Identifier: MIT */
/* sink_dump.c - one stable line of text per event; docs/formats/dump.md is its manual
 *
 *	STREAM KIND ADDR SIZE [KEY=VALUE]...
 *
 * ADDR in hex, SIZE in decimal, both "-" for kinds that have none. A key is left out when its value
 * is the one that says nothing (0, PM_NONE, no flags), so equal lines mean equal events. Numbers
 * that depend on the order in which code was discovered (indices into the code table) are not
 * printed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/result.h"
#include "trace/bus.h"
#include "trace/idt.h"
#include "trace/io.h"
#include "trace/penn.h"
#include "trace/sinks.h"

struct dump {
	struct pm_output *out;
	struct pm_buf line;
	char *path;
	bool entries;			/* of IDtrace, without what only its format understands */
};

enum dump_shape {
	S_ADDR = 1,		/* addr is printed */
	S_SIZE = 2,		/* size is printed */
	S_HEX = 4,		/* value, hexadecimal */
	S_DEC = 8,		/* value, decimal */
	S_RARE = 16,		/* id is an index into pm_batch.rare */
	S_SLOT = 32,		/* id is an instruction within a block */
	S_ID = 64,		/* id is a number of its own */
};

static const struct {
	uint8_t shape;
	const char *value;	/* what the value is called */
} kinds[PM_EV_COUNT] = {
	[PM_EV_INSN] = { S_ADDR | S_SIZE },
	[PM_EV_BLOCK] = { S_ADDR | S_DEC, "n" },
	[PM_EV_READ] = { S_ADDR | S_SIZE | S_HEX | S_SLOT, "value" },
	[PM_EV_WRITE] = { S_ADDR | S_SIZE | S_HEX | S_SLOT, "value" },
	[PM_EV_MODIFY] = { S_ADDR | S_SIZE | S_HEX | S_SLOT, "value" },
	[PM_EV_BRANCH] = { S_ADDR | S_SIZE | S_HEX, "target" },
	[PM_EV_REP_ITER] = { S_ADDR | S_SLOT },
	[PM_EV_REP_END] = { S_ADDR | S_DEC | S_SLOT, "n" },
	[PM_EV_UOP] = { S_ADDR },
	[PM_EV_LINE] = { S_ADDR | S_SIZE },
	[PM_EV_BUS] = { S_ADDR | S_SIZE },
	[PM_EV_REG_READ] = { S_SIZE | S_HEX | S_ID, "value" },
	[PM_EV_REG_WRITE] = { S_SIZE | S_HEX | S_ID, "value" },
	[PM_EV_KERNEL] = { S_ADDR | S_HEX | S_RARE, "value" },
	[PM_EV_INTERRUPT] = { S_ADDR | S_DEC | S_RARE, "vector" },
	[PM_EV_DMA] = { S_ADDR | S_SIZE | S_HEX | S_RARE, "value" },
	[PM_EV_DEVICE] = { S_ADDR | S_SIZE | S_HEX | S_RARE, "value" },
	[PM_EV_SYSCALL] = { S_DEC | S_ADDR | S_RARE, "number" },
	[PM_EV_SYSRET] = { S_HEX | S_ADDR | S_RARE, "result" },
	[PM_EV_SIGNAL] = { S_ADDR | S_DEC | S_RARE, "signal" },
	[PM_EV_SIGRETURN] = { S_ADDR | S_HEX | S_RARE, "value" },
	[PM_EV_PROCESS] = { S_DEC | S_RARE, "pid" },
	[PM_EV_EXEC] = { S_DEC | S_RARE, "pid" },
	[PM_EV_THREAD] = { S_DEC | S_RARE, "tid" },
	[PM_EV_EXIT] = { S_DEC | S_RARE, "status" },
	[PM_EV_MMAP] = { S_ADDR | S_HEX | S_RARE, "length" },
	[PM_EV_MUNMAP] = { S_ADDR | S_HEX | S_RARE, "length" },
	[PM_EV_SWITCH] = { S_HEX | S_ADDR | S_RARE, "space" },
	[PM_EV_TIME] = { S_DEC | S_ADDR | S_RARE, "time" },
	[PM_EV_MARKER] = { S_ADDR | S_SIZE | S_HEX | S_RARE, "value" },
	[PM_EV_LOST] = { S_DEC | S_ADDR | S_RARE, "events" },
	[PM_EV_OPAQUE] = { S_SIZE },
	[PM_EV_FRAME] = { S_ADDR | S_SIZE | S_HEX | S_RARE, "frame" },
};

static const char *const ref_flags[8] = {
	"write", "stack", "rep", "prefetch", "uncached", "copyback", "inval", "all",
};
static const char *const branch_flags[8] = { "taken", "cond", "indirect", "call", "ret" };
static const char *const exit_flags[8] = { "process", "signal" };

static inline char *put_hex(char *to, uint64_t v)
{
	static const char digit[] = "0123456789abcdef";
	unsigned n = v ? (67 - (unsigned)__builtin_clzll(v)) / 4 : 1;

	*to++ = '0';
	*to++ = 'x';
	for (unsigned i = n; i--; v >>= 4)
		to[i] = digit[v & 15];
	return to + n;
}

static inline char *put_dec(char *to, uint64_t v)
{
	char tmp[20];
	unsigned n = 0;

	do
		tmp[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*to++ = tmp[--n];
	return to;
}

static inline char *put_str(char *to, const char *s)
{
	size_t n = strlen(s);

	memcpy(to, s, n);
	return to + n;
}

static char *put_key(char *to, const char *key)
{
	*to++ = ' ';
	to = put_str(to, key);
	*to++ = '=';
	return to;
}

const char *pm_flag_name(enum pm_kind kind, unsigned bit)
{
	static const char *const bits[8] = { "0x1", "0x2", "0x4", "0x8", "0x10", "0x20", "0x40",
		"0x80" };
	const char *const *name = kind == PM_EV_BRANCH ? branch_flags :
				  kind == PM_EV_EXIT ? exit_flags : ref_flags;

	if (!bit && kind == PM_EV_BUS)
		return "locked";	/* PM_BUS_LOCKED */
	if (!bit && (kind == PM_EV_READ || kind == PM_EV_WRITE || kind == PM_EV_LINE))
		return "fill";		/* PM_REF_FILL */
	return name[bit] ? name[bit] : bits[bit];
}

static char *put_flags(char *to, const struct pm_event *ev)
{
	char sep = '=';

	to = put_str(to, " flags");
	for (unsigned i = 0; i < 8; i++) {
		if (!(ev->flags >> i & 1))
			continue;
		*to++ = sep;
		sep = ',';
		to = put_str(to, pm_flag_name((enum pm_kind)ev->kind, i));
	}
	return to;
}

static char *put_bytes(char *to, const uint8_t *p, size_t n)
{
	static const char digit[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*to++ = digit[p[i] >> 4];
		*to++ = digit[p[i] & 15];
	}
	return to;
}

/* What a kernel event is called; NULL: its number is all that there is. */
static const char *kernel_name(uint32_t code)
{
	static const struct { char code; const char *name; } names[] = {
		{ PM_KERNEL_SCHEDULE, "schedule" }, { PM_KERNEL_FORK, "fork" },
		{ PM_KERNEL_EXEC, "exec" }, { PM_KERNEL_CONTEXT, "context" },
		{ PM_KERNEL_COPY_RANGE, "copy-range" }, { PM_KERNEL_MAP_FILE, "map-file" },
		{ PM_KERNEL_MAP, "map" }, { PM_KERNEL_MAP_SHARED, "map-shared" },
		{ PM_KERNEL_MOVE, "move" }, { PM_KERNEL_UNMAP, "unmap" },
		{ PM_KERNEL_UNMAP_ALL, "unmap-all" },
		{ PM_KERNEL_COPY_ON_WRITE, "copy-on-write" }, { PM_KERNEL_OPEN, "open" },
		{ PM_KERNEL_CLOSE, "close" }, { PM_KERNEL_READ, "read" },
		{ PM_KERNEL_WRITE, "write" }, { PM_KERNEL_DELETE, "delete" },
		{ PM_KERNEL_TRUNCATE, "truncate" },
		/* of which pugmark knows no more than Laplace's names */
		{ 'T', "exit" }, { '/', "destroy-shared" }, { 'a', "accept" }, { 'e', "end" },
		{ '&', "debug" },
	};

	for (size_t i = 0; i < NR(names); i++)
		if ((uint32_t)names[i].code == code)
			return names[i].name;
	return NULL;
}

static void dump_rare(struct pm_buf *to, const struct pm_event *ev, const struct pm_rare *r)
{
	const char *event = ev->kind == PM_EV_KERNEL ? kernel_name(r->code) : NULL;

	if (r->code)
		pm_buf_printf(to, " code=%u", r->code);
	if (event)
		pm_buf_printf(to, " event=%s", event);
	if (r->nargs) {
		pm_buf_printf(to, " args=");
		for (unsigned i = 0; i < r->nargs && i < NR(r->arg); i++)
			pm_buf_printf(to, "%s0x%llx", i ? "," : "", (unsigned long long)r->arg[i]);
	}
	if (r->name) {
		pm_buf_printf(to, " name=");
		pm_json_string(to, r->name);
	}
}

static void dump_uop(struct pm_buf *to, const struct pm_uop *u)
{
	pm_buf_printf(to,
		      " uop=%d pc=0x%llx src=%d,%d dest=%d %c%c%c imm=%lld mem=0x%llx msize=%u "
		      "fall=0x%llx "
		      "target=0x%llx macro=%.12s micro=%.23s",
		      u->index, (unsigned long long)u->pc, u->src1, u->src2, u->dest,
		      penn_letter(PENN_FLAG_USE, u->flag_use),
		      penn_letter(PENN_OUTCOME, u->outcome), penn_letter(PENN_ACCESS, u->access),
		      (long long)u->imm, (unsigned long long)u->mem, u->msize,
		      (unsigned long long)u->fall, (unsigned long long)u->target, u->macro,
		      u->micro);
}

static void dump_bus(struct pm_buf *to, const struct pm_bus *u, uint64_t addr)
{
	const char *cycle = pm_bus_cycle(u, addr);

	pm_buf_printf(to, " type=%u lanes=0x%02x attr=%u agent=%u raw=%02x%02x%02x%02x data=0x%llx",
		      u->type, u->lanes, u->attr, u->agent, u->raw[0], u->raw[1], u->raw[2],
		      u->raw[3], (unsigned long long)u->data);
	if (u->time != UINT64_MAX)
		pm_buf_printf(to, " time=%llu", (unsigned long long)u->time);
	if (cycle)
		pm_buf_printf(to, " cycle=%s", cycle);
}

/* The table may know an instruction and not its bytes. */
static bool has_bytes(const struct pm_insn *in)
{
	static const uint8_t none[sizeof in->bytes];

	return in->len && (in->isa != PM_ISA_NONE || memcmp(in->bytes, none, sizeof none));
}

void pm_dump_event(struct pm_buf *buf, const struct pm_batch *b, const struct pm_event *ev)
{
	unsigned shape = ev->kind < PM_EV_COUNT ? kinds[ev->kind].shape : S_ADDR | S_SIZE;
	char line[256], *to = line;

	to = put_dec(to, b->stream->index);
	*to++ = ' ';
	to = put_str(to, pm_kind_name(ev->kind));
	*to++ = ' ';
	if (shape & S_ADDR)
		to = put_hex(to, ev->addr);
	else
		*to++ = '-';
	*to++ = ' ';
	if (shape & S_SIZE)
		to = put_dec(to, ev->size);
	else
		*to++ = '-';
	if (shape & S_SLOT && ev->id != PM_NONE && !b->code)
		to = put_dec(put_key(to, "id"), ev->id);
	if (shape & S_ID && ev->id != PM_NONE)
		to = put_dec(put_key(to, "reg"), ev->id);
	if (shape & (S_HEX | S_DEC) && (ev->value || shape & S_DEC || ev->kind == PM_EV_BRANCH)) {
		to = put_key(to, kinds[ev->kind].value);
		to = shape & S_HEX ? put_hex(to, ev->value) : put_dec(to, ev->value);
	}
	if (ev->flags && ev->kind != PM_EV_INSN)	/* there they are a format's own */
		to = put_flags(to, ev);
	if (ev->kind == PM_EV_INSN && b->code && ev->id < b->code->ninsn &&
	    has_bytes(&b->code->insn[ev->id])) {
		const struct pm_insn *in = b->code->insn + ev->id;

		to = put_bytes(put_key(to, "bytes"), in->bytes, in->len <= 15 ? in->len : 15);
	}
	if ((ev->kind == PM_EV_REG_READ || ev->kind == PM_EV_REG_WRITE) && ev->size == 16 &&
	    b->narena >= 16 && ev->addr <= b->narena - 16)
		to = put_bytes(put_key(to, "bytes"), b->arena + ev->addr, 16);
	pm_buf_add(buf, line, (size_t)(to - line));
	if (ev->kind == PM_EV_UOP && ev->id < b->nuop)
		dump_uop(buf, b->uop + ev->id);
	if (ev->kind == PM_EV_BUS && ev->id < b->nbus)
		dump_bus(buf, b->bus + ev->id, ev->addr);
	if (shape & S_RARE && ev->id < b->nrare)
		dump_rare(buf, ev, b->rare + ev->id);
	if (ev->kind == PM_EV_OPAQUE) {
		size_t n = pm_opaque_bytes(b, ev);

		if (ev->value)
			pm_buf_printf(buf, " value=0x%llx", (unsigned long long)ev->value);
		if (n)
			pm_buf_printf(buf, " bytes=");
		for (size_t i = 0; i < n; i++)
			pm_buf_printf(buf, "%02x", b->arena[ev->addr + i]);
	}
	pm_buf_add(buf, "\n", 1);
}

/* Which file it is about, in the text: @d may go before somebody reads it. */
static enum pm_status about_file(const struct dump *d, struct pm_err *err)
{
	const struct pm_err why = *err;

	*err = (struct pm_err){ 0 };
	return pm_fail_file(err, "%s: %s", strcmp(d->path, "-") ? d->path : "standard output",
			    why.msg);
}

static void *dump_create(const char *config, struct pm_err *err)
{
	struct dump *d = pm_alloc(sizeof *d);

	d->path = pm_strdup(*config ? config : "-");
	d->out = pm_output_open(d->path, err);
	if (!d->out) {
		about_file(d, err);
		free(d->path);
		free(d);
		return NULL;
	}
	return d;
}

static void *vtrace_create(const char *config, struct pm_err *err)
{
	struct dump *d = dump_create(config, err);

	if (d)
		d->entries = true;
	return d;
}

static enum pm_status dump_consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct dump *d = self;

	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = b->ev + i;

		if (!d->entries || e->kind != PM_EV_OPAQUE)
			pm_dump_event(&d->line, b, e);
		else if (e->flags == IDT_OP_TARG && !e->size)
			pm_buf_printf(&d->line, "%u target 0x%llx\n", b->stream->index,
				      (unsigned long long)e->value);
		if (d->line.n < 65536 && i + 1 < b->n)
			continue;
		if (pm_output_write(d->out, d->line.p, d->line.n, err) != PM_OK)
			return about_file(d, err);
		d->line.n = 0;
	}
	return PM_OK;
}

static enum pm_status dump_finish(void *self, struct pm_result *r, struct pm_err *err)
{
	struct dump *d = self;
	const bool before = pm_failed(err);	/* a trace that is cut is shown up to there */

	if (pm_output_finish(d->out, err) == PM_OK)
		return PM_OK;
	return before ? PM_ERR : about_file(d, err);
}

static void dump_destroy(void *self)
{
	struct dump *d = self;

	if (!d)
		return;
	pm_output_close(d->out);
	pm_buf_release(&d->line);
	free(d->path);
	free(d);
}

const struct pm_sink_ops pm_dump_ops = {
	.abi = PM_ABI,
	.name = "dump", .about = "one line of text per event, blocks expanded to instructions",
	.create = dump_create, .consume = dump_consume, .finish = dump_finish,
	.destroy = dump_destroy,
};

const struct pm_sink_ops pm_dump_blocks_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS,
	.name = "dump-blocks", .about = "one line of text per event, blocks as they are",
	.create = dump_create, .consume = dump_consume, .finish = dump_finish,
	.destroy = dump_destroy,
};

const struct pm_sink_ops pm_vtrace_ops = {
	.abi = PM_ABI, .flags = PM_SINK_BLOCKS | PM_SINK_EPOCHS,
	.name = "vtrace", .about = "the entries of an IDtrace trace, a line each",
	.create = vtrace_create, .consume = dump_consume, .finish = dump_finish,
	.destroy = dump_destroy,
};
