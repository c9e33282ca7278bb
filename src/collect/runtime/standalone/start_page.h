/* SPDX-License-Identifier: MIT */
/* start_page.h - what start.S and start32.S have in common: flags, strings, and the parameters at
 * the page's end, which instrument/write.c fills in */
#include "image.h"

#define O_CLOEXEC	02000000
#define FIXED		0x108002	/* MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_POPULATE */
#define MAP_ANONYMOUS	0x20

	.macro	strings
self:	.asciz	"/proc/self/exe"
text:	.ascii	"pugmark: this instrumented program cannot map its own file\n"
text_end:
	.endm

	.macro	parameters
	.org	IMG_STUB_SIZE - 64
text_at:	.quad 0
text_len:	.quad 0
data_at:	.quad 0
data_len:	.quad 0
manifest_at:	.quad 0
manifest_len:	.quad 0
zero_len:	.quad 0
zero_at:	.quad 0			/* stays 0: what is zero is not in the file */
	.endm
