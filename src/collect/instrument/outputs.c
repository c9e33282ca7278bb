/* SPDX-License-Identifier: MIT */
/* outputs.c - the files that are made: what they are called, what may not be in their way, and that
 * all of them come to be, or none */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/instrument/job.h"

char *output_path(struct job *j, const char *suffix)
{
	const char *stem = j->file[0].path;
	char *s = pm_arena_alloc(&j->mem, strlen(stem) + strlen(suffix) + 1);

	return strcat(strcpy(s, stem), suffix);
}

const char *output_table(const struct job *j)
{
	return j->i386 ? ".blk" : ".blk64";
}

enum pm_status check_outputs(struct job *j, struct pm_err *err)
{
	const struct file *f = &j->file[0];
	const char *out[] = { output_path(j, ".idt"), output_path(j, output_table(j)),
			      output_path(j, ".mod") },
		*dir = output_path(j, ".idt.d");
	struct idt_trailer t;
	struct stat st;

	err->file = f->path;
	if (idt_trailer_find(f->p, f->n, &t))
		return pm_fail_file(err, "it is an instrumented program already");
	if (!stat(f->path, &st) && st.st_mode & (S_ISUID | S_ISGID))
		return pm_fail_file(err,
				    "it is setuid or setgid: an instrumented copy would not be");
	for (size_t i = 0; i < NR(out); i++)
		if (!stat(out[i], &st) && S_ISDIR(st.st_mode)) {
			err->file = out[i];
			return pm_fail_file(err, "it is a directory, and would have to be a file");
		}
	if (!stat(dir, &st) && !S_ISDIR(st.st_mode)) {
		err->file = dir;
		return pm_fail_file(err, "it is a file, and would have to be a directory");
	}
	err->file = NULL;
	return PM_OK;
}

enum pm_status output_save(struct output_files *all, const char *path, const struct pm_buf *b,
			   mode_t mode, struct pm_err *err)
{
	struct output *o = &all->v[all->n++];
	struct pm_buf name = { 0 };
	int fd;

	pm_buf_printf(&name, "%s.%d.tmp", path, getpid());
	pm_buf_add(&name, "", 1);
	o->path = pm_strdup(path);
	o->temp = (char *)name.p;
	unlink(o->temp); /* somebody else's, or of a process of that number that was killed */
	fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0) {
		free(o->temp);
		o->temp = NULL;
		err->file = path;
		return pm_fail_errno(err, "cannot write");
	}
	for (size_t done = 0; done < b->n; ) {
		ssize_t n = write(fd, b->p + done, b->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			err->file = path;
			return pm_fail_errno(err, "cannot write");
		}
		done += (size_t)n;
	}
	if (close(fd)) {
		err->file = path;
		return pm_fail_errno(err, "cannot write");
	}
	return PM_OK;
}

enum pm_status outputs_end(struct job *j, struct output_files *all, enum pm_status st,
			   struct pm_err *err)
{
	for (struct output *o = all->v; o < all->v + all->n; o++) {
		if (st == PM_OK && rename(o->temp, o->path)) {
			err->file = pm_arena_strdup(&j->mem, o->path);
			st = pm_fail_errno(err, "cannot write");
		}
		if (st != PM_OK && o->temp)
			unlink(o->temp);
		free(o->path);
		free(o->temp);
	}
	return st;
}
