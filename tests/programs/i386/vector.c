/* SPDX-License-Identifier: MIT */
/* flags: -msse2 -no-pie -fno-pie */
/* vector.c - x87, MMX, SSE and AVX state across system calls, signals and faults */
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "self_check.h"

static uint8_t before[8 * 64], after[8 * 64];
char *page;

static void spoil(int sig)
{
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7\n\tfninit; fldpi; fldl2e"
			 ::: "xmm0", "xmm7");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm7");
	if (sig == SIGSEGV)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* What happens between setting all registers and reading them: a system call that delivers a
 * signal, a fault, a spin long enough for the timer. No C code in between. */
#define TROUBLE \
	"movl $20, %%eax\n\tint $0x80\n\tmovl %%eax, %%ebx\n\tmovl $10, %%ecx\n\t"	\
	"movl $37, %%eax\n\tint $0x80\n\tmovl page, %%eax\n\tmovb $1, (%%eax)\n\t"	\
	"movl $200000, %%ecx\n9:\tdecl %%ecx\n\tjnz 9b\n\t"
#define REGS(v) : "S"(before), "D"(v) : "eax", "ebx", "ecx", "edx", "memory", "cc", \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"

#define EACH(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define LOADX(n) "movups " #n "*64(%%esi), %%xmm" #n "\n\t"
#define SAVEX(n) "movups %%xmm" #n ", " #n "*64(%%edi)\n\t"
#define LOADY(n) "vmovups " #n "*64(%%esi), %%ymm" #n "\n\t"
#define SAVEY(n) "vmovups %%ymm" #n ", " #n "*64(%%edi)\n\t"

static void arm(void)
{
	CHECK(mprotect(page, 4096, PROT_NONE) == 0);
	for (size_t i = 0; i < sizeof before; i++)
		before[i] = (uint8_t)(i * 37 + i / 64 + 11);
	memset(after, 0, sizeof after);
}

static int same(size_t width)
{
	for (int i = 0; i < 8; i++)
		if (memcmp(before + i * 64, after + i * 64, width))
			return 0;
	return 1;
}

int main(void)
{
	struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction sa = { .sa_handler = spoil, .sa_flags = SA_RESTART };

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int kind = 0; kind < 2; kind++) {
		if (kind) {			/* frames with siginfo are of another shape */
			sa.sa_flags |= SA_SIGINFO;
			sa.sa_sigaction = (void (*)(int, siginfo_t *, void *))(void *)spoil;
		}
		sigaction(SIGUSR1, &sa, NULL);
		sigaction(SIGSEGV, &sa, NULL);
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &it, NULL);
		for (int round = 0; round < 20; round++) {
			arm();
			__asm__ volatile(EACH(LOADX) TROUBLE EACH(SAVEX) : REGS(after));
			CHECK(same(16));
		}
		SECTION("xmm: kept");
		for (int round = 0; round < 20 && __builtin_cpu_supports("avx"); round++) {
			arm();
			__asm__ volatile(EACH(LOADY) TROUBLE EACH(SAVEY) "vzeroupper"
					 : REGS(after));
			CHECK(same(32));
		}
		SECTION("ymm: kept");
		for (int round = 0; round < 20; round++) {
			static long double out[8];
			static uint16_t cw = 0x037f | 0x0c00, cw2;	/* round towards zero */
			static uint32_t mx = 0x7f80, mx2;

			arm();
			__asm__ volatile("fninit; fldcw %[cw]; ldmxcsr %[mx]\n\t"
					 "fld1; fldpi; fldl2t; fldl2e; fldln2; fldlg2; fldz; "
					 "fld1\n\t" TROUBLE "fstpt (%%edi); fstpt 12(%%edi); fstpt "
							    "24(%%edi); fstpt 36(%%edi)\n\t"
					 "fstpt 48(%%edi); fstpt 60(%%edi); fstpt 72(%%edi); fstpt "
					 "84(%%edi)\n\t"
					 "fnstcw %[cw2]; stmxcsr %[mx2]; fninit"
					 : [cw2] "=m"(cw2), [mx2] "=m"(mx2)
					 : [cw] "m"(cw), [mx] "m"(mx), "D"(out)
					 : "eax", "ebx", "ecx", "edx", "memory", "cc");
			__asm__ volatile("ldmxcsr %0" :: "m"((uint32_t){ 0x1f80 }));
			CHECK(cw2 == cw && (mx2 & 0xffc0) == (mx & 0xffc0));
			CHECK(out[0] == 1 && out[1] == 0 && out[7] == 1 && out[6] > 3.14L &&
			      out[6] < 3.15L);
		}
		SECTION("x87 stack, control words: kept");
		for (int round = 0; round < 5; round++) {
			static uint64_t m[2] = { 0x1111222233334444, 0x5555666677778888 }, r[2];

			arm();
			__asm__ volatile("movq (%%esi), %%mm0; movq 8(%%esi), %%mm7\n\t" TROUBLE
					 "movq %%mm0, (%%edi); movq %%mm7, 8(%%edi); emms" ::"S"(m),
					 "D"(r)
					 : "eax", "ebx", "ecx", "edx", "memory", "cc");
			CHECK(r[0] == m[0] && r[1] == m[1]);
		}
		SECTION("mmx: kept");
		setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	}
	return 0;
}
