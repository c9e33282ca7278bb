/* SPDX-License-Identifier: MIT */
/* elapsed.h - time that passes, in seconds, and as users read it */
#ifndef PM_BASE_ELAPSED_H
#define PM_BASE_ELAPSED_H

/* Seconds since whenever; it never goes back. */
double pm_now(void);
/* "1 h 02 min", "3 min 20 s", "7 s": at most 12 letters; in @text. */
const char *pm_time_text(double seconds, char text[static 32]);

#endif
