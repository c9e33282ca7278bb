# A process that is killed while it executes another program has not gone on untraced: nothing is said of it.
$ cat > k.c <<'end'
+ #include <signal.h>
+ #include <sys/wait.h>
+ #include <time.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	for (int i = 0; i < 150; i++) {
+ 		const struct timespec t = { 0, 20000L * i };
+ 		const pid_t p = fork();
+ 		if (!p) {
+ 			execl("/bin/true", "true", (char *)0);
+ 			_exit(1);
+ 		}
+ 		nanosleep(&t, 0);
+ 		kill(p, SIGKILL);
+ 		waitpid(p, 0, 0);
+ 	}
+ 	return 7;
+ }
+ end
$ gcc -O1 -o k k.c; pugmark run -q -o k.report ./k; echo $?
> 7
$ pugmark record -q -o k.pugrec ./k; echo $?; pugmark replay -q -o k2.report k.pugrec; echo $?
> 7
> 7
