# Only some threads of a program, by name or number: the same events as a whole trace has of them.
# needs: gcc python3
$ cat >named.c <<'END'
+ #include <pthread.h>
+ #include <sys/prctl.h>
+ static void *work(void *name)
+ {
+ 	prctl(PR_SET_NAME, name);
+ 	for (volatile int i = 0; i < 1000; i++)
+ 		;
+ 	return 0;
+ }
+ int main(void)
+ {
+ 	static char *name[] = { "alpha", "beta", "alphabet" };
+ 	pthread_t t;
+
+ 	for (int i = 0; i < 3; i++) {
+ 		pthread_create(&t, 0, work, name[i]);
+ 		pthread_join(t, 0);
+ 	}
+ 	return 0;
+ }
+ END
# in which order the events of several threads stand in a trace is left to when each is read
$ gcc -O1 -pthread -o named named.c && pugmark run -q -o all.pug -- ./named && pugmark dump all.pug | awk '$2 == "sysret" { name[$1] = $0 ~ /name=/ ? $0 : name[$1] } $2 == "thread" { print $1, $2 } /name="(alpha|beta)/ { print $1, $2, $5 }' | sort -s -n -k 1,1
> 1 thread
> 1 sysret name="alpha"
> 2 thread
> 2 sysret name="beta"
> 3 thread
> 3 sysret name="alphabet"
$ for name in alpha beta 'al*' 'named'; do pugmark run -q --thread "$name" -o one.pug -- ./named && pugmark dump one.pug | awk '$2 == "insn" { print $1 }' | uniq | sort -u | xargs; done
> 1
> 2
> 1 3
> 0
# from the moment on at which it has the name, what the whole trace has of that thread; addresses of code that only one run translates apart
$ pugmark run -q --thread beta -o beta.pug -- ./named; tid=$(pugmark dump all.pug | sed -n 's/^2 thread.*tid=//p'); pugmark slice --thread $tid all.pug sliced.pug && pugmark dump sliced.pug | sed -n '/name="beta"/,$p' | grep -v -e ' time ' | sed 's/tid=[0-9]*//' >want; pugmark dump beta.pug | grep -v -e ' time ' | sed 1d >got; head -n 1 got; cmp got want; wc -l <got | awk '{ print ($1 > 4000) }'; pugmark dump beta.pug | grep -v ' time ' | sed -n '1s/=[0-9]*/=N/p'
> 2 sysret 0x0 - name="beta"
> 1
> 2 lost 0x0 - events=N
# pages of traces have the names
$ pugmark report -o page.html --no-open all.pug && grep -o '<td>[0-9]* [a-z]*</td><td>[^<]*/named</td>' page.html | sed 's/<td>[0-9]* \([a-z]*\).*/\1/'
> page.html
> alpha
> beta
> alphabet
# what is counted, and what was executed
$ pugmark run -q --thread beta --json j --count -- ./named && tr -d ' ,"' <j | awk -F: '$1 == "instructions" && !n { n = $2 } $1 == "executed_instructions" { print ($2 > n), (n > 4000) }'
> 1 1
# several of them; with a region; a simulator
$ pugmark run -q --thread alpha --thread beta -o two.pug -- ./named && pugmark dump two.pug | awk '$2 == "insn" { print $1 }' | uniq | sort -u | xargs; pugmark run -q --thread beta --start-at work -o r.pug -- ./named && pugmark dump r.pug | awk '$2 == "insn" { print $1 }' | uniq | sort -u | xargs
> 1 2
> 2
# threads of python3
$ cat >threads.py <<'END'
+ import ctypes, threading
+ prctl = ctypes.CDLL(None).prctl
+ def work(name):
+     prctl(15, name, 0, 0, 0)
+     sum(range(1000))
+ for name in b"one", b"two":
+     t = threading.Thread(target=work, args=(name,))
+     t.start()
+     t.join()
+ END
$ pugmark run -q --thread two -o py.pug -- /usr/bin/python3 threads.py && pugmark dump py.pug | awk '$2 == "sysret" && /name=/ { print $1, $5 } $2 == "insn" { n[$1]++ } END { for (i in n) print i, (n[i] > 9999) }'
> 2 name="two"
> 2 1
# by number, of a process that runs already
$ cat >spin.c <<'END'
+ #include <pthread.h>
+ #include <stdio.h>
+ #include <sys/syscall.h>
+ #include <unistd.h>
+ volatile int over;
+ static void *spin(void *arg)
+ {
+ 	FILE *f = fopen(arg, "w");
+
+ 	fprintf(f, "%ld\n", syscall(SYS_gettid));
+ 	fclose(f);
+ 	while (!over)
+ 		usleep(1000);
+ 	return 0;
+ }
+ int main(void)
+ {
+ 	pthread_t t[2];
+
+ 	pthread_create(t, 0, spin, "tid.0");
+ 	pthread_create(t + 1, 0, spin, "tid.1");
+ 	while (access("stop", F_OK))
+ 		usleep(1000);
+ 	over = 1;
+ 	pthread_join(t[0], 0);
+ 	return pthread_join(t[1], 0);
+ }
+ END
$ gcc -O1 -pthread -o spin spin.c && { ./spin & }; pid=$!; until [ -s tid.0 ] && [ -s tid.1 ]; do sleep 0.02; done; pugmark run -q --pid $pid --detach-after 0.5 --thread $(cat tid.1) --count --json a.json; touch stop; wait; tr -d ' ,"' <a.json | sed -n 's/^tid:/tid /p' | sed "s/$(cat tid.1)/second/"
> tid second
# bad ones
$ pugmark run -q --thread nobody --count -- ./named; echo $?; pugmark run -q --thread alpha -- ./named; echo $?
> 1
> 2
! pugmark: --thread: there was no thread 'nobody'; threads are called named, alpha, beta, alphabet
! pugmark: --thread is for traces: --branch, --cache or --exec (see `pugmark run --help`)
