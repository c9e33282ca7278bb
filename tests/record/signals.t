# Signals that come in front of, in and behind system calls; faults.
$ "$TESTS/record/again" /usr/bin/sh -c 'trap "echo got" USR1; kill -USR1 $$; echo done; trap "echo bye" EXIT; kill -TERM $$' 2>&1 | grep again
> status 143, 2 lines again
$ "$TESTS/record/again" timeout 5 sleep 0.1 2>&1 | grep again
> status 0, 0 lines again
$ "$TESTS/record/again" perl -e '$SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select(undef, undef, undef, 3); for (1 .. 3) { kill "ALRM", $$ } print "end\n"'
> status 0, 5 lines again
$ "$TESTS/record/again" "$PROGRAMS/exits" segv 2>&1 | grep again
> status 139, 1 lines again
# One that the program blocks, and that sigsuspend() lets in.
$ cat > s.c <<'end'
+ #include <signal.h>
+ #include <stdio.h>
+ static void handler(int sig) { printf("got %d\n", sig); }
+ int main(void) { sigset_t s, none; signal(SIGSEGV, handler); sigemptyset(&none); sigemptyset(&s); sigaddset(&s, SIGSEGV); sigprocmask(SIG_BLOCK, &s, 0); raise(SIGSEGV); puts("blocked"); sigsuspend(&none); puts("end"); return 0; }
+ end
$ gcc -o sus.in s.c && "$TESTS/record/again" ./sus.in
> status 0, 3 lines again
# Signals that are blocked when somebody sends them.
$ "$TESTS/record/again" "$PROGRAMS/pending"
> status 0, 9 lines again
# A program that waits for a signal without a system call.
$ cat > wait.c <<'end'
+ #include <signal.h>
+ #include <stdio.h>
+ #include <unistd.h>
+ static volatile int got;
+ static void handler(int sig) { got = sig; }
+ int main(void) { unsigned long n = 0; signal(SIGALRM, handler); puts("begin"); fflush(stdout); alarm(1); while (!got) n++; printf("got %d after %lu\n", got, n); return 0; }
+ end
$ gcc -O1 -o wait.in wait.c && "$TESTS/record/again" ./wait.in
> status 0, 2 lines again
$ "$TESTS/record/again" perl -e '$SIG{ALRM} = sub { print "alarm after $n\n"; exit 5 }; alarm 1; $n++ while 1'
> status 5, 1 lines again
# In code that passes no safepoint.
$ cat > n.c <<'end'
+ #include <signal.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <unistd.h>
+ static void handler(int sig) { printf("got %d\n", sig); exit(0); }
+ int main(void) { signal(SIGALRM, handler); puts("begin"); fflush(stdout); alarm(1); __asm__ volatile(".data; slot: .quad 1f; .text; 1: jmp *slot(%rip)"); return 0; }
+ end
$ gcc -no-pie -o n n.c && timeout 20 pugmark record -o r.pugrec -- ./n 2>&1 | sed 's/process [0-9]*/process N/'
> begin
> pugmark: the recording ends here: process N gets a signal where none can be given: in code that passes no safepoint
> got 14
$ timeout 20 pugmark replay -q r.pugrec
> begin
! pugmark: the recording ends here: the program gets a signal where none can be given: in code that passes no safepoint
