/* SPDX-License-Identifier: MIT */
/* near.h - "did you mean": of the names that there are, those that look like what was typed
 *
 *	struct pm_nearest near = { 0 };
 *	char hint[PM_NEAR_HINT];
 *
 *	for (...)
 *		pm_nearest_try(&near, typed, name);
 *	pm_fail_asked(err, "'%s' is not a format%s", typed, pm_nearest_hint(&near, hint));
 *
 * The distance of two names is that of Damerau and Levenshtein: how many letters have to be added,
 * removed, replaced, or exchanged with their neighbour. Upper and lower case are alike. */
#ifndef PM_BASE_NEAR_H
#define PM_BASE_NEAR_H

#include <stddef.h>

#define PM_NEAREST	3
#define PM_NEAR_HINT	256

struct pm_nearest {			/* begin with zeros; the names belong to it */
	unsigned n;
	struct { char *name; unsigned distance; } v[PM_NEAREST];	/* the nearest first */
};

/* The distance of @a and @b, or @most + 1 if it is more than @most. Long names are far from all. */
unsigned pm_distance(const char *a, const char *b, unsigned most);
/* How far a name may be from @n typed letters and still be worth a question. */
unsigned pm_near_most(size_t n);

/* Keep @name, which is @distance away, unless there are PM_NEAREST better ones. */
void pm_nearest_keep(struct pm_nearest *n, const char *name, unsigned distance);
/* Keep @name if it is near to @typed, or if @typed is how it begins. */
void pm_nearest_try(struct pm_nearest *n, const char *typed, const char *name);
/* The same for each name of a list as messages have them: "line=N, sets, ways". */
void pm_nearest_try_list(struct pm_nearest *n, const char *typed, const char *list);

/* "; did you mean 'a', 'b' or 'c'?" into @hint, which is returned; "" if there is none. Gives the
 * names back. */
const char *pm_nearest_hint(struct pm_nearest *n, char hint[static PM_NEAR_HINT]);
void pm_nearest_release(struct pm_nearest *n);

#endif
