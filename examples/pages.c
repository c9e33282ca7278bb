/* SPDX-License-Identifier: MIT */
/* pages.c - a sink that needs something and takes a configuration: data pages in the order in which
 * they were first written, at most N of them (`pages.so:N`)
 *
 *	cc -shared -fPIC -O2 -o pages.so pages.c
 *	pugmark sim --sim ./pages.so:8 TRACE */
#include <stdlib.h>
#include <pugmark/pugmark.h>

struct pages {
	unsigned most, n;
	uint64_t page[64];
};

static void *create(const char *config, struct pm_err *err)
{
	struct pages *s = calloc(1, sizeof *s);

	s->most = *config ? (unsigned)atoi(config) : 16;
	if (s->most && s->most <= 64)
		return s;
	pm_fail_file(err, "pages expects a number from 1 to 64, not '%s'", config);
	free(s);
	return NULL;
}

static enum pm_status consume(void *self, const struct pm_batch *b, struct pm_err *err)
{
	struct pages *s = self;

	for (size_t i = 0; i < b->n && s->n < s->most; i++) {
		const struct pm_event *ev = pm_event_at(b, i);
		unsigned k = 0;

		if (ev->kind != PM_EV_WRITE && ev->kind != PM_EV_MODIFY)
			continue;
		while (k < s->n && s->page[k] != ev->addr >> 12)
			k++;
		if (k == s->n)
			s->page[s->n++] = ev->addr >> 12;
	}
	return PM_OK;
}

static enum pm_status finish(void *self, struct pm_result *r, struct pm_err *err)
{
	const struct pages *s = self;

	if (r) {
		pm_result_begin_list(r, "pages");
		for (unsigned i = 0; i < s->n; i++)
			pm_result_hex(r, NULL, s->page[i] << 12);
		pm_result_end(r);
	}
	return PM_OK;
}

const struct pm_sink_ops pm_plugin = {
	.abi = PM_ABI, .size = sizeof(struct pm_sink_ops), .needs = PM_HAS_REFS,
	.name = "pages", .about = "pages in the order of their first write",
	.create = create, .consume = consume, .finish = finish, .destroy = free,
};
