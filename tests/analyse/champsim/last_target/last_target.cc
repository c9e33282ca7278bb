/* SPDX-License-Identifier: MIT */
/* Each branch goes where it went last; with addresses as numbers */
#include <map>

#include "modules.h"

struct last_target : champsim::modules::btb {
	std::map<uint64_t, uint64_t> last;

	using btb::btb;
	std::pair<uint64_t, bool> btb_prediction(uint64_t ip) { return { last[ip], false }; }
	void update_btb(uint64_t ip, uint64_t target, bool taken, uint8_t)
	{
		if (taken)
			last[ip] = target;
	}
};
