/* SPDX-License-Identifier: MIT */
/* user.c - the program of every nano process; its number tells what it does */
typedef unsigned u32;

enum { SYS_PUTS = 1, SYS_READ, SYS_WRITE, SYS_FLUSH, SYS_YIELD, SYS_EXIT, SYS_COUNT };

static u32 call(u32 n, u32 a, u32 b)
{
	register u32 v0 __asm__("$2") = n, a0 __asm__("$4") = a, a1 __asm__("$5") = b;

	__asm__ volatile("syscall" : "+r"(v0), "+r"(a0), "+r"(a1) : : "$3", "$6", "$7", "memory");
	return v0;
}

static char line[64];

static void say(const char *what, u32 v)
{
	char *p = line;

	while (*what)
		*p++ = *what++;
	*p++ = ' ';
	for (int i = 28; i >= 0; i -= 4)
		*p++ = "0123456789abcdef"[v >> i & 15];
	*p++ = '\n';
	*p = 0;
	call(SYS_PUTS, (u32)line, 0);
}

static u32 table[4096];
static u32 sector[128] __attribute__((aligned(512)));
static u32 code[8] __attribute__((aligned(64)));

/* memory: sieve-like strides beyond the data cache */
static u32 memory_job(void)
{
	u32 sum = 0;

	for (u32 round = 0; round < 6; round++)
		for (u32 i = 0; i < 4096; i++) {
			u32 k = (i * 1021 + round) & 4095;

			table[k] += i ^ sum;
			sum = sum * 33 + table[k & 4092];
		}
	return sum;
}

/* floating point, with unaligned loads and stores on the way */
static u32 float_job(void)
{
	double x = 1.0, sum = 0;
	float f = 0;
	unsigned char *p = (unsigned char *)table;
	u32 v;

	for (int i = 1; i < 3000; i++) {
		x = x * 1.0009765625 - (double)i / 4096;
		sum += x / (i + 0.5);
		f += (float)x;
		__builtin_memcpy(p + i, &i, 4);		/* swl, swr */
	}
	__builtin_memcpy(&v, p + 1001, 4);		/* lwl, lwr */
	return (u32)(int)(sum * 1000) ^ (u32)(int)f ^ v;
}

static u32 disk_job(void)
{
	u32 sum = 0;

	for (u32 s = 0; s < 12; s++) {
		call(SYS_READ, s, (u32)sector);
		for (u32 i = 0; i < 128; i++)
			sum = sum * 31 + sector[i];
		sector[0] = sum;
		call(SYS_WRITE, s + 16, (u32)sector);
		sector[0] = 0;
		call(SYS_READ, s + 16, (u32)sector);
		sum = sum * 3 + (sector[0] ^ sum) + s;
	}
	return sum;
}

/* code that is written, flushed and run; ll and sc; a 64-bit operation that is reserved here */
static u32 code_job(void)
{
	u32 sum = 0, lock = 0, t, ri;

	for (u32 i = 0; i < 200; i++) {
		code[0] = 0x24820000 | (i & 0x7fff);		/* addiu v0, a0, i */
		code[1] = 0x03e00008;				/* jr ra */
		code[2] = 0x00421021;				/* addu v0, v0, v0 */
		call(SYS_FLUSH, (u32)code, 16);
		sum += ((u32 (*)(u32))code)(sum);
		__asm__ volatile("1: ll %0, %1\n\taddiu %0, %0, 3\n\tsc %0, %1\n\tbeqzl %0, "
				 "1b\n\tnop"
				 : "=&r"(t), "+m"(lock)
				 :
				 : "memory");
	}
	__asm__ volatile(".set push; .set mips3; li $3, 0; daddu $2, $2, $2; move %0, $3; .set pop"
		: "=r"(ri) : : "$2", "$3");
	return sum ^ lock ^ ri;
}

static u32 branch_job(void)
{
	u32 seed = 1, n = 0, acc = 0;

	for (u32 i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		if (seed >> 31)
			n += seed >> 30 & 1 ? 3 : 5;
		else if (seed & 0x10000)
			acc ^= seed / 7;
		if (!(i & 4095))
			call(SYS_YIELD, 0, 0);
	}
	call(SYS_COUNT, 0, 0);
	return n ^ acc;
}

void _main(u32 n) __attribute__((section(".text.main")));
void _main(u32 n)
{
	switch (n) {
	case 0: say("memory", memory_job()); break;
	case 1: say("float ", float_job()); break;
	case 2: say("disk  ", disk_job()); break;
	case 3: say("code  ", code_job()); break;
	case 4: say("branch", branch_job()); break;
	}
	call(SYS_EXIT, 0, 0);
}
