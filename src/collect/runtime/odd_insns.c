/* SPDX-License-Identifier: MIT */
/* odd_insns.c - instructions whose results no other run repeats: time, chance, the processor */
#include "log.h"

#define ARITHMETIC 0x8d5u		/* OF SF ZF AF PF CF */
#define CARRY 1u

void rt_odd_decode(const u8 *p, struct rt_odd *o)
{
	const u8 *const begin = p;
	u32 rex = 0, f3 = 0, p66 = 0, modrm;

	*o = (struct rt_odd){ 0 };
	for (; *p == 0x66 || *p == 0xf2 || *p == 0xf3 || *p == 0x2e || *p == 0x36 || *p == 0x3e ||
	       *p == 0x26 || *p == 0x64 || *p == 0x65 || *p == 0x67; p++) {
		f3 |= *p == 0xf3;
		p66 |= *p == 0x66;
	}
	if (RT_NGPR == 16 && (*p & 0xf0) == 0x40)
		rex = *p++;
	if (*p++ != 0x0f)
		return;
	modrm = p[1];
	switch (*p++) {
	case 0x31:
		o->what = RT_I_RDTSC;
		break;
	case 0xa2:
		o->what = RT_I_CPUID;
		break;
	case 0x01:
		o->what = modrm == 0xf9 ? RT_I_RDTSCP : modrm == 0xd0 ? RT_I_XGETBV : RT_I_NONE;
		p++;
		break;
	case 0xc7:
		p++;
		if (modrm < 0xf0)
			break;
		o->what = modrm < 0xf8 ? RT_I_RDRAND : f3 ? RT_I_RDPID : RT_I_RDSEED;
		o->reg = (modrm & 7) | (rex & 1) << 3;
		o->size = rex & 8 ? 8 : p66 ? 2 : 4;
		if (o->what == RT_I_RDPID)
			o->size = sizeof(word);
		break;
	}
	o->length = (u32)(p - begin);
}

static u64 random_bits(const struct rt_odd *o, u64 *flags)
{
	word v;
	u8 ok;

	if (o->what == RT_I_RDRAND)
		__asm__ volatile("rdrand %0; setc %1" : "=r"(v), "=q"(ok) : : "cc");
	else
		__asm__ volatile("rdseed %0; setc %1" : "=r"(v), "=q"(ok) : : "cc");
	*flags = (*flags & ~(u64)ARITHMETIC) | (ok ? CARRY : 0);
	return ok ? v : 0;
}

void rt_odd_execute(const struct rt_block *b, const struct rt_odd *o, u64 v[4], u64 *flags)
{
	u32 a = (u32)b->ctx.gpr[RAX], c = (u32)b->ctx.gpr[RCX], bx, d;
	word id;

	for (u32 i = 0; i < 4; i++)
		v[i] = 0;
	*flags = b->ctx.flags;
	switch (o->what) {
	case RT_I_RDTSC:
		__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
		v[0] = a, v[3] = d;
		break;
	case RT_I_RDTSCP:
		__asm__ volatile("rdtscp" : "=a"(a), "=d"(d), "=c"(c));
		v[0] = a, v[2] = c, v[3] = d;
		break;
	case RT_I_CPUID:
		__asm__ volatile("cpuid" : "+a"(a), "=b"(bx), "+c"(c), "=d"(d));
		v[0] = a, v[1] = bx, v[2] = c, v[3] = d;
		break;
	case RT_I_XGETBV:
		__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(c));
		v[0] = a, v[3] = d;
		break;
	case RT_I_RDPID:
		__asm__ volatile("rdpid %0" : "=r"(id));
		v[0] = id;
		break;
	default:
		v[0] = random_bits(o, flags);
		break;
	}
}

void rt_odd_apply(struct rt_block *b, const struct rt_odd *o, const u64 v[4], u64 flags)
{
	u64 *const gpr = b->ctx.gpr;

	switch (o->what) {
	case RT_I_RDTSC:
	case RT_I_XGETBV:
		gpr[RAX] = v[0];
		gpr[RDX] = v[3];
		break;
	case RT_I_RDTSCP:
		gpr[RAX] = v[0];
		gpr[RCX] = v[2];
		gpr[RDX] = v[3];
		break;
	case RT_I_CPUID:
		gpr[RAX] = v[0];
		gpr[RBX] = v[1];
		gpr[RCX] = v[2];
		gpr[RDX] = v[3];
		break;
	default:
		gpr[o->reg] = o->size == 8 ? v[0] : o->size == 4 ? (u32)v[0] :
			(gpr[o->reg] & ~0xffffull) | (uint16_t)v[0];
		b->ctx.flags = (b->ctx.flags & ~(u64)ARITHMETIC) | (flags & ARITHMETIC);
		break;
	}
}
