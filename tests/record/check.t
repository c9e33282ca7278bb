# record --check: what system calls write to memory, and the log does not have, is found, with and without the kernel's help.
# needs: gzip sort
# timeout: 60
$ cat > m.c <<'end'
+ #define _GNU_SOURCE
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <sys/uio.h>
+ #include <unistd.h>
+ static char here[64], there[64], from[] = "abcdefgh", other[] = "01234567";
+ int main(void)
+ {
+ 	int f = open("/proc/self/mem", O_RDWR);
+ 	char *p = here + 4;
+ 	struct { struct iovec in[6]; } v = { { [5] = { there, 8 } } };
+ 	for (int i = 0; i < 3; i++)
+ 		pwrite(f, i % 2 ? "hello" : "other", 5, (off_t)p);
+ 	lseek(f, (off_t)there + 40, SEEK_SET);
+ 	write(f, "far", 3);
+ 	process_vm_writev(getpid(), &(struct iovec){ from, 8 }, 1, v.in + 5, 1, 0);
+ 	return !(there[0] == 'a' && other[0] == '0');
+ }
+ end
# /proc/self/mem is what no table has: an argument points there, or none does. process_vm_writev() is known.
$ gcc -w -o m m.c && for how in check check-pages; do pugmark record --$how -o $how.pugrec -- ./m; echo $?; done 2>&1 | sed -E 's/at 0x[0-9a-f]+/at X/; s/in [^ ]*\/m,/in m,/; s/^pugmark: [0-9]+ sys/pugmark: N sys/'
> pugmark: not in the table of system calls: pwrite64 wrote 5 bytes from byte 0 on of what its argument 4 points to (3 calls)
> pugmark: not in the table of system calls: write wrote 3 bytes at X, in m, behind none of its arguments (1 call)
> pugmark: N system calls checked, 0 not: other threads ran meanwhile; 2 holes in the table
> 1
> pugmark: not in the table of system calls: pwrite64 wrote 5 bytes from byte 0 on of what its argument 4 points to (3 calls)
> pugmark: not in the table of system calls: write wrote 3 bytes at X, in m, behind none of its arguments (1 call)
> pugmark: N system calls checked, 0 not: other threads ran meanwhile; 2 holes in the table
> 1
$ pugmark replay -q check.pugrec
# Nothing is found elsewhere, and the recording is one.
$ seq 9999 > in; for how in check check-pages; do pugmark record --$how -o r.pugrec -- sh -c 'gzip -c in | gzip -dc | sort -n | tail -n 1' && pugmark replay -q r.pugrec; done 2>&1 | sed 's/pugmark: [0-9]* sys/pugmark: N sys/'
> 9999
> pugmark: N system calls checked, 0 not: other threads ran meanwhile; 0 holes in the table
> 9999
> 9999
> pugmark: N system calls checked, 0 not: other threads ran meanwhile; 0 holes in the table
> 9999
# Threads: calls in which others ran are counted; a pipe that one writes while another waits in read() is none.
$ cat > t.c <<'end'
+ #include <pthread.h>
+ #include <unistd.h>
+ static int p[2];
+ static char got[8];
+ static void *reader(void *a) { for (int i = 0; i < 50; i++) read(p[0], got, 8); return a; }
+ int main(void) { pthread_t t; pipe(p); pthread_create(&t, 0, reader, 0); for (int i = 0; i < 50; i++) { usleep(500); write(p[1], i % 2 ? "12345678" : "abcdefgh", 8); } pthread_join(t, 0); return 0; }
+ end
$ gcc -w -pthread -o t t.c && pugmark record --check -o r.pugrec -- ./t 2>&1 | sed -E 's/[0-9]+ system calls checked, [1-9][0-9]* not/N checked, M not/'; pugmark replay -q r.pugrec
> pugmark: N checked, M not: other threads ran meanwhile; 0 holes in the table
# A program that cannot begin has no calls: one line says why.
$ pugmark record --check -o r.pugrec -- ./none
! pugmark: ./none: cannot execute: No such file or directory
? 1
