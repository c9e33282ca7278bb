/* SPDX-License-Identifier: MIT */
#include "trace/bus.h"

#include "base/mem.h"

#define MOST 3				/* events of a transaction: time, it, and its access */

static const struct special {
	uint8_t lanes, request;		/* 0: this bus has none; AMD K5, and Pentium Pro on */
	uint8_t addr;
	const char *name, *request_name;
} special[] = {
	{ 0xfe, 0x31, 0, "shutdown", "shutdown" },
	{ 0xfd, 0x32, 0, "invalidate", "flush" },
	{ 0xfb, 0x33, 0, "halt", "halt" },
	{ 0xfb, 0x36, 0x10, "stop-grant", "stop-clock-ack" },
	{ 0xf7, 0x34, 0, "write-back-invalidate", "sync" },
	{ 0xef, 0x35, 0, "flush-ack", "flush-ack" },
	{ 0xdf, 0x23, 0, "branch-trace", "branch-trace" },
	{ 0, 0x20, 0, NULL, "deferred-reply" },
	{ 0, 0x22, 0, NULL, "agent-response" },
	{ 0, 0x37, 0, NULL, "smi-ack" },
};

static const struct special *by_lanes(uint8_t lanes, uint64_t addr)
{
	for (size_t i = 0; i < NR(special); i++)
		if (special[i].lanes == lanes && lanes &&
		    (special[i].addr == addr || lanes != 0xfb))
			return &special[i];
	return NULL;
}

static const struct special *by_request(uint8_t request)
{
	for (size_t i = 0; i < NR(special); i++)
		if (special[i].request == request)
			return &special[i];
	return NULL;
}

const char *pm_bus_cycle(const struct pm_bus *u, uint64_t addr)
{
	const struct special *s;

	if (u->type != PM_BUS_SPECIAL)
		return NULL;
	s = u->lanes ? by_lanes(u->lanes, addr) : by_request(u->raw[0]);
	return !s ? NULL : u->lanes ? s->name : s->request_name;
}

uint8_t pm_bus_request(const struct pm_bus *u, uint64_t addr)
{
	const struct special *s = by_lanes(u->lanes, addr);

	return u->lanes ? s ? s->request : 0 : u->raw[0];
}

uint8_t pm_bus_enables(uint8_t request, uint64_t *addr)
{
	const struct special *s = by_request(request);

	if (!s)
		return 0;
	*addr = s->addr;
	return s->lanes;
}

void pm_bus_room(struct pm_builder *b, size_t n)
{
	pm_ev_room(b, MOST * n);
	if (b->cap_bus - b->b.nbus < n) {
		b->cap_bus = b->b.nbus + n;
		b->bus = pm_realloc(b->bus, b->cap_bus * sizeof *b->bus);
	}
}
