/* SPDX-License-Identifier: MIT */
/* fmt_ctf.c - Common Trace Format 1.8, written for babeltrace2 and Trace Compass: a directory with
 * `metadata` (text) and `stream0` (packets, little-endian, everything aligned to 8 bits)
 *
 *   OFFSET SIZE  FIELD of a packet
 *        0    4  magic 0xc1fc1fc1
 *        4   16  uuid, as in the metadata
 *       20    4  stream id: 0
 *       24    8  timestamp of the first event      32  8  of the last one
 *       40    8  content size in bits              48  8  packet size in bits
 *       56    4  cpu: the stream's index
 *       60       events: u16 id, u64 timestamp, fields
 *
 * Time is the trace's own where it has one (cycles count as nanoseconds), else the number of
 * instructions. Streams of one trace share the file, packet by packet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "trace/text.h"

#define PACKET	65536
#define HEAD	60

static const uint8_t uuid[16] = {
	0x70, 0x75, 0x67, 0x6d, 0x61, 0x72, 0x4b, 0x00, 0x80, 0x43, 0x54, 0x46, 0x31, 0x2e, 0x38,
	0x01,
};

/* Events: name and the fields that are written for it. a: address; v: value; s: size; t: text; n:
 * u32. */
static const struct ctf_event {
	uint8_t kind;
	const char *name, *types, *fields[4];
} events[] = {
	{ PM_EV_INSN, "insn", "as", { "pc", "size" } },
	{ PM_EV_READ, "mem_read", "as", { "addr", "size" } },
	{ PM_EV_WRITE, "mem_write", "as", { "addr", "size" } },
	{ PM_EV_MODIFY, "mem_modify", "as", { "addr", "size" } },
	{ PM_EV_BRANCH, "branch", "avn", { "pc", "target", "flags" } },
	{ PM_EV_LINE, "line", "as", { "addr", "size" } },
	{ PM_EV_KERNEL, "kernel", "tvvt", { "tag", "arg0", "arg1", "text" } },
	{ PM_EV_INTERRUPT, "interrupt", "av", { "pc", "vector" } },
	{ PM_EV_DMA, "dma", "asn", { "addr", "size", "write" } },
	{ PM_EV_DEVICE, "device", "asn", { "addr", "size", "write" } },
	{ PM_EV_SYSCALL, "syscall_entry", "v", { "number" } },
	{ PM_EV_SYSRET, "syscall_exit", "v", { "ret" } },
	{ PM_EV_SIGNAL, "signal", "av", { "pc", "signal" } },
	{ PM_EV_PROCESS, "process", "vt", { "pid", "name" } },
	{ PM_EV_EXEC, "exec", "vt", { "pid", "name" } },
	{ PM_EV_THREAD, "thread", "v", { "tid" } },
	{ PM_EV_EXIT, "exit", "v", { "status" } },
	{ PM_EV_MMAP, "mmap", "avt", { "addr", "length", "name" } },
	{ PM_EV_MUNMAP, "munmap", "av", { "addr", "length" } },
	{ PM_EV_SWITCH, "sched_switch", "v", { "space" } },
	{ PM_EV_MARKER, "marker", "t", { "text" } },
	{ PM_EV_LOST, "lost", "v", { "events" } },
	{ PM_EV_FRAME, "frame", "asv", { "page", "size", "frame" } },
};

struct ctf_writer {
	struct pm_plain w;
	char *dir;
	FILE *stream;
	bool timed, cycles;
	uint64_t now, first;
	uint32_t cpu;
	uint8_t row[PM_EV_COUNT];	/* of a kind in events[], + 1; 0: there is none */
	uint8_t packet[PACKET];
	size_t n;
};

static bool put_metadata(const struct ctf_writer *w, FILE *f)
{
	fputs("/* CTF 1.8 */\n"
	      "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	      "typealias integer { size = 16; align = 8; signed = false; } := uint16_t;\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; base = 16; } := "
	      "xint64_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"",
	      f);
	for (unsigned i = 0; i < 16; i++)
		fprintf(f, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
	fprintf(f,
		"\";\n\tbyte_order = le;\n\tpacket.header := struct {\n\t\tuint32_t magic;\n"
		"\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n\t};\n};\n\n"
		"env {\n\ttracer_name = \"pugmark\";\n\ttime = \"%s\";\n};\n\n"
		"clock {\n\tname = trace;\n\tfreq = 1000000000;\n\toffset = 0;\n};\n"
		"typealias integer { size = 64; align = 8; signed = false; map = "
		"clock.trace.value; }"
		" := clock_t;\n\n"
		"stream {\n\tid = 0;\n\tpacket.context := struct {\n\t\tclock_t timestamp_begin;\n"
		"\t\tclock_t timestamp_end;\n\t\tuint64_t content_size;\n\t\tuint64_t "
		"packet_size;\n"
		"\t\tuint32_t cpu_id;\n\t};\n\tevent.header := struct {\n\t\tuint16_t id;\n"
		"\t\tclock_t timestamp;\n\t};\n};\n",
		!w->timed   ? "instructions"
		: w->cycles ? "cycles"
			    : "nanoseconds");
	for (unsigned i = 0; i < NR(events); i++) {
		fprintf(f,
			"\nevent {\n\tname = \"%s\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := "
			"struct {\n",
			events[i].name, i);
		for (unsigned k = 0; events[i].types[k]; k++)
			fprintf(f, "\t\t%s %s;\n",
				events[i].types[k] == 'a'   ? "xint64_t"
				: events[i].types[k] == 'v' ? "uint64_t"
				: events[i].types[k] == 't' ? "string"
							    : "uint32_t",
				events[i].fields[k]);
		fputs("\t};\n};\n", f);
	}
	return !ferror(f);
}

static void ctf_free(void *self)
{
	struct ctf_writer *w = self;

	if (!w)
		return;
	if (w->stream)
		fclose(w->stream);
	free(w->dir);
	free(w);
}

static void *ctf_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err)
{
	struct ctf_writer *w;
	char path[4200];
	FILE *f;
	bool ok;

	if (pm_fmt_options_check(o->options, "", err) != PM_OK)
		return NULL;
	if (!o->path) {
		pm_fail_file(err, "a CTF trace is a directory and needs a name");
		return NULL;
	}
	w = pm_alloc(sizeof *w);
	w->dir = pm_strdup(o->path);
	for (unsigned i = 0; i < NR(events); i++)
		w->row[events[i].kind] = (uint8_t)(i + 1);
	w->timed = o->facts & PM_HAS_TIME;
	w->cycles = o->facts & PM_HAS_CYCLES;
	if (mkdir(w->dir, 0777) && errno != EEXIST) {
		pm_fail_errno(err, "cannot make the directory");
		goto fail;
	}
	snprintf(path, sizeof path, "%s/metadata", w->dir);
	f = fopen(path, "w");
	ok = f && put_metadata(w, f);
	if (!f || fclose(f) || !ok) {
		pm_fail_errno(err, "cannot write its metadata");
		goto fail;
	}
	snprintf(path, sizeof path, "%s/stream0", w->dir);
	w->stream = fopen(path, "wb");
	if (!w->stream) {
		pm_fail_errno(err, "cannot write its stream0");
		goto fail;
	}
	return w;
fail:
	ctf_free(w);
	return NULL;
}

static enum pm_status flush(struct ctf_writer *w, struct pm_err *err)
{
	uint8_t *p = w->packet;

	if (w->n <= HEAD)
		return PM_OK;
	p = pm_put32(p, 0xc1fc1fc1);
	memcpy(p, uuid, 16);
	p = pm_put32(p + 16, 0);
	p = pm_put64(p, w->first);
	p = pm_put64(p, w->now);
	p = pm_put64(p, 8 * w->n);
	p = pm_put64(p, 8 * w->n);
	pm_put32(p, w->cpu);
	if (fwrite(w->packet, 1, w->n, w->stream) != w->n)
		return pm_fail_errno(err, "cannot write its stream0");
	w->n = 0;
	return PM_OK;
}

static uint8_t *put_text(uint8_t *p, const char *s)
{
	size_t n = strlen(s);

	if (n > 4000)
		n = 4000;
	memcpy(p, s, n);
	p[n] = 0;
	return p + n + 1;
}

static enum pm_status ctf_write(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct ctf_writer *w = self;
	const uint8_t *row = w->row;

	if (w->cpu != b->stream->index && flush(w, err) == PM_ERR)
		return PM_ERR;
	w->cpu = b->stream->index;
	for (size_t i = 0; i < b->n; i++) {
		const struct pm_event *e = &b->ev[i];
		const struct pm_rare *r = e->kind >= PM_EV_KERNEL && e->kind <= PM_EV_MARKER &&
					  e->id < b->nrare ? &b->rare[e->id] : NULL;
		const struct ctf_event *k;
		unsigned values = 0, texts = 0;
		char tag[2] = { 0, 0 };
		uint8_t *p;

		if (e->kind == PM_EV_TIME) {
			if (e->value > w->now)
				w->now = e->value;
			continue;
		}
		if (e->kind >= PM_EV_COUNT || !row[e->kind]) {
			if (e->kind < PM_EV_COUNT && e->kind != PM_EV_OPAQUE)
				w->w.dropped[e->kind]++;
			continue;
		}
		k = &events[row[e->kind] - 1];
		if (!w->timed && e->kind == PM_EV_INSN)
			w->now++;
		if (w->n + 8300 > PACKET && flush(w, err) == PM_ERR)
			return PM_ERR;
		if (!w->n) {
			w->n = HEAD;
			w->first = w->now;
		}
		p = w->packet + w->n;
		p = pm_put16(p, (uint16_t)(k - events));
		p = pm_put64(p, w->now);
		tag[0] = r ? (char)r->code : 0;
		for (const char *t = k->types; *t; t++)
			switch (*t) {
			case 'a':
				p = pm_put64(p, e->addr);
				break;
			case 's':
				p = pm_put32(p, e->size);
				break;
			case 'n':
				p = pm_put32(p, e->flags);
				break;
			case 'v':
				p = pm_put64(p, e->kind == PM_EV_KERNEL ? r ? r->arg[values] : 0
									: e->value);
				values++;
				break;
			case 't':
				p = put_text(p, e->kind == PM_EV_KERNEL && !texts ? tag :
					     r && r->name ? r->name : "");
				texts++;
				break;
			}
		w->n = (size_t)(p - w->packet);
	}
	return PM_OK;
}

static enum pm_status ctf_finish(void *self, struct pm_err *err)
{
	struct ctf_writer *w = self;
	FILE *f = w->stream;

	if (flush(w, err) == PM_ERR)
		return PM_ERR;
	w->stream = NULL;
	return fclose(f) ? pm_fail_errno(err, "cannot write its stream0") : PM_OK;
}

static const struct pm_writer_ops ctf_write_ops = {
	ctf_create, ctf_write, ctf_finish, ctf_free, pm_plain_dropped
};

const struct pm_format pm_fmt_ctf = {
	.name = "ctf", .about = "Common Trace Format 1.8, a directory (write only)",
	.plural = "CTF traces", .suffixes = ".ctf", .own_files = true,
	.has = PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES | PM_HAS_TIME |
		PM_HAS_CYCLES |
	       PM_HAS_KERNEL | PM_HAS_SPACES | PM_HAS_LINES,
	.write = &ctf_write_ops,
};
