/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "collect/record/nr_i386.h"
#include "collect/record/recording.h"

#define CALL(nr, name, ...) [nr] = #name,
static const char *const names[] = {
#include "collect/runtime/calls.inc"
};
static const char *const names32[] = {
#include "collect/runtime/calls32.inc"
};
#undef CALL

const char *rec_call_name(bool i386, uint64_t nr)
{
	const char *const *const table = i386 ? names32 : names;
	const size_t n = i386 ? NR(names32) : NR(names);

	return nr < n && table[nr] ? table[nr] : "one that is not in the table";
}

bool rec_maps_files(bool i386, uint64_t nr)
{
	return i386 ? nr == NR32_mmap || nr == NR32_mmap2 : nr == SYS_mmap;
}

static void segment_text(uint32_t more, char *to, size_t n)
{
	switch (more) {
	case RT_SEGMENT_FOREIGN:
		snprintf(to, n, "shares memory of System V with a process that is not recorded");
		break;
	case RT_SEGMENT_LARGE:
		snprintf(to, n, "attaches shared memory of System V of more than 1 GiB");
		break;
	case RT_SEGMENT_LARGE_FILE:
		snprintf(to, n, "maps POSIX shared memory of more than 1 GiB");
		break;
	default:
		snprintf(to, n, "maps POSIX shared memory that has grown since it was mapped "
			 "first");
		break;
	}
}

static void stopped_text(bool i386, uint32_t why, uint32_t more, char *to, size_t n)
{
	switch (why) {
	case RT_END_CALL:
		snprintf(to, n, "makes a system call that cannot be recorded yet (%s)",
			 rec_call_name(i386, more));
		break;
	case RT_END_IOCTL:
		snprintf(to, n, "makes an ioctl() that is not known (0x%x)", more);
		break;
	case RT_END_FILE:
		snprintf(to, n, "maps a device, or a file that is mapped already, to share what it "
			 "writes there");
		break;
	case RT_END_SIGNAL:
		snprintf(to, n, "gets a signal where none can be given: in code that passes no "
			 "safepoint");
		break;
	case RT_END_GROUP:
		snprintf(to, n, "shares memory with process %u, of which no more is recorded",
			 more);
		break;
	case RT_END_SHARED:
		snprintf(to, n, more == RT_SHARED_MADE ?
			 "makes a process that has all of its memory" :
			 "and others have the same memory, and one of them %s",
			 more == RT_SHARED_EXECS ? "executes a program" :
			 "is killed while it executes");
		break;
	case RT_END_INT80:
		snprintf(to, n, "makes a 32-bit system call from 64-bit code (int $0x80)");
		break;
	case RT_END_SEGMENT:
		segment_text(more, to, n);
		break;
	default:
		snprintf(to, n, "does what cannot be recorded");
		break;
	}
}

void rec_end_text(const struct rec_ended *e, char *to, size_t n)
{
	switch (e->why) {
	case REC_STOPPED:
		stopped_text(e->i386, (uint32_t)(e->more >> 32), (uint32_t)e->more, to, n);
		break;
	case REC_EXECED:
		snprintf(to, n, "executes another program");
		break;
	case REC_KILLED:
		snprintf(to, n, "is killed by signal %d", e->signal);
		break;
	default:
		snprintf(to, n, "ends");
		break;
	}
}
