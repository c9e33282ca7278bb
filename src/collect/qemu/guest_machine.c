/* SPDX-License-Identifier: MIT */
#include "collect/qemu/guest_machine.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/qemu/guest_memory.h"

/* ---- files ----------------------------------------------------------------------------------- */

enum pm_status guest_map(int fd, struct guest_mapped *m, struct pm_err *err)
{
	struct stat st;
	void *p;

	*m = (struct guest_mapped){ NULL, 0 };
	if (fstat(fd, &st))
		return pm_fail_errno(err, "cannot look at it");
	if (!st.st_size)
		return PM_OK;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return pm_fail_errno(err, "cannot map it");
	*m = (struct guest_mapped){ p, (size_t)st.st_size };
	return PM_OK;
}

void guest_unmap(const struct guest_mapped *m)
{
	if (m->n)
		munmap((void *)(uintptr_t)m->p, m->n);
}

static enum pm_status map_file(const char *path, struct guest_mapped *m, struct pm_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	enum pm_status st;

	err->file = path;
	if (fd < 0)
		return pm_fail_errno(err, "cannot open it");
	st = guest_map(fd, m, err);
	close(fd);
	return st;
}

int guest_file(const struct pm_buf *b, uint64_t size, struct pm_err *err)
{
	int fd = qemu_file(err);
	size_t done = 0;

	while (fd >= 0 && done < b->n) {
		ssize_t k = write(fd, b->p + done, b->n - done);

		if (k <= 0)
			break;
		done += (size_t)k;
	}
	if (fd < 0 || (done == b->n && (b->n >= size || !ftruncate(fd, (off_t)size))))
		return fd;
	pm_fail_errno(err, "cannot unpack it");
	close(fd);
	return -1;
}

/* Size and sum of a disk image, as one word: "BYTES-SUM". */
static enum pm_status identity(const char *path, char *to, size_t size, struct pm_err *err)
{
	uint64_t h = 0, v;
	struct guest_mapped m;

	if (map_file(path, &m, err) != PM_OK)
		return PM_ERR;
	for (size_t i = 0; i < m.n; i += 8) {
		v = 0;
		memcpy(&v, m.p + i, m.n - i < 8 ? m.n - i : 8);
		h = (h ^ v) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	snprintf(to, size, "%zu-%016" PRIx64, m.n, h);
	guest_unmap(&m);
	return PM_OK;
}

/* ---- to a file ------------------------------------------------------------------------------- */

/* All of @path as part @tag; NULL: there is none. */
static enum pm_status put_file(struct catx_writer *w, enum catx_tag tag, const char *path,
			       struct pm_err *err)
{
	const char *file = err->file;
	struct guest_mapped m;
	enum pm_status st;

	if (!path)
		return PM_OK;
	st = map_file(path, &m, err);
	if (st == PM_OK) {
		err->file = file;
		st = catx_put(w, tag, m.p, m.n, err);
		guest_unmap(&m);
	}
	return st;
}

/* A Linux kernel tells QEMU by its first sectors what it is, and has been read when it runs: its
 * length is what is left of it. Of other kernels all of it is looked at. */
static size_t kernel_head(const struct guest_mapped *m)
{
	size_t n;

	if (m->n < 8192 || memcmp(m->p + 0x202, "HdrS", 4))
		return m->n;
	n = ((m->p[0x1f1] ? m->p[0x1f1] : 4u) + 1) * 512;
	return n < 8192 ? 8192 : n < m->n ? n : m->n;
}

static enum pm_status put_kernel_head(struct catx_writer *w, const char *path, struct pm_err *err)
{
	const char *file = err->file;
	struct guest_mapped m;
	enum pm_status st = map_file(path, &m, err);

	if (st == PM_OK) {
		err->file = file;
		st = catx_put(w, CATX_KERN, m.p, kernel_head(&m), err);
		guest_unmap(&m);
	}
	return st;
}

static void add_number(struct pm_buf *conf, const char *name, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, v);
	catx_add(conf, name, text);
}

static void add_table(struct pm_buf *conf, const char *name, const struct guest_table *t)
{
	char text[48];

	snprintf(text, sizeof text, "0x%" PRIx64 " %u", t->at, t->bytes);
	catx_add(conf, name, text);
}

/* What a saved machine has besides. */
static enum pm_status add_saved(struct pm_buf *conf, const struct qemu_config *c,
				const struct catx *from, struct pm_err *err)
{
	static const char *const size[2] = { "kernel-size", "initrd-size" };
	const char *path[2] = { c->kernel, c->initrd };
	struct stat st;

	add_table(conf, "idt", &c->state->idt);
	add_table(conf, "gdt", &c->state->gdt);
	for (unsigned i = 0; i < 2; i++) {
		if (from) {
			catx_add(conf, size[i], catx_value(from, size[i]));
		} else if (path[i]) {
			err->file = path[i];
			if (stat(path[i], &st))
				return pm_fail_errno(err, "cannot look at it");
			add_number(conf, size[i], (uint64_t)st.st_size);
		}
	}
	return PM_OK;
}

static enum pm_status put_conf(struct catx_writer *w, const struct qemu_config *c,
			       const struct guest_cat_bus *bus, const struct catx *from,
			       struct pm_err *err)
{
	const char *file = err->file;
	char disk[64], *version = qemu_version(c, err);
	struct pm_buf conf = { 0 };
	enum pm_status st = PM_OK;

	if (!version)
		return PM_ERR;
	catx_add(&conf, "guest", c->guest);
	catx_add(&conf, "version", version);
	catx_add(&conf, "qemu", c->qemu);
	catx_add(&conf, "kernel", c->kernel);
	catx_add(&conf, "initrd", c->initrd);
	catx_add(&conf, "append", c->append);
	catx_add(&conf, "cpu", c->cpu);
	catx_add(&conf, "ram", c->ram);
	add_number(&conf, "ram-size", c->ram_size);
	catx_add(&conf, "began", c->began);
	if (bus) {
		catx_add(&conf, "caches", bus->caches);
		catx_add(&conf, "locks", bus->locks ? "yes" : NULL);
	}
	if (c->disk) {
		st = identity(c->disk, disk, sizeof disk, err);
		catx_add(&conf, "disk", c->disk);
		catx_add(&conf, "disk-is", disk);
		catx_add(&conf, "read-only", c->read_only ? "yes" : NULL);
	}
	if (st == PM_OK && c->state)
		st = add_saved(&conf, c, from, err);
	if (st == PM_OK) {
		err->file = file;
		st = catx_put(w, CATX_CONF, conf.p, conf.n, err);
	}
	pm_buf_release(&conf);
	free(version);
	return st;
}

enum pm_status guest_machine_put(struct catx_writer *w, const struct qemu_config *cfg,
				 const struct guest_cat_bus *bus, const struct catx *from,
				 struct pm_err *err)
{
	if (put_conf(w, cfg, bus, from, err) != PM_OK)
		return PM_ERR;
	if (from)
		return catx_put(w, CATX_KERN, from->part[CATX_KERN].p, from->part[CATX_KERN].n,
				err);
	if (cfg->state)
		return put_kernel_head(w, cfg->kernel, err);
	if (put_file(w, CATX_KERN, cfg->kernel, err) != PM_OK)
		return PM_ERR;
	return put_file(w, CATX_INIT, cfg->initrd, err);
}

/* ---- from a file ----------------------------------------------------------------------------- */

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
		return pm_fail_file(err, "it is not the disk image that the guest had: size and "
				    "sum are %s, then %s", have, want);
	err->file = file;
	return PM_OK;
}

static uint64_t number_of(const struct catx *x, const char *name)
{
	const char *text = catx_value(x, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool table_of(const struct catx *x, const char *name, struct guest_table *t)
{
	const char *text = catx_value(x, name);

	return text && sscanf(text, "0x%" SCNx64 " %" SCNu32, &t->at, &t->bytes) == 2 && t->bytes;
}

static enum pm_status open_memory(struct qemu_config *cfg, struct pm_err *err)
{
	struct qemu_state *s = cfg->state;

	s->memory_fd = memfd_create("pugmark-memory", MFD_CLOEXEC);
	if (s->memory_fd < 0 || ftruncate(s->memory_fd, (off_t)cfg->ram_size))
		return pm_fail_errno(err, "cannot make a memory file");
	return PM_OK;
}

/* Of a machine that was saved. */
static enum pm_status state_of(const struct catx *x, struct qemu_config *cfg, struct pm_err *err)
{
	struct qemu_state *s = cfg->state;
	const uint64_t kernel = number_of(x, "kernel-size"), initrd = number_of(x, "initrd-size");

	if (!table_of(x, "idt", &s->idt) || !table_of(x, "gdt", &s->gdt) || kernel > CATX_MAX ||
	    kernel < x->part[CATX_KERN].n || initrd > CATX_MAX || !initrd != !cfg->initrd)
		return pm_fail_file(err, "what it says of the machine makes no sense");
	if (guest_memory_check(&x->memory, cfg->ram_size, err) != PM_OK)
		return PM_ERR;
	s->memory = &x->memory;
	s->image_fd = guest_file(&x->state, 0, err);
	if (s->image_fd < 0 || open_memory(cfg, err) != PM_OK)
		return PM_ERR;
	cfg->kernel_fd = guest_file(&x->part[CATX_KERN], kernel, err);
	if (cfg->kernel_fd >= 0 && initrd)
		cfg->initrd_fd = guest_file(&(struct pm_buf){ 0 }, initrd, err);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static enum pm_status kernel_of(const struct catx *x, struct qemu_config *cfg, struct pm_err *err)
{
	cfg->state = NULL;
	if (!cfg->initrd != !x->part[CATX_INIT].n)
		return pm_fail_file(err, "what it says of the machine makes no sense");
	cfg->kernel_fd = guest_file(&x->part[CATX_KERN], 0, err);
	if (cfg->kernel_fd >= 0 && cfg->initrd)
		cfg->initrd_fd = guest_file(&x->part[CATX_INIT], 0, err);
	return pm_failed(err) ? PM_ERR : PM_OK;
}

enum pm_status guest_machine_of(const struct catx *x, struct qemu_config *cfg,
				struct guest_cat_bus *bus, struct pm_err *err)
{
	const char *began = catx_value(x, "began");

	cfg->kernel_fd = cfg->initrd_fd = cfg->log_fd = -1;
	cfg->state->image_fd = cfg->state->memory_fd = cfg->state->touched_fd = -1;
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
	cfg->ram_size = number_of(x, "ram-size");
	bus->caches = catx_value(x, "caches");
	bus->locks = catx_value(x, "locks");
	if (!cfg->guest || (strcmp(cfg->guest, "x86_64") && strcmp(cfg->guest, "i386")) ||
	    !cfg->version || !cfg->kernel || !began || (!bus->caches && x->kind != CATX_SAVED) ||
	    cfg->ram_size < 1 << 20 || cfg->ram_size > QEMU_LOW_RAM || cfg->ram_size % 4096)
		return pm_fail_file(err, "what it says of the machine makes no sense");
	if (check_disk(x, cfg, err) != PM_OK)
		return PM_ERR;
	cfg->memory = true;
	return x->state.n ? state_of(x, cfg, err) : kernel_of(x, cfg, err);
}

void guest_machine_release(struct qemu_config *cfg)
{
	struct qemu_state *s = cfg->state;
	int *fd[] = { &cfg->kernel_fd, &cfg->initrd_fd, &cfg->log_fd,
		      s ? &s->image_fd : NULL, s ? &s->memory_fd : NULL,
		      s ? &s->touched_fd : NULL };

	for (unsigned i = 0; i < NR(fd); i++) {
		if (!fd[i])
			continue;
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
}

/* ---- recorded and saved ---------------------------------------------------------------------- */

enum pm_status guest_machine_record(struct qemu_config *cfg, struct pm_err *err)
{
	const time_t now = time(NULL);
	struct tm tm;

	/* one that was saved began when it was turned on */
	if (!*cfg->began)
		strftime(cfg->began, sizeof cfg->began, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now, &tm));
	cfg->log = QEMU_RECORD;
	cfg->memory = true;
	if (cfg->log_fd < 0)
		cfg->log_fd = qemu_file(err);
	return cfg->log_fd >= 0 ? PM_OK : PM_ERR;
}

enum pm_status guest_state_begin(struct qemu_config *cfg, struct pm_err *err)
{
	struct qemu_state *s = cfg->state;

	if (open_memory(cfg, err) != PM_OK)
		return PM_ERR;
	s->image_fd = qemu_file(err);
	if (s->image_fd < 0 || qemu_state_image(s->image_fd, err) != PM_OK)
		return PM_ERR;
	return guest_machine_record(cfg, err);
}

static enum pm_status put_image(struct catx_writer *w, const struct qemu_state *s,
				struct pm_err *err)
{
	struct guest_mapped m;
	enum pm_status st = guest_map(s->image_fd, &m, err);

	if (st == PM_OK)
		st = catx_put(w, CATX_STATE, m.p, m.n, err);
	guest_unmap(&m);
	return st;
}

enum pm_status guest_state_put(struct catx_writer *w, const struct qemu_config *cfg,
			       const struct catx *from, struct pm_err *err)
{
	const struct qemu_state *s = cfg->state;
	struct pm_buf kept = { 0 };
	struct guest_mapped touched;
	enum pm_status st = put_image(w, s, err);

	if (st == PM_OK)
		st = guest_map(s->touched_fd, &touched, err);
	if (st != PM_OK)
		return st;
	if (touched.n) {
		st = guest_memory_keep(&from->memory, touched.p, touched.n, &kept, err);
		if (st == PM_OK)
			st = catx_put(w, CATX_MEMORY, kept.p, kept.n, err);
	} else {		/* not known: all of it */
		st = catx_put(w, CATX_MEMORY, from->memory.p, from->memory.n, err);
	}
	guest_unmap(&touched);
	pm_buf_release(&kept);
	return st;
}

enum pm_status guest_save(const char *path, const struct qemu_config *cfg, const struct catx *from,
			  uint64_t instructions, struct pm_err *err)
{
	struct catx_end end = { .instructions = instructions, .how = CATX_LIMIT };
	struct pm_buf memory = { 0 };
	struct catx_writer *w;
	enum pm_status st;

	err->file = path;
	w = catx_create(path, CATX_SAVED, err);
	st = w ? guest_machine_put(w, cfg, NULL, from, err) : PM_ERR;
	if (st == PM_OK)
		st = put_image(w, cfg->state, err);
	if (st == PM_OK)
		st = guest_memory_pack(cfg->state->memory_fd, cfg->ram_size, &memory, err);
	if (st == PM_OK)
		st = catx_put(w, CATX_MEMORY, memory.p, memory.n, err);
	if (st == PM_OK)
		st = catx_finish(w, &end, err);
	pm_buf_release(&memory);
	catx_close(w);
	return st;
}
