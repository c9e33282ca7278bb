/* SPDX-License-Identifier: MIT */
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
	.section .note.GNU-stack,"",@progbits
