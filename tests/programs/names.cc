/* SPDX-License-Identifier: MIT */
/* names.cc - functions whose names in the file are not those of the source: overloads, templates, operators, copies
 * that the compiler makes. They run in the order of the file, each once; idle() does not run. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

namespace phys {
struct Solver {
	int n;
	NOINLINE int solve(int k);
	NOINLINE int solve(long k, char c);
	NOINLINE int operator()(int x);
};
int Solver::solve(int k) { return sink + k; }
int Solver::solve(long k, char c) { return sink + (int)k + c; }
int Solver::operator()(int x) { return sink + x; }
template <class T> NOINLINE T twice(T v) { sink = 1; return v + v + sink; }
}

/* the compiler makes a copy of it for the only values that it is called with */
static __attribute__((noinline)) int copied(volatile int *v, int unused) { *v += 1; return *v; }
extern "C" NOINLINE void last_one(void) { sink = 2; }
extern "C" __attribute__((alias("last_one"))) void other_name(void);
extern "C" NOINLINE void idle(void) { sink = 3; }

int main(int argc, char **argv)
{
	phys::Solver s = { argc };
	int r = s.solve(100) + s.solve(7L, 'c') + s(3) + phys::twice<int>(argc) + copied(&sink, 1) + copied(&sink, 2);

	last_one();
	if (argc > 5)
		idle();
	return r == 0;
}
