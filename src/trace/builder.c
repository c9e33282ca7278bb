/* SPDX-License-Identifier: MIT */
/* builder.c - batches put together event by event, for sources */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "trace/pipeline.h"

void pm_builder_reset(struct pm_builder *b, const struct pm_stream *stream,
		      const struct pm_code *code)
{
	b->b = (struct pm_batch){ .stream = stream, .code = code };
}

struct pm_event *pm_builder_event(struct pm_builder *b, enum pm_kind kind)
{
	struct pm_event *ev;

	pm_grow(b->ev, b->b.n, b->cap_ev);
	ev = b->ev + b->b.n++;
	*ev = (struct pm_event){ .kind = (uint8_t)kind, .id = PM_NONE };
	return ev;
}

struct pm_uop *pm_builder_uop(struct pm_builder *b)
{
	struct pm_uop *u;

	pm_grow(b->uop, b->b.nuop, b->cap_uop);
	pm_builder_event(b, PM_EV_UOP)->id = (uint32_t)b->b.nuop;
	u = b->uop + b->b.nuop++;
	*u = (struct pm_uop){ .src1 = -1, .src2 = -1, .dest = -1 };
	return u;
}

struct pm_bus *pm_builder_bus(struct pm_builder *b)
{
	struct pm_bus *u;

	pm_grow(b->bus, b->b.nbus, b->cap_bus);
	pm_builder_event(b, PM_EV_BUS)->id = (uint32_t)b->b.nbus;
	u = b->bus + b->b.nbus++;
	*u = (struct pm_bus){ .time = UINT64_MAX };
	return u;
}

/* A name is kept as its arena offset + 1 until pm_builder_batch(): the arena may still move. */
struct pm_rare *pm_builder_rare(struct pm_builder *b, enum pm_kind kind, const char *name)
{
	uint64_t at = name ? pm_builder_bytes(b, name, strlen(name) + 1) + 1 : 0;
	struct pm_rare *r;

	pm_grow(b->rare, b->b.nrare, b->cap_rare);
	pm_builder_event(b, kind)->id = (uint32_t)b->b.nrare;
	r = b->rare + b->b.nrare++;
	*r = (struct pm_rare){ .name = (const char *)(uintptr_t)at };
	return r;
}

uint64_t pm_builder_bytes(struct pm_builder *b, const void *p, size_t n)
{
	uint64_t at = b->b.narena;

	if (b->cap_arena - b->b.narena < n) {
		size_t cap = b->cap_arena ? b->cap_arena * 2 : 4096;

		while (cap - b->b.narena < n)
			cap *= 2;
		b->arena = pm_realloc(b->arena, cap);
		b->cap_arena = cap;
	}
	if (n)
		memcpy(b->arena + at, p, n);
	b->b.narena += n;
	return at;
}

const struct pm_batch *pm_builder_batch(struct pm_builder *b)
{
	for (size_t i = 0; i < b->b.nrare; i++) {
		uintptr_t at = (uintptr_t)b->rare[i].name;

		b->rare[i].name = at ? (const char *)b->arena + at - 1 : NULL;
	}
	b->b.ev = b->ev;
	b->b.uop = b->uop;
	b->b.bus = b->bus;
	b->b.rare = b->rare;
	b->b.arena = b->arena;
	return &b->b;
}

const struct pm_batch *pm_builder_batch_on(struct pm_builder *b, const uint8_t *p, size_t n)
{
	assert(!b->b.narena);
	pm_builder_batch(b);
	b->b.arena = p;
	b->b.narena = n;
	return &b->b;
}

void pm_builder_release(struct pm_builder *b)
{
	free(b->ev);
	free(b->uop);
	free(b->bus);
	free(b->rare);
	free(b->arena);
	*b = (struct pm_builder){ 0 };
}
