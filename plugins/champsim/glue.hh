/* SPDX-License-Identifier: MIT */
/* glue.hh - PUGMARK_MODULE(X): the table of champsim_abi.h for the module in struct X
 *
 * What X is, its base says. Each of its functions may be absent, and may take addresses as
 * champsim::address or as numbers, kinds of accesses as access_type or as numbers: what it is called
 * with converts to both. */
#ifndef PUGMARK_CHAMPSIM_GLUE_HH
#define PUGMARK_CHAMPSIM_GLUE_HH

#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <type_traits>

#include "simulator.hh"

namespace pugmark {
struct any_address {
	uint64_t v;

	operator champsim::address() const { return champsim::address{ v }; }
	operator uint64_t() const { return v; }
};
struct any_type {
	unsigned v;

	operator access_type() const { return static_cast<access_type>(v); }
	operator uint32_t() const { return v; }
};
constexpr any_address A{};
constexpr any_type T{};
constexpr const champsim::cache_block *BLOCKS = nullptr;

/* has_NAME<M>: can that be called of an M? */
#define PUGMARK_HAS(NAME, ...)								\
	template <class M> auto NAME##_test(int)					\
		-> decltype(std::declval<M &>().__VA_ARGS__, std::true_type{});		\
	template <class> std::false_type NAME##_test(long);				\
	template <class M> inline constexpr bool has_##NAME = decltype(NAME##_test<M>(0))::value;

PUGMARK_HAS(begin_branch, initialize_branch_predictor())
PUGMARK_HAS(predict_all, predict_branch(A, A, false, uint8_t{}))
PUGMARK_HAS(predict, predict_branch(A))
PUGMARK_HAS(resolve, last_branch_result(A, A, false, uint8_t{}))
PUGMARK_HAS(begin_btb, initialize_btb())
PUGMARK_HAS(target_type, btb_prediction(A, uint8_t{}))
PUGMARK_HAS(target, btb_prediction(A))
PUGMARK_HAS(update, update_btb(A, A, false, uint8_t{}))
PUGMARK_HAS(begin_replacement, initialize_replacement())
PUGMARK_HAS(victim, find_victim(0u, uint64_t{}, 0l, BLOCKS, A, A, T))
PUGMARK_HAS(state, update_replacement_state(0u, 0l, 0l, A, A, A, T, false))
PUGMARK_HAS(state_short, update_replacement_state(0u, 0l, 0l, A, A, T, false))
PUGMARK_HAS(filled, replacement_cache_fill(0u, 0l, 0l, A, A, A, T))
PUGMARK_HAS(end_replacement, replacement_final_stats())
PUGMARK_HAS(begin_prefetcher, prefetcher_initialize())
PUGMARK_HAS(operate, prefetcher_cache_operate(A, A, false, false, T, 0u))
PUGMARK_HAS(operate_short, prefetcher_cache_operate(A, A, false, T, 0u))
PUGMARK_HAS(fill, prefetcher_cache_fill(A, 0l, 0l, false, A, 0u))
PUGMARK_HAS(cycle, prefetcher_cycle_operate())
PUGMARK_HAS(end_prefetcher, prefetcher_final_stats())
#undef PUGMARK_HAS

template <class M> constexpr unsigned kind_of()
{
	using namespace champsim::modules;
	constexpr bool b = std::is_base_of_v<branch_predictor, M>, t = std::is_base_of_v<btb, M>,
		       p = std::is_base_of_v<prefetcher, M>, r = std::is_base_of_v<replacement, M>;

	static_assert(b + t + p + r == 1, "the struct of the file's name has to derive from one of "
		      "champsim::modules::branch_predictor, btb, prefetcher, replacement");
	return b ? PM_CHAMPSIM_BRANCH : t ? PM_CHAMPSIM_BTB
	     : p ? PM_CHAMPSIM_PREFETCHER : PM_CHAMPSIM_REPLACEMENT;
}

template <class M> struct object {
	static constexpr bool of_core =
		kind_of<M>() == PM_CHAMPSIM_BRANCH || kind_of<M>() == PM_CHAMPSIM_BTB;
	using home_type = std::conditional_t<of_core, O3_CPU, CACHE>;

	std::unique_ptr<home_type> home;
	void *room;				/* zeroed: some modules count on that */
	M *module;				/* in it; NULL: its constructor has thrown */
	std::string why;
	bool failed;
	std::vector<champsim::cache_block> blocks;
};

/* Calls f(module), unless it has thrown before. */
template <class M, class R, class F> R guarded(void *self, R otherwise, F f)
{
	auto *o = static_cast<object<M> *>(self);

	if (o->failed)
		return otherwise;
	try {
		return f(*o);
	} catch (const std::exception &e) {
		o->why = e.what();
	} catch (...) {
		o->why = "something that is no std::exception";
	}
	o->failed = true;
	return otherwise;
}

template <class M> void begin(M &m)
{
	if constexpr (has_begin_branch<M>)
		m.initialize_branch_predictor();
	if constexpr (has_begin_btb<M>)
		m.initialize_btb();
	if constexpr (has_begin_replacement<M>)
		m.initialize_replacement();
	if constexpr (has_begin_prefetcher<M>)
		m.prefetcher_initialize();
}

template <class M> void *create(const pm_champsim_level *l)
{
	auto *o = new object<M>{};

	o->room = std::calloc(1, sizeof(M) + alignof(M));
	if constexpr (object<M>::of_core)
		o->home = std::make_unique<O3_CPU>();
	else
		o->home = std::make_unique<CACHE>(*l);
	if constexpr (!object<M>::of_core)
		o->blocks.resize(l->ways);
	guarded<M>(o, 0, [&](object<M> &self) {
		std::size_t space = sizeof(M) + alignof(M);
		void *at = self.room;

		if (!at)
			throw std::bad_alloc();
		at = std::align(alignof(M), sizeof(M), at, space);
		self.module = new (at) M{ self.home.get() };
		begin(*self.module);
		return 0;
	});
	return o;
}

template <class M> void destroy(void *self)
{
	auto *o = static_cast<object<M> *>(self);

	if (o->module)
		o->module->~M();
	std::free(o->room);
	delete o;
}

template <class M> void finish(void *self)
{
	guarded<M>(self, 0, [](object<M> &o) {
		if constexpr (has_end_replacement<M>)
			o.module->replacement_final_stats();
		if constexpr (has_end_prefetcher<M>)
			o.module->prefetcher_final_stats();
		return 0;
	});
}

template <class M> const char *failed(const void *self)
{
	const auto *o = static_cast<const object<M> *>(self);

	return o->failed ? o->why.c_str() : nullptr;
}

/* ---- branches ------------------------------------------------------------------------------- */

template <class M>
bool predict(void *self, uint64_t pc, uint64_t target, bool always, unsigned type)
{
	return guarded<M>(self, false, [&](object<M> &o) -> bool {
		if constexpr (has_predict_all<M>)
			return o.module->predict_branch(any_address{ pc }, any_address{ target },
							always, static_cast<uint8_t>(type));
		else if constexpr (has_predict<M>)
			return o.module->predict_branch(any_address{ pc });
		else
			return false;
	});
}

template <class M>
void resolve(void *self, uint64_t pc, uint64_t target, bool taken, unsigned type)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_resolve<M>)
			o.module->last_branch_result(any_address{ pc }, any_address{ target }, taken,
						     static_cast<uint8_t>(type));
		return 0;
	});
}

inline uint64_t number(champsim::address a) { return a.to<uint64_t>(); }
inline uint64_t number(uint64_t a) { return a; }

template <class M> uint64_t target(void *self, uint64_t pc, unsigned type, bool *always)
{
	*always = false;
	return guarded<M>(self, uint64_t{}, [&](object<M> &o) -> uint64_t {
		const auto answer = [&](const auto &pair) {
			*always = pair.second;
			return number(pair.first);
		};

		if constexpr (has_target_type<M>)
			return answer(o.module->btb_prediction(any_address{ pc },
							       static_cast<uint8_t>(type)));
		else if constexpr (has_target<M>)
			return answer(o.module->btb_prediction(any_address{ pc }));
		else
			return 0;
	});
}

template <class M> void update(void *self, uint64_t pc, uint64_t to, bool taken, unsigned type)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_update<M>)
			o.module->update_btb(any_address{ pc }, any_address{ to }, taken,
					     static_cast<uint8_t>(type));
		return 0;
	});
}

/* ---- replacement ---------------------------------------------------------------------------- */

template <class M>
uint64_t victim(void *self, uint64_t insn, uint64_t set, const uint64_t *lines, uint64_t pc,
		uint64_t addr, unsigned type)
{
	return guarded<M>(self, uint64_t{}, [&](object<M> &o) -> uint64_t {
		if constexpr (has_victim<M>) {
			long way;

			for (std::size_t i = 0; i < o.blocks.size(); i++) {
				champsim::cache_block &b = o.blocks[i];

				b.valid = lines[i] & PM_CHAMPSIM_VALID;
				b.dirty = lines[i] & PM_CHAMPSIM_DIRTY;
				b.prefetch = lines[i] & PM_CHAMPSIM_PREFETCHED;
				b.address = b.v_address = champsim::address{
					lines[i] & ~uint64_t{ PM_CHAMPSIM_LINE_FLAGS }
				};
			}
			way = static_cast<long>(o.module->find_victim(
				0u, insn, static_cast<long>(set), o.blocks.data(), any_address{ pc },
				any_address{ addr }, any_type{ type }));
			if (way < 0 || static_cast<std::size_t>(way) > o.blocks.size())
				throw std::out_of_range("find_victim() answers way " +
							std::to_string(way) + " of " +
							std::to_string(o.blocks.size()));
			return static_cast<uint64_t>(way);
		}
		return 0;
	});
}

template <class M>
void tell(object<M> &o, uint64_t set, uint64_t way, uint64_t addr, uint64_t pc, uint64_t gone,
	  unsigned type, bool hit)
{
	const long s = static_cast<long>(set), w = static_cast<long>(way);

	if constexpr (has_state_short<M>)
		o.module->update_replacement_state(0u, s, w, any_address{ addr }, any_address{ pc },
						   any_type{ type }, hit);
	else if constexpr (has_state<M>)
		o.module->update_replacement_state(0u, s, w, any_address{ addr }, any_address{ pc },
						   any_address{ gone }, any_type{ type }, hit);
}

/* Who has a function for fills is told of every lookup, who has none of hits and of fills. */
template <class M>
void looked_up(void *self, uint64_t set, uint64_t way, uint64_t addr, uint64_t pc, unsigned type,
	       bool hit)
{
	if (!hit && !has_filled<M>)
		return;
	guarded<M>(self, 0, [&](object<M> &o) {
		tell(o, set, way, addr, pc, 0, type, hit);
		return 0;
	});
}

template <class M>
void filled(void *self, uint64_t set, uint64_t way, uint64_t addr, uint64_t pc, uint64_t gone,
	    unsigned type)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_filled<M>)
			o.module->replacement_cache_fill(
				0u, static_cast<long>(set), static_cast<long>(way),
				any_address{ addr }, any_address{ pc }, any_address{ gone },
				any_type{ type });
		else if (way < o.blocks.size())
			tell(o, set, way, addr, pc, gone, type, false);
		return 0;
	});
}

/* ---- prefetchers ---------------------------------------------------------------------------- */

template <class M>
void operate(void *self, uint64_t addr, uint64_t pc, bool hit, bool useful, unsigned type,
	     uint32_t metadata)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_operate<M>)
			o.module->prefetcher_cache_operate(any_address{ addr }, any_address{ pc },
							   hit, useful, any_type{ type }, metadata);
		else if constexpr (has_operate_short<M>)
			o.module->prefetcher_cache_operate(any_address{ addr }, any_address{ pc },
							   hit, any_type{ type }, metadata);
		return 0;
	});
}

template <class M>
void fill(void *self, uint64_t addr, uint64_t set, uint64_t way, bool prefetch, uint64_t evicted,
	  uint32_t metadata)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_fill<M>)
			o.module->prefetcher_cache_fill(any_address{ addr }, static_cast<long>(set),
							static_cast<long>(way), prefetch,
							any_address{ evicted }, metadata);
		return 0;
	});
}

template <class M> void cycle(void *self)
{
	guarded<M>(self, 0, [&](object<M> &o) {
		if constexpr (has_cycle<M>)
			o.module->prefetcher_cycle_operate();
		o.home->current_time += o.home->clock_period;
		return 0;
	});
}

template <class M> unsigned take(void *self, pm_champsim_request *to)
{
	auto *o = static_cast<object<M> *>(self);
	unsigned n = 0;

	if constexpr (!object<M>::of_core) {
		for (const pm_champsim_request &r : o->home->requests)
			to[n++] = r;
		o->home->requests.clear();
	}
	return n;
}

/* Standard output is pugmark's: what modules say on it goes where errors go. */
struct quiet {
	quiet() { std::cout.rdbuf(std::cerr.rdbuf()); }
};

template <class M> constexpr pm_champsim_module table_of(const char *name)
{
	return { PM_CHAMPSIM_ABI, kind_of<M>(), name, create<M>, destroy<M>, finish<M>, failed<M>,
		 predict<M>, resolve<M>, target<M>, update<M>, victim<M>, looked_up<M>, filled<M>,
		 operate<M>, fill<M>, cycle<M>, take<M> };
}
} // namespace pugmark

#define PUGMARK_MODULE(X)								\
	static const pugmark::quiet quiet;						\
	extern "C" __attribute__((visibility("default"))) const pm_champsim_module	\
		pm_champsim_table = pugmark::table_of<struct X>(#X);

#endif
