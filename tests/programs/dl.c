/* SPDX-License-Identifier: MIT */
/* flags: -ldl */
/* dl.c - dlopen and dlclose over and over: other code at the same address, thread-local storage
 *
 *   dl [ROUNDS]		50 if it does not say */
#include <dlfcn.h>
#include "self_check.h"

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 50;
	uintptr_t first = 0;
	int same = 0;

	for (int i = 0; i < rounds; i++) {
		char path[4096];
		ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
		int (*value)(int), v;
		const char *(*name)(void);
		void *h;

		CHECK(n > 0);
		path[n] = 0;
		strcpy(strrchr(path, '/'), i & 1 ? "/libbeta.so" : "/libalpha.so");
		h = dlopen(path, i & 2 ? RTLD_LAZY : RTLD_NOW);
		if (!h)
			fprintf(stderr, "%s\n", dlerror());
		CHECK(h);
		value = (int (*)(int))dlsym(h, "value");
		name = (const char *(*)(void))dlsym(h, "name");
		CHECK(value && name);
		v = value(i);
		CHECK(v == (i & 1 ? i * 2 + 1000 : i + 100));
		v = value(i);
		CHECK(v == (i & 1 ? i * 2 + 999 : i + 101));
		CHECK(!strcmp(name(), i & 1 ? "beta" : "alpha"));
		if (!first)
			first = (uintptr_t)value;
		same += (uintptr_t)value == first;
		CHECK(dlclose(h) == 0);
	}
	CHECK(dlopen("/no/such/library.so", RTLD_NOW) == NULL);
	CHECK(same > 1);
	SECTION("libraries loaded and unloaded");
	return 0;
}
