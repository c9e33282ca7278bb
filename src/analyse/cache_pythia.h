/* SPDX-License-Identifier: MIT */
/* cache_pythia.h - a prefetcher that learns from rewards (R. Bera et al., "Pythia: A Customizable
 * Hardware Prefetching Framework Using Online Reinforcement Learning", MICRO 2021)
 *
 * THE RULES (tests/oracle/prefetch_slow.h has them by plain means)
 * (1) Pages: 16 sets, 4 ways, the one used longest ago goes: last line, and its last four deltas
 *     in lines (0 of a new page). An access to the last line again is no access here.
 * (2) An access first gives a reward: if its line is in the evaluation queue and has none yet,
 *     +20 if it was asked for at least TIMELY news ago (cache_prefetch.h), else +12.
 * (3) The state is two features: pc and delta, (delta & 127) << 32 | (pc & 0xffffffff); and the
 *     four deltas, 7 bits each, the newest in the highest bits. Each has a vault of three planes.
 *     A plane has 128 rows by the feature shifted right by 0, 4, 8 bits (pc and delta) or 0, 7, 14
 *     (deltas), times 0x9e3779b97f4a7c15, the highest 7 of 64 bits; and a column for each action.
 * (4) The actions: 1 3 4 5 10 11 12 16 22 23 30 32 -1 -3 -6 lines from here, or 0: none. The value
 *     of an action is the sum of its three planes, of the vault where this is more. The action
 *     with the highest value is taken, of several the first; but once in 65536 / 119 any of them,
 *     by a generator of random numbers with a fixed seed.
 * (5) What is taken enters the evaluation queue. Without a prefetch the reward is -4 at once, and
 *     -12 if the line would be in another page. A line that is in the queue already is not asked
 *     for, nor entered. With a degree, multiples of the distance are asked for, too, as far as the
 *     page goes; only the first is learned from.
 * (6) The queue has 256 entries. The oldest leaves; its reward is -8 if it has none. In all six
 *     planes its value q grows by alpha (reward + gamma q' - q) (SARSA), where q' is that of the
 *     entry which is the oldest now. alpha is 426, gamma 36438 / 65536. Values have 16 bits behind
 *     the point, products are rounded down; they begin with 1 / (1 - gamma) = 147705 / 65536.
 *
 * Sizes, actions, features and constants are the paper's; how features become rows is not. Left
 * out: rewards that depend on the memory's bandwidth, which a model without time does not have
 * (here it is always low); degrees that change. */
#ifndef PM_ANALYSE_CACHE_PYTHIA_H
#define PM_ANALYSE_CACHE_PYTHIA_H

#include <stdbool.h>
#include <stdint.h>

struct cache_pythia;
/* Lines have 2^@shift bytes; @degree: as often as that the distance is asked for. */
struct cache_pythia *cache_pythia_new(unsigned shift, unsigned degree);
void cache_pythia_free(struct cache_pythia *p);	/* NULL is fine */
/* After an access: how many addresses it wants, in @to. @news: so many there were. */
unsigned cache_pythia_ask(struct cache_pythia *p, uint64_t pc, uint64_t line, uint64_t news,
			  uint64_t *to);

#endif
