/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/mem.h"
#include "collect/record/recording.h"

#define CALL(nr, name, ...) [nr] = #name,
static const char *const names[] = {
#include "collect/runtime/calls.inc"
};
#undef CALL

const char *rec_call_name(uint64_t nr)
{
	return nr < NR(names) && names[nr] ? names[nr] : "one that is not in the table";
}
