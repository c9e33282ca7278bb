/* SPDX-License-Identifier: MIT */
/* test_citcat.c - faults in what a replay is given: verify must find each, and say where it shows */
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
	m = machine_new(&cfg);
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
	NONE, DROP_INTR, DROP_COUNT, DROP_CAUSE, DROP_IO, DROP_DMA, SHIFT_DMA, CHANGE_DMA, CHANGE_IO, CHANGE_COUNT,
	CHANGE_MEM, CHANGE_GPR, CHANGE_TLB, MOVE_INTR, WIRED_OFF, FAULTS
};
static const char *const names[] = {
	"none", "an interrupt is missing", "a Count value is missing", "a Cause value is missing",
	"an I/O word is missing", "a DMA record is missing", "DMA comes one bus transaction late",
	"one word of DMA differs", "one I/O word differs", "one Count value differs", "one word of memory differs",
	"one register differs", "one TLB entry differs", "an interrupt is one branch late", "Wired differs, and with it Random",
};

#define DROP(v, n, i) do { memmove(&(v)[i], &(v)[(i) + 1], ((n) - (i) - 1) * sizeof *(v)); (n)--; } while (0)

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
		/* the first data block that the device writes, behind the processor's next read of it */
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults) };

	return cmocka_run_group_tests(tests, record, cleanup);
}
