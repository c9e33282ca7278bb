/* SPDX-License-Identifier: MIT */
/* vector.c - x87, MMX, SSE, AVX and AVX-512 state across calls, system calls, signals, faults */
#include <cpuid.h>
#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include "self_check.h"

static volatile sig_atomic_t ticks;
static uint8_t before[64 * 32 + 64], after[64 * 32 + 64];
static char *page;

static void spoil(int sig)
{
	ticks++;
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0; pcmpeqd %%xmm7, %%xmm7; pcmpeqd %%xmm15, "
			 "%%xmm15\n\t"
			 "fninit; fldpi; fldl2e" ::
				 : "xmm0", "xmm7", "xmm15");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm15");
	if (sig == SIGSEGV)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* What happens between setting all registers and reading them: a system call that delivers a
 * signal, a fault, a spin long enough for the timer. No C code in between. */
#define TROUBLE \
	"movl $39, %%eax\n\tsyscall\n\t"						\
	"movl %%eax, %%edi\n\tmovl $10, %%esi\n\tmovl $62, %%eax\n\tsyscall\n\t"	\
	"movq %[page], %%rax\n\tmovb $1, (%%rax)\n\t"					\
	"movl $200000, %%ecx\n9:\tdecl %%ecx\n\tjnz 9b\n\t"

#define CLOBBERS "rax", "rcx", "rdx", "rdi", "rsi", "r11", "memory", "cc"

#define EACH16(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7) \
	M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)
#define EACH32(M) EACH16(M) M(16) M(17) M(18) M(19) M(20) M(21) M(22) M(23) \
	M(24) M(25) M(26) M(27) \
	M(28) M(29) M(30) M(31)

#define LOADX(n) "movups " #n "*64(%[from]), %%xmm" #n "\n\t"
#define SAVEX(n) "movups %%xmm" #n ", " #n "*64(%[to])\n\t"
#define LOADY(n) "vmovups " #n "*64(%[from]), %%ymm" #n "\n\t"
#define SAVEY(n) "vmovups %%ymm" #n ", " #n "*64(%[to])\n\t"
#define LOADZ(n) "vmovups " #n "*64(%[from]), %%zmm" #n "\n\t"
#define SAVEZ(n) "vmovups %%zmm" #n ", " #n "*64(%[to])\n\t"

static void arm(void)
{
	CHECK(mprotect(page, 4096, PROT_NONE) == 0);
	for (size_t i = 0; i < sizeof before; i++)
		before[i] = (uint8_t)(i * 37 + i / 64 + 11);
	memset(after, 0, sizeof after);
}

static int same(int n, size_t width)
{
	for (int i = 0; i < n; i++)
		if (memcmp(before + i * 64, after + i * 64, width))
			return 0;
	return 1;
}

/* xsave and friends by the program itself */
static void save_and_restore(void)
{
	unsigned a, b, c, d;

	__cpuid(1, a, b, c, d);
	if (c & bit_OSXSAVE) {
		static uint8_t area[16384] __attribute__((aligned(64)));
		uint32_t lo, hi;

		__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
		CHECK((lo & 3) == 3);
		memset(area, 0, sizeof area);
		__asm__ volatile("movups (%1), %%xmm5\n\txsave (%0)\n\tpxor %%xmm5, "
				 "%%xmm5\n\txrstor (%0)\n\t"
				 "movups %%xmm5, (%2)" ::"r"(area),
				 "r"(before), "r"(after), "a"(lo), "d"(hi)
				 : "xmm5", "memory");
		CHECK(!memcmp(before, after, 16) && !memcmp(before, area + 160 + 5 * 16, 16));
		__asm__ volatile("fxsave (%0)" :: "r"(area) : "memory");
	}
}

static void locked_operations(void)
{
	__attribute__((aligned(16))) uint64_t m[2] = { 1, 2 };
	uint64_t lo = 1, hi = 2;
	uint8_t ok;
	int x = 5, y = 7;

	__asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
			 : "=q"(ok), "+m"(m), "+a"(lo), "+d"(hi)
			 : "b"(3ull), "c"(4ull)
			 : "cc");
	CHECK(ok && m[0] == 3 && m[1] == 4);
	__asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
			 : "=q"(ok), "+m"(m), "+a"(lo), "+d"(hi)
			 : "b"(9ull), "c"(9ull)
			 : "cc");
	CHECK(!ok && lo == 3 && hi == 4 && m[0] == 3);
	__asm__ volatile("lock xadd %0, %1\n\tlock incl %1\n\txchg %0, %1"
			 : "+r"(x), "+m"(y)::"cc");
	CHECK(x == 13 && y == 7);
}

int main(void)
{
	struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction sa = { .sa_handler = spoil, .sa_flags = SA_RESTART };

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);

	for (int round = 0; round < 20; round++) {
		arm();
		__asm__ volatile(EACH16(LOADX) TROUBLE EACH16(SAVEX)::[from] "r"(before),
				 [to] "r"(after), [page] "m"(page)
				 : CLOBBERS, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
				   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
				   "xmm14", "xmm15");
		CHECK(same(16, 16));
	}
	SECTION("xmm: kept");
	if (__builtin_cpu_supports("avx")) {
		for (int round = 0; round < 20; round++) {
			arm();
			__asm__ volatile(EACH16(LOADY) TROUBLE EACH16(
						 SAVEY) "vzeroupper" ::[from] "r"(before),
					 [to] "r"(after), [page] "m"(page)
					 : CLOBBERS, "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
					   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
					   "xmm12", "xmm13", "xmm14", "xmm15");
			CHECK(same(16, 32));
		}
	}
	SECTION("ymm: kept");
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) {
		for (int round = 0; round < 20; round++) {
			uint64_t k1 = 0x123456789abcdef0 + (unsigned)round, k7 = ~k1, r1, r7;

			arm();
			__asm__ volatile(EACH32(LOADZ) "kmovq %[k1], %%k1\n\tkmovq %[k7], %%k7\n\t"
					 TROUBLE EACH32(SAVEZ)
					 "kmovq %%k1, %[r1]\n\tkmovq %%k7, %[r7]\n\tvzeroupper"
					 : [r1] "=&r"(r1), [r7] "=&r"(r7)
					 : [from] "r"(before), [to] "r"(after), [page] "m"(page),
					   [k1] "r"(k1), [k7] "r"(k7) : CLOBBERS);
			CHECK(same(32, 64) && r1 == k1 && r7 == k7);
		}
	}
	SECTION("zmm, masks: kept");

	for (int round = 0; round < 20; round++) {
		long double out[8];
		uint16_t cw = 0x037f | 0x0c00, cw2 = 0;		/* round towards zero */
		uint32_t mx = 0x7f80, mx2 = 0;

		arm();
		__asm__ volatile("fninit; fldcw %[cw]; ldmxcsr %[mx]\n\t"
				 "fld1; fldpi; fldl2t; fldl2e; fldln2; fldlg2; fldz; "
				 "fld1\n\t" TROUBLE
				 "fstpt (%[o]); fstpt 16(%[o]); fstpt 32(%[o]); fstpt 48(%[o])\n\t"
				 "fstpt 64(%[o]); fstpt 80(%[o]); fstpt 96(%[o]); fstpt "
				 "112(%[o])\n\t"
				 "fnstcw %[cw2]; stmxcsr %[mx2]; fninit"
				 : [cw2] "=m"(cw2), [mx2] "=m"(mx2)
				 : [cw] "m"(cw), [mx] "m"(mx), [o] "r"(out), [page] "m"(page)
				 : CLOBBERS);
		__asm__ volatile("ldmxcsr %0" :: "m"((uint32_t){ 0x1f80 }));
		CHECK(cw2 == cw && (mx2 & 0xffc0) == (mx & 0xffc0));
		CHECK(out[0] == 1 && out[1] == 0 && out[7] == 1 && out[6] > 3.14L &&
		      out[6] < 3.15L);
	}
	SECTION("x87 stack, control words: kept");

	for (int round = 0; round < 5; round++) {
		uint64_t m[2] = { 0x1111222233334444, 0x5555666677778888 }, r[2] = { 0, 0 };

		arm();
		__asm__ volatile("movq (%[m]), %%mm0; movq 8(%[m]), %%mm7\n\t" TROUBLE
				 "movq %%mm0, (%[r]); movq %%mm7, 8(%[r]); emms"
				 :: [m] "r"(m), [r] "r"(r), [page] "m"(page) : CLOBBERS);
		CHECK(r[0] == m[0] && r[1] == m[1]);
	}
	SECTION("mmx: kept");
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);

	save_and_restore();
	SECTION("xsave, xrstor: good");
	locked_operations();
	SECTION("locked operations: good");
	return 0;
}
