/* SPDX-License-Identifier: MIT */
/* embed.S - the runtime, carried as bytes; with STUB what instrumented executables are made of:
 * it and their
 * first page */
#define STR(x) #x
#define FILE_NAME(x, ext) STR(x.ext)
#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
	.section .rodata
	.globl NAME(RT, _text), NAME(RT, _text_end), NAME(RT, _data), NAME(RT, _data_end)
	.balign 4096
NAME(RT, _text):
	.incbin FILE_NAME(FILE, text)
NAME(RT, _text_end):
	.balign 4096
NAME(RT, _data):
	.incbin FILE_NAME(FILE, data)
NAME(RT, _data_end):
#ifdef STUB
	.globl NAME(RT, _stub), NAME(RT, _stub_end)
NAME(RT, _stub):
	.incbin FILE_NAME(STUB, text)
NAME(RT, _stub_end):
#endif
	.section .note.GNU-stack,"",@progbits
