/* SPDX-License-Identifier: MIT */
/* tree_work.h - how a tree grows while a trace runs: private to tree_*.c
 *
 * tree_stack.c follows calls and returns, tree_functions.c knows whose code an address is,
 * tree_sink.c is the sink for blocks and chains, tree_costs.c the one for single instructions,
 * which other simulators' costs need. */
#ifndef PM_ANALYSE_TREE_WORK_H
#define PM_ANALYSE_TREE_WORK_H

#include <pthread.h>

#include "analyse/tree.h"
#include "analyse/tree_sink.h"
#include "trace/growing.h"

/* ---- functions --------------------------------------------------------------------------------
 * The number of a function is its index in pm_tree.function. GENERATED stands for all of generated
 * code: which function of it one that is entered is says its address. */
#define TREE_GENERATED	2u

enum tree_function_flag {
	TREE_STUB	= 1 << 0,	/* jumps to the function that it is named after */
	TREE_SETJMP	= 1 << 1,
	TREE_UNWINDS	= 1 << 2,	/* leaves its caller, too */
	TREE_PART	= 1 << 3,	/* of a function: control enters anywhere */
	TREE_UNKNOWN	= 1 << 4,	/* all code of an object, for want of names */
	TREE_MADE	= 1 << 5,	/* generated code */
	TREE_RESOLVES	= 1 << 7,	/* the dynamic linker, which a stub asks the first time */
	TREE_BARE	= 1 << 6,	/* ... of a trace that does not tell it from other code */
};

struct tree_functions {
	struct tree_object {
		char *path, *build_id;
		struct pm_elf *elf;
		bool tried;
		struct pm_map seen;		/* lo -> function */
		uint32_t unknown;		/* function of what has no name; 0: none yet */
		uint64_t lo, hi;		/* the last answer, in the file */
		uint32_t last, last_lo_is_entry;
	} *object;
	size_t nobject, cap_object;
	struct tree_info { uint8_t flags; uint32_t object, pid; } *info;	/* by function */
	size_t cap_info;
};

struct tree_code {				/* a code table */
	const struct pm_code *code;
	uint32_t *object;			/* of the table's objects: ours */
	size_t nobject;
	struct pm_map generated;		/* pc -> function */
	uint32_t pid;				/* of the first stream that ran it */
	/* the sink's: */
	struct tree_steps {
		uint64_t *word;
		struct tree_span *span;
		size_t n;
	} chain, block;
	struct pm_chains chains;
	uint32_t *insn;				/* tree_costs.c: function by instruction */
	size_t ninsn;
};

struct tree_place { uint32_t function; bool entry; };

void tree_functions_init(struct tree_functions *f, struct pm_tree *t);
/* Whose code is instruction @in? *@hi (may be NULL): the answer is the same up to there. */
struct tree_place tree_function_of(struct tree_functions *f, struct pm_tree *t,
				   struct tree_code *c, const struct pm_insn *in, uint64_t *hi);
/* The function of generated code that begins at @pc. */
uint32_t tree_generated(struct tree_functions *f, struct pm_tree *t, struct tree_code *c,
			uint64_t pc);
/* Of [lo, hi) in the file @path; the caller free()s *@v. */
size_t tree_functions_rows(struct tree_functions *f, struct pm_tree *t, const char *path,
			   uint64_t lo, uint64_t hi, struct pm_growing_row **v);
uint32_t tree_named(struct tree_functions *f, struct pm_tree *t, const char *name, uint8_t flags);
/* @raw with names, if @lines with source lines, and the names of generated code; what has none is
 * one function of its object. @recursion: as pm_tree_rename(). */
void tree_functions_name(struct tree_functions *f, struct pm_tree *raw, bool lines,
			 bool recursion, struct pm_tree *to);
void tree_functions_release(struct tree_functions *f);

/* ---- stacks ---------------------------------------------------------------------------------- */
enum tree_end {				/* how what executed last ended */
	TREE_GOES_ON,			/* with the next instruction, or a direct jump */
	TREE_JUMPS,			/* indirectly */
	TREE_CALLS, TREE_RETURNS, TREE_SIGNALS,
};

struct tree_frame {			/* a call that has not returned */
	uint64_t ret;			/* where its caller waits */
	uint32_t first, node;		/* the function called; where control is, or was when it
					 * called another: below first */
	uint32_t function;		/* node's, or TREE_GENERATED */
};

struct tree_thread {
	struct tree_code *code;		/* NULL: nothing has executed */
	struct tree_frame *frame;	/* the last one's node and function stand below */
	size_t depth, cap;
	uint32_t node, function;	/* where control is; function 0: nowhere yet */
	uint32_t root;
	uint8_t end;			/* enum tree_end */
	uint64_t next;			/* calls, signals: where control is awaited */
	struct tree_signal { size_t depth; uint64_t next; uint8_t end; } *signal;
	size_t nsignal, cap_signal;	/* frames of handlers, and what they interrupted */
	struct tree_landing { size_t depth; uint64_t pc; } *landing;
	size_t nlanding, cap_landing;	/* frames whose function called setjmp() */
};

struct tree_sink {
	struct pm_tree raw, tree;	/* tree: with names, once finished */
	struct tree_functions functions;
	struct tree_code **code;
	size_t ncode, cap_code;
	struct tree_thread *thread;	/* by stream */
	size_t nthread;
	pthread_mutex_t lock;		/* trees that have grown elsewhere come from another
					 * thread: tree_grown.c */
	struct pm_map made;		/* pid -> struct tree_code *, of their generated code */
	uint64_t top;
	bool by_thread, lines, recursion;
	uint32_t max_depth, max_nodes;
	struct tree_meter *meter;	/* tree_costs.c */
	size_t nmeter, cap_meter;
	struct pm_names *names;		/* tree_costs.c: of what has no code table */
	struct { uint32_t node; bool any; uint64_t *late; } last;
};

/* Control has come to @pc, in function @to; everything about @t is up to date before and after. */
void tree_arrive(struct tree_sink *s, struct tree_thread *t, uint64_t pc, struct tree_place to);
void tree_signal(struct tree_thread *t, uint64_t pc);
void tree_sigreturn(struct tree_thread *t, uint64_t pc);
/* Is there something to be forgotten when only the outermost @depth frames are left? */
static inline bool tree_remembers(const struct tree_thread *t, size_t depth)
{
	return (t->nlanding && t->landing[t->nlanding - 1].depth >= depth) ||
	       (t->nsignal && t->signal[t->nsignal - 1].depth >= depth);
}
void tree_begin_anew(struct tree_thread *t);		/* exec, or the thread's end */
void tree_push(struct tree_sink *s, struct tree_thread *t, uint64_t pc, uint32_t function);

/* ---- the sink -------------------------------------------------------------------------------- */
struct tree_code *tree_code_of(struct tree_sink *s, const struct pm_batch *b);
/* What contexts of @stream stand below. */
uint32_t tree_root_of(struct tree_sink *s, const struct pm_stream *stream);
struct tree_thread *tree_thread_of(struct tree_sink *s, const struct pm_batch *b);
/* Events that are no instructions. */
void tree_other_event(struct tree_thread *t, const struct pm_event *ev);
struct tree_sink *tree_sink_new(const char *config, struct pm_err *err);
enum pm_status tree_sink_finish(struct tree_sink *s, struct pm_result *r);
void tree_sink_free(struct tree_sink *s);
void tree_grown_release(struct tree_sink *s);

#endif
