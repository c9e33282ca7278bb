/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * citcat_begin() - start a CITCAT trace: o32, 32-bit addresses, any MIPS III processor
 *
 * Called at its uncached (kseg1) address with interrupts disabled and coprocessor 0 usable. On
 * return the caches are empty and the bus monitor has seen the processor's whole state as it was
 * right after the store to GO. Nothing is executed through the caches in between, so no line can be
 * in them that the monitor has not seen being filled.
 *
 * The window (physical 0x1f030000): 0x20 begin, 0x24 go, 0x400 + 4k state word k:
 *   0.. GPR low, 32.. GPR high, 64.. CP0 low, 96.. CP0 high, 128 HI lo/hi, 130 LO lo/hi, 132 PC
 *   lo/hi, 134.. FPR low, 166.. FPR high, 198 FCR31, 200.. TLB: PageMask, EntryHi low, EntryLo0,
 *   EntryLo1 x 48, 394.. EntryHi high x 48
 *
 * The write of Wired directly before the go store sets Random, so the monitor knows it too.
 */
#define STATE		0x400
#define DUMP(reg, k)	sw reg, STATE + 4 * (k)($27)
#define DUMP_CP0(n)	dmfc0 $26, $n; nop; DUMP($26, 64 + n); dsra32 $26, $26, 0; DUMP($26, 96 + n)
#define DUMP_GPR(n)	DUMP($n, n); dsra32 $26, $n, 0; DUMP($26, 32 + n)
#define DUMP_FPR(n)	dmfc1 $26, $f##n; nop; DUMP($26, 134 + n); \
			dsra32 $26, $26, 0; DUMP($26, 166 + n)

	.text
	.set	push
	.set	noat
	.set	noreorder
	.set	arch=r4000
	.set	hardfloat
	.set	gp=64
	.set	fp=64
	.globl	citcat_begin
	.type	citcat_begin, @function
	.ent	citcat_begin
citcat_begin:
	lui	$27, 0xbf03
	sw	$0, 0x20($27)

	/* 16 KB direct-mapped each; lines are 16 or 32 bytes */
	lui	$8, 0x8000
	addiu	$9, $8, 0x4000
1:	cache	0x01, 0($8)		/* write back and invalidate D by index */
	cache	0x00, 0($8)		/* invalidate I by index */
	addiu	$8, $8, 16
	bne	$8, $9, 1b
	 nop

	/* Config.SC = 0: there is a secondary cache, of at most 4 MB and lines of at least 16
	 * bytes */
	mfc0	$10, $16
	lui	$11, 0x0002
	and	$10, $10, $11
	bne	$10, $0, 4f
	 lui	$8, 0x8000
	lui	$9, 0x8040
3:	cache	0x03, 0($8)		/* write back and invalidate by index */
	addiu	$8, $8, 16
	bne	$8, $9, 3b
	 nop
4:
	DUMP_CP0(0); DUMP_CP0(1); DUMP_CP0(2); DUMP_CP0(3); DUMP_CP0(4); DUMP_CP0(5); DUMP_CP0(6)
	DUMP_CP0(8); DUMP_CP0(9); DUMP_CP0(10); DUMP_CP0(11); DUMP_CP0(12); DUMP_CP0(13)
	DUMP_CP0(14); DUMP_CP0(15); DUMP_CP0(16); DUMP_CP0(17); DUMP_CP0(18); DUMP_CP0(19)
	DUMP_CP0(20); DUMP_CP0(26); DUMP_CP0(27); DUMP_CP0(28); DUMP_CP0(29); DUMP_CP0(30)

	/* the TLB, through the registers that tlbr overwrites */
	mfc0	$8, $0
	dmfc0	$9, $2
	dmfc0	$10, $3
	mfc0	$11, $5
	dmfc0	$12, $10
	move	$13, $0
	addiu	$14, $27, STATE + 4 * 200
	addiu	$24, $27, STATE + 4 * 394
	addiu	$15, $0, 48
2:	mtc0	$13, $0
	nop
	nop
	nop
	tlbr
	nop
	nop
	nop
	mfc0	$26, $5
	nop
	sw	$26, 0($14)
	dmfc0	$26, $10
	nop
	sw	$26, 4($14)
	dsra32	$26, $26, 0
	sw	$26, 0($24)
	mfc0	$26, $2
	nop
	sw	$26, 8($14)
	mfc0	$26, $3
	nop
	sw	$26, 12($14)
	addiu	$13, $13, 1
	addiu	$24, $24, 4
	bne	$13, $15, 2b
	 addiu	$14, $14, 16
	mtc0	$8, $0
	dmtc0	$9, $2
	dmtc0	$10, $3
	mtc0	$11, $5
	dmtc0	$12, $10

	/* the floating-point registers, all 32 as 64 bits: CU1 and FR on meanwhile */
	mfc0	$8, $12
	lui	$9, 0x2400
	or	$9, $9, $8
	mtc0	$9, $12
	nop
	nop
	nop
	nop
	DUMP_FPR(0); DUMP_FPR(1); DUMP_FPR(2); DUMP_FPR(3)
	DUMP_FPR(4); DUMP_FPR(5); DUMP_FPR(6); DUMP_FPR(7)
	DUMP_FPR(8); DUMP_FPR(9); DUMP_FPR(10); DUMP_FPR(11)
	DUMP_FPR(12); DUMP_FPR(13); DUMP_FPR(14)
	DUMP_FPR(15); DUMP_FPR(16); DUMP_FPR(17); DUMP_FPR(18)
	DUMP_FPR(19); DUMP_FPR(20); DUMP_FPR(21)
	DUMP_FPR(22); DUMP_FPR(23); DUMP_FPR(24); DUMP_FPR(25)
	DUMP_FPR(26); DUMP_FPR(27); DUMP_FPR(28)
	DUMP_FPR(29); DUMP_FPR(30); DUMP_FPR(31)
	cfc1	$26, $31
	nop
	DUMP($26, 198)
	mtc0	$8, $12
	nop
	nop
	nop
	nop

	mfhi	$26
	DUMP($26, 128)
	dsra32	$26, $26, 0
	DUMP($26, 129)
	mflo	$26
	DUMP($26, 130)
	dsra32	$26, $26, 0
	DUMP($26, 131)

	mfc0	$8, $6			/* stays in $8, as dumped */
	DUMP_GPR(0); DUMP_GPR(2); DUMP_GPR(3); DUMP_GPR(4); DUMP_GPR(5); DUMP_GPR(6); DUMP_GPR(7)
	DUMP_GPR(8); DUMP_GPR(9); DUMP_GPR(10); DUMP_GPR(11)
	DUMP_GPR(12); DUMP_GPR(13); DUMP_GPR(14)
	DUMP_GPR(15); DUMP_GPR(16); DUMP_GPR(17); DUMP_GPR(18)
	DUMP_GPR(19); DUMP_GPR(20); DUMP_GPR(21)
	DUMP_GPR(22); DUMP_GPR(23); DUMP_GPR(24); DUMP_GPR(25)
	DUMP_GPR(27); DUMP_GPR(28); DUMP_GPR(29)
	DUMP_GPR(30); DUMP_GPR(31)

	/* $26 and $1 last: where the traced part begins, and all ones for the high words */
	lui	$26, %hi(5f)
	addiu	$26, $26, %lo(5f)
	lui	$1, 0x2000
	or	$26, $26, $1		/* kseg0 -> kseg1 */
	addiu	$1, $0, -1
	DUMP($26, 26)
	DUMP($1, 58)
	DUMP($26, 132)
	DUMP($1, 133)
	DUMP($1, 1)
	DUMP($1, 33)
	mtc0	$8, $6
	sw	$0, 0x24($27)		/* go: the very next instruction after Wired */
5:	jr	$31
	 nop
	.end	citcat_begin
	.set	pop
