/* SPDX-License-Identifier: MIT */
/* flags: -nostdlib -static -Wl,--build-id=none */
/* bare.S - no libc, a number of instructions that can be counted by hand
 *
 * start 3, loop 3 * 1000, strings 10, flags 5, sigaction 6, traps 5 + 2 * 4, fork 4, wait 6,
 * write 6, exit 3: 3056; the child makes five instructions (test, je, three of its own). */
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	xor	ebx, ebx
	nop
	mov	ecx, 1000
1:	add	rbx, rcx			# 1000 times
	dec	ecx
	jne	1b

	lea	rdi, [rip + buffer]		# 100 iterations, then none
	mov	ecx, 100
	mov	al, 'x'
	rep stosb
	xor	ecx, ecx
	rep stosb
	std					# backwards: 3 words
	mov	ecx, 3
	rep stosd
	cld

	pushfq					# the trap flag must not show
	pop	rax
	and	eax, 0x100
	lea	rdi, [rip + failed]
	jne	say

	mov	eax, 13				# rt_sigaction(SIGTRAP, &action, NULL, 8)
	mov	edi, 5
	lea	rsi, [rip + action]
	xor	edx, edx
	mov	r10d, 8
	syscall
	int3					# the handler counts in r12 of the frame: memory
	int3
	cmp	dword ptr [rip + traps], 2
	lea	rdi, [rip + failed]
	jne	say
	mov	eax, 57				# fork: the child makes five instructions
	syscall
	test	eax, eax
	je	child
	mov	edi, eax			# wait4(child, NULL, 0, NULL)
	xor	esi, esi
	xor	edx, edx
	xor	r10d, r10d
	mov	eax, 61
	syscall
	lea	rdi, [rip + good]
say:	mov	rsi, rdi
	mov	edx, 5
	mov	edi, 1
	mov	eax, 1
	syscall
	mov	eax, 231			# exit_group
	xor	edi, edi
	syscall
	ud2
child:	xor	edi, edi
	mov	eax, 60
	syscall

handler:
	inc	dword ptr [rip + traps]
	ret
restorer:
	mov	eax, 15				# rt_sigreturn
	syscall

	.data
good:	.ascii	"good\n"
failed:	.ascii	"fail\n"
	.balign 8
action:	.quad	handler, 0x04000000, restorer, 0
	.bss
buffer:	.space	256
traps:	.space	4
