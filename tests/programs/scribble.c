/* SPDX-License-Identifier: MIT */
/* scribble.c - a program that writes over the trace buffer of its first thread; without a tracer the
 * addresses are its own to use */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/collect/runtime/abi.h"

int main(void)
{
	char *buffer = (char *)(RT_DATA_VAULT + RT_BLOCK_SIZE + RT_TRACE);
	static volatile int sum;

	if (mmap(buffer, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | 0x100000, -1, 0) != buffer)
		memset(buffer, 0, 0);		/* taken: it is pugmark's */
	memset(buffer, 0x5a, 4096);
	for (int i = 0; i < 10000000; i++)
		sum += i;
	puts("done");
	return 0;
}
