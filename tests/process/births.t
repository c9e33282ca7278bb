# What a thread does stands in a trace behind the call that made it, and so behind all that led to it: else whose heap it uses
# nobody could know. The thread that waits executes little: its buffer would be looked at last.
$ cat >born.c <<'END'
+ #include <pthread.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static void *work(void *p)
+ {
+ 	for (int k = 0; k < 10000; k++)
+ 		((volatile char *)p)[k]++;
+ 	return 0;
+ }
+ static char *make(void) { return memset(malloc(10000), 1, 10000); }
+ int main(int argc, char **argv)
+ {
+ 	pthread_t t[3];
+ 	char *p = make();
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_create(t + i, 0, work, p);
+ 	for (int i = 0; i < 3; i++)
+ 		pthread_join(t[i], 0);
+ 	if (argc > 1 && !fork())
+ 		_exit(0);
+ 	wait(0);
+ 	free(p);
+ 	return 0;
+ }
+ END
$ gcc -g -O1 -pthread -o born born.c
$ cat >born.awk <<'END'
+ !($1 in seen) { seen[$1]; printf made >= streams++ ? "behind " : "before " }
+ $2 == "syscall" && / number=(56|57|120|435) / { made++ }
+ END
$ pugmark run -q --exec -o born.pug -- ./born fork; pugmark dump born.pug | awk -f born.awk
>- behind behind behind behind behind 
$ pugmark run -q --branch -o born.pug -- ./born fork; pugmark dump born.pug | awk -f born.awk
>- behind behind behind behind behind 
$ pugmark run -q -s 'objects:top=1000' --csv csv -- ./born; awk -F, '/by_object.*(reads|writes)/ { n = n " " $2 } /\.object,/ { if (/born.c:/) print n; n = "" }' csv
>  30000 40000
# Of a recording, too, by one replay and by two that trace parts.
$ pugmark record -q -o born.pugrec -- ./born; for j in 1 2; do pugmark convert -q -j $j born.pugrec born.pug; pugmark dump born.pug | awk -f born.awk; done
>- behind behind behind behind behind behind behind behind 
