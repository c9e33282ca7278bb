/* SPDX-License-Identifier: MIT */
/* branch_perf.c - a branch profile as perf's own file: see branch_perf.h */
#include <elf.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analyse/branch_file.h"
#include "analyse/branch_perf.h"
#include "analyse/branch_sampler.h"
#include "elf/elf.h"
#include "trace/text.h"

#define PROCESS		1000		/* its number in the file: that of all processes */
#define PAGE		4096u
#define SAMPLE_NS	1000000u	/* from one sample to the next */
/* Where Linux puts executables and libraries that may lie anywhere, without randomization. */
#define LOAD_AT_64	0x555555554000u
#define LOAD_AT_32	0x56555000u
/* What is outside is one page. Readers want every address in a mapping. */
#define OUTSIDE_64	0x7ffff7000000u
#define OUTSIDE_32	0xf7000000u
#define OUTSIDE_NAME	"[outside]"

/* ---- the file -------------------------------------------------------------------------------- */
/* What is in front of its parts: tools/perf/util/header.h. */
struct perf_section { uint64_t offset, size; };
struct perf_head {
	char magic[8];
	uint64_t size, attr_size;
	struct perf_section attrs, data, event_types;
	uint64_t features[4];
};
struct perf_attr {
	char attr[PERF_ATTR_SIZE_VER5];	/* as Linux 4.4 has it: all readers know that */
	struct perf_section ids;
};
_Static_assert(sizeof(struct perf_head) == 104, "perf's head");

enum {
	FEATURE_BUILD_ID = 2, FEATURE_ARCH = 6, FEATURE_EVENT_DESC = 12, FEATURE_BRANCH_STACK = 15,
};

#define BUILD_ID_BYTES	20
#define NAME_ALIGN	64u
#define EVENT_NAME	"branches:u"

struct sample_id { uint32_t pid, tid; uint64_t time; };	/* behind each record but samples */

static void add_padded(struct pm_buf *to, const char *s, size_t align)
{
	const size_t n = strlen(s) + 1, padded = (n + align - 1) / align * align;

	memset(pm_buf_room(to, padded), 0, padded);
	memcpy(to->p + to->n, s, n);
	to->n += padded;
}

static void add_id(struct pm_buf *to)
{
	pm_buf_add(to, &(struct sample_id){ PROCESS, PROCESS, 0 }, sizeof(struct sample_id));
}

/* The record that begins at @from is complete: its head says its size. */
static void end_record(struct pm_buf *to, size_t from)
{
	const uint16_t size = (uint16_t)(to->n - from);

	memcpy(to->p + from + offsetof(struct perf_event_header, size), &size, sizeof size);
}

static size_t begin_record(struct pm_buf *to, uint32_t type, uint16_t misc)
{
	const size_t from = to->n;

	pm_buf_add(to, &(struct perf_event_header){ type, PERF_RECORD_MISC_USER | misc, 0 },
		   sizeof(struct perf_event_header));
	return from;
}

static void add_program(struct pm_buf *to, const char *path)
{
	const char *slash = strrchr(path, '/');
	char name[16];			/* as long as the kernel keeps it */
	size_t at = begin_record(to, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);

	snprintf(name, sizeof name, "%.15s", slash ? slash + 1 : path);
	pm_buf_add(to, (uint32_t[]){ PROCESS, PROCESS }, 8);
	add_padded(to, name, 8);
	add_id(to);
	end_record(to, at);
}

/* @n bytes at @addr are those of @path from @offset on. */
static void add_mapping(struct pm_buf *to, const char *path, uint64_t addr, uint64_t n,
			uint64_t offset)
{
	struct {
		uint32_t pid, tid;
		uint64_t addr, len, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
	} m = {
		.pid = PROCESS, .tid = PROCESS, .addr = addr, .len = n, .offset = offset,
		.protection = PROT_READ | PROT_EXEC, .flags = MAP_PRIVATE,
	};
	size_t at = begin_record(to, PERF_RECORD_MMAP2, 0);

	pm_buf_add(to, &m, sizeof m);
	add_padded(to, path, 8);
	add_id(to);
	end_record(to, at);
}

static void add_mappings(struct pm_buf *to, const char *path, const struct pm_elf_info *elf,
			 const struct branch_sampler *s)
{
	for (size_t i = 0; i < elf->nseg; i++) {
		const struct pm_elf_segment *g = &elf->seg[i];
		const uint64_t in_page = g->vaddr % PAGE;

		if (g->type == PT_LOAD && g->flags & PF_X)
			add_mapping(to, path, s->load + g->vaddr - in_page,
				    (g->filesz + in_page + PAGE - 1) / PAGE * PAGE,
				    g->off - in_page);
	}
	add_mapping(to, OUTSIDE_NAME, s->outside, PAGE, 0);
}

static void add_sample(struct pm_buf *to, const struct perf_branch_entry *entry, uint64_t n,
		       uint64_t number, uint64_t period)
{
	struct { uint64_t ip; uint32_t pid, tid; uint64_t time, period, n; } head = {
		.ip = entry->to, .pid = PROCESS, .tid = PROCESS,
		.time = (number + 1) * SAMPLE_NS, .period = period, .n = n,
	};
	size_t at = begin_record(to, PERF_RECORD_SAMPLE, 0);

	pm_buf_add(to, &head, sizeof head);
	pm_buf_add(to, entry, n * sizeof *entry);
	end_record(to, at);
}

/* @samples of them, or one for each two branches; what one of them stands for. Readers take a
 * period of 1 for something else: Intel's branch trace store. */
static uint64_t add_samples(struct branch_sampler *s, uint64_t samples, struct pm_buf *to)
{
	const uint64_t all = branch_sampler_all(s), half = (all + 1) / 2;
	const uint64_t n = samples < half ? samples : half, each = n ? (all + n / 2) / n : 0;
	const uint64_t period = each < 2 ? 2 : each;
	struct perf_branch_entry entry[SAMPLER_STACK];

	for (uint64_t i = 0; i < n; i++)
		add_sample(to, entry, branch_sampler_fill(s, i, entry), i, period);
	return period;
}

static struct perf_attr event(uint64_t period)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = PERF_ATTR_SIZE_VER5,
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS, .sample_period = period,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK,
		.exclude_kernel = 1, .exclude_hv = 1, .mmap = 1, .mmap2 = 1, .comm = 1,
		.comm_exec = 1, .sample_id_all = 1,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
	};
	struct perf_attr e = { .ids = { 0, 0 } };

	memcpy(e.attr, &attr, sizeof e.attr);
	return e;
}

static void add_string(struct pm_buf *to, const char *s)
{
	const uint32_t n = (uint32_t)((strlen(s) + NAME_ALIGN) / NAME_ALIGN * NAME_ALIGN);

	pm_buf_add(to, &n, sizeof n);
	add_padded(to, s, NAME_ALIGN);
}

static void add_build_id(struct pm_buf *to, const char *path, const char *hex)
{
	struct { int32_t pid; uint8_t id[BUILD_ID_BYTES + 4]; } b = { .pid = -1 };
	uint64_t byte;
	size_t at = begin_record(to, 0, 0);

	for (size_t i = 0; i < BUILD_ID_BYTES && hex[2 * i] && hex[2 * i + 1]; i++)
		if (pm_hex(hex + 2 * i, 2, &byte))
			b.id[i] = (uint8_t)byte;
	pm_buf_add(to, &b, sizeof b);
	add_padded(to, path, NAME_ALIGN);
	end_record(to, at);
}

static void add_feature(struct pm_buf *to, unsigned feature, const struct pm_branch_object *o,
			const struct pm_elf_info *elf, const struct perf_attr *e)
{
	switch (feature) {
	case FEATURE_BUILD_ID:
		add_build_id(to, o->path, elf->build_id);
		break;
	case FEATURE_ARCH:
		add_string(to, elf->is64 ? "x86_64" : "i686");
		break;
	case FEATURE_EVENT_DESC:
		pm_buf_add(to, (uint32_t[]){ 1, sizeof e->attr }, 8);
		pm_buf_add(to, e->attr, sizeof e->attr);
		pm_buf_add(to, (uint32_t[]){ 0 }, 4);
		add_string(to, EVENT_NAME);
		break;
	}
}

/* What stands behind the records: where each feature is, then all of them. */
static uint64_t add_features(struct pm_buf *to, const struct pm_branch_object *o,
			     const struct pm_elf_info *elf, const struct perf_attr *e)
{
	static const unsigned all[] = { FEATURE_BUILD_ID, FEATURE_ARCH, FEATURE_EVENT_DESC,
					FEATURE_BRANCH_STACK };
	const size_t skip = !*elf->build_id, n = NR(all) - skip, table = to->n;
	struct perf_section where[NR(all)] = { { 0, 0 } };
	uint64_t set = 0;

	pm_buf_add(to, where, n * sizeof *where);
	for (size_t i = 0; i < n; i++) {
		where[i].offset = to->n;
		add_feature(to, all[i + skip], o, elf, e);
		where[i].size = to->n - where[i].offset;
		set |= 1u << all[i + skip];
	}
	memcpy(to->p + table, where, n * sizeof *where);
	return set;
}

static void make(const struct pm_branch_object *o, struct pm_elf *file,
		 const struct pm_elf_info *elf, uint64_t samples, struct pm_buf *to)
{
	struct perf_head head = { .magic = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' },
				  .size = sizeof head, .attr_size = sizeof(struct perf_attr),
				  .attrs = { sizeof head, sizeof(struct perf_attr) } };
	struct perf_attr e = { .ids = { 0, 0 } };
	struct branch_sampler s;

	branch_sampler_begin(&s, o, file);
	s.load = elf->type == ET_EXEC ? 0 : elf->is64 ? LOAD_AT_64 : LOAD_AT_32;
	s.outside = elf->is64 ? OUTSIDE_64 : OUTSIDE_32;
	pm_buf_add(to, &head, sizeof head);
	pm_buf_add(to, &e, sizeof e);
	head.data.offset = to->n;
	add_program(to, o->path);
	add_mappings(to, o->path, elf, &s);
	e = event(add_samples(&s, samples, to));
	head.data.size = to->n - head.data.offset;
	head.features[0] = add_features(to, o, elf, &e);
	memcpy(to->p, &head, sizeof head);
	memcpy(to->p + sizeof head, &e, sizeof e);
	branch_sampler_end(&s);
}

enum pm_status pm_branch_perf_make(const struct pm_branch_object *o, uint64_t samples,
				   struct pm_buf *to, struct pm_err *err)
{
	struct pm_elf *e = pm_elf_open(o->path, o->build_id, err);
	struct pm_elf_info elf = { 0 };
	enum pm_status st = e ? pm_branch_code_is(o, e, err) : PM_ERR;

	if (st == PM_OK && strlen(o->path) > PATH_MAX) {
		err->file = o->path;
		st = pm_fail_file(err, "its name is too long for perf's file");
	}
	if (st == PM_OK)
		st = pm_elf_check(o->path, &elf, err);
	if (st == PM_OK)
		make(o, e, &elf, samples, to);
	pm_elf_info_release(&elf);
	pm_elf_close(e);
	return st;
}
