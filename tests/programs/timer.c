/* SPDX-License-Identifier: MIT */
/* flags: -lm */
/* timer.c - a thousand signals a second into integer, floating-point and string code */
#include <math.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include "self_check.h"

#ifdef __i386__
#define LAST "xmm7"
#define SPOILS "cc"			/* compilers do not know of xmm there */
#else
#define LAST "xmm15"
#define SPOILS LAST, "cc"
#endif

static volatile sig_atomic_t ticks;
static volatile double spoiler;
static char a[4096], b[4096];

static void tick(int sig)
{
	ticks++;
	spoiler = sqrt((double)ticks) * 1.5;	/* vector and x87 state of our own */
	errno = 99;
	__asm__ volatile("fldpi; fstp %%st(0); std; cld; pcmpeqd %%" LAST ", %%" LAST ::: SPOILS);
	(void)sig;
}

static uint64_t work(void)
{
	uint64_t h = 1469598103934665603u;
	double x = 1, y = 0;
	long double z = 1;

	for (int i = 1; i < 20000; i++) {
		h = (h ^ (uint64_t)i) * 1099511628211u;
		x += sin(i) / i;
		y += sqrt(x * i);
		z = z * 1.0001L + 1.0L / i;
		if (i % 1000 == 0) {
			memset(a, i, sizeof a);
			memcpy(b, a, sizeof b);
			__asm__ volatile("rep cmpsb"
					 :
					 : "S"(a), "D"(b), "c"(sizeof a)
					 : "cc", "memory");
			h ^= (uint64_t)(memcmp(a, b, sizeof a) != 0);
		}
	}
	memcpy(&a, &x, sizeof x);
	return h ^ (uint64_t)(x * 1e9) ^ (uint64_t)(y * 1e3) ^ (uint64_t)(z * 1e3L);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = tick, .sa_flags = SA_RESTART };
	struct itimerval it = { { 0, 1000 }, { 0, 1000 } };
	uint64_t want = work();
	struct timespec begun, now;
	int rounds = 0;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		CHECK(work() == want);
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (ticks < 200 && now.tv_sec - begun.tv_sec < 30);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	CHECK(rounds > 0 && ticks >= 200);
	SECTION("under a 1 kHz timer: results equal");
	return 0;
}
