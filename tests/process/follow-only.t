# Only programs of a name are traced; the others run natively, and what they start is looked at.
# needs: gcc python3 xz
$ cat >build.sh <<'END'
+ seq 200 >numbers
+ for i in 1 2; do gzip -c numbers >numbers.$i & done
+ wait
+ seq 3 | sort -r | tr '\n' ' '
+ sh -c 'xz -kc numbers | cmp - /dev/null 2>/dev/null; gzip -t numbers.1; exit 3'
+ echo "status $?"
+ sh -c 'kill -TERM $$' 2>/dev/null; echo "killed $?"
+ exit 7
+ END
$ sh build.sh >native 2>&1; echo $?; pugmark run -q --follow-only gzip --exec -o only.pug --json only.json -- sh build.sh >seen 2>&1; echo $?; cmp native seen; pugmark dump only.pug | sed -n 's/^\([0-9]*\) exec .*name=/\1 /p' | sort
> 7
> 7
> 0 "/usr/bin/gzip"
> 1 "/usr/bin/gzip"
> 2 "/usr/bin/gzip"
# the same events as when all are traced
$ cat >events.sh <<'END'
+ for pid in $(pugmark dump $1 | sed -n 's/.* exec .*pid=\([0-9]*\) name="\/usr\/bin\/gzip"/\1/p'); do
+ pugmark slice -q --thread $pid $1 one.pug && pugmark dump one.pug | awk '$2 == "exec" { on = /gzip/ }
+ on && $2 ~ /insn|branch|read|write/ { $1 = ""; print }' | cksum
+ done | sort
+ END
$ pugmark run -q --exec -o all.pug -- sh build.sh >/dev/null 2>&1; sh events.sh only.pug >got; sh events.sh all.pug >want; cmp got want; awk '{ n += $2 > 1000000 } END { print NR, n }' got
> 3 3
# a traced program's children; patterns; a path; a link's name; a script's
$ ln -s /usr/bin/gzip packer; printf '#!/bin/sh\necho script\n' >script; chmod +x script; for p in sh 'g?ip' '*/gzip' packer script cmp; do pugmark run -q --follow-only "$p" -o p.pug -- sh -c './packer -c numbers >/dev/null; ./script >/dev/null; gzip -t numbers.1; (cmp numbers numbers)'; pugmark dump p.pug | sed -n 's/.* exec .*name=".*\/\(.*\)"/\1/p' | sort | xargs; done
> dash
> gzip gzip
> gzip gzip
> gzip
> dash
> cmp
# threads that execute, posix_spawn, vfork; stops and continues as a shell's user makes them
$ cat >odd.c <<'END'
+ #define _GNU_SOURCE
+ #include <pthread.h>
+ #include <signal.h>
+ #include <spawn.h>
+ #include <stdio.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ extern char **environ;
+ static char *gzip[] = { "gzip", "-t", "numbers.1", 0 };
+ static void *thread(void *arg) { execvp(gzip[0], gzip); return arg; }
+ int main(void)
+ {
+ 	int status, stopped = 0, continued = 0;
+ 	pthread_t t;
+ 	pid_t pid;
+
+ 	if (!posix_spawnp(&pid, gzip[0], 0, 0, gzip, environ))
+ 		waitpid(pid, &status, 0);
+ 	if (!(pid = vfork()))
+ 		execvp(gzip[0], gzip), _exit(1);
+ 	waitpid(pid, &status, 0);
+ 	if (!(pid = fork()))
+ 		for (;;)
+ 			pause();
+ 	kill(pid, SIGSTOP);
+ 	stopped = waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status);
+ 	kill(pid, SIGCONT);
+ 	continued = waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status);
+ 	kill(pid, SIGKILL);
+ 	waitpid(pid, &status, 0);
+ 	printf("%d %d %d\n", stopped, continued, WTERMSIG(status));
+ 	fflush(stdout);
+ 	pthread_create(&t, 0, thread, 0);
+ 	pthread_join(t, 0);
+ 	return 1;
+ }
+ END
$ gcc -O1 -pthread -o odd odd.c && pugmark run -q --follow-only gzip -o o.pug -- ./odd; echo $?; pugmark dump o.pug | grep -c ' exec .*gzip'; pugmark run -q --follow-only odd -o o.pug -- ./odd; echo $?; pugmark dump o.pug | sed -n 's/.* exec .*name=".*\/\(.*\)"/\1/p'
> 1 1 9
> 0
> 3
> 1 1 9
> 0
> odd
# others run as they do natively
$ cat >where.py <<'END'
+ import re
+ print([l for l in open("/proc/self/maps") if "pugmark" in l], "rwx" in open("/proc/self/maps").read())
+ END
$ pugmark run -q --follow-only gzip --count -- sh -c '/usr/bin/python3 where.py; gzip -t numbers.1' 2>/dev/null
> [] False
# the process that is attached to is traced whatever it is called; a profile; what is wrong
$ pugmark run --report text --follow-only xz -- sh build.sh >/dev/null 2>&1; grep -c '/xz' text; pugmark run -q --follow-only nosuch -- sh -c true; echo $?; pugmark run --follow-only a --no-follow -- true; echo $?
> 1
> 1
> 2
! pugmark: --follow-only: no program that ran matches 'nosuch'
! pugmark: --follow-only and --no-follow exclude each other (see `pugmark run --help`)
# detached, what is watched goes on, too, in the midst of a fork as well
$ cat >long.sh <<'END'
+ while [ ! -e stop ]; do (:); /bin/true; done
+ echo over
+ END
$ { pugmark run -q --follow-only cat --detach-after 0.3 --report r -- sh -c 'cat <numbers >copy; sh long.sh' & }; p=$!; sleep 1; pgrep -f 'sh long.sh' >/dev/null && grep TracerPid /proc/$(pgrep -n -f '^sh long.sh')/status; touch stop; wait $p
> TracerPid:	0
> over
# where ptrace() is refused
$ ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" pugmark run -q --follow-only true -- true
? 1
! pugmark: ptrace() is refused here: what is not to be traced cannot be watched, as --follow-only does
