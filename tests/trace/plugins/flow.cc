/* SPDX-License-Identifier: MIT */
/* flow.cc - a plug-in in C++17: executed instructions by what they do to control flow, blocks, and the objects
 * that they are in; one object per stream (`flow.so:WORD` names the result) */
#include <map>
#include <new>
#include <set>
#include <string>

#include <pugmark/pugmark.h>

namespace {

class Flow {
public:
	explicit Flow(const char *config) : name(config) { }

	void take(const pm_batch &b)
	{
		const pm_event *ev = b.ev;

		for (size_t n = b.n; n; n--, ev = pm_event_next(&b, ev)) {
			if (ev->kind != PM_EV_BLOCK)
				continue;
			const pm_block *block = pm_block_at(&b, ev->id);
			if (!block)
				continue;
			blocks.insert(block->pc);
			for (uint64_t i = 0; i < ev->value; i++) {
				const pm_insn *in = pm_insn_at(&b, static_cast<uint32_t>(block->insn + i));
				if (in)
					count[in->flow]++;
			}
		}
	}

	void add(const Flow &other)
	{
		blocks.insert(other.blocks.begin(), other.blocks.end());
		for (const auto &c : other.count)
			count[c.first] += c.second;
	}

	void tell(pm_result *r) const
	{
		pm_result_begin(r, name.empty() ? "flow" : name.c_str());
		pm_result_u64(r, "blocks", blocks.size(), "blocks");
		for (const auto &c : count)
			pm_result_u64(r, ("class" + std::to_string(c.first)).c_str(), c.second, "instructions");
		pm_result_end(r);
	}

private:
	std::string name;
	std::set<uint64_t> blocks;
	std::map<unsigned, uint64_t> count;
};

void *create(const char *config, pm_err *err)
{
	if (config == std::string("none")) {
		pm_fail_file(err, "no such name: '%s'", config);
		return nullptr;
	}
	return new (std::nothrow) Flow(config);
}

pm_status consume(void *self, const pm_batch *b, pm_err *)
{
	static_cast<Flow *>(self)->take(*b);
	return PM_OK;
}

void merge(void *self, const void *other)
{
	static_cast<Flow *>(self)->add(*static_cast<const Flow *>(other));
}

pm_status finish(void *self, pm_result *r, pm_err *)
{
	if (r)
		static_cast<Flow *>(self)->tell(r);
	return PM_OK;
}

void destroy(void *self)
{
	delete static_cast<Flow *>(self);
}

}

const pm_sink_ops pm_plugin = {
	PM_ABI, sizeof(pm_sink_ops), PM_HAS_BLOCKS | PM_HAS_INSNS, PM_SINK_BLOCKS | PM_SINK_PER_STREAM,
	"flow", "instructions by what they do to control flow", create, consume, merge, finish, destroy,
};
