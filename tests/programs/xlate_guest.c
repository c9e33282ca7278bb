/* SPDX-License-Identifier: MIT */
/* xlate_guest.c - functions of many shapes for the translator's tests; no libc, no start files
 *
 * guest_main(arg) calls them all and returns a checksum; guest_memory is what they write to. */
typedef unsigned long u64;
typedef unsigned int u32;
typedef unsigned char u8;

u8 guest_memory[4096];
static u64 sum;

static void mix(u64 v)
{
	sum = (sum << 7 | sum >> 57) ^ v * 0x9e3779b97f4a7c15ul;
}

__attribute__((noinline)) static u64 fib(u64 n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

__attribute__((noinline)) static int ack(int m, int n)
{
	return !m ? n + 1 : !n ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
}

__attribute__((noinline)) static u64 pick(u64 v)
{
	switch (v % 11) {
	case 0: return v + 3;
	case 1: return v * 5;
	case 2: return v ^ 0x55;
	case 3: return v >> 3;
	case 4: return v << 5;
	case 5: return ~v;
	case 6: return v % 77;
	case 7: return -v;
	case 8: return v | 0xf00;
	case 9: return v & 0xff0;
	}
	return 1;
}

static u64 op_add(u64 a, u64 b) { return a + b; }
static u64 op_sub(u64 a, u64 b) { return a - b; }
static u64 op_mul(u64 a, u64 b) { return a * b; }
static u64 op_div(u64 a, u64 b) { return a / (b | 1); }
static u64 (*volatile ops[])(u64, u64) = { op_add, op_sub, op_mul, op_div };

__attribute__((noinline)) static void sort(int *v, int n)
{
	for (int i = 1; i < n; i++) {
		int x = v[i], j = i;

		while (j > 0 && v[j - 1] > x) {
			v[j] = v[j - 1];
			j--;
		}
		v[j] = x;
	}
}

__attribute__((noinline)) static double poly(double x, int n)
{
	double r = 0, p = 1;

	for (int i = 0; i < n; i++) {
		r += p / (i + 1);
		p *= x;
	}
	return r;
}

__attribute__((noinline)) static void adc_chain(u64 *a, const u64 *b, long n)
{
	__asm__ volatile("clc\n1: mov (%1), %%rax\n adc %%rax, (%0)\n lea 8(%0), %0\n "
			 "lea 8(%1), %1\n"
			 " dec %2\n jnz 1b\n setc (%0)"
			 : "+r"(a), "+r"(b), "+r"(n)
			 :
			 : "rax", "memory", "cc");
}

__attribute__((noinline)) static u64 flags_kept(u64 a, u64 b)
{
	u64 r;

	__asm__ volatile("cmp %2, %1\n jmp 1f\n1: lahf\n seto %%al\n jb 2f\n jz 3f\n inc %1\n jmp "
			 "4f\n"
			 "2: jp 3f\n nop\n3: jo 4f\n jns 4f\n not %1\n4: mov %%rax, %0\n xor %1, %0"
			 : "=r"(r), "+r"(a)
			 : "r"(b)
			 : "rax", "cc");
	return r;
}

__attribute__((noinline)) static u64 loops(u64 n)
{
	u64 a = 1, t;

	__asm__ volatile("1: lea 3(%0,%0,2), %0\n loop 1b\n jrcxz 2f\n ud2\n2: mov $5, %%ecx\n"
			 "3: add %0, %0\n cmp $7, %%cl\n loopne 3b\n jecxz 4f\n nop\n4:"
			 : "+r"(a), "=c"(t) : "1"(n) : "cc");
	return a;
}

__attribute__((noinline)) static u64 far_loop(u64 n)
{
	u64 a = 0;

	__asm__ volatile("1: add $7, %0\n jmp 3f\n2: jmp 1b\n .fill 115, 1, 0x90\n3: jrcxz 4f\n "
			 "loop 2b\n4:"
			 : "+r"(a), "+c"(n)
			 :
			 : "cc");
	return a;
}

__attribute__((noinline)) static void strings(void)
{
	void *d = guest_memory + 512;
	const void *s = guest_memory;
	u64 n = 37;

	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	d = guest_memory + 700;
	n = 9;
	__asm__ volatile("rep stosq" : "+D"(d), "+c"(n) : "a"(sum) : "memory");
	d = guest_memory;
	n = 60;
	__asm__ volatile("repne scasb" : "+D"(d), "+c"(n) : "a"(7) : "memory", "cc");
	mix(n);
	n = 0;
	__asm__ volatile("repe cmpsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");
}

__attribute__((noinline)) static u64 here(void)
{
	u64 pc;

	__asm__ volatile("call 1f\n1: pop %0" : "=r"(pc));
	return pc;
}

__attribute__((noinline)) static u64 by_ret(u64 n)
{
	u64 r;

	/* a return that is a jump, and a call through memory relative to rsp */
	__asm__ volatile("lea 1f(%%rip), %%rax\n push %%rax\n ret\n ud2\n"
			 "1: lea 2f(%%rip), %%rax\n push %%rax\n call *(%%rsp)\n pop %%rcx\n jmp "
			 "3f\n"
			 "2: lea 5(%1,%1), %0\n ret $0\n3:"
			 : "=&r"(r)
			 : "r"(n)
			 : "rax", "rcx", "rdx", "memory");
	return r;
}

__attribute__((noinline)) static u64 ret_n(u64 n)
{
	u64 r;

	__asm__ volatile("push %1\n push %1\n call 1f\n jmp 2f\n1: mov 8(%%rsp), %0\n ret $16\n2:"
			 : "=&r"(r) : "r"(n) : "memory");
	return r;
}

__attribute__((noinline)) static u64 through(u64 n)
{
	/* every register as target of an indirect jump or call */
	u64 r = n;

	__asm__ volatile("lea 1f(%%rip), %%rcx\n jmp *%%rcx\n ud2\n1: lea 2f(%%rip), %%rdx\n call "
			 "*%%rdx\n"
			 "lea 2f(%%rip), %%rcx\n call *%%rcx\n"
			 "lea 2f(%%rip), %%r11\n call *%%r11\n lea 3f(%%rip), %%r13\n jmp *%%r13\n"
			 "2: inc %0\n ret\n3:"
			 : "+r"(r)
			 :
			 : "rcx", "rdx", "r11", "r13", "memory", "cc");
	return r;
}

__attribute__((noinline)) static u64 through_memory(u64 n)
{
	/* indirect jumps and calls through memory, by way of every kind of address; rcx and rdx
	 * stay what they are */
	static u64 to[4];
	u64 r = n, c = n * 3, d = 1;

	__asm__ volatile("lea 1f(%%rip), %%rax\n mov %%rax, %3\n lea 2f(%%rip), %%rax\n mov %%rax, "
			 "8+%3\n"
			 "lea 3f(%%rip), %%rax\n mov %%rax, 16+%3\n jmp *%3\n ud2\n"
			 "1: call *8+%3\n lea %3, %%rax\n call *(%%rax,%%rdx,8)\n xchg %%rax, "
			 "%%rcx\n"
			 "call *8(%%rcx)\n call *(%%rcx,%%rdx,8)\n xchg %%rax, %%rcx\n"
			 "push 8(%%rax)\n call *(%%rsp)\n add $8, %%rsp\n jmp *8(%%rax,%%rdx,8)\n "
			 "ud2\n"
			 "2: lea 7(%0,%1), %0\n sub %2, %0\n ret\n3: imul $5, %1\n"
			 : "+r"(r), "+c"(c), "+d"(d), "+m"(to)
			 :
			 : "rax", "memory", "cc");
	return r ^ c ^ d << 40;
}

__attribute__((noinline)) static u64 live_pair(u64 n)
{
	u64 a = n + 11, b = n * 13;

	/* rcx, rdx and the flags carried across calls and returns */
	__asm__ volatile("call 1f\n adc %1, %0\n jmp 2f\n1: add %0, %1\n ret\n2: sbb %0, %1\n"
			 : "+c"(a), "+d"(b) : : "memory", "cc");
	return a ^ b;
}

struct big { u64 v[20]; };

__attribute__((noinline)) static u64 by_value(struct big b)
{
	u64 r = 0;

	for (int i = 0; i < 20; i++)
		r = r * 31 + b.v[i];
	return r;
}

u64 guest_main(u64 arg)
{
	int v[40];
	u64 a[5] = { ~0ul, ~0ul, 5, ~0ul, 0 }, b[4] = { 1, 0, ~0ul, 0 };
	struct big big;
	double d;

	sum = arg;
	for (int i = 0; i < 64; i++)
		guest_memory[i] = i * 7 + arg;
	mix(fib(4 + arg % 3));
	mix(ack(2, 1));
	for (u64 i = 0; i < 12; i++)
		mix(pick(i * arg + i));
	for (int i = 0; i < 12; i++)
		mix(ops[(i * 7 + arg) & 3](sum, i + 3));
	for (int i = 0; i < 9; i++)
		v[i] = (int)(sum >> i) % 1000;
	sort(v, 9);
	for (int i = 0; i < 9; i++)
		mix(v[i]);
	d = poly(1.25 + arg, 5);
	mix(*(u64 *)&d);
	adc_chain(a, b, 4);
	for (int i = 0; i < 5; i++)
		mix(a[i]);
	for (u64 i = 0; i < 6; i++)
		mix(flags_kept(i << 62, 3ul << 62));
	mix(loops(5 + arg));
	mix(far_loop(6 + arg));
	strings();
	mix(here());
	mix(by_ret(arg));
	mix(ret_n(arg + 99));
	mix(through(arg));
	mix(through_memory(arg));
	mix(live_pair(arg));
	for (int i = 0; i < 20; i++)
		big.v[i] = sum + i;
	mix(by_value(big));
	for (int i = 0; i < 4096; i += 128)
		sum = sum * 33 + guest_memory[i];
	return sum;
}
