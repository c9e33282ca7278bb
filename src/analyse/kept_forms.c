/* SPDX-License-Identifier: MIT */
#include "analyse/kept_forms.h"
#include "base/mem.h"

static const struct pm_kept_kind kind = { "pugmkFO\n", 2 };

/* Bytes that are kept. What comes to more - real programs of a system execute half as much - is not
 * written, and what there was goes: who runs next begins anew, with what is used now. */
#define KEEP (1280u << 10)
/* Prefixes that had to be decoded because they are not in the file, over all runs: so many are
 * worth writing it again, with all of them. Decoding fewer is not noticed, writing is. */
#define WORTH 32u

static const char *name_of(const struct pm_kept_forms *k)
{
	return k->i386 ? "pugmark-forms-32" : "pugmark-forms-64";
}

void pm_kept_forms_open(struct pm_kept_forms *k, bool i386)
{
	*k = (struct pm_kept_forms){ .f = pm_forms_new(i386), .i386 = i386 };
	if (pm_kept_load(&k->from, name_of(k), &kind, pm_forms_room()) &&
	    !pm_forms_use(k->f, k->from.p, k->from.n, k->from.room))
		pm_kept_release(&k->from);
}

void pm_kept_forms_save(struct pm_kept_forms *k)
{
	const size_t n = pm_forms_learned(k->f);
	struct pm_buf b = { 0 };

	if (!n)
		return;
	if (k->from.map && n < WORTH && k->from.spent < WORTH - n) {
		pm_kept_spend(&k->from, (uint32_t)n);
		return;
	}
	pm_forms_bytes(k->f, &b);
	if (b.n <= KEEP)
		pm_kept_save(name_of(k), &kind, b.p, b.n);
	else if (k->from.map)
		pm_kept_remove(name_of(k));
	pm_buf_release(&b);
}

void pm_kept_forms_close(struct pm_kept_forms *k)
{
	pm_forms_free(k->f);
	pm_kept_release(&k->from);
	*k = (struct pm_kept_forms){ 0 };
}
