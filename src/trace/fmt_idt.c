/* SPDX-License-Identifier: MIT */
/* fmt_idt.c - IDtrace's traces: a stream of tagged entries without a header, little-endian
 *
 *   TAG   KIND    INFORMATION (u32; u64 in the wide variants)
 *   0s    RW      data read and written; s is the size code     branch    70 a0 b0
 *   1s    RD      data read                                     cache     1s 2s 3s 4s 50 60 cs ds
 *   2s    WR      data written                                  execution 0s-4s 50 80 90
 *   3s 4s RRD RWR the same by a rep instruction
 *   50    REND    end of a rep instruction: 0
 *   60    LINE    instruction cache line
 *   70    BBAD    block begins at this address
 *   80    BBFP    block begins: offset of its record in the .blk beside the .trc
 *   90    TARG    control target; of an indirect transfer the pointer's address
 *   a0    OP1     u8 opcode, address of the instruction's last byte
 *   b0    OP2     u8, u8 opcode, the same
 *   cs ds POP     data read by pop or ret, written by push or call, in cache traces that say so
 *         PUSH
 *
 * docs/formats/idtrace.md has the rules and worked examples. Branch blocks become PM_EV_BLOCK
 * without an id, since nothing is known about them but where they begin. Execution blocks have a
 * code table from the .blk: lengths and classes, and bytes if `binary=FILE` names the program.
 * idt_read.c reads the entries, idt_write.c writes them, idt_format.c has what both need. */
#include <string.h>

#include "base/utf8.h"
#include "trace/idt_format.h"
#include "trace/text.h"

/* ---- probing: walk the entries, see whether all tags belong to the kind --------------------- */

/* Numbers and words in lines are full of bytes that are tags; of addresses some byte is no text. */
static bool is_text(const uint8_t *head, size_t n)
{
	for (size_t i = 0; i < n; ) {
		const size_t left = n - i < 4 ? n - i : 4;
		const unsigned len = head[i] < 0x80 ? 1 : pm_utf8_len(head + i, left);

		if (head[i] == 0x7f || (head[i] < ' ' && !memchr("\t\n\r", head[i], 3)))
			return false;
		if (!len)		/* the last character may be cut */
			return left < 4 && head[i] >= 0xc2;
		i += len;
	}
	return true;
}

static int idt_probe(const uint8_t *head, size_t n, enum idt_kind kind, bool wide)
{
	static const uint8_t first[] = { IDT_BBAD, IDT_LINE, IDT_BBFP };
	size_t at = 0;
	int entries = 0;

	/* without instruction references a cache trace is data from its beginning */
	if (!n || (head[0] != first[kind] && kind != IDT_CACHE) || is_text(head, n))
		return 0;
	while (at < n && entries < 40) {
		unsigned size;

		if (!idt_legal(kind, head[at], wide))
			return 0;
		size = idt_entry_size(head[at], wide);
		if (n - at < size) {
			if (n < PM_WINDOW)
				return 0;
			break;
		}
		/* upper halves of addresses, and the blocks' places in the table */
		if (wide && kind != IDT_CACHE && pm_get16(head + at + size - 2) &&
		    pm_get16(head + at + size - 2) != 0xffff)
			return 0;
		if (kind == IDT_EXEC && head[at] == IDT_BBFP &&
		    (wide ? pm_get64(head + at + 1) < 32 || pm_get64(head + at + 1) % 8 :
		     pm_get32(head + at + 1) < 16))
			return 0;
		at += size;
		entries++;
	}
	return (head[0] == first[kind] ? 20 : 10) + 5 * entries;
}

#define IDT_INFO "info  writing: NAME.info, too, which says what a trace does not"
#define IDT_CACHE_OPTIONS								\
	"line=N  bytes of an instruction line (16, or what files beside it say)\n"	\
	"rep  writing: own tags for references of rep instructions\n"			\
	"push-pop  writing: own tags for pushes, pops, calls and returns\n"
#define IDT_EXEC_OPTIONS								\
	"blk=FILE  the block table (beside the trace)\n"				\
	"binary=FILE  reading: the program, for its instructions' bytes\n"		\
	"modules=FILE  reading: the module file, for those of libraries, too\n"
#define ROW(id, text, names, ext, k, wd, fact, need, flags)					\
static void *id##_open(struct pm_input *in, const struct pm_read_opts *o, uint32_t *f,		\
		       struct pm_err *e)							\
{												\
	return idt_read_open(in, o, f, e, k, wd);						\
}												\
static void *id##_create(struct pm_output *out, const struct pm_write_opts *o, struct pm_err *e)\
{												\
	return idt_write_open(out, o, e, k, wd);						\
}												\
static int id##_probe(const uint8_t *head, size_t n)						\
{												\
	return idt_probe(head, n, k, wd);							\
}												\
static const struct pm_reader_ops id##_read = {							\
	id##_open, idt_read_next, idt_read_close, NULL, idt_read_epochs				\
};												\
static const struct pm_writer_ops id##_write = {						\
	id##_create, idt_write, idt_write_finish, idt_write_close, pm_plain_dropped		\
};												\
const struct pm_format pm_fmt_##id = {								\
	.name = text, .about = names, .plural = "IDtrace traces (" text ")", .suffixes = ext,	\
	.has = fact, .needs = need, .sink_flags = flags,					\
	.options = (k) == IDT_CACHE ? IDT_CACHE_OPTIONS IDT_INFO :				\
		   (k) == IDT_EXEC ? IDT_EXEC_OPTIONS IDT_INFO : IDT_INFO,			\
	.probe = id##_probe, .read = &id##_read, .write = &id##_write,				\
};
#define CACHE_FACTS (PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_LINES)
#define EXEC_FACTS (PM_HAS_INSNS | PM_HAS_BYTES | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES |\
		    PM_HAS_REPS | PM_HAS_BLOCKS)
#define EXEC_NEEDS (PM_HAS_INSNS | PM_HAS_REFS | PM_HAS_SIZES | PM_HAS_BRANCHES)

ROW(idt_branch, "idt-branch", "IDtrace branch trace", NULL, IDT_BRANCH, false,
    PM_HAS_BRANCHES | PM_HAS_OPCODES, PM_HAS_BRANCHES, 0)
ROW(idt_cache, "idt-cache", "IDtrace cache trace: instruction lines and data references", NULL,
    IDT_CACHE,
    false, CACHE_FACTS, PM_HAS_REFS, 0)
ROW(idt_exec, "idt-exec", "IDtrace execution trace with its .blk", NULL, IDT_EXEC, false,
    EXEC_FACTS, EXEC_NEEDS,
    PM_SINK_BLOCKS)
ROW(idt_branch64, "idt-branch64", "IDtrace branch trace, 64-bit addresses", NULL, IDT_BRANCH, true,
    PM_HAS_BRANCHES | PM_HAS_OPCODES, PM_HAS_BRANCHES, 0)
ROW(idt_cache64, "idt-cache64", "IDtrace cache trace, 64-bit addresses", NULL, IDT_CACHE, true,
    CACHE_FACTS,
    PM_HAS_REFS, 0)
ROW(idt_exec64, "idt-exec64", "IDtrace execution trace, 64-bit addresses, with its .blk64", NULL,
    IDT_EXEC,
    true, EXEC_FACTS, EXEC_NEEDS, PM_SINK_BLOCKS)
