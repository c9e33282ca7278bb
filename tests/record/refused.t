# What cannot be recorded is said, the program goes on, and what is there replays.
# A process that has its parent's memory is killed by one that has not, while it executes; its parent executes a program.
$ cat > v.c <<'end'
+ #define _GNU_SOURCE
+ #include <sched.h>
+ #include <signal.h>
+ #include <stdio.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static char stack[65536];
+ static volatile int n;
+ static int child(void *arg) { for (int i = 0; i < 300000000; i++) n++; _exit(1); }
+ int main(int argc, char **argv)
+ {
+ 	int st;
+ 	puts("begin");
+ 	fflush(stdout);
+ 	pid_t p = clone(child, stack + sizeof stack, CLONE_VM | 17, 0);
+ 	if (argc > 1) {
+ 		usleep(1000);
+ 		execl("/bin/echo", "echo", "executed", (char *)0);
+ 	}
+ 	if (!fork()) {
+ 		usleep(50000);
+ 		kill(p, SIGKILL);
+ 		_exit(0);
+ 	}
+ 	waitpid(p, &st, 0);
+ 	printf("%x\n", st);
+ 	return 0;
+ }
+ end
$ gcc -w -o v v.c; for how in "" executes; do pugmark record -o r.pugrec -- ./v $how 2>&1 | sed 's/process [0-9]*/process N/'; pugmark replay -q r.pugrec; done
> begin
> pugmark: the recording ends here: process N and others have the same memory, and one of them is killed while it executes
> 9
> begin
! pugmark: the recording ends here: the program and others have the same memory, and one of them is killed while it executes
> begin
> pugmark: the recording ends here: process N and others have the same memory, and one of them executes a program
> executed
> begin
! pugmark: the recording ends here: the program and others have the same memory, and one of them executes a program
# Nothing is written where the program does not begin.
$ pugmark record -o none.pugrec -- ./not-there; ls *.pugrec
> r.pugrec
! pugmark: ./not-there: cannot execute: No such file or directory
$ pugmark record -- true
! pugmark: -o FILE is missing: where the recording goes (see `pugmark record --help`)
? 2
$ pugmark record -o /nowhere/r.pugrec -- true
! pugmark: /nowhere/r.pugrec: cannot create: No such file or directory
? 1
# A 32-bit system call of 64-bit code, which kernels may refuse.
$ cat > i.c <<'end'
+ #include <stdio.h>
+ int main(void) { int r = 20; puts("begin"); fflush(stdout); __asm__ volatile("int $0x80" : "+a"(r) :: "r8", "r9", "r10", "r11", "memory"); return 0; }
+ end
$ gcc -o i i.c && { pugmark record -o r.pugrec -- ./i; } 2>&1 | sed 's/process [0-9]*/process N/; /^Segm/d'; pugmark replay -q r.pugrec
> begin
> pugmark: the recording ends here: process N makes a 32-bit system call from 64-bit code (int $0x80)
> begin
! pugmark: the recording ends here: the program makes a 32-bit system call from 64-bit code (int $0x80)
