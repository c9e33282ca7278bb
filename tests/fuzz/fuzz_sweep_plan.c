/* SPDX-License-Identifier: MIT */
/* fuzz_sweep_plan.c - any bytes as the plan of a sweep: refused with a message, or a plan that says
 * the same when it is written and read again */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "sweep/sweep_plan.h"

const unsigned fuzz_inputs = 20000;

static bool read_plan(struct sweep_plan *p, const void *text, size_t n)
{
	static int fd = -1;
	struct pm_err err = { 0 };
	char path[40];

	if (fd < 0)
		fd = memfd_create("plan", 0);
	if (ftruncate(fd, 0) || pwrite(fd, text, n, 0) != (ssize_t)n)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (sweep_plan_read(p, path, &err) == PM_OK)
		return true;
	if (!pm_failed(&err))
		__builtin_trap();
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pm_buf text = { 0 }, again = { 0 }, a = { 0 }, b = { 0 };
	struct sweep_plan p, q;

	if (read_plan(&p, data, size)) {
		sweep_plan_text(&p, &text);
		if (!read_plan(&q, text.p, text.n))
			__builtin_trap();
		sweep_plan_text(&q, &again);
		if (again.n != text.n || memcmp(again.p, text.p, text.n))
			__builtin_trap();
		if (p.njob != q.njob || p.nconfig != q.nconfig)
			__builtin_trap();
		for (uint64_t i = 0; i < 9; i++) {
			const uint64_t n = p.njob / 9 * i;
			const struct sweep_job j = sweep_plan_job(&p, n);

			if (sweep_plan_number(&p, &j) != n)
				__builtin_trap();
			sweep_plan_spec(&p, j.config, &a);
			sweep_plan_spec(&q, j.config, &b);
			if (a.n != b.n || memcmp(a.p, b.p, a.n))
				__builtin_trap();
		}
		sweep_plan_release(&q);
	}
	sweep_plan_release(&p);
	pm_buf_release(&text);
	pm_buf_release(&again);
	pm_buf_release(&a);
	pm_buf_release(&b);
	return 0;
}
