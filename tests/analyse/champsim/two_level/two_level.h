/* SPDX-License-Identifier: MIT */
/* pugmark's own gshare=14 as a module of ChampSim: only conditional branches train it */
#ifndef TWO_LEVEL_H
#define TWO_LEVEL_H
#include <array>

#include "address.h"
#include "modules.h"
#include "msl/fwcounter.h"

class two_level : champsim::modules::branch_predictor
{
	static constexpr std::size_t BITS = 14;
	std::array<champsim::msl::fwcounter<2>, 1 << BITS> table{};
	unsigned long history = 0;

	std::size_t index(champsim::address ip) const;

public:
	using branch_predictor::branch_predictor;
	bool predict_branch(champsim::address ip);
	void last_branch_result(champsim::address ip, champsim::address target, bool taken,
				uint8_t branch_type);
};
#endif
