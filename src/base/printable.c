/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/utf8.h"

bool pm_is_printable(uint32_t code)
{
	if (code < ' ' || (code >= 0x7f && code <= 0x9f))
		return false;
	return !(code == 0x061c || code == 0x200e || code == 0x200f || code == 0xfeff ||
		 (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069));
}

/* The next character of @s, or its escape sequence, with a 0 behind it; bytes of @s that it
 * stands for. */
static unsigned next(const char *s, char to[12])
{
	static const char letters[] = "\tt\nn\rr\033e";
	uint32_t code;
	unsigned n = pm_utf8_char(s, &code);

	if (!n) {
		sprintf(to, "\\x%02x", (unsigned char)*s);
		return 1;
	}
	if (pm_is_printable(code)) {
		memcpy(to, s, n);
		to[n] = 0;
		return n;
	}
	for (const char *l = letters; *l; l += 2)
		if ((uint32_t)*l == code) {
			sprintf(to, "\\%c", l[1]);
			return n;
		}
	sprintf(to, code < 0x80 ? "\\x%02x" : "\\u%04x", code);
	return n;
}

const char *pm_printable(const char *s, char *buf, size_t size)
{
	size_t at = 0;
	char one[12];

	while (*s) {
		const unsigned n = next(s, one);
		const size_t len = strlen(one);

		if (at + len >= size)
			break;
		memcpy(buf + at, one, len);
		at += len;
		s += n;
	}
	if (size)
		buf[at] = 0;
	return buf;
}

void pm_printable_add(struct pm_buf *to, const char *s)
{
	char one[12];

	while (*s) {
		s += next(s, one);
		pm_buf_add(to, one, strlen(one));
	}
}
