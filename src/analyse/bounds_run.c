/* SPDX-License-Identifier: MIT */
/* bounds_run.c - bounds_run.h for processors with and without AVX2, which has registers of eight
 * lanes */
#include "analyse/bounds_work.h"
#include "base/mem.h"
#include "base/vectors.h"

#define INLINE inline __attribute__((always_inline))	/* for the sake of their attributes */

#define TARGET
#define ON(name) plain_##name
#define LATER(a, b) ({ const lanes_t a_ = (a), b_ = (b), m_ = a_ > b_; (a_ & m_) | (b_ & ~m_); })
#define SOONER(a, b) ({ const lanes_t a_ = (a), b_ = (b), m_ = a_ < b_; (a_ & m_) | (b_ & ~m_); })
#define GATHER(to, from, index)						\
	do {								\
		const lanes_t i_ = (index);				\
									\
		for (unsigned l_ = 0; l_ < LANES; l_++)			\
			(to)[l_] = (from)[i_[l_] / LANES][l_];		\
	} while (0)
#include "analyse/bounds_run.h"

#ifdef __x86_64__
#include <immintrin.h>

#define TARGET __attribute__((target(PM_AVX2)))
#define ON(name) avx2_##name
#define LATER(a, b) ((lanes_t)_mm256_max_epi32((__m256i)(a), (__m256i)(b)))
#define SOONER(a, b) ((lanes_t)_mm256_min_epi32((__m256i)(a), (__m256i)(b)))
#define GATHER(to, from, index)						\
	((to) = (lanes_t)_mm256_i32gather_epi32((const int *)(from), (__m256i)(index), 4))
#include "analyse/bounds_run.h"
#endif

void bounds_run_plain(struct bounds_group *g, struct bounds_group *h, const struct bounds_batch *b)
{
	plain_run(g, h, b);
}

void bounds_run(struct bounds_group *g, struct bounds_group *h, const struct bounds_batch *b)
{
#ifdef __x86_64__
	if (pm_has_avx2()) {
		avx2_run(g, h, b);
		return;
	}
#endif
	plain_run(g, h, b);
}
