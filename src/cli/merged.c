/* SPDX-License-Identifier: MIT */
#include "cli/merged.h"

#include <inttypes.h>
#include <string.h>

#include "cli/manners.h"
#include "trace/text.h"

bool merged_kernel(const char *kernel, uint64_t *addr)
{
	*addr = PM_LAPLACE_KERNEL;
	return !kernel || pm_hex(kernel, strlen(kernel), addr);
}

static int refuse(struct pm_source *src, const char *path, const struct pm_format *which,
		  const char *what)
{
	struct pm_err err = { .file = path };

	pm_fail_file(&err, "%s hold %s", which->plural, what);
	src->ops->close(src->self);
	return traces_fail(&err);
}

int merged_open(const char *refs, const char *events, const char *from, uint64_t kernel,
		struct pm_source *src)
{
	const struct pm_format *which;
	struct pm_source r, e;
	int status = traces_open(refs, from, &r, &which);

	if (status)
		return status;
	if (!(r.facts & PM_HAS_REFS))
		return refuse(&r, refs, which, "no data addresses; REFERENCES come first");
	if (!events) {
		if (!(r.facts & PM_HAS_KERNEL) || r.facts & PM_HAS_THREADS)
			return refuse(&r, refs, which, "no kernel events; they need a file EVENTS");
		*src = pm_laplace_merge(&r, NULL, kernel);
		return 0;
	}
	if (!(r.facts & PM_HAS_TIME))
		return refuse(&r, refs, which, "no times, by which EVENTS are put between them");
	status = traces_open(events, NULL, &e, &which);
	if (!status && (!(e.facts & PM_HAS_KERNEL) || e.facts & PM_HAS_THREADS))
		status = refuse(&e, events, which, "no kernel events; EVENTS come second");
	if (status) {
		r.ops->close(r.self);
		return status;
	}
	*src = pm_laplace_merge(&r, &e, kernel);
	return 0;
}

void merged_note(const struct pm_source *src)
{
	const struct pm_laplace_counts *c = pm_laplace_counts(src);

	if (c->unmapped)
		manners_note("%" PRIu64 " of %" PRIu64 " references of user "
			"addresses lie where no event had mapped anything, the first at time %"
			PRIx64 ", in address space %" PRIx64 ": %" PRIx64, c->unmapped,
			c->user, c->time, c->space, c->addr);
}
