/* SPDX-License-Identifier: MIT */
/* stream_reader.h - words from the plug-in (stream.h) become batches of events
 *
 * Blocks are QEMU's, with the references of their instructions in order, PM_EV_REP_ITER and
 * PM_EV_REP_END, PM_EV_SWITCH wherever the page directory changes (value: its page number), and
 * PM_EV_INTERRUPT (value: vector; addr: where control goes back to). Addresses are virtual.
 *
 * The plug-in says when a block begins, and not how far it came. That follows from what is next:
 *   (1) An exception's own frame names the instruction that did not complete.
 *   (2) Between blocks an interrupt cuts nothing, but for a rep instruction that is to go on.
 *   (3) An instruction that QEMU executed by itself (QS_AGAIN) is the last of its block.
 *   (4) Control that goes on inside the block, to where it does not branch, left it there: the
 *       instruction there had changed the block's own code, and is executed once more.
 *   (5) Otherwise all of it executed.
 * A rep instruction that QEMU does in several goes is one instruction.
 *
 * Ownership  the pipeline is the caller's, has been started with QS_FACTS, and is freed before the
 *            reader, to whose code table it refers.
 * Errors     Any words at all may come. What makes no sense is an error that says which word.
 * Threads    one. */
#ifndef PM_QEMU_STREAM_READER_H
#define PM_QEMU_STREAM_READER_H

#include <stdbool.h>

#include "collect/qemu/guest_bus.h"
#include "collect/qemu/guest_events.h"
#include "trace/kernel_file.h"
#include "trace/pipeline.h"

#define QS_FACTS (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |	\
		  PM_HAS_SPACES | PM_HAS_BLOCKS | PM_HAS_REPS)
#define QS_KERNEL_FACTS (QS_FACTS | PM_HAS_KERNEL | PM_HAS_TIME | PM_HAS_CYCLES)

struct qs_totals {
	uint64_t instructions;		/* that completed */
	uint64_t reads, writes;
	uint64_t interrupts;		/* and exceptions */
	uint64_t external;		/* of them, from outside of the processor */
	uint64_t switches;		/* of the page directory */
	uint64_t cut;			/* blocks of which not all instructions completed */
	uint64_t attempts;		/* instructions that QEMU began and that did not complete */
	uint64_t goes;			/* further goes of rep instructions */
	uint64_t witness;		/* a hash of where all interrupts came, and which */
	uint64_t unexplained;		/* blocks that begin where nothing led to */
};

struct qs_reader;
/* @limit: so many instructions; 0: all. */
struct qs_reader *qs_reader_new(struct pm_pipeline *p, uint64_t limit);
/* Kernel events are wanted: in the pipeline, which was started with QS_KERNEL_FACTS, and in @f.
 * Their time, and that of @every block if it is wanted, too, is how many instructions completed
 * before. PM_EV_SWITCH has 0 for page directories that are no process's. @g and @f stay
 * the caller's. Before the first words. */
void qs_reader_kernel(struct qs_reader *r, struct guest_events *g, struct pm_kernel_file *f,
		      bool every);
/* What is on the bus is wanted, too, of a guest whose plug-in tells physical addresses. @g stays
 * the caller's. Before the first words. */
void qs_reader_bus(struct qs_reader *r, struct guest_bus *g);
/* PM_EV_FRAME is wanted, too, of a guest whose plug-in tells physical addresses: in front of the
 * block that first executes or references a page in an address space, and whenever it may have
 * moved. Before the first words. */
void qs_reader_frames(struct qs_reader *r);
/* The trace ends with the instruction that turns power off, also if QEMU executes some behind it.
 * The bus has to be wanted. */
void qs_reader_until_off(struct qs_reader *r);
/* End the trace soon, at an instruction that completes. */
void qs_reader_stop(struct qs_reader *r);
bool qs_reader_is_off(const struct qs_reader *r);	/* has it ended so? */
/* The next @n words; a record may not be cut. PM_END: the plug-in has ended, or the limit is
 * reached. */
enum pm_status qs_read(struct qs_reader *r, const uint64_t *w, size_t n, struct pm_err *err);
/* No more words come: what is left goes to the pipeline, which is not finished. */
enum pm_status qs_reader_finish(struct qs_reader *r, struct pm_err *err);
const struct qs_totals *qs_reader_totals(const struct qs_reader *r);
/* NULL is fine. */
void qs_reader_free(struct qs_reader *r);

#endif
