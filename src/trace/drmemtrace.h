/* SPDX-License-Identifier: MIT */
/* drmemtrace.h - what reader and writer of DynamoRIO's off-line traces share: the entries
 *
 * fmt_drmemtrace.c draws them. Those of a trace from a 32-bit DynamoRIO, which alone can decode
 * 32-bit programs, are 8 bytes long: addresses of 4. */
#ifndef PM_TRACE_DRMEMTRACE_H
#define PM_TRACE_DRMEMTRACE_H

#include "trace/text.h"

enum {
	DR_READ = 0,
	DR_WRITE = 1,
	DR_PREFETCH = 2,
	DR_PREFETCH_LAST = 9,
	DR_INSTR = 10,
	DR_JUMP = 11,
	DR_JUMP_IND = 12,
	DR_COND = 13,
	DR_CALL = 14,
	DR_CALL_IND = 15,
	DR_RET = 16,
	DR_BUNDLE = 17,
	DR_THREAD = 22,
	DR_THREAD_EXIT = 23,
	DR_PID = 24,
	DR_HEADER = 25,
	DR_FOOTER = 26,
	DR_PREFETCH_HARDWARE = 27,
	DR_MARKER = 28,
	DR_NO_FETCH = 29,
	DR_MAYBE_FETCH = 30,
	DR_SYSENTER = 31,
	DR_PREFETCH_NT = 32,
	DR_PREFETCH_NT_LAST = 46,
	DR_ENCODING = 47,
	DR_TAKEN = 48,
	DR_UNTAKEN = 49,
	DR_LAST = 60,

	MK_KERNEL_EVENT = 0,
	MK_KERNEL_XFER = 1,
	MK_TIMESTAMP = 2,
	MK_CPU = 3,
	MK_FILETYPE = 9,
	MK_LINE = 10,
	MK_VERSION = 12,
	MK_WINDOW = 14,
	MK_PAGE = 18,
	MK_SYSCALL = 25,
	MK_TARGET = 29,

	FT_FILTERED = 0x1,		/* old: both of the next but one */
	FT_INSTR_ONLY = 0x4,
	FT_X86_32 = 0x20,
	FT_X86_64 = 0x40,
	FT_I_FILTERED = 0x80,
	FT_ENCODINGS = 0x200,
	FT_SYSCALLS = 0x400,
	FT_CORE_SHARDED = 0x10000,	/* a file for each core, not for each thread */
	FT_REGDEPS = 0x20000,		/* encodings say which registers, and little else */

	DR_VERSION = 7,			/* instructions that did not complete are not there */
	DR_VERSION_BRANCHES = 5,	/* from here on branches tell whether they were taken */
};
#define DR_WIDE		12		/* bytes of an entry */
#define DR_NARROW	8
#define DR_REG		0x300		/* register 0 of REGDEPS, in events */
#define DR_ENCODED	16		/* bytes of an encoding, at most */

struct dr_entry {
	unsigned type, size;
	uint64_t addr;
};

static inline struct dr_entry dr_get(const uint8_t *p, unsigned width)
{
	return (struct dr_entry){ pm_get16(p), pm_get16(p + 2),
				  width == DR_WIDE ? pm_get64(p + 4) : pm_get32(p + 4) };
}

/* How wide entries are, by the first ones of a file; 0: it is none of these traces. */
unsigned dr_width(const uint8_t *head, size_t n);

/* A file's base name where it is one of several: what a native copy is called. The detail of an
 * opaque header is the width, and this. */
#define DR_NAME		200

extern const struct pm_reader_ops dr_read_ops;
extern const struct pm_writer_ops dr_write_ops;
bool dr_probe_directory(const char *path);
bool dr_writes_directory(const struct pm_write_opts *o);

/* drmemtrace_regs.c: the registers of a REGDEPS encoding @p of @n bytes, as events. False: it is
 * damaged. */
bool dr_regdeps(struct pm_builder *b, const uint8_t *p, unsigned n);

#endif
