/* SPDX-License-Identifier: MIT */
/* pids.c - processes and threads whose number we know in another PID namespace only */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/control/session.h"

/* Of the numbers in @dir: the one that is @number in its own namespace. @parent: and a process that
 * we do not know yet, its child or, if that has gone, a child of another one that we know - an
 * orphan's is the first of its namespace. Other namespaces have the same numbers. */
static uint32_t find(const struct session *s, const char *dir, uint32_t number, uint32_t parent)
{
	struct peek_status st;
	uint32_t found = 0, up;
	struct dirent *e;
	char path[96];
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		snprintf(path, sizeof path, "%s/%.20s", dir, e->d_name);
		if (!peek_status(path, &st) || !st.inner || st.inner != number)
			continue;
		up = st.parent;
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
