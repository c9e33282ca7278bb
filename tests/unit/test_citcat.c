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
#include <endian.h>
#include <unistd.h>
#include <cmocka.h>
#include <zstd.h>

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

static void write_both(const struct citcat *c, struct pm_err *err)
{
	struct pm_buf state = citcat_ims(c), schedule = citcat_aes(c);

	assert_int_equal(citcat_write(ims, &state, err), PM_OK);
	assert_int_equal(citcat_write(aes, &schedule, err), PM_OK);
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
	write_both(&c, err);
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
	write_both(&c, &err);
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

static void put_word(struct pm_buf *b, uint32_t v)
{
	v = htobe32(v);
	pm_buf_add(b, &v, 4);
}

static void put_section(struct pm_buf *b, const char *tag, size_t n, uint32_t bytes, const void *p)
{
	const uint32_t *w = p;

	pm_buf_add(b, tag, 4);
	put_word(b, (uint32_t)n);
	put_word(b, bytes);
	for (size_t i = 0; i < n * bytes / 4; i++)
		put_word(b, w[i]);
}

/* What version 1 of both files says is what version 2 says, but for the identity. */
static void test_version1(void **state)
{
	struct pm_buf i1 = { 0 }, a1 = { 0 };
	struct citcat c, old = { 0 };
	struct pm_err err = { 0 };
	uint8_t head[CAT_HEADER];

	(void)state;
	if (access(PROGRAM, R_OK))
		skip();
	assert_int_equal(citcat_extract(cat, &c, &err), PM_OK);
	cat_header_put(head, &c.hdr, "PMIMS1");
	pm_buf_add(&i1, head, sizeof head);
	for (size_t i = 0; i < c.nmem; i++) {
		put_word(&i1, c.mem[i][0]);
		put_word(&i1, c.mem[i][1]);
	}
	for (unsigned k = 0; k < 394; k++) {
		put_word(&i1, IMS_STATE + 4 * k);
		put_word(&i1, c.state[k]);
	}
	pm_buf_add(&a1, "AES1", 4);
	put_word(&a1, 6);
	put_section(&a1, "INTR", c.nintr, 24, c.intr);
	put_section(&a1, "CNT ", c.ncnt, 4, c.cnt);
	put_section(&a1, "CAUS", c.ncaus, 8, c.caus);
	put_section(&a1, "IO  ", c.nio, 4, c.io);
	put_section(&a1, "DMA ", c.ndma, 20, c.dma);
	put_section(&a1, "END ", 1, 20,
		    (uint32_t[]){ c.end_branches, c.end_order, c.cut,
				  (uint32_t)(c.end_insns >> 32), (uint32_t)c.end_insns });
	assert_int_equal(citcat_read_ims(i1.p, i1.n, &old, &err), PM_OK);
	assert_int_equal(citcat_read_aes(a1.p, a1.n, &old, &err), PM_OK);
	assert_int_equal(old.identity, 0);
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(old.nmem, c.nmem);
		assert_memory_equal(old.mem, c.mem, c.nmem * sizeof *c.mem);
		assert_memory_equal(old.state, c.state, sizeof c.state);
		assert_int_equal(old.ndma, c.ndma);
		assert_memory_equal(old.dma, c.dma, c.ndma * sizeof *c.dma);
		assert_int_equal(old.nintr, c.nintr);
		assert_memory_equal(old.intr, c.intr, c.nintr * sizeof *c.intr);
		citcat_release(&old);
		if (turn)
			break;
		write_both(&c, &err);
		assert_int_equal(citcat_read(ims, aes, &old, &err), PM_OK);
		assert_true(old.identity == c.identity && c.identity);
	}
	pm_buf_release(&i1);
	pm_buf_release(&a1);
	citcat_release(&c);
}

static enum pm_status unpack(const uint8_t *p, size_t n, struct pm_buf *i, struct pm_buf *a)
{
	struct pm_err err = { 0 };
	enum pm_status st;

	i->n = a->n = 0;
	st = citcat_unpack(p, n, i, a, &err);
	assert_int_equal(!err.msg[0], st == PM_OK);
	return st;
}

/* A .cit has both files byte for byte; cut anywhere, or with any byte changed, it is an error. */
static void test_packed(void **state)
{
	struct pm_buf want_i, want_a, cit = { 0 }, i = { 0 }, a = { 0 };
	struct pm_err err = { 0 };
	struct citcat c = { 0 };

	(void)state;
	if (access(PROGRAM, R_OK)) {
		print_message("skipped: no MIPS cross compiler\n");
		skip();
	}
	assert_int_equal(citcat_extract(cat, &c, &err), PM_OK);
	for (unsigned be = 0; be < 2; be++) {
		c.hdr.big_endian = be;
		want_i = citcat_ims(&c);
		want_a = citcat_aes(&c);
		cit.n = 0;
		assert_int_equal(citcat_pack(&c, &cit, &err), PM_OK);
		assert_true(cit.n < (want_i.n + want_a.n) / 4);
		assert_int_equal(unpack(cit.p, cit.n, &i, &a), PM_OK);
		assert_int_equal(i.n, want_i.n);
		assert_memory_equal(i.p, want_i.p, i.n);
		assert_int_equal(a.n, want_a.n);
		assert_memory_equal(a.p, want_a.p, a.n);
		pm_buf_release(&want_i);
		pm_buf_release(&want_a);
	}
	for (size_t at = 0; at < cit.n; at += at < 100 || at + 100 > cit.n ? 1 : 97) {
		assert_int_equal(unpack(cit.p, at, &i, &a), PM_ERR);
		if (at < 6)
			continue;	/* the magic: no .cit */
		cit.p[at] ^= 1;
		if (at != 6 && at != 7)
			assert_int_equal(unpack(cit.p, cit.n, &i, &a), PM_ERR);
		assert_int_equal(citcat_is_packed(cit.p, cit.n), at >= 8);
		cit.p[at] ^= 1;
	}
	pm_buf_release(&cit);
	pm_buf_release(&i);
	pm_buf_release(&a);
	citcat_release(&c);
}

/* A TLB entry above 2^32 in the state that a replay begins with: an access through it is found. */
static void test_wide_tlb(void **state)
{
	static const uint32_t code[] = {
		0x3c091122,		/* lui $9, 0x1122 */
		0xac890004,		/* sw $9, 4($4): mapped at 2^38 */
		0x8c8a0008,		/* lw $10, 8($4) */
		0x3c08bf02,		/* lui $8, 0xbf02 */
		0x340b5555,		/* ori $11, $0, 0x5555 */
		0xad0b0000,		/* sw $11, 0($8): off */
		0x1000ffff, 0,
	};
	struct machine_config cfg = { .cpu = { .iline = 32, .dline = 32 }, .ram_size = 1 << 20 };
	char name[] = "/tmp/pugmark-wide-XXXXXX";
	struct monitor_config mc = { .cat = name, .sideband = true };
	struct citcat_verify v;
	struct pm_err err = { 0 };
	struct machine *m = machine_new(&cfg, &err);
	struct cpu *c = m->cpu;

	(void)state;
	close(mkstemp(name));
	for (unsigned i = 0; i < sizeof code / sizeof *code; i++)
		memcpy(m->ram + 0x1000 + 4 * i, &(uint32_t){ htole32(code[i]) }, 4);
	c->tlb[5] = (struct cpu_tlb_entry){ .vpn = 1ULL << 38, .mask = 0x1fff,
					    .lo = { 8 << 6 | 3 << 3 | 6, 9 << 6 | 3 << 3 | 6 } };
	c->status = ST_CU0 | ST_KX;
	c->c0[C0_CONFIG] = (c->c0[C0_CONFIG] & ~7ULL) | 3;
	c->pc = 0xffffffff80001000ULL;
	c->gpr[4] = 1ULL << 38;
	cpu_sync(c);
	m->monitor = monitor_new(&mc, c, m->ram_size, &err);
	monitor_begin_sideband(m->monitor, c);
	m->insn_limit = 1000;
	assert_int_equal(machine_run(m, &err), PM_OK);
	assert_int_equal(m->stop, POWERED_OFF);
	assert_int_equal(c->exceptions, 0);
	assert_int_equal(monitor_finish(m->monitor, &err), PM_OK);
	monitor_free(m->monitor);
	machine_free(m);
	if (citcat_verify(name, NULL, NULL, NULL, &v, &err) != PM_OK)
		fail_msg("%s", err.msg);
	assert_int_equal(v.replay.exceptions, 0);
	unlink(name);
}

/* Reserved bytes of a record are looked at. */
static void test_reserved(void **state)
{
	const struct cat_header h = { .ram_size = 65536, .iline = 32, .dline = 32, .tlb = 48 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		uint8_t file[200], rec[CAT_RECORD] = { CAT_READ, 4 };
		struct pm_err err = { 0 };
		struct cat_header got;
		struct pm_input *in;
		struct cat_reader *r;
		struct cat_rec out;
		size_t n;

		if (i)
			rec[1 + i] = 0x10;
		cat_header_put(file, &h, "PMCAT1");
		n = ZSTD_compress(file + CAT_HEADER, sizeof file - CAT_HEADER, rec, sizeof rec, 1);
		in = pm_input_memory(file, CAT_HEADER + n, "reserved");
		r = cat_open_input(in, &got, &err);
		assert_non_null(r);
		assert_int_equal(cat_next(r, &out, &err), i ? PM_ERR : PM_OK);
		assert_true(!i == !strstr(err.msg, "reserved"));
		cat_reader_close(r);
		pm_input_close(in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_faults),
		cmocka_unit_test(test_cuts), cmocka_unit_test(test_version1),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_wide_tlb), cmocka_unit_test(test_reserved) };

	return cmocka_run_group_tests(tests, record, cleanup);
}
