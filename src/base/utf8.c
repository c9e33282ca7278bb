/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

unsigned pm_utf8_len(const void *p, size_t most)
{
	const unsigned char *s = p;
	unsigned n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 :
		     s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	if (n > most)
		return 0;
	for (unsigned i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;	/* overlong; surrogate */
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

unsigned pm_utf8_char(const char *s, uint32_t *code)
{
	const unsigned n = pm_utf8_len(s, 4);

	*code = n < 2 ? (unsigned char)*s : (unsigned char)*s & (0xffu >> (n + 1));
	for (unsigned i = 1; i < n; i++)
		*code = *code << 6 | ((unsigned char)s[i] & 0x3f);
	return n;
}

bool pm_utf8_is(const void *p, size_t n)
{
	const unsigned char *s = p, *end = s + n;

	while (s < end) {
		unsigned k = pm_utf8_len(s, (size_t)(end - s));

		if (!k)
			return false;
		s += k;
	}
	return true;
}

void pm_utf8_add(struct pm_buf *to, const void *p, size_t n)
{
	const unsigned char *s = p, *end = s + n;

	while (s < end) {
		unsigned k = pm_utf8_len(s, (size_t)(end - s));

		if (k)
			pm_buf_add(to, s, k);
		else
			pm_buf_printf(to, "\\x%02x", *s);
		s += k ? k : 1;
	}
}
