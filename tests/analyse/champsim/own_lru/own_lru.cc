/* SPDX-License-Identifier: MIT */
/* pugmark's own lru as a module of ChampSim, without a header; writes count as uses, too */
#include <algorithm>
#include <vector>

#include "cache.h"
#include "modules.h"

struct own_lru : champsim::modules::replacement {
	std::vector<uint64_t> used;
	long ways;
	uint64_t clock = 0;

	explicit own_lru(CACHE *cache)
		: replacement(cache), used(cache->NUM_SET * cache->NUM_WAY), ways(cache->NUM_WAY)
	{
	}
	long find_victim(uint32_t, uint64_t, long set, const champsim::cache_block *blocks,
			 champsim::address, champsim::address, access_type)
	{
		auto first = used.begin() + set * ways;

		for (long i = 0; i < ways; i++)
			if (!blocks[i].valid || intern_->get_set_index(blocks[i].address) != set)
				throw std::logic_error("the lines are not those of the set");
		return std::min_element(first, first + ways) - first;
	}
	void update_replacement_state(uint32_t, long set, long way, champsim::address,
				      champsim::address, champsim::address, access_type, bool)
	{
		used.at(set * ways + way) = ++clock;
	}
};
