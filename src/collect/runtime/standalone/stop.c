/* SPDX-License-Identifier: MIT */
/* stop.c - what cannot go on, and what the kernel has said: messages, mappings that have to
 * succeed, the environment */
#include "standalone.h"

u64 rt_length(const char *s)
{
	u64 n = 0;

	while (s[n])
		n++;
	return n;
}

void rt_print(const char *s)
{
	rt_sys(NR_write, 2, s, rt_length(s));
}

void rt_image_stop(const char *what, const char *name)
{
	rt_print("pugmark: ");
	if (name) {
		rt_print(name);
		rt_print(": ");
	}
	rt_print(what);
	rt_print("\n");
	for (;;)
		rt_sys(NR_exit_group, 125);
}

void rt_stop_at(u64 pc)
{
	char hex[17];

	for (int i = 0; i < 16; i++)
		hex[i] = "0123456789abcdef"[pc >> (60 - 4 * i) & 15];
	hex[16] = 0;
	rt_print("pugmark: control reaches 0x");
	rt_print(hex);
	rt_print(", which is not in the instrumented program and could not be known ahead "
		 "of time\n");
	rt_sys(NR_exit_group, 125);
}

void (*rt_place_is_taken)(void);

void rt_image_map(u64 at, u64 len, u64 prot, u64 flags, long fd, u64 off, const char *name)
{
	long r = rt_map(at, len, prot, flags & MAP_FIXED ? flags : flags | MAP_FIXED_NOREPLACE, fd,
			off);

	if (r == (long)at)
		return;
	if (!rt_failed(r))		/* a kernel that does not know the flag */
		rt_sys(NR_munmap, r, len);
	if (rt_place_is_taken)
		rt_place_is_taken();
	rt_image_stop("its place in memory is taken", name);
}

extern word rt_boot_rsp;

const char **rt_environment(void)
{
	const word *stack = (const word *)rt_boot_rsp;

	return (const char **)(stack + *stack + 2);
}

#define AT_SECURE 23

int rt_is_secure(void)
{
	const word *a = (const word *)rt_environment();

	while (*a++)
		;
	for (; *a; a += 2)
		if (*a == AT_SECURE)
			return a[1] != 0;
	return 0;
}
