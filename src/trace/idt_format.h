/* SPDX-License-Identifier: MIT */
/* idt_format.h - what IDtrace's formats share: their reader (idt_read.c), their writer
 * (idt_write.c) and their rows in the registry (fmt_idt.c, which draws the entries) need it */
#ifndef PM_TRACE_IDT_FORMAT_H
#define PM_TRACE_IDT_FORMAT_H

#include "trace/format.h"
#include "trace/idt.h"

enum idt_kind { IDT_BRANCH, IDT_CACHE, IDT_EXEC };

extern const char *const idt_format_name[2][3];	/* wide or not, kind: as users type it */
extern const char *const idt_kind_name[3];

/* Files beside the trace @path, which need not be there; the caller frees the name. */
char *idt_blk_path(const char *path, bool wide);
char *idt_info_path(const char *path, bool wide);
char *idt_idt_path(const char *path, bool wide);
char *idt_program_path(const char *path, bool wide);
char *idt_modules_path(const char *path, bool wide);

/* May an entry of such a trace begin with @tag? If so, how many bytes has it? */
bool idt_legal(enum idt_kind kind, unsigned tag, bool wide);
unsigned idt_entry_size(unsigned tag, bool wide);

/* Does this jump or call read its target from memory? The target entry is then the pointer's place,
 * and stands for the read. */
bool idt_through_memory(const struct pm_insn *in, bool wide);

/* Instructions that refer several times and have one data entry in an execution trace, of the first
 * push or pop: pusha and popa of eight registers, a far call's code segment. */
enum idt_pushes { IDT_PLAIN, IDT_PUSHA, IDT_POPA, IDT_FAR_CALL };
/* IDT_PLAIN also if the bytes are not known. */
enum idt_pushes idt_pushes(const struct pm_insn *in, bool wide);
static inline unsigned idt_pushed(enum idt_pushes k)
{
	return k == IDT_PLAIN ? 1 : k == IDT_FAR_CALL ? 2 : 8;
}
/* Where the first of them is, if all have @size bytes at @addr. */
static inline uint64_t idt_first_push(enum idt_pushes k, uint64_t addr, unsigned size)
{
	return k == IDT_POPA ? addr : addr + size - size / idt_pushed(k);
}

/* As struct pm_reader_ops and struct pm_writer_ops want them. */
void *idt_read_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *facts,
		    struct pm_err *err, enum idt_kind kind, bool wide);
enum pm_status idt_read_next(void *self, const struct pm_batch **batch, struct pm_err *err);
void idt_read_close(void *self);
void idt_read_epochs(void *self);
void *idt_write_open(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *err,
		     enum idt_kind kind, bool wide);
enum pm_status idt_write(void *self, const struct pm_batch *b, struct pm_err *err);
enum pm_status idt_write_finish(void *self, struct pm_err *err);
void idt_write_close(void *self);

#endif
