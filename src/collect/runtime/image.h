/* SPDX-License-Identifier: MIT */
/* image.h - what an instrumented executable (.idt) carries: the start-up stub, the runtime, a manifest,
 * and for every text that it knows the translated code with its tables
 *
 * Written by process/instrument.c and translate/image.c, used in place by the runtime of such an
 * executable: the tables are mapped and never change. Positions are of the file that holds them,
 * addresses are where things live in the process: everything is mapped at fixed places.
 *
 *   BENCH.idt     the original file, its ELF header changed (entry, program headers), then
 *                 stub | program headers | runtime text | runtime data | manifest |
 *                 code and tables of its own texts | struct idt_trailer (trace/idt_files.h)
 *   BENCH.idt.d/KEY   code and tables of a library's texts; KEY is its build id
 *
 * ADDRESS SPACE, in addition to and instead of abi.h:
 *   IMG_MANIFEST          the manifest (r--)
 *   IMG_TABLES(i)         the tables of text i (r--)
 *   img_text.code         its translated code (r-x)
 *   RT_SHADOW             private memory, filled as control reaches texts */
#ifndef PM_RUNTIME_IMAGE_H
#define PM_RUNTIME_IMAGE_H

#include "abi.h"

#define IMG_MANIFEST		RT_CODE_VAULT
#define IMG_TABLES(i)		(RT_CODE_VAULT + ((uint64_t)((i) + 1) << 32))
#define IMG_STUB_SIZE		4096
#define IMG_RESERVED		2	/* counters before the first block's: the header of a .cnt64 */
#define IMG_NO_ENTRY		0xff

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

/* An indirect entry that stands by itself. */
struct img_entry {
	uint32_t pc, code;
};

/* THE MAP says which original state a place in the copy stands for: xl_map (translate.h) of a block as
 * a string of bytes. It begins with the instructions' lengths, one byte each (n of them); then for each
 * entry: u8 flags (xl_map_flag; 0x80: tmp follows; 0x40: the entry's instruction is not one more than
 * or equal to the last one's, it follows; 0x20: one more), then the distance from the last entry's code
 * (from the block's first byte of code, for the first) as a byte, 0xff: u32 follows. The part ends where
 * the next block's, in the order of code, begins. */
#define IMG_MAP_TMP		0x80
#define IMG_MAP_INSN		0x40
#define IMG_MAP_NEXT		0x20

/* Behind a text's struct img_tables at IMG_TABLES(i); positions are from there. */
struct img_tables {
	uint32_t nblock, nentry;
	uint32_t block, entry;		/* struct img_block, struct img_entry */
	uint32_t by_code;		/* u32 block numbers in ascending order of code */
	uint32_t map, nmap;
	uint32_t flow;			/* struct xl_flow of blocks; 0: every block has a counter */
};

struct img_text {
	uint64_t lo, hi;		/* mapped executable segment, page aligned */
	uint64_t base;			/* where the file that holds it is mapped: its lowest segment */
	uint64_t bytes;			/* of the text that come from the file, from lo */
	uint64_t hash;			/* of them: img_hash() */
	uint64_t code, code_len;	/* address; bytes */
	uint64_t code_at, tables_at, tables_len;	/* in the image file, page aligned */
	uint32_t first;			/* number of its first block */
	uint32_t nblock;
	uint32_t prot;			/* PROT_*: as the program maps it */
	uint32_t file;			/* img_file */
};

struct img_file {
	char path[512];			/* where it was when the program was instrumented */
	char key[132];			/* its name below BENCH.idt.d */
	uint32_t build_len;		/* bytes of build id, 0: none */
	uint8_t build[64];
	uint64_t base, end;		/* where it is mapped */
	uint64_t size;			/* of the file */
	uint64_t head;			/* hash of its first 4096 bytes, for files without a build id */
};

struct img_manifest {
	char tag[8];			/* "PUGMAN1\n" */
	uint32_t abi, size;		/* RT_ABI; bytes of all of it */
	uint32_t kind;			/* enum img_kind */
	uint32_t line;			/* of a cache trace, bytes */
	uint32_t rep, no_trace, merge;	/* -r, -t, --merge */
	uint32_t orig_magic, idt_magic;
	uint32_t nfile, ntext, nblock, nlink;	/* file 0 is the program, file 1 its interpreter if any */
	uint32_t interp;		/* 1: file 1 is the interpreter */
	uint64_t files, texts, links;	/* from the manifest's beginning; links: u64 targets */
	uint64_t entry, interp_entry;	/* addresses */
	uint64_t phdr, phnum;		/* as the program shall see them */
	uint64_t ehdr;			/* address of its ELF header, 0: not mapped */
	uint8_t header[64];		/* ... as it was */
	uint64_t stub;			/* address of the start-up stub's page */
	uint64_t stamp;			/* the images of libraries begin with a struct img_head that has it */
};

struct img_head {			/* of a file in BENCH.idt.d; IMG_PAGE bytes */
	char tag[8];			/* "PUGLIB1\n" */
	uint64_t stamp;
};
#define IMG_PAGE 4096ull

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
