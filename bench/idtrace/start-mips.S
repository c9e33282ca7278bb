/* SPDX-License-Identifier: MIT */
/* start-mips.S - cached kseg0, a stack, run(), power off */
	.set	noreorder
	.set	arch=r4000
	.globl	_start
_start:	li	$8, 0x20000000
	mtc0	$8, $12
	mfc0	$8, $16
	ori	$8, $8, 7
	xori	$8, $8, 4
	mtc0	$8, $16
	nop
	nop
	lui	$29, %hi(stack_top)
	jal	run
	 addiu	$29, $29, %lo(stack_top)
	lui	$8, 0xbf02
	li	$9, 0x5555
	sw	$9, 0($8)
stay:	b	stay
	 nop
	.data
	.word	1			# no empty segment
	.bss
	.space	65536
	.align	4
stack_top: .space 64
