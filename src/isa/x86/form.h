/* SPDX-License-Identifier: MIT */
/* form.h - what an x86 instruction is, apart from its displacement and immediate values
 *
 * Prefixes, opcode, ModRM and SIB decide an instruction's length, mnemonic, control flow and memory
 * operands; displacement and immediates do not. A pm_forms remembers each such prefix of bytes
 * once Zydis has decoded it, in a trie of bytes, so a pass over hundreds of thousands of
 * instructions costs a few loads for each and decodes a few thousand.
 *
 * Threads    a pm_forms belongs to one thread. */
#ifndef PM_ISA_X86_FORM_H
#define PM_ISA_X86_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pm_form {
	uint16_t mnemonic;		/* ZydisMnemonic; 0: not an instruction */
	uint8_t len;			/* bytes of the whole instruction */
	uint8_t flow;			/* enum pm_insn_class (pugmark.h) */
	uint8_t reads, writes;		/* memory operands, implicit ones included; once for rep */
	uint8_t rep;			/* a rep-prefixed string instruction */
	uint8_t rel_at, rel_size;	/* where the relative branch distance stands; size 0:
					 * none */
	uint8_t ends;			/* transfers control, or may: what follows begins a block */
};

struct pm_forms;
struct pm_forms *pm_forms_new(bool i386);
void pm_forms_free(struct pm_forms *f);

/* What a pm_forms remembers as bytes, which another one can begin with: of the same build, with the
 * same Zydis, on this machine. */
struct pm_buf;
void pm_forms_bytes(const struct pm_forms *f, struct pm_buf *b);
/* @f, as new, begins with the @n bytes at @p, which are aligned to 8. They are used where they lie
 * until pm_forms_free(), also for what is added, as long as @room is not exceeded; pm_forms_room()
 * always suffices. False: they are not such bytes, and @f is as before. Whatever bytes they are, no
 * access leaves them; who cannot be sure that they are as they were written has a checksum. */
bool pm_forms_use(struct pm_forms *f, void *p, size_t n, size_t room);
size_t pm_forms_room(void);
/* How many prefixes have been added since. */
size_t pm_forms_learned(const struct pm_forms *f);

/* The form of the instruction at @p, of which @n bytes may be looked at. Borrowed, and valid until
 * the next call. mnemonic 0 and len 1: the bytes are no instruction that the decoder knows. */
const struct pm_form *pm_form_at(struct pm_forms *f, const uint8_t *p, size_t n);
/* Target of a direct branch whose form is @m, at address @pc; 0 if it is none. */
uint64_t pm_form_target(const struct pm_form *m, const uint8_t *p, uint64_t pc);

const char *pm_form_mnemonic(unsigned mnemonic);	/* "mov" */
/* The mnemonic with its condition left out: "jcc", "setcc", "cmovcc", "loopcc"; others are their
 * own class. These are the opcodes by which the IDtrace report's Table 2 counts. */
const char *pm_form_class(unsigned mnemonic);
#define PM_FORM_MNEMONICS 2048		/* more than there are */

#endif
