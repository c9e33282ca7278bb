/* SPDX-License-Identifier: MIT */
/* counted_library.c - calls some of pugmark's own code, for check-coverage */
#include <stdio.h>
#include <stdlib.h>

#include "base/near.h"
#include "base/number.h"
#include "base/printable.h"
#include "base/sha256.h"

int main(void)
{
	static const char *const words[] = { "annotate", "convert", "diff", "doctor", "dump", "" };
	static const char *const numbers[] = { "12", "0x1f", "64k", "1M", "x", "12q", "", "-1" };
	struct pm_nearest near = { 0 };
	char text[200], hint[PM_NEAR_HINT], sum[45];
	uint64_t v = 0;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		pm_nearest_try(&near, "anotate", words[i]);
	puts(pm_nearest_hint(&near, hint));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		printf("%d %d %llu\n", pm_parse_u64(numbers[i], &v), pm_parse_size(numbers[i], &v),
		       (unsigned long long)v);
	puts(pm_printable("a\tb\xff\xe2\x80\xae\x1b[0m \xc3\xa9", text, sizeof text));
	for (size_t i = 0; i < 130; i++) {
		pm_sha256_base64(text, i, sum);
		if (i % 40 == 0)
			puts(sum);
	}
	return 0;
}
