/* SPDX-License-Identifier: MIT */
/* image.h - what an instrumented executable (.idt) carries: the start-up stub, the runtime, a manifest,
 * and for every text that it knows the translated code with its tables
 *
 * Written by instrument/write.c and translate/whole_text.c, used by the runtime of such an
 * executable: the tables never change. Positions are of the file that holds them,
 * addresses are where things live in the process: everything is mapped at fixed places.
 *
 *   BENCH.idt     the original file, its ELF header changed (entry, program headers), then
 *                 stub | program headers | runtime text | runtime data | manifest |
 *                 code and tables of its own texts | struct idt_trailer (trace/idt_files.h)
 *   BENCH.idt.d/KEY   code and tables of a library's texts; KEY is its build id
 *
 * ADDRESS SPACE, in addition to and instead of abi.h:
 *   IMG_MANIFEST          the manifest (r--)
 *   img_text.packed       what is packed of a text, as it is in the file (r--): tables, perhaps code; its entries
 *   img_text.tables       the tables (r--)
 *   img_text.code         its translated code (r-x)
 *   IMG_STORE             where both are shared memory, which they are unpacked into (rw-), in RT_DATA_VAULT
 *   RT_SHADOW             private memory, filled as control reaches texts
 *   IMG_LATER             what was translated while the program runs (THE TRANSLATOR)
 * ... of a 32-bit one: IMG32_MANIFEST instead; the rest from IMG32_REST on, as the manifest says; code, tables, RT32_SHADOW
 * and the tables of the shadow are private memory; a thread block has a size that makes its counters fit, which are
 * behind a single trace buffer; what is translated later has a part of the rest, too (img_manifest.later).
 * Tables, and code that would make the file too large, are unpacked where they are first touched, a piece at a time; see
 * THE PACKING. */
#ifndef PM_RUNTIME_IMAGE_H
#define PM_RUNTIME_IMAGE_H

#include "abi.h"

#define IMG_MANIFEST		RT_CODE_VAULT
#define IMG_LATER_LINKS		(RT_CODE_VAULT + (16ull << 30))
#define IMG_TABLES(i)		(RT_CODE_VAULT + ((uint64_t)((i) + 16) << 32))
#define IMG_PACKED(i)		(RT_CODE_VAULT + (4ull << 40) + ((uint64_t)(i) << 32))
#define IMG_STORE(i)		(RT_DATA_VAULT + (4ull << 40) + ((uint64_t)(i) << 32))	/* tables, from IMG_STORE_CODE code */
#define IMG_STORE_CODE		0x80000000u
#define IMG_STORED		0x10000u	/* in block 0: u8 of each piece of each text, 1: it is in the store */
#define IMG_LATER		(RT_CODE_VAULT + (6ull << 40))
#define IMG32_MANIFEST		RT32_LINKS
#define IMG32_REST		(RT32_CODE_VAULT + 0x1000000u)
#define IMG32_COUNTERS		(RT32_TRACE + RT32_CHUNK_STRIDE)	/* in a thread block: u32 each */
#define IMG_STUB_SIZE		4096
#define IMG_RESERVED		2	/* counters before the first block's: as long as the header of a .cnt64 or .cnt */
#define IMG_NO_ENTRY		0xff
#define IMG_NO_BLOCK		0xffffffffu

#define IMG_RESUME		0x90	/* in a thread block, see rt_block.pad2: where rt_image_again goes on */

#ifndef __ASSEMBLER__

/* What is written. Cache and execution traces come from the same code. */
enum img_kind { IMG_PROFILE, IMG_BRANCH, IMG_CACHE, IMG_EXEC };

/* A block of a text, in ascending order of pc; its index is its number in the block table. */
struct img_block {
	uint32_t pc;			/* from img_text.lo */
	uint32_t code;			/* direct entry, from img_text.code */
	uint32_t map;			/* where its part of the map begins, in bytes */
	uint8_t n;			/* instructions */
	uint8_t entry;			/* bytes of the indirect entry in front of the direct one, perhaps none;
					 * IMG_NO_ENTRY: there is no such entry */
	uint16_t size;			/* bytes of original code */
};

/* THE ENTRIES of a text: the places that indirect transfers may go to, in ascending order, a string of bytes for each
 * IMG_CHUNK of it. In front of them: u32 where each string begins from here, and where the last one ends. Of each:
 * uleb128 address, from the last one's in the string (from the chunk's beginning); zigzag uleb128 direct entry, from the
 * last one's (0); u8 bytes of the indirect entry in front of it, or IMG_NO_ENTRY and uleb128 where that stands by itself. */
#define IMG_CHUNK		4096u

/* THE MAP says which original state a place in the copy stands for: xl_map (translate.h) of a block as
 * a string of bytes. It begins with the instructions' lengths, one byte each (n of them); then for each
 * entry: u8 flags (xl_map_flag and IMG_MAP_*); u8 tmp, if XL_TMP_SAVED or IMG_MAP_LENT is among them; u8 instruction, if
 * IMG_MAP_INSN is; the distance from the last entry's code (from the block's first byte of code, for the
 * first) as u8, or 0xff and u32. The part ends where the next block's, in the order of code, begins. */
#define IMG_MAP_NEXT		0x40	/* the instruction behind the last entry's */
#define IMG_MAP_INSN		0x80	/* another one; without the two: the same */
#define IMG_MAP_LENT		0xc0	/* both: another one, and there is XL_LENT(tmp) */

/* A PLAN says what a block's record (abi.h) becomes in the trace. It begins with u8: the words of
 * 4 bytes in the record behind its number; IMG_P_LONG: u16 follows, so many.
 * Branch traces: u8 opcode bytes at the block's end, 0..2, and those.
 * Cache and execution traces: operations, the last of which is IMG_P_END.
 *
 *   u8 operation | size code << 3 | IMG_P_ODD, u8 instruction, then by operation
 *   READ WRITE MODIFY   size, address          size: a size code (trace/idt.h), 0: u16 follows
 *   POINTER             address: of what an indirect transfer reads its target from
 *   TARGET              sleb128 target - the block's pc
 *   NEXT                the target is where control goes next
 *   REP                 u8 enum x86_rep, u8 size, u8 bits of addresses: 16, 32, 64; values: source, destination,
 *                       after, segment (x86_ref with how X86_REF_REP)
 *   LANES               u8 bytes of an element (0: of a tile's rows), value of the base, sleb128 displacement, u8 scale, u8 struct
 *                       x86_lanes, values: of the indices, the mask, the segment's base, u32: the elements
 *                       of a gather or scatter, or the rows of a tile, which is the block's last instruction, are found; with
 *                       1 entry of them the block's record is at that place in the block table, in units of 8 bytes (i386: 4), with
 *                       more behind that
 *   READ_LANES WRITE_LANES  ... and referred to
 *   END                 value, sleb128: what the stack pointer is behind the block
 *
 *   address       value, sleb128 displacement; with IMG_P_ODD before them: u8 enum x86_ref_how, u8 scale, u16 size,
 *                 value of the index, of the segment's base, u16 after
 *   values        names (isa/x86/plan.h): u8, of X86_VAL_KNOWN and above the low one; IMG_V_LONG: u16 follows */
enum { IMG_P_END, IMG_P_READ, IMG_P_WRITE, IMG_P_MODIFY, IMG_P_POINTER, IMG_P_TARGET, IMG_P_NEXT, IMG_P_REP };
#define IMG_P_ODD		0x80
#define IMG_P_LANES		(IMG_P_REP | IMG_P_ODD)
#define IMG_P_READ_LANES	(IMG_P_LANES | 1 << 3)
#define IMG_P_WRITE_LANES	(IMG_P_LANES | 2 << 3)
#define IMG_P_LONG		0xffu
enum { IMG_V_LONG = 0xf0, IMG_V_GS = 0xfffc, IMG_V_FS, IMG_V_RSP, IMG_V_NONE };	/* X86_VAL_* */

/* Behind a text's struct img_tables; positions are from there, multiples of IMG_PIECE. */
struct img_tables {
	uint32_t nblock;
	uint32_t block;			/* struct img_block */
	uint32_t by_code;		/* u32 block numbers in ascending order of code */
	uint32_t map, nmap;
	uint32_t plan_at, plan, nplan;	/* u32 of blocks: place of their plan in the plans; 0: a profile */
	uint32_t record_at;		/* u32 of blocks: place in the block table, in units of 8 bytes, i386: of 4 */
	uint32_t back;			/* u32 of blocks: so many blocks before it is the one whose record it continues
					 * (modulo 2^32); 0: none */
};

struct img_text {
	uint64_t lo, hi;		/* mapped executable segment, page aligned */
	uint64_t base;			/* where the file that holds it is mapped: its lowest segment */
	uint64_t bytes;			/* of the text that come from the file, from lo */
	uint64_t hash;			/* of them: img_hash() */
	uint64_t code, code_len;	/* address; bytes */
	uint64_t packed_at, packed_len;	/* in the image file, page aligned: the tables' struct img_pack comes first */
	uint64_t packed;		/* address */
	uint64_t tables, tables_len;	/* address; bytes */
	uint64_t entries;		/* address */
	uint64_t code_pack;		/* address: the code's struct img_pack; 0: it is mapped from the file, */
	uint64_t code_at;		/* ... from here, page aligned */
	uint32_t first;			/* number of its first block */
	uint32_t nblock;
	uint32_t prot;			/* PROT_*: as the program maps it */
	uint32_t file;			/* img_file; of a text of the translator: struct img_region */
};

struct img_file {
	char path[512];			/* where it was when the program was instrumented */
	char key[132];			/* its name below BENCH.idt.d */
	uint32_t build_len;		/* bytes of build id, 0: none */
	uint8_t build[64];
	uint64_t base, end;		/* where it is mapped */
	uint64_t size, changed;		/* of the file; seconds << 32 | nanoseconds */
	uint64_t head;			/* hash of its first 4096 bytes, for files without a build id */
};

struct img_manifest {
	char tag[8];			/* "PUGMAN1\n" */
	uint32_t abi, size;		/* RT_ABI; bytes of all of it */
	uint32_t kind;			/* enum img_kind */
	uint32_t line;			/* of a cache trace, bytes */
	uint32_t rep, no_trace, merge;	/* -r, -t, --merge */
	uint32_t exec_all, narrow;	/* a 32-bit program that may execute whatever is mapped; a 32-bit program */
	uint32_t orig_magic, idt_magic;
	uint32_t nfile, ntext, nblock, nlink;	/* file 0 is the program, file 1 its interpreter if any */
	uint32_t interp;		/* 1: file 1 is the interpreter */
	uint64_t files, texts, links;	/* from the manifest's beginning; links: u64 targets */
	uint64_t entry, interp_entry;	/* addresses */
	uint64_t phdr, phnum;		/* as the program shall see them */
	uint64_t ehdr;			/* address of its ELF header, 0: not mapped */
	uint8_t header[64];		/* ... as it was */
	uint64_t stub;			/* address of the start-up stub's page */
	uint32_t from, to;		/* numbers of the blocks that are counted and traced: hints; to: or all
					 * ones */
	uint64_t vdso, vdso_end;	/* where the vDSO would be; 0: not known, or where it is */
	uint64_t stamp;			/* the images of libraries begin with a struct img_head that has it */
	uint64_t blk_size, mod_size;	/* of BENCH.blk64 and BENCH.mod as they were written */
	uint64_t counters;		/* in a thread block, for blocks */
	/* of a 32-bit program: bytes of a thread block, a power of two; where tables of the shadow may be */
	uint64_t block_size, shadow, shadow_end;
	uint64_t watch;			/* ... and for each counter what it was, and how often it has wrapped (u32 each) */
	uint64_t later, later_end;	/* ... and for what is translated later; 0: there is no room */
};
_Static_assert(sizeof(struct img_manifest) == 312 && sizeof(struct img_text) == 136 &&
	       sizeof(struct img_file) == 752, "laid out alike for both widths: so, whatever they are");

struct img_head {			/* of a file in BENCH.idt.d; IMG_PAGE bytes */
	char tag[8];			/* "PUGLIB1\n" */
	uint64_t stamp;
};
#define IMG_PAGE 4096ull

/* THE PACKING of a text's code, or of its tables: u32 pieces, then where each piece begins from here and where the last
 * one ends (u32), then the pieces. A piece is IMG_PIECE bytes; it begins with u8 IMG_COLUMNS(), then either those bytes
 * or, if there are fewer, an LZ4 block that makes them. With columns they are the table's u32 column by column, and of
 * each column first the lowest bytes of all rows, last the highest; in columns whose bits are among the differences
 * each u32 but the first is what it is more than the one before. */
#define IMG_PIECE		0x8000u
#define IMG_COLUMNS(n, differences) ((n) | (differences) << 4)	/* 1, 2 or 4; 0: bytes */
struct img_pack {
	uint32_t n;
	uint32_t at[];
};

static inline uint64_t img_whole(uint64_t n)	/* in whole pieces */
{
	return (n + IMG_PIECE - 1) & ~(uint64_t)(IMG_PIECE - 1);
}

/* Copies @n bytes forwards, eight at a time: up to seven more are written if @spare says that there is room for
 * them on both sides. */
static inline void img_copy(uint8_t *to, const uint8_t *from, uint32_t n, int spare)
{
	uint8_t *end = to + n;

	for (; spare ? to < end : to + 8 <= end; to += 8, from += 8)
		__builtin_memcpy(to, from, 8);
	while (to < end)
		*to++ = *from++;
}

/* A length of 15 goes on in the bytes at *p. */
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
			*row = sum = (sum & keep) + ((uint32_t)from[i] | (uint32_t)from[rows + i] << 8 |
						     (uint32_t)from[2 * rows + i] << 16 |
						     (uint32_t)from[3 * rows + i] << 24);
	}
}

/* HOT: once per piece that is touched. One piece, @n bytes with its first, into @out. False: it makes no sense. */
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

/* THE TRANSLATOR. Where control reaches code that no text knows, the runtime starts `pugmark instrument
 * --serve`, which translates libraries whole and generated code from the place that was reached, and adds
 * them to the files. The two share a memory file of IMG_LATER_SIZE, which the processes of the program
 * map at IMG_LATER: struct img_later, then as below. What has been added to it stays and does not change, but
 * for code of the translator's, whose branches are linked later. Who asks holds `lock`, puts a request
 * into the fields behind it, sets `state` and waits for the answer, all by futexes.
 *
 * A region is a range of addresses with its code. A library's holds one text. Those of generated code hold
 * many small ones, in ascending order of code, which compare their bytes as they are entered. Every
 * process that gets there maps a region at its place, which is no other region's. In a 32-bit process that is where the
 * heap is mapped anyway: any branch reaches it. */
#define IMG_LATER_SIZE		(1ull << 40)
#define IMG_LATER_REGIONS	0x100000u	/* struct img_region */
#define IMG_LATER_TEXTS		0x200000u	/* struct img_text; the manifest's come first */
#define IMG_LATER_TARGETS	0x4000000u	/* u64: targets of links, also at IMG_LATER_LINKS */
#define IMG_LATER_TARGETS_SIZE	0x8000000u
#define IMG_LATER_BYTES		0x20000000u	/* what the process shows */
#define IMG_LATER_BYTES_SIZE	0x40000000u
#define IMG_LATER_HEAP		0x80000000u	/* tables and code; the process only reads from here on */
#define IMG_MAX_REGIONS		256u
#define IMG_MAX_ORDER		0x20000u	/* texts of a region of generated code */
#define IMG_WINDOW		0x10000u	/* bytes of generated code that are looked at; see img_window() */
#define IMG_SERVER_FD		3		/* the memory file's, in the translator */

enum img_ask {
	IMG_ASK_CODE,		/* a[0] address, a[2] a[3] the executable range around it, a[4] enum img_ask_flag
				 * -> r[0] text, r[1] entry, r[2] indirect entry, r[3] region; r[1] 0: a whole
				 * text to look in */
	IMG_ASK_CHANGED,	/* the same, of an address whose block's bytes have changed */
	IMG_ASK_LINK,		/* link a[0] goes to code a[1] for good */
};
enum img_ask_flag {
	IMG_ASK_INSIDE = 1,	/* it is in a text that is known, but no block begins there */
	IMG_ASK_WRITABLE = 2,	/* the program may write to the range */
};
enum img_answer {
	IMG_DONE,
	IMG_FAILED,		/* `said` is why */
	IMG_SHOW_MAPS,		/* the same again, with /proc/self/maps shown */
	IMG_SHOW_BYTES,		/* ... with r[1] bytes from r[0] on shown */
};
enum img_shown { IMG_NOTHING, IMG_MAPS, IMG_BYTES };

struct img_region {
	uint64_t at, size;		/* its code; a multiple of pages */
	uint64_t from;			/* in the memory file */
	uint64_t order;			/* in the memory file: u32 of each of its texts, of generated code */
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
	uint32_t again;			/* 1: the same question as before, with what the answer wanted shown */
	uint64_t shown_at, shown_n;
	uint64_t a[6], r[4];
	uint32_t ntext, nregion, nlink;
	uint32_t nblock;		/* one more than the highest number of a block */
	uint64_t link_base;		/* number of the first link */
	char said[256];
	uint32_t user[1024];		/* pids; when there are none any more, the translator ends */
	int32_t coming;			/* processes that are being made and will be users */
	uint32_t closed;		/* 1: the translator ends, unless it finds a user now: it is not joined any more */
	struct img_manifest manifest;
};
_Static_assert(sizeof(struct img_later) == 4840 && sizeof(struct img_region) == 48, "laid out alike for both widths");

/* What processes of the program map of the memory file: [from, from + size) to @at, the heap last. A 32-bit one has less
 * room for each. */
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
#define IMG32_LATER_LEAST	0x6000000u	/* with less there is not much of a heap */

/* What of the executable range [*lo, *hi) around @pc is looked at. */
static inline void img_window(uint64_t pc, uint64_t *lo, uint64_t *hi)
{
	if (pc - *lo > IMG_WINDOW / 4)
		*lo = (pc & ~4095ull) - IMG_WINDOW / 4;
	if (*hi - *lo > IMG_WINDOW)
		*hi = *lo + IMG_WINDOW;
}

/* The stub fills this in: the first thing in the runtime's data. */
struct img_boot {
	uint64_t fd;			/* of BENCH.idt */
	uint64_t manifest, manifest_len;	/* in the file */
};

/* Not against an adversary: four multiply-rotate lanes. */
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
