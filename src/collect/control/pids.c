/* SPDX-License-Identifier: MIT */
/* pids.c - processes and threads whose number we know in another PID namespace only */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/control/session.h"

/* What the kernel says of @dir/@name: false: there is no such process. @inner: its number in its
 * own namespace. */
static bool status_of(const char *dir, const char *name, uint32_t *parent, uint32_t *inner)
{
	char path[96], line[256];
	FILE *f;

	*parent = *inner = 0;
	snprintf(path, sizeof path, "%s/%s/status", dir, name);
	f = fopen(path, "re");
	while (f && !*inner && fgets(line, sizeof line, f)) {
		sscanf(line, "PPid: %u", parent);
		if (!strncmp(line, "NSpid:", 6))
			*inner = (uint32_t)strtoul(
				strrchr(line, '\t') ? strrchr(line, '\t') : line + 6, NULL, 10);
	}
	if (f)
		fclose(f);
	return *inner;
}

/* Of the numbers in @dir: the one that is @number in its own namespace. @parent: and a process that
 * we do not know yet, its child or, if that has gone, a child of another one that we know - an
 * orphan's is the first of its namespace. Other namespaces have the same numbers. */
static uint32_t find(const struct session *s, const char *dir, uint32_t number, uint32_t parent)
{
	uint32_t found = 0, up, inner;
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char)*e->d_name) ||
		    !status_of(dir, e->d_name, &up, &inner) || inner != number)
			continue;
		if (parent && (session_knows(s, (uint32_t)strtoul(e->d_name, NULL, 10)) ||
			       (up != parent && !session_knows(s, up))))
			continue;
		if (!found || up == parent)
			found = (uint32_t)strtoul(e->d_name, NULL, 10);
		if (up == parent)
			break;
	}
	if (d)
		closedir(d);
	return found;
}

uint32_t pid_here(const struct session *s, uint32_t number, uint32_t parent)
{
	uint32_t pid = find(s, "/proc", number, parent);

	return pid ? pid : PID_UNKNOWN | number;
}

uint32_t tid_here(const struct session *s, uint32_t pid, uint32_t number)
{
	char dir[64];
	uint32_t tid;

	snprintf(dir, sizeof dir, "/proc/%u/task", pid);
	tid = find(s, dir, number, 0);
	return tid ? tid : PID_UNKNOWN | number;
}
