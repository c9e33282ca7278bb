/* SPDX-License-Identifier: MIT */
/* args.c - prints its arguments, its environment and its input */
#include "self_check.h"

extern char **environ;

int main(int argc, char **argv)
{
	int c;

	for (int i = 0; i < argc; i++)
		printf("arg %d: %s\n", i,
		       i		       ? argv[i]
		       : strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1
					       : argv[0]);
	for (char **e = environ; *e; e++)
		if (strncmp(*e, "_=", 2))
			printf("env: %s\n", *e);
	while ((c = getchar()) != EOF)
		putchar(c);
	return 0;
}
