/* SPDX-License-Identifier: MIT */
/* standalone.h - what the parts of the runtime of self-tracing executables share
 *
 * What the controller does for a traced process is done here, from the tables that the executable
 * carries (image.h). There is no controller: rt_ask() answers in place. Counters live in shared
 * memory, of 64-bit programs one for all processes; thread blocks are handed out from it, and the
 * files are written when a process ends. Each part may use those above it:
 *
 *   state.c stop.c file_names.c    messages, names of files
 *   translator.c       code that was not known ahead of time
 *   texts.c            what stands where
 *   trace_files.c drain.c stopped_blocks.c    traces
 *   lookup.c text_places.c    where control goes on; texts that come and go
 *   count_files.c thread_blocks.c ending.c    counts, threads, the end of a process
 *   answers.c boot.c */
#ifndef PM_RUNTIME_STANDALONE_H
#define PM_RUNTIME_STANDALONE_H

#include "image.h"
#include "rt.h"

#pragma GCC visibility push(hidden)

#define O_CLOEXEC 02000000
#define O_WRONLY_CREAT_TRUNC (01101 | O_LARGEFILE)
/* SHORT_INODE, which means nothing on Linux: an instrumented program exec'd us */
#define EXECED 0x1000000u
#define SMALL (16u << 20)		/* what is smaller is read ahead */

/* ---- state.c --------------------------------------------------------------------------------- */
#define MAX_TEXTS 300			/* of the manifest */
extern u8 rt_live[MAX_TEXTS];		/* text is mapped and translated */
/* pid of the process that began with the program: its files have no number */
extern u32 rt_root;

/* ---- stop.c ---------------------------------------------------------------------------------- */
u64 rt_length(const char *s);
void rt_print(const char *s);
extern void (*rt_place_is_taken)(void);	/* a mapping failed: what can be done before all ends */
void rt_stop_at(u64 pc);		/* control reaches what cannot be translated: end */

/* ---- file_names.c ---------------------------------------------------------------------------- */
void rt_names_find(const char *path);	/* which the kernel was given, should /proc not say */
/* @to, of 4300 bytes: the file of process or thread @id; or that of BENCH.idt.d
 * which has that name. */
void rt_output_name(char *to, const char *suffix, u32 id);
void rt_name_library(char *to, const char *key);
/* A descriptor to write to file @name of those. Where everybody may put a symbolic link next to the
 * program, and from a program that has more rights than its starter, output does not
 * go where one says. */
long rt_open_output(const char *name, u64 flags);

/* ---- texts.c --------------------------------------------------------------------------------- */
struct img_place {			/* an entry of a block's map */
	const uint8_t *p, *end;
	u32 code;
	uint8_t insn, flags, tmp;
};

static inline const struct img_block *rt_blocks(u32 text)
{
	return TABLE(text, block);
}

u32 rt_text_of(u64 pc);			/* NO_TEXT: none */
u32 rt_text_of_code(u64 code);
const uint8_t *rt_lengths(u32 text, const struct img_block *b);	/* of its instructions */
/* The first block whose pc is at or above @off. */
u32 rt_first_block(u32 text, u32 off);
/* Which block, and which place of its map, is at @code? */
int rt_state_at(u64 code, u32 *text, u32 *block, struct img_place *at);
/* The place of block @k where it can be entered before instruction @n with the
 * program's state; 0: none. */
int rt_place_before(u32 text, u32 k, u32 n, struct img_place *at);
/* The block whose record block @k continues, IMG_NO_BLOCK: none; what rt_stop.word is of
 * block @k, 0: of none. */
u32 rt_prev_block(u32 text, u32 k);
u32 rt_block_word(u32 text, u32 k);

/* ---- trace_files.c --------------------------------------------------------------------------- */
void rt_open_fifo(void);
/* A thread begins: its file is there from then on, empty, and if it cannot be, this is where that
 * shows. *@opened: how often it has been opened. */
void rt_trace_file_begin(struct rt_block *b, u32 *opened);
int rt_image_open_trace(struct rt_block *b, u32 *opened);
void rt_image_close_trace(int fd);
void rt_image_trace_failed(struct rt_block *b);

/* ---- drain.c --------------------------------------------------------------------------------- */
void rt_trace_begin(struct rt_block *b);

/* ---- lookup.c -------------------------------------------------------------------------------- */
/* The code to go on with at @pc; @jumped: by an indirect transfer, not to go on where a signal has
 * stopped. 0: the program may not execute that. */
u64 rt_lookup(struct rt_block *b, u64 pc, int jumped);
/* What no text knows (@known 0), or only the middle of a block of. 0: the text is known now. */
u64 rt_ask_translator(struct rt_block *b, u64 pc, u32 known, u64 *to);
int rt_may_execute(u64 pc);		/* Would the program execute what is at @pc? */
void rt_note_stopped(const struct rt_block *b, u64 pc, u32 text, u32 block, u32 insn);
void rt_shadow_fill(u32 text, u64 from, u64 to);	/* offsets in the text */
void rt_shadow_fill_at(u64 pc);

/* ---- text_places.c --------------------------------------------------------------------------- */
void rt_text_attach(u32 text, long fd);
void rt_library_text(u32 text);		/* it has come to its place */
void rt_populate_counters(struct rt_block *b, u32 text);
void rt_keep_places(void);		/* ... of libraries, free until they come */
void rt_file_opened(u32 file, long fd);	/* is it what it was? Then its bytes
					 * need not be looked at */
__attribute__((noreturn)) void rt_file_differs(u32 file);
void rt_mapped(struct rt_block *b, u64 lo, u64 len);
void rt_unmapped(u64 lo, u64 len);

/* ---- thread_blocks.c ------------------------------------------------------------------------- */
#define RT_RESERVED 0xffffffffu		/* for a process that is about to begin */
/* A thread of @pid; or, with RT_RESERVED, a new process's first. 0: there are too many. */
struct rt_block *rt_block_new(u32 pid);

/* ---- count_files.c --------------------------------------------------------------------------- */
void rt_write_counts(u32 pid);
/* ---- wraps.c --------------------------------------------------------------------------------- */
#define RT_RUN (4096 / sizeof(rt_count))	/* counters in a page */
void rt_counts_hold(int on);		/* one at a time looks at counters and writes files */
void rt_counts_forked(void);		/* the process is a copy of another one */
/* 32-bit counters of @pid are watched from now on; or again, if they were; or no more.
 * What they have lost. */
void rt_watch(u32 pid);
void rt_watch_again(u32 pid);
void rt_watch_end(u32 pid);
void rt_add_wraps(u64 *total, uint8_t *any, u32 pid);

/* ---- ending.c -------------------------------------------------------------------------------- */
int rt_is_ending(const struct rt_block *b);
void rt_park(struct rt_block *b);	/* until the process has ended, or goes on after all */
void rt_let_go(const struct rt_block *b);
int rt_has_others(const struct rt_block *b);
void rt_write_all(struct rt_block *b, int others);
void rt_on_exit(struct rt_block *b, int whole);

#pragma GCC visibility pop
#endif
