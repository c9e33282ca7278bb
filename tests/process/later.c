/* SPDX-License-Identifier: MIT */
/* later.c - a library that is loaded while the program runs */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);
	double (*f)(double) = h ? (double (*)(double))dlsym(h, "tgamma") : NULL;
	double s = 0;
	if (!f)
		return puts("no libm") < 0;
	for (int i = 1; i < 50; i++)
		s += f(i / 4.0);
	printf("%.6f\n", s);
	return 0;
}
