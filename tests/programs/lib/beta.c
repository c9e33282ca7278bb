/* SPDX-License-Identifier: MIT */
static __thread int tls = 1000;
int value(int x)
{
	return x * 2 + tls--;
}

const char *name(void)
{
	return "beta";
}
