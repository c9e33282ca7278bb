/* SPDX-License-Identifier: MIT */
/* bare.S - a system of some hundred instructions for `pugmark machine run --guest x86_64`
 *
 * A multiboot kernel. It turns on paging and 64-bit mode, and then does once each thing after which
 * it is not obvious what was executed: faults in the middle of a block and of a rep instruction,
 * device registers in the middle of a block, code that changes itself, code at two addresses, timer
 * interrupts. In the end it powers off, by ACPI's register as the firmware has placed it; built
 * with RESET it resets the board, with SHUTDOWN a fault that nothing handles does.
 *
 *   virtual               physical
 *   00000000..3fffffff    the same
 *   40000000..7fffffff    from 0 on: the same code at another address
 *   80000000..bfffffff    from 0 on; not mapped until a fault
 *   c0000000..ffffffff    the same; not mapped until a fault
 *   19000000..193fffff    600000..7fffff, 400000..5fffff, in the end */
#define PRESENT		3
#define LARGE		0x83
#define ALIAS		0x40000000
#ifndef TICKS
#define TICKS		3			/* timer interrupts to wait for, some 55,000
						 * instructions each at 2 ns */
#endif

	.section .text
	.code32
	.globl _start
	.balign 4
	.long 0x1badb002, 0, -0x1badb002	/* multiboot: magic, flags, checksum */
_start:
	mov $stack_end, %esp
	/* tables: pml4[0] -> pdpt; pdpt[0], [1] -> low; pages of 2 MiB */
	movl $pdpt + PRESENT, pml4
	movl $low + PRESENT, pdpt
	movl $low + PRESENT, pdpt + 8
	xor %ecx, %ecx
1:	mov %ecx, %eax
	shl $21, %eax
	or $LARGE, %eax
	mov %eax, low(, %ecx, 8)
	add $0xc0000000, %eax
	mov %eax, high(, %ecx, 8)
	inc %ecx
	cmp $512, %ecx
	jne 1b
	mov $pml4, %eax
	mov %eax, %cr3
	mov %cr4, %eax
	or $0x620, %eax				/* PAE, and SSE */
	mov %eax, %cr4
	mov $0xc0000080, %ecx			/* EFER.LME */
	rdmsr
	or $0x100, %eax
	wrmsr
	lgdt gdt_at
	mov %cr0, %eax
	or $0x80000000, %eax
	mov %eax, %cr0				/* here the trace begins */
	ljmp $8, $in_64

	.code64
in_64:	mov $16, %eax
	mov %eax, %ss
	mov %eax, %ds
	mov %eax, %es
	mov $stack_end, %esp
	/* vectors: each has the handler in `handlers` */
	xor %ecx, %ecx
2:	mov handlers(, %rcx, 4), %eax
	mov %ecx, %edx
	shl $4, %edx
	mov %ax, idt(%rdx)
	movl $0x8e000008, idt + 2(%rdx)		/* present, interrupt gate, segment 8 */
	shr $16, %eax
	mov %ax, idt + 6(%rdx)
	inc %ecx
	cmp $64, %ecx
	jne 2b
	lidt idt_at

	/* a loop, calls, a conditional branch that goes both ways */
	mov $5, %ebx
3:	call twice
	test $1, %ebx
	jz 4f
	inc %r12d
4:	dec %ebx
	jnz 3b
	mov $twice, %eax
	call *%rax
	mov $twice + ALIAS, %eax		/* the same code elsewhere: and then there again */
	call *%rax
	call twice
	mov $twice + ALIAS, %eax		/* likewise, by a return, and by a call through
						 * memory */
	push $back
	push %rax
	ret
back:	call *elsewhere(%rip)
	call twice

	/* an exception of software, one of the processor, and one in the middle of a block, after
	 * which the instruction is executed again */
	int $0x30
	ud2
	mov $1, %edx
	mov $0x80000000 + stack, %edi
	mov (%rdi), %rsi			/* faults */
	mov %rsi, %rdi
	push %rdi
	pop %rdi

	/* rep instructions: of no iteration, of many, and with a fault half way */
	cld
	xor %ecx, %ecx
	mov $stack, %esi
	mov $buffer, %edi
	rep movsb
	mov $stack, %esi
	mov $70000, %ecx
	rep movsb
	mov $0x10000, %ecx
	mov $buffer, %edi
	xor %eax, %eax
	repe scasw
	mov $0xc0000000 - 16, %edi
	mov low + 511 * 8, %rax			/* 0xbfe00000 is `buffer` for a while */
	mov %rax, %r13
	movq $buffer_page + LARGE, low + 511 * 8
	mov $32, %ecx
	xor %eax, %eax
	mov %cr3, %rdx
	mov %rdx, %cr3
	rep stosb				/* faults at 0xc0000000 */
	mov %r13, low + 511 * 8
	mov %cr3, %rdx
	mov %rdx, %cr3

	/* a device's register in the middle of a block: the local APIC */
	mov $0xfee00000, %ebp
	mov $7, %eax
	mov 0x20(%rbp), %edx
	add %edx, %eax
	mov 0x30(%rbp), %edx
	movl $0x1ff, 0xf0(%rbp)
	add %edx, %eax
	push %rax
	pop %rax

	/* code that changes what comes next in its own block */
	mov $1, %ecx
	movb $0x2a, 5f + 1
	inc %ecx
5:	mov $0, %al
	add %al, %bl

	/* 16-byte moves, and a locked instruction */
	movups stack, %xmm0
	movups %xmm0, buffer
	lock incl counter
	mov $1, %eax
	xadd %eax, counter
	cmpxchg %eax, counter

	/* what only a bus shows: strings to and from ports, a line that is written back */
	mov $stack, %esi
	mov $buffer, %edi
	mov $0x80, %edx
	mov $5, %ecx
	rep outsb
	mov $3, %ecx
	rep insb
	mov $0x604, %edx
	insw
	mov $0xcf8, %edx
	outsl
	insl
	in %dx, %eax
	in $0x80, %al
#ifndef NO_FLUSH
	wbinvd
#endif
	xchg %eax, counter
	lock addl $1, stack + 62		/* in two lines */
	mov stack + 77, %rax

	/* pages that are no neighbours: 0x600000 and 0x400000; data and code across */
	movq $0x600000 + LARGE, low + 200 * 8
	movq $0x400000 + LARGE, low + 201 * 8
	mov %cr3, %rdx
	mov %rdx, %cr3
	mov $200 << 21, %edi
	movq $0x345678b8, 0x1ffffe(%rdi)	/* mov $..., %eax; ret */
	movb $0xc3, 0x200003(%rdi)
	mov 0x1ffffd(%rdi), %rax
	lea 0x1ffffe(%rdi), %rax
	call *%rax

	/* timer interrupts: the interrupt controller's vectors begin at 32, only line 0 is open */
	mov $0x11, %al
	out %al, $0x20
	mov $0x20, %al
	out %al, $0x21
	mov $4, %al
	out %al, $0x21
	mov $1, %al
	out %al, $0x21
	mov $0xfe, %al
	out %al, $0x21
	mov $0x34, %al				/* 9 kHz */
	out %al, $0x43
	mov $0x80, %al
	out %al, $0x40
	mov $0, %al
	out %al, $0x40
	sti
6:	inc %r14
	call twice
	cmpl $TICKS, ticks
	jb 6b
	hlt
	mov $0x200000, %edi			/* the same while a long instruction runs */
	mov %edi, %esi
	mov $300000, %ecx
	rep movsb
	cli

#ifdef RESET
	mov $0xcf9, %edx
	mov $6, %eax
	out %al, %dx
#endif
#ifdef SHUTDOWN
	lidt empty				/* three faults in one another */
	ud2
#endif
	mov $0x604, %edx
	mov $0x2000, %eax
	out %ax, %dx				/* power off */
7:	hlt
	jmp 7b

twice:	mov counter, %eax
	add %eax, %eax
	mov %eax, counter
	ret

	/* ---- handlers ---------------------------------------------------------------------- */
on_int:	incl counter
	iretq
on_ud:	addq $2, (%rsp)
	iretq
on_pf:	push %rax
	push %rbx
	mov %cr2, %rax
	shr $30, %eax
	cmp $2, %eax
	mov $low + PRESENT, %ebx
	je 8f
	mov $high + PRESENT, %ebx
8:	mov %rbx, pdpt(, %rax, 8)
	pop %rbx
	pop %rax
	add $8, %rsp				/* the error code */
	iretq
on_tick:
	push %rax
	incl ticks
	mov $0x20, %al
	out %al, $0x20
	pop %rax
	iretq
on_bad:	hlt
	jmp on_bad

	.section .data
	.balign 16
gdt:	.quad 0, 0x00209a0000000000, 0x0000920000000000
gdt_at:	.word 23
	.quad gdt
idt_at:	.word 64 * 16 - 1
	.quad idt
	.balign 4
counter: .long 1
elsewhere: .quad twice + ALIAS
ticks:	.long 0
handlers:
	.rept 6
	.long on_bad
	.endr
	.long on_ud
	.rept 7
	.long on_bad
	.endr
	.long on_pf
	.rept 17
	.long on_bad
	.endr
	.long on_tick
	.rept 15
	.long on_bad
	.endr
	.long on_int
	.rept 15
	.long on_bad
	.endr

	.section .bss
	.balign 4096
empty:	.skip 16				/* no table of interrupts */
	.balign 4096
pml4:	.skip 4096
pdpt:	.skip 4096
low:	.skip 4096
high:	.skip 4096
idt:	.skip 4096
stack:	.skip 131072
stack_end:
buffer:	.skip 131072
	.set buffer_page, 0x400000		/* 2 MiB that nobody else needs */
	.section .note.GNU-stack,"",@progbits
