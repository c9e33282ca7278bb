/* SPDX-License-Identifier: MIT */
/* fuzz_machine.c - any guest program, any virtio ring, any ELF file, bus trace, state and
 * schedule */
#include <stdlib.h>
#include <endian.h>
#include <string.h>
#include <zstd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/citcat/citcat.h"
#include "collect/machine/machine.h"
#include "fuzz.h"
#include "trace/cat.h"

const unsigned fuzz_inputs = 4000;

static void must_say(enum pm_status st, const struct pm_err *err)
{
	if (st == PM_ERR && !err->msg[0])
		abort();
}

static struct machine *machine(const uint8_t *d, size_t n)
{
	struct machine_config cfg = { .cpu = { .iline = 32, .dline = 32, .sline = 64 },
		.ram_size = 1 << 20 };
	struct pm_err err = { 0 };
	struct machine *m;

	if (n) {
		cfg.cpu.big_endian = d[0] & 1;
		cfg.cpu.r2 = d[0] & 2;
		cfg.cpu.iline = d[0] & 4 ? 16 : 32;
		cfg.cpu.dline = d[0] & 8 ? 16 : 32;
		cfg.cpu.scache = d[0] & 16 ? 131072 : 0;
	}
	m = machine_new(&cfg, &err);
	m->virtio.disk.sectors = 64;
	m->virtio.disk.map = mmap(NULL, 64 * 512, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m->virtio.disk.written = calloc(1, 9);
	m->cpu->pc = 0xffffffff80001000ULL;
	m->cpu->status = ST_CU0 | ST_CU1 | ST_KX | (n > 1 ? (uint32_t)d[1] << 8 | (d[1] & 1) : 0);
	m->cpu->c0[C0_CONFIG] = (m->cpu->c0[C0_CONFIG] & ~7ULL) | 3;
	cpu_sync(m->cpu);
	return m;
}

/* The bytes are code, everywhere; registers point to devices, RAM, and anywhere. */
static void guest(const uint8_t *d, size_t n)
{
	static const uint64_t where[] = {
		0xffffffffbf000900, 0xffffffffbf010000, 0xffffffffbf030000, 0xffffffff80001000,
		0xffffffffa0002000, 0x10000, 0xffffffffc0000000, 0x9000000000001000,
	};
	struct machine *m = machine(d, n);

	for (size_t i = 0; n && i < m->ram_size; i++)
		m->ram[i] = d[i % n];
	for (unsigned i = 1; i < 32; i++)
		m->cpu->gpr[i] = where[i % 8] + (i < n ? d[i] & 0x7c : 0);
	machine_step(m, 20000);
	machine_free(m);
}

/* The bytes are the ring's memory, and where its parts are. */
static void ring(const uint8_t *d, size_t n)
{
	struct machine *m = machine(NULL, 0);
	uint32_t a[3] = { 0x1000, 0x2000, 0x3000 };

	if (n > 12 && d[0] & 1)
		memcpy(a, d, 12);
	for (size_t i = 0; n && i < 0x4000; i++)
		m->ram[0x1000 + i] = d[i % n];
	/* descriptors mostly point into RAM, so that chains get somewhere */
	for (unsigned i = 0; i < 256 && !(d[0] & 2); i++) {
		memset(m->ram + 0x1000 + 16 * i + 3, 0, 5);
		m->ram[0x1000 + 16 * i + 10] = m->ram[0x1000 + 16 * i + 11] = 0;
	}
	virtio_write(m, 0x70, 4, 15);
	virtio_write(m, 0x38, 4, 1u << (d[0] >> 4 & 7));
	virtio_write(m, 0x80, 4, a[0]);
	virtio_write(m, 0x90, 4, a[1]);
	virtio_write(m, 0xa0, 4, a[2]);
	virtio_write(m, 0x44, 4, 1);
	for (unsigned i = 0; i < 4; i++) {
		virtio_write(m, 0x50, 4, 0);
		m->cpu->idle += 10000;
		virtio_poll(m);
		virtio_read(m, 0x60, 4);
	}
	for (size_t i = 1; i + 5 < n && i < 600; i += 6) {
		uint32_t v;

		memcpy(&v, d + i + 2, 4);
		virtio_write(m, d[i] | (d[i + 1] & 1) << 8, d[i + 1] & 2 ? 4 : 1, v);
		virtio_read(m, d[i] | (d[i + 1] & 1) << 8, 1u << (d[i + 1] >> 2 & 3));
		m->cpu->idle += 10000;
		virtio_poll(m);
	}
	machine_free(m);
}

/* A real snapshot with some bytes changed and a checksum that agrees; what it describes then
 * runs. */
static void snapshot(const uint8_t *d, size_t n)
{
	static uint8_t *real;
	static size_t size;
	uint64_t hash = 0xcbf29ce484222325ULL;
	struct machine *m = machine(NULL, 0);
	struct pm_err err = { 0 };
	size_t len;
	uint8_t *p;

	if (!real) {
		char name[] = "/tmp/pugmark-fuzz-XXXXXX";
		int fd = mkstemp(name);

		for (unsigned i = 0; i < 64; i++)
			m->ram[0x1000 + 4 * i + 3] = 0x24;		/* addiu */
		machine_step(m, 50);
		if (fd < 0 || machine_save(m, name, &err) != PM_OK)
			abort();
		real = machine_read_file(name, &size, &err);
		close(fd);
		unlink(name);
	}
	len = n && d[0] & 1 ? size - d[0] % 200 : size;
	p = malloc(len);
	memcpy(p, real, len);
	for (size_t i = 1; i + 3 < n && i < 400; i += 4)
		p[(d[i] | d[i + 1] << 8 | (size_t)d[i + 2] << 16) % (len - 8)] = d[i + 3];
	for (size_t i = 0; i < len - 8; i++)
		hash = (hash ^ p[i]) * 0x100000001b3ULL;
	memcpy(p + len - 8, &hash, 8);
	if (machine_load_bytes(m, p, len, &err) == PM_OK)
		machine_step(m, 2000);
	else
		must_say(PM_ERR, &err);
	free(p);
	machine_free(m);
}

static void elf(const uint8_t *d, size_t n)
{
	struct machine *m = machine(NULL, 0);
	static const uint8_t head[] = { 0x7f, 'E', 'L', 'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0, 8, 0 };
	uint8_t *p = malloc(n + sizeof head);
	struct pm_err err = { 0 };
	uint64_t entry;
	uint32_t end;

	memcpy(p, head, sizeof head);
	memcpy(p + sizeof head, d, n);
	if (n && d[0] & 1)
		p[4] = 2;
	must_say(machine_load_elf_bytes(m, p, n + sizeof head, &entry, &end, &err), &err);
	memset(&err, 0, sizeof err);
	must_say(machine_load_elf_bytes(m, d, n, &entry, &end, &err), &err);
	free(p);
	machine_free(m);
}

/* The sum that the readers of .ims and .aes want, over what is there: else they never go on. */
static uint8_t *sealed(const uint8_t *d, size_t n)
{
	uint8_t *p = malloc(n ? n : 1);
	uint64_t sum = 0;

	memcpy(p, d, n);
	if (n < 8 || n % 4)
		return p;
	for (size_t i = 0; i < n - 8; i += 4) {
		uint32_t v;

		memcpy(&v, p + i, 4);
		sum = (sum ^ be32toh(v)) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 32;
	}
	sum = htobe64(sum);
	memcpy(p + n - 8, &sum, 8);
	return p;
}

static void schedules(const uint8_t *d, size_t n)
{
	struct citcat c = { 0 };
	struct pm_err err = { 0 };

	must_say(citcat_read_ims(d, n, &c, &err), &err);
	memset(&err, 0, sizeof err);
	must_say(citcat_read_aes(d, n, &c, &err), &err);
	citcat_release(&c);
}

/* @d as it is, and packed as a .cit is. */
static void packed(const uint8_t *d, size_t n)
{
	uint8_t *p = malloc(CIT_HEAD + ZSTD_compressBound(n));
	const uint64_t size = htobe64(n);
	struct pm_buf ims = { 0 }, aes = { 0 };
	struct pm_err err = { 0 };

	must_say(citcat_unpack(d, n, &ims, &aes, &err), &err);
	memset(p, 0, CIT_HEAD);
	memcpy(p, "PMCIT1", 6);
	memcpy(p + 8, &size, 8);
	ims.n = aes.n = 0;
	memset(&err, 0, sizeof err);
	if (citcat_unpack(p, CIT_HEAD + ZSTD_compress(p + CIT_HEAD, ZSTD_compressBound(n), d, n, 1),
			  &ims, &aes, &err) == PM_OK)
		schedules(ims.p, ims.n);
	else
		must_say(PM_ERR, &err);
	pm_buf_release(&ims);
	pm_buf_release(&aes);
	free(p);
}

static void files(const uint8_t *d, size_t n)
{
	uint8_t *p = sealed(d, n & ~(size_t)3);
	struct pm_err err = { 0 };
	struct cat_header h;
	struct pm_input *in;
	struct cat_reader *r;
	struct cat_rec rec;
	enum pm_status st = PM_OK;

	schedules(d, n);
	schedules(p, n & ~(size_t)3);
	free(p);
	packed(d, n);
	in = pm_input_memory(d, n, "fuzz");
	r = cat_open_input(in, &h, &err);
	while (r && st == PM_OK)
		st = cat_next(r, &rec, &err);
	must_say(r ? st : PM_ERR, &err);
	cat_reader_close(r);
	pm_input_close(in);
}

/* @n is not 0. */
static uint32_t next(uint32_t *w, const uint8_t *d, size_t n)
{
	return *w = *w * 1103515245 + d[*w % n] + 12345;
}

/* Any state and any schedule that the readers would let through. */
static void replay(const uint8_t *d, size_t n)
{
	struct citcat_replay_opts o = { .limit = 20000 };
	struct citcat_result res;
	struct pm_err err = { 0 };
	struct citcat c = { 0 };
	uint32_t w = 0;

	c.hdr = (struct cat_header){ .ram_size = 65536, .iline = 32, .dline = 16, .tlb = 48 };
	if (n) {
		c.hdr.big_endian = d[0] & 1;
		c.hdr.sideband = d[0] & 2;
		c.cut = d[0] & 4;
	}
#define NEXT next(&w, d, n)
	for (unsigned i = 0; n && i < NR(c.state); i++)
		c.state[i] = d[i % n] * 0x01010101u;
	c.state[132] = 0x80000000 | (n ? d[0] << 2 : 0);
	c.state[133] = 0xffffffff;
	c.state[64 + 12] = 0x30000000;
	c.state[64 + 16] = 3;
	c.end_branches = 100000;
	c.end_order = 500;
	for (uint32_t a = 0; n && a < 65536; a += 4) {
		pm_grow(c.mem, c.nmem, c.cap_mem);
		c.mem[c.nmem][0] = a;
		memcpy(&w, d + (a < n - n % 4 && n >= a + 4 ? a : 0), n >= 4 ? 4 : 1);
		c.mem[c.nmem++][1] = w;
	}
	for (unsigned i = 0; n && i < 50; i++) {
		pm_grow(c.intr, c.nintr, c.cap_intr);
		c.intr[c.nintr++] = (struct aes_intr){
			c.state[393] + i * 3, 0x80000000 | (NEXT & 0xfffc), NEXT, NEXT, 0, 0
		};
		pm_grow(c.cnt, c.ncnt, c.cap_cnt);
		c.cnt[c.ncnt++] = NEXT;
		pm_grow(c.io, c.nio, c.cap_io);
		c.io[c.nio++] = NEXT;
		pm_grow(c.dma, c.ndma, c.cap_dma);
		c.dma[c.ndma++] = (struct aes_dma){ i, i, (NEXT & 1) | 4 << 8, NEXT & 0xfffc,
						    NEXT };
	}
#undef NEXT
	must_say(citcat_replay(&c, &o, &res, &err), &err);
	citcat_release(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	switch (data[0] % 6) {
	case 0: guest(data + 1, size - 1); break;
	case 1: ring(data + 1, size - 1); break;
	case 2: elf(data + 1, size - 1); break;
	case 3: files(data + 1, size - 1); break;
	case 4: replay(data + 1, size - 1); break;
	case 5: snapshot(data + 1, size - 1); break;
	}
	return 0;
}
