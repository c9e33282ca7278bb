/* SPDX-License-Identifier: MIT */
/* fsbase.c - a thread pointer that the program moves itself, between two areas: references through
 * fs go elsewhere from then on. "fsbase here" says whether the processor has wrfsbase and the
 * kernel lets programs use it. (Null selectors do not serve: where there is no wrfsbase the next
 * switch of threads may bring the old base back.) */
#include "self_check.h"
#include <asm/prctl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#ifndef HWCAP2_FSGSBASE
#define HWCAP2_FSGSBASE 2
#endif

static uint64_t area[2][64];

/* What happens with the other base is one piece: the compiler's own code relies on its own. */
#define USE "mov %%fs:8, %[r]\n\tmov %[r], %%fs:16\n\taddq $1, %%fs:24\n\tpush "	\
	"%%fs:16\n\tpop %%fs:32\n\t"							\
	    "mov $40, %%ecx\n\tmov %[r], %%fs:(%%rcx)\n\t"

static int good(const uint64_t *a, uint64_t v, uint64_t times)
{
	return a[1] == v && a[2] == v && a[3] == times && a[4] == v && a[5] == v;
}

int main(int argc, char **argv)
{
	const int here = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
	uint64_t old, r;

	if (argc > 1 && !strcmp(argv[1], "here")) {
		if (!here)
			puts("the processor or the kernel has no wrfsbase for programs");
		return !here;
	}
	CHECK(!syscall(SYS_arch_prctl, ARCH_GET_FS, &old));
	area[0][1] = 11;
	area[1][1] = 22;
	for (int i = 1; i <= 100; i++) {
		__asm__ volatile("wrfsbase %[a]\n\t" USE "wrfsbase %[b]\n\t" USE "wrfsbase %[old]"
				 : [r] "=&r"(r)
				 : [a] "r"(area[0]), [b] "r"(area[1]), [old] "r"(old)
				 : "rcx", "memory", "cc");
		CHECK(r == 22 && good(area[0], 11, (uint64_t)i) && good(area[1], 22, (uint64_t)i));
	}
	SECTION("wrfsbase: good");
	return 0;
}
