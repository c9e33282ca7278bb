/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie -fno-pie
 *
 * gathers.c - gathers and scatters under masks in 32-bit code; some fault on their way, and are
 * repaired */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static char *area;
static int32_t at32[16] = { 1, 30, 4097, 20, -1, 7, 4099, 5, 9, 4200, 11, 12, 13, 14, 15, 16 };
static int64_t at64[8] = { 3, 4100, 8, 4300, 5, 6, 4400, 2 };
static int32_t mask[8] = { -1, -1, -1, 0, -1, 0, -1, -1 };

static void fault(int sig)
{
	mprotect(area + 4096, 4096, PROT_READ | PROT_WRITE);
}

#define G(insn)                                                                                    \
	mprotect(area + 4096, 4096, PROT_NONE);                                                    \
	__asm__ volatile("vmovdqu (%1), %%ymm1; vmovdqu (%2), %%ymm3; vmovdqu (%3), %%ymm2; " insn \
			 "; vzeroupper" ::"r"(area),                                               \
			 "r"(at32), "r"(at64), "r"(mask)                                           \
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm3")
#define S(insn)                                                                                  \
	mprotect(area + 4096, 4096, PROT_NONE);                                                  \
	__asm__ volatile("vmovdqu64 (%1), %%zmm1; vmovdqu64 (%2), %%zmm3; kmovw %3, %%k5; " insn \
			 "; vzeroupper" ::"r"(area),                                             \
			 "r"(at32), "r"(at64), "r"(0x56d7)                                       \
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "k5")

__attribute__((target("avx2"))) static void gather(void)
{
	G("vpgatherdd %%ymm2, 4(%0,%%ymm1,1), %%ymm0");
	G("vgatherdpd %%xmm2, 8(%0,%%xmm1,1), %%xmm0");
	G("vpgatherqd %%xmm2, (%0,%%ymm3,1), %%xmm0");
	G("vpgatherqq %%ymm2, (%0,%%ymm3,1), %%ymm0");
}

__attribute__((target("avx512f,avx512vl"))) static void scatter(void)
{
	S("vpgatherdd 4(%0,%%zmm1,1), %%zmm0%{%%k5%}");
	S("vpscatterdd %%zmm0, 4(%0,%%zmm1,1)%{%%k5%}");
	S("vgatherqps (%0,%%ymm3,1), %%xmm0%{%%k5%}");
	S("vscatterqpd %%zmm0, 8(%0,%%zmm3,1)%{%%k5%}");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = fault };

	sigaction(SIGSEGV, &sa, NULL);
	area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (__builtin_cpu_supports("avx2"))
		gather();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		scatter();
	return 0;
}
