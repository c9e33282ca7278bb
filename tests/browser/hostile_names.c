/* SPDX-License-Identifier: MIT */
/* hostile_names.c - tests/check-browser gives these functions names that no page may obey */
#include <stdio.h>

__attribute__((noinline)) int name_script(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int name_image(int x) { __asm__ volatile(""); return x * 3; }
__attribute__((noinline)) int name_bytes(int x) { __asm__ volatile(""); return x ^ 5; }

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 20000; i++)
		sum = name_script(name_image(name_bytes(sum)));
	printf("%d\n", sum);
	return 0;
}
