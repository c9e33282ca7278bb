/* SPDX-License-Identifier: MIT */
/* pugmark's own prefetch=next as a module of ChampSim; it asks a cycle later */
#include <optional>

#include "modules.h"

struct next_news : champsim::modules::prefetcher {
	std::optional<champsim::address> wanted;

	using prefetcher::prefetcher;
	uint32_t prefetcher_cache_operate(champsim::address addr, champsim::address, uint8_t hit,
					  bool useful, access_type, uint32_t metadata)
	{
		champsim::address next{champsim::block_number{addr} + 1};

		if ((!hit || useful) && champsim::page_number{next} == champsim::page_number{addr})
			wanted = next;
		return metadata;
	}
	uint32_t prefetcher_cache_fill(champsim::address, long, long, uint8_t, champsim::address,
				       uint32_t metadata)
	{
		return metadata;
	}
	void prefetcher_cycle_operate()
	{
		if (wanted && prefetch_line(*wanted, true, 0))
			wanted.reset();
	}
};
