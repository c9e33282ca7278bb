/* SPDX-License-Identifier: MIT */
/* doors.h - the doors of entry_x86_64.S and entry_i386.S: rt_block.do_* holds their addresses
 *
 * A door saves rax or eax (DOOR_AX) and puts its number there, for rt_enter(). Everything else is
 * alike for all doors, at rt_common. */
	.macro	door name, number
	.globl	\name
\name:
	mov	DOOR_AX, CTX(0)
	mov	$\number, %eax
	jmp	rt_common
	.endm

	door	rt_resolve, 0
	door	rt_syscall, 1
	door	rt_step, 2
	door	rt_int80, 3
	door	rt_check, 4
	door	rt_spent, 5
	door	rt_safepoint, 6
	door	rt_tree, 7
