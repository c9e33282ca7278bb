/* SPDX-License-Identifier: MIT */
/* two.c - processes that load a library one after the other */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static int go(const char *f)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);
	return printf("%.3f\n", ((double (*)(double))dlsym(h, f))(2)) < 0 || fflush(stdout);
}
int main(void)
{
	for (int i = 0; i < 2; i++) {
		if (!fork())
			_exit(go(i ? "tgamma" : "sin"));
		wait(NULL);
	}
	return go("cos");
}
