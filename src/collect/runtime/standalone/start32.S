/* SPDX-License-Identifier: MIT */
/* start32.S - start.S for 32-bit programs: the same page. Offsets in the file are
 * multiples of a page. */
#include "start_page.h"
#define P(label)	label - here(%ebp)

	.text
	.globl _start
_start:
	call	here
here:	pop	%ebp
	lea	P(self), %ebx	/* the file by its link; where there is no /proc, by its name */
	mov	$O_CLOEXEC, %ecx
	mov	$5, %eax
	int	$0x80
	test	%eax, %eax
	jns	opened
	mov	(%esp), %ecx
	lea	8(%esp,%ecx,4), %esi
1:	lodsl				/* environment */
	test	%eax, %eax
	jnz	1b
2:	lodsl				/* auxiliary vector */
	mov	%eax, %ecx
	lodsl
	cmp	$31, %ecx		/* AT_EXECFN */
	je	3f
	test	%ecx, %ecx
	jnz	2b
	jmp	fail
3:	mov	%eax, %ebx
	mov	$O_CLOEXEC, %ecx
	mov	$5, %eax
	int	$0x80
	test	%eax, %eax
	js	fail
opened:
	mov	%eax, %edi
	mov	$RT32_IMAGE, %ebx
	mov	P(text_len), %ecx
	mov	$5, %edx
	mov	$FIXED, %esi
	lea	P(text_at), %eax
	call	map
	mov	$RT32_IMAGE_DATA, %ebx
	mov	P(data_len), %ecx
	mov	$3, %edx
	lea	P(data_at), %eax
	call	map
	mov	P(zero_len), %ecx	/* what of them is zero is not in the file */
	test	%ecx, %ecx
	jz	mapped
	push	%edi
	add	P(data_len), %ebx
	or	$MAP_ANONYMOUS, %esi
	or	$-1, %edi
	lea	P(zero_at), %eax
	call	map
	pop	%edi
mapped:
	mov	$RT32_IMAGE_DATA, %ebx
	mov	%edi, (%ebx)		/* struct img_boot */
	mov	P(manifest_at), %eax
	mov	%eax, 8(%ebx)
	mov	P(manifest_len), %eax
	mov	%eax, 16(%ebx)
	mov	$RT32_IMAGE, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	jmp	*%ecx
	/* mmap2 at ebx from the offset that eax points to */
map:	push	%ebp
	mov	(%eax), %ebp
	shr	$12, %ebp
	mov	$192, %eax
	int	$0x80
	pop	%ebp
	cmp	%ebx, %eax
	jne	fail
	ret
fail:
	mov	$2, %ebx
	lea	P(text), %ecx
	mov	$text_end - text, %edx
	mov	$4, %eax
	int	$0x80
	mov	$127, %ebx
	mov	$252, %eax
	int	$0x80
	strings
	parameters
	.section .note.GNU-stack,"",@progbits
