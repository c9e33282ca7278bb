/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/file_pattern.h"

bool pm_pattern_has(const char *pattern, char letter)
{
	for (const char *c = pattern; (c = strchr(c, '%')); c += 1 + (c[1] != 0))
		if (c[1] == letter)
			return true;
	return false;
}

static const char *value_of(const struct pm_pattern_value *v, char letter)
{
	if (letter == '%')
		return "%";
	while (v->letter && v->letter != letter)
		v++;
	return letter ? v->text : NULL;
}

void pm_pattern_expand(const char *pattern, const struct pm_pattern_value *v, struct pm_buf *to)
{
	for (const char *c = pattern; *c; c++) {
		const char *text = *c == '%' ? value_of(v, c[1]) : NULL;

		if (text)
			pm_buf_add(to, text, strlen(text));
		else
			pm_buf_add(to, c, 1);
		c += text != NULL;
	}
	pm_buf_add(to, "", 1);
}
