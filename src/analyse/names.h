/* SPDX-License-Identifier: MIT */
/* names.h - addresses of a trace as function+offset and file:line, where the trace knows its
 * objects
 *
 * The code table's objects are opened when the first of their addresses is asked for; an object
 * that is gone or changed gives no names. For traces that know none, pm_names_add() says where a
 * file was loaded. */
#ifndef PM_ANALYSE_NAMES_H
#define PM_ANALYSE_NAMES_H

#include <stdbool.h>

#include "base/mem.h"
#include "pugmark/pugmark.h"

struct pm_names {
	struct pm_names_object {
		char *path, *build_id;
		uint64_t base, lo, hi;		/* text */
		uint64_t data_lo, data_hi;	/* all that is mapped of the file; known once it
						 * is open */
		struct pm_elf *elf;
		bool tried;
	} *object;
	size_t n, cap;
	struct { const struct pm_code *code; size_t n; } table[64];	/* learned from */
	unsigned ntable;
};

/* What is known about an address; strings are borrowed until pm_names_release(), but function only
 * until the next call. */
struct pm_name {
	const char *function;		/* demangled; NULL: not known */
	const char *object;		/* path; NULL: no object */
	uint64_t lo;			/* where the function begins */
	uint64_t base;			/* address - address in the object's file */
	const char *file;		/* source, absolute where known; NULL: not known */
	unsigned line;
};

/* What functions are called, for the sinks of @p; before pm_trace_create(). */
struct pm_pipeline;
void pm_names_for_sinks(struct pm_pipeline *p);
/* Remember the objects of @code; cheap when there are no new ones. NULL is fine. */
void pm_names_learn(struct pm_names *s, const struct pm_code *code);
void pm_names_put_object(struct pm_names *s, const struct pm_object *o);	/* copies it */
/* "PATH@ADDRESS": the file was loaded at ADDRESS (of its first byte; 0 for what is not
 * relocatable). */
enum pm_status pm_names_add(struct pm_names *s, const char *spec, struct pm_err *err);
/* False: the address is in no object. The first @line of an object may take tens of
 * milliseconds. */
bool pm_names_at(struct pm_names *s, uint64_t pc, bool line, struct pm_name *n);
/* "main+0x12" or NULL; into @buf. */
const char *pm_name_of(struct pm_names *s, uint64_t pc, char *buf, size_t size);
/* "hash.c:17" or NULL. */
const char *pm_line_of(struct pm_names *s, uint64_t pc, char *buf, size_t size);
/* The variable around @addr: its name and address; false: none is known. */
bool pm_names_variable(struct pm_names *s, uint64_t addr, struct pm_name *n);
/* The code at @pc in its object's file, x86 only: *@n bytes of it and what follows, *@isa (enum
 * pm_isa). NULL: none. */
const uint8_t *pm_names_code(struct pm_names *s, uint64_t pc, size_t *n, uint8_t *isa);
/* Put pc, function and line into the object that is open in @r. */
void pm_names_result(struct pm_names *s, struct pm_result *r, uint64_t pc);
/* "key": function+offset, or the address. */
void pm_names_put(struct pm_names *s, struct pm_result *r, const char *key, uint64_t pc);
void pm_names_release(struct pm_names *s);

#endif
