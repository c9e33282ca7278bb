/* SPDX-License-Identifier: MIT */
#include "collect/process/pack.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_BITS	13
#define TAIL		12		/* no match begins in the last so many bytes: the LZ4 block format's rule */
#define LITERALS	5		/* ... and the last so many are literals */

static uint32_t word_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint8_t *put_length(uint8_t *to, uint32_t n)
{
	for (; n >= 255; n -= 255)
		*to++ = 255;
	*to++ = (uint8_t)n;
	return to;
}

/* @match: 0 for the last sequence. */
static uint8_t *put_sequence(uint8_t *to, const uint8_t *literal, uint32_t n, uint32_t off, uint32_t match)
{
	uint32_t more = match ? match - 4 : 0;

	*to++ = (uint8_t)((n < 15 ? n : 15) << 4 | (more < 15 ? more : 15));
	if (n >= 15)
		to = put_length(to, n - 15);
	memcpy(to, literal, n);
	to += n;
	if (!match)
		return to;
	*to++ = (uint8_t)off;
	*to++ = (uint8_t)(off >> 8);
	return more >= 15 ? put_length(to, more - 15) : to;
}

/* HOT. Greedy, one candidate; steps grow where nothing matches. Returns the length, 0: not less than
 * IMG_PIECE. */
static uint32_t lz4_block(const uint8_t *p, uint8_t *out)
{
	uint16_t seen[1 << HASH_BITS] = { 0 };
	const uint32_t end = IMG_PIECE - TAIL;
	uint8_t *to = out;
	uint32_t from = 0;

	for (uint32_t i = 1, misses = 0; i < end; ) {
		const uint32_t w = word_at(p + i), h = w * 2654435761u >> (32 - HASH_BITS), at = seen[h];
		uint32_t n = 4, back = 0;

		seen[h] = (uint16_t)i;
		if (word_at(p + at) != w || at >= i) {
			i += 1 + (misses++ >> 6);
			continue;
		}
		while (i + n < IMG_PIECE - LITERALS && p[at + n] == p[i + n])
			n++;
		while (i - back > from && at > back && p[at - back - 1] == p[i - back - 1])
			back++;
		if ((uint32_t)(to - out) + (i - from) + 32 > IMG_PIECE)
			return 0;
		to = put_sequence(to, p + from, i - back - from, i - at, n + back);
		i += n;
		from = i;
		misses = 0;
		if (i < end)
			seen[word_at(p + i - 2) * 2654435761u >> (32 - HASH_BITS)] = (uint16_t)(i - 2);
	}
	if ((uint32_t)(to - out) + (IMG_PIECE - from) + 200 > IMG_PIECE)
		return 0;
	to = put_sequence(to, p + from, IMG_PIECE - from, 0, 0);
	return (uint32_t)(to - out);
}

uint32_t pack_piece(uint8_t *from, unsigned stride, uint8_t *to)
{
	uint32_t n;

	for (uint32_t i = IMG_PIECE / 4; stride && i-- > stride; ) {
		uint32_t v = word_at(from + 4 * i) - word_at(from + 4 * (i - stride));

		memcpy(from + 4 * i, &v, 4);
	}
	*to = (uint8_t)stride;
	n = lz4_block(from, to + 1);
	if (n)
		return n + 1;
	memcpy(to + 1, from, IMG_PIECE);
	return IMG_PIECE + 1;
}

/* ---- on all processors ------------------------------------------------------------------------------ */
#define RUN	32			/* pieces that a thread takes at a time */

struct job {
	const struct pack_part *part;
	size_t npart;
	uint32_t npiece, next;		/* next: of runs */
	struct pm_buf *run;		/* packed */
	uint32_t *size;			/* of pieces */
};

static size_t pieces_of(const struct pack_part *p)
{
	return (p->n + IMG_PIECE - 1) / IMG_PIECE;
}

static void *work(void *arg)
{
	struct job *j = arg;
	uint8_t from[IMG_PIECE], to[IMG_PIECE + 1];
	uint32_t r;

	while ((r = __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED)) * RUN < j->npiece)
		for (uint32_t k = r * RUN; k < j->npiece && k < (r + 1) * RUN; k++) {
			const struct pack_part *p = j->part;
			size_t at = k, n;

			while (at >= pieces_of(p))
				at -= pieces_of(p++);
			at *= IMG_PIECE;
			n = p->n - at < IMG_PIECE ? p->n - at : IMG_PIECE;
			memcpy(from, (const uint8_t *)p->p + at, n);
			memset(from + n, 0, IMG_PIECE - n);
			j->size[k] = pack_piece(from, p->stride, to);
			pm_buf_add(&j->run[r], to, j->size[k]);
		}
	return NULL;
}

void pack_image(const struct pack_part *part, size_t n, struct pm_buf *to)
{
	struct job j = { .part = part, .npart = n };
	struct img_pack head = { 0 };
	pthread_t other;
	bool two;
	uint32_t at;

	for (size_t i = 0; i < n; i++)
		*(i ? &head.ntables : &head.ncode) += (uint32_t)pieces_of(&part[i]);
	j.npiece = head.ncode + head.ntables;
	j.run = pm_alloc((j.npiece / RUN + 1) * sizeof *j.run);
	j.size = pm_alloc((j.npiece + 1) * sizeof *j.size);
	two = j.npiece > RUN && !pthread_create(&other, NULL, work, &j);
	work(&j);
	if (two)
		pthread_join(other, NULL);
	pm_buf_add(to, &head, sizeof head);
	at = (uint32_t)(sizeof head + 4ull * (j.npiece + 1));
	for (uint32_t k = 0; k <= j.npiece; k++) {
		pm_buf_add(to, &at, 4);
		at += j.size[k];
	}
	for (uint32_t r = 0; r * RUN < j.npiece; r++) {
		pm_buf_add(to, j.run[r].p, j.run[r].n);
		pm_buf_release(&j.run[r]);
	}
	free(j.run);
	free(j.size);
}
