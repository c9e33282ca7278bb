/* SPDX-License-Identifier: MIT */
/* bare.c - runs on any R4000 without devices: for comparing two processors register by register.
 * It ends at `done`. Nothing in it depends on time, Random, or results that the architecture
 * leaves undefined. */
typedef unsigned u32;
typedef unsigned long long u64;

static u32 table[2048] __attribute__((aligned(8)));
static unsigned char bytes[512];
static double vec[64];
static float fvec[64];
volatile u32 result;

static u32 sort(u32 seed)
{
	u32 sum = 0;

	for (u32 i = 0; i < 300; i++) {
		seed = seed * 1664525 + 1013904223;
		table[i] = seed;
	}
	for (u32 i = 1; i < 300; i++) {
		u32 v = table[i], k = i;

		for (; k && table[k - 1] > v; k--)
			table[k] = table[k - 1];
		table[k] = v;
	}
	for (u32 i = 0; i < 300; i++)
		sum = sum * 31 + (table[i] >> (i & 15)) + (table[i] / (i + 1)) % 7;
	return sum;
}

static u32 unaligned(u32 seed)
{
	u32 sum = 0;

	for (u32 i = 0; i < 400; i++) {
		u32 v = seed ^ i * 2654435761u;
		unsigned short h = (unsigned short)v;

		__builtin_memcpy(bytes + (i & 127) + 1, &v, 4);
		__builtin_memcpy(bytes + (i * 7 & 255) + 3, &h, 2);
		__builtin_memcpy(&v, bytes + (i * 3 & 255), 4);
		sum += v ^ (u32)(signed char)bytes[i & 255];
	}
	return sum;
}

/* 64-bit registers, in one block of assembler per step: the ABI keeps only 32 bits of them. */
static u32 wide(u32 seed)
{
	u32 r = 0;

	for (u32 i = 1; i < 200; i++) {
		u32 out;

		__asm__ volatile(".set push\n\t.set noat\n\t.set mips3\n\t.set gp=64\n\t"
				 "dsll32 $8, %1, 0\n\tor $8, $8, %2\n\tdaddu $9, $8, %1\n\tdsubu "
				 "$10, $9, %2\n\t"
				 "dmultu $8, $9\n\tmflo $11\n\tmfhi $12\n\txor $11, $11, $12\n\t"
				 "ori $13, %2, 1\n\tddivu $0, $11, $13\n\tmflo $14\n\tmfhi "
				 "$15\n\tddiv $0, $8, $13\n\tmflo $24\n\t"
				 "dsrl $14, $14, 7\n\tdsra $15, $15, 3\n\tdsllv $10, $10, "
				 "%2\n\tdsrav $11, $11, %2\n\tdsrlv $12, $12, %2\n\t"
				 "sd $10, 0(%3)\n\tldl $10, 6(%3)\n\tldr $10, 5(%3)\n\tsdl $14, "
				 "11(%3)\n\tsdr $15, 2(%3)\n\tld $25, 0(%3)\n\tlwu $9, 4(%3)\n\t"
				 "xor $25, $25, $9\n\txor $25, $25, $10\n\tdaddu $25, $25, "
				 "$14\n\tdaddu $25, $25, $24\n\tdsra32 $9, $25, 0\n\t"
				 "xor $25, $25, $9\n\tsll %0, $25, 0\n\t"
				 /* leave nothing but sign-extended words behind */
				 "sll $8, $8, 0\n\tsll $9, $9, 0\n\tsll $10, $10, 0\n\tsll $11, "
				 "$11, 0\n\tsll $12, $12, 0\n\t"
				 "sll $13, $13, 0\n\tsll $14, $14, 0\n\tsll $15, $15, 0\n\tsll "
				 "$24, $24, 0\n\tsll $25, $25, 0\n\tmtlo $0\n\tmthi $0\n\t"
				 ".set pop"
				 : "=&r"(out)
				 : "r"(seed), "r"(i * 2654435761u), "r"(table + 16)
				 : "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24",
				   "$25", "hi", "lo", "memory");
		r = r * 3 + out;
		seed = seed * 1103515245 + 12345;
	}
	return r;
}

static u32 floating(u32 seed)
{
	double s = 0, r;
	float t = 1;

	for (u32 i = 0; i < 64; i++) {
		seed = seed * 1664525 + 1013904223;
		vec[i] = (double)(int)seed / 65536.0;
		fvec[i] = (float)(seed >> 8) * 0.001f;
	}
	for (u32 rm = 0; rm < 4; rm++) {
		__asm__ volatile("ctc1 %0, $31" : : "r"(rm));
		for (u32 i = 1; i < 64; i++) {
			s = s * 0.75 + vec[i] / (vec[i - 1] * vec[i - 1] + 1.25);
			t = (t + fvec[i]) / 1.75f - fvec[i - 1] * 0.3f;
			if (s > (double)t)
				s -= (double)(int)t;
			else if (!(t <= 4.0f))
				t = -t;
			__asm__("sqrt.d %0, %1" : "=f"(r) : "f"(s * s + 2.0));
			s += r;
		}
	}
	__asm__ volatile("ctc1 $0, $31");
	return (u32)(int)(s * 16) ^ (u32)(int)t;
}

static u32 branches(u32 seed)
{
	u32 n = 0;

	for (u32 i = 0; i < 500; i++) {
		seed = seed * 1664525 + 1013904223;
		switch (seed >> 28) {
		case 0: case 3: n += seed & 3; break;
		case 1: n ^= seed; break;
		case 2: n -= i; break;
		case 7: n = (n << 3) | n >> 29; break;
		case 8: n += n < seed; break;
		case 12: n *= 5; break;
		default:
			if ((int)seed < 0)
				n++;
			else if (seed & 1)
				n += 2;
		}
	}
	return n;
}

void run(u32 rounds)
{
	for (u32 i = 0; i < rounds; i++)
		result += sort(i + 1) ^ unaligned(i * 77 + result) ^ wide(result) ^
			  floating(i + 3) ^ branches(i ^ result);
}
