/* SPDX-License-Identifier: MIT */
/* fuzz_cat_x86.c - any bytes as an x86 guest's .cat or .cit, and as QEMU's log of a run
 *
 * The first byte says what the rest is: a file; memory of one (3); a log; parts of a file, each
 * packed here, so that what is inside is looked at, too: a byte for the tag, one for the length in
 * eights, bytes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/qemu/guest_cat.h"
#include "collect/qemu/guest_memory.h"
#include "collect/qemu/qemu_log.h"
#include "fuzz.h"

static uint64_t sum;			/* what is found must be readable: add it up */

static void on_event(void *ctx, enum replay_kind kind, const uint8_t *p, size_t n)
{
	(void)ctx;
	sum += kind;
	while (n--)
		sum += *p++;
}

/* What is right can be read, and is the same if all of it is kept. */
static void memory(const struct pm_buf *from)
{
	static uint8_t all[1u << 20];
	struct pm_buf to = { 0 };
	struct pm_err err = { 0 };

	if (guest_memory_check(from, (uint64_t)sizeof all * 8 * GUEST_PAGE, &err) != PM_OK)
		return;
	memset(all, 0xff, sizeof all);
	if (guest_memory_keep(from, all, sizeof all, &to, &err) != PM_OK ||
	    guest_memory_check(&to, UINT64_MAX, &err) != PM_OK || to.n > from->n)
		abort();
	pm_buf_release(&to);
}

static void file(const uint8_t *p, size_t n)
{
	struct pm_input *in = pm_input_memory(p, n, "memory");
	struct guest_cat_bus bus = { 0 };
	struct qemu_state state = { 0 };
	struct qemu_config cfg = { .state = &state };
	struct pm_err err = { 0 };
	struct catx_reader *r;
	struct pm_event e;
	struct pm_bus u;
	struct catx x;

	if (catx_load_input(in, &x, &err) == PM_OK) {
		if (guest_cat_replay(&x, &cfg, &bus, &err) == PM_OK)
			sum += cfg.limit + strlen(cfg.kernel) + strlen(bus.caches);
		guest_machine_release(&cfg);
		memory(&x.memory);
		catx_release(&x);
	} else if (!pm_failed(&err)) {
		abort();
	}
	pm_input_close(in);
	in = pm_input_memory(p, n, "memory");
	memset(&err, 0, sizeof err);
	r = catx_open_input(in, &err);
	while (r && catx_next(r, &e, &u, &err) == PM_OK)
		sum += e.addr + e.size + u.time + u.data;
	catx_reader_close(r);
	pm_input_close(in);
}

static void log_of(const uint8_t *p, size_t n)
{
	struct replay_log_totals t;
	struct pm_err err = { 0 };
	struct pm_buf mended = { 0 };

	if (replay_log_check(p, n, &t, on_event, NULL, &err) == PM_OK) {
		if (replay_log_mend(p, n, &mended, &err) != PM_OK ||
		    replay_log_check(mended.p, mended.n, &t, NULL, NULL, &err) != PM_OK)
			abort();
	} else if (!pm_failed(&err)) {
		abort();
	}
	pm_buf_release(&mended);
}

/* The file that these parts make. */
static void parts(const uint8_t *p, size_t n)
{
	static char path[] = "/dev/shm/pugmark-fuzz-XXXXXX";
	static int fd;
	struct catx_end end = { .instructions = n };
	struct pm_err err = { 0 };
	struct catx_writer *w;
	uint8_t all[65536];
	ssize_t got = 0;

	if (!fd)
		fd = mkstemp(path);
	w = catx_create(path, n % 3, &err);
	if (!w)
		return;
	while (n > 2) {
		const size_t len = p[1] * 8u < n - 2 ? p[1] * 8u : n - 2;

		if (catx_put(w, p[0] % CATX_END, p + 2, len, &err) != PM_OK)
			abort();
		p += 2 + len;
		n -= 2 + len;
	}
	if (catx_finish(w, &end, &err) == PM_OK) {
		FILE *f = fopen(path, "r");

		got = f ? (ssize_t)fread(all, 1, sizeof all, f) : 0;
		if (f)
			fclose(f);
	}
	catx_close(w);
	unlink(path);
	if (got > 0)
		file(all, (size_t)got);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] == 3)
		memory(&(struct pm_buf){ .p = (uint8_t *)(uintptr_t)data + 1, .n = size - 1 });
	else if (data[0] % 3 == 0)
		file(data + 1, size - 1);
	else if (data[0] % 3 == 1)
		log_of(data + 1, size - 1);
	else
		parts(data + 1, size - 1);
	return 0;
}
