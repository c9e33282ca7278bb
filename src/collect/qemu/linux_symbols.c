/* SPDX-License-Identifier: MIT */
/* linux_symbols.c - kallsyms: all symbols of a kernel, in its read-only data
 *
 * Nothing says where the tables are, but one is known by its looks: the tokens. All tables begin at
 * multiples of 8:
 *
 *   offsets        4 each, n of them     address = base + offset. Where some are negative, the
 *   base           8                     others are addresses themselves, of a processor's own
 *   n              4                     data, and those are base - 1 - offset.
 *   names          a length (above 127: two bytes, 7 bits and 7 more), and so many tokens;
 *                  the first character is the symbol's type
 *   markers        4 each: where every 256th name begins
 *   (by name       3 each: numbers of symbols; in some versions)
 *   tokens         256 strings
 *   token index    2 each: where the strings begin
 *
 * From Linux 6.4 on offsets, base and by name come behind the token index. */
#include <stdlib.h>

#include "base/cur.h"
#include "base/mem.h"
#include "collect/qemu/linux_tables.h"

#define MIN_SYMBOLS	300u
#define MAX_SYMBOLS	2000000u
#define EACH		256u		/* names between markers */
#define LONGEST		512u		/* a symbol's name */
#define NAMES_AWAY	(EACH * LONGEST)

struct kallsyms {
	const uint8_t *p;
	size_t size;
	size_t token, token_index;	/* where they are */
	size_t first[256];		/* of each token */
	size_t names, end;		/* from where to where; `end` of markers and by name, too */
	uint32_t n;
	bool by_name;
};

static size_t up(size_t at)
{
	return (at + 7) & ~(size_t)7;
}

static uint32_t get32(const struct kallsyms *k, size_t at)
{
	uint32_t v = 0;

	if (at <= k->size && k->size - at >= sizeof v)
		memcpy(&v, k->p + at, sizeof v);
	return v;
}

/* Do 256 tokens begin at @at, and does their index follow? */
static bool are_tokens(struct kallsyms *k, size_t at)
{
	size_t to = at;
	uint16_t v;

	for (unsigned i = 0; i < 256; i++) {
		const uint8_t *e = to < k->size ? memchr(k->p + to, 0, k->size - to) : NULL;

		if (!e || (size_t)(e - k->p) - to > LONGEST)
			return false;
		k->first[i] = to;
		to = (size_t)(e - k->p) + 1;
	}
	to = up(to);
	if (to > k->size || k->size - to < 512)
		return false;
	for (unsigned i = 0; i < 256; i++) {
		memcpy(&v, k->p + to + 2 * i, 2);
		if (v != k->first[i] - at)
			return false;
	}
	k->token = at;
	k->token_index = to;
	return true;
}

static bool find_tokens(struct kallsyms *k)
{
	static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	const uint8_t *p = k->p, *end = k->p + k->size;

	while ((p = memmem(p, (size_t)(end - p), digits, sizeof digits))) {
		const uint8_t *begin = p++;

		/* '0' is token 48: so many strings are before it, and a byte before them */
		for (unsigned i = 0; i < 49 && begin; i++)
			begin = begin > k->p ? memrchr(k->p, 0, (size_t)(begin - k->p)) : NULL;
		if (begin && are_tokens(k, (size_t)(begin + 1 - k->p)))
			return true;
	}
	return false;
}

/* Are there markers for @n names that end at @end? Where they begin; 0: no. */
static size_t markers(const struct kallsyms *k, uint32_t n, size_t end)
{
	const size_t count = (n + EACH - 1) / EACH, size = up(count * 4);
	size_t at = end - size;

	if (size >= end || get32(k, at))
		return 0;
	for (size_t i = 1; i < count; i++) {
		uint32_t a = get32(k, at + 4 * i - 4), b = get32(k, at + 4 * i);

		if (b <= a || b - a < EACH || b - a > EACH * LONGEST)
			return 0;
	}
	return at;
}

/* Do @n names begin at @at, with markers at @marks? */
static bool are_names(const struct kallsyms *k, size_t at, uint32_t n, size_t marks)
{
	const size_t begin = at;

	for (uint32_t i = 0; i < n; i++) {
		size_t len;

		if (i % EACH == 0 && get32(k, marks + i / EACH * 4) != at - begin)
			return false;
		if (at + 2 > marks)
			return false;
		len = k->p[at++];
		if (len & 0x80)
			len = (len & 0x7f) | (size_t)k->p[at++] << 7;
		if (!len || len > LONGEST || len > marks - at)
			return false;
		at += len;
	}
	return marks - at < 8;
}

/* Names whose markers end at @end, @n of them. */
static bool find_names(struct kallsyms *k, uint32_t n, size_t end)
{
	size_t marks = markers(k, n, end), last, at;

	if (!marks)
		return false;
	last = get32(k, marks + (n - 1) / EACH * 4);
	if (last >= marks)
		return false;
	for (at = (marks - last) & ~(size_t)7; at >= 16 && marks - last - at < NAMES_AWAY; at -= 8)
		if (get32(k, at - 8) == n && are_names(k, at, n, marks)) {
			k->names = at;
			k->n = n;
			return true;
		}
	return false;
}

/* Everything before the tokens, whose number is not known yet. */
static bool find_all_names(struct kallsyms *k)
{
	for (uint32_t n = MIN_SYMBOLS; n < MAX_SYMBOLS && (size_t)n < k->token; n++) {
		const size_t by_name = up((size_t)n * 3);

		if (find_names(k, n, k->token) ||
		    (by_name < k->token && find_names(k, n, k->token - by_name)))
			return true;
	}
	return false;
}

/* Where offsets are, with their base behind them. 0: there are none. */
static size_t find_offsets(const struct kallsyms *k)
{
	const size_t size = up((size_t)k->n * 4);
	const size_t behind = k->token_index + 512;
	uint64_t base;

	for (unsigned i = 0; i < 2; i++) {
		size_t at = i ? behind : k->names - 16 - size;

		if ((!i && k->names < 16 + size) || at > k->size || k->size - at < size + 8)
			continue;
		memcpy(&base, k->p + at + size, 8);
		/* the kernel is in the last 2 GiB */
		if (base >= 0xffffffff80000000 && base % 4096 == 0)
			return at;
	}
	return 0;
}

static void read_addresses(const struct kallsyms *k, size_t at, uint64_t *to)
{
	bool own = false;		/* negative ones are the kernel's, others a processor's */
	uint64_t base;

	memcpy(&base, k->p + at + up((size_t)k->n * 4), 8);
	for (uint32_t i = 0; i < k->n; i++)
		own |= get32(k, at + 4 * (size_t)i) >> 31;
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t v = get32(k, at + 4 * (size_t)i);

		to[i] = !own ? base + v : v >> 31 ? base - 1 - (uint64_t)(int64_t)(int32_t)v : v;
	}
}

static void read_names(const struct kallsyms *k, struct linux_symbols *s)
{
	struct pm_buf text = { 0 };
	size_t at = k->names;

	for (uint32_t i = 0; i < k->n; i++) {
		size_t len = k->p[at++], begin = text.n;

		if (len & 0x80)
			len = (len & 0x7f) | (size_t)k->p[at++] << 7;
		for (; len; len--) {
			const char *token = (const char *)k->p + k->first[k->p[at++]];

			if (text.n - begin < LONGEST)
				pm_buf_add(&text, token, strlen(token));
		}
		pm_buf_add(&text, "", 1);
		/* without its type */
		s->name[i] = (uint32_t)(begin + (text.n - begin > 1));
	}
	s->text = (char *)text.p;
}

enum pm_status linux_symbols_read(struct linux_symbols *s, const uint8_t *p, size_t n,
				  struct pm_err *err)
{
	struct kallsyms *k = pm_alloc(sizeof *k);
	enum pm_status st = PM_OK;
	size_t offsets = 0;

	k->p = p;
	k->size = n;
	if (!find_tokens(k))
		st = pm_fail(err, 0, "the kernel has no symbols (kallsyms)");
	else if (!find_all_names(k) || !(offsets = find_offsets(k)))
		st = pm_fail(err, k->token, "the kernel's symbols (kallsyms) are laid out in a way "
			     "that is not known");
	if (st == PM_OK) {
		s->n = k->n;
		s->tokens = k->token;
		s->addr = pm_alloc(s->n * sizeof *s->addr);
		s->name = pm_alloc(s->n * sizeof *s->name);
		read_addresses(k, offsets, s->addr);
		read_names(k, s);
	}
	free(k);
	return st;
}

uint64_t linux_symbols_find(const struct linux_symbols *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->text + s->name[i], name))
			return s->addr[i];
	return 0;
}

void linux_symbols_release(struct linux_symbols *s)
{
	free(s->addr);
	free(s->name);
	free(s->text);
}
