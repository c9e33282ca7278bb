/* SPDX-License-Identifier: MIT */
/* start.S - every register gets a value here, then run(rounds); `begin` and `done` are where
 * comparing starts and ends */
	.set	noat
	.set	noreorder
	.set	arch=r4000
	.section .text.start, "ax"
	.globl	_start, begin, done, rounds
_start:
	li	$8, 0x20000000		/* CU1; BEV = ERL = 0 */
	mtc0	$8, $12
	mtc0	$0, $13
	mfc0	$8, $16
	ori	$8, $8, 7
	xori	$8, $8, 4		/* kseg0 cached */
	mtc0	$8, $16
	nop
	nop
	.irp	n, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,30,31
	li	$\n, \n * 0x01010101
	.endr
	.irp	n, 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30
	mtc1	$0, $f\n
	.endr
	.irp	n, 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31
	mtc1	$0, $f\n
	.endr
	ctc1	$0, $31
	mthi	$0
	mtlo	$0
	lui	$29, %hi(stack_top)
	addiu	$29, $29, %lo(stack_top)
	lui	$4, %hi(rounds)
	lw	$4, %lo(rounds)($4)
	b	begin
	 nop
begin:
	jal	run
	 nop
done:
/* for measuring: a store that ends the simulation on some board */
#ifdef EXIT_AT
	li	$8, EXIT_WITH
	li	$9, EXIT_AT
	sw	$8, 0($9)
#endif
	b	done
	 nop
	.data
#ifndef ROUNDS
#define ROUNDS	4000
#endif
rounds:	.word	ROUNDS
	.bss
	.space	4096
	.align	4
stack_top: .space 64
