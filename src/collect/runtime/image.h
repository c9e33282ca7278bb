/* SPDX-License-Identifier: MIT */
/* image.h - the layout of an instrumented executable (.idt)
 *
 * It carries the start-up stub, the runtime, a manifest, and for every text that it knows the
 * translated code with its tables. instrument/write.c and translate/whole_text.c write it; the
 * runtime in it reads it. The tables never change.
 *
 * A *position* is an offset in the file that holds the thing. An *address* is where it lives in the
 * process. Everything is mapped at a fixed address.
 *
 *   BENCH.idt         the original file with another ELF header (entry, program headers), then
 *                     stub | program headers | runtime text | runtime data | manifest |
 *                     code and tables of its own texts | struct idt_trailer (trace/idt_files.h)
 *   BENCH.idt.d/KEY   code and tables of a library's texts; KEY is its build id
 *
 * ADDRESS SPACE, besides that of abi.h or instead of it:
 *
 *   IMG_MANIFEST       the manifest (r--)
 *   img_text.packed    a text's entries and what is packed of it, as in the file (r--)
 *   img_text.tables    its tables (r--)
 *   img_text.code      its translated code (r-x)
 *   IMG_STORE          tables and code unpacked (rw-, shared memory in RT_DATA_VAULT)
 *   RT_SHADOW          private memory; a text's entries are set when control reaches it
 *   IMG_LATER          what the translator adds while the program runs (THE TRANSLATOR)
 *
 * A 32-bit process has IMG32_MANIFEST instead. All the rest lies from IMG32_REST on, where the
 * manifest says; also what the translator adds (img_manifest.later). Code, tables, RT32_SHADOW and
 * the tables of the shadow are private memory. A thread block is as large as its counters need.
 * They come behind a single trace buffer.
 *
 * Tables are packed. So is code that would make the file too large. The runtime unpacks a piece
 * when it is first touched (THE PACKING). */
#ifndef PM_RUNTIME_IMAGE_H
#define PM_RUNTIME_IMAGE_H

#include "abi.h"

#define IMG_MANIFEST		RT_CODE_VAULT
#define IMG_LATER_LINKS		(RT_CODE_VAULT + (16ull << 30))
#define IMG_TABLES(i)		(RT_CODE_VAULT + ((uint64_t)((i) + 16) << 32))
#define IMG_PACKED(i)		(RT_CODE_VAULT + (4ull << 40) + ((uint64_t)(i) << 32))
/* A text's tables; its code from IMG_STORE_CODE on. */
#define IMG_STORE(i)		(RT_DATA_VAULT + (4ull << 40) + ((uint64_t)(i) << 32))
#define IMG_STORE_CODE		0x80000000u
#define IMG_STORED		0x10000u	/* in block 0: u8 for each piece of each text,
						 * 1: it is in the store */
#define IMG_LATER		(RT_CODE_VAULT + (6ull << 40))
#define IMG32_MANIFEST		RT32_LINKS
#define IMG32_REST		(RT32_CODE_VAULT + 0x1000000u)
/* in a thread block: u32 each */
#define IMG32_COUNTERS		(RT32_TRACE + RT32_CHUNK_STRIDE)
#define IMG_STUB_SIZE		4096
#define IMG_RESERVED		2	/* counters before the first block's: as long as the
					 * header of a .cnt64 or .cnt */
#define IMG_NO_ENTRY		0xff
#define IMG_NO_BLOCK		0xffffffffu

#define IMG_RESUME		0x90	/* in a thread block, in rt_block.pad2: where
					 * rt_image_again goes on */

#ifndef __ASSEMBLER__

/* What the program writes. Cache and execution traces come from the same code. */
enum img_kind { IMG_PROFILE, IMG_BRANCH, IMG_CACHE, IMG_EXEC };

/* A block of a text, in ascending order of pc; its index is its number in the block table. */
struct img_block {
	uint32_t pc;			/* from img_text.lo */
	uint32_t code;			/* direct entry, from img_text.code */
	uint32_t map;			/* where its part of the map begins, in bytes */
	uint8_t n;			/* instructions */
	uint8_t entry;			/* bytes of the indirect entry, which stands in front of
					 * the direct one; may be 0.
					 * IMG_NO_ENTRY: it has no indirect entry there */
	uint16_t size;			/* bytes of original code */
};

/* THE ENTRIES of a text: where indirect transfers may go, in ascending order. There is one string
 * of bytes for each IMG_CHUNK of the text. In front of the strings stand u32 positions, counted
 * from their own beginning: where each string begins, and where the last one ends. An entry is
 *   uleb128          address, less the one before in the string (first: less the chunk's beginning)
 *   zigzag uleb128   direct entry, less the one before (first: as it is)
 *   u8               bytes of the indirect entry in front of the direct one; or IMG_NO_ENTRY, then
 *   uleb128          where the indirect entry stands by itself */
#define IMG_CHUNK		4096u

/* THE MAP says which original state a place in the code stands for. It is xl_map (translate.h) of a
 * block as a string of bytes. First come the instructions' lengths, one byte each (n of them). Then
 * comes for each entry:
 *   u8          flags: xl_map_flag and IMG_MAP_*
 *   u8          tmp, if the flags have XL_TMP_SAVED or IMG_MAP_BORROWED
 *   u8          instruction, if they have IMG_MAP_INSN
 *   u8          distance from the code of the entry before, for the first from the block's code;
 *               or 0xff, then u32
 * A block's part ends where that of the next block begins, in the order of code. */
#define IMG_MAP_NEXT		0x40	/* the instruction behind the last entry's */
#define IMG_MAP_INSN		0x80	/* another one; with neither: the same */
#define IMG_MAP_BORROWED		0xc0	/* both: another one, with XL_BORROWED(tmp) */

/* A PLAN says what a block's record (abi.h) becomes in the trace. It begins with u8: how many words
 * of 4 bytes the record has behind its number; or IMG_P_LONG, then u16.
 *
 * Branch traces: u8 number of opcode bytes at the block's end, 0..2, then these bytes.
 * Cache and execution traces: operations. The last one is IMG_P_END.
 *
 *   u8 operation | size code << 3 | IMG_P_ODD, u8 instruction, then by operation
 *   READ WRITE MODIFY   size, address
 *   POINTER     address: where an indirect transfer reads its target
 *   TARGET      sleb128 target - the block's pc
 *   NEXT        nothing: the target is where control goes next
 *   REP         u8 enum x86_rep, u8 size, u8 bits of addresses (16, 32, 64), values: source,
 *               destination, after, segment (x86_ref with how X86_REF_REP)
 *   LANES       u8 bytes of an element (0: of a tile's rows), value of the base, sleb128
 *               displacement, u8 scale, u8 struct x86_lanes, values: of the indices, the mask, the
 *               segment's base, u32 place. It finds the elements of a gather or scatter, or the
 *               rows of a tile. That instruction is the block's last one. The place is in the
 *               block table, in units of 8 bytes (i386: 4): there is the block's record with
 *               1 entry of these, behind it those with more
 *   READ_LANES WRITE_LANES   as LANES, and it refers to them
 *   END         value, sleb128: the stack pointer behind the block
 *
 *   size        a size code (trace/idt.h); 0: u16 follows; IMG_P_PUSHED() of 2, 4 or 8 bytes:
 *               that size, and it has the tag of a push or pop
 *   address     value, sleb128 displacement. With IMG_P_ODD first: u8 enum x86_ref_how, u8 scale,
 *               u16 size, value of the index, value of the segment's base, u16 after
 *   values      names (isa/x86/plan.h): u8, with the low byte of X86_VAL_KNOWN and above;
 *               or IMG_V_LONG, then u16 */
enum {
	IMG_P_END, IMG_P_READ, IMG_P_WRITE, IMG_P_MODIFY, IMG_P_POINTER, IMG_P_TARGET, IMG_P_NEXT,
	IMG_P_REP,
};
#define IMG_P_ODD		0x80
#define IMG_P_LANES		(IMG_P_REP | IMG_P_ODD)
#define IMG_P_READ_LANES	(IMG_P_LANES | 1 << 3)
#define IMG_P_WRITE_LANES	(IMG_P_LANES | 2 << 3)
#define IMG_P_LONG		0xffu
#define IMG_P_PUSHED(size)	((size) == 2 ? 13u : (size) == 4 ? 14u : 15u)
enum { IMG_V_LONG = 0xf0, IMG_V_GS = 0xfffc, IMG_V_FS, IMG_V_RSP, IMG_V_NONE };	/* X86_VAL_* */

/* At the beginning of a text's tables. Positions are from here, multiples of IMG_PIECE. */
struct img_tables {
	uint32_t nblock;
	uint32_t block;			/* struct img_block */
	uint32_t by_code;		/* u32 block numbers in ascending order of code */
	uint32_t map, nmap;
	uint32_t plan_at, plan, nplan;	/* u32 for each block: where its plan is in the plans;
					 * 0: a profile */
	uint32_t record_at;		/* u32 for each block: its place in the block table, in
					 * units of 8 bytes, i386: of 4 */
	uint32_t back;			/* u32 for each block: it continues the record of the block
					 * with a number so much lower (modulo 2^32); 0: of none */
};

struct img_text {
	uint64_t lo, hi;		/* mapped executable segment, page aligned */
	uint64_t base;			/* address of the lowest segment of its file */
	uint64_t bytes;			/* of the text that come from the file, from lo */
	uint64_t hash;			/* of them: img_hash() */
	uint64_t code, code_len;	/* address; bytes */
	uint64_t packed_at, packed_len;	/* position, page aligned: the tables' struct img_pack
					 * comes first */
	uint64_t packed;		/* address */
	uint64_t tables, tables_len;	/* address; bytes */
	uint64_t entries;		/* address */
	uint64_t code_pack;		/* address: the code's struct img_pack; 0: not packed */
	uint64_t code_at;		/* ... but mapped from this position, page aligned */
	uint32_t first;			/* number of its first block */
	uint32_t nblock;
	uint32_t prot;			/* PROT_*: as the program maps it */
	uint32_t file;			/* number of its img_file; if the translator added the text:
					 * of its img_region */
};

struct img_file {
	char path[512];			/* where it was when the program was instrumented */
	char key[132];			/* its name below BENCH.idt.d */
	uint32_t build_len;		/* bytes of build id, 0: none */
	uint8_t build[64];
	uint64_t base, end;		/* where it is mapped */
	uint64_t size, changed;		/* of the file; seconds << 32 | nanoseconds */
	uint64_t head;			/* without a build id: hash of its first 4096 bytes */
};

#define IMG_TAGS_REP		1u	/* those of rep instructions; execution traces always */
#define IMG_TAGS_STACK		2u	/* pushes and pops of a cache trace: the plans say which */

struct img_manifest {
	char tag[8];			/* "PUGMAN1\n" */
	uint32_t abi, size;		/* RT_ABI; bytes of all of it */
	uint32_t kind;			/* enum img_kind */
	uint32_t line;			/* of a cache trace, bytes */
	uint32_t tags;			/* IMG_TAGS_*: which references have their own tags */
	uint32_t no_trace, merge;	/* -t, --merge */
	uint32_t exec_all, narrow;	/* a 32-bit program that may execute whatever is mapped;
					 * a 32-bit program */
	uint32_t orig_magic, idt_magic;
	uint32_t nfile, ntext, nblock, nlink;	/* file 0 is the program */
	uint32_t interp;		/* 1: file 1 is the interpreter */
	uint64_t files, texts, links;	/* from the manifest's beginning; links: u64 targets */
	uint64_t entry, interp_entry;	/* addresses */
	uint64_t phdr, phnum;		/* as the program has to see them */
	uint64_t ehdr;			/* address of its ELF header, 0: not mapped */
	uint8_t header[64];		/* ... as it was */
	uint64_t stub;			/* address of the start-up stub's page */
	uint32_t from, to;		/* hints: in which blocks counting and tracing begin and
					 * end; to: perhaps all ones */
	uint64_t vdso, vdso_end;	/* where the vDSO has to be; 0: not known, or where it is */
	uint64_t stamp;			/* equal to that in img_head of its libraries' images */
	uint64_t blk_size, mod_size;	/* of BENCH.blk64 and BENCH.mod as they were written */
	uint64_t counters;		/* in a thread block, for blocks */
	/* of a 32-bit program */
	uint64_t block_size;		/* bytes of a thread block, a power of two */
	uint64_t shadow, shadow_end;	/* where tables of the shadow may be */
	uint64_t watch;			/* for each counter: what it was, how often it has
					 * wrapped (u32 each) */
	uint64_t later, later_end;	/* for what the translator adds; 0: there is no room */
};
_Static_assert(sizeof(struct img_manifest) == 312 && sizeof(struct img_text) == 136 &&
	       sizeof(struct img_file) == 752, "laid out alike for both widths");

struct img_head {			/* of a file in BENCH.idt.d; IMG_PAGE bytes */
	char tag[8];			/* "PUGLIB1\n" */
	uint64_t stamp;
};
#define IMG_PAGE 4096ull

/* THE PACKING of a text's code, or of its tables: u32 number of pieces, then u32 positions, counted
 * from here: where each piece begins, and where the last one ends. Then come the pieces.
 *
 * A piece stands for IMG_PIECE bytes. It begins with u8 IMG_COLUMNS(). Then come these bytes, or an
 * LZ4 block that makes them if that is shorter.
 *
 * With columns the bytes are a table of u32, column by column: first the lowest bytes of all rows
 * of the first column, and at last the highest bytes of the last one. In a column whose bit is set
 * in `differences`, each u32 but the first is a difference to the one before. */
#define IMG_PIECE		0x8000u
/* @n: 1, 2 or 4 columns; 0: bytes. @differences: bits of columns. */
#define IMG_COLUMNS(n, differences) ((n) | (differences) << 4)
struct img_pack {
	uint32_t n;
	uint32_t at[];
};

static inline uint64_t img_whole(uint64_t n)	/* in whole pieces */
{
	return (n + IMG_PIECE - 1) & ~(uint64_t)(IMG_PIECE - 1);
}

/* Copies @n bytes forwards, eight at a time. If @spare, both sides have room for seven bytes more,
 * and it may copy these, too. */
static inline void img_copy(uint8_t *to, const uint8_t *from, uint32_t n, int spare)
{
	uint8_t *end = to + n;

	for (; spare ? to < end : to + 8 <= end; to += 8, from += 8)
		__builtin_memcpy(to, from, 8);
	while (to < end)
		*to++ = *from++;
}

/* A length of 15 continues in the bytes at *p. */
static inline int img_length(const uint8_t **p, const uint8_t *end, uint32_t *len)
{
	do {
		if (*p == end)
			return 0;
		*len += **p;
	} while (*(*p)++ == 255);
	return 1;
}

static inline void img_rows(const uint8_t *from, uint32_t how, uint8_t *to)
{
	const uint32_t columns = how & 15, rows = IMG_PIECE / 4 / columns;

	for (uint32_t c = 0; c < columns; c++, from += 4 * rows) {
		const uint32_t keep = how >> (4 + c) & 1 ? ~0u : 0;
		uint32_t *row = (uint32_t *)(void *)to + c, sum = 0;

		for (uint32_t i = 0; i < rows; i++, row += columns)
			*row = sum = (sum & keep) +
				     ((uint32_t)from[i] | (uint32_t)from[rows + i] << 8 |
				      (uint32_t)from[2 * rows + i] << 16 |
				      (uint32_t)from[3 * rows + i] << 24);
	}
}

/* HOT: once per piece that is touched. Unpacks one piece of @n bytes into @out. False: it is
 * damaged. */
static inline int img_unpack(const uint8_t *p, uint32_t n, uint8_t *out)
{
	uint8_t bytes[IMG_PIECE];
	const uint8_t *end = p + n;
	const uint32_t how = n ? *p++ : 3;
	uint8_t *const to = how ? bytes : out, *o = to, *const oend = to + IMG_PIECE;

	if ((how & 15) > 4 || (how & 15) == 3 || (how && !(how & 15)))
		return 0;
	if (n == IMG_PIECE + 1)
		for (; o < oend; o += 8, p += 8)
			__builtin_memcpy(o, p, 8);
	while (p < end) {
		const uint32_t token = *p++;
		uint32_t len = token >> 4, off;

		if (len == 15 && !img_length(&p, end, &len))
			return 0;
		if (len > (uint64_t)(end - p) || len > (uint64_t)(oend - o))
			return 0;
		img_copy(o, p, len, end - p >= (int64_t)len + 8 && oend - o >= (int64_t)len + 8);
		o += len;
		p += len;
		if (p == end)
			break;			/* the last sequence has no match */
		if (end - p < 2)
			return 0;
		off = (uint32_t)p[0] | (uint32_t)p[1] << 8;
		p += 2;
		len = token & 15;
		if (len == 15 && !img_length(&p, end, &len))
			return 0;
		len += 4;
		if (!off || off > (uint64_t)(o - to) || len > (uint64_t)(oend - o))
			return 0;
		if (off >= 8)
			img_copy(o, o - off, len, oend - o >= (int64_t)len + 8);
		else
			for (uint32_t i = 0; i < len; i++)
				o[i] = o[(int64_t)i - off];
		o += len;
	}
	if (o != oend)
		return 0;
	if (how)
		img_rows(bytes, how, out);
	return 1;
}

/* THE TRANSLATOR. Control may reach code that no text knows. Then the runtime starts
 * `pugmark instrument --serve`. It translates a library whole, and generated code from the place
 * that control reached, and adds the translations to the files.
 *
 * The two share a memory file of IMG_LATER_SIZE: struct img_later, then the parts below. All
 * processes of the program map it at IMG_LATER. What has been added to it stays as it is, except
 * that branches of added code are linked later. A thread that asks holds `lock`, puts its request
 * into the fields behind it, sets `state` and waits for the answer. All of that works by futexes.
 *
 * A *region* is a range of addresses with its code. A library's region holds one text. A region of
 * generated code holds many small texts, in ascending order of code. They compare their bytes when
 * control enters them. A process that needs a region maps it at its place, which no other region
 * has. In a 32-bit process the heap below is mapped anyway, and each region is in it: any branch
 * reaches it. */
#define IMG_LATER_SIZE		(1ull << 40)
#define IMG_LATER_REGIONS	0x100000u	/* struct img_region */
#define IMG_LATER_TEXTS		0x200000u	/* struct img_text; the manifest's come first */
#define IMG_LATER_TARGETS	0x4000000u	/* u64: targets of links, also at IMG_LATER_LINKS */
#define IMG_LATER_TARGETS_SIZE	0x8000000u
#define IMG_LATER_BYTES		0x20000000u	/* what the process shows */
#define IMG_LATER_BYTES_SIZE	0x40000000u
#define IMG_LATER_HEAP		0x80000000u	/* tables and code; read-only for the process */
#define IMG_MAX_REGIONS		256u
#define IMG_MAX_ORDER		0x20000u	/* texts of a region of generated code */
#define IMG_WINDOW		0x10000u	/* see img_window() */
#define IMG_SERVER_FD		3		/* the memory file in the translator */

enum img_ask {
	IMG_ASK_CODE,		/* a[0] address, a[2] a[3] the executable range around it,
				 * a[4] enum img_ask_flag
				 * -> r[0] text, r[1] entry, r[2] indirect entry, r[3] region;
				 * r[1] 0: a whole text, in which the runtime finds the entry */
	IMG_ASK_CHANGED,	/* the same: the bytes of the block at this address have changed */
	IMG_ASK_LINK,		/* link a[0] goes to code a[1] for good */
};
enum img_ask_flag {
	IMG_ASK_INSIDE = 1,	/* it is in a text that is known, but no block begins there */
	IMG_ASK_WRITABLE = 2,	/* the program may write to the range */
};
enum img_answer {
	IMG_DONE,
	IMG_FAILED,		/* `said` is why */
	IMG_SHOW_MAPS,		/* ask again, and show /proc/self/maps */
	IMG_SHOW_BYTES,		/* ask again, and show r[1] bytes from r[0] on */
};
enum img_shown { IMG_NOTHING, IMG_MAPS, IMG_BYTES };

struct img_region {
	uint64_t at, size;		/* its code; a multiple of pages */
	uint64_t from;			/* in the memory file */
	uint64_t order;			/* of generated code, in the memory file: u32 numbers of its
					 * texts */
	uint32_t ntext;
	uint32_t generated;		/* 0: text `first` is all of it */
	uint32_t first, spare;
};

struct img_later {
	char tag[8];			/* "PUGLAT1\n" */
	uint32_t abi, size;		/* RT_ABI; of struct img_manifest */
	uint32_t server;		/* pid, 0: not yet */
	uint32_t anew;			/* the files begin anew */
	uint32_t lock;			/* futex: pid of who asks, 0: nobody */
	uint32_t state;			/* futex: enum rt_mail_state */
	uint32_t ask, answer, shown;
	uint32_t again;			/* 1: asked again, as the answer wanted */
	uint64_t shown_at, shown_n;
	uint64_t a[6], r[4];
	uint32_t ntext, nregion, nlink;
	uint32_t nblock;		/* one more than the highest number of a block */
	uint64_t link_base;		/* number of the first link */
	char said[256];
	uint32_t user[1024];		/* pids; without any the translator ends */
	int32_t coming;			/* processes that are being made and will be users */
	uint32_t closed;		/* 1: the translator ends unless it finds a user now; nobody
					 * may join it */
	struct img_manifest manifest;
};
_Static_assert(sizeof(struct img_later) == 4840 && sizeof(struct img_region) == 48,
	       "laid out alike for both widths");

/* What processes of the program map of the memory file: [from, from + size) to @at, the heap last.
 * A 32-bit process has less room for each part. */
struct img_part {
	uint64_t from, size, at;
	int writable;
};
#define IMG_PARTS		4
static inline void img_parts(const struct img_manifest *m, struct img_part v[IMG_PARTS])
{
	const struct img_part wide[IMG_PARTS] = {
		{ 0, IMG_LATER_TARGETS, IMG_LATER, 1 },
		{ IMG_LATER_TARGETS, IMG_LATER_TARGETS_SIZE, IMG_LATER_LINKS, 0 },
		{ IMG_LATER_BYTES, IMG_LATER_BYTES_SIZE, IMG_LATER + IMG_LATER_BYTES, 1 },
		{ IMG_LATER_HEAP, IMG_LATER_SIZE - IMG_LATER_HEAP, IMG_LATER + IMG_LATER_HEAP, 0 },
	};
	const struct img_part narrow[IMG_PARTS] = {
		{ 0, 0x1800000, m->later, 1 },
		{ IMG_LATER_TARGETS, 0x800000, m->later + 0x1800000, 0 },
		{ IMG_LATER_BYTES, 0x400000, m->later + 0x2000000, 1 },
		{ IMG_LATER_HEAP, m->later_end - m->later - 0x2400000, m->later + 0x2400000, 0 },
	};

	__builtin_memcpy(v, m->narrow ? narrow : wide, sizeof wide);
}
enum { IMG_PART_FRONT, IMG_PART_TARGETS, IMG_PART_BYTES, IMG_PART_HEAP };
#define IMG32_LATER_LEAST	0x6000000u	/* with less the heap would be too small */

/* Cuts the executable range [*lo, *hi) around @pc to the part that the translator gets to see. */
static inline void img_window(uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	if (pc - *lo > IMG_WINDOW / 4)
		*lo = (pc & ~4095ull) - IMG_WINDOW / 4;
	if (*hi - *lo > IMG_WINDOW)
		*hi = *lo + IMG_WINDOW;
}

/* Comes first in the runtime's data. The stub fills it in. */
struct img_boot {
	uint64_t fd;			/* of BENCH.idt */
	uint64_t manifest, manifest_len;	/* position, bytes */
};

/* Four lanes that multiply and shift; no protection against an adversary. */
static inline uint64_t img_hash(const void *p, uint64_t n)
{
	const uint64_t k = 0x9e3779b97f4a7c15u;
	uint64_t h[4] = { n, k, k * 3, ~n }, v[4];
	const uint8_t *b = p;

	for (; n >= 32; n -= 32, b += 32) {
		__builtin_memcpy(v, b, 32);
		for (int i = 0; i < 4; i++) {
			h[i] = (h[i] ^ v[i]) * k;
			h[i] ^= h[i] >> 29;
		}
	}
	for (uint64_t i = 0; i < n; i++)
		h[i & 3] = (h[i & 3] ^ b[i]) * k;
	h[0] = (h[0] + h[1] * 3 + h[2] * 5 + h[3] * 7) * k;
	return h[0] ^ h[0] >> 31;
}

#endif

#endif
