/* SPDX-License-Identifier: MIT */
/* citcat.h - instruction traces from cache-filtered address traces (Rose & Flanagan)
 *
 *   extract   .cat -> .ims (initial machine state) and .aes (asynchronous event schedule), or .cit
 *   replay    .ims + .aes, or .cit -> the instruction trace, and the bus trace once more
 *   verify    the bus trace once more == .cat, record for record
 *
 * Both files are of big-endian 32-bit words and end with a sum of 64 bits over all words before it.
 * Both begin with the identity of the .cat that they are from (64 bits, of its header and records),
 * so that one never replays with another's.
 * .ims      the header of trace/cat.h with magic "PMIMS2" and the identity, then pairs (address,
 *           data): memory ascending, then state words at IMS_STATE + 4k (k as in machine/window.h;
 *           those of mips32r2 only where the processor is one), then the sum
 * .aes      "AES2", identity, sections, each: tag, count, record bytes, records; then the sum
 *   INTR 24 branch count, EPC, Cause, Status, BadVAddr, EntryHi: before the instruction at EPC (or
 *           in its delay slot, if Cause.BD) once that many branches, jumps and erets are completed.
 *           Low halves of addresses
 *   CNT   4 value of the next MFC0 from Count
 *   CAUS  8 value, times: the next so many MFC0 from Cause give it
 *   IO    4 the next word read from, or expected to be written to, physical addresses outside RAM
 *   DMA   4 words of runs, each: order (processor bus transactions, and in sideband mode reports,
 *           before it), branch count, direction (0 memory is read, 1 written) + 256 * bytes +
 *           65536 * transfers, address; then a word of data for each transfer
 *   END  20 branch count, processor transactions at the end of the .cat, 1 if it has no end record,
 *           and the number of instructions (high, low), 0: to the last transaction
 * .cit      both in one, packed: "PMCIT1", 2 bytes 0, the number of unpacked bytes (64 bits), and a
 *           zstd frame with its checksum. Unpacked: the .ims, whose pairs stand as runs (address,
 *           number of words, words; in memory's order of bytes), a run of no words, the .ims's sum,
 *           and then the .aes as it is
 * Version 1 ("PMIMS1", "AES1") is read as well: no identities, no sums, no high halves of the TLB,
 * the number of sections behind the magic, and a DMA record of 20 bytes for each transfer: order,
 * branch count, direction + 256 * bytes, address, data.
 * ERET counts as a jump: a TLB refill handler without a branch would otherwise bring the processor
 * back to the same (branch count, EPC) a second time.
 *
 * Threads    one per object. */
#ifndef PM_CITCAT_CITCAT_H
#define PM_CITCAT_CITCAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "collect/machine/cpu.h"
#include "collect/machine/window.h"
#include "trace/cat.h"
#include "trace/pipeline.h"

#define IMS_STATE	0xbff00000u
#define CIT_HEAD	16
#define CIT_MAX		(1u << 30)	/* unpacked */

struct aes_intr { uint32_t branches, epc, cause, status, badvaddr, entryhi; };
struct aes_dma { uint32_t order, branches, direction, addr, data; };
struct aes_caus { uint32_t value, times; };

/* Everything that a replay gets. */
struct citcat {
	struct cat_header hdr;
	uint32_t (*mem)[2];		/* address, data; ascending */
	size_t nmem, cap_mem;
	uint64_t identity;		/* of the .cat; 0: version 1 */
	uint32_t state[WINDOW_STATE_WORDS];	/* by k */
	struct aes_intr *intr;
	size_t nintr, cap_intr;
	uint32_t *cnt;
	size_t ncnt, cap_cnt;
	struct aes_caus *caus;
	size_t ncaus, cap_caus;
	uint64_t cause_reads;
	uint32_t *io;
	size_t nio, cap_io;
	struct aes_dma *dma;
	size_t ndma, cap_dma;		/* a transfer each; runs only in the file */
	uint32_t end_branches, end_order;
	uint64_t end_insns;		/* 0: unknown */
	bool cut;			/* the .cat was cut off, or ended without an end record */
};

enum pm_status citcat_extract(const char *cat, struct citcat *c, struct pm_err *err);
/* The whole files, in memory. */
struct pm_buf citcat_ims(const struct citcat *c);
struct pm_buf citcat_aes(const struct citcat *c);
/* Both in one: a .cit. PM_ERR: it would be larger than CIT_MAX. */
enum pm_status citcat_pack(const struct citcat *c, struct pm_buf *cit, struct pm_err *err);
/* @all to @path; it is released, also on an error. */
enum pm_status citcat_write(const char *path, struct pm_buf *all, struct pm_err *err);
/* @path: an .ims, with which goes @aes, or a .cit. */
enum pm_status citcat_read(const char *path, const char *aes, struct citcat *c, struct pm_err *err);
/* By its first bytes, CIT_HEAD of them or fewer. */
bool citcat_is_packed(const uint8_t *p, size_t n);
/* The .ims and .aes of a .cit. */
enum pm_status citcat_unpack(const uint8_t *p, size_t n, struct pm_buf *ims, struct pm_buf *aes,
			     struct pm_err *err);
/* The words of section DMA, in the host's order; free() them. */
uint32_t *citcat_dma(const struct citcat *c, size_t *bytes);
/* Of all of a .cat, without replaying it. */
enum pm_status citcat_identity(const char *cat, uint64_t *id, struct pm_err *err);
/* From memory, for fuzzers. */
enum pm_status citcat_read_ims(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err);
enum pm_status citcat_read_aes(const uint8_t *p, size_t n, struct citcat *c, struct pm_err *err);
void citcat_release(struct citcat *c);

/* What is not reported of the state is as at power-on. */
static inline void citcat_power_on(struct citcat *c)
{
	c->state[WINDOW_R2 + 1] = CPU_EBASE;
}

/* The high half of an EntryHi of which only the low one was told: a 32-bit address. */
static inline uint32_t citcat_high(uint32_t low)
{
	return low >> 31 ? 0xc00000ff : 0;
}

/* ---- replay (replay.c) ---- */
struct citcat_replay_opts {
	struct pm_pipeline *trace;	/* started with TRACER_FACTS; NULL: no instruction trace */
	/* each regenerated record; PM_ERR stops the replay (verify found a difference) */
	enum pm_status (*record)(void *ctx, const struct cat_rec *r, struct pm_err *err);
	void *ctx;
	uint64_t limit;			/* instructions; UINT64_MAX: to the end */
	/* called every `every` instructions or so with the number of instructions; NULL: never */
	void (*progress)(void *ctx, uint64_t instructions);
	uint64_t every;
};
struct citcat_result {
	uint64_t instructions, exceptions, interrupts, transactions, branches;
	double seconds;			/* of this thread's processor time */
	uint64_t pc;			/* where it stood at the end */
	char state[8192];		/* the registers there, as text */
	struct machine_tracer *tracer;		/* the trace's consumers refer to what it owns:
						 * yours, tracer_free() it behind the pipeline;
						 * also after an error; NULL without a trace */
};
/* Divergence is an error whose message says where: instruction, branch count, pc, expected,
 * found. */
enum pm_status citcat_replay(const struct citcat *c, const struct citcat_replay_opts *o,
			     struct citcat_result *res, struct pm_err *err);

/* ---- verify (verify.c) ---- */
struct citcat_verify {
	struct citcat_result replay;
	uint64_t records, compared;
	bool cut;			/* as in struct citcat: of what is behind nothing is said */
};
enum pm_status citcat_verify(const char *cat, const char *ims, const char *aes,
			     struct pm_pipeline *trace, struct citcat_verify *v,
			     struct pm_err *err);

/* ---- stat (stat.c) ---- */
/* Into @r: trace, sizes (Fig. 5), schedule, dilation, curve (Fig. 4). */
enum pm_status citcat_stat(const char *cat, struct pm_result *r, struct pm_err *err);

#endif
