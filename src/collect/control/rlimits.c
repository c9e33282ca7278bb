/* SPDX-License-Identifier: MIT */
/* rlimits.c - what tracing reserves of addresses, and sizes of memory files, is no business of the
 * program's limits
 *
 * The limits were set with the program alone in mind. We need more: so ours are raised, and the
 * program's are as they were, but that its addresses are limited to RT_OURS_SIZE more than it sees
 * (runtime/address_limit.c). */
#include <stdio.h>
#include <sys/resource.h>

#include "collect/control/session.h"

static const struct {
	int resource;
	const char *what, *shell;
	uint64_t need;
} limits[] = {
	{ RLIMIT_AS, "address space", "ulimit -v", RT_OURS_SIZE },
	{ RLIMIT_FSIZE, "the size of files", "ulimit -f",
	  RT_CODE_SIZE > RT_DATA_SIZE ? RT_CODE_SIZE : RT_DATA_SIZE },
};
_Static_assert(NR(limits) == NR(((struct session *)0)->limit), "one for each");

uint64_t pm_run_needs(int resource)
{
	for (size_t i = 0; i < NR(limits); i++)
		if (limits[i].resource == resource)
			return limits[i].need;
	return 0;
}

enum pm_status rlimits_raise(struct session *s, struct pm_err *err)
{
	for (size_t i = 0; i < NR(limits); i++)
		getrlimit(limits[i].resource, &s->limit[i]);
	for (size_t i = 0; i < NR(limits); i++) {
		const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
		const struct rlimit *was = &s->limit[i];
		struct rlimit most;

		most = (struct rlimit){ was->rlim_max, was->rlim_max };
		if (was->rlim_cur >= limits[i].need || !setrlimit(limits[i].resource, &none))
			continue;
		if (was->rlim_max < limits[i].need || setrlimit(limits[i].resource, &most))
			return pm_fail_file(err,
					    "tracing needs %llu GiB, most of which is only "
					    "reserved; the hard limit on %s "
					    "(%s -H) is %llu KiB",
					    (unsigned long long)(limits[i].need >> 30),
					    limits[i].what, limits[i].shell,
					    (unsigned long long)(was->rlim_max >> 10));
	}
	return PM_OK;
}

static rlim_t with_ours(rlim_t v)
{
	return v < RLIM_INFINITY - RT_OURS_SIZE ? v + RT_OURS_SIZE : RLIM_INFINITY;
}

void rlimits_of_program(const struct rlimit *was)
{
	for (size_t i = 0; i < NR(limits); i++) {
		struct rlimit now = was[i];

		if (limits[i].resource == RLIMIT_AS)
			now = (struct rlimit){ with_ours(now.rlim_cur), with_ours(now.rlim_max) };
		setrlimit(limits[i].resource, &now);
	}
}

void rlimits_restore(const struct session *s)
{
	for (size_t i = 0; i < NR(limits); i++)
		setrlimit(limits[i].resource, &s->limit[i]);
}
