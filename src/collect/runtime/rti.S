/* SPDX-License-Identifier: MIT */
/* rti.S - what instrumented executables are made of, carried as bytes: image.S with the start-up stub */
#define STR(x) #x
#define FILE_NAME(x, ext) STR(x.ext)
#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
	.section .rodata
	.globl NAME(RTI, _text), NAME(RTI, _text_end), NAME(RTI, _data), NAME(RTI, _data_end)
	.globl NAME(RTI, _stub), NAME(RTI, _stub_end)
	.balign 4096
NAME(RTI, _text):
	.incbin FILE_NAME(FILE, text)
NAME(RTI, _text_end):
	.balign 4096
NAME(RTI, _data):
	.incbin FILE_NAME(FILE, data)
NAME(RTI, _data_end):
NAME(RTI, _stub):
	.incbin FILE_NAME(STUB, text)
NAME(RTI, _stub_end):
	.section .note.GNU-stack,"",@progbits
