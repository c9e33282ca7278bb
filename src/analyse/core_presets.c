/* SPDX-License-Identifier: MIT */
/* core_presets.c - cores by name
 *
 * Those with a processor's name have its parameters where its manual, or who measured it, gives
 * them. `front` is the least penalty of a misprediction less the two cycles in which the branch
 * issues and completes. A scheduler in parts counts as one with all their entries. `gap` and the
 * latency of memory belong to machines, not to cores: they are those of the nearest general preset.
 * So are the cycles of a second-level TLB and the page-walk caches, which no manual gives: those of
 * core_conf.c. The general presets have no TLBs.
 * The predictor of branches and the prefetchers are pugmark's own: no manual tells them. Sources:
 * Zen 3 to 5   AMD, Software Optimization Guides, publications 56665, 57647 and 58455
 * Golden Cove  Intel 64 and IA-32 Architectures Optimization Reference Manual, 248966; Chips and
 *              Cheese, Popping the Hood on Golden Cove (2021)
 * Neoverse V2  Arm, Software Optimization Guide PJDOC-466751330-593177; Arm at Hot Chips 2023 */
#include <string.h>

#include "analyse/core_work.h"

#define BIG { .fetch = 8, .bytes = 48, .queue = 64, .front = 8, .bubble = 4, .width = 8,	\
	      .rob = 448, .iq = 192, .lq = 160, .sq = 96, .mshr = 48, .gap = 6, .forward = 5,	\
	      .alu = 6, .vec = 4, .loads = 3, .stores = 2, .lat = { 4, 14, 48, 300 } }
#define MID { .fetch = 6, .bytes = 32, .queue = 48, .front = 8, .bubble = 5, .width = 6,	\
	      .rob = 256, .iq = 96, .lq = 72, .sq = 56, .mshr = 24, .gap = 8, .forward = 5,	\
	      .alu = 4, .vec = 4, .loads = 3, .stores = 2, .lat = { 4, 14, 46, 280 } }
#define SMALL { .fetch = 3, .bytes = 16, .queue = 16, .front = 6, .bubble = 4, .width = 3,	\
		.rob = 64, .iq = 32, .lq = 24, .sq = 20, .mshr = 8, .gap = 12, .forward = 5,	\
		.alu = 2, .vec = 2, .loads = 1, .stores = 1, .lat = { 3, 12, 40, 220 } }

const struct pm_core_conf pm_core_big = BIG, pm_core_mid = MID, pm_core_small = SMALL;

#define L1(i, d) "l1i=" i ",64,prefetch=next;l1d=" d ",64,prefetch=stride,degree=2;"
#define L2(size, l3) "l2=" size ",64,prefetch=stream,degree=4;l3=" l3 ",64"
/* First-level TLBs are fully associative unless they say more. */
#define TLBS(i, d) "itlb=" i ",4k;dtlb=" d ",4k;"
#define SPLIT(i, d) "istlb=" i ",4k;dstlb=" d ",4k"
#define USUAL L1("32k,8way", "32k,8way") L2("1m,8way", "32m,16way")

static const struct core_preset presets[] = {
	{ "big", BIG, USUAL },
	{ "mid", MID, USUAL },
	{ "small", SMALL, USUAL },
	{ "zen3",
	  { .fetch = 8, .bytes = 32, .queue = 64, .front = 11, .bubble = 4, .width = 6, .rob = 256,
	    .iq = 160, .lq = 72, .sq = 64, .mshr = 24, .gap = 8, .forward = 7, .alu = 4, .vec = 4,
	    .loads = 3, .stores = 2, .lat = { 4, 14, 46, 280 },
	    .walkers = 6 },
	  L1("32k,8way", "32k,8way") L2("512k,8way", "32m,16way"),
	  TLBS("64,full", "64,full") SPLIT("512,8way", "2048,16way") },
	{ "zen4",
	  { .fetch = 9, .bytes = 32, .queue = 72, .front = 11, .bubble = 4, .width = 6, .rob = 320,
	    .iq = 160, .lq = 88, .sq = 64, .mshr = 24, .gap = 8, .forward = 7, .alu = 4, .vec = 4,
	    .loads = 3, .stores = 2, .lat = { 4, 14, 50, 280 },
	    .walkers = 6 },
	  L1("32k,8way", "32k,8way") L2("1m,8way", "32m,16way"),
	  TLBS("64,full", "72,full") SPLIT("512,8way", "3072,24way") },
	{ "zen5",
	  { .fetch = 12, .bytes = 64, .queue = 96, .front = 13, .bubble = 4, .width = 8,
	    .rob = 448, .iq = 240, .lq = 202, .sq = 104, .mshr = 24, .gap = 6, .forward = 7,
	    .alu = 6, .vec = 4, .loads = 4, .stores = 2, .lat = { 4, 14, 46, 300 },
	    .walkers = 6 },
	  L1("32k,8way", "48k,12way") L2("1m,16way", "32m,16way"),
	  TLBS("64,full", "96,full") SPLIT("2048,8way", "4096,16way") },
	{ "golden-cove",
	  { .fetch = 8, .bytes = 32, .queue = 144, .front = 15, .bubble = 4, .width = 6,
	    .rob = 512, .iq = 205, .lq = 192, .sq = 114, .mshr = 16, .gap = 6, .forward = 5,
	    .alu = 5, .vec = 3, .loads = 3, .stores = 2, .lat = { 5, 15, 66, 300 } },
	  L1("32k,8way", "48k,12way") L2("1280k,10way", "24m,12way"),
	  TLBS("256,8way", "96,6way") "stlb=2048,16way,4k" },
	{ "neoverse-v2",
	  { .fetch = 8, .bytes = 32, .queue = 64, .front = 9, .bubble = 3, .width = 8, .rob = 320,
	    .iq = 160, .lq = 96, .sq = 72, .mshr = 48, .gap = 6, .forward = 5, .alu = 6, .vec = 4,
	    .loads = 3, .stores = 2, .lat = { 4, 10, 68, 300 } },
	  L1("64k,4way", "64k,4way") L2("1m,8way", "32m,16way"),
	  TLBS("48,full", "48,full") "stlb=2048,8way,4k" },
};

const struct core_preset *core_preset(const char *name)
{
	for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}
