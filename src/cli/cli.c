/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/cli.h"

const struct command *commands;

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
