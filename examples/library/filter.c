/* SPDX-License-Identifier: MIT */
/* filter.c - convert what caches let through: filter IN OUT CACHES
 *
 *	cc filter.c $(pkg-config --cflags --libs pugmark)
 *	./a.out prog.pug prog.din l1d=32k,8way,64 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pugmark/library.h>

/* The first calls come early, so a long conversion shows that it goes on; on a terminal, where the
 * next line takes the place of this one. */
static int progress(void *arg, uint64_t events, double part)
{
	(void)arg;
	if (isatty(2))
		fprintf(stderr, "\r%.1f M events, %.0f %%", (double)events / 1e6, 100 * part);
	return 0;
}

int main(int argc, char **argv)
{
	struct pm_convert_options o;
	const char *transforms[2] = { NULL, NULL };
	struct pm_err err;
	enum pm_status st;
	char filter[200], text[400];

	if (argc < 3) {
		fprintf(stderr, "filter IN OUT [CACHES]\n");
		return 2;
	}
	memset(&o, 0, sizeof o);
	o.size = sizeof o;
	o.threads = PM_THREADS_ALL;
	o.progress = progress;
	if (argc > 3) {
		snprintf(filter, sizeof filter, "filter:%s", argv[3]);
		transforms[0] = filter;
		o.transforms = transforms;
	}
	st = pm_convert(argv[1], argv[2], &o, NULL, &err);
	if (isatty(2))
		fprintf(stderr, "\r%30s\r", "");
	if (st == PM_OK)
		return 0;
	pm_err_format(&err, text, sizeof text);
	fprintf(stderr, "filter: %s\n", text);
	return 1;
}
