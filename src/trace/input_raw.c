/* SPDX-License-Identifier: MIT */
/* input_raw.c - the bytes of an input before they are unpacked */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "trace/input_state.h"

bool pm_raw_fill(struct pm_input *in)
{
	ssize_t n;

	if (in->fd < 0 || in->whole || in->raw_end || pm_failed(&in->err))
		return false;
	if (in->raw_at > RAW_KEPT) {
		const size_t used = in->raw_at - RAW_KEPT;

		memmove(in->raw_buf, in->raw_buf + used, in->raw_n - used);
		in->raw_base += used;
		in->raw_n -= used;
		in->raw_at = RAW_KEPT;
	}
	if (in->raw_n == RAW_BYTES)
		return true;
	do
		n = read(in->fd, in->raw_buf + in->raw_n, RAW_BYTES - in->raw_n);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		in->err.file = in->name;
		pm_fail_errno(&in->err, "cannot read");
		return false;
	}
	if (!n)
		in->raw_end = true;
	in->raw_n += (size_t)n;
	return n > 0;
}

bool pm_raw_need(struct pm_input *in, size_t n)
{
	while (in->raw_n - in->raw_at < n)
		if (!pm_raw_fill(in))
			return false;
	return true;
}

uint64_t pm_raw_offset(const struct pm_input *in)
{
	return in->raw_base + in->raw_at;
}

size_t pm_raw_broken(struct pm_input *in, const char *what, const char *why)
{
	in->err.file = in->name;
	pm_fail(&in->err, pm_raw_offset(in), "%s data %s", what, why);
	return 0;
}
