/* SPDX-License-Identifier: MIT */
/* narrow - code in parts of an executable heap that leaves little of the lower 2 GiB free, as some
 * Lisps have it
 * flags: -no-pie
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LO	0x10000000ul
#define HI	0x69000000ul

int main(void)
{
	/* lea eax, [rdi + n]; ret */
	static const uint8_t code[] = { 0x8d, 0x47, 0x00, 0xc3 };
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
	uint8_t *heap = mmap((void *)LO, HI - LO, PROT_READ | PROT_WRITE | PROT_EXEC, flags, -1, 0);
	unsigned x = 0, n = 0;

	if (heap != (void *)LO)
		return 2;
	for (int round = 0; round < 3; round++)
		for (uint64_t at = LO + 0x1000; at < HI; at += 0x4000000) {
			memcpy((void *)at, code, sizeof code);
			((uint8_t *)at)[2] = (uint8_t)(n % 100 + round);
			x = ((unsigned (*)(unsigned))at)(x);
			n++;
		}
	printf("%u %u\n", n, x);
	return 0;
}
