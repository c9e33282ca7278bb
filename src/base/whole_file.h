/* SPDX-License-Identifier: MIT */
/* whole_file.h - files that are read or written as a whole
 *
 * Errors     PM_ERR, and @err says why; its file is set where the path is given. */
#ifndef PM_BASE_WHOLE_FILE_H
#define PM_BASE_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "pugmark/err.h"

/* What @fd still has, behind what is in @to. */
enum pm_status pm_fd_read(int fd, struct pm_buf *to, struct pm_err *err);
/* All @n bytes. False and errno if that fails. */
bool pm_fd_write(int fd, const void *p, size_t n);

/* All of @path ("-": standard input), behind what is in @to. */
enum pm_status pm_file_read(const char *path, struct pm_buf *to, struct pm_err *err);

/* The first @n bytes of an ordinary file. False: it has fewer, or is none - a FIFO is not opened,
 * for that would take its writer away from whoever reads it. */
bool pm_file_head(const char *path, void *head, size_t n);

/* Write @b to @path ("-": standard output; a FIFO or device: directly; else a temporary file that
 * is renamed when complete). A full disk is an error and leaves nothing behind. */
enum pm_status pm_file_save(const char *path, const struct pm_buf *b, struct pm_err *err);
/* The same in pieces, for what may be gigabytes: @next puts one into @piece, which is empty; none:
 * that was all. */
struct pm_file_pieces { void (*next)(void *ctx, struct pm_buf *piece); void *ctx; };
enum pm_status pm_file_save_pieces(const char *path, const struct pm_file_pieces *p,
				   struct pm_err *err);

/* Are they names of one file that is there? */
bool pm_same_file(const char *a, const char *b);

#endif
