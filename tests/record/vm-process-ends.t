# Processes that have all of their parent's memory, and execute a program or are killed: the others go on, and their recording, too.
# timeout: 300
$ cat > w.c <<'end'
+ #define _GNU_SOURCE
+ #include <linux/futex.h>
+ #include <sched.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/syscall.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static char stack[8][65536];
+ static volatile long shared;
+ static volatile int stop, begun, tid[4] = { 1, 1, 1, 1 };
+ static int p[2], parent;
+ static struct lock { struct lock *next; int word; } lock;	/* in a robust list */
+ static struct { void *next; long offset; void *pending; } list;
+ static const char *how;
+ __attribute__((noinline)) static long next(long v) { return v + 1; }
+ static void count(int n) { for (int i = 0; i < n; i++) shared = next(shared); }
+ static int is(const char *s) { return !strcmp(how, s); }
+ static int thread(void *a) { for (;;) count(1000); }
+ static int child(void *arg)
+ {
+ 	count(5000);
+ 	if (is("executes")) {
+ 		dup2(p[1], 1);
+ 		execl("/nowhere/echo", "echo", (char *)0);
+ 		execl("/bin/sh", "sh", "-c", "echo executed; exit 3", (char *)0);
+ 	}
+ 	if (is("threads") || is("execthreads"))
+ 		clone(thread, stack[3 + (long)arg] + 65536, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, 0);
+ 	if (is("execthreads")) {
+ 		usleep(3000);
+ 		execl("/bin/true", "true", (char *)0);
+ 	}
+ 	if (is("robust") && arg == (void *)1) {
+ 		list.next = &lock;
+ 		lock.next = (void *)&list;
+ 		list.offset = (char *)&lock.word - (char *)&lock;
+ 		syscall(SYS_set_robust_list, &list, sizeof list);
+ 		lock.word = syscall(SYS_gettid) | FUTEX_WAITERS;
+ 	}
+ 	begun++;
+ 	if (is("waits") || is("robust"))
+ 		for (;;)
+ 			pause();
+ 	if (is("raises"))
+ 		raise(SIGTERM);
+ 	if (is("aborts"))
+ 		abort();
+ 	if (is("faults"))
+ 		*(volatile int *)16 = 1;
+ 	if (is("divides"))
+ 		return 1 / (begun - begun);
+ 	if (is("parent")) {
+ 		kill(parent, SIGKILL);
+ 		usleep(20000);
+ 		count(5000);
+ 		write(1, "child goes on\n", 14);
+ 		_exit(7);
+ 	}
+ 	for (;;)
+ 		count(1000);
+ }
+ int main(int argc, char **argv)
+ {
+ 	const int wants_tid = CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID;
+ 	const int n = argc > 2 ? atoi(argv[2]) : 1;
+ 	const int kills = strchr("wsrt", argv[1][0]) && strcmp(argv[1], "raises");
+ 	char text[64] = "";
+ 	pid_t c[4];
+ 	int st;
+ 	how = argv[1];
+ 	pipe(p);
+ 	parent = getpid();
+ 	for (long i = 0; i < n; i++)
+ 		c[i] = clone(child, stack[i] + 65536, CLONE_VM | SIGCHLD | wants_tid, (void *)(i + 1), &tid[i], 0, &tid[i]);
+ 	count(20000);
+ 	if (is("parent"))
+ 		for (;;)
+ 			count(1000);
+ 	if (kills) {
+ 		while (begun < n)
+ 			usleep(100);
+ 		for (int i = 0; i < n; i++)
+ 			kill(c[i], SIGKILL);
+ 		if (is("robust"))
+ 			for (int v; !((v = *(volatile int *)&lock.word) & FUTEX_OWNER_DIED); )
+ 				syscall(SYS_futex, &lock.word, FUTEX_WAIT, v, 0);
+ 		for (int i = 0; i < n; i++)
+ 			while (tid[i])
+ 				syscall(SYS_futex, &tid[i], FUTEX_WAIT, c[i], 0);
+ 	}
+ 	for (int i = 0; i < n; i++) {
+ 		waitpid(c[i], &st, 0);
+ 		if (is("executes"))
+ 			text[read(p[0], text, 9)] = 0;
+ 		printf("%x %s\n", st, text);
+ 		count(3000);
+ 	}
+ 	printf("%ld\n", shared);
+ 	return 4;
+ }
+ end
$ gcc -w -O1 -o w w.c
$ cat > again <<'end'
+ pugmark record -q $chaos -o r.pugrec -- ./w "$@" > a 2> e < /dev/null
+ sa=$?
+ pugmark replay -q r.pugrec > b 2>> e < /dev/null
+ sb=$?
+ [ $sa = $sb ] && cmp a b && ! grep pugmark: e && grep -v '^[0-9]*$' a | tr '\n' ' ' && echo "$1 $sa"
+ end
$ cat > all <<'end'
+ for how in executes execthreads waits spins raises aborts faults divides threads robust parent; do sh again $how $1; done 2>/dev/null
+ end
$ sh all 1
> 300 executed executes 4
> 0  execthreads 4
> 9  waits 4
> 9  spins 4
> f  raises 4
> 6  aborts 4
> b  faults 4
> 0  divides 4
> 9  threads 4
> 9  robust 4
> child goes on parent 137
# Three at once, and turns taken at random.
$ for seed in 1 2 3 4; do chaos="--chaos $seed" sh all 3; done | sort | uniq -c | sed 's/^ *//'
> 4 0  0  0  divides 4
> 4 0  0  0  execthreads 4
> 4 300 executed 300 executed 300 executed executes 4
> 4 6  6  6  aborts 4
> 4 9  9  9  robust 4
> 4 9  9  9  spins 4
> 4 9  9  9  threads 4
> 4 9  9  9  waits 4
> 4 b  b  b  faults 4
> 4 child goes on child goes on child goes on parent 137
> 4 f  f  f  raises 4
$ for how in executes robust; do pugmark record --check -o r.pugrec -- ./w $how 2>&1 | tail -n 1 | sed 's/.*; //'; done
> 0 holes in the table
> 0 holes in the table
# Traces follow from it, in which what was executed is another process.
$ sh again executes; pugmark convert -q r.pugrec r.pug; pugmark verify r.pug | tail -n 1; pugmark dump r.pug | grep -c ' exec '
> 300 executed executes 4
> r.pug: good
> 2
