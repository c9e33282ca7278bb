/* SPDX-License-Identifier: MIT */
/* library.c - what a C library would have */
#include "rt.h"

void *rt_memcpy(void *to, const void *from, word n)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

/* gcc emits calls to these for large structs */
void *memcpy(void *to, const void *from, size_t n) __attribute__((alias("rt_memcpy")));

void *memset(void *to, int c, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
}

u32 rt_write_decimal(char *to, u32 v)
{
	u32 n = v > 9 ? rt_write_decimal(to, v / 10) : 0;

	to[n] = (char)('0' + v % 10);
	return n + 1;
}

u32 rt_write_text(char *to, const char *text)
{
	u32 n = 0;

	while ((to[n] = text[n]))
		n++;
	return n;
}

void rt_fail(const char *what)
{
	word n = 0;

	while (what[n])
		n++;
	rt_sys(NR_write, 2, what, n);
	for (;;)
		rt_sys(NR_exit_group, 125);
}
