/* SPDX-License-Identifier: MIT */
/* test_citcat.c - faults in what a replay is given: verify must find each, and say where it
 * shows */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/citcat/citcat.h"
#include "collect/machine/machine.h"
#include "collect/machine/monitor.h"

#define PROGRAM	"build/guest/nano.elf"

static char cat[] = "/tmp/pugmark-citcat-XXXXXX", ims[80], aes[80], disk[80];

static int record(void **state)
{
	struct machine_config cfg = { .cpu = { .iline = 32, .dline = 32 }, .ram_size = 16 << 20 };
	struct monitor_config mc = { .cat = cat };
	struct pm_err err = { 0 };
	struct machine *m;
	FILE *f;

	(void)state;
	if (access(PROGRAM, R_OK))
		return 0;
	close(mkstemp(cat));
	snprintf(ims, sizeof ims, "%s.ims", cat);
	snprintf(aes, sizeof aes, "%s.aes", cat);
	snprintf(disk, sizeof disk, "%s.img", cat);
	f = fopen(disk, "w");
	for (unsigned i = 0; i < 16384; i++)
		fprintf(f, "%c", i * 7 >> 3 & 0xff);
	fclose(f);
	m = machine_new(&cfg, &err);
	assert_int_equal(machine_boot_elf(m, PROGRAM, &err), PM_OK);
	assert_int_equal(machine_disk(m, disk, false, &err), PM_OK);
	m->monitor = monitor_new(&mc, m->cpu, m->ram_size, &err);
	assert_non_null(m->monitor);
	m->insn_limit = 20000000;
	assert_int_equal(machine_run(m, &err), PM_OK);
	assert_int_equal(m->stop, POWERED_OFF);
	assert_int_equal(monitor_finish(m->monitor, &err), PM_OK);
	monitor_free(m->monitor);
	machine_free(m);
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	unlink(cat);
	unlink(ims);
	unlink(aes);
	unlink(disk);
	return 0;
}

enum fault {
	NONE,
	DROP_INTR,
	DROP_COUNT,
	DROP_CAUSE,
	DROP_IO,
	DROP_DMA,
	SHIFT_DMA,
	CHANGE_DMA,
	CHANGE_IO,
	CHANGE_COUNT,
	CHANGE_MEM,
	CHANGE_GPR,
	CHANGE_TLB,
	MOVE_INTR,
	WIRED_OFF,
	FAULTS
};
static const char *const names[] = {
	"none", "an interrupt is missing", "a Count value is missing", "a Cause value is missing",
	"an I/O word is missing", "a DMA record is missing", "DMA comes one bus transaction late",
	"one word of DMA differs", "one I/O word differs", "one Count value differs",
	"one word of memory differs", "one register differs", "one TLB entry differs",
	"an interrupt is one branch late", "Wired differs, and with it Random",
};

#define DROP(v, n, i) do {							\
	memmove(&(v)[i], &(v)[(i) + 1], ((n) - (i) - 1) * sizeof *(v));		\
	(n)--;									\
} while (0)

static enum pm_status with(enum fault what, struct citcat_verify *v, struct pm_err *err)
{
	struct citcat c;

	assert_int_equal(citcat_extract(cat, &c, err), PM_OK);
	switch (what) {
	case DROP_INTR: DROP(c.intr, c.nintr, c.nintr / 2); break;
	case DROP_COUNT: DROP(c.cnt, c.ncnt, c.ncnt / 2); break;
	case DROP_CAUSE: DROP(c.caus, c.ncaus, c.ncaus / 2); break;
	case DROP_IO: DROP(c.io, c.nio, c.nio / 2); break;
	case DROP_DMA: DROP(c.dma, c.ndma, c.ndma / 2); break;
	case SHIFT_DMA:
		/* the first data block that the device writes, behind the processor's next read of
		 * it */
		for (size_t i = 0; i < c.ndma; i++)
			c.dma[i].order++;
		break;
	case CHANGE_DMA: c.dma[c.ndma / 2].data ^= 1; break;
	case CHANGE_IO: c.io[c.nio / 2] ^= 0x20; break;
	case CHANGE_COUNT: c.cnt[c.ncnt / 2] ^= 0x40; break;
	case CHANGE_MEM: c.mem[c.nmem / 2][1] ^= 0x00010000; break;
	case CHANGE_GPR: c.state[29] ^= 4; break;
	case CHANGE_TLB: c.state[201] ^= 1; c.state[202] ^= 2; c.state[64 + 10] ^= 1; break;
	case MOVE_INTR: c.intr[c.nintr / 2].branches++; break;
	case WIRED_OFF: c.state[64 + 6] = 44; break;
	default: break;
	}
	assert_int_equal(citcat_write_ims(&c, ims, err), PM_OK);
	assert_int_equal(citcat_write_aes(&c, aes, err), PM_OK);
	citcat_release(&c);
	return citcat_verify(cat, ims, aes, NULL, v, err);
}

static void test_faults(void **state)
{
	(void)state;
	if (access(PROGRAM, R_OK)) {
		print_message("skipped: no MIPS cross compiler\n");
		skip();
	}
	for (unsigned i = 0; i < FAULTS; i++) {
		struct citcat_verify v;
		struct pm_err err = { 0 };
		enum pm_status st = with(i, &v, &err);

		if (i == NONE) {
			assert_int_equal(st, PM_OK);
			assert_true(v.compared > 10000);
			continue;
		}
		if (st != PM_ERR)
			fail_msg("%s, and verify saw no difference", names[i]);
		print_message("%s: %s\n", names[i], err.msg);
		/* where: a record, or an instruction with its branch count */
		assert_true(strstr(err.msg, "record ") || strstr(err.msg, "at instruction "));
	}
}

/* Every reader, every kind of cut: up to the cut, or one error that says where. */
static void test_cuts(void **state)
{
	struct pm_err err = { 0 };
	struct citcat c = { 0 };
	size_t n[3], whole = 0, part = 0, refused = 0;
	uint8_t *p[3];

	(void)state;
	if (access(PROGRAM, R_OK)) {
		print_message("skipped: no MIPS cross compiler\n");
		skip();
	}
	assert_int_equal(citcat_extract(cat, &c, &err), PM_OK);
	assert_int_equal(citcat_write_ims(&c, ims, &err), PM_OK);
	assert_int_equal(citcat_write_aes(&c, aes, &err), PM_OK);
	citcat_release(&c);
	p[0] = machine_read_file(cat, &n[0], &err);
	p[1] = machine_read_file(ims, &n[1], &err);
	p[2] = machine_read_file(aes, &n[2], &err);
	for (size_t cut = 0; cut <= n[0]; cut += cut < 80			    ? 1
						 : cut + 9001 < n[0] || cut == n[0] ? 9001
										    : n[0] - cut) {
		struct citcat_verify v;
		FILE *f = fopen(disk, "w");

		fwrite(p[0], 1, cut, f);
		fclose(f);
		memset(&err, 0, sizeof err);
		if (citcat_verify(disk, NULL, NULL, NULL, &v, &err) == PM_OK) {
			assert_true(cut > 80);
			whole += cut == n[0];
			part++;
		} else {
			assert_true(err.msg[0]);
			assert_string_equal(err.file, disk);
			refused++;
		}
	}
	print_message("%zu cut bus traces replayed, %zu refused\n", part, refused);
	assert_int_equal(whole, 1);
	assert_true(part > 5);
	for (unsigned k = 1; k < 3; k++)
		for (size_t cut = 0; cut <= n[k]; cut += cut < 3000 || cut + 300 > n[k] ? 1 : 251) {
			uint8_t *exact = malloc(cut ? cut : 1);
			enum pm_status st;

			memcpy(exact, p[k], cut);
			memset(&err, 0, sizeof err);
			st = (k == 1 ? citcat_read_ims : citcat_read_aes)(exact, cut, &c, &err);
			if (st != (cut == n[k] ? PM_OK : PM_ERR) || !err.msg[0] != (cut == n[k]))
				fail_msg("%s cut at %zu of %zu: status %d, \"%s\"",
					 k == 1 ? ".ims" : ".aes", cut, n[k], st, err.msg);
			citcat_release(&c);
			free(exact);
		}
	for (unsigned k = 0; k < 3; k++)
		free(p[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults),
		cmocka_unit_test(test_cuts) };

	return cmocka_run_group_tests(tests, record, cleanup);
}
