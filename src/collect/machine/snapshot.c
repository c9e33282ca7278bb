/* SPDX-License-Identifier: MIT */
/* snapshot.c - the whole machine in one file
 *
 *   OFFSET SIZE  FIELD
 *        0   64  the header of trace/cat.h, magic "PMSNAP2"
 *       64       items: u8 length of name, name, u32 bytes (little-endian), bytes
 *   end - 8    8  FNV-1a hash of everything before it, little-endian
 * Items: every row of cpu_fields[], "sdata" "sptag" "sflags" with a secondary cache, every row of
 * board_fields[], "image" (u64 sectors of the disk image, 0: none, u64 machine_disk_sum()), "stop"
 * (u32, only of a machine that is off or was reset), then "page" (u32 number, 4096 bytes) for each
 * page of RAM that is not zero, "sector" (u64 number, 512 bytes) for each that the guest wrote,
 * "end". Bytes are the host's own layout: a snapshot goes on where it was made, and says so if the
 * layout differs. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cur.h"
#include "collect/machine/machine.h"
#include "trace/cat.h"
#include "trace/io.h"

#define MAGIC	"PMSNAP2"
#define B(m)	{ #m, offsetof(struct machine, m), sizeof ((struct machine *)0)->m, 1, "" }

static const struct cpu_field board_fields[] = {
	B(uart), B(timer_up), B(virtio.dev_sel), B(virtio.drv_sel), B(virtio.queue_sel),
	B(virtio.status), B(virtio.isr), B(virtio.features), B(virtio.q), B(virtio.done_at),
	B(virtio.broken), { 0 }
};

struct snapshot_out {
	struct pm_output *o;
	uint64_t hash;
	struct pm_err *err;
};

static void w(struct snapshot_out *o, const void *p, size_t n)
{
	const uint8_t *q = p;

	if (pm_failed(o->err))
		return;
	for (size_t i = 0; i < n; i++)
		o->hash = (o->hash ^ q[i]) * 0x100000001b3ULL;
	pm_output_write(o->o, p, n, o->err);
}

static void item(struct snapshot_out *o, const char *name, const void *a, size_t na, const void *b,
		 size_t nb)
{
	uint8_t len = (uint8_t)strlen(name);
	uint32_t n = htole32((uint32_t)(na + nb));

	w(o, &len, 1);
	w(o, name, len);
	w(o, &n, 4);
	w(o, a, na);
	w(o, b, nb);
}

static struct cat_header header_of(const struct machine *m)
{
	const struct cpu_config *g = &m->cpu->cfg;

	return (struct cat_header){
		.big_endian = g->big_endian, .r2 = g->r2, .uncached = g->uncached,
		.ram_size = m->ram_size, .iline = g->iline,
		.dline = g->dline, .scache = g->scache, .sline = g->sline, .tlb = CPU_TLB,
	};
}

enum pm_status machine_save(struct machine *m, const char *path, struct pm_err *err)
{
	static const uint8_t zero[4096];
	struct cat_header h = header_of(m);
	struct cpu *c = m->cpu;
	struct snapshot_out o = { .hash = 0xcbf29ce484222325ULL, .err = err };
	uint8_t head[CAT_HEADER];
	uint64_t sum, image[2] = { htole64(m->virtio.disk.sectors) };
	uint32_t stop = htole32(m->stop);
	enum pm_status st;

	err->file = path;
	if (machine_disk_sum(m, &sum, err) != PM_OK)
		return PM_ERR;
	image[1] = htole64(sum);
	o.o = pm_output_open(path, err);
	if (!o.o)
		return PM_ERR;
	cpu_budget(c, 0);		/* what is left of a budget is not state */
	for (unsigned i = 0; i < CPU_TLB; i++)
		c->tlb[i].used = true;	/* nor is what the tags remember */
	cat_header_put(head, &h, MAGIC);
	w(&o, head, sizeof head);
	for (const struct cpu_field *f = cpu_fields; f->name; f++)
		item(&o, f->name, (char *)c + f->off, f->size * f->n, "", 0);
	if (c->sdata) {
		item(&o, "sdata", c->sdata, (size_t)c->slines << c->sshift, "", 0);
		item(&o, "sptag", c->sptag, c->slines * sizeof *c->sptag, "", 0);
		item(&o, "sflags", c->sflags, c->slines, "", 0);
	}
	for (const struct cpu_field *f = board_fields; f->name; f++)
		item(&o, f->name, (char *)m + f->off, f->size, "", 0);
	item(&o, "image", image, sizeof image, "", 0);
	if (m->stop == POWERED_OFF || m->stop == RESET)
		item(&o, "stop", &stop, sizeof stop, "", 0);
	for (uint32_t page = 0; page < m->ram_size / 4096; page++) {
		uint32_t le = htole32(page);

		if (memcmp(m->ram + (size_t)page * 4096, zero, 4096))
			item(&o, "page", &le, 4, m->ram + (size_t)page * 4096, 4096);
	}
	for (uint64_t s = 0; s < m->virtio.disk.sectors; s++) {
		uint64_t le = htole64(s);

		if (m->virtio.disk.written[s / 8] >> s % 8 & 1)
			item(&o, "sector", &le, 8, m->virtio.disk.map + s * 512, 512);
	}
	item(&o, "end", "", 0, "", 0);
	sum = htole64(o.hash);
	if (!pm_failed(err))
		pm_output_write(o.o, &sum, 8, err);
	st = pm_failed(err) ? PM_ERR : pm_output_finish(o.o, err);
	pm_output_close(o.o);
	return st;
}

/* The header, and whether the bytes behind it are those that were written. */
static enum pm_status check(const uint8_t *p, size_t n, struct cat_header *h, struct pm_err *err)
{
	uint64_t hash = 0xcbf29ce484222325ULL, sum;

	if (cat_header_get(p, n, h, MAGIC, err) != PM_OK)
		return PM_ERR;
	if (n < CAT_HEADER + 8)
		return pm_fail(err, n, "expected a checksum at the end, found the end");
	for (size_t i = 0; i < n - 8; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ULL;
	memcpy(&sum, p + n - 8, 8);
	if (le64toh(sum) != hash)
		return pm_fail(err, n - 8,
			       "the checksum is wrong: the snapshot is damaged or cut off");
	return PM_OK;
}

enum pm_status machine_snapshot_config(const char *path, struct machine_config *cfg,
				       struct pm_err *err)
{
	struct cat_header h;
	struct stat file;
	enum pm_status st;
	uint8_t *p;
	size_t n;

	err->file = path;
	if (!strcmp(path, "-") || (!stat(path, &file) && S_ISFIFO(file.st_mode)))
		return pm_fail_file(err, "a snapshot is read twice: expected a file, found a pipe");
	p = machine_read_file(path, &n, err);
	st = p ? check(p, n, &h, err) : PM_ERR;

	free(p);
	if (st != PM_OK)
		return st;
	cfg->ram_size = h.ram_size;
	cfg->cpu = (struct cpu_config){
		.big_endian = h.big_endian, .r2 = h.r2, .uncached = h.uncached, .iline = h.iline,
		.dline = h.dline,
		.scache = h.scache, .sline = h.sline,
	};
	return PM_OK;
}

static enum pm_status get_item(struct pm_cur *c, const char *name, void *to, size_t size)
{
	uint64_t at = pm_cur_at(c);
	uint8_t len = pm_cur_u8(c, "an item");
	const uint8_t *s = pm_cur_bytes(c, len, "its name");
	uint32_t n = pm_cur_u32(c, "its size");
	const uint8_t *p;

	if (pm_failed(c->err))
		return PM_ERR;
	if (len != strlen(name) || memcmp(s, name, len))
		return pm_fail(c->err, at, "expected item \"%s\", found \"%.*s\"", name, (int)len,
			       (const char *)s);
	if (n != size)
		return pm_fail(c->err, at,
			       "expected %zu bytes of \"%s\", found %u (another version of "
			       "pugmark?)",
			       size, name, n);
	p = pm_cur_bytes(c, n, name);
	if (!p)
		return PM_ERR;
	memcpy(to, p, n);
	return PM_OK;
}

/* Whatever the bytes were, the machine must be one that cannot harm the host. */
static void sane(struct machine *m)
{
	struct cpu *c = m->cpu;
	struct virtio_queue *q = &m->virtio.q;
	uint8_t *flags[] = {
		(uint8_t *)&c->in_delay, (uint8_t *)&c->llbit, (uint8_t *)&c->waiting,
		(uint8_t *)&m->timer_up, (uint8_t *)&m->virtio.broken, (uint8_t *)&m->uart.ready,
		(uint8_t *)&m->uart.thre_pending,
	};

	for (unsigned i = 0; i < NR(flags); i++)
		*flags[i] &= 1;
	for (unsigned i = 0; i < CPU_GRAINS; i++)
		*(uint8_t *)&c->ddirty[i] &= 1;
	for (unsigned i = 0; i < CPU_TLB; i++) {
		*(uint8_t *)&c->tlb[i].g &= 1;
		c->tlb[i].mask = (c->tlb[i].mask & 0x01ffe000) | 0x1fff;
		*(uint8_t *)&c->tlb[i].used = 1;
	}
	if (q->num > 256 || q->num & (q->num - 1))
		q->num = 0;
	if (!q->num)
		q->ready = 0;
}

static enum pm_status same_image(struct machine *m, const uint8_t *data, uint64_t at,
				 struct pm_err *err)
{
	const struct disk *d = &m->virtio.disk;
	uint64_t want[2], sum;

	memcpy(want, data, sizeof want);
	if (d->sectors != le64toh(want[0])) {
		if (!want[0])
			return pm_fail(err, at, "the snapshot was made without a disk");
		return pm_fail(err, at,
			       "expected the --disk that the snapshot was made with, of %llu "
			       "sectors, found %s",
			       (unsigned long long)le64toh(want[0]),
			       d->map ? "one of another size" : "none");
	}
	if (machine_disk_sum(m, &sum, err) != PM_OK)
		return PM_ERR;
	if (sum != le64toh(want[1]))
		return pm_fail(err, at,
			       "expected the --disk that the snapshot was made with, found another "
			       "image of the same size (checksum %016llx, expected %016llx)",
			       (unsigned long long)sum, (unsigned long long)le64toh(want[1]));
	return PM_OK;
}

/* One of the items behind the tables. *end: it was the last. Snapshots of older versions have no
 * "image" and "stop". */
static enum pm_status get_part(struct machine *m, struct pm_cur *in, bool *end)
{
	uint64_t at = pm_cur_at(in), sector;
	uint8_t len = pm_cur_u8(in, "an item");
	const char *s = (const char *)pm_cur_bytes(in, len, "its name");
	uint32_t size = pm_cur_u32(in, "its size"), number;
	const uint8_t *data = pm_cur_bytes(in, size, "its bytes");

	if (pm_failed(in->err))
		return PM_ERR;
	if (len == 3 && !memcmp(s, "end", 3)) {
		*end = true;
		return PM_OK;
	}
	if (len == 5 && !memcmp(s, "image", 5) && size == 16)
		return same_image(m, data, at, in->err);
	if (len == 4 && !memcmp(s, "stop", 4) && size == 4) {
		memcpy(&number, data, 4);
		m->stop = le32toh(number) == RESET ? RESET : POWERED_OFF;
		return PM_OK;
	}
	if (len == 4 && !memcmp(s, "page", 4) && size == 4100) {
		memcpy(&number, data, 4);
		number = le32toh(number);
		if (number >= m->ram_size / 4096)
			return pm_fail(in->err, at, "page %u lies outside RAM", number);
		memcpy(m->ram + (size_t)number * 4096, data + 4, 4096);
		return PM_OK;
	}
	if (len == 6 && !memcmp(s, "sector", 6) && size == 520) {
		memcpy(&sector, data, 8);
		sector = le64toh(sector);
		if (sector >= m->virtio.disk.sectors)
			return pm_fail(in->err, at,
				       "sector %llu lies outside the disk: give the --disk that "
				       "the snapshot was made with",
				       (unsigned long long)sector);
		memcpy(m->virtio.disk.map + sector * 512, data + 8, 512);
		m->virtio.disk.written[sector / 8] |= (uint8_t)(1u << sector % 8);
		return PM_OK;
	}
	return pm_fail(in->err, at,
		       "expected item \"page\", \"sector\" or \"end\", found \"%.*s\" of %u bytes",
		       (int)len, s, size);
}

enum pm_status machine_load_bytes(struct machine *m, const uint8_t *p, size_t n, struct pm_err *err)
{
	struct cat_header h, mine = header_of(m);
	struct cpu *c = m->cpu;
	enum pm_status st = check(p, n, &h, err);
	struct pm_cur in;
	bool end = false;

	if (st != PM_OK)
		return st;
	mine.sideband = h.sideband;
	if (memcmp(&h, &mine, sizeof h))
		return pm_fail(err, 0, "the snapshot is of another machine");
	in = pm_cur_init(p, n - 8, 0, err);
	pm_cur_bytes(&in, CAT_HEADER, "header");
	for (const struct cpu_field *f = cpu_fields; f->name && st == PM_OK; f++)
		st = get_item(&in, f->name, (char *)c + f->off, f->size * f->n);
	if (c->sdata && st == PM_OK) {
		st = get_item(&in, "sdata", c->sdata, (size_t)c->slines << c->sshift);
		if (st == PM_OK)
			st = get_item(&in, "sptag", c->sptag, c->slines * sizeof *c->sptag);
		if (st == PM_OK)
			st = get_item(&in, "sflags", c->sflags, c->slines);
	}
	for (const struct cpu_field *f = board_fields; f->name && st == PM_OK; f++)
		st = get_item(&in, f->name, (char *)m + f->off, f->size);
	memset(m->ram, 0, m->ram_size);
	while (st == PM_OK && !end)
		st = get_part(m, &in, &end);
	if (pm_failed(err))
		st = PM_ERR;
	sane(m);
	cpu_sync(c);
	c->attn = false;
	return st;
}

enum pm_status machine_load(struct machine *m, const char *path, struct pm_err *err)
{
	size_t n;
	uint8_t *p = machine_read_file(path, &n, err);
	enum pm_status st = p ? machine_load_bytes(m, p, n, err) : PM_ERR;

	free(p);
	return st;
}
