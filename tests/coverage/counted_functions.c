/* SPDX-License-Identifier: MIT */
/* counted_functions.c - how functions begin and end */
#include <stdio.h>
#include <string.h>
static int count;
static void plain(int x)
{
	count += x;
}
static void early(int x)
{
	if (x > 3)
		return;
	count++;
	if (x == 2)
		return;
	count--;
}
static void ends(int x)
{
	if (x) {
		count += 2;
		return;
	}
}
static void last(int x)
{
	count += x;
	return;
}
static int value(int x)
{
	if (x)
		return 3;
	else
		return 4;
}
struct big { int a[20]; };
static struct big big(int x)
{
	struct big r;
	memset(&r, x, sizeof r);
	return r;
}
int
oldstyle(a)
	int a;
{
	return a;
}
static void empty(void)
{
}
static inline void oneline(void) { count++; }
int main(void)
{
	for (int i = 0; i < 6; i++) {
		plain(i); early(i);
		ends(i & 1);
		last(i);
		oneline();
		count += value(i & 2);
	}
	empty();
	count += oldstyle(3) + big(1).a[3];
	if (count > 1000000)
		goto bad;
	return 0;
bad:					/* gcov only: label */
	return 1;
}
