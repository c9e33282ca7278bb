/* SPDX-License-Identifier: MIT */
/* entry_x86_64.S - the doors between translated code, the runtime, and the kernel
 *
 * Every door saves the program's registers in rt_block.ctx, changes to the block's own stack and
 * calls rt_enter(). rt_leave goes back. Windows, in which ctx is the program's state, whole:
 *   [rt_leave, rt_window_end)	leaving: ctx.pc is where the program stands
 *   [rt_pass, rt_pass_insn]	a system call that has not happened (also: that the kernel restarts)
 *   rt_pass_done		it has happened; rax is its result
 */
#include "abi.h"

#define CTX(i) %gs:RT_CTX + 8 * (i)

	.macro	restore_all
	pushq	CTX(17)
	popfq
	mov	CTX(0), %rax
	mov	CTX(1), %rcx
	mov	CTX(2), %rdx
	mov	CTX(3), %rbx
	mov	CTX(5), %rbp
	mov	CTX(6), %rsi
	mov	CTX(7), %rdi
	mov	CTX(8), %r8
	mov	CTX(9), %r9
	mov	CTX(10), %r10
	mov	%gs:RT_OUT_R11, %r11
	mov	CTX(12), %r12
	mov	CTX(13), %r13
	mov	CTX(14), %r14
	mov	CTX(15), %r15
	mov	CTX(4), %rsp
	.endm

	.section .text.entry,"ax"
	.globl rt_boot_entry
rt_boot_entry:				/* all registers are the program's at its first
					 * instruction */
	mov	%rsp, rt_boot_rsp(%rip)
	mov	%rax, rt_boot_regs(%rip)
	mov	%rdx, rt_boot_regs+8(%rip)
	lea	rt_boot_stack_top(%rip), %rsp
	call	rt_boot			/* sets gs and the thread block's ctx from rt_boot_regs */
	lea	RT_STACK_TOP(%rax), %rsp
	jmp	rt_leave

#ifndef RT_IDT
	.org	RT_ATTACHED - RT_IMAGE
	jmp	rt_thread_begins
	.org	RT_PLACES - RT_IMAGE	/* struct rt_places */
	.quad	rt_leave, rt_window_end, rt_pass, rt_pass_insn, rt_pass_done
#endif

#define DOOR_AX %rax
#include "doors.h"

rt_common:
	mov	%rcx, CTX(1)
	mov	%rdx, CTX(2)
	mov	%rbx, CTX(3)
	mov	%rsp, CTX(4)
	mov	%rbp, CTX(5)
	mov	%rsi, CTX(6)
	mov	%rdi, CTX(7)
	mov	%r8, CTX(8)
	mov	%r9, CTX(9)
	mov	%r10, CTX(10)
	mov	%r11, CTX(11)
	mov	%r12, CTX(12)
	mov	%r13, CTX(13)
	mov	%r14, CTX(14)
	mov	%r15, CTX(15)
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	pushfq
	popq	CTX(17)
	cld
	cmpl	$1, %gs:RT_R11_USE	/* enum rt_r11_use */
	jne	2f
	mov	%r11, %gs:RT_CURSOR
	mov	%gs:RT_S_R11, %r11
	mov	%r11, CTX(11)
2:	cmpl	$3, %gs:RT_R11_USE
	jne	3f
	mov	%r11, %gs:RT_BUDGET
	mov	%gs:RT_S_R11, %r11
	mov	%r11, CTX(11)
3:	cmpl	$4, %gs:RT_R11_USE
	jne	4f
	mov	%r11, %gs:RT_UNTIL
	mov	%gs:RT_S_R11, %r11
	mov	%r11, CTX(11)
4:	cmpl	$5, %gs:RT_R11_USE
	jne	5f
	mov	%r11, %gs:RT_TREE_STATE
	mov	%gs:RT_S_R11, %r11
	mov	%r11, CTX(11)
5:
	mov	%eax, %esi
	call	rt_enter
	test	%eax, %eax
	jz	rt_leave

	.globl	rt_pass, rt_pass_insn, rt_pass_done
rt_pass:
	cmpl	$0, %gs:RT_HELD		/* a signal that came before the window */
	jne	rt_roll_back
	mov	CTX(0), %rax
	mov	CTX(7), %rdi
	mov	CTX(6), %rsi
	mov	CTX(2), %rdx
	mov	CTX(10), %r10
	mov	CTX(8), %r8
	mov	CTX(9), %r9
rt_pass_insn:
	syscall
rt_pass_done:
	cmp	$-14, %rax		/* EFAULT: perhaps because of our write protection */
	je	rt_efault
rt_result:
	mov	%rax, CTX(0)
	mov	%gs:RT_TRACING, %eax
	or	%gs:RT_LOGGED, %eax
	jnz	rt_note_result

	.globl	rt_leave, rt_window_end
rt_leave:
#ifndef RT_IDT
	cmpl	$0, rt_no_controller(%rip)
	jne	rt_leave_native
#endif
	cmpl	$0, %gs:RT_FIX_MASK
	jne	rt_fix
rt_set:					/* the mask is the program's */
	cmpl	$0, %gs:RT_STAY
	jne	rt_stay
rt_restore:
	cmpl	$0, %gs:RT_TREE_PENDING
	jne	rt_tree_fix
rt_restore_now:
	mov	%gs:RT_SELF, %rsp
	lea	RT_STACK_TOP(%rsp), %rsp
	mov	CTX(11), %rax
	mov	%rax, %gs:RT_S_R11
	cmpl	$1, %gs:RT_R11_USE
	jne	1f
	mov	%gs:RT_CURSOR, %rax
1:	cmpl	$3, %gs:RT_R11_USE
	jne	2f
	mov	%gs:RT_BUDGET, %rax
2:	cmpl	$4, %gs:RT_R11_USE
	jne	3f
	mov	%gs:RT_UNTIL, %rax
3:	cmpl	$5, %gs:RT_R11_USE
	je	rt_restore_tree
	mov	%rax, %gs:RT_OUT_R11
	restore_all
	jmp	*%gs:RT_RESUME
rt_restore_tree:
	mov	%gs:RT_TREE_STATE, %rax
	mov	%rax, %gs:RT_OUT_R11
	restore_all
	movq	$0, %gs:RT_TREE_STATE
	.globl	rt_gone
rt_gone:				/* the count is in the register */
	jmp	*%gs:RT_RESUME
rt_tree_fix:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
#ifndef RT_IDT
	call	rt_tree_leaves
#endif
	jmp	rt_leave
rt_stay:
	mov	$24, %eax		/* sched_yield(): the controller looks meanwhile */
	syscall
	jmp	rt_leave
rt_fix_done:				/* still in the window: the mask is the program's again */
	cmpl	$0, %gs:RT_HELD		/* one that came while the mask was being set */
	jne	rt_fix
	jmp	rt_set
rt_fix_call:
	movl	$0, %gs:RT_FIX_MASK
	mov	$14, %eax		/* rt_sigprocmask(SIG_SETMASK, &real_mask, NULL, 8) */
	mov	$2, %edi
	mov	%gs:RT_SELF, %rsi
	lea	RT_REAL_MASK(%rsi), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	jmp	rt_fix_done
rt_window_end:

rt_note_result:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_call_result
	jmp	rt_leave

#ifndef RT_IDT
rt_leave_native:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_resume_native
#endif

rt_roll_back:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_call_again
	jmp	rt_leave

rt_efault:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_open_pages
	test	%eax, %eax
	jnz	rt_pass
	mov	$-14, %rax
	jmp	rt_result

rt_fix:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_flush_pending
	jmp	rt_fix_call

	/* long rt_app_sys(nr, a, b, c, d, e, f): a call that the program made; unlike the
	 * runtime's own
	 * it is subject to the program's seccomp filters, which know it by rt_app_done */
	.globl	rt_app_sys, rt_app_done
rt_app_sys:
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	mov	8(%rsp), %r9
	syscall
rt_app_done:
	ret

	/* long rt_clone(nr, a, b, c, d, e, child): the child never touches the parent's stack */
	.globl	rt_clone
rt_clone:
	push	%r15
	mov	16(%rsp), %r15
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	syscall
	.globl	rt_clone_done
rt_clone_done:
	test	%rax, %rax
	jz	1f
	pop	%r15
	ret
1:
rt_thread_begins:
	lea	RT_STACK_TOP(%r15), %rsp
	mov	%r15, %rdi
	call	rt_switch_segment
	mov	%r15, %rdi
	call	rt_child
	jmp	rt_leave

	/* long rt_copy(to, from, n): 0, or -EFAULT where the program's memory is not there */
	.globl	rt_copy, rt_get_start, rt_get_end, rt_get_fault
rt_copy:
	mov	%rdx, %rcx
rt_get_start:
	rep movsb
rt_get_end:
	xor	%eax, %eax
	ret
rt_get_fault:
	mov	$-14, %rax
	ret

	/* the kernel calls this on the block's signal stack */
	.globl	rt_sigentry, rt_sigrestore
rt_sigentry:
	sub	$8, %rsp
	call	rt_signal		/* (sig, info, ucontext) */
	add	$8, %rsp
	ret
rt_sigrestore:
	mov	$15, %eax
	syscall
	ud2

	/* __attribute__((noreturn)) rt_sigreturn_raw(frame's ucontext) */
	.globl	rt_sigreturn_raw
rt_sigreturn_raw:
	mov	%rdi, %rsp
	mov	$15, %eax
	syscall
	ud2

	/* rt_exit_raw(nr, status, &block->state): no stack after the block is dead */
	.globl	rt_exit_raw
rt_exit_raw:
	mov	%edi, %eax
	mov	%rsi, %rdi
	movl	$3, (%rdx)
	syscall
	ud2

#ifndef RT_IDT
	/* rt_park(&block->state): the thread waits for ever, without a stack once it is dead */
	.globl	rt_park
rt_park:
	movl	$3, (%rdi)
	mov	$RT_DATA_VAULT, %rdi	/* struct rt_session.abi, which stays as it is */
1:	mov	$202, %eax		/* futex(..., FUTEX_WAIT, RT_ABI, NULL) */
	xor	%esi, %esi
	mov	$RT_ABI, %edx
	xor	%r10d, %r10d
	syscall
	jmp	1b

	.globl	rt_stop_entry		/* where a handler returns to (stop_here.c): ctx is the
					 * program's state */
rt_stop_entry:
	mov	%gs:RT_SELF, %rdi
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_stop
	jmp	rt_leave

	.globl	rt_begin_as		/* noreturn: (block), see rt.h */
rt_begin_as:
	lea	RT_STACK_TOP(%rdi), %rsp
	call	rt_begun
	jmp	rt_leave
#endif

	/* leave to ctx.pc with the program's own gs: rt_native_raw(block) */
	.globl	rt_native_jump
rt_native_jump:
	mov	%gs:RT_CTX+8*16, %rax
	mov	%rax, %gs:RT_RESUME
	jmp	rt_restore

#ifdef RT_IDT
	/* Into the middle of a block that keeps the cursor of its trace in a register: the
	 * program's value
	 * of register r goes where the block will look for it. Sixteen of 32 bytes each. */
	.globl	rt_image_again
	.balign	32
rt_image_again:
	.irp	r, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	.balign	32
	mov	%\r, %gs:RT_S_TMP
	mov	%gs:RT_CURSOR, %\r
	jmp	*%gs:0x90		/* IMG_RESUME */
	.endr
	/* ... or to where r11 is the program's, and r the cursor: (7) of abi.h. */
	.globl	rt_image_again_restored
	.balign	32
rt_image_again_restored:
	.irp	r, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	.balign	32
	mov	%\r, %gs:RT_S_TMP
	mov	%r11, %\r
	mov	%gs:RT_S_R11, %r11
	jmp	*%gs:0x90
	.endr
	.balign	32
#endif

	.data
	.balign	16
	.globl	rt_boot_rsp, rt_boot_regs
rt_boot_rsp:	.quad 0
rt_boot_regs:	.quad 0, 0
	.bss
	.balign	16
	.skip	16384
rt_boot_stack_top:
	.section .note.GNU-stack,"",@progbits
