/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temp.h"
#include "base/whole_file.h"

#define PIECE (1u << 16)

enum pm_status pm_fd_read(int fd, struct pm_buf *to, struct pm_err *err)
{
	ssize_t n;

	do {
		n = read(fd, pm_buf_room(to, PIECE), PIECE);
		to->n += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? pm_fail_errno(err, "cannot read") : PM_OK;
}

bool pm_fd_write(int fd, const void *p, size_t n)
{
	while (n) {
		const ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return false;
		p = (const char *)p + k;
		n -= (size_t)k;
	}
	return true;
}

enum pm_status pm_file_read(const char *path, struct pm_buf *to, struct pm_err *err)
{
	enum pm_status st;
	int fd;

	if (!strcmp(path, "-")) {
		err->file = "standard input";
		return pm_fd_read(STDIN_FILENO, to, err);
	}
	err->file = path;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return pm_fail_errno(err, "cannot open");
	st = pm_fd_read(fd, to, err);
	close(fd);
	return st;
}

bool pm_file_head(const char *path, void *head, size_t n)
{
	struct stat st;
	const int fd = !stat(path, &st) && S_ISREG(st.st_mode) ?
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	const bool has = fd >= 0 && pread(fd, head, n, 0) == (ssize_t)n;

	if (fd >= 0)
		close(fd);
	return has;
}

static bool write_pieces(int fd, const struct pm_file_pieces *p)
{
	struct pm_buf piece = { 0 };
	bool good;

	do {
		piece.n = 0;
		p->next(p->ctx, &piece);
		good = pm_fd_write(fd, piece.p, piece.n);
	} while (good && piece.n);
	pm_buf_release(&piece);
	return good;
}

static enum pm_status save_direct(const char *path, const struct pm_file_pieces *p,
				  struct pm_err *err)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return pm_fail_errno(err, "cannot open");
	if (!write_pieces(fd, p)) {
		pm_fail_errno(err, "cannot write");
		close(fd);
		return PM_ERR;
	}
	return close(fd) ? pm_fail_errno(err, "cannot write") : PM_OK;
}

static enum pm_status save_pieces(const char *path, const struct pm_file_pieces *p,
				  struct pm_err *err)
{
	struct pm_beside b;
	struct stat s;

	if (!err->msg[0])
		err->file = strcmp(path, "-") ? path : "standard output";
	if (!strcmp(path, "-")) {
		if (fflush(stdout) || !write_pieces(STDOUT_FILENO, p))
			return pm_fail_errno(err, "cannot write");
		return PM_OK;
	}
	if (!stat(path, &s) && !S_ISREG(s.st_mode))
		return save_direct(path, p, err);
	if (!pm_beside_open(&b, path))
		return pm_fail_errno(err, "cannot create");
	if (!write_pieces(b.fd, p))
		pm_fail_errno(err, "cannot write");
	else if (!pm_beside_place(&b, b.fd, path))
		pm_fail_errno(err, "cannot name the finished file");
	if (close(b.fd) && !pm_failed(err))
		pm_fail_errno(err, "cannot write");
	pm_beside_release(&b);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

/* What fails later is not in this file. */
enum pm_status pm_file_save_pieces(const char *path, const struct pm_file_pieces *p,
				   struct pm_err *err)
{
	const char *was = err->file;
	const enum pm_status st = save_pieces(path, p, err);

	if (st == PM_OK)
		err->file = was;
	return st;
}

struct whole { const struct pm_buf *text; bool done; };

static void next_of_whole(void *ctx, struct pm_buf *piece)
{
	struct whole *w = ctx;

	if (!w->done)
		pm_buf_add(piece, w->text->p, w->text->n);
	w->done = true;
}

enum pm_status pm_file_save(const char *path, const struct pm_buf *b, struct pm_err *err)
{
	struct whole w = { .text = b };

	return pm_file_save_pieces(path, &(struct pm_file_pieces){ next_of_whole, &w }, err);
}

bool pm_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
