/* SPDX-License-Identifier: MIT */
/* entry_i386.S - entry_x86_64.S for 32-bit programs: the same doors and windows
 *
 * A word of a thread block occupies 8 bytes here, too; the upper half stays 0. */
#include "abi.h"

#define CTX(i) %fs:RT_CTX + 8 * (i)

	.macro	call_c function		/* with the thread's block, on the runtime's stack */
	mov	%fs:RT_SELF, %edi
	lea	RT_STACK_TOP-12(%edi), %esp
	push	%edi
	call	\function
	.endm

	.section .text.entry,"ax"
	.globl rt_boot_entry
rt_boot_entry:				/* all registers are the program's at its first
					 * instruction */
	mov	%esp, rt_boot_rsp
	mov	%eax, rt_boot_regs
	mov	%edx, rt_boot_regs+4
	mov	$rt_boot_stack_top, %esp
	call	rt_boot			/* sets fs and the thread block's ctx from rt_boot_regs */
	lea	RT_STACK_TOP(%eax), %esp
	jmp	rt_leave

#ifndef RT_IDT
	.org	RT32_PLACES - RT32_IMAGE	/* struct rt_places */
	.long	rt_leave, 0, rt_window_end, 0, rt_pass, 0, rt_pass_insn, 0, rt_pass_done, 0
#endif

#define DOOR_AX %eax
#include "doors.h"

rt_common:
	mov	%ecx, CTX(1)
	mov	%edx, CTX(2)
	mov	%ebx, CTX(3)
	mov	%esp, CTX(4)
	mov	%ebp, CTX(5)
	mov	%esi, CTX(6)
	mov	%edi, CTX(7)
	mov	%fs:RT_SELF, %edi
	lea	RT_STACK_TOP(%edi), %esp
	pushf
	popl	CTX(17)
	cld
	cmpl	$1, %fs:RT_R11_USE
	jne	1f
	mov	%ebp, %fs:RT_CURSOR
	mov	%fs:RT_S_R11, %ebp
	mov	%ebp, CTX(5)
1:
	sub	$8, %esp
	push	%eax
	push	%edi
	call	rt_enter
	test	%eax, %eax
	jz	rt_leave

	.globl	rt_pass, rt_pass_insn, rt_pass_done
rt_pass:
	cmpl	$0, %fs:RT_HELD		/* a signal that came before the window */
	jne	rt_roll_back
	mov	CTX(0), %eax
	mov	CTX(3), %ebx
	mov	CTX(1), %ecx
	mov	CTX(2), %edx
	mov	CTX(6), %esi
	mov	CTX(7), %edi
	mov	CTX(5), %ebp
rt_pass_insn:
	int	$0x80
rt_pass_done:
	cmp	$-14, %eax		/* EFAULT: perhaps because of our write protection */
	je	rt_efault
rt_result:
	mov	%eax, CTX(0)
	mov	%fs:RT_TRACING, %eax
	or	%fs:RT_LOGGED, %eax
	jnz	rt_note_result

	.globl	rt_leave, rt_window_end
rt_leave:
#ifndef RT_IDT
	cmpl	$0, rt_no_controller
	jne	rt_leave_native
#endif
	cmpl	$0, %fs:RT_FIX_MASK
	jne	rt_fix
rt_restore:
	mov	%fs:RT_SELF, %esp
	lea	RT_STACK_TOP(%esp), %esp
	mov	CTX(5), %eax
	mov	%eax, %fs:RT_S_R11
	cmpl	$1, %fs:RT_R11_USE
	jne	1f
	mov	%fs:RT_CURSOR, %eax
1:	mov	%eax, %fs:RT_OUT_R11
	pushl	CTX(17)
	popf
	mov	CTX(0), %eax
	mov	CTX(1), %ecx
	mov	CTX(2), %edx
	mov	CTX(3), %ebx
	mov	%fs:RT_OUT_R11, %ebp
	mov	CTX(6), %esi
	mov	CTX(7), %edi
	mov	CTX(4), %esp
	jmp	*%fs:RT_RESUME
rt_fix_done:				/* still in the window: the mask is the program's again */
	cmpl	$0, %fs:RT_HELD		/* one that came while the mask was being set */
	jne	rt_fix
	jmp	rt_restore
rt_fix_call:
	movl	$0, %fs:RT_FIX_MASK
	mov	$175, %eax		/* rt_sigprocmask(SIG_SETMASK, &real_mask, NULL, 8) */
	mov	$2, %ebx
	mov	%fs:RT_SELF, %ecx
	lea	RT_REAL_MASK(%ecx), %ecx
	xor	%edx, %edx
	mov	$8, %esi
	int	$0x80
	jmp	rt_fix_done
rt_window_end:

rt_note_result:
	call_c	rt_call_result
	jmp	rt_leave

#ifndef RT_IDT
rt_leave_native:
	call_c	rt_resume_native
#endif

rt_roll_back:
	call_c	rt_call_again
	jmp	rt_leave

rt_efault:
	call_c	rt_open_pages
	test	%eax, %eax
	jnz	rt_pass
	mov	$-14, %eax
	jmp	rt_result

rt_fix:
	call_c	rt_flush_pending
	jmp	rt_fix_call

	/* long rt_sys6(nr, a, b, c, d, e, f), and rt_app_sys(): a call that the program made;
	 * unlike the
	 * runtime's own it is subject to the program's seccomp filters, which know it by
	 * rt_app_done */
	.macro	syscall6 name, done
	.globl	\name, \done
\name:
	push	%ebp
	push	%edi
	push	%esi
	push	%ebx
	mov	20(%esp), %eax
	mov	24(%esp), %ebx
	mov	28(%esp), %ecx
	mov	32(%esp), %edx
	mov	36(%esp), %esi
	mov	40(%esp), %edi
	mov	44(%esp), %ebp
	int	$0x80
\done:
	pop	%ebx
	pop	%esi
	pop	%edi
	pop	%ebp
	ret
	.endm

	syscall6 rt_sys6, rt_sys_done
	syscall6 rt_app_sys, rt_app_done

	/* long rt_clone(nr, a, b, c, d, e, child): the child never touches the parent's stack */
	.globl	rt_clone
rt_clone:
	push	%ebp
	push	%edi
	push	%esi
	push	%ebx
	mov	20(%esp), %eax
	mov	24(%esp), %ebx
	mov	28(%esp), %ecx
	mov	32(%esp), %edx
	mov	36(%esp), %esi
	mov	40(%esp), %edi
	mov	44(%esp), %ebp
	int	$0x80
	.globl	rt_clone_done
rt_clone_done:
	test	%eax, %eax
	jz	1f
	pop	%ebx
	pop	%esi
	pop	%edi
	pop	%ebp
	ret
1:	lea	RT_STACK_TOP-12(%ebp), %esp
	push	%ebp
	call	rt_switch_segment
	mov	%ebp, (%esp)
	call	rt_child
	jmp	rt_leave

	/* long rt_copy(to, from, n): 0, or -EFAULT where the program's memory is not there */
	.globl	rt_copy, rt_get_start, rt_get_end, rt_get_fault
rt_copy:
	push	%edi
	push	%esi
	mov	12(%esp), %edi
	mov	16(%esp), %esi
	mov	20(%esp), %ecx
rt_get_start:
	rep movsb
rt_get_end:
	xor	%eax, %eax
1:	pop	%esi
	pop	%edi
	ret
rt_get_fault:
	mov	$-14, %eax
	jmp	1b

	/* the kernel calls this on the block's signal stack: sig, info and ucontext are where C has
	 * its arguments */
	.globl	rt_sigentry, rt_sigrestore
rt_sigentry:
	jmp	rt_signal
rt_sigrestore:
	mov	$173, %eax
	int	$0x80
	ud2

	/* __attribute__((noreturn)) rt_sigreturn_raw(esp, nr) */
	.globl	rt_sigreturn_raw
rt_sigreturn_raw:
	mov	8(%esp), %eax
	mov	4(%esp), %esp
	int	$0x80
	ud2

	/* rt_exit_raw(nr, status, &block->state, &used): no stack after the block is dead, and
	 * somebody
	 * else's after it is not used */
	.globl	rt_exit_raw
rt_exit_raw:
	mov	4(%esp), %eax
	mov	8(%esp), %ebx
	mov	12(%esp), %ecx
	mov	16(%esp), %edx
	movl	$3, (%ecx)
	movl	$0, (%edx)
	int	$0x80
	ud2

#ifndef RT_IDT
	/* rt_park(&block->state): see entry_x86_64.S */
	.globl	rt_park
rt_park:
	mov	4(%esp), %eax
	movl	$3, (%eax)
	mov	$RT32_DATA_VAULT, %ebx
1:	mov	$240, %eax		/* futex(..., FUTEX_WAIT, RT_ABI, NULL) */
	xor	%ecx, %ecx
	mov	$RT_ABI, %edx
	xor	%esi, %esi
	int	$0x80
	jmp	1b

	.globl	rt_stop_entry		/* where a handler returns to (stop_here.c): ctx is the
					 * program's state */
rt_stop_entry:
	call_c	rt_stop
	jmp	rt_leave

	.globl	rt_begin_as		/* noreturn: (block), see rt.h */
rt_begin_as:
	mov	4(%esp), %edi
	lea	RT_STACK_TOP-12(%edi), %esp
	push	%edi
	call	rt_begun
	jmp	rt_leave
#endif

	/* leave to ctx.pc, for good */
	.globl	rt_native_jump
rt_native_jump:
	mov	CTX(16), %eax
	mov	%eax, %fs:RT_RESUME
	jmp	rt_restore

#ifdef RT_IDT
	/* long rt_image_helper(flags, stack): a process that shares memory and files and goes to
	 * rt_image_watch() */
	.globl	rt_image_helper
rt_image_helper:
	push	%edi
	push	%esi
	push	%ebx
	mov	16(%esp), %ebx
	mov	20(%esp), %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	mov	$120, %eax		/* clone */
	int	$0x80
	test	%eax, %eax
	jz	rt_image_watch
	pop	%ebx
	pop	%esi
	pop	%edi
	ret

	/* long rt_spawn(path, argv, environment) */
	.globl	rt_spawn
rt_spawn:
	push	%edi
	push	%esi
	push	%ebx
	mov	$0x4100, %ebx		/* CLONE_VM | CLONE_VFORK */
	xor	%ecx, %ecx
	xor	%edx, %edx
	xor	%esi, %esi
	xor	%edi, %edi
	mov	$120, %eax		/* clone */
	int	$0x80
	test	%eax, %eax
	jnz	1f
	mov	16(%esp), %ebx
	mov	20(%esp), %ecx
	mov	24(%esp), %edx
	mov	$11, %eax		/* execve */
	int	$0x80
	mov	$127, %ebx
	mov	$252, %eax		/* exit_group */
	int	$0x80
1:	pop	%ebx
	pop	%esi
	pop	%edi
	ret

	/* See entry_x86_64.S. */
	.globl	rt_image_again
	.balign	32
rt_image_again:
	.irp	r, eax, ecx, edx, ebx, esp, ebp, esi, edi
	.balign	32
	mov	%\r, %fs:RT_S_TMP
	mov	%fs:RT_CURSOR, %\r
	jmp	*%fs:0x90		/* IMG_RESUME */
	.endr
	.globl	rt_image_again_restored
	.balign	32
rt_image_again_restored:
	.irp	r, eax, ecx, edx, ebx, esp, ebp, esi, edi
	.balign	32
	mov	%\r, %fs:RT_S_TMP
	mov	%ebp, %\r
	mov	%fs:RT_S_R11, %ebp
	jmp	*%fs:0x90
	.endr
	.balign	32
#endif

	.data
	.balign	16
	.globl	rt_boot_rsp, rt_boot_regs
rt_boot_rsp:	.long 0
rt_boot_regs:	.long 0, 0
	.bss
	.balign	16
	.skip	16384
rt_boot_stack_top:
	.section .note.GNU-stack,"",@progbits
