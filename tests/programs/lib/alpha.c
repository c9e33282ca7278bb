/* SPDX-License-Identifier: MIT */
/* alpha.c, beta.c - two libraries that land at the same place one after the other */
static __thread int tls = 100;
int value(int x)
{
	return x + tls++;
}

const char *name(void)
{
	return "alpha";
}
