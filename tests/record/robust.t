# Robust mutexes between processes, whose owners exit or are killed: the others learn of it at the same place in a replay.
# needs: gcc
# timeout: 200
$ cat > robust.c <<'end'
+ #define _GNU_SOURCE
+ #include <errno.h>
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <time.h>
+ #include <unistd.h>
+ static struct { pthread_mutex_t m[8]; volatile long n, order; } *s;
+ static void *locks(void *a) { pthread_mutex_lock(a); return 0; }
+ static void *locks_and_stays(void *a) { pthread_mutex_lock(a); s->n++; for (;;) pause(); }
+ static int take(int i)
+ {
+ 	int r = pthread_mutex_lock(&s->m[i]);
+ 	if (r == EOWNERDEAD)
+ 		pthread_mutex_consistent(&s->m[i]);
+ 	s->order = s->order * 31 + i + r + getpid() % 7;
+ 	pthread_mutex_unlock(&s->m[i]);
+ 	return r;
+ }
+ static void wait_for(long n) { while (s->n < n) usleep(500); }
+ int main(void)
+ {
+ 	pthread_mutexattr_t a;
+ 	pthread_t t;
+ 	pid_t p, q;
+ 	int status, r;
+ 	struct timespec at;
+ 	setvbuf(stdout, 0, _IOLBF, 0);
+ 	s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
+ 	pthread_mutexattr_init(&a), pthread_mutexattr_setpshared(&a, 1), pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
+ 	for (int i = 0; i < 8; i++)
+ 		pthread_mutex_init(&s->m[i], &a);
+ 	/* it exits */
+ 	if (!(p = fork())) {
+ 		pthread_mutex_lock(&s->m[0]);
+ 		pthread_mutex_lock(&s->m[1]);
+ 		_exit(0);
+ 	}
+ 	waitpid(p, 0, 0);
+ 	printf("exited %d %d\n", pthread_mutex_trylock(&s->m[0]) == EOWNERDEAD, take(1) == EOWNERDEAD);
+ 	pthread_mutex_consistent(&s->m[0]);
+ 	pthread_mutex_unlock(&s->m[0]);
+ 	/* it is killed, and a parent that has waited for it knows at once */
+ 	if (!(p = fork()))
+ 		locks_and_stays(&s->m[2]);
+ 	wait_for(1);
+ 	kill(p, SIGKILL);
+ 	waitpid(p, 0, 0);
+ 	printf("killed %d\n", pthread_mutex_trylock(&s->m[2]) == EOWNERDEAD);
+ 	/* all others sleep for its lock */
+ 	if (!(p = fork()))
+ 		locks_and_stays(&s->m[3]);
+ 	wait_for(2);
+ 	for (int i = 0; i < 3; i++)
+ 		if (!fork())
+ 			_exit(take(3) == EOWNERDEAD);
+ 	if (!(q = fork())) {
+ 		usleep(50000);
+ 		kill(p, SIGTERM);
+ 		_exit(0);
+ 	}
+ 	r = take(3) == EOWNERDEAD;
+ 	while ((q = wait(&status)) > 0)
+ 		r += q != p && WEXITSTATUS(status);
+ 	printf("slept %d\n", r);
+ 	/* ... for a time */
+ 	if (!(p = fork()))
+ 		locks_and_stays(&s->m[4]);
+ 	wait_for(3);
+ 	if (!(q = fork())) {
+ 		usleep(30000);
+ 		kill(p, SIGKILL);
+ 		_exit(0);
+ 	}
+ 	clock_gettime(CLOCK_REALTIME, &at);
+ 	at.tv_sec += 20;
+ 	r = pthread_mutex_timedlock(&s->m[4], &at);
+ 	printf("for a time %s\n", strerror(r));
+ 	while (wait(0) > 0)
+ 		;
+ 	/* it executes another program, which ends later */
+ 	if (!(p = fork())) {
+ 		pthread_mutex_lock(&s->m[0]);
+ 		execl("/bin/sleep", "sleep", "0.3", NULL);
+ 	}
+ 	while ((r = pthread_mutex_trylock(&s->m[0])) == EBUSY || !r) {
+ 		if (!r)
+ 			pthread_mutex_unlock(&s->m[0]);
+ 		usleep(1000);
+ 	}
+ 	waitpid(p, 0, 0);
+ 	printf("executes another %s\n", strerror(r));
+ 	/* a thread of it ends, and then another that holds one, with the process */
+ 	if (!(p = fork())) {
+ 		pthread_create(&t, 0, locks, &s->m[5]);
+ 		pthread_join(t, 0);
+ 		printf("thread %d\n", take(5) == EOWNERDEAD);
+ 		fflush(stdout);
+ 		pthread_create(&t, 0, locks_and_stays, &s->m[6]);
+ 		wait_for(4);
+ 		pthread_mutex_lock(&s->m[7]);
+ 		_exit(0);
+ 	}
+ 	waitpid(p, 0, 0);
+ 	printf("its threads %d %d, order %lx\n", pthread_mutex_trylock(&s->m[6]) == EOWNERDEAD, take(7) == EOWNERDEAD, s->order);
+ 	return 0;
+ }
+ end
$ gcc -w -O1 -pthread -o robust robust.c && ./robust | sed 's/, order.*//'
> exited 1 1
> killed 1
> slept 1
> for a time Owner died
> executes another Owner died
> thread 1
> its threads 1 1
$ pugmark record -q -o r.pugrec -- ./robust | sed 's/, order.*//'
> exited 1 1
> killed 1
> slept 1
> for a time Owner died
> executes another Owner died
> thread 1
> its threads 1 1
$ for i in 1 2 3; do "$TESTS/record/again" "$PWD/robust"; done
> status 0, 7 lines again
> status 0, 7 lines again
> status 0, 7 lines again
$ for seed in 1 2 3; do pugmark record -q --chaos $seed -o r.pugrec -- ./robust > want; pugmark replay -q r.pugrec | cmp - want; done
