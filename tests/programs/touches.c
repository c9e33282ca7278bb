/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie -fno-pie -mno-red-zone
 *
 * touches.c - a deterministic program of instructions whose references are hard to tell: gathers
 * and scatters under masks, x87 and xsave areas, bit strings; string instructions, gathers and
 * accesses across a page that fault on their way, and are repaired or left. */
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static sigjmp_buf out;
static char *area;	/* twelve pages; of two of them nobody may touch anything at first */
static volatile int leave, faults;	/* leave: at the fault that it counts down to */
static uint8_t state[16384] __attribute__((aligned(64)));

static void fault(int sig, siginfo_t *si, void *context)
{
	if (++faults > 2000)
		_exit(1);
	if (leave && !--leave)
		siglongjmp(out, 1);
	mprotect((void *)((uintptr_t)si->si_addr & ~(PAGE - 1ul)), PAGE, PROT_READ | PROT_WRITE);
}

/* With all faults repaired, with the first one left, the first one repaired and the second one
 * left, and without any. */
#define EACH_WAY(asm_) do {								\
	for (volatile int way = 0; way < 4; way++) {						\
		leave = way % 3;							\
		mprotect(area + PAGE, 2 * PAGE, way == 3 ? PROT_READ | PROT_WRITE : PROT_NONE);	\
		if (!sigsetjmp(out, 1))							\
			asm_;								\
	}										\
} while (0)

#define STRING(how, src, dst, count) do {				\
	char *from = src, *to = dst;					\
	uint64_t n = count, a = 0;					\
	__asm__ volatile(how "\n\tcld" : "+S"(from), "+D"(to), "+c"(n),	\
		"+a"(a) :: "memory", "cc");				\
} while (0)

static void strings(void)
{
	char *mid = area + PAGE - 100, *end = area + 2 * PAGE + 100;

	EACH_WAY(STRING("rep movsb", area, mid, 300));
	EACH_WAY(STRING("rep movsq", mid, area, 40));
	EACH_WAY(STRING("rep stosl", area, mid, 50));
	EACH_WAY(STRING("std; rep stosw", area, end, 200));
	EACH_WAY(STRING("std; rep movsb", end, area + 300, 300));
	EACH_WAY(STRING("repe cmpsb", mid, area, 300));
	EACH_WAY(STRING("repe scasb", mid, mid, 300));
	EACH_WAY(STRING("rep lodsb", mid, mid, 300));
	EACH_WAY(STRING("repne scasw", mid, mid, 0));
	EACH_WAY(STRING("rep stosb", area, mid, PAGE + 200));
	EACH_WAY(STRING("rep movsl", area + PAGE, end, 30));
	EACH_WAY(STRING("movsq; movsb; stosl; lodsw; cmpsb; scasl", mid + 90, mid + 90, 0));
}

static void crossing(void)
{
	char *edge = area + PAGE;

	EACH_WAY(__asm__ volatile("movq %%rax, (%0)" :: "r"(edge - 3) : "memory"));
	EACH_WAY(__asm__ volatile("addl $1, (%0)" :: "r"(edge - 1) : "memory", "cc"));
	EACH_WAY(__asm__ volatile("movups (%0), %%xmm0; movups %%xmm0, (%0)" ::"r"(edge - 9)
				  : "memory", "xmm0"));
	EACH_WAY(__asm__ volatile("fnsave (%0); frstor (%0)" :: "r"(edge - 50) : "memory"));
	EACH_WAY(__asm__ volatile("fxsave (%0); fxrstor (%0)" :: "r"(edge - 256) : "memory"));
	EACH_WAY(__asm__ volatile("fldpi; fstpt (%0)" :: "r"(edge - 5) : "memory"));
	EACH_WAY(__asm__ volatile("fninit; movq %%rsp, %%rbx; movq %0, %%rsp; popq %%rax; popq "
				  "%%rax; movq %%rbx, %%rsp" ::"r"(edge - 12)
				  : "memory", "rax", "rbx"));
}

static void x87(void)
{
	__asm__ volatile("fninit; fld1; fldpi; fldz\n\t"
			 "fnstenv (%0); fldenv (%0); fstpt 32(%0); fldt 32(%0); fistpll 48(%0); "
			 "fildl 48(%0)\n\t"
			 "fbstp 64(%0); fbld 64(%0); fistps 80(%0); fsts 84(%0); fstl 88(%0); "
			 "fnstcw 96(%0)\n\t"
			 "fldcw 96(%0); fnstsw 98(%0); fnsave 128(%0); frstor 128(%0); data16 "
			 "fnsave 128(%0); fninit" ::"r"(state)
			 : "memory");
	__asm__ volatile("fxsave (%0); fxrstor (%0); fxsave64 (%0); stmxcsr 512(%0); ldmxcsr "
			 "512(%0)" ::"r"(state)
			 : "memory");
}

static void others(void)
{
	static uint64_t bits[64], pair[2] __attribute__((aligned(16)));
	static const uint8_t table[256] = { 7 };

	for (long k = -70; k < 140; k += 69)
		__asm__ volatile("btsq %0, 256(%1); btrl %k0, 256(%1); btw %w0, 256(%1); btcq %0, "
				 "%2; btq $5, (%1)" ::"r"(k),
				 "r"(bits), "m"(bits[32])
				 : "memory", "cc");
	__asm__ volatile("movl $3, %%eax; xlatb; xlatb" :: "b"(table) : "rax");
	__asm__ volatile("pushq (%%rsp); popq 8(%%rsp); pushq %%rsp; popq %%rsp; pushfq; popfq; "
			 "pushw $3; popw %%ax\n\t"
			 "pushq $1; popq (%%rsp)\n\t"
			 "enter $32, $0; leave; pushq $0; call 1f; jmp 2f\n1:\tret $8\n2:" ::
				 : "rax", "memory", "cc");
	__asm__ volatile("lock cmpxchg16b (%0); cmpxchg8b (%0); lock xaddq %%rax, (%0); xchgq "
			 "%%rax, (%0)\n\t"
			 "cmpxchgq %%rbx, (%0); lock decq (%0); notb (%0); negw (%0); sete (%0); "
			 "shll (%0); shldq $3, %%rax, (%0)" ::"r"(pair),
			 "a"(0), "b"(1), "c"(2), "d"(0)
			 : "memory", "cc");
	__asm__ volatile("movl %%eax, (%k0); addr32 movb (%k0,%%ecx,2), %%al; movq %%fs:0, %%rax; "
			 "movntiq %%rax, (%0)\n\t"
			 "movnti %%eax, (%0); prefetcht0 (%0); nopw 8(%0); clflush (%0); movbe "
			 "%%rax, (%0)\n\t"
			 "movhps (%0), %%xmm0; movlpd %%xmm0, (%0); pextrw $1, %%xmm0, (%0); "
			 "maskmovdqu %%xmm0, %%xmm1" ::"r"(state),
			 "c"(1), "D"(state)
			 : "rax", "memory", "xmm0", "xmm1");
}

#define XSAVES(mask)                                                                             \
	__asm__ volatile("xsave (%0); xrstor (%0); xsave64 (%0)" ::"r"(state), "a"(mask), "d"(0) \
			 : "memory")

__attribute__((target("avx2"))) static void xsaves(void)
{
	unsigned a, b, c, d;

	static const int asked[] = { 7, 2, 0xee, ~0 };

	for (int i = 0; i < 3; i++) {
		memset(state + 512, 0, 64);
		XSAVES(asked[i]);
	}
	__cpuid_count(0xd, 1, a, b, c, d);
	for (int i = 0; i < 4; i++) {
		memset(state + 512, 0, 64);
		if (a & 1)
			__asm__ volatile("xsaveopt (%0)" ::"r"(state), "a"(asked[i]), "d"(0)
					 : "memory");
		memset(state + 512, 0, 64);
		if (a & 2)
			__asm__ volatile("xsavec (%0); xrstor (%0)" ::"r"(state), "a"(asked[i]),
					 "d"(0)
					 : "memory");
	}
}

static int32_t at32[16] __attribute__((aligned(64)));
static int64_t at64[8] __attribute__((aligned(64)));
static int32_t mask32[8] __attribute__((aligned(32)));
static int64_t mask64[4] __attribute__((aligned(32)));

/* @m: mask of 8 elements */
__attribute__((target("avx2"))) static void gather(unsigned m)
{
	for (int i = 0; i < 8; i++)
		mask32[i] = m >> i & 1 ? -1 - i : i;
	for (int i = 0; i < 4; i++)
		mask64[i] = m >> i & 1 ? -1 - i : i;
#define G(insn, at, mask)                                                    \
	__asm__ volatile("vmovdqu (%1), %%ymm1; vmovdqu (%2), %%ymm2; " insn \
			 "; vzeroupper" ::"r"(area),                         \
			 "r"(at), "r"(mask)                                  \
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm9", "xmm11")
	G("vpgatherdd %%ymm2, (%0,%%ymm1,4), %%ymm0; vpaddd %%ymm0, %%ymm0, %%ymm0", at32, mask32);
	G("vgatherdps %%xmm2, 12(%0,%%xmm1,1), %%xmm0", at32, mask32);
	G("vpgatherdq %%ymm2, (%0,%%xmm1,8), %%ymm0", at32, mask64);
	G("vgatherdpd %%xmm2, -4(%0,%%xmm1,2), %%xmm0", at32, mask64);
	G("vpgatherqd %%xmm2, (%0,%%ymm1,4), %%xmm0", at64, mask32);
	G("vgatherqps %%xmm2, (%0,%%xmm1,4), %%xmm0", at64, mask32);
	G("vpgatherqq %%ymm2, (%0,%%ymm1,1), %%ymm0", at64, mask64);
	G("vmovdqa %%ymm1, %%ymm9; vmovdqa %%ymm2, %%ymm11; vgatherqpd %%ymm11, (%0,%%ymm9,1), "
	  "%%ymm0; "
	  "vmovdqa %%ymm2, %%ymm11; vgatherqpd %%ymm11, (%0,%%ymm9,1), %%ymm0",
	  at64, mask64);
	G("movl %k0, %%eax; vpgatherdd %%ymm2, (%%eax,%%ymm1,4), %%ymm0", at32, mask32);
}

__attribute__((target("avx512f,avx512vl"))) static void scatter(unsigned m)
{
#define S(insn, at) __asm__ volatile(							\
	"vmovdqu64 (%1), %%zmm1; vmovdqu64 (%1), %%zmm23; kmovw %2, %%k1; "		\
	"kmovw %2, %%k5; " insn "; vzeroupper"						\
	:: "r"(area), "r"(at), "r"(m) : "memory", "xmm0", "xmm1", "xmm2", "xmm23",	\
	"k1", "k5")
	S("vpgatherdd (%0,%%zmm1,4), %%zmm0%{%%k1%}; vpaddd %%zmm0, %%zmm0, %%zmm0", at32);
	S("vpgatherdd (%0,%%ymm23,4), %%ymm2%{%%k5%}", at32);
	S("vgatherdps 4(%0,%%xmm23,4), %%xmm2%{%%k5%}", at32);
	S("vpgatherdq (%0,%%ymm1,8), %%zmm0%{%%k1%}", at32);
	S("vgatherqps (%0,%%zmm23,1), %%ymm0%{%%k1%}", at64);
	S("vpgatherqq 64(%0,%%zmm1,1), %%zmm0%{%%k5%}", at64);
	S("vpscatterdd %%zmm0, (%0,%%zmm1,4)%{%%k1%}", at32);
	S("vscatterqpd %%zmm0, (%0,%%zmm23,1)%{%%k5%}; vpgatherdd (%0,%%zmm1,4), %%zmm0%{%%k1%}",
	  at64);
	S("vscatterqps %%xmm0, (%0,%%ymm23,1)%{%%k5%}", at64);
	S("vpscatterdq %%ymm0, (%0,%%xmm1,4)%{%%k5%}", at32);
}

static void vectors(void)
{
	static const unsigned masks[] = { 0xffff, 0, 0x5a5a, 0x8001, 0x00f0 };

	for (int i = 0; i < 16; i++)
		at32[i] = (i * 7 + 3) * (i & 1 ? 5 : 1) % 500;
	for (int i = 0; i < 8; i++)
		at64[i] = (i * 911 + 5) % 4000;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 5; i++) {
			if (__builtin_cpu_supports("avx2"))
				EACH_WAY(gather(masks[i]));
			if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
				EACH_WAY(scatter(masks[i]));
		}
		/* some elements in the page that faults, the first one not */
		at32[2] = (PAGE + 40) / 4;
		at32[6] = (2 * PAGE + 400) / 4;
		at64[1] = 2 * PAGE + 8;
		at64[3] = PAGE - 4;
	}
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = fault, .sa_flags = SA_NODEFER | SA_SIGINFO };

	sigaction(SIGSEGV, &sa, NULL);
	/* below 4 GiB, for addresses of 32 bits */
	area = mmap((void *)0x30000000, 12 * PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	strings();
	crossing();
	x87();
	others();
	xsaves();
	vectors();
	printf("%d faults\n", faults);
	return 0;
}
