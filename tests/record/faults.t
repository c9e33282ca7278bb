# What a replay would not find by itself: pages of a file that has become shorter, and handlers that a clone3() does not copy.
$ for p in segv segv-nopie faults; do "$TESTS/record/again" "$PROGRAMS/$p"; done
> status 0, 5 lines again
> status 0, 5 lines again
> status 0, 51 lines again
# Another process truncates the file; each page that is used faults.
$ cat > gone.c <<'end'
+ #include <fcntl.h>
+ #include <setjmp.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ static sigjmp_buf back;
+ static char *at;
+ static void bus(int sig, siginfo_t *si, void *c) { at = si->si_addr; siglongjmp(back, sig); }
+ int main(void)
+ {
+ 	struct sigaction sa = { .sa_sigaction = bus, .sa_flags = SA_SIGINFO };
+ 	int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0600), sum = 0;
+ 	ftruncate(fd, 5 * 4096);
+ 	pwrite(fd, "abc", 3, 3 * 4096);
+ 	char *m = mmap(0, 5 * 4096, PROT_READ, MAP_SHARED, fd, 0);
+ 	sum = m[3 * 4096];
+ 	system("truncate -s 4096 f");
+ 	sigaction(SIGBUS, &sa, 0);
+ 	for (volatile int i = 0; i < 5; i++)
+ 		if (sigsetjmp(back, 1))
+ 			printf("page %d at %ld\n", i, (long)(at - m));
+ 		else
+ 			sum += ((volatile char *)m)[i * 4096 + i];
+ 	printf("%d\n", sum);
+ 	m[4096 + 1];
+ 	fflush(stdout);
+ 	signal(SIGBUS, SIG_DFL);
+ 	return ((volatile char *)m)[8192];
+ }
+ end
$ gcc -w -o gone.in gone.c && "$TESTS/record/again" ./gone.in 2>/dev/null	# the shell says who died
> status 135, 5 lines again
# CLONE_CLEAR_SIGHAND: the child has no handlers.
$ cat > clear.c <<'end'
+ #define _GNU_SOURCE
+ #include <linux/sched.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/syscall.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static void handler(int s) { write(1, "handler\n", 8); }
+ static void make(unsigned long long flags)
+ {
+ 	struct clone_args a = { .flags = flags, .exit_signal = SIGCHLD };
+ 	struct sigaction sa, ignored;
+ 	int status;
+ 	long pid = syscall(SYS_clone3, &a, sizeof a);
+ 	if (!pid) {
+ 		sigaction(SIGUSR1, 0, &sa);
+ 		sigaction(SIGUSR2, 0, &ignored);
+ 		dprintf(1, "%s, %s\n", sa.sa_handler == SIG_DFL ? "default" : "kept", ignored.sa_handler == SIG_IGN ? "ignored" : "not");
+ 		raise(SIGUSR1);
+ 		_exit(3);
+ 	}
+ 	waitpid(pid, &status, 0);
+ 	dprintf(1, "%x\n", status);
+ }
+ int main(void) { signal(SIGUSR1, handler); signal(SIGUSR2, SIG_IGN); make(0); make(0x100000000); make(0x100000000 | CLONE_VFORK); raise(SIGUSR1); return 0; }
+ end
$ gcc -w -o clear.in clear.c && ./clear.in && "$TESTS/record/again" ./clear.in
> kept, ignored
> handler
> 300
> default, ignored
> a
> default, ignored
> a
> handler
> status 0, 8 lines again
