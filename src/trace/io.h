/* SPDX-License-Identifier: MIT */
/* io.h - bytes in and out: files, pipes, gzip, zstd, xz, bzip2, told apart by content on the way in
 * and by the name's suffix on the way out; of zip archives and Snappy frames only in
 *
 * Ownership  pm_input_open()/pm_input_close(), pm_output_open()/pm_output_close().
 * Errors     a write error (full disk, closed pipe) is reported by the call that notices it or by
 *            pm_output_finish(); a file is written under a temporary name and renamed by
 *            pm_output_finish(), so an unfinished one never takes its place. A FIFO, a device and
 *            "-" are written directly. */
#ifndef PM_TRACE_IO_H
#define PM_TRACE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pm_input;
struct pm_input *pm_input_open(const char *path, struct pm_err *err);
/* Read from memory that the caller keeps (tests, fuzzers). */
struct pm_input *pm_input_memory(const void *p, size_t n, const char *name);
/* Borrow at least @want bytes at the current position, fewer only at the end; *got tells. They stay
 * valid until the next call. NULL and err on a read or decompression error. */
const uint8_t *pm_input_peek(struct pm_input *in, size_t want, size_t *got, struct pm_err *err);
void pm_input_skip(struct pm_input *in, size_t n);	/* n <= what peek gave */
/* Skip @n bytes that nobody needs to look at, which costs nothing in a plain file. Returns how many
 * there were: fewer at the end, or on an error (@err). */
size_t pm_input_pass(struct pm_input *in, size_t n, struct pm_err *err);
double pm_input_part(const struct pm_input *in); /* of the file read so far, 0..1; 0: not known */
uint64_t pm_input_offset(const struct pm_input *in);	/* in the unpacked stream */
/* Whole-file random access: only for plain files; NULL otherwise. */
const uint8_t *pm_input_map(struct pm_input *in, size_t *size);
const char *pm_input_name(const struct pm_input *in);
/* Did reading or unpacking fail? Then *@err says how; data before the damage was delivered. */
bool pm_input_failed(const struct pm_input *in, struct pm_err *err);
void pm_input_close(struct pm_input *in);

struct pm_output;
struct pm_output *pm_output_open(const char *path, struct pm_err *err);
/* To a file that is open, called @name; @fd is dup()ed. */
struct pm_output *pm_output_to(int fd, const char *name, struct pm_err *err);
struct pm_output *pm_output_memory(void);
enum pm_status pm_output_write(struct pm_output *o, const void *p, size_t n, struct pm_err *err);
/* Room for @n bytes to be filled in place, then pm_output_commit(): no copy for hot writers. */
uint8_t *pm_output_reserve(struct pm_output *o, size_t n, struct pm_err *err);
enum pm_status pm_output_commit(struct pm_output *o, size_t n, struct pm_err *err);
uint64_t pm_output_offset(const struct pm_output *o);
enum pm_status pm_output_finish(struct pm_output *o, struct pm_err *err);
const uint8_t *pm_output_bytes(const struct pm_output *o, size_t *n);	/* memory outputs */
/* The part that is written is worth something by itself: it gets its name now, not at the end. */
enum pm_status pm_output_keep(struct pm_output *o, struct pm_err *err);
/* Hand everything that was written so far to the operating system. */
enum pm_status pm_output_flush(struct pm_output *o, struct pm_err *err);
const char *pm_output_name(const struct pm_output *o);
void pm_output_close(struct pm_output *o);	/* unfinished: the temporary file is removed */

#endif
