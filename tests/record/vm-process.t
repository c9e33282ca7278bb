# Processes that have all of their parent's memory, and are not its threads: they take turns with it.
# timeout: 200
$ cat > v.c <<'end'
+ #define _GNU_SOURCE
+ #include <linux/futex.h>
+ #include <pthread.h>
+ #include <sched.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/syscall.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static char stack[4][65536];
+ static volatile long shared;
+ static volatile int stop, tid = 1;
+ static const char *how;
+ __attribute__((noinline)) static long next(long v) { return v + 1; }
+ static void count(void)
+ {
+ 	for (int i = 0; i < 20000; i++)
+ 		shared = next(shared);	/* may lose what others count meanwhile */
+ }
+ static void say(const char *what) { printf("%s\n", what); fflush(stdout); }
+ static void on_usr1(int s) { (void)s; write(1, "child's handler\n", 16); }
+ static void on_parents(int s) { (void)s; write(1, "parent's handler\n", 17); }
+ static void *thread(void *p) { count(); for (;;) pause(); return p; }
+ static int child(void *arg)
+ {
+ 	pthread_t t;
+ 	int st, p[2];
+ 	count();
+ 	if (!strcmp(how, "handlers")) {
+ 		signal(SIGUSR1, on_usr1);
+ 		raise(SIGUSR1);
+ 		close(0);
+ 	}
+ 	if (!strcmp(how, "outlives")) {
+ 		while (!stop)
+ 			usleep(1000);
+ 		usleep(30000);
+ 		count();
+ 		say("child ends");
+ 		_exit(6);
+ 	}
+ 	if (!strcmp(how, "threads")) {
+ 		pthread_create(&t, 0, thread, 0);
+ 		count();
+ 		usleep(1000);
+ 		exit(5);
+ 	}
+ 	if (!strcmp(how, "forks")) {
+ 		pipe(p);
+ 		if (!fork()) {
+ 			write(p[1], "x", 1);
+ 			_exit(9);
+ 		}
+ 		wait(&st);
+ 		printf("child's child %x\n", st);
+ 	}
+ 	return (int)(long)arg;
+ }
+ int main(int argc, char **argv)
+ {
+ 	const int wants_tid = CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
+ 	const int n = argc > 2 ? atoi(argv[2]) : 1;
+ 	pid_t p[4];
+ 	int st;
+ 	how = argv[1];
+ 	signal(SIGUSR1, on_parents);
+ 	for (long i = 0; i < n; i++)
+ 		p[i] = clone(child, stack[i] + 65536, CLONE_VM | SIGCHLD | (strcmp(how, "tid") ? 0 : wants_tid), (void *)(i + 1), &tid, 0, &tid);
+ 	count();
+ 	if (!strcmp(how, "tid"))
+ 		while (tid)
+ 			syscall(SYS_futex, &tid, FUTEX_WAIT, p[0], 0);
+ 	if (!strcmp(how, "outlives")) {
+ 		stop = 1;
+ 		say("parent ends");
+ 		exit(3);
+ 	}
+ 	for (int i = 0; i < n; i++) {
+ 		waitpid(p[i], &st, 0);
+ 		printf("%x %d\n", st, p[i] == getpid());
+ 	}
+ 	if (!strcmp(how, "handlers"))
+ 		printf("%d\n", (raise(SIGUSR1), lseek(0, 0, SEEK_CUR) >= -1 && fcntl(0, 1) >= 0));
+ 	printf("%ld\n", shared);
+ 	return 4;
+ }
+ end
$ gcc -w -O1 -pthread -o v v.c
$ cat > again <<'end'
+ pugmark record -q $chaos -o r.pugrec -- ./v "$@" > a < /dev/null
+ sa=$?
+ sleep 0.1
+ pugmark replay -q r.pugrec > b < /dev/null
+ sb=$?
+ [ $sa = $sb ] && cmp a b && grep -v '^[0-9]*$' a | tr '\n' ' ' && echo "$1 $sa"
+ end
$ for how in returns tid outlives handlers threads forks; do sh again $how; done
> 100 0 returns 4
> 100 0 tid 4
> parent ends child ends outlives 3
> child's handler parent's handler 100 0 handlers 4
> 500 0 threads 4
> child's child 900 100 0 forks 4
# Several at once; and turns taken at random.
$ sh again returns 4; for seed in 1 2 3 4; do for how in returns tid outlives threads; do chaos="--chaos $seed" sh again $how 2; done; done | sort | uniq -c | sed 's/^ *//'
> 100 0 200 0 300 0 400 0 returns 4
> 4 100 0 200 0 returns 4
> 4 100 0 200 0 tid 4
> 4 500 0 500 0 threads 4
> 4 parent ends child ends child ends outlives 3
# A count that was lost is lost again.
$ for seed in $(seq 8); do chaos="--chaos $seed" sh again returns > /dev/null; tail -n 1 b; done | awk '$1 < 40000 { n++ } END { print (n > 0) }'
> 1
# Everything follows from it: traces, by several replays, too; and what was stored by whom.
$ sh again returns; pugmark convert r.pugrec 1.pug; PUGMARK_PART=1000 pugmark convert -j 2 r.pugrec 2.pug; for i in 1 2; do pugmark verify $i.pug > /dev/null; echo $?; pugmark dump $i.pug | grep -c ' insn '; done | sort -u | wc -l; pugmark query r.pugrec 'calls count' | cut -d@ -f1 | sort -u | wc -l
> 100 0 returns 4
> 2
> 2
# Without a recording: counted and traced.
$ for how in returns outlives threads; do pugmark run -q --exec --discard -- ./v $how > a; echo $?; done
> 4
> 3
> 4
