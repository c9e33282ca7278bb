/* SPDX-License-Identifier: MIT */
/* bp_tage.h - TAGE, TAGE with statistical corrector and loop predictor (64 KB), ITTAGE
 *
 * After Seznec's papers (TAGE, JILP 2006; the CBP-5 TAGE-SC-L; ITTAGE, CBP-3 2011); the choices
 * that the papers leave open are ours, and these are all of them - tests/oracle/tage.h follows the
 * same list, with histories kept as plain bits and every hash computed from scratch:
 *
 * (1) History. A conditional branch appends its outcome; an indirect jump, call or return appends
 *     the two low bits of t ^ t>>3 ^ t>>7 of its target t, high one first; a direct jump or call
 *     appends nothing. Every branch shifts bit 0 of pc ^ pc>>2 ^ pc>>5 into a path of 16 bits.
 * (2) fold(n, w): bit j (0 = newest) of the newest n bits of history, exclusive-or into bit j mod
 *     w.
 * (3) Table i (0..11), n = its length: index = pc ^ pc>>(10-i%4) ^ fold(n,11) ^ q ^ q>>(1+i%5), q
 *     the newest min(n,16) path bits; tag = pc ^ pc>>9 ^ fold(n,t) ^ fold(n,t-1)<<1, t tag bits.
 * (4) The longest table whose tag matches provides; the next longest, or the base table (2^14
 *     two-bit counters by pc ^ pc>>14, starting at 2), is the alternative. A weak provider
 *     (counter 0 or -1) whose useful count is 0 yields to the alternative if use_alt >= 0.
 * (5) Learning. A weak and useless provider that differs from the alternative moves use_alt (-8..7)
 *     towards whichever was right. After a misprediction, unless the provider itself was right, or
 *     there is no longer table, or (but for chance 1/32) the corrector has put it right: starting
 *     at the next table, or with chance 1/4 each one or two further, up to two entries with useful
 *     0, not in neighbouring tables, are taken over (counter 0 or -1, useful 0); tables passed with
 *     useful > 0 count as failures; tick += failures - 2 * taken over, not below 0; at 1024 it
 *     returns to 0 and all useful counts are halved. The provider's counter (-4..3) learns; so does
 *     the alternative when the provider's useful count is 0. Useful (0..3) goes up when the
 *     provider was right and the alternative wrong, down in the opposite case.
 * (6) Loop predictor: 16 sets by pc & 15, 4 ways, tag pc>>4 & 0x3fff. An entry counts how often its
 *     direction comes in a row; the same count (3 or more) three times over makes it confident. It
 *     overrides if the counter with_loop (-64..63) is not negative.
 * (7) Statistical corrector: 15 tables of 6-bit counters (starting at 0), the sum of 2c+1; it
 *     decides against TAGE by the confidence of TAGE and the size of the sum against a threshold
 *     that adapts. Details at sc_predict().
 * Random numbers: x = x * 6364136223846793005 + 1442695040888963407, bits 33 and up, seed 1. */
#ifndef PM_ANALYSE_BP_TAGE_H
#define PM_ANALYSE_BP_TAGE_H

#include <stdbool.h>
#include <stdint.h>

#define TAGE_TABLES	12
#define TAGE_LOG	11
#define TAGE_BASE_LOG	14
static const uint16_t tage_length[TAGE_TABLES] = { 4, 7, 11, 17, 27, 42, 66, 104, 163, 256, 403,
	634 };
static const uint8_t tage_tag_bits[TAGE_TABLES] = { 8, 8, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14 };

#define LOOP_SETS	16
#define LOOP_WAYS	4

#define SC_LOG		10
#define SC_BIAS		3
#define SC_GLOBAL	6
#define SC_LOCAL	4
#define SC_TABLES	(SC_BIAS + SC_GLOBAL + SC_LOCAL + 2)	/* + IMLI, + path */
static const uint8_t sc_global_length[SC_GLOBAL] = { 3, 6, 10, 16, 25, 40 };
static const uint8_t sc_local_length[SC_LOCAL] = { 4, 7, 11, 16 };

#define ITTAGE_TABLES	7
#define ITTAGE_LOG	9
#define ITTAGE_BASE_LOG	11
static const uint16_t ittage_length[ITTAGE_TABLES] = { 2, 5, 10, 20, 40, 80, 160 };
static const uint8_t ittage_tag_bits[ITTAGE_TABLES] = { 9, 9, 10, 10, 11, 11, 12 };

/* Tests set them: predictors do without AVX2, or AVX-512, as where there is none. */
extern bool tage_plain, tage_no_512;

#endif
