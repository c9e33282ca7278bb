# Processes that share memory, and are killed while they wait for their turn, have executed nothing since: the others go on.
# needs: gcc python3
# timeout: 300
$ cat > workers.c <<'end'
+ #include <sched.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ #define N 12
+ int main(void)
+ {
+ 	volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
+ 	pid_t child[N];
+ 	for (int round = 0; round < 12; round++) {
+ 		for (int i = 0; i < N; i++)
+ 			if (!(child[i] = fork()))
+ 				for (;;) {
+ 					p[i] = p[i] * 31 + p[(i + 1) % N] + 1;
+ 					if (i % 4)
+ 						sched_yield();
+ 					else
+ 						usleep(10);
+ 				}
+ 		usleep(3000);
+ 		/* who kills has the token, so the others wait for it, or are in a call */
+ 		for (int i = 0; i < N; i++) {
+ 			kill(child[i], i & 1 ? SIGTERM : SIGKILL);
+ 			sched_yield();
+ 			p[N + i] = p[N + i] * 31 + p[i];
+ 		}
+ 		while (wait(0) > 0)
+ 			;
+ 		for (int i = 0; i < 2 * N; i++)
+ 			printf("%lx%c", p[i], i % N == N - 1 ? '\n' : ' ');
+ 		fflush(stdout);
+ 	}
+ 	return 0;
+ }
+ end
$ gcc -w -O1 -o workers workers.c; for i in 1 2 3 4; do "$TESTS/record/again" "$PWD/workers"; done
> status 0, 24 lines again
> status 0, 24 lines again
> status 0, 24 lines again
> status 0, 24 lines again
# Python's pools end their workers so.
$ cat > pool.py.in <<'end'
+ import multiprocessing as mp, time
+ def work(n): return n * n
+ if __name__ == '__main__':
+     mp.set_start_method('fork')
+     for i in range(2):
+         pool = mp.Pool(4)
+         print(i, pool.map(work, range(30)))
+         pool.terminate(); pool.join()
+ end
$ "$TESTS/record/again" python3 pool.py.in
> status 0, 2 lines again
