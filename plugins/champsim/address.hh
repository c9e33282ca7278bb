/* SPDX-License-Identifier: MIT */
/* address.hh - ChampSim's addresses and their slices, numbers of bits and bytes
 *
 * A slice is bits upper-1 .. lower of an address. Its extent is either part of its type
 * (static_extent) or of its value (dynamic_extent and what derives from it). */
#ifndef PUGMARK_CHAMPSIM_ADDRESS_HH
#define PUGMARK_CHAMPSIM_ADDRESS_HH

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <ratio>
#include <stdexcept>
#include <type_traits>
#include <utility>

inline constexpr std::size_t NUM_CPUS = 1;
inline constexpr unsigned BLOCK_SIZE = 64, LOG2_BLOCK_SIZE = 6;
inline constexpr unsigned PAGE_SIZE = 4096, LOG2_PAGE_SIZE = 12;

namespace champsim {
inline constexpr bool debug_print = false;

template <class Enum> constexpr std::underlying_type_t<Enum> to_underlying(Enum e) noexcept
{
	return static_cast<std::underlying_type_t<Enum>>(e);
}

/* ---- bits and bytes ------------------------------------------------------------------------ */

namespace data {
enum class bits : uint64_t {};

constexpr bits operator+(bits a, bits b) { return bits{to_underlying(a) + to_underlying(b)}; }
constexpr bits operator-(bits a, bits b) { return bits{to_underlying(a) - to_underlying(b)}; }
constexpr bits operator*(unsigned long long n, bits b) { return bits{n * to_underlying(b)}; }
constexpr bits operator*(bits b, unsigned long long n) { return n * b; }
constexpr uint64_t operator/(bits a, bits b) { return to_underlying(a) / to_underlying(b); }
constexpr bits operator%(bits a, bits b) { return bits{to_underlying(a) % to_underlying(b)}; }

template <class Rep, class Unit> class size {
	Rep n{};

public:
	using rep = Rep;
	using unit = Unit;
	constexpr static auto byte_multiple{Unit::num};

	constexpr size() = default;
	constexpr explicit size(Rep count) : n(count) {}
	template <class R, class U> constexpr size(const size<R, U> &o)
		: n(static_cast<Rep>(o.count() * U::num / Unit::num))
	{
	}
	constexpr Rep count() const { return n; }
	constexpr size operator-() const { return size{-n}; }
	constexpr size &operator+=(size o) { n += o.n; return *this; }
	constexpr size &operator-=(size o) { n -= o.n; return *this; }
	friend constexpr size operator+(size a, size b) { return size{a.n + b.n}; }
	friend constexpr size operator-(size a, size b) { return size{a.n - b.n}; }
	friend constexpr size operator*(size a, Rep k) { return size{a.n * k}; }
	friend constexpr size operator*(Rep k, size a) { return size{a.n * k}; }
	friend constexpr Rep operator/(size a, size b) { return a.n / b.n; }
	friend constexpr bool operator==(size a, size b) { return a.n == b.n; }
	friend constexpr bool operator!=(size a, size b) { return a.n != b.n; }
	friend constexpr bool operator<(size a, size b) { return a.n < b.n; }
	friend constexpr bool operator>(size a, size b) { return a.n > b.n; }
	friend constexpr bool operator<=(size a, size b) { return a.n <= b.n; }
	friend constexpr bool operator>=(size a, size b) { return a.n >= b.n; }
};
using bytes = size<long long, std::ratio<1>>;
using kibibytes = size<long long, std::ratio<1ll << 10>>;
using mebibytes = size<long long, std::ratio<1ll << 20>>;
using gibibytes = size<long long, std::ratio<1ll << 30>>;
using tebibytes = size<long long, std::ratio<1ll << 40>>;

namespace data_literals {
constexpr bits operator""_b(unsigned long long n) { return bits{n}; }
constexpr bytes operator""_B(unsigned long long n) { return bytes{(long long)n}; }
constexpr kibibytes operator""_kiB(unsigned long long n) { return kibibytes{(long long)n}; }
constexpr mebibytes operator""_MiB(unsigned long long n) { return mebibytes{(long long)n}; }
constexpr gibibytes operator""_GiB(unsigned long long n) { return gibibytes{(long long)n}; }
} // namespace data_literals
} // namespace data

namespace msl {
template <class T> constexpr auto lg2(T n)
{
	std::make_unsigned_t<T> k{};

	while (n >>= 1)
		++k;
	return k;
}

template <class T> constexpr bool is_power_of_2(T n) { return n == T{1} << lg2(n); }

template <class T> constexpr T next_pow2(T n)
{
	T p{1};

	while (p < n)
		p <<= 1;
	return p;
}

constexpr long long ipow(long long base, unsigned exp)
{
	long long v = 1;

	for (; exp; exp--)
		v *= base;
	return v;
}

constexpr uint64_t bitmask(data::bits upper, data::bits lower = data::bits{})
{
	const uint64_t n = to_underlying(upper - lower);
	const uint64_t ones = n >= 64 ? ~uint64_t{} : (uint64_t{1} << n) - 1;

	return to_underlying(lower) >= 64 ? 0 : ones << to_underlying(lower);
}
constexpr uint64_t bitmask(std::size_t upper, std::size_t lower = 0)
{
	return bitmask(data::bits{upper}, data::bits{lower});
}

template <class T> constexpr auto splice_bits(T upper, T lower, data::bits from, data::bits to)
{
	return (upper & ~bitmask(from, to)) | (lower & bitmask(from, to));
}
template <class T> constexpr auto splice_bits(T upper, T lower, data::bits at)
{
	return splice_bits(upper, lower, at, data::bits{});
}
template <class T>
constexpr auto splice_bits(T upper, T lower, std::size_t from, std::size_t to = 0)
{
	return splice_bits(upper, lower, data::bits{from}, data::bits{to});
}
} // namespace msl
using msl::bitmask;
using msl::ipow;
using msl::is_power_of_2;
using msl::lg2;
using msl::next_pow2;
using msl::splice_bits;

/* ---- extents -------------------------------------------------------------------------------- */

struct dynamic_extent {
	data::bits upper, lower;

	constexpr dynamic_extent(data::bits up, data::bits low) : upper(up), lower(low) {}
	constexpr dynamic_extent(data::bits low, std::size_t n)
		: dynamic_extent(low + data::bits{n}, low)
	{
	}
};
struct page_number_extent : dynamic_extent {
	page_number_extent() : dynamic_extent(data::bits{64}, data::bits{LOG2_PAGE_SIZE}) {}
};
struct page_offset_extent : dynamic_extent {
	page_offset_extent() : dynamic_extent(data::bits{LOG2_PAGE_SIZE}, data::bits{}) {}
};
struct block_number_extent : dynamic_extent {
	block_number_extent() : dynamic_extent(data::bits{64}, data::bits{LOG2_BLOCK_SIZE}) {}
};
struct block_offset_extent : dynamic_extent {
	block_offset_extent() : dynamic_extent(data::bits{LOG2_BLOCK_SIZE}, data::bits{}) {}
};

template <data::bits UP, data::bits LOW> struct static_extent {
	constexpr static data::bits upper{UP}, lower{LOW};
};

template <class Extent> constexpr std::size_t size(Extent e)
{
	return to_underlying(e.upper - e.lower);
}

namespace detail {
template <class> inline constexpr bool extent_is_static = false;
template <data::bits UP, data::bits LOW>
inline constexpr bool extent_is_static<static_extent<UP, LOW>> = true;
template <class A, class B>
inline constexpr bool both_static = extent_is_static<A> && extent_is_static<B>;

constexpr uint64_t up(uint64_t v, data::bits n)
{
	return to_underlying(n) < 64 ? v << to_underlying(n) : 0;
}
constexpr uint64_t down(uint64_t v, data::bits n)
{
	return to_underlying(n) < 64 ? v >> to_underlying(n) : 0;
}
} // namespace detail

template <class A, class B> constexpr auto extent_union(A a, B b)
{
	if constexpr (detail::both_static<A, B>)
		return static_extent<std::max(A::upper, B::upper), std::min(A::lower, B::lower)>{};
	else
		return dynamic_extent{std::max(a.upper, b.upper), std::min(a.lower, b.lower)};
}

/* @part counts from the lower end of @of, and does not reach out of it. */
template <class A, class B> constexpr auto relative_extent(A of, B part)
{
	if constexpr (detail::both_static<A, B>) {
		constexpr data::bits n = A::upper - A::lower;

		return static_extent<A::lower + std::min(B::upper, n),
				     A::lower + std::min(B::lower, n)>{};
	} else {
		const data::bits n = of.upper - of.lower;

		return dynamic_extent{of.lower + std::min(part.upper, n),
				      of.lower + std::min(part.lower, n)};
	}
}

/* ---- slices --------------------------------------------------------------------------------- */

template <class Extent> class address_slice {
public:
	using extent_type = Extent;
	using underlying_type = uint64_t;
	using difference_type = int64_t;
	constexpr static data::bits bits{64};

private:
	template <class> friend class address_slice;
	extent_type ext;
	uint64_t val{};

	template <class O> constexpr static extent_type own_or(O other)
	{
		if constexpr (std::is_default_constructible_v<extent_type>)
			return extent_type{};
		else
			return extent_type{other.upper, other.lower};
	}
	constexpr void check() const
	{
		if (ext.upper > bits || ext.lower > bits)
			throw std::invalid_argument("a slice of more bits than an address has");
	}
	constexpr void same(const address_slice &o) const
	{
		if (ext.upper != o.ext.upper || ext.lower != o.ext.lower)
			throw std::invalid_argument("slices of different bits are compared");
	}

public:
	constexpr address_slice() : ext(extent_type{}) {}
	constexpr explicit address_slice(uint64_t v) : address_slice(extent_type{}, v) {}
	constexpr address_slice(extent_type e, uint64_t v)
		: ext(e), val(v & bitmask(data::bits{champsim::size(e)}))
	{
		check();
	}
	template <class O> constexpr explicit address_slice(const address_slice<O> &o)
		: address_slice(own_or(o.ext), o)
	{
	}
	template <class O> constexpr address_slice(extent_type e, const address_slice<O> &o)
		: ext(e), val(detail::down(detail::up(o.val, o.ext.lower) &
					   bitmask(e.upper, e.lower), e.lower))
	{
		check();
	}

	template <class T> constexpr T to() const
	{
		static_assert(std::is_integral_v<T>);
		if (val > static_cast<uint64_t>(std::numeric_limits<T>::max()))
			throw std::domain_error("an address does not fit into a smaller type");
		return static_cast<T>(val);
	}
	constexpr data::bits upper_extent() const { return ext.upper; }
	constexpr data::bits lower_extent() const { return ext.lower; }
	constexpr extent_type extent_of() const { return ext; }

	constexpr bool operator==(address_slice o) const { same(o); return val == o.val; }
	constexpr bool operator!=(address_slice o) const { return !(*this == o); }
	constexpr bool operator<(address_slice o) const { same(o); return val < o.val; }
	constexpr bool operator>(address_slice o) const { return o < *this; }
	constexpr bool operator<=(address_slice o) const { return !(o < *this); }
	constexpr bool operator>=(address_slice o) const { return !(*this < o); }

	/* in units of the slice's lowest bit */
	constexpr address_slice &operator+=(difference_type d)
	{
		val = (val + static_cast<uint64_t>(d)) & bitmask(data::bits{champsim::size(ext)});
		return *this;
	}
	constexpr address_slice &operator-=(difference_type d)
	{
		return *this += static_cast<difference_type>(-static_cast<uint64_t>(d));
	}
	constexpr address_slice &operator+=(data::bytes d) { return *this += d.count(); }
	constexpr address_slice &operator-=(data::bytes d) { return *this -= d.count(); }
	constexpr address_slice operator+(difference_type d) const
	{
		address_slice r = *this;

		return r += d;
	}
	constexpr address_slice operator-(difference_type d) const
	{
		address_slice r = *this;

		return r -= d;
	}
	constexpr address_slice operator+(data::bytes d) const { return *this + d.count(); }
	constexpr address_slice operator-(data::bytes d) const { return *this - d.count(); }
	constexpr address_slice &operator++() { return *this += 1; }
	constexpr address_slice &operator--() { return *this -= 1; }
	constexpr address_slice operator++(int)
	{
		address_slice r = *this;

		*this += 1;
		return r;
	}
	constexpr address_slice operator--(int)
	{
		address_slice r = *this;

		*this -= 1;
		return r;
	}

	template <class Part> constexpr auto slice(Part part) const
	{
		auto e = relative_extent(ext, part);

		return address_slice<decltype(e)>{e, detail::down(val, part.lower)};
	}
	template <data::bits UP, data::bits LOW> constexpr auto slice() const
	{
		return slice(static_extent<UP, LOW>{});
	}
	template <data::bits LOW> constexpr auto slice_upper() const { return slice<bits, LOW>(); }
	template <data::bits UP> constexpr auto slice_lower() const
	{
		return slice<UP, data::bits{}>();
	}
	constexpr auto slice_upper(data::bits low) const { return slice(dynamic_extent{bits, low}); }
	constexpr auto slice_lower(data::bits up) const
	{
		return slice(dynamic_extent{up, data::bits{}});
	}
	template <data::bits AT> constexpr auto split() const
	{
		return std::pair{slice_upper<AT>(), slice_lower<AT>()};
	}
	constexpr auto split(data::bits at) const
	{
		return std::pair{slice_upper(at), slice_lower(at)};
	}
};

using address = address_slice<static_extent<data::bits{64}, data::bits{}>>;
using page_number = address_slice<page_number_extent>;
using page_offset = address_slice<page_offset_extent>;
using block_number = address_slice<block_number_extent>;
using block_offset = address_slice<block_offset_extent>;

template <class E> constexpr int64_t offset(address_slice<E> from, address_slice<E> to)
{
	const bool up = from <= to;
	const uint64_t a = from.template to<uint64_t>(), b = to.template to<uint64_t>();
	const uint64_t d = up ? b - a : a - b;

	if (d > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
		throw std::overflow_error("the distance of two addresses is too large");
	return up ? static_cast<int64_t>(d) : -static_cast<int64_t>(d);
}

template <class E> constexpr uint64_t uoffset(address_slice<E> from, address_slice<E> to)
{
	if (from > to)
		throw std::overflow_error("the distance of two addresses is negative");
	return to.template to<uint64_t>() - from.template to<uint64_t>();
}

/* Put together what later slices say, and of earlier ones what these leave. */
template <class A> constexpr auto splice(address_slice<A> a) { return a; }
template <class A, class B, class... More>
constexpr auto splice(address_slice<A> a, address_slice<B> b, More... more)
{
	const auto e = extent_union(a.extent_of(), b.extent_of());
	const uint64_t va = detail::up(a.template to<uint64_t>(), a.lower_extent());
	const uint64_t vb = detail::up(b.template to<uint64_t>(), b.lower_extent());
	const uint64_t v = splice_bits(va, vb, b.upper_extent(), b.lower_extent());

	return splice(address_slice<std::decay_t<decltype(e)>>{e, detail::down(v, e.lower)},
		      more...);
}

template <class E> std::ostream &operator<<(std::ostream &to, const address_slice<E> &a)
{
	const auto flags = to.setf(std::ios_base::hex | std::ios_base::showbase,
				   std::ios_base::basefield | std::ios_base::showbase);

	to << a.template to<uint64_t>();
	to.flags(flags);
	return to;
}
} // namespace champsim

#endif
