/* SPDX-License-Identifier: MIT */
/* sinks.h - the sinks that belong to the hub itself, and how `--sink SPEC` finds any other
 *
 * count      events by kind and executed instructions, in total and per stream (results)
 * digest     a hash of all events in order, to compare traces without storing them
 * dump       one line of text per event, blocks expanded; config: the output's name, "" or "-" for
 *            standard output. The line format is documented in docs/formats/dump.md.
 * dump-blocks  the same without expansion: block entries and slots as they came
 * vtrace     dump-blocks for IDtrace's traces: targets as lines, the rest of what only the format
 *            understands left out; not for --sink
 * discard    drops everything: what is left is the cost of producing
 *
 * A SPEC is NAME[:CONFIG]; a NAME with a slash or ending in .so is a shared object that defines
 * `const struct pm_sink_ops pm_plugin`. One of another interface is refused (plugin.c). */
#ifndef PM_TRACE_SINKS_H
#define PM_TRACE_SINKS_H

#include "trace/chain.h"

/* Of a plug-in, besides enum pm_sink_flag: it wants pm_batch.sizes, which are these. */
#define PM_SINK_PLUGIN (1u << 26)
extern const struct pm_sizes pm_struct_sizes;		/* pipeline.c */

/* First member of a pm_uniting_sink_ops: objects in one pipeline may do their work together. */
#define PM_SINK_UNITES (1u << 27)
struct pm_uniting_sink_ops {
	struct pm_sink_ops ops;
	/* All @n objects of one pipeline, before the first batch. served[i] is set if another one
	 * does the work of self[i]: that one gets no batches, and finishes as ever, in any
	 * order. */
	void (*unite)(void *const *self, size_t n, bool *served);
};

extern const struct pm_chain_sink_ops pm_count_ops;
extern const struct pm_sink_ops pm_digest_ops, pm_dump_ops, pm_dump_blocks_ops,
	pm_discard_ops, pm_vtrace_ops;

/* NULL-terminated: the built-in sinks of the hub. */
extern const struct pm_sink_ops *const pm_hub_sinks[];

/* Create the sink that @spec names and add it to @p. @more: further built-in sinks,
 * NULL-terminated, or NULL. A plug-in stays loaded until the process ends. */
enum pm_status pm_sink_add(struct pm_pipeline *p, const char *spec,
			   const struct pm_sink_ops *const *more, struct pm_err *err);

/* What bit @bit of the flags of such events is called. Borrowed for good. */
const char *pm_flag_name(enum pm_kind kind, unsigned bit);

/* One event as dump writes it, line feed included. */
struct pm_buf;
void pm_dump_event(struct pm_buf *to, const struct pm_batch *b, const struct pm_event *ev);

#endif
