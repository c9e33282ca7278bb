/* SPDX-License-Identifier: MIT */
/* json.h - a JSON document read back as a tree of results: what pm_result_json() wrote, or anything
 *
 * Numbers: whole ones from 0 on are PM_RESULT_U64, all others PM_RESULT_F64. Texts stay texts, also
 * those like "0x1f". Of \u escapes surrogates come out as they are, one by one. What may nest
 * nests at most 64 deep. */
#ifndef PM_BASE_JSON_H
#define PM_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pm_buf;
struct pm_result;

/* The members of the object in @text, with a zero behind it, become those of @r's root, which is
 * empty; but for "schema". Errors name the line. */
enum pm_status pm_json_read(const char *text, size_t n, struct pm_result *r, struct pm_err *err);
/* ... and the name of the schema that it says it has, terminated, into empty @schema; nothing if it
 * says none. */
enum pm_status pm_json_read_named(const char *text, size_t n, struct pm_result *r,
				  struct pm_buf *schema, struct pm_err *err);

/* json_file.c: is @path a regular file that begins as a JSON object does? */
bool pm_json_is(const char *path);
/* All of the file @path, with a zero behind it, is added to @to. */
enum pm_status pm_json_load(const char *path, struct pm_buf *to, struct pm_err *err);

#endif
