/* SPDX-License-Identifier: MIT */
/* flags: -static -no-pie
 *
 * halves.c - registers of which 32 bits tell the rest, and such of which they do not: after each of
 * many instructions, whatever registers held before, one byte is addressed through each of them in
 * turn. */
#include <stdio.h>

static unsigned char byte;

#define THROUGH(reg) "mov %%r8, %%rbx; sub %%" reg ", %%rbx; addb $1, (%%rbx, %%" reg "); "
#define ALL THROUGH("rax") THROUGH("rcx") THROUGH("rdx") THROUGH("rsi")
#define TRY(what) do { \
	for (unsigned i = 0; i < sizeof seed / sizeof *seed; i++) { \
		unsigned long a = seed[i], c = seed[(i + 1) % 7], d = seed[(i + 3) % 7], \
		s = seed[(i + 5) % 7]; \
		__asm__ volatile("mov %4, %%r8; movd %%ecx, %%xmm0; " what "; " ALL what "; " ALL \
				 : "+a"(a), "+c"(c), "+d"(d), "+S"(s) : "r"(&byte) \
				 : "rbx", "rdi", "r8", "xmm0", "cc", "memory"); \
		sum = sum * 31 + (a ^ c ^ d ^ s); \
	} \
} while (0)

int main(void)
{
	static const unsigned long seed[7] = {
		0x123456789abcdef0, 0xffffffff80000000, 0x7fffffff, 0, 0x8000000000000001,
		0xfedcba9800000020, 5,
	};
	unsigned long sum = 0;

	TRY("mov %%eax, %%ecx");
	TRY("mov %%eax, %%eax");
	TRY("mov %%rax, %%rcx; mov %%ecx, %%edx");
	TRY("movslq %%eax, %%rcx");
	TRY("movslq %%ecx, %%rcx");
	TRY("cltq");
	TRY("mov %%ecx, %%eax; movslq %%eax, %%rdx; mov %%edx, %%esi");
	TRY("movslq %%ecx, %%rax; mov %%eax, %%edx; movslq %%edx, %%rsi");
	TRY("lea 5(%%rax), %%ecx; lea 5(%%rax), %%edx");
	TRY("lea -3(%%eax), %%ecx");
	TRY("lea -3(%%eax), %%rcx");
	TRY("add $4, %%rax; lea -4(%%rax), %%ecx");
	TRY("add $7, %%eax; sub $7, %%eax");
	TRY("sub $-9, %%ecx; mov %%ecx, %%edx");
	TRY("inc %%eax; dec %%ecx; dec %%eax");
	TRY("add %%ecx, %%eax");
	TRY("xor %%eax, %%eax; mov %%eax, %%ecx; movslq %%eax, %%rdx");
	TRY("sub %%rcx, %%rcx; lea -1(%%rcx), %%eax; movslq %%eax, %%rdx");
	TRY("mov $-5, %%eax; movslq %%eax, %%rcx; mov %%rcx, %%rdx");
	TRY("mov $-5, %%rax; mov %%eax, %%ecx");
	TRY("movabs $0x1122334455667788, %%rax; mov %%eax, %%ecx");
	TRY("lea 16(%%rip), %%rax; lea 16(%%rip), %%ecx");
	TRY("movzbl %%al, %%eax; movzwl %%cx, %%edx");
	TRY("movsbl %%al, %%eax; movswl %%cx, %%edx");
	TRY("movsbq %%cl, %%rax; movswq %%dx, %%rsi; mov %%eax, %%ecx");
	TRY("mov %%eax, %%ecx; mov %%dx, %%cx; mov %%sil, %%al");
	TRY("shl $3, %%eax; shr $1, %%ecx; sar $2, %%edx");
	TRY("mov $32, %%cl; shl %%cl, %%eax; shr %%cl, %%edx; rol %%cl, %%esi");
	TRY(".byte 0xc1, 0xc0, 0; .byte 0xc1, 0xe2, 0x20");
	TRY("cmp %%eax, %%ecx; cmova %%ecx, %%eax; cmovbe %%edx, %%esi");
	TRY("xor %%edi, %%edi; bsf %%edi, %%eax; bsr %%edi, %%ecx");
	TRY("cmpxchg %%edx, %%ecx");
	TRY("mov %%eax, %%ecx; cmpxchg %%edx, %%ecx");
	TRY("xchg %%eax, %%ecx; xadd %%edx, %%esi");
	TRY("mul %%ecx");
	TRY("imul %%ecx, %%eax; imul $3, %%ecx, %%edx");
	TRY("cltd");
	TRY("xor %%edx, %%edx; mov $3, %%edi; div %%edi");
	TRY("bswap %%eax; not %%ecx; neg %%edx");
	TRY("and $0xff, %%eax; or $1, %%ecx; and $15, %%rdx");
	TRY("adc %%eax, %%ecx; sbb %%edx, %%esi");
	TRY("movd %%xmm0, %%eax; movq %%xmm0, %%rcx; pmovmskb %%xmm0, %%edx");
	TRY("push %%rax; pop %%rcx; mov %%ecx, %%edx");
	TRY("sete %%al; setne %%cl; lahf");
	TRY("mov (%%r8), %%al; movzbl (%%r8), %%ecx; movsbl (%%r8), %%edx");
	TRY("mov %%eax, %%eax; lea 1(%%rax), %%rcx; mov %%ecx, %%edx; add $-1, %%rcx");
	printf("%lx\n", sum);
	return 0;
}
