/* SPDX-License-Identifier: MIT */
/* conf.h - the short strings that configure simulators: `name=field,key=value;name=field`
 *
 * Items are separated by ';', the fields of an item by ','. A field is a bare word ("lru", "64",
 * "8way") or a key with a value ("victim=8"). Everything is borrowed from the pm_conf.
 * Errors     name the simulator, the item and the word, and say what is allowed. */
#ifndef PM_ANALYSE_CONF_H
#define PM_ANALYSE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pm_conf_field {
	const char *key;		/* the bare word, or what stands before '=' */
	const char *val;		/* NULL: a bare word */
};

struct pm_conf_item {
	const char *name;
	struct pm_conf_field *field;
	size_t n;			/* 0: the name stands alone */
};

struct pm_conf {
	const char *what;		/* "cache": whose configuration, for messages */
	struct pm_conf_item *item;
	size_t n;
	char *text;
};

/* No name may come twice: which of two settings counts nobody should have to guess. */
enum pm_status pm_conf_parse(struct pm_conf *c, const char *what, const char *text,
			     struct pm_err *err);
/* The same for a list, in which a name may. */
enum pm_status pm_conf_list(struct pm_conf *c, const char *what, const char *text,
			    struct pm_err *err);
void pm_conf_release(struct pm_conf *c);

/* "cache: l1d: 'x' is not ...": always PM_ERR. @it may be NULL. */
__attribute__((format(printf, 4, 5)))
enum pm_status pm_conf_fail(const struct pm_conf *c, const struct pm_conf_item *it,
			    struct pm_err *err, const char *fmt, ...);

/* "'WORD' IS-NOT; allowed: A, B=N", with a question after one of @allowed that is near; for @is_not
 * "is not a setting". */
enum pm_status pm_conf_unknown(const struct pm_conf *c, const struct pm_conf_item *it,
			       struct pm_err *err, const char *word, const char *is_not,
			       const char *allowed);

/* A number with k, M, G (1024) within lo..hi. */
enum pm_status pm_conf_u64(const struct pm_conf *c, const struct pm_conf_item *it, const char *text,
			   const char *meaning, uint64_t lo, uint64_t hi, uint64_t *v,
			   struct pm_err *err);
/* The same, and a power of two. */
enum pm_status pm_conf_pow2(const struct pm_conf *c, const struct pm_conf_item *it,
			    const char *text, const char *meaning, uint64_t lo, uint64_t hi,
			    uint64_t *v, struct pm_err *err);
/* Index of @word in the NULL-ended @names; -1 if it is none of them. */
int pm_conf_word(const char *word, const char *const *names);
/* "lru, fifo, random": for messages. */
const char *pm_conf_names(const char *const *names, char *buf, size_t size);

/* @it as it was written, into @to, behind a ';' if there is something already. */
struct pm_buf;
void pm_conf_put(const struct pm_conf_item *it, struct pm_buf *to);

/* A configuration of plain `key=number;key=number` settings is a table. */
struct pm_conf_key {
	const char *name;
	uint64_t *to;
	uint64_t lo, hi;
	bool pow2;
	const char *about;
};
/* Unknown keys name the known ones. The table ends with a NULL name. */
enum pm_status pm_conf_keys(const char *what, const char *text, const struct pm_conf_key *keys,
			    struct pm_err *err);

#endif
