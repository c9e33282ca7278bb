/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_cat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/qemu/qemu_log.h"

/* ---- files ----------------------------------------------------------------------------------- */

struct mapped { const uint8_t *p; size_t n; };

static enum pm_status map_fd(int fd, struct mapped *m, struct pm_err *err)
{
	struct stat st;
	void *p;

	*m = (struct mapped){ NULL, 0 };
	if (fstat(fd, &st))
		return pm_fail_errno(err, "cannot look at it");
	if (!st.st_size)
		return PM_OK;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map it");
	*m = (struct mapped){ p, (size_t)st.st_size };
	return PM_OK;
}

static void unmap(const struct mapped *m)
{
	if (m->n)
		munmap((void *)(uintptr_t)m->p, m->n);
}

static enum pm_status map_file(const char *path, struct mapped *m, struct pm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum pm_status st;

	err->file = path;
	if (fd < 0)
		return pm_fail_errno(err, "cannot open it");
	st = map_fd(fd, m, err);
	close(fd);
	return st;
}

/* All of @path as part @tag; NULL: there is none. */
static enum pm_status put_file(struct catx_writer *w, enum catx_tag tag, const char *path,
			       struct pm_err *err)
{
	const char *file = err->file;
	struct mapped m;
	enum pm_status st;

	if (!path)
		return PM_OK;
	st = map_file(path, &m, err);
	if (st == PM_OK) {
		err->file = file;
		st = catx_put(w, tag, m.p, m.n, err);
		unmap(&m);
	}
	return st;
}

/* Size and sum of a disk image, as one word: "BYTES-SUM". */
static enum pm_status identity(const char *path, char *to, size_t size, struct pm_err *err)
{
	uint64_t h = 0, v;
	struct mapped m;

	if (map_file(path, &m, err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; i < m.n; i += 8) {
		v = 0;
		memcpy(&v, m.p + i, m.n - i < 8 ? m.n - i : 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	snprintf(to, size, "%zu-%016" PRIx64, m.n, h);
	unmap(&m);
	return PM_OK;
}

/* ---- recording ------------------------------------------------------------------------------- */

static enum pm_status put_conf(struct catx_writer *w, const struct qemu_config *c,
			       const struct guest_cat_bus *bus, struct pm_err *err)
{
	char disk[64], size[24], *version = qemu_version(c, err);
	struct pm_buf conf = { 0 };
	enum pm_status st = PM_OK;

	if (!version)
		return PM_ERR;
	snprintf(size, sizeof size, "%" PRIu64, c->ram_size);
	catx_add(&conf, "guest", c->guest);
	catx_add(&conf, "version", version);
	catx_add(&conf, "qemu", c->qemu);
	catx_add(&conf, "kernel", c->kernel);
	catx_add(&conf, "initrd", c->initrd);
	catx_add(&conf, "append", c->append);
	catx_add(&conf, "cpu", c->cpu);
	catx_add(&conf, "ram", c->ram);
	catx_add(&conf, "ram-size", size);
	catx_add(&conf, "began", c->began);
	catx_add(&conf, "caches", bus->caches);
	catx_add(&conf, "locks", bus->locks ? "yes" : NULL);
	if (c->disk) {
		st = identity(c->disk, disk, sizeof disk, err);
		catx_add(&conf, "disk", c->disk);
		catx_add(&conf, "disk-is", disk);
		catx_add(&conf, "read-only", c->read_only ? "yes" : NULL);
	}
	if (st == PM_OK)
		st = catx_put(w, CATX_CONF, conf.p, conf.n, err);
	pm_buf_release(&conf);
	free(version);
	return st;
}

enum pm_status guest_cat_record(struct catx_writer *w, struct qemu_config *cfg,
				const struct guest_cat_bus *bus, struct pm_err *err)
{
	const time_t now = time(NULL);
	struct tm tm;

	strftime(cfg->began, sizeof cfg->began, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	cfg->log = QEMU_RECORD;
	cfg->physical = cfg->memory = true;
	cfg->log_fd = qemu_file(err);
	if (cfg->log_fd < 0 || put_conf(w, cfg, bus, err) != PM_OK ||
	    put_file(w, CATX_KERN, cfg->kernel, err) != PM_OK)
		return PM_ERR;
	return put_file(w, CATX_INIT, cfg->initrd, err);
}

enum pm_status guest_cat_log(struct catx_writer *w, const struct qemu_config *cfg,
			     struct pm_err *err)
{
	struct replay_log_totals t;
	struct mapped m;
	enum pm_status st = map_fd(cfg->log_fd, &m, err);

	if (st != PM_OK)
		return st;
	st = replay_log_check(m.p, m.n, &t, NULL, NULL, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_LOG, m.p, m.n, err);
	unmap(&m);
	return st;
}

/* ---- replaying ------------------------------------------------------------------------------- */

/* A file without a name that holds @b. */
static int file_of(const struct pm_buf *b, struct pm_err *err)
{
	int fd = qemu_file(err);
	size_t done = 0;

	while (fd >= 0 && done < b->n) {
		ssize_t k = write(fd, b->p + done, b->n - done);

		if (k <= 0) {
			pm_fail_errno(err, "cannot unpack it");
			close(fd);
			return -1;
		}
		done += (size_t)k;
	}
	return fd;
}

static enum pm_status check_disk(const struct catx *x, struct qemu_config *cfg, struct pm_err *err)
{
	const char *want = catx_value(x, "disk-is"), *file = err->file;
	char have[64];

	if (!want && cfg->disk)
		return pm_fail_request(err, "--disk: the guest had none");
	if (!want)
		return PM_OK;
	if (!cfg->disk)
		cfg->disk = catx_value(x, "disk");
	if (!cfg->disk)
		return pm_fail_file(err, "it does not say which disk image it had");
	if (identity(cfg->disk, have, sizeof have, err) != PM_OK)
		return PM_ERR;
	if (strcmp(have, want))
		return pm_fail_file(err, "it is not the disk image of the trace: size and sum are "
				    "%s, there %s", have, want);
	err->file = file;
	return PM_OK;
}

enum pm_status guest_cat_replay(const struct catx *x, struct qemu_config *cfg,
				struct guest_cat_bus *bus, struct pm_err *err)
{
	const char *size = catx_value(x, "ram-size"), *began = catx_value(x, "began");
	struct pm_buf log = { 0 };

	cfg->kernel_fd = cfg->initrd_fd = cfg->log_fd = -1;
	cfg->guest = catx_value(x, "guest");
	cfg->version = catx_value(x, "version");
	if (!cfg->qemu)
		cfg->qemu = catx_value(x, "qemu");
	cfg->kernel = catx_value(x, "kernel");
	cfg->initrd = catx_value(x, "initrd");
	cfg->append = catx_value(x, "append");
	cfg->cpu = catx_value(x, "cpu");
	cfg->ram = catx_value(x, "ram");
	snprintf(cfg->began, sizeof cfg->began, "%s", began ? began : "");
	cfg->read_only = catx_value(x, "read-only");
	cfg->ram_size = size ? strtoull(size, NULL, 10) : 0;
	bus->caches = catx_value(x, "caches");
	bus->locks = catx_value(x, "locks");
	if (!cfg->guest || (strcmp(cfg->guest, "x86_64") && strcmp(cfg->guest, "i386")) ||
	    !cfg->version || !cfg->kernel || !began || !bus->caches ||
	    cfg->ram_size < 1 << 20 || cfg->ram_size > QEMU_LOW_RAM || cfg->ram_size % 4096 ||
	    !cfg->initrd != !x->part[CATX_INIT].n)
		return pm_fail_file(err, "what it says of the machine makes no sense");
	if (check_disk(x, cfg, err) != PM_OK)
		return PM_ERR;
	cfg->log = QEMU_REPLAY;
	cfg->memory = true;
	cfg->limit = !cfg->limit || cfg->limit > x->end.instructions ? x->end.instructions
								     : cfg->limit;
	cfg->kernel_fd = file_of(&x->part[CATX_KERN], err);
	if (cfg->kernel_fd >= 0 && cfg->initrd)
		cfg->initrd_fd = file_of(&x->part[CATX_INIT], err);
	if (cfg->kernel_fd >= 0 && (!cfg->initrd || cfg->initrd_fd >= 0) &&
	    replay_log_mend(x->log.p, x->log.n, &log, err) == PM_OK)
		cfg->log_fd = file_of(&log, err);
	pm_buf_release(&log);
	return cfg->log_fd >= 0 ? PM_OK : PM_ERR;
}

void guest_cat_release(struct qemu_config *cfg)
{
	const int fd[] = { cfg->kernel_fd, cfg->initrd_fd, cfg->log_fd };

	for (unsigned i = 0; i < NR(fd); i++)
		if (fd[i] >= 0)
			close(fd[i]);
	cfg->kernel_fd = cfg->initrd_fd = cfg->log_fd = -1;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* HOT */
static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct guest_cat_sink *s = self;
	enum pm_status st = PM_OK;

	for (size_t i = 0; i < b->n && st == PM_OK; i++) {
		const struct pm_event *e = &b->ev[i];

		if (e->kind != PM_EV_BUS)
			continue;
		st = s->to ? catx_put_bus(s->to, e, &b->bus[e->id], err)
			   : catx_compare(s->with, e, &b->bus[e->id], err);
		s->compared++;
	}
	if (st != PM_OK && !err->file)
		err->file = s->path;
	return st;
}

const struct pm_sink_ops guest_cat_sink_ops = {
	.abi = PM_ABI, .needs = PM_HAS_BUS | PM_HAS_TIME, .name = "cat",
	.about = "an x86 guest's .cat", .consume = consume,
};
