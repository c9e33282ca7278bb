/* SPDX-License-Identifier: MIT */
#include "two_level.h"

#include "instruction.h"

/* another file of this folder has the same name: they do not go together in one text */
static unsigned long mask() { return (1ul << 14) - 1; }

unsigned long hash(unsigned long pc, unsigned long history);

std::size_t two_level::index(champsim::address ip) const
{
	return hash(ip.slice_lower<champsim::data::bits{BITS}>().to<unsigned long>(), history) & mask();
}

bool two_level::predict_branch(champsim::address ip)
{
	return table[index(ip)].value() > 1;
}

void two_level::last_branch_result(champsim::address ip, champsim::address, bool taken,
				   uint8_t branch_type)
{
	if (branch_type != BRANCH_CONDITIONAL)
		return;
	table[index(ip)] += taken ? 1 : -1;
	history = (history << 1 | taken) & mask();
}
