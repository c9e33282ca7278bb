/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "analyse/sims.h"
#include "library/about.h"
#include "library/handle.h"
#include "trace/format.h"
#include "trace/pipeline.h"

const char *pm_version(void)
{
	return PM_VERSION;
}

enum pm_status pm_about_fill(void *to, const void *from, uint32_t size, struct pm_err *err)
{
	uint32_t room = 0;

	if (!to)
		return pm_fail_file(err, "the struct to fill in is NULL");
	memcpy(&room, to, sizeof room);
	/* none was ever smaller than two numbers */
	if (room < 2 * sizeof room || room > 1 << 16)
		return pm_fail_file(err, "the struct to fill in says that it has %u bytes: set its "
				    "size", room);
	if (room > size) {
		memset((char *)to + size, 0, room - size);
		memcpy((char *)to + sizeof room, (const char *)from + sizeof room,
		       size - sizeof room);
	} else {
		memcpy((char *)to + sizeof room, (const char *)from + sizeof room,
		       room - sizeof room);
	}
	return PM_OK;
}

void pm_facts_format(uint32_t facts, char *buf, size_t size)
{
	if (buf && size)
		pm_fact_names(facts, buf, size);
}

const char *pm_event_name(unsigned kind)
{
	return kind < PM_EV_COUNT ? pm_kind_name((enum pm_kind)kind) : NULL;
}

enum pm_status pm_format_get(size_t i, struct pm_format_about *about, struct pm_err *err)
{
	struct pm_format_about a = { 0 };
	struct pm_err own;
	const struct pm_format *f;

	err = pm_call_begin(err, &own);
	for (size_t k = 0; k < i; k++)
		if (!pm_formats[k])
			return PM_END;
	f = pm_formats[i];
	if (!f)
		return PM_END;
	a.flags = (f->read ? PM_FORMAT_READ : 0u) | (f->write ? PM_FORMAT_WRITE : 0u) |
		  (f->own_files ? PM_FORMAT_DIRECTORY : 0u) |
		  (f->sink_flags & PM_SINK_BLOCKS ? PM_FORMAT_BLOCKS : 0u);
	a.has = f->has;
	a.needs = f->needs;
	a.name = f->name;
	a.about = f->about;
	a.plural = f->plural;
	a.suffixes = f->suffixes;
	return pm_about_fill(about, &a, sizeof a, err);
}

enum pm_status pm_simulator_get(size_t i, struct pm_simulator_about *about, struct pm_err *err)
{
	struct pm_simulator_about a = { 0 };
	struct pm_err own;

	err = pm_call_begin(err, &own);
	for (size_t k = 0; k <= i; k++)
		if (!pm_sims[k])
			return PM_END;
	a.needs = pm_sims[i]->needs;
	a.name = pm_sims[i]->name;
	a.about = pm_sims[i]->about;
	return pm_about_fill(about, &a, sizeof a, err);
}

/* ---- results -------------------------------------------------------------------------------- */

struct about_results {
	struct pm_result *r;
	struct pm_buf json;		/* empty: nobody has asked */
};

static void release(struct about_results *a)
{
	pm_result_free(a->r);
	pm_buf_release(&a->json);
	free(a);
}

struct pm_results *pm_results_of(struct pm_result *r, struct pm_err *err)
{
	struct about_results *a = pm_alloc(sizeof *a);
	struct pm_results *handle;

	a->r = r;
	handle = pm_handle_new(PM_HANDLE_RESULTS, a, err);
	if (!handle)
		release(a);
	return handle;
}

const struct pm_result_node *pm_results_root(struct pm_results *r, struct pm_err *err)
{
	const struct pm_result_node *root;
	struct about_results *a;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	a = pm_handle_get(r, PM_HANDLE_RESULTS, err);
	if (!a)
		return NULL;
	root = pm_result_root(a->r);
	pm_handle_release(r);
	return root;
}

const char *pm_results_json(struct pm_results *r, struct pm_err *err)
{
	struct about_results *a;
	const char *text;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	a = pm_handle_get(r, PM_HANDLE_RESULTS, err);
	if (!a)
		return NULL;
	if (!a->json.n) {
		pm_result_json(a->r, &a->json);
		pm_buf_add(&a->json, "", 1);
	}
	text = (const char *)a->json.p;
	pm_handle_release(r);
	return text;
}

enum pm_status pm_results_close(struct pm_results *r, struct pm_err *err)
{
	struct about_results *a;
	struct pm_err own;

	err = pm_call_begin(err, &own);
	if (!r)
		return PM_OK;
	a = pm_handle_get(r, PM_HANDLE_RESULTS, err);
	if (!a)
		return PM_ERR;
	pm_handle_drop(r);
	release(a);
	return PM_OK;
}
