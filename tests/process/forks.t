# fork, vfork, posix_spawn, clone, exec chains, orphans.
$ "$TESTS/process/both" forks
> equal: status 0, 10 lines
$ "$TESTS/process/both" forks-nopie
> equal: status 0, 10 lines
# A child of vfork() that has its parent trace it, and then executes what its parent has not: it does not stop before it executes
# another program, for nobody would let it go on. Its parent gets that stop, and no other one.
$ cat > v.c <<'X'
+ #include <errno.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/ptrace.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+
+ int main(int argc, char **argv)
+ {
+ 	static volatile long traced;
+ 	int status;
+ 	pid_t pid;
+
+ 	signal(SIGALRM, SIG_DFL);
+ 	if (!(pid = vfork())) {
+ 		traced = ptrace(PTRACE_TRACEME, 0, 0, 0);
+ 		if (getppid() == 1 || getsid(0) == 1 || setpgid(0, getpgrp()))	/* through stubs that lead nowhere yet */
+ 			_exit(2);
+ 		execl("/no/such", "such", NULL);
+ 		execv(argv[1], argv + 1);
+ 		_exit(errno);
+ 	}
+ 	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
+ 		printf("stop %d\n", WSTOPSIG(status));
+ 		ptrace(PTRACE_DETACH, pid, 0, 0);
+ 	}
+ 	printf("%ld status %#x\n", traced, status);
+ 	return argc < 2;
+ }
+ X
$ gcc -O1 -Wl,-z,lazy -o v v.c && for p in /bin/true /bin/false /no/such; do ./v $p; timeout -s KILL 60 pugmark run -q -- ./v $p; done
> stop 5
> 0 status 0
> stop 5
> 0 status 0
> stop 5
> 0 status 0x100
> stop 5
> 0 status 0x100
> 0 status 0x200
> 0 status 0x200
# Where ptrace() is refused the child is told.
$ ASAN_OPTIONS=detect_leaks=0 timeout -s KILL 60 pugmark run -q -- "$PROGRAMS/noptrace" ./v /bin/true
> -1 status 0
