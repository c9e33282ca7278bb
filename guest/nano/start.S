/* SPDX-License-Identifier: MIT */
/* start.S - nano's entry, exception vectors, and the way in and out of the kernel */
#define FRAME_GPR(n)	(4 * (n))
#define FRAME_HI	128
#define FRAME_LO	132
#define FRAME_EPC	136
#define FRAME_STATUS	140
#define FRAME_FPR(n)	(144 + 4 * (n))
#define FRAME_FCR31	272
#define ALL_REGISTERS	0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15, \
			16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31

	.set	noat
	.set	noreorder
	.set	arch=r4000

	.section .text.start, "ax"
	.globl	_start
_start:
	lui	$sp, %hi(stack_top)
	addiu	$sp, $sp, %lo(stack_top)
	li	$8, 0x20000000		/* CU1; kernel, BEV = 0, interrupts off */
	mtc0	$8, $12
	li	$8, 40			/* few entries to be replaced at random: Random matters */
	mtc0	$8, $6
	mtc0	$0, $5
	nop
	nop
	/* the vectors are copied uncached: the instruction cache reads memory */
	la	$8, refill
	la	$9, refill_end
	lui	$10, 0xa000
1:	lw	$11, 0($8)
	sw	$11, 0($10)
	addiu	$8, $8, 4
	bne	$8, $9, 1b
	 addiu	$10, $10, 4
	la	$8, general
	la	$9, general_end
	li	$10, 0xa0000180
2:	lw	$11, 0($8)
	sw	$11, 0($10)
	addiu	$8, $8, 4
	bne	$8, $9, 2b
	 addiu	$10, $10, 4
	lui	$8, 0x8000
	addiu	$9, $8, 0x400
3:	cache	0x10, 0($8)
	addiu	$8, $8, 16
	bne	$8, $9, 3b
	 nop
	jal	kmain
	 nop
4:	b	4b
	 nop

	.text
refill:		/* without a branch but for addresses beyond the page table */
	mfc0	$26, $8
	lui	$27, %hi(page_table)
	srl	$26, $26, 13
	lw	$27, %lo(page_table)($27)
	sll	$26, $26, 3
	andi	$26, $26, 0x3f8		/* 128 pairs of pages: 1 MiB, repeated */
	addu	$27, $27, $26
	lw	$26, 0($27)
	lw	$27, 4($27)
	mtc0	$26, $2
	mtc0	$27, $3
	nop
	nop
	tlbwr
	nop
	nop
	eret
	nop
refill_end:

general:
	lui	$26, 0xbf03
	mfc0	$27, $14
	sw	$27, 0($26)
	mfc0	$27, $12
	sw	$27, 8($26)
	mfc0	$27, $8
	sw	$27, 12($26)
	mfc0	$27, $10
	sw	$27, 20($26)
	mfc0	$27, $13
	sw	$27, 4($26)
	lui	$26, %hi(enter)
	addiu	$26, $26, %lo(enter)
	jr	$26
	 nop
general_end:

	/* $27: Cause. Everything goes to the frame that `frame` points to. */
enter:
	lui	$26, %hi(frame)
	lw	$26, %lo(frame)($26)
	sw	$1, FRAME_GPR(1)($26)
	sw	$2, FRAME_GPR(2)($26)
	sw	$3, FRAME_GPR(3)($26)
	sw	$4, FRAME_GPR(4)($26)
	sw	$5, FRAME_GPR(5)($26)
	sw	$6, FRAME_GPR(6)($26)
	sw	$7, FRAME_GPR(7)($26)
	sw	$8, FRAME_GPR(8)($26)
	sw	$9, FRAME_GPR(9)($26)
	sw	$10, FRAME_GPR(10)($26)
	sw	$11, FRAME_GPR(11)($26)
	sw	$12, FRAME_GPR(12)($26)
	sw	$13, FRAME_GPR(13)($26)
	sw	$14, FRAME_GPR(14)($26)
	sw	$15, FRAME_GPR(15)($26)
	sw	$16, FRAME_GPR(16)($26)
	sw	$17, FRAME_GPR(17)($26)
	sw	$18, FRAME_GPR(18)($26)
	sw	$19, FRAME_GPR(19)($26)
	sw	$20, FRAME_GPR(20)($26)
	sw	$21, FRAME_GPR(21)($26)
	sw	$22, FRAME_GPR(22)($26)
	sw	$23, FRAME_GPR(23)($26)
	sw	$24, FRAME_GPR(24)($26)
	sw	$25, FRAME_GPR(25)($26)
	sw	$28, FRAME_GPR(28)($26)
	sw	$29, FRAME_GPR(29)($26)
	sw	$30, FRAME_GPR(30)($26)
	sw	$31, FRAME_GPR(31)($26)
	mfhi	$8
	mflo	$9
	sw	$8, FRAME_HI($26)
	sw	$9, FRAME_LO($26)
	mfc0	$8, $14
	mfc0	$9, $12
	sw	$8, FRAME_EPC($26)
	sw	$9, FRAME_STATUS($26)
	.irp	n, ALL_REGISTERS
	swc1	$f\n, 144 + 4 * \n($26)
	.endr
	cfc1	$8, $31
	sw	$8, FRAME_FCR31($26)
	lui	$sp, %hi(stack_top)
	addiu	$sp, $sp, %lo(stack_top)
	move	$4, $26
	jal	trap
	 move	$5, $27
	.globl	leave
leave:		/* back to whatever `frame` points to now */
	lui	$26, %hi(frame)
	lw	$26, %lo(frame)($26)
	lw	$8, FRAME_EPC($26)
	lw	$9, FRAME_STATUS($26)
	mtc0	$8, $14
	mtc0	$9, $12
	lw	$8, FRAME_FCR31($26)
	ctc1	$8, $31
	.irp	n, ALL_REGISTERS
	lwc1	$f\n, 144 + 4 * \n($26)
	.endr
	lw	$8, FRAME_HI($26)
	lw	$9, FRAME_LO($26)
	mthi	$8
	mtlo	$9
	lw	$1, FRAME_GPR(1)($26)
	lw	$2, FRAME_GPR(2)($26)
	lw	$3, FRAME_GPR(3)($26)
	lw	$4, FRAME_GPR(4)($26)
	lw	$5, FRAME_GPR(5)($26)
	lw	$6, FRAME_GPR(6)($26)
	lw	$7, FRAME_GPR(7)($26)
	lw	$8, FRAME_GPR(8)($26)
	lw	$9, FRAME_GPR(9)($26)
	lw	$10, FRAME_GPR(10)($26)
	lw	$11, FRAME_GPR(11)($26)
	lw	$12, FRAME_GPR(12)($26)
	lw	$13, FRAME_GPR(13)($26)
	lw	$14, FRAME_GPR(14)($26)
	lw	$15, FRAME_GPR(15)($26)
	lw	$16, FRAME_GPR(16)($26)
	lw	$17, FRAME_GPR(17)($26)
	lw	$18, FRAME_GPR(18)($26)
	lw	$19, FRAME_GPR(19)($26)
	lw	$20, FRAME_GPR(20)($26)
	lw	$21, FRAME_GPR(21)($26)
	lw	$22, FRAME_GPR(22)($26)
	lw	$23, FRAME_GPR(23)($26)
	lw	$24, FRAME_GPR(24)($26)
	lw	$25, FRAME_GPR(25)($26)
	lw	$28, FRAME_GPR(28)($26)
	lw	$29, FRAME_GPR(29)($26)
	lw	$30, FRAME_GPR(30)($26)
	lw	$31, FRAME_GPR(31)($26)
	eret
	nop

	.data
	.globl	frame, page_table
frame:	.word	0
page_table: .word 0
