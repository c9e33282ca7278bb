/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <time.h>

#include "base/elapsed.h"

double pm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

const char *pm_time_text(double seconds, char text[static 32])
{
	unsigned long t = seconds < 1e8 ? (unsigned long)(seconds + 0.5) : 100000000;

	if (t >= 3600)
		snprintf(text, 32, "%lu h %02lu min", t / 3600, t / 60 % 60);
	else if (t >= 60)
		snprintf(text, 32, "%lu min %02lu s", t / 60, t % 60);
	else
		snprintf(text, 32, "%lu s", t);
	return text;
}
