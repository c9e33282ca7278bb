/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/near.h"

#define LONGEST	200			/* letters of a name that is compared */

unsigned pm_distance(const char *a, const char *b, unsigned most)
{
	const size_t n = strlen(a), m = strlen(b);
	unsigned row[3][LONGEST + 1], *two = row[0], *one = row[1], *now = row[2];

	if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > most)
		return most + 1;
	for (size_t k = 0; k <= m; k++)
		one[k] = (unsigned)k;
	for (size_t i = 1; i <= n; i++) {
		unsigned *spare = two, least = now[0] = (unsigned)i;

		for (size_t k = 1; k <= m; k++) {
			unsigned d = one[k - 1] + (tolower((unsigned char)a[i - 1]) !=
						   tolower((unsigned char)b[k - 1]));

			d = d < one[k] + 1 ? d : one[k] + 1;
			d = d < now[k - 1] + 1 ? d : now[k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
			    two[k - 2] + 1 < d)
				d = two[k - 2] + 1;
			now[k] = d;
			least = d < least ? d : least;
		}
		if (least > most)
			return most + 1;
		two = one;
		one = now;
		now = spare;
	}
	return one[m] < most ? one[m] : one[m] > most ? most + 1 : most;
}

unsigned pm_near_most(size_t n)
{
	return n < 3 ? 1 : n < 7 ? 2 : (unsigned)n / 3;
}

void pm_nearest_keep(struct pm_nearest *to, const char *name, unsigned d)
{
	unsigned at = to->n;

	for (unsigned i = 0; i < to->n; i++)
		if (!strcmp(to->v[i].name, name))
			return;
	while (at && to->v[at - 1].distance > d)
		at--;
	if (at == PM_NEAREST)
		return;
	if (to->n == PM_NEAREST)
		free(to->v[--to->n].name);
	memmove(to->v + at + 1, to->v + at, (to->n++ - at) * sizeof *to->v);
	to->v[at].name = pm_strdup(name);
	to->v[at].distance = d;
}

void pm_nearest_try(struct pm_nearest *to, const char *typed, const char *name)
{
	const size_t n = strlen(typed), m = strlen(name);
	/* two other letters among five make another word */
	const unsigned most = n < 6 || m < 6 ? 1 : n < 9 || m < 9 ? 2 : 3;
	unsigned d = pm_distance(typed, name, most);

	if (d > most && n >= 2 && n < m && !strncasecmp(typed, name, n))
		d = most;
	if (d <= most && d < n)
		pm_nearest_keep(to, name, d);
}

void pm_nearest_try_list(struct pm_nearest *to, const char *typed, const char *list)
{
	while (*list) {
		char name[LONGEST + 1];
		size_t n = strcspn(list, ", =");

		if (n && n < sizeof name) {
			memcpy(name, list, n);
			name[n] = 0;
			pm_nearest_try(to, typed, name);
		}
		list += strcspn(list, ",");
		list += strspn(list, ", ");
	}
}

const char *pm_nearest_hint(struct pm_nearest *near, char hint[static PM_NEAR_HINT])
{
	unsigned n = 0;
	size_t len = 0;

	/* names that are clearly farther only confuse */
	while (n < near->n && near->v[n].distance <= near->v[0].distance + 1)
		n++;
	hint[0] = 0;
	for (unsigned i = 0; i < n && len < PM_NEAR_HINT; i++)
		len += (size_t)snprintf(hint + len, PM_NEAR_HINT - len, "%s'%.60s'%s",
					!i	    ? "; did you mean "
					: i + 1 < n ? ", "
						    : " or ",
					near->v[i].name, i + 1 < n ? "" : "?");
	pm_nearest_release(near);
	return hint;
}

void pm_nearest_release(struct pm_nearest *n)
{
	while (n->n)
		free(n->v[--n->n].name);
}
