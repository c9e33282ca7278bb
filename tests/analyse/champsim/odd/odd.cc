/* SPDX-License-Identifier: MIT */
/* The old forms of arguments, and a policy that lets no line out: what does not fit stays out */
#include <iostream>

#include "cache.h"

struct odd : champsim::modules::replacement {
	explicit odd(CACHE *cache) : replacement(cache) {}
	long find_victim(uint32_t, uint64_t, long, const CACHE::BLOCK *, uint64_t, uint64_t, uint32_t)
	{
		return intern_->NUM_WAY;
	}
	void replacement_final_stats() { std::cout << intern_->NAME << " has ended\n"; }
};
