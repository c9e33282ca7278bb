/* SPDX-License-Identifier: MIT */
/* flags: -nostdlib -static -fno-stack-protector -fno-builtin -O1 -no-pie */
/* moves_data.c - loads and stores of all kinds, without a library: what they transfer is the same
 * in every run */
static unsigned char bytes[256];
static unsigned long words[32];
static float floats[64];
static unsigned long (*volatile calls)(unsigned long);

static unsigned long mix(unsigned long v)
{
	return (v ^ v >> 7) * 0x9e3779b97f4a7c15ul;
}

static void strings(void)
{
	void *to = bytes + 16, *from = bytes, *end;
	unsigned long n = 100, left;

	for (int i = 0; i < 16; i++)
		bytes[i] = (unsigned char)(i * 17);
	/* each byte is loaded after it has been stored */
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	to = words, n = 9;
	__asm__ volatile("rep stosq" : "+D"(to), "+c"(n) : "a"(0x1122334455667788ul) : "memory");
	to = bytes, from = words, n = 3;
	__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	end = bytes, left = 200;
	__asm__ volatile("repne scasb" : "+D"(end), "+c"(left) : "a"(0x33) : "cc", "memory");
	to = bytes, from = words, n = 64;
	__asm__ volatile("repe cmpsb" : "+D"(to), "+S"(from), "+c"(n) : : "cc", "memory");
	n = 0;
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void others(void)
{
	unsigned long a = 5, b = 6;

	__asm__ volatile("lock xadd %0, %1" : "+r"(a), "+m"(words[3]) : : "cc");
	__asm__ volatile("xchg %0, %1" : "+r"(a), "+m"(words[4]));
	__asm__ volatile("lock cmpxchg %2, %1" : "+a"(a), "+m"(words[5]) : "r"(b) : "cc");
	__asm__ volatile("push %0; pop %1" : "+m"(words[6]), "=m"(words[7]));
	__asm__ volatile("stc; pushf; popq %0" : "=m"(words[8]) : : "cc");
	__asm__ volatile("movups %1, %%xmm3; addps %%xmm3, %%xmm3; movups %%xmm3, %0"
			 : "=m"(*(float (*)[4])(floats + 8)) : "m"(*(float (*)[4])floats)
			 : "xmm3");
	__asm__ volatile("fldl %1; fld1; faddp; fstpl %0" : "=m"(words[9]) : "m"(words[10]));
	__asm__ volatile("btsq %1, %0" : "+m"(words[11]) : "r"(130ul) : "cc", "memory");
	words[20] = calls(words[3]);
}

void begin(void)
{
	calls = mix;
	for (int round = 0; round < 40; round++) {
		strings();
		for (int i = 0; i < 64; i++)
			floats[i] = floats[(i + 7) % 64] * 0.5f + (float)i;
		others();
		for (int i = 0; i < 32; i++)
			words[i] = mix(words[i] + (unsigned long)round);
	}
	__asm__ volatile("syscall" : : "a"(1), "D"(1), "S"(words), "d"(64) : "rcx", "r11");
	__asm__ volatile("syscall" : : "a"(231), "D"(3) : "rcx", "r11");
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall begin\n");
int main(void);			/* programs.mk finds it by this */
