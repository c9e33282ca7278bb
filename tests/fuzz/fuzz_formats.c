/* SPDX-License-Identifier: MIT */
/* fuzz_formats.c - any bytes as any format, and what can be read written as another
 *
 * Byte 0 selects the reader, byte 1 the writer; the rest is the trace. All probes see it, too. Of
 * an execution trace the first two bytes are the length of its block table, which comes before
 * it. */
#include <sys/mman.h>
#include <unistd.h>

#include "formats_util.h"
#include "fuzz/fuzz.h"
#include "trace/idt_files.h"

/* In a fixed order, so that a corpus stays what it is when formats are added (at the end). */
static const char *const name[] = {
	"penn", "idt-branch", "idt-cache", "idt-branch64", "idt-cache64", "kt", "kt64", "pixie",
	"byu", "byu12", "byu-text", "laplace", "laplace64", "laplace-text", "laplace-events",
	"laplace-basic", "laplace-process", "din", "xdin", "dinero-binary", "champsim",
	"cloudsuite", "cvp1", "lackey", "simpoint", "pinatrace", "drmemtrace", "gem5", "ramulator",
	"ramulator2", "dramsim3", "oraclegeneral", "lcs", "spike", "chrome", "idt-exec",
	"idt-exec64", "vscsi", "requests-csv", "requests-txt",
};

const unsigned fuzz_inputs = 200000;

static void idt_files(const uint8_t *p, size_t n)
{
	struct pm_err err = { 0 };
	struct idt_blk blk;
	struct idt_cnt cnt;
	struct idt_hints hints;
	struct idt_info info;

	for (int wide = 0; wide < 2; wide++) {
		if (idt_blk_parse(p, n, wide, &blk, &err) == PM_OK) {
			struct pm_buf b = { 0 };

			idt_blk_write(&blk, &b);
			pm_buf_release(&b);
			idt_blk_release(&blk);
		}
		memset(&err, 0, sizeof err);
		if (idt_cnt_parse(p, n, n / 16 + 1, wide, &cnt, &err) == PM_OK)
			idt_cnt_release(&cnt);
		memset(&err, 0, sizeof err);
	}
	idt_info_parse((const char *)p, n, &info, &err);
	memset(&err, 0, sizeof err);
	if (idt_hints_parse((const char *)p, n, &hints, &err) == PM_OK)
		idt_hints_release(&hints);
}

/* An execution trace and the block table it is read with. */
static void idt_exec(const char *format, const uint8_t *p, size_t n, const char *to)
{
	static int fd = -1;
	size_t table = n >= 2 ? p[0] | (size_t)p[1] << 8 : 0;
	struct pm_err err = { 0 };
	char from[64];

	if (n < 2)
		return;
	if (table > n - 2)
		table = n - 2;
	if (fd < 0)
		fd = memfd_create("blk", 0);
	if (ftruncate(fd, 0) || pwrite(fd, p + 2, table, 0) != (ssize_t)table)
		return;
	snprintf(from, sizeof from, "%s:blk=/proc/self/fd/%d", format, fd);
	fmt_convert(p + 2 + table, n - 2 - table, NULL, from, NULL, NULL, &err);
	memset(&err, 0, sizeof err);
	fmt_convert(p + 2 + table, n - 2 - table, NULL, from, to, NULL, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_err err = { 0 };
	struct pm_buf out = { 0 };
	const struct pm_format *f;

	if (size < 2)
		return 0;
	for (const struct pm_format *const *k = pm_formats; *k; k++)
		if ((*k)->probe)
			(*k)->probe(data + 2, size - 2);
	idt_files(data + 2, size - 2);
	f = pm_format_find(name[data[0] % NR(name)], &err);
	if (!f || !f->read)
		return 0;
	if (!strncmp(f->name, "idt-exec", 8)) {
		/* it is written with a table of its own, which goes nowhere */
		const char *to = name[data[1] % NR(name)];

		idt_exec(f->name, data + 2, size - 2,
			 strncmp(to, "idt-exec", 8) ? to : "idt-cache64");
		return 0;
	}
	/* once for itself and once through a writer */
	fmt_convert(data + 2, size - 2, NULL, f->name, NULL, NULL, &err);
	memset(&err, 0, sizeof err);
	fmt_convert(data + 2, size - 2, NULL, f->name, name[data[1] % NR(name)], &out, &err);
	pm_buf_release(&out);
	return 0;
}
