# A recording is the same wherever and whenever it is replayed: with other addresses, limits, environments, load, caches, and
# when what the program read and executed is gone.
# needs: setarch taskset
# timeout: 120
$ cat > all.c <<'end'
+ #define _GNU_SOURCE
+ #include <pthread.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/resource.h>
+ #include <sys/time.h>
+ #include <time.h>
+ #include <unistd.h>
+ static volatile long ticks, shared;
+ static void tick(int s) { ticks++; }
+ static void *count(void *a) { for (int i = 0; i < 3000000; i++) shared++; return a; }
+ int main(int argc, char **argv, char **env)
+ {
+ 	struct itimerval it = { { 0, 3000 }, { 0, 3000 } };
+ 	struct rlimit stack;
+ 	char here[4096], line[100] = "";
+ 	pthread_t t[3];
+ 	FILE *f = fopen("file.in", "r");
+ 	signal(SIGALRM, tick);
+ 	setitimer(ITIMER_REAL, &it, 0);
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_create(t + i, 0, count, 0);
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_join(t[i], 0);
+ 	while (ticks < 5)
+ 		;
+ 	getrlimit(RLIMIT_STACK, &stack);
+ 	fgets(line, 100, f);
+ 	printf("%p %p %p %p\n", main, printf, &it, malloc(10));
+ 	printf("%ld %ld %ld %d %s %s\n", ticks, shared, (long)time(0), getpid(), getenv("HOME"), getcwd(here, sizeof here));
+ 	printf("%ld %s", (long)stack.rlim_cur, line);
+ 	fflush(stdout);
+ 	return system("./child; echo $? $$ $PPID; cat file.in | wc -c");
+ }
+ end
$ echo 'int main(void) { return 7; }' > child.c; mkdir there && gcc -w -pthread -o there/all all.c && gcc -o there/child child.c && echo words > there/file.in
$ (cd there && pugmark record --aslr -o ../r.pugrec -- ./all > ../want); sed -n '$p' want; rm -r there
> 6
$ pugmark replay -q r.pugrec | cmp want -
# Addresses are those that were random then. No limit of the stack; one processor; a low priority; a large environment.
$ setarch -R pugmark replay -q r.pugrec | cmp want -
$ (ulimit -s unlimited; pugmark replay -q r.pugrec | cmp want -); (ulimit -s 256; pugmark replay -q r.pugrec | cmp want -)
$ taskset -c 0 nice -n 10 pugmark replay -q r.pugrec | cmp want -
$ env -i PATH="$PATH" XDG_CACHE_HOME="$XDG_CACHE_HOME" MUCH="$(seq 1 5000)" LD_BIND_NOW=1 MALLOC_ARENA_MAX=1 pugmark replay -q r.pugrec | cmp want -
# Nothing translated before; nothing kept; for another purpose; and all that while others keep the processors busy.
$ pugmark replay -q --cache-dir cold r.pugrec | cmp want -; pugmark replay -q --no-cache r.pugrec | cmp want -; pugmark replay -q --exec --discard r.pugrec | cmp want -
$ for i in 1 2 3 4; do (exec timeout 60 sh -c 'while :; do :; done') & all="$all $!"; done; for i in 1 2; do pugmark replay -q r.pugrec | cmp want -; done; kill $all; wait 2>/dev/null
# Without rights to write anywhere, or to what the program had.
$ mkdir dark && chmod 555 dark && (cd dark && pugmark replay -q ../r.pugrec | cmp ../want -)
# A program whose file has no name any more, and one that never had one: it is in the recording, whatever the options say.
$ cp /bin/echo gone; pugmark record -q -o g.pugrec -- bash -c 'exec 5< gone; rm gone; exec /proc/self/fd/5 it was there'; pugmark replay -q g.pugrec
> it was there
> it was there
$ cat > mem.c <<'end'
+ #define _GNU_SOURCE
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(int argc, char **argv)
+ {
+ 	char b[65536], path[64];
+ 	int in = open(argv[1], O_RDONLY), fd = memfd_create("x", 0);
+ 	for (ssize_t n; (n = read(in, b, sizeof b)) > 0; )
+ 		write(fd, b, n);
+ 	sprintf(path, "/proc/self/fd/%d", fd);
+ 	execv(path, argv + 1);
+ 	return 1;
+ }
+ end
+ cc -w -o mem mem.c; for how in --lean --portable; do pugmark record -q $how -o m.pugrec -- ./mem /bin/echo from memory; pugmark replay -q m.pugrec; rm m.pugrec; done
> from memory
> from memory
> from memory
> from memory
