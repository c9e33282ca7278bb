/* SPDX-License-Identifier: MIT */
static unsigned long mask() { return ~0ul; }

unsigned long hash(unsigned long pc, unsigned long history)
{
	return (pc ^ history) & mask();
}
