/* SPDX-License-Identifier: MIT */
/* fuzz_branch_file.c - branch profiles: read, or refused with a message; what is read and written
 * is read again as the same */
#include <stdlib.h>
#include <string.h>

#include "analyse/branch_file.h"
#include "fuzz.h"
#include "fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_branch_file f, again;
	struct pm_buf text = { 0 }, twice = { 0 };
	struct pm_err err = { 0 };

	if (pm_branch_file_read(fuzz_file(data, size), &f, &err) != PM_OK) {
		if (!err.msg[0])
			abort();
		pm_branch_file_release(&f);
		return 0;
	}
	pm_branch_file_text(&f, &text);
	if (f.n) {
		if (pm_branch_file_read(fuzz_file(text.p, text.n), &again, &err) != PM_OK)
			abort();
		pm_branch_file_text(&again, &twice);
		if (text.n != twice.n || memcmp(text.p, twice.p, text.n))
			abort();
		pm_branch_file_add(&f, &again);
		pm_branch_file_release(&again);
	}
	pm_buf_release(&text);
	pm_buf_release(&twice);
	pm_branch_file_release(&f);
	return 0;
}
