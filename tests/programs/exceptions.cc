// SPDX-License-Identifier: MIT
// flags: -pthread -Lbuild/programs -lthrow -Wl,-rpath,'$ORIGIN'
// exceptions.cc - exceptions through many frames, across a library, in threads, rethrown
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

int through(int n, int (*back)(int));
int alive();

#define CHECK(x) do { if (!(x)) { std::fprintf(stderr, "wrong: %s\n", #x); std::exit(1); } } while (0)

static int here(int n)
{
	std::string s(100, 'x');

	return through(n, here) + (int)s.size() - 100;
}

struct odd : std::exception {
	int v;
	explicit odd(int v_) : v(v_) {}
	const char *what() const noexcept override { return "odd"; }
};

static int classify(int i)
{
	try {
		switch (i % 5) {
		case 0: throw i;
		case 1: throw odd(i);
		case 2: throw std::string("text");
		case 3: throw std::make_unique<int>(i);
		}
		return -1;
	} catch (int v) {
		return v;
	} catch (const odd &o) {
		return o.v * 2;
	} catch (const std::exception &) {
		return -2;
	} catch (const std::unique_ptr<int> &p) {
		return *p * 3;
	} catch (...) {
		return 7;
	}
}

__attribute__((noinline)) static int frames()
{
	void *v[256];

	return backtrace(v, 256);
}

__attribute__((noinline)) static int nested(volatile int n)
{
	volatile int below = n ? nested(n - 1) : frames();

	return below;
}

int main()
{
	long sum = 0;

	for (int depth : { 1, 10, 100, 1000 }) {
		try {
			here(depth);
			CHECK(false);
		} catch (const std::runtime_error &e) {
			std::printf("depth %d: %s\n", depth, e.what());
		}
		CHECK(alive() == 0);
	}
	for (int i = 0; i < 2000; i++)
		sum += classify(i);
	std::printf("caught by type: %ld\n", sum);
	try {
		try {
			throw odd(3);
		} catch (...) {
			std::exception_ptr p = std::current_exception();
			std::rethrow_exception(p);
		}
	} catch (const odd &o) {
		std::printf("rethrown: %d\n", o.v);
	}
	std::vector<std::thread> threads;
	int good[4] = {};
	for (int t = 0; t < 4; t++)
		threads.emplace_back([t, &good] {
			for (int i = 0; i < 50; i++)
				try {
					here(20 + t);
				} catch (const std::exception &) {
					good[t]++;
				}
		});
	for (auto &t : threads)
		t.join();
	CHECK(good[0] == 50 && good[1] == 50 && good[2] == 50 && good[3] == 50);
	std::puts("in threads: good");
	CHECK(nested(40) - nested(0) == 40);
	std::puts("backtrace: every frame is there");
	std::set_terminate([] { std::puts("terminate"); std::fflush(stdout); std::_Exit(21); });
	std::function<void()> last = [] { throw 1; };
	last();
}
