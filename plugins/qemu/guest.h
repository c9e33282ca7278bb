/* SPDX-License-Identifier: MIT */
/* guest.h - what the plug-in reads of an x86 guest's state: registers and tables that the processor
 * itself follows
 *
 * Call these from call-backs of the virtual processor that may read registers. */
#ifndef PUGMARK_QEMU_GUEST_H
#define PUGMARK_QEMU_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"

enum control {				/* what an instruction changes */
	CONTROL_NONE,
	CONTROL_REGISTER,		/* control registers: paging, page directory */
	CONTROL_IDT, CONTROL_GDT,	/* where the tables of interrupts and segments are */
};

struct guest {
	bool paging, wide;		/* CR0.PG; long mode */
	uint64_t directory;		/* CR3 without what is no address */
	uint64_t idt, gdt;		/* where they are */
	uint32_t idt_size;		/* bytes; 0: not known yet */
	uint32_t gdt_size;
	uint32_t selector;		/* of the code segment looked at last; UINT32_MAX: none */
	bool selector_wide;
	/* Long mode has begun in a segment of 32 bits, and no far transfer has loaded another one:
	 * what the table says of the selector is not what the processor goes by. */
	bool old_segment;
};
extern struct guest guest;

/* False: QEMU has none of these registers. */
bool guest_find_registers(void);
void guest_read_control(void);
/* Where the block begins whose call-back this is. */
uint64_t guest_pc(void);
bool guest_wide_code(void);		/* is what runs 64-bit code? */
bool guest_is_far(const uint8_t *insn, unsigned len);	/* may it load the code segment? */
/* A near return, or a jump or call to where memory says: what it reads is where control goes. */
bool guest_reads_target(const uint8_t *insn, unsigned len);
void guest_segment_loaded(void);	/* one such has been executed */
/* The vector whose handler is at @pc, or -1. */
int guest_vector_at(uint64_t pc);
/* At the first instruction of the handler of @vector: where control came from. */
bool guest_interrupted(unsigned vector, uint64_t *pc);
/* An instruction of CONTROL_IDT or CONTROL_GDT has read @v of its operand. */
void guest_table(enum control which, const struct qemu_plugin_mem_value *v);
enum control guest_control(const uint8_t *insn, unsigned len);
/* What no reference shows: a port is read or written, the processor halts... 0: nothing such. Else
 * enum qs_cycle; *size: log2 of the port's; *port: it, or UINT32_MAX: it is in dx; *string: each
 * reference is a transfer. */
unsigned guest_cycle(const uint8_t *insn, unsigned len, unsigned *size, uint32_t *port,
		     bool *string);
uint32_t guest_port(void);		/* dx */
uint32_t guest_written(void);		/* eax */
/* Where the page tables say that @addr is; QS_NOWHERE: it is not mapped. @ram: all memory. */
uint64_t guest_walk(uint64_t addr, const uint8_t *ram, uint64_t size);
/* Registers of a call: rdi, rsi, rdx, rcx, r8, r9; rax. 0: there is none. */
uint64_t guest_argument(unsigned i);
uint64_t guest_stack_pointer(void);
bool guest_read(uint64_t addr, void *to, size_t n);
/* Where a direct branch goes that ends at @end; @end if it is none. */
uint64_t guest_branch(const uint8_t *insn, unsigned len, uint64_t end);

#endif
