/* SPDX-License-Identifier: MIT */
#include "collect/instrument/pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_BITS	13
#define TAIL		12		/* no match begins in the last so many bytes: the LZ4 block
					 * format's rule */
#define LITERALS	5		/* ... and the last so many are literals */
#define LONG		64		/* a match as good as any */

static uint32_t word_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint8_t *write_length(uint8_t *to, uint32_t n)
{
	for (; n >= 255; n -= 255)
		*to++ = 255;
	*to++ = (uint8_t)n;
	return to;
}

/* @match: 0 for the last sequence. */
static uint8_t *write_sequence(uint8_t *to, const uint8_t *literal, uint32_t n, uint32_t off,
			     uint32_t match)
{
	uint32_t more = match ? match - 4 : 0;

	*to++ = (uint8_t)((n < 15 ? n : 15) << 4 | (more < 15 ? more : 15));
	if (n >= 15)
		to = write_length(to, n - 15);
	memcpy(to, literal, n);
	to += n;
	if (!match)
		return to;
	*to++ = (uint8_t)off;
	*to++ = (uint8_t)(off >> 8);
	return more >= 15 ? write_length(to, more - 15) : to;
}

/* HOT. Greedy, one candidate; steps grow where nothing matches. */
static uint32_t fast_match(const uint8_t *p, uint32_t i, uint16_t *seen, uint32_t *at)
{
	const uint32_t w = word_at(p + i), h = w * 2654435761u >> (32 - HASH_BITS);
	uint32_t n = 4;

	*at = seen[h];
	seen[h] = (uint16_t)i;
	if (word_at(p + *at) != w || *at >= i)
		return 0;
	while (i + n < IMG_PIECE - LITERALS && p[*at + n] == p[i + n])
		n++;
	return n;
}

/* Returns the length, 0: not less than IMG_PIECE. */
static uint32_t lz4_block(const uint8_t *p, uint8_t *out)
{
	uint16_t seen[1 << HASH_BITS] = { 0 };
	const uint32_t end = IMG_PIECE - TAIL;
	uint8_t *to = out;
	uint32_t from = 0;

	for (uint32_t i = 1, misses = 0; i < end; ) {
		uint32_t at, n = fast_match(p, i, seen, &at), back = 0;

		if (!n) {
			i += 1 + (misses++ >> 6);
			continue;
		}
		while (i - back > from && at > back && p[at - back - 1] == p[i - back - 1])
			back++;
		if ((uint32_t)(to - out) + (i - from) + 32 > IMG_PIECE)
			return 0;
		to = write_sequence(to, p + from, i - back - from, i - at, n + back);
		i += n;
		from = i;
		misses = 0;
		if (i < end)
			seen[word_at(p + i - 2) * 2654435761u >> (32 - HASH_BITS)] =
				(uint16_t)(i - 2);
	}
	if ((uint32_t)(to - out) + (IMG_PIECE - from) + 200 > IMG_PIECE)
		return 0;
	to = write_sequence(to, p + from, IMG_PIECE - from, 0, 0);
	return (uint32_t)(to - out);
}

struct hard {
	uint16_t head[1 << HASH_BITS], before[IMG_PIECE], len[IMG_PIECE], at[IMG_PIECE];
	struct { uint32_t cost; uint16_t literals, match; } best[IMG_PIECE + 1];
};

/* The same, looking at every place that begins alike: the longest match of each place, and then,
 * from the end on, how the rest costs least. @s is zero. */
static uint32_t lz4_block_hard(struct hard *s, const uint8_t *p, uint8_t *out)
{
	const uint32_t end = IMG_PIECE - TAIL;
	uint32_t from = 0;
	uint8_t *to = out;

	for (uint32_t i = 1; i < end; i++) {
		const uint32_t h = word_at(p + i) * 2654435761u >> (32 - HASH_BITS);
		uint32_t at = s->head[h];

		if (s->len[i - 1] > LONG) {
			s->len[i] = (uint16_t)(s->len[i - 1] - 1);
			s->at[i] = (uint16_t)(s->at[i - 1] + 1);
		}
		for (unsigned tries = 32; at && tries && s->len[i] < LONG; at = s->before[at],
		     tries--) {
			uint32_t n = 0;

			if (p[at + s->len[i]] != p[i + s->len[i]])
				continue;		/* it would not be longer */
			while (i + n < IMG_PIECE - LITERALS && p[at + n] == p[i + n])
				n++;
			if (n >= 4 && n > s->len[i]) {
				s->len[i] = (uint16_t)n;
				s->at[i] = (uint16_t)at;
			}
		}
		s->before[i] = s->head[h];
		s->head[h] = (uint16_t)i;
	}
	for (uint32_t i = IMG_PIECE; i-- > 0; ) {
		/* a literal: a byte, and one more where its length needs one */
		s->best[i].literals =
			(uint16_t)(s->best[i + 1].match ? 1 : s->best[i + 1].literals + 1);
		s->best[i].cost = s->best[i + 1].cost + 1 +
			(s->best[i].literals >= 15 && (s->best[i].literals - 15) % 255 == 0);
		s->best[i].match = 0;
		for (uint32_t n = s->len[i]; n >= 4; n = n > 18 ? 18 : n - 1) {
			const uint32_t cost = 3 + (n >= 19 ? 1 + (n - 19) / 255 : 0) +
				s->best[i + n].cost;

			if (cost <= s->best[i].cost) {
				s->best[i].cost = cost;
				s->best[i].match = (uint16_t)n;
				s->best[i].literals = 0;
			}
		}
	}
	for (uint32_t i = 0; i < IMG_PIECE; ) {
		const uint32_t n = s->best[i].match;

		if (!n) {
			i++;
			continue;
		}
		if ((uint32_t)(to - out) + (i - from) + 200 > IMG_PIECE)
			return 0;
		to = write_sequence(to, p + from, i - from, i - s->at[i], n);
		i += n;
		from = i;
	}
	if ((uint32_t)(to - out) + (IMG_PIECE - from) + 200 > IMG_PIECE)
		return 0;
	return (uint32_t)(write_sequence(to, p + from, IMG_PIECE - from, 0, 0) - out);
}

static void to_columns(const uint8_t *from, unsigned how, uint8_t *to)
{
	const unsigned columns = how & 15, rows = IMG_PIECE / 4 / columns;

	for (unsigned c = 0; c < columns; c++, to += 4 * rows) {
		const uint32_t keep = how >> (4 + c) & 1 ? ~0u : 0;
		uint32_t last = 0;

		for (unsigned i = 0; i < rows; i++) {
			const uint32_t v = word_at(from + 4 * (columns * i + c)),
				       d = v - (last & keep);

			for (unsigned k = 0; k < 4; k++)
				to[rows * k + i] = (uint8_t)(d >> (8 * k));
			last = v;
		}
	}
}

uint32_t pack_piece(const uint8_t *from, unsigned how, bool hard, uint8_t *to)
{
	uint8_t bytes[IMG_PIECE];
	uint32_t n;

	if (how) {
		to_columns(from, how, bytes);
		from = bytes;
	}
	*to = (uint8_t)how;
	if (hard) {
		struct hard *s = pm_alloc(sizeof *s);

		n = lz4_block_hard(s, from, to + 1);
		free(s);
	} else {
		n = lz4_block(from, to + 1);
	}
	if (n)
		return n + 1;
	memcpy(to + 1, from, IMG_PIECE);
	return IMG_PIECE + 1;
}

/* ---- on all processors ----------------------------------------------------------------------- */

struct packing {
	const struct pack_part *part;
	size_t npart;
	bool hard;
	uint32_t npiece, each;		/* each: pieces that a thread takes at a time, a run */
	uint32_t next;			/* run */
	struct pm_buf *run;		/* packed */
	uint32_t *size;			/* of pieces */
};

static size_t pieces_of(const struct pack_part *p)
{
	return (p->n + IMG_PIECE - 1) / IMG_PIECE;
}

static void *work(void *arg)
{
	struct packing *j = arg;
	uint8_t from[IMG_PIECE], to[IMG_PIECE + 1];
	uint32_t r;

	while ((r = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) * j->each < j->npiece)
		for (uint32_t k = r * j->each; k < j->npiece && k < (r + 1) * j->each; k++) {
			const struct pack_part *p = j->part;
			size_t at = k, n;

			while (at >= pieces_of(p))
				at -= pieces_of(p++);
			at *= IMG_PIECE;
			n = p->n - at < IMG_PIECE ? p->n - at : IMG_PIECE;
			memcpy(from, (const uint8_t *)p->p + at, n);
			memset(from + n, 0, IMG_PIECE - n);
			j->size[k] = pack_piece(from, p->how, j->hard, to);
			pm_buf_add(&j->run[r], to, j->size[k]);
		}
	return NULL;
}

void pack_image(const struct pack_part *part, size_t n, bool hard, struct pm_buf *to)
{
	struct packing j = { .part = part, .npart = n, .hard = hard, .each = hard ? 1 : 32 };
	pthread_t other;
	bool two;
	uint32_t at;

	for (size_t i = 0; i < n; i++)
		j.npiece += (uint32_t)pieces_of(&part[i]);
	j.run = pm_alloc((j.npiece / j.each + 1) * sizeof *j.run);
	j.size = pm_alloc((j.npiece + 1) * sizeof *j.size);
	two = j.npiece > j.each && !pthread_create(&other, NULL, work, &j);
	work(&j);
	if (two)
		pthread_join(other, NULL);
	pm_buf_add(to, &j.npiece, 4);
	at = (uint32_t)(sizeof(struct img_pack) + 4ull * (j.npiece + 1));
	for (uint32_t k = 0; k <= j.npiece; k++) {
		pm_buf_add(to, &at, 4);
		at += j.size[k];
	}
	for (uint32_t r = 0; r * j.each < j.npiece; r++) {
		pm_buf_add(to, j.run[r].p, j.run[r].n);
		pm_buf_release(&j.run[r]);
	}
	free(j.run);
	free(j.size);
}
