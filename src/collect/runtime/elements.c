/* SPDX-License-Identifier: MIT */
/* elements.c - what a gather or scatter, or a load or store of a tile, has done before
 * a signal stopped it */
#include "rt.h"

static const uint8_t *component(const uint8_t *fx, u32 number)
{
	u32 a = 0xd, b, c = number, d;

	__asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return fx + b;
}

/* Does @uc stand at a gather or scatter, or a load or store of a tile? *left: a bit for each
 * element that its mask still has, each row that is to come. */
int rt_elements_left(const struct k_ucontext *uc, u64 *left)
{
	const uint8_t *p = PTR(UC_PC(uc)), *fx = UC_FX(uc), *high;
	u32 size, n, reg;

	while (*p == 0x26 || *p == 0x2e || *p == 0x36 || *p == 0x3e || (*p >= 0x64 && *p <= 0x67))
		p++;
	if (!fx || *(const u32 *)(fx + FX_SW) != FP_XSTATE_MAGIC1)
		return 0;
	if (RT_NGPR == 8 && (p[1] & 0xc0) != 0xc0)	/* les, bound */
		return 0;
	if (p[0] == 0x62 && (p[1] & 7) == 2 && ((p[4] & 0xfc) == 0x90 || (p[4] & 0xfc) == 0xa0)) {
		*left = *(const uint16_t *)(component(fx, 5) + 8 * (p[3] & 7));
		return 1;
	}
	if (p[0] != 0xc4 || (p[1] & 0x1f) != 2)
		return 0;
	if (p[3] == 0x4b) {
		*left = ~0ull << (component(fx, 17)[1] & 63);
		return 1;
	}
	if ((p[3] & 0xfc) != 0x90)
		return 0;
	size = p[2] & 0x80 ? 8 : 4;
	n = (p[2] & 4 ? 32 : 16) / size;
	reg = ~p[2] >> 3 & (RT_NGPR - 1);
	high = component(fx, 2);
	*left = 0;
	for (u32 i = 0; i < n; i++) {
		const u32 at = i * size + size - 1;
		const uint8_t *from = at < 16 ? fx + 160 + 16 * reg + at :
			high + 16 * reg + at - 16;

		*left |= (u64)(*from >> 7) << i;
	}
	return 1;
}
