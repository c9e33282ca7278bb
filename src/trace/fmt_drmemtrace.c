/* SPDX-License-Identifier: MIT */
/* fmt_drmemtrace.c - DynamoRIO's off-line memory traces, as its post-processing leaves them
 *
 *   OFFSET SIZE  FIELD            packed entries of 12 bytes, little-endian
 *        0    2  type             0 read 1 write 2-9 32-46 prefetches 10-16 instructions 22 thread
 *        2    2  size             23 thread exit 24 process 25 header 26 footer 28 marker (size is
 *        4    8  address          its kind) 29 instruction again (rep) 31 sysenter 47 encoding
 *                                 48 taken and 49 untaken conditional branch
 *
 * A 32-bit DynamoRIO has addresses of 4 bytes, and so entries of 8. Instruction bytes come in
 * encoding entries of up to 8 (4) bytes before the first execution. Entries that no event stands
 * for are kept as opaque events, so a trace comes back byte for byte. A trace of several threads
 * is a directory with a file for each. docs/formats/tracers.md has the order of entries. */
#include "trace/drmemtrace.h"

static int dr_probe(const uint8_t *head, size_t n)
{
	return dr_width(head, n) ? 94 : 0;
}

const struct pm_format pm_fmt_drmemtrace = {
	.name = "drmemtrace", .about = "DynamoRIO's off-line memory and instruction traces",
	.plural = "drmemtrace traces", .suffixes = ".drmemtrace .memtrace",
	.options = "dir   write a directory with a file for each thread, also if the name ends in "
		   "/\n"
		   "gzip  pack the files of the directory",
	.has = PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |
	       PM_HAS_THREADS | PM_HAS_TIME | PM_HAS_REPS | PM_HAS_REGS,
	.needs = PM_HAS_INSNS | PM_HAS_REFS,
	.probe = dr_probe, .probe_directory = dr_probe_directory,
	.writes_directory = dr_writes_directory,
	.read = &dr_read_ops, .write = &dr_write_ops,
};
