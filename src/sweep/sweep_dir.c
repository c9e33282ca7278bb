/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyse/sims.h"
#include "base/json.h"
#include "base/result.h"
#include "base/temp.h"
#include "sweep/sweep_dir.h"
#include "sweep/sweep_plan.h"

#define KEY_VERSION	"pugmark sweep 1"

char *sweep_dir_file(const struct sweep_dir *d, const char *name)
{
	const size_t n = strlen(d->path) + strlen(name) + 2;
	char *s = pm_alloc(n);

	snprintf(s, n, "%s/%s", d->path, name);
	return s;
}

static bool write_all(int fd, const void *from, size_t n)
{
	const char *p = from;

	while (n) {
		ssize_t k = write(fd, p, n);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static enum pm_status make_folder(const char *path, struct pm_err *err)
{
	if (!mkdir(path, 0777) || errno == EEXIST)
		return PM_OK;
	err->file = path;
	return pm_fail_errno(err, "cannot create");
}

enum pm_status sweep_dir_make(const char *path, const struct sweep_plan *p, struct pm_err *err)
{
	static const char *const folder[] = { "results", "failed", "log" };
	struct sweep_dir d = { .path = (char *)path };
	struct pm_buf text = { 0 };
	enum pm_status s = make_folder(path, err);
	struct pm_beside b;
	char *plan = sweep_dir_file(&d, "plan");

	for (size_t i = 0; i < NR(folder) && !s; i++) {
		char *sub = sweep_dir_file(&d, folder[i]);

		s = make_folder(sub, err);
		if (s)
			err->file = path;
		free(sub);
	}
	if (!s) {
		sweep_plan_text(p, &text);
		err->file = path;
		if (!pm_beside_open(&b, plan))
			s = pm_fail_errno(err, "cannot create the plan");
		else {
			if (!write_all(b.fd, text.p, text.n) || !pm_beside_place(&b, b.fd, plan))
				s = pm_fail_errno(err, "cannot write the plan");
			close(b.fd);
			pm_beside_release(&b);
		}
	}
	pm_buf_release(&text);
	free(plan);
	return s;
}

enum pm_status sweep_dir_open(struct sweep_dir *d, const char *path, struct sweep_plan *p,
			      struct pm_err *err)
{
	char *plan;
	enum pm_status s;

	*d = (struct sweep_dir){ pm_strdup(path), -1, -1, -1 };
	err->file = d->path;
	d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd < 0)
		return pm_fail_errno(err, "cannot open");
	plan = sweep_dir_file(d, "plan");
	if (access(plan, F_OK)) {
		free(plan);
		return pm_fail_file(err, "no sweep: it holds no plan (`pugmark sweep plan` makes "
				    "one)");
	}
	err->file = NULL;
	s = sweep_plan_read(p, plan, err);
	if (s)
		err->file = d->path;
	free(plan);
	return s;
}

void sweep_dir_close(struct sweep_dir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->lock >= 0)
		close(d->lock);
	if (d->log >= 0)
		close(d->log);
	free(d->path);
	*d = (struct sweep_dir){ NULL, -1, -1, -1 };
}

enum pm_status sweep_dir_work(struct sweep_dir *d, struct pm_err *err)
{
	char host[65] = "", name[128];
	struct timespec t;

	gethostname(host, sizeof host - 1);
	clock_gettime(CLOCK_REALTIME, &t);
	snprintf(name, sizeof name, "log/%s-%ld-%lld%09ld", host, (long)getpid(),
		 (long long)t.tv_sec, t.tv_nsec);
	d->log = openat(d->fd, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return sweep_dir_lock(d, err);
}

enum pm_status sweep_dir_lock(struct sweep_dir *d, struct pm_err *err)
{
	if (d->lock >= 0)
		close(d->lock);
	d->lock = openat(d->fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (d->lock >= 0)
		return PM_OK;
	err->file = d->path;
	return pm_fail_errno(err, "cannot create the lock");
}

void sweep_dir_log(const struct sweep_dir *d, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof line - 1, fmt, ap);
	va_end(ap);
	if (d->log < 0 || n < 0)
		return;
	if (n > (int)sizeof line - 2)
		n = sizeof line - 2;
	line[n++] = '\n';
	if (!write_all(d->log, line, (size_t)n))
		errno = 0;		/* what it says is of use, not needed */
}

/* ---- keys ----------------------------------------------------------------------------------- */

enum pm_status sweep_key(const struct sweep_trace_id *id, const struct sweep_region *g,
			 const char *spec, struct pm_buf *canonical, char key[static SWEEP_KEY + 1],
			 struct pm_err *err)
{
	const struct pm_sink_ops *ops = pm_sim_of(spec);
	uint8_t sum[PM_SHA256];
	char head[200], range[48], name[32];
	struct pm_sha256 h;
	int n;

	if (!ops) {
		snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, ":"), spec);
		return pm_fail_request(err, "'%s' is no simulator (`pugmark sim --list` shows "
				       "them)", name);
	}
	if (pm_sim_canonical(spec, canonical, err) != PM_OK)
		return PM_ERR;
	pm_sha256_begin(&h);
	pm_sha256_add(&h, KEY_VERSION, sizeof KEY_VERSION);
	pm_sha256_add(&h, id->sum, sizeof id->sum);
	n = snprintf(head, sizeof head, "%s\n%s %u\n", sweep_region_text(g, range), ops->name,
		     pm_sim_version(ops));
	pm_sha256_add(&h, head, (size_t)n);
	pm_sha256_add(&h, canonical->p, canonical->n);
	pm_sha256_end(&h, sum);
	pm_sha256_hex(sum, SWEEP_KEY / 2, key);
	return PM_OK;
}

static off_t byte_of(const char *key)
{
	char head[16] = "";

	if (!strcmp(key, SWEEP_LAUNCHER))
		return (off_t)1 << 60;	/* behind all keys */
	memcpy(head, key, 15);		/* 60 bits: an off_t is not negative */
	return (off_t)strtoull(head, NULL, 16);
}

bool sweep_lock(const struct sweep_dir *d, const char *key, struct pm_err *err)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte_of(key),
			   .l_len = 1 };

	if (!fcntl(d->lock, F_OFD_SETLK, &l))
		return true;
	if (errno != EAGAIN && errno != EACCES) {
		err->file = d->path;
		pm_fail_errno(err, "cannot lock: the file system of this folder must have locks");
	}
	return false;
}

void sweep_unlock(const struct sweep_dir *d, const char *key)
{
	struct flock l = { .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = byte_of(key),
			   .l_len = 1 };

	fcntl(d->lock, F_OFD_SETLK, &l);
}

/* ---- results -------------------------------------------------------------------------------- */

void sweep_result_name(const char *key, char name[static SWEEP_KEY + 20])
{
	snprintf(name, SWEEP_KEY + 20, "results/%.2s/%s.json", key, key);
}

static void failure_name(const char *key, char name[static SWEEP_KEY + 20])
{
	snprintf(name, SWEEP_KEY + 20, "failed/%s.json", key);
}

static bool is_of(const struct pm_result *r, const char *key)
{
	const char *said = pm_result_find_text(pm_result_root(r), "key");

	return said && !strcmp(said, key);
}

struct pm_result *sweep_result_read(const struct sweep_dir *d, const char *key)
{
	char name[SWEEP_KEY + 20], *path;
	struct pm_err ignored = { 0 };
	struct pm_buf text = { 0 };
	struct pm_result *r = NULL;
	struct stat st;

	sweep_result_name(key, name);
	if (fstatat(d->fd, name, &st, 0) || !S_ISREG(st.st_mode))
		return NULL;
	path = sweep_dir_file(d, name);
	/* an empty one is what a crash of the whole machine may leave */
	if (pm_json_load(path, &text, &ignored) == PM_OK) {
		r = pm_result_new();
		if (pm_json_read((const char *)text.p, text.n - 1, r, &ignored) != PM_OK ||
		    !is_of(r, key)) {
			pm_result_free(r);
			r = NULL;
		}
	}
	pm_buf_release(&text);
	free(path);
	return r;
}

bool sweep_result_there(const struct sweep_dir *d, const char *key)
{
	struct pm_result *r = sweep_result_read(d, key);

	pm_result_free(r);
	return r != NULL;
}

/* To be written, in the folder @at; @name where it needs one meanwhile, else "". The lock makes
 * that name the caller's own. */
static int begin_file(const struct sweep_dir *d, const char *at, const char *key,
		      char name[static SWEEP_KEY + 20])
{
	int fd = pm_temp_unnamed(d->fd, at, 0666);

	name[0] = 0;
	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		return fd;
	snprintf(name, SWEEP_KEY + 20, "%s/%s.part", at, key);
	return openat(d->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static bool name_file(const struct sweep_dir *d, int fd, const char *part, const char *name)
{
	return *part ? !linkat(d->fd, part, d->fd, name, 0) : pm_temp_link(fd, d->fd, name);
}

enum pm_status sweep_result_put(const struct sweep_dir *d, const char *key, const struct pm_buf *b,
				bool failed, struct pm_err *err)
{
	char name[SWEEP_KEY + 20], part[SWEEP_KEY + 20], also[SWEEP_KEY + 20], at[16];
	bool done;
	int fd;

	sweep_result_name(key, name);
	snprintf(at, sizeof at, "results/%.2s", key);
	err->file = d->path;
	if (mkdirat(d->fd, at, 0777) && errno != EEXIST)
		return pm_fail_errno(err, "cannot create a folder for results");
	fd = begin_file(d, at, key, part);
	if (fd < 0)
		return pm_fail_errno(err, "cannot create a result");
	done = write_all(fd, b->p, b->n);
	failure_name(key, also);
	if (done && !sweep_result_there(d, key)) {	/* one that cannot be read, if any */
		unlinkat(d->fd, name, 0);
		unlinkat(d->fd, also, 0);
	}
	if (done && failed) {			/* two names of one file; that without which it
						 * does not count comes last */
		unlinkat(d->fd, also, 0);
		done = name_file(d, fd, part, also) && !linkat(d->fd, also, d->fd, name, 0);
	} else if (done) {
		done = name_file(d, fd, part, name);
	}
	if (!done && errno == EEXIST)
		sweep_dir_log(d, "twice %s", key);	/* (1) does not hold */
	else if (!done)
		pm_fail_errno(err, "cannot write a result");
	if (*part)
		unlinkat(d->fd, part, 0);
	if (close(fd) && !pm_failed(err) && errno != EEXIST)
		pm_fail_errno(err, "cannot write a result");
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status sweep_failure_remove(const struct sweep_dir *d, const char *key, struct pm_err *err)
{
	char name[SWEEP_KEY + 20];

	/* the name that says that it is one goes last */
	sweep_result_name(key, name);
	err->file = d->path;
	if (unlinkat(d->fd, name, 0) && errno != ENOENT)
		return pm_fail_errno(err, "cannot remove a failure");
	failure_name(key, name);
	if (unlinkat(d->fd, name, 0) && errno != ENOENT)
		return pm_fail_errno(err, "cannot remove a failure");
	return PM_OK;
}
