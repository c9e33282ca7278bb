# Processes that share memory take turns when they are recorded, and have the same turns when they are replayed.
# needs: gcc python3
# timeout: 200
$ cat > shared.c <<'end'
+ #define _GNU_SOURCE
+ #include <fcntl.h>
+ #include <pthread.h>
+ #include <semaphore.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static struct { pthread_mutex_t m; pthread_cond_t c; sem_t done; volatile long turn, order, lost, file; } *s;
+ static void *count(void *a) { for (int i = 0; i < 200000; i++) s->lost++; return a; }
+ static void worker(int i)
+ {
+ 	pthread_t t[2];
+ 	for (int k = 0; k < 2; k++)
+ 		pthread_create(t + k, 0, count, 0);
+ 	for (int k = 0; k < 40; k++) {
+ 		pthread_mutex_lock(&s->m);
+ 		while (s->turn % 3 != i)
+ 			pthread_cond_wait(&s->c, &s->m);
+ 		s->turn++;
+ 		s->order = s->order * 31 + i;
+ 		pthread_cond_broadcast(&s->c);
+ 		pthread_mutex_unlock(&s->m);
+ 	}
+ 	for (int k = 0; k < 2; k++)
+ 		pthread_join(t[k], 0);
+ 	sem_post(&s->done);
+ 	_exit(i);
+ }
+ int main(int argc, char **argv)
+ {
+ 	pthread_mutexattr_t ma;
+ 	pthread_condattr_t ca;
+ 	int sum = 0, status, fd = -1;
+ 	volatile long *f;
+ 	pid_t p;
+ 	if (argc > 1 && (fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600)) >= 0)
+ 		ftruncate(fd, 8192);
+ 	s = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
+ 	pthread_mutexattr_init(&ma), pthread_mutexattr_setpshared(&ma, 1), pthread_mutex_init(&s->m, &ma);
+ 	pthread_condattr_init(&ca), pthread_condattr_setpshared(&ca, 1), pthread_cond_init(&s->c, &ca);
+ 	sem_init(&s->done, 1, 0);
+ 	for (int i = 0; i < 3; i++)
+ 		if (!fork())
+ 			worker(i);
+ 	for (int i = 0; i < 3; i++)
+ 		sem_wait(&s->done);
+ 	/* one that is killed while it waits for its turn, or in a call */
+ 	for (int i = 0; i < 2; i++) {
+ 		if (!(p = fork()))
+ 			for (;;) {
+ 				s->file++;
+ 				if (i)
+ 					pause();
+ 			}
+ 		usleep(20000);
+ 		kill(p, SIGKILL);
+ 	}
+ 	while (wait(&status) > 0)
+ 		sum += WIFEXITED(status) ? WEXITSTATUS(status) : 100;
+ 	printf("%ld %lx %ld %ld %d\n", s->turn, s->order, s->lost, s->file, sum);
+ 	return 0;
+ }
+ end
$ gcc -w -O1 -pthread -o shared shared.c; cp shared shared.in
# Anonymous memory, and a file's; what is printed depends on when each has its turn.
$ for i in 1 2 3; do "$TESTS/record/again" "$PWD/shared"; done
> status 0, 1 lines again
> status 0, 1 lines again
> status 0, 1 lines again
$ "$TESTS/record/again" "$PWD/shared" file
> status 0, 1 lines again
# Turns at random: other orders, each repeated.
$ for seed in 1 2 3; do pugmark record -q --chaos $seed -o r.pugrec -- ./shared > want; pugmark replay -q r.pugrec | cmp - want; cat want; done | cut -d ' ' -f 1 | uniq -c | sed 's/^ *//'
> 3 120
# Python's locks, values, queues and pools.
$ cat > many.py.in <<'end'
+ import multiprocessing as mp, random
+ def work(v, lock, q, n):
+     for i in range(n):
+         with lock: v.value += 1
+         if i % 50 == 0: q.put((i, v.value))
+     q.put(None)
+ if __name__ == '__main__':
+     mp.set_start_method('fork')
+     v = mp.Value('i', 0, lock=False); lock = mp.Lock(); q = mp.Queue()
+     ps = [mp.Process(target=work, args=(v, lock, q, 200)) for _ in range(3)]
+     [p.start() for p in ps]
+     done = 0
+     while done < 3:
+         x = q.get(); done += x is None; print(x)
+     [p.join() for p in ps]
+     pool = mp.Pool(2); print(v.value, pool.map(abs, range(-20, 20)), random.random()); pool.close(); pool.join()
+ end
$ "$TESTS/record/again" python3 many.py.in
> status 0, 16 lines again
# Who is killed while it executes may have written anything: the recording ends, and says so.
$ cat > killed.c <<'end'
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	volatile long *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
+ 	pid_t child = fork();
+ 	if (!child)
+ 		for (;;)
+ 			++*p;
+ 	printf("%d\n", child);
+ 	fflush(stdout);
+ 	wait(0);
+ 	return printf("end\n") != 4 || *p < 1;
+ }
+ end
$ gcc -w -o killed killed.c; (pugmark record -o r.pugrec -- ./killed > out 2> err; echo $? >> out) & while [ ! -s out ]; do sleep 0.1; done; sleep 0.3; kill -9 $(cat out); wait; sed 1d out; sed -E 's/process [0-9]+/process N/g' err
> end
> 0
> pugmark: the recording ends here: process N shares memory with process N, of which no more is recorded
$ pugmark replay -q r.pugrec 2> err | sed 's/^[0-9]*$/child/'; sed -E 's/process [0-9]+/process N/' err
> child
> pugmark: the recording ends here: the program shares memory with process N, of which no more is recorded
# Threads that never wait let other processes have their turns; and a child that is killed before its first one has none.
$ cat > threads.c <<'end'
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static volatile long *p;
+ static void *spin(void *a) { while (!p[0]) p[1]++; return a; }
+ int main(void)
+ {
+ 	pthread_t t[2];
+ 	pid_t child;
+ 	p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
+ 	if (!(child = fork())) {
+ 		for (int i = 0; i < 3000000; i++)
+ 			p[2]++;
+ 		for (p[0] = 1;;)
+ 			p[3]++;
+ 	}
+ 	for (int i = 0; i < 2; i++)
+ 		pthread_create(t + i, 0, spin, 0);
+ 	for (int i = 0; i < 2; i++)
+ 		pthread_join(t[i], 0);
+ 	kill(child, SIGKILL);
+ 	wait(0);
+ 	if (!(child = fork()))
+ 		for (;;)
+ 			p[4]++;
+ 	kill(child, SIGKILL);
+ 	wait(0);
+ 	return printf("%ld %ld %ld %ld\n", p[1], p[2], p[3], p[4]) < 8;
+ }
+ end
$ gcc -w -O1 -pthread -o threads threads.c; for i in 1 2 3; do "$TESTS/record/again" "$PWD/threads"; done
> status 0, 1 lines again
> status 0, 1 lines again
> status 0, 1 lines again
# Cut anywhere, a recording is replayed to an end.
$ pugmark record -q -o r.pugrec -- ./shared > /dev/null; size=$(stat -c %s r.pugrec); for part in 3 5 6 7 8 9; do head -c $((size * part / 10)) r.pugrec > cut.pugrec; timeout -s KILL 60 pugmark replay -q cut.pugrec > /dev/null 2> err; [ $? -lt 128 ] && grep -qE 'cut off|ends here|damaged' err || { echo "$part: $?"; cat err; }; done
# A child that has stopped has not ended: its parent's replay does not wait for its end, which would come later. A parent that
# waits by waitid() prints behind its child.
$ cat > w.c <<'X'
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+
+ int main(int argc, char **argv)
+ {
+ 	int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), status = 0;
+ 	const int by_waitid = argv[1][0] == 'i';
+ 	siginfo_t info = { 0 };
+ 	pid_t pid;
+
+ 	setvbuf(stdout, NULL, _IONBF, 0);
+ 	if (argv[1][1])
+ 		munmap(shared, 4096);
+ 	if (!(pid = fork())) {
+ 		raise(SIGSTOP);
+ 		for (volatile int i = 0; i < 3000000; i++)
+ 			;
+ 		puts("child");
+ 		_exit(3);
+ 	}
+ 	if (by_waitid)
+ 		waitid(P_PID, pid, &info, WSTOPPED);
+ 	else
+ 		waitpid(pid, &status, WUNTRACED);
+ 	printf("stopped %d\n", by_waitid ? info.si_status : WSTOPSIG(status));
+ 	kill(pid, SIGCONT);
+ 	if (by_waitid)
+ 		waitid(P_PID, pid, &info, WEXITED);
+ 	else
+ 		waitpid(pid, &status, 0);
+ 	printf("ended %d\n", by_waitid ? info.si_status : WEXITSTATUS(status));
+ 	return 0;
+ }
+ X
$ gcc -O1 -o w w.c && for how in i p ix px; do ./w $how >want; pugmark record -q -o w.pugrec -- ./w $how | cmp - want; for n in 1 2 3; do pugmark replay -q w.pugrec | cmp - want && echo same; done; done | uniq -c | sed 's/^ *//'
> 12 same
