/* SPDX-License-Identifier: MIT */
/* load.c - programs, kernels, initrds, disks and the device tree into the machine */
#include <elf.h>
#include <fcntl.h>
#include <libfdt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cur.h"
#include "base/whole_file.h"
#include "collect/machine/machine.h"

#define KSEG0		0xffffffff80000000ULL
#define FILE_MAX	(512u << 20)

uint8_t *machine_read_file(const char *path, size_t *n, struct pm_err *err)
{
	const bool std = !strcmp(path, "-");
	int fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct pm_buf b = { 0 };
	struct stat st;

	err->file = std ? "standard input" : path;
	*n = 0;
	if (fd < 0) {
		pm_fail_errno(err, "cannot open");
		return NULL;
	}
	if (fstat(fd, &st) || (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) ||
	    st.st_size > FILE_MAX)
		pm_fail_file(err, "expected a file of at most 512 MiB, or a pipe");
	else if (pm_fd_read(fd, &b, err) == PM_OK)
		pm_buf_add(&b, "", 1);		/* there is something even of an empty one */
	if (!std)
		close(fd);
	if (pm_failed(err)) {
		pm_buf_release(&b);
		return NULL;
	}
	*n = b.n - 1;
	return b.p;
}

struct elf {
	struct pm_cur c;
	const uint8_t *p;
	size_t n;
	bool be, wide;
	struct pm_err *err;
};

static uint64_t field(struct elf *e, uint64_t at, unsigned size, const char *what)
{
	uint64_t v = 0;

	if (pm_failed(e->err))
		return 0;
	if (at > e->n || size > e->n - at) {
		pm_fail(e->err, at, "expected %u bytes of %s, found %llu", size, what,
			(unsigned long long)(at > e->n ? 0 : e->n - at));
		return 0;
	}
	for (unsigned i = 0; i < size; i++)
		v |= (uint64_t)e->p[at + (e->be ? size - 1 - i : i)] << 8 * i;
	return v;
}

enum pm_status machine_load_elf_bytes(struct machine *m, const uint8_t *p, size_t n,
				      uint64_t *entry, uint32_t *end, struct pm_err *err)
{
	struct elf e = { .p = p, .n = n, .err = err };
	uint64_t phoff, type, machine;
	unsigned phnum, phsize, loaded = 0;

	*end = 0;
	if (n < 20 || memcmp(p, ELFMAG, 4))
		return pm_fail(err, 0, "expected an ELF file, found something else");
	if (p[4] != ELFCLASS32 && p[4] != ELFCLASS64)
		return pm_fail(err, 4, "expected ELF class 1 or 2, found %u", p[4]);
	if (p[5] != ELFDATA2LSB && p[5] != ELFDATA2MSB)
		return pm_fail(err, 5, "expected ELF byte order 1 or 2, found %u", p[5]);
	e.wide = p[4] == ELFCLASS64;
	e.be = p[5] == ELFDATA2MSB;
	machine = field(&e, 18, 2, "machine");
	type = field(&e, 16, 2, "type");
	if (machine != EM_MIPS)
		return pm_fail(err, 18, "expected a MIPS program (machine 8), found machine %u",
			       (unsigned)machine);
	if (type != ET_EXEC)
		return pm_fail(err, 16,
			       "expected an executable at fixed addresses (type 2), found type %u",
			       (unsigned)type);
	if (e.be != m->cpu->cfg.big_endian)
		return pm_fail(err, 5,
			       "expected a %s-endian program for this machine, found a %s-endian "
			       "one",
			       m->cpu->cfg.big_endian ? "big" : "little", e.be ? "big" : "little");
	*entry = e.wide ? field(&e, 24, 8, "entry")
			: (uint64_t)(int64_t)(int32_t)field(&e, 24, 4, "entry");
	phoff = e.wide ? field(&e, 32, 8, "program header offset")
		       : field(&e, 28, 4, "program header offset");
	phsize = (unsigned)field(&e, e.wide ? 54 : 42, 2, "program header size");
	phnum = (unsigned)field(&e, e.wide ? 56 : 44, 2, "program header count");
	if (pm_failed(err))
		return PM_ERR;
	if (phsize < (e.wide ? 56u : 32u))
		return pm_fail(err, e.wide ? 54 : 42,
			       "expected program headers of at least %u bytes, found %u",
			       e.wide ? 56u : 32u, phsize);
	for (unsigned i = 0; i < phnum; i++) {
		uint64_t at = phoff + (uint64_t)i * phsize, off, va, filesz, memsz, pa;

		if (at < phoff)
			return pm_fail(err, 28, "program headers lie outside the file");
		if (field(&e, at, 4, "segment type") != PT_LOAD) {
			if (pm_failed(err))
				return PM_ERR;
			continue;
		}
		off = e.wide ? field(&e, at + 8, 8, "segment") : field(&e, at + 4, 4, "segment");
		/* where it is loaded, not where it runs; both are kernel addresses as a rule */
		va = e.wide ? field(&e, at + 24, 8, "segment") : field(&e, at + 12, 4, "segment");
		filesz = e.wide ? field(&e, at + 32, 8, "segment")
				: field(&e, at + 16, 4, "segment");
		memsz = e.wide ? field(&e, at + 40, 8, "segment")
			       : field(&e, at + 20, 4, "segment");
		if (pm_failed(err))
			return PM_ERR;
		if (!memsz)
			continue;
		pa = va & 0x1fffffff;
		if (filesz > memsz)
			return pm_fail(err, at,
				       "segment %u has more bytes in the file than in memory", i);
		if (off > n || filesz > n - off)
			return pm_fail(err, off, "expected %llu bytes of segment %u, found %llu",
				       (unsigned long long)filesz, i,
				       (unsigned long long)(off > n ? 0 : n - off));
		if (pa >= m->ram_size || memsz > m->ram_size - pa)
			return pm_fail(err, at,
				       "segment %u (0x%llx bytes at physical 0x%llx) lies outside "
				       "%u MiB of RAM",
				       i, (unsigned long long)memsz, (unsigned long long)pa,
				       m->ram_size >> 20);
		memcpy(m->ram + pa, p + off, filesz);
		memset(m->ram + pa + filesz, 0, memsz - filesz);
		if (pa + memsz > *end)
			*end = (uint32_t)(pa + memsz);
		loaded++;
	}
	if (!loaded)
		return pm_fail(err, phoff, "expected at least one segment to load, found none");
	return PM_OK;
}

enum pm_status machine_load_elf(struct machine *m, const char *path, uint64_t *entry, uint32_t *end,
				struct pm_err *err)
{
	size_t n;
	uint8_t *p = machine_read_file(path, &n, err);
	enum pm_status st;

	if (!p)
		return PM_ERR;
	st = machine_load_elf_bytes(m, p, n, entry, end, err);
	free(p);
	return st;
}

/* ---- the device tree ------------------------------------------------------------------------ */
enum { FDT_CLOCK = 1, FDT_INTC, FDT_SYSCON };	/* handles of nodes */

#define DO(x) do { if (!e) e = (x); } while (0)
#define REG2(a, b) do { fdt32_t r_[2] = { cpu_to_fdt32(a), cpu_to_fdt32(b) };	\
		DO(fdt_property(buf, "reg", r_, sizeof r_)); } while (0)

/* The devices; what libfdt says. */
static int fdt_devices(void *buf)
{
	int e = 0;

	DO(fdt_begin_node(buf, "soc"));
	DO(fdt_property_string(buf, "compatible", "simple-bus"));
	DO(fdt_property_u32(buf, "#address-cells", 1));
	DO(fdt_property_u32(buf, "#size-cells", 1));
	DO(fdt_property(buf, "ranges", NULL, 0));

	DO(fdt_begin_node(buf, "serial@1f000900"));
	DO(fdt_property_string(buf, "compatible", "ns16550a"));
	REG2(UART_BASE, UART_SIZE);
	DO(fdt_property_u32(buf, "reg-shift", 2));
	DO(fdt_property_u32(buf, "reg-io-width", 4));
	DO(fdt_property_u32(buf, "clock-frequency", 1843200));
	DO(fdt_property_u32(buf, "interrupts", UART_IRQ));
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "virtio@1f010000"));
	DO(fdt_property_string(buf, "compatible", "virtio,mmio"));
	REG2(VIRTIO_BASE, VIRTIO_SIZE);
	DO(fdt_property_u32(buf, "interrupts", VIRTIO_IRQ));
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "syscon@1f020000"));
	DO(fdt_property_string(buf, "compatible", "syscon"));
	REG2(POWER_BASE, POWER_SIZE);
	DO(fdt_property_u32(buf, "phandle", FDT_SYSCON));
	DO(fdt_end_node(buf));
	for (unsigned i = 0; i < 2; i++) {
		DO(fdt_begin_node(buf, i ? "reboot" : "poweroff"));
		DO(fdt_property_string(buf, "compatible", i ? "syscon-reboot" : "syscon-poweroff"));
		DO(fdt_property_u32(buf, "regmap", FDT_SYSCON));
		DO(fdt_property_u32(buf, "offset", 0));
		DO(fdt_property_u32(buf, "mask", 0xffffffff));
		DO(fdt_property_u32(buf, "value", i ? 0x7777 : 0x5555));
		DO(fdt_end_node(buf));
	}
	DO(fdt_end_node(buf));
	return e;
}

enum pm_status machine_fdt(const struct machine *m, void *buf, size_t size, const char *bootargs,
			   uint32_t initrd, uint32_t initrd_end, struct pm_err *err)
{
	int e = fdt_create(buf, (int)size);

	DO(fdt_finish_reservemap(buf));
	DO(fdt_begin_node(buf, ""));
	DO(fdt_property_u32(buf, "#address-cells", 1));
	DO(fdt_property_u32(buf, "#size-cells", 1));
	DO(fdt_property_string(buf, "compatible", "pugmark,board1"));
	DO(fdt_property_string(buf, "model", "pugmark R4400 board"));
	DO(fdt_property_u32(buf, "interrupt-parent", FDT_INTC));

	DO(fdt_begin_node(buf, "chosen"));
	DO(fdt_property_string(buf, "bootargs", bootargs));
	DO(fdt_property_string(buf, "stdout-path", "/soc/serial@1f000900"));
	if (initrd_end > initrd) {
		DO(fdt_property_u32(buf, "linux,initrd-start", initrd));
		DO(fdt_property_u32(buf, "linux,initrd-end", initrd_end));
	}
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "cpus"));
	DO(fdt_property_u32(buf, "#address-cells", 1));
	DO(fdt_property_u32(buf, "#size-cells", 0));
	DO(fdt_begin_node(buf, "cpu@0"));
	DO(fdt_property_string(buf, "device_type", "cpu"));
	DO(fdt_property_string(buf, "compatible", "mips,mips24KEc"));
	DO(fdt_property_u32(buf, "reg", 0));
	DO(fdt_property_u32(buf, "clocks", FDT_CLOCK));
	DO(fdt_end_node(buf));
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "memory@0"));
	DO(fdt_property_string(buf, "device_type", "memory"));
	REG2(0, m->ram_size);
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "clk"));
	DO(fdt_property_string(buf, "compatible", "fixed-clock"));
	DO(fdt_property_u32(buf, "#clock-cells", 0));
	DO(fdt_property_u32(buf, "clock-frequency", CPU_HZ));
	DO(fdt_property_u32(buf, "phandle", FDT_CLOCK));
	DO(fdt_end_node(buf));

	DO(fdt_begin_node(buf, "interrupt-controller"));
	DO(fdt_property_string(buf, "compatible", "mti,cpu-interrupt-controller"));
	DO(fdt_property(buf, "interrupt-controller", NULL, 0));
	DO(fdt_property_u32(buf, "#interrupt-cells", 1));
	DO(fdt_property_u32(buf, "#address-cells", 0));
	DO(fdt_property_u32(buf, "phandle", FDT_INTC));
	DO(fdt_end_node(buf));

	DO(fdt_devices(buf));
	DO(fdt_end_node(buf));
	DO(fdt_finish(buf));
	if (e)
		return pm_fail_file(err, "cannot make the device tree: %s", fdt_strerror(e));
	return PM_OK;
}
#undef DO
#undef REG2

/* ---- booting -------------------------------------------------------------------------------- */
#define FDT_ROOM	16384u
#define APPEND_MAX	8192u		/* leaves as much for the rest of the device tree */
#define DEFAULT_ARGS	"console=ttyS0,115200 rdinit=/init earlycon=uart8250,mmio32,0x1f000900"

static void start(struct machine *m, uint64_t entry, uint32_t status)
{
	struct cpu *c = m->cpu;

	c->pc = entry;
	c->status = status;
	c->c0[C0_CONFIG] = (c->c0[C0_CONFIG] & ~7ULL) | 3; /* kseg0 cached, as firmware leaves it */
	cpu_sync(c);
	c->attn = false;
}

enum pm_status machine_boot(struct machine *m, const char *kernel, const char *initrd,
			    const char *append, struct pm_err *err)
{
	uint32_t end, fdt = m->ram_size - FDT_ROOM, rd = fdt, rd_end = fdt;
	uint64_t entry;
	void *blob;
	enum pm_status st;

	if (append && strlen(append) > APPEND_MAX)
		return pm_fail_request(err, "--append: expected at most %u characters, found %zu",
				       APPEND_MAX, strlen(append));
	if (machine_load_elf(m, kernel, &entry, &end, err) != PM_OK)
		return PM_ERR;
	if (end > fdt) {
		err->file = kernel;
		return pm_fail_file(err, "%u MiB of RAM are too few for this kernel",
				    m->ram_size >> 20);
	}
	if (initrd) {
		size_t n;
		uint8_t *p = machine_read_file(initrd, &n, err);

		if (!p)
			return PM_ERR;
		if (n > fdt - end || ((fdt - (uint32_t)n) & ~0xfffu) < end) {
			free(p);
			return pm_fail_file(err,
					    "%zu bytes of initrd do not fit into %u MiB of RAM "
					    "behind the kernel",
					    n, m->ram_size >> 20);
		}
		rd = (fdt - (uint32_t)n) & ~0xfffu;
		rd_end = rd + (uint32_t)n;
		memcpy(m->ram + rd, p, n);
		free(p);
	}
	blob = pm_alloc(FDT_ROOM);
	st = machine_fdt(m, blob, FDT_ROOM, append ? append : DEFAULT_ARGS, rd, rd_end, err);
	memcpy(m->ram + fdt, blob, FDT_ROOM);
	free(blob);
	if (st != PM_OK)
		return st;
	start(m, entry, ST_CU0 | ST_BEV);
	m->cpu->gpr[4] = (uint64_t)-2;			/* UHI: a0 = -2, a1 = device tree */
	m->cpu->gpr[5] = KSEG0 + fdt;
	m->cpu->gpr[29] = KSEG0 + fdt - 64;
	return PM_OK;
}

enum pm_status machine_boot_elf(struct machine *m, const char *path, struct pm_err *err)
{
	uint64_t entry;
	uint32_t end;

	if (machine_load_elf(m, path, &entry, &end, err) != PM_OK)
		return PM_ERR;
	start(m, entry, ST_CU0 | ST_CU1 | ST_KX);
	m->cpu->gpr[29] = KSEG0 + m->ram_size - 64;
	return PM_OK;
}
