/* SPDX-License-Identifier: MIT */
/* libzstd.c - a plug-in with a libzstd of its own: addresses of events packed and unpacked again */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <pugmark/pugmark.h>

struct state {
	uint64_t addresses, wrong;
};

static void *create(const char *config, struct pm_err *err)
{
	return calloc(1, sizeof(struct state));
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct state *s = self;
	const size_t bytes = b->n * sizeof(uint64_t), room = ZSTD_compressBound(bytes);
	uint64_t *addr = malloc(bytes), *back = malloc(bytes);
	void *packed = malloc(room);
	size_t n;

	for (size_t i = 0; i < b->n; i++)
		addr[i] = pm_event_at(b, i)->addr;
	n = ZSTD_compress(packed, room, addr, bytes, 3);
	if (ZSTD_isError(n) || ZSTD_decompress(back, bytes, packed, n) != bytes ||
	    memcmp(addr, back, bytes))
		s->wrong++;
	s->addresses += b->n;
	free(addr);
	free(back);
	free(packed);
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	const struct state *s = self;

	if (r) {
		pm_result_u64(r, "addresses", s->addresses, NULL);
		pm_result_u64(r, "wrong", s->wrong, "batches");
	}
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	.abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .name = "libzstd",
	.create = create, .consume = consume, .finish = finish, .destroy = free,
};
