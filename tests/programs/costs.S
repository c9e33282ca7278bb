/* flags: -nostdlib -static -no-pie */
/* SPDX-License-Identifier: MIT */
/* A program whose costs can be counted by hand: walk() loads from 64 lines of a table, twice. */
	.bss
	.balign	4096
	.type	table, @object
	.size	table, 4096
table:	.zero	4096

	.text
	.type	walk, @function
walk:	xor	%ecx, %ecx
next:	mov	table(%rcx), %eax
	add	$64, %ecx
	cmp	$4096, %ecx
	jne	next
	ret
	.size	walk, . - walk

	.globl	_start
	.type	_start, @function
_start:	call	walk
	call	walk
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	.size	_start, . - _start
	.section .note.GNU-stack, "", @progbits
