/* SPDX-License-Identifier: MIT */
#include "collect/qemu/qemu_log.h"

#include <string.h>

#include "base/cur.h"

#define HEADER		12
#define BY_SIGNAL	14
#define LAST		39

enum event_tail { NO_EVENT, ALONE, FOUR, EIGHT, BYTES, DEVICE_BYTES, FOUR_BYTES };

static const struct { uint8_t kind, tail; } known[LAST + 1] = {
	[0] = { REPLAY_PLACES, FOUR }, [1] = { REPLAY_INTERRUPTS, ALONE },
	[2] = { REPLAY_EXCEPTIONS, ALONE },
	[3] = { REPLAY_DEVICES, EIGHT }, [4] = { REPLAY_DEVICES, EIGHT },
	[7] = { REPLAY_CHARACTERS, DEVICE_BYTES }, [8] = { REPLAY_DEVICES, EIGHT },
	[10 ... 21] = { REPLAY_ENDS, ALONE },
	[22] = { REPLAY_CHARACTERS, EIGHT }, [23] = { REPLAY_CHARACTERS, BYTES },
	[24] = { REPLAY_CHARACTERS, FOUR }, [27] = { REPLAY_RANDOM, FOUR_BYTES },
	[28 ... 29] = { REPLAY_CLOCKS, EIGHT }, [30 ... 38] = { REPLAY_MEETINGS, ALONE },
	[LAST] = { REPLAY_ENDS, ALONE },
};

const char *const replay_kind_names[REPLAY_KINDS] = {
	[REPLAY_PLACES] = "places", [REPLAY_INTERRUPTS] = "interrupts",
	[REPLAY_EXCEPTIONS] = "exceptions", [REPLAY_CLOCKS] = "clocks",
	[REPLAY_DEVICES] = "devices", [REPLAY_CHARACTERS] = "characters",
	[REPLAY_RANDOM] = "random", [REPLAY_MEETINGS] = "meetings", [REPLAY_ENDS] = "ends",
};

/* Behind an event's first byte. */
static void pass_tail(struct pm_cur *c, unsigned tail, struct replay_log_totals *t)
{
	switch (tail) {
	case EIGHT:
		pm_cur_be64(c, "an event");
		break;
	case FOUR:
		t->instructions += pm_cur_be32(c, "an event");
		break;
	case DEVICE_BYTES:
		pm_cur_u8(c, "an event");
		pm_cur_bytes(c, pm_cur_be32(c, "an event"), "an event");
		break;
	case FOUR_BYTES:
		pm_cur_be32(c, "an event");
		pm_cur_bytes(c, pm_cur_be32(c, "an event"), "an event");
		break;
	case BYTES:
		pm_cur_bytes(c, pm_cur_be32(c, "an event"), "an event");
		break;
	}
}

enum pm_status replay_log_check(const uint8_t *p, size_t n, struct replay_log_totals *t,
				void (*each)(void *ctx, enum replay_kind kind, const uint8_t *p,
					     size_t n),
				void *ctx, struct pm_err *err)
{
	struct pm_cur c = pm_cur_init(p, n, 0, err);

	memset(t, 0, sizeof *t);
	t->version = pm_cur_be32(&c, "the log's version");
	pm_cur_bytes(&c, HEADER - 4, "the log's header");
	if (pm_failed(err))
		return PM_ERR;
	if (t->version >> 8 != REPLAY_LOG_VERSION >> 8)
		return pm_fail(err, 0, "expected QEMU's log of a run, found something else (a run "
			       "that was killed has none)");
	t->known = t->version == REPLAY_LOG_VERSION;
	while (t->known && !pm_failed(err)) {
		const uint64_t at = pm_cur_at(&c), before = t->instructions;
		const uint8_t type = pm_cur_u8(&c, "the log's end");

		if (pm_failed(err))
			break;
		if (type > LAST || !known[type].tail)
			return pm_fail(err, at, "expected an event of QEMU's log, found 0x%02x",
				       type);
		pass_tail(&c, known[type].tail, t);
		if (known[type].kind != REPLAY_PLACES)
			t->instructions = before;
		if (pm_failed(err))
			break;
		t->of[known[type].kind].events++;
		t->of[known[type].kind].bytes += pm_cur_at(&c) - at;
		if (each)
			each(ctx, known[type].kind, p + at, (size_t)(pm_cur_at(&c) - at));
		if (type == LAST)
			return pm_cur_left(&c) ? pm_fail(err, pm_cur_at(&c), "expected the end of "
							 "QEMU's log, found more") : PM_OK;
	}
	return pm_failed(err) ? PM_ERR : PM_OK;
}

static void keep(void *ctx, enum replay_kind kind, const uint8_t *p, size_t n)
{
	if (kind != REPLAY_ENDS)
		pm_buf_add(ctx, p, n);
}

enum pm_status replay_log_mend(const uint8_t *p, size_t n, struct pm_buf *to, struct pm_err *err)
{
	static const uint8_t end[] = { BY_SIGNAL, LAST };
	struct replay_log_totals t;

	pm_buf_add(to, p, n < HEADER ? n : HEADER);
	if (replay_log_check(p, n, &t, keep, to, err) != PM_OK)
		return PM_ERR;
	if (t.known)
		pm_buf_add(to, end, sizeof end);
	else
		pm_buf_add(to, p + HEADER, n - HEADER);
	return PM_OK;
}
