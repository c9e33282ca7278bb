/* SPDX-License-Identifier: MIT */
/* simulator.hh - what modules see of ChampSim itself: the bases they derive from, the level of caches
 * and the core that they work for
 *
 * There is no time in pugmark's caches. So queues and MSHRs are empty, except for the requests of the
 * module itself, and a cycle is a call of prefetcher_cycle_operate(). */
#ifndef PUGMARK_CHAMPSIM_SIMULATOR_HH
#define PUGMARK_CHAMPSIM_SIMULATOR_HH

#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "champsim_abi.h"
#include "tables.hh"

enum class access_type : unsigned { LOAD, RFO, PREFETCH, WRITE, TRANSLATION, NUM_TYPES };
inline constexpr std::array<std::string_view, 5> access_type_names{ "LOAD", "RFO", "PREFETCH",
								    "WRITE", "TRANSLATION" };

enum branch_type {
	BRANCH_DIRECT_JUMP, BRANCH_INDIRECT, BRANCH_CONDITIONAL, BRANCH_DIRECT_CALL,
	BRANCH_INDIRECT_CALL, BRANCH_RETURN, BRANCH_OTHER, NOT_BRANCH
};
inline constexpr std::array<std::string_view, 6> branch_type_names{
	"BRANCH_DIRECT_JUMP", "BRANCH_INDIRECT", "BRANCH_CONDITIONAL", "BRANCH_DIRECT_CALL",
	"BRANCH_INDIRECT_CALL", "BRANCH_RETURN"
};

namespace champsim {
struct cache_block {
	bool valid = false, prefetch = false, dirty = false;
	champsim::address address{}, v_address{}, data{};
	uint32_t pf_metadata = 0;
};

namespace chrono {
using picoseconds = std::chrono::duration<std::intmax_t, std::pico>;
struct clock {
	using duration = picoseconds;
	using rep = duration::rep;
	using period = duration::period;
	using time_point = std::chrono::time_point<clock>;
	static constexpr bool is_steady = false;
};
} // namespace chrono

struct operable {
	chrono::clock::duration clock_period{ 250 };
	chrono::clock::time_point current_time{};
	bool warmup = false;

	uint64_t current_cycle() const
	{
		return static_cast<uint64_t>(current_time.time_since_epoch() / clock_period);
	}
};
} // namespace champsim

class O3_CPU : public champsim::operable {
public:
	uint32_t cpu = 0;
};

class CACHE : public champsim::operable {
public:
	using BLOCK = champsim::cache_block;

	uint32_t cpu = 0;
	std::string NAME;
	uint32_t NUM_SET, NUM_WAY, MSHR_SIZE = 32;
	std::size_t PQ_SIZE = PM_CHAMPSIM_QUEUE;
	champsim::data::bits OFFSET_BITS{ LOG2_BLOCK_SIZE };
	bool prefetch_as_load = false, match_offset_bits = false, virtual_prefetch;
	std::vector<access_type> pref_activate_mask{ access_type::LOAD, access_type::PREFETCH };
	std::vector<pm_champsim_request> requests;	/* pugmark's own */

	explicit CACHE(const pm_champsim_level &l)
		: NAME(l.name), NUM_SET(l.sets), NUM_WAY(l.ways),
		  virtual_prefetch(l.virtual_prefetch)
	{
	}

	bool prefetch_line(champsim::address pf_addr, bool fill_this_level, uint32_t metadata)
	{
		if (requests.size() >= PQ_SIZE)
			return false;
		requests.push_back({ pf_addr.to<uint64_t>(), metadata, fill_this_level });
		return true;
	}
	bool prefetch_line(uint64_t pf_addr, bool fill_this_level, uint32_t metadata)
	{
		return prefetch_line(champsim::address{ pf_addr }, fill_this_level, metadata);
	}
	bool prefetch_line(uint64_t, uint64_t, uint64_t pf_addr, bool fill_this_level,
			   uint32_t metadata)
	{
		return prefetch_line(pf_addr, fill_this_level, metadata);
	}

	long get_set_index(champsim::address a) const
	{
		return a.slice(champsim::dynamic_extent{ OFFSET_BITS, champsim::lg2(NUM_SET) })
			.to<long>();
	}
	uint64_t get_set(uint64_t a) const
	{
		return static_cast<uint64_t>(get_set_index(champsim::address{ a }));
	}

	std::size_t get_mshr_occupancy() const { return 0; }
	std::size_t get_mshr_size() const { return MSHR_SIZE; }
	double get_mshr_occupancy_ratio() const { return 0; }
	std::vector<std::size_t> get_rq_occupancy() const { return { 0 }; }
	std::vector<std::size_t> get_rq_size() const { return { PQ_SIZE }; }
	std::vector<double> get_rq_occupancy_ratio() const { return { 0 }; }
	std::vector<std::size_t> get_wq_occupancy() const { return { 0 }; }
	std::vector<std::size_t> get_wq_size() const { return { PQ_SIZE }; }
	std::vector<double> get_wq_occupancy_ratio() const { return { 0 }; }
	std::vector<std::size_t> get_pq_occupancy() const { return { 0, requests.size() }; }
	std::vector<std::size_t> get_pq_size() const { return { PQ_SIZE, PQ_SIZE }; }
	std::vector<double> get_pq_occupancy_ratio() const
	{
		return { 0, static_cast<double>(requests.size()) / static_cast<double>(PQ_SIZE) };
	}
	std::size_t get_occupancy(uint8_t, uint64_t) const { return 0; }
	std::size_t get_occupancy(uint8_t, champsim::address) const { return 0; }
	std::size_t get_size(uint8_t queue, uint64_t) const { return queue ? 0 : MSHR_SIZE; }
	std::size_t get_size(uint8_t queue, champsim::address) const { return queue ? 0 : MSHR_SIZE; }
};

namespace champsim::modules {
template <class T> struct bound_to {
	T *intern_;

	explicit bound_to(T *to) : intern_(to) {}
	void bind(T *to) { intern_ = to; }
};

struct branch_predictor : bound_to<O3_CPU> {
	explicit branch_predictor(O3_CPU *core) : bound_to(core) {}
};
struct btb : bound_to<O3_CPU> {
	explicit btb(O3_CPU *core) : bound_to(core) {}
};
struct replacement : bound_to<CACHE> {
	explicit replacement(CACHE *level) : bound_to(level) {}
};
struct prefetcher : bound_to<CACHE> {
	explicit prefetcher(CACHE *level) : bound_to(level) {}
	bool prefetch_line(champsim::address pf_addr, bool fill_this_level, uint32_t metadata) const
	{
		return intern_->prefetch_line(pf_addr, fill_this_level, metadata);
	}
	bool prefetch_line(uint64_t pf_addr, bool fill_this_level, uint32_t metadata) const
	{
		return intern_->prefetch_line(pf_addr, fill_this_level, metadata);
	}
};
} // namespace champsim::modules

/* Standard output is pugmark's. */
#define printf(...) fprintf(stderr, __VA_ARGS__)
#define puts(text) fprintf(stderr, "%s\n", text)

#endif
