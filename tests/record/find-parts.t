# Several replays find, each in other parts: the same answers, in the same order, also where threads take turns in the middle of a stretch without a safepoint, and where signals come.
# timeout: 300
$ cat > found.c <<'end'
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/time.h>
+ #include <unistd.h>
+ static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
+ volatile long total, ticks, spun;
+ char text[64];
+ __attribute__((noinline)) void add(long n) { total += n; __asm__ volatile("" ::: "memory"); }
+ static void on_alarm(int s) { (void)s; ticks++; }
+ static void *work(void *arg)
+ {
+ 	for (long i = 0; i < 20; i++) {
+ 		volatile long own = i;
+ 		for (int k = 0; k < 300; k++)
+ 			own += k;
+ 		pthread_mutex_lock(&m);
+ 		add((long)arg);
+ 		pthread_mutex_unlock(&m);
+ 		spun += getppid() != own;	/* a call in a stretch, and a store behind it */
+ 		if (i % 7 == 0)
+ 			usleep(100);
+ 	}
+ 	return 0;
+ }
+ int main(int argc, char **argv)
+ {
+ 	const struct itimerval each = { { 0, 3000 }, { 0, 3000 } };
+ 	pthread_t t[4];
+ 	int p[2];
+ 	signal(SIGALRM, on_alarm);
+ 	setitimer(ITIMER_REAL, &each, 0);
+ 	for (int round = 0; round < 3; round++) {
+ 		for (long i = 0; i < 4; i++)
+ 			pthread_create(&t[i], 0, work, (void *)(i + 1));
+ 		for (int i = 0; i < 4; i++)
+ 			pthread_join(t[i], 0);
+ 		for (int i = 0; i < argc * 20 - 20; i++)	/* the log is written meanwhile */
+ 			usleep(10000);
+ 		if (pipe(p) || write(p[1], "read", 4) != 4 || read(p[0], text, 60) != 4)
+ 			return 1;
+ 	}
+ 	memset(text, 'x', 40);
+ 	printf("%ld\n", total);
+ 	return !argv[0];
+ }
+ end
$ cat > same <<'end'
+ at() { nm found | awk -v n=$1 '$3 == n { print "0x" $1 }'; }
+ for q in 'calls add' 'calls on_alarm' "writes $(at spun)+8" "writes $(at text)+64" "calls getppid"; do
+ 	pugmark query $1 "$q" > one 2>&1
+ 	PUGMARK_PART=1000 pugmark query -j $2 $1 "$q" 2>&1 | cmp one - || echo "$q: -j $2 differs"
+ 	[ "$q" = 'calls on_alarm' ] || wc -l < one
+ done
+ end
$ gcc -O1 -no-pie -pthread -o found found.c; pugmark record -q -o r.pugrec -- ./found; sh same r.pugrec 3
> 600
> 240
> 240
> 6
> 240
$ pugmark record -q --chaos 2 -o c.pugrec -- ./found; sh same c.pugrec 2
> 600
> 240
> 240
> 6
> 240
# The last store is found so, too.
$ p=$(pugmark query r.pugrec 'calls add' | sed -n '150s/ .*//p'); t=0x$(nm found | awk '$3 == "total" { print $1 }'); for j in 1 3; do PUGMARK_PART=1000 pugmark query -j $j r.pugrec "last-write $t+8 before $p"; done | sort | uniq -c | wc -l
> 1
# One of those that find dies: the others' answers are there, and it is said.
$ t=0x$(nm found | awk '$3 == "total" { print $1 }'); pugmark query r.pugrec "writes $t+8" > one; for try in 1 2 3 4 5; do PUGMARK_PART=1000 pugmark query -j 2 r.pugrec "writes $t+8" > killed 2> why & q=$!; for i in $(seq 500); do p=$(for c in $(pgrep -P $q -f 'query -j 2'); do pgrep -P $c >/dev/null && echo $c; done | tail -n 1); [ "$p" ] && break; sleep 0.01; done; kill -9 $p 2>/dev/null && break; wait $q; done; wait $q; echo $?; tail -n 1 why; grep -vxFf one killed || echo all are right
> 1
> pugmark: a replay that finds has died
> all are right
# Where processes run at the same time one replay finds.
$ pugmark record -q -o f.pugrec -- sh -c './found & wait'; for j in 1 2; do PUGMARK_PART=1000 pugmark query -j $j f.pugrec 'calls add' | wc -l; done
> 600
> 240
> 240
# Nobody has the function; a recording that is cut.
$ pugmark query -j 2 r.pugrec 'calls nobody'
! pugmark: no code that was executed has a function 'nobody'
? 2
$ pugmark record -q -o slow.pugrec -- ./found slowly > o; head -c $(($(stat -c %s slow.pugrec) * 8 / 10)) slow.pugrec > cut.pugrec; for j in 1 2; do PUGMARK_PART=1000 pugmark query -j $j cut.pugrec 'calls add' > cut$j 2> why$j; echo $?; done; cmp cut1 cut2; cmp why1 why2; [ -s cut1 ] && cat why2
> 1
> 1
> pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
