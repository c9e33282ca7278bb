/* SPDX-License-Identifier: MIT */
/* flags: -nostdlib -static -no-pie -Wl,--build-id=none */
/* old.S - a program of the old kind: no libc, no word about its stack, so that everything readable
 * is executable. Code that it writes to its stack, its data, its heap and a mapping without
 * PROT_EXEC.
 *
 * Instructions: four times the call and write_code 6, the call and the code 3, the check 2; before
 * them 1, 1, brk 7, mmap 9; the end 9: 71. */
	.intel_syntax noprefix
	.globl _start
	.text
write_code:				# mov eax, bl; ret at edi
	mov	byte ptr [edi], 0xb8
	mov	[edi + 1], ebx
	mov	byte ptr [edi + 5], 0xc3
	ret

	.macro	try number
	mov	ebx, \number
	call	write_code
	call	edi
	cmp	eax, \number
	jne	bad
	.endm

_start:
	lea	edi, [esp - 256]
	try	11
	mov	edi, offset data
	try	22

	mov	eax, 45			# brk(0), brk(+4096)
	xor	ebx, ebx
	int	0x80
	mov	edi, eax
	lea	ebx, [eax + 4096]
	mov	eax, 45
	int	0x80
	try	33

	# mmap2(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
	mov	eax, 192
	xor	ebx, ebx
	mov	ecx, 4096
	mov	edx, 3
	mov	esi, 0x22
	mov	edi, -1
	xor	ebp, ebp
	int	0x80
	mov	edi, eax
	try	44

	mov	ecx, offset good
	jmp	say
bad:	mov	ecx, offset failed
say:	mov	edx, 5
	mov	ebx, 1
	mov	eax, 4
	int	0x80
	mov	eax, 252		# exit_group
	xor	ebx, ebx
	int	0x80
	ud2

	.data
good:	.ascii	"good\n"
failed:	.ascii	"fail\n"
	.balign	16
data:	.space	64
