/* SPDX-License-Identifier: MIT */
/* start.S - the first instructions of an instrumented executable: begin again without address-space
 * randomisation, map the runtime from the file, go there
 *
 * For a setuid program the kernel randomizes all the same: once is enough.
 *
 * One page, linked at 0 and run anywhere. The registers are the kernel's at a program's start: all
 * zero but rsp. The parameters at the page's end are filled in by instrument/write.c. */
#include "start_page.h"

#define NO_RANDOMISATION	0x40000		/* see without_randomisation() in boot.c */
#define RESTARTED	0x80000
#define STAT		144		/* struct stat: device, inode, ... */

	.text
	.globl _start
_start:
	mov	$0xffffffff, %edi
	mov	$135, %eax		/* personality */
	syscall
	test	$0x80000000 | NO_RANDOMISATION | RESTARTED, %eax
	jnz	open
	mov	%eax, %r12d
	mov	%eax, %edi
	or	$RESTARTED | NO_RANDOMISATION, %edi
	mov	$135, %eax
	syscall
	test	%eax, %eax
	js	open
	mov	%rsp, %rsi
	call	name
	mov	%rax, %r13		/* by the same name, for the stack's sake, if that is a name
					 * of this file */
	mov	%rax, %rdi
	lea	-2 * STAT(%rsp), %rsi
	mov	$4, %eax		/* stat */
	syscall
	test	%eax, %eax
	jnz	1f
	lea	self(%rip), %rdi
	lea	-STAT(%rsp), %rsi
	mov	$4, %eax
	syscall
	test	%eax, %eax
	jnz	2f
	mov	-STAT(%rsp), %rax
	cmp	-2 * STAT(%rsp), %rax
	jne	1f
	mov	-STAT + 8(%rsp), %rax
	cmp	-2 * STAT + 8(%rsp), %rax
	jne	1f
2:	mov	%r13, %rdi
	call	again
1:	lea	self(%rip), %rdi
	call	again
	mov	%r12d, %edi
	mov	$135, %eax
	syscall
open:	lea	self(%rip), %rdi /* the file by its link; where there is no /proc, by its name */
	mov	$O_CLOEXEC, %esi
	mov	$2, %eax
	syscall
	test	%eax, %eax
	jns	opened
	mov	%rsp, %rsi
	call	name
	mov	%rax, %rdi
	mov	$O_CLOEXEC, %esi
	mov	$2, %eax
	syscall
	test	%eax, %eax
	js	fail
opened:
	mov	%eax, %r8d
	mov	$RT_IMAGE, %rdi
	mov	text_len(%rip), %rsi
	mov	$5, %edx
	mov	$FIXED, %r10d
	mov	text_at(%rip), %r9
	mov	$9, %eax
	syscall
	cmp	%rdi, %rax
	jne	fail
	mov	$RT_IMAGE_DATA, %rdi
	mov	data_len(%rip), %rsi
	mov	$3, %edx
	mov	data_at(%rip), %r9
	mov	$9, %eax
	syscall
	cmp	%rdi, %rax
	jne	fail
	mov	zero_len(%rip), %rsi	/* what of them is zero is not in the file */
	test	%rsi, %rsi
	jz	mapped
	mov	%r8, %r12
	add	data_len(%rip), %rdi
	mov	$FIXED | MAP_ANONYMOUS, %r10d
	mov	$-1, %r8
	xor	%r9d, %r9d
	mov	$9, %eax
	syscall
	cmp	%rdi, %rax
	jne	fail
	mov	%r12, %r8
	xor	%r12d, %r12d
	mov	$RT_IMAGE_DATA, %rdi
mapped:
	mov	%r8, (%rdi)		/* struct img_boot */
	mov	manifest_at(%rip), %rax
	mov	%rax, 8(%rdi)
	mov	manifest_len(%rip), %rax
	mov	%rax, 16(%rdi)
	mov	$RT_IMAGE, %rcx
	xor	%eax, %eax
	xor	%edx, %edx
	jmp	*%rcx
fail:
	mov	$2, %edi
	lea	text(%rip), %rsi
	mov	$text_end - text, %edx
	mov	$1, %eax
	syscall
	mov	$127, %edi
	mov	$231, %eax
	syscall
name:	mov	(%rsi), %rcx		/* AT_EXECFN of the stack at rsi, 0: there is none */
	lea	16(%rsi,%rcx,8), %rsi
1:	lodsq				/* environment */
	test	%rax, %rax
	jnz	1b
2:	lodsq				/* auxiliary vector */
	mov	%rax, %rcx
	lodsq
	cmp	$31, %ecx
	je	3f
	test	%ecx, %ecx
	jnz	2b
	xor	%eax, %eax
3:	ret
again:	mov	8(%rsp), %rcx
	lea	16(%rsp), %rsi
	lea	24(%rsp,%rcx,8), %rdx
	mov	$59, %eax		/* execve */
	syscall
	ret
	strings
	parameters
	.section .note.GNU-stack,"",@progbits
