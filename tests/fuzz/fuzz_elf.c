/* SPDX-License-Identifier: MIT */
/* fuzz_elf.c - the header check, and the symbol reader behind it, on any bytes */
#include <stdlib.h>
#include <string.h>

#include "elf/elf.h"
#include "elf/symbols.h"
#include "fuzz.h"

const unsigned fuzz_inputs = 20000;

static uint64_t sum;			/* what is found must be readable: add it up */

static void read_all(const char *s)
{
	while (s && *s)
		sum += (unsigned char)*s++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_elf_info info;
	struct pm_err err = { 0 };
	struct pm_elf_range *v;
	struct pm_elf *e;
	char line[512];
	size_t n;

	if (pm_elf_check_memory(data, size, "fuzz", &info, &err)) {
		if (!err.msg[0])
			abort();		/* an error without a word */
		pm_err_format(&err, line, sizeof line);
		read_all(line);
	} else {
		if (!info.script && !info.nseg)
			abort();
		read_all(info.interp);
		read_all(info.build_id);
	}
	pm_elf_info_release(&info);

	memset(&err, 0, sizeof err);
	e = pm_elf_open_memory(data, size, "fuzz", &err);
	if (!e)
		return 0;
	n = pm_elf_functions(e, &v);
	for (size_t i = 0; i < n; i++) {
		struct pm_elf_function f;

		if (i && v[i].lo <= v[i - 1].lo)
			abort();
		if (i < 64 && pm_elf_function_at(e, v[i].lo, &f)) {
			if (f.hi <= v[i].lo || f.lo > v[i].lo)
				abort();
			read_all(pm_elf_demangle(e, f.name));
		}
	}
	free(v);
	for (uint64_t a = 0; a < 0x10000; a += 0x333) {
		const char *file;
		unsigned no;

		if (pm_elf_line_at(e, a, &file, &no))
			read_all(file);
	}
	pm_elf_close(e);
	return 0;
}
