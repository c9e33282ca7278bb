/* SPDX-License-Identifier: MIT */
/* tables.hh - what ChampSim's modules build predictors from, and print with: counters that saturate,
 * tables with LRU sets, fmt::print() */
#ifndef PUGMARK_CHAMPSIM_TABLES_HH
#define PUGMARK_CHAMPSIM_TABLES_HH

#include <algorithm>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "address.hh"

namespace champsim::msl {
template <class Val, Val MAX, Val MIN> class base_fwcounter {
protected:
	Val _value{};

public:
	using value_type = Val;
	constexpr static Val minimum = MIN, maximum = MAX;

	base_fwcounter() = default;
	explicit base_fwcounter(Val v) : _value(v) {}
	template <class N> base_fwcounter &operator=(N v)
	{
		_value = std::clamp<Val>(static_cast<Val>(v), MIN, MAX);
		return *this;
	}
	template <class N> base_fwcounter &operator+=(N v) { return *this = _value + of(v); }
	template <class N> base_fwcounter &operator-=(N v) { return *this = _value - of(v); }
	template <class N> base_fwcounter &operator*=(N v) { return *this = _value * of(v); }
	template <class N> base_fwcounter &operator/=(N v) { return *this = _value / of(v); }
	base_fwcounter &operator++() { return *this += 1; }
	base_fwcounter &operator--() { return *this -= 1; }
	base_fwcounter operator++(int)
	{
		base_fwcounter was = *this;

		++*this;
		return was;
	}
	base_fwcounter operator--(int)
	{
		base_fwcounter was = *this;

		--*this;
		return was;
	}
	bool is_max() const { return _value == MAX; }
	bool is_min() const { return _value == MIN; }
	Val value() const { return _value; }

	static Val of(const base_fwcounter &c) { return c._value; }
	template <class N> static Val of(N v) { return static_cast<Val>(v); }

	template <class N> friend base_fwcounter operator+(base_fwcounter a, N b) { return a += b; }
	template <class N> friend base_fwcounter operator-(base_fwcounter a, N b) { return a -= b; }
	template <class N> friend base_fwcounter operator*(base_fwcounter a, N b) { return a *= b; }
	template <class N> friend base_fwcounter operator/(base_fwcounter a, N b) { return a /= b; }
	template <class N> friend bool operator==(base_fwcounter a, N b) { return a._value == of(b); }
	template <class N> friend bool operator!=(base_fwcounter a, N b) { return a._value != of(b); }
	template <class N> friend bool operator<(base_fwcounter a, N b) { return a._value < of(b); }
	template <class N> friend bool operator>(base_fwcounter a, N b) { return a._value > of(b); }
	template <class N> friend bool operator<=(base_fwcounter a, N b) { return a._value <= of(b); }
	template <class N> friend bool operator>=(base_fwcounter a, N b) { return a._value >= of(b); }
};
template <std::size_t WIDTH> using fwcounter = base_fwcounter<long long, (1ll << WIDTH) - 1, 0>;
template <std::size_t WIDTH>
using sfwcounter = base_fwcounter<long long, (1ll << (WIDTH - 1)) - 1, -(1ll << (WIDTH - 1))>;

namespace detail {
template <class T> struct index_of {
	auto operator()(const T &v) const { return v.index(); }
};
template <class T> struct tag_of {
	auto operator()(const T &v) const { return v.tag(); }
};
template <class E> uint64_t number(const address_slice<E> &a) { return a.template to<uint64_t>(); }
template <class N> uint64_t number(N n) { return static_cast<uint64_t>(n); }
} // namespace detail

/* Sets of `ways` entries, told apart by a tag; the one used longest ago makes room. */
template <class T, class Set = detail::index_of<T>, class Tag = detail::tag_of<T>> class lru_table {
	struct entry {
		uint64_t used = 0;		/* 0: empty */
		T value{};
	};
	Set set_of;
	Tag tag_of;
	std::size_t sets, ways;
	uint64_t clock = 0;
	std::vector<entry> entries;

	entry *find(const T &v, entry **oldest = nullptr)
	{
		entry *e = &entries[detail::number(set_of(v)) % sets * ways], *end = e + ways;

		if (oldest)
			*oldest = e;
		for (; e < end; e++) {
			if (e->used && tag_of(e->value) == tag_of(v))
				return e;
			if (oldest && e->used < (*oldest)->used)
				*oldest = e;
		}
		return nullptr;
	}

public:
	using value_type = T;

	lru_table(std::size_t nsets, std::size_t nways, Set s = {}, Tag t = {})
		: set_of(s), tag_of(t), sets(nsets), ways(nways), entries(nsets * nways)
	{
		if (!sets || !ways || !is_power_of_2(sets))
			throw std::range_error("lru_table: sets are a power of two, ways at least 1");
	}
	std::optional<T> check_hit(const T &v)
	{
		entry *e = find(v);

		if (!e)
			return std::nullopt;
		e->used = ++clock;
		return e->value;
	}
	void fill(const T &v)
	{
		entry *oldest, *e = find(v, &oldest);

		*(e ? e : oldest) = entry{++clock, v};
	}
	std::optional<T> invalidate(const T &v)
	{
		entry *e = find(v);

		if (!e)
			return std::nullopt;
		return std::exchange(*e, entry{}).value;
	}
};
} // namespace champsim::msl
namespace champsim {
using msl::lru_table;
}

/* As much of fmt as a message needs: {} and {:anything} are what operator<< makes of the argument.
 * Everything goes to standard error: standard output is pugmark's. */
namespace fmt {
template <class T, class Char = char> struct formatter;

inline void vformat(std::ostringstream &to, std::string_view f)
{
	for (std::size_t i = 0; i < f.size(); i++) {
		to << f[i];
		if ((f[i] == '{' || f[i] == '}') && i + 1 < f.size() && f[i + 1] == f[i])
			i++;
	}
}
template <class A, class... More>
void vformat(std::ostringstream &to, std::string_view f, const A &a, const More &...more)
{
	std::size_t i = 0;

	while (i < f.size() && (f[i] != '{' || (i + 1 < f.size() && f[i + 1] == '{'))) {
		to << f[i];
		i += f[i] == '{' || (f[i] == '}' && i + 1 < f.size() && f[i + 1] == '}') ? 2 : 1;
	}
	if (i == f.size())
		return;
	to << a;
	i = f.find('}', i);
	vformat(to, i == f.npos ? std::string_view{} : f.substr(i + 1), more...);
}
template <class... A> std::string format(std::string_view f, const A &...a)
{
	std::ostringstream to;

	vformat(to, f, a...);
	return to.str();
}
template <class... A> void print(std::FILE *, std::string_view f, const A &...a)
{
	std::fputs(format(f, a...).c_str(), stderr);
}
template <class... A> void print(std::string_view f, const A &...a) { print(stderr, f, a...); }
template <class... A> void println(std::string_view f, const A &...a)
{
	print("{}\n", format(f, a...));
}
} // namespace fmt

#endif
