// SPDX-License-Identifier: MIT
// throw.cc - the library half of exceptions.cc
#include <stdexcept>
#include <string>

struct counted {
	static int alive;
	counted() { alive++; }
	~counted() { alive--; }
};
int counted::alive;

int alive() { return counted::alive; }

int through(int n, int (*back)(int))
{
	counted c;

	if (n == 0)
		throw std::runtime_error("from the library " + std::to_string(counted::alive));
	return (n & 1 ? back(n - 1) : through(n - 1, back)) + 1;
}
