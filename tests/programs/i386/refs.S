/* SPDX-License-Identifier: MIT */
/* flags: -nostdlib -static -no-pie -Wl,--build-id=none */
/* refs.S - addresses that only 32-bit code makes: 16 bits wide in a segment of the program's own,
 * wrapping at 4 GiB, from the middle of pusha; strings with all prefixes; every register in use
 * between the stores of a record. Ends with status 0 if memory is what it should be. */
	.intel_syntax noprefix
	.globl _start
	.text
_start:
	/* LDT entry 0: data, 64 KiB from `area` on */
	mov	eax, 123			# modify_ldt(1, &desc, 16)
	mov	ebx, 1
	mov	ecx, offset desc
	mov	edx, 16
	int	0x80
	test	eax, eax
	jnz	bad
	mov	eax, 7				# entry 0, LDT, ring 3
	mov	gs, eax

	mov	ebx, 0xabcd0010			# the upper halves do not count
	mov	esi, 0x1234fff8
	mov	dword ptr gs:[bx + si + 4], 0x11223344
	mov	eax, gs:[bx + si + 4]
	cmp	eax, [area + 12]
	jne	bad
	add	byte ptr gs:[si + 7], 1		# at the segment's end
	mov	di, 12
	.byte	0x65, 0x67			# gs, addr16: al = byte at bx + al
	mov	ebx, 0x10000
	mov	al, 13
	.byte	0x65, 0x67, 0xd7		# xlat gs:[bx + al]
	cmp	al, 0x33
	jne	bad
	mov	ecx, 0x70003			# three bytes from gs:[si]
	mov	esi, 0x5000c
	.byte	0x65, 0x67, 0xf3, 0xac		# rep lodsb
	cmp	al, 0x22
	jne	bad
	mov	ecx, 4
	mov	esi, 8
	mov	edi, offset area + 32
	.byte	0x65, 0xf3, 0xa5		# rep movsd es:[edi], gs:[esi]
	std
	mov	ecx, 5
	mov	esi, offset area + 20
	mov	edi, offset area + 24
	rep	movsd
	mov	ecx, 3
	mov	edi, offset area + 3
	rep	stosb
	cld
	xor	ecx, ecx
	rep	stosd

	/* modulo 2^32 */
	mov	ebx, 0xfffffff0
	mov	eax, offset area + 0x10 + 64
	mov	dword ptr [eax + ebx], 7
	mov	edx, 0x40000000
	mov	esi, offset area + 72
	inc	dword ptr [esi + edx * 4]
	bts	dword ptr [area + 80], ebx	# bit -16
	mov	ax, 35
	btc	word ptr [area + 80], ax

	/* the stack in all sizes */
	pusha
	pushaw
	push	word ptr [esp + 2]
	pop	word ptr [esp + 4]
	popaw
	mov	ebp, [esp + 8]
	popa
	enter	16, 0
	mov	dword ptr [ebp - 8], 1
	enter	8, 1
	mov	eax, [ebp]
	leave
	leave
	push	gs
	pop	gs
	pushf
	popf
	push	esp
	pop	esp
	push	offset after
	ret
after:
	call	full
	mov	ecx, 9
1:	call	full
	loop	1b

	/* x87 and its state */
	fninit
	fld	qword ptr [number]
	fadd	dword ptr [number]
	fstp	tbyte ptr [area + 96]
	fnsave	[area + 128]
	frstor	[area + 128]
	mov	eax, 1
	xor	edx, edx
	mov	ebx, 5
	cmpxchg8b [area + 88]
	mov	eax, 1
	xor	ebx, ebx
	int	0x80
bad:
	mov	eax, 1
	mov	ebx, 1
	int	0x80

/* No register is left for anything else between the first reference and the last. */
full:
	pusha
	mov	eax, offset table
	mov	ebx, [eax]
	mov	ecx, [ebx]
	mov	edx, [ecx]
	mov	esi, [edx]
	mov	edi, [esi]
	mov	ebp, [edi]
	mov	eax, [ebp]
	add	[eax + 4], ebx
	add	[ecx + 4], edx
	xchg	[esi + 8], edi
	add	[ebp + 12], eax
	mov	[esp - 4], ebp
	popa
	ret

	.data
	.balign	16
desc:	.long	0, area, 0xffff, 0x41		# not a gap, 32-bit, readable and writable; useable
number:	.double	3.5
table:	.long	table, 1, table, 4
	.bss
	.balign	64
area:	.skip	0x10000
