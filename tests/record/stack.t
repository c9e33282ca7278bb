# A replayed stack grows as far as the recorded one could, whatever the limit of who replays; and a process that dies where the
# recorded one went on is said to differ.
# needs: gcc
# timeout: 120
$ cat > stack.c <<'end'
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/resource.h>
+ #include <unistd.h>
+ static char other[65536];
+ static volatile int depth;
+ static void told(int s) { printf("over\n"); fflush(stdout); _exit(depth ? 3 : 4); }
+ static long down(int n)
+ {
+ 	volatile char b[100000];
+ 	depth++;
+ 	for (int i = 0; i < 100000; i += 512)
+ 		b[i] = (char)(i >> 9);
+ 	return n ? down(n - 1) + b[512] : 0;
+ }
+ int main(int argc, char **argv)
+ {
+ 	stack_t st = { .ss_sp = other, .ss_size = sizeof other };
+ 	struct sigaction a = { .sa_handler = told, .sa_flags = SA_ONSTACK };
+ 	struct rlimit r;
+ 	if (argc > 2) {
+ 		getrlimit(RLIMIT_STACK, &r);
+ 		r.rlim_cur = (rlim_t)atol(argv[2]) << 20;
+ 		if (setrlimit(RLIMIT_STACK, &r))
+ 			return 9;
+ 	}
+ 	sigaltstack(&st, 0);
+ 	sigaction(SIGSEGV, &a, 0);
+ 	printf("%ld\n", down(atoi(argv[1])));
+ 	return 0;
+ }
+ end
$ gcc -w -O1 -o stack stack.c
# Within the limit; as another process's child, whose output would be missing; beyond the limit, to the byte; beyond a limit
# that the program raises.
$ cat > again <<'end'
+ pugmark record -q -o r.pugrec -- "$@" >want
+ status=$?
+ for most in 256 8192 65536; do
+ 	(ulimit -S -s 256; ulimit -s $most; pugmark replay -q r.pugrec >out; [ $? = $status ] && cmp want out) || echo "$most: differs"
+ done
+ echo "$status $(cat want)"
+ end
$ for n in 20 1000 "600 100" "2000 100"; do sh again ./stack $n; done; sh again sh -c './stack 20; echo $?'
> 0 20
> 3 over
> 0 600
> 3 over
> 0 20
> 0
# Killed from outside, alone and as a child of a shell.
$ pugmark record -q -o k.pugrec -- sh -c '(i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done; echo $i); echo end'
> 1000000
> end
$ cat > kill-one <<'end'
+ children() { cat /proc/"$1"/task/*/children; }
+ pugmark replay -q k.pugrec >out 2>err &
+ for i in $(seq 500); do
+ 	victim=$(children $! 2>/dev/null)
+ 	[ $1 = child ] && [ "$victim" ] && victim=$(for v in $victim; do children $v; done 2>/dev/null)
+ 	[ "$victim" ] && break
+ 	sleep 0.01
+ done
+ sleep 0.1
+ if [ $1 = replay ]; then kill $!; else kill -9 $victim; fi
+ wait $!
+ echo $?
+ sed -E 's/event [0-9]+: process [0-9]+/event N: process P/' err
+ end
$ sh kill-one child; sh kill-one root
> 1
> pugmark: k.pugrec: the replay differs from the recording behind event N: process P ends, where the recorded one went on
> 1
> pugmark: k.pugrec: the replay differs from the recording behind event N: process P is killed by signal 9, where the recorded one went on
# Who interrupts a replay knows why it ended.
$ sh kill-one replay 2>/dev/null
> 143
# The limit is raised by somebody else while the program runs.
$ cat > asks.c <<'end'
+ #include <stdio.h>
+ #include <unistd.h>
+ static long down(int n)
+ {
+ 	volatile char b[100000];
+ 	for (int i = 0; i < 100000; i += 512)
+ 		b[i] = (char)(i >> 9);
+ 	return n ? down(n - 1) + b[512] : 0;
+ }
+ int main(void)
+ {
+ 	FILE *f = fopen("pid", "w");
+ 	fprintf(f, "%d\n", getpid());
+ 	fclose(f);
+ 	rename("pid", "ready");
+ 	while (access("go", F_OK))
+ 		usleep(10000);
+ 	printf("%ld\n", down(400));
+ 	return 0;
+ }
+ end
$ cat > raised <<'end'
+ rm -f ready go
+ pugmark record -q -o r.pugrec -- ./asks &
+ until [ -s ready ]; do sleep 0.02; done
+ prlimit --pid $(cat ready) --stack=67108864
+ sleep 0.3
+ touch go
+ wait
+ pugmark replay -q r.pugrec
+ end
$ ulimit -S -s 8192; gcc -w -O1 -o asks asks.c; sh raised; if "$TESTS/can-32-bit" >/dev/null && gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -w -O1 -o asks asks.c 2>/dev/null; then sh raised; else printf '400\n400\n'; fi
> 400
> 400
> 400
> 400
