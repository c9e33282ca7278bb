/* SPDX-License-Identifier: MIT */
/* lines.h - instruction fetches become the cache lines that they touch, as IDtrace's cache traces
 * have them: a PM_EV_LINE whenever an instruction lies (partly) in another line than the fetch
 * before it
 *
 * What is about instructions goes; references and rare events stay. */
#ifndef PM_TRANSFORM_LINES_H
#define PM_TRANSFORM_LINES_H

#include "trace/pipeline.h"

extern const struct pm_transform_ops pm_lines_ops;
void *pm_lines_new(uint32_t line);		/* bytes, a power of two up to 32768 */

#endif
