/* flags: -nostdlib -static -no-pie */
/* SPDX-License-Identifier: MIT */
/* bounds.S - functions that are each bound by one thing, for the top-down tree of the simulator
 * `core` */
	.set	LINES, 1 << 16			/* of 64 bytes in memory */
	.set	PIECES, 2048			/* of 64 bytes of code */

	.text
	.globl	_start
	.macro	function name
	.type	\name, @function
	.globl	\name
\name:
	.endm
	.macro	end name
	.size	\name, . - \name
	.endm

	.type	_start, @function
_start:
	call	wide
	call	one_port
	call	divide
	call	serialize
	call	guess
	call	wander
	call	chase_l1
	call	chase_l2
	call	chase_l3
	call	chase_dram
	call	stream
	mov	$60, %eax
	xor	%edi, %edi
	syscall
	end	_start

	/* moves take no port: only the width of the core is in their way */
	function wide
	mov	$5000, %ecx
1:	.rept	12
	mov	%rax, %rbx
	mov	%rdx, %rsi
	mov	%rax, %rdi
	mov	%rdx, %r8
	mov	%rax, %r9
	.endr
	dec	%ecx
	jnz	1b
	ret
	end	wide

	/* nothing waits for a product */
	function one_port
	mov	$2000, %ecx
1:	imul	%rdx, %rax
	imul	%rdx, %rbx
	imul	%rdx, %rsi
	imul	%rdx, %rdi
	dec	%ecx
	jnz	1b
	ret
	end	one_port

	function divide
	mov	$2000, %ecx
	mov	$7, %ebx
1:	mov	$1, %edx
	div	%rbx
	dec	%ecx
	jnz	1b
	ret
	end	divide

	function serialize
	mov	$100, %esi
1:	xor	%eax, %eax
	cpuid
	dec	%esi
	jnz	1b
	ret
	end	serialize

	/* the highest bit of a linear congruence: nobody foresees it */
	function guess
	mov	$10000, %ecx
	movabs	$6364136223846793005, %rdx
	mov	$1, %eax
1:	imul	%rdx, %rax
	add	$12345, %rax
	test	%rax, %rax
	js	2f
	inc	%rbx
2:	dec	%ecx
	jnz	1b
	ret
	end	guess

	/* pieces of code in an order that no cache foresees: each jumps to the next */
	function wander
	mov	$6, %ecx
	jmp	piece
last:	dec	%ecx
	jnz	piece
	ret
	.balign	64
piece:	.set	i, 0
	.rept	PIECES
	.balign	64
	add	$1, %rax
	.if	(i * 1237 + 1) % PIECES
	jmp	piece + 64 * ((i * 1237 + 1) % PIECES)
	.else
	jmp	last
	.endif
	.set	i, i + 1
	.endr
	end	wander

	/* each load waits for the address that the one before has loaded */
	function chase_l1
	mov	$1000, %ecx
	xor	%eax, %eax
1:	.rept	8
	mov	memory(%rax), %rax
	.endr
	dec	%ecx
	jnz	1b
	ret
	end	chase_l1

	/* eax: the next line, and it waits for what is in the last one, which is 0 */
	.macro	chase name lines rounds
	function \name
	mov	$\lines * \rounds, %ecx
	xor	%eax, %eax
1:	imul	$1237, %eax, %eax
	inc	%eax
	and	$\lines - 1, %eax
	mov	%eax, %edx
	shl	$6, %edx
	add	memory(%rdx), %eax
	dec	%ecx
	jnz	1b
	ret
	end	\name
	.endm
	chase	chase_l2, 512, 80
	chase	chase_l3, 4096, 20
	chase	chase_dram, LINES, 1

	function stream
	mov	$memory, %edi
	mov	$20000, %ecx
1:	mov	%rax, (%rdi)
	add	$64, %rdi
	dec	%ecx
	jnz	1b
	ret
	end	stream

	.bss
	.balign	4096
memory:	.space	LINES * 64
	.section .note.GNU-stack, "", @progbits
