/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

static bool parse_scaled(const char *s, uint64_t *v, uint64_t kilo)
{
	uint64_t scale = 1;
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*v = strtoull(s, &end, s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10);
	if (errno || end == s)
		return false;
	switch (*end) {
	case 'k': case 'K': scale = kilo; end++; break;
	case 'm': case 'M': scale = kilo * kilo; end++; break;
	case 'g': case 'G': scale = kilo * kilo * kilo; end++; break;
	}
	return !*end && !__builtin_mul_overflow(*v, scale, v);
}

bool pm_parse_u64(const char *s, uint64_t *v)
{
	return parse_scaled(s, v, 1000);
}

bool pm_parse_size(const char *s, uint64_t *v)
{
	return parse_scaled(s, v, 1024);
}
