# Recordings of 32-bit programs: replays print what was recorded, and end so; signals, threads, faults, code that changes, segments.
# needs: $PROGRAMS/i386/args
# if: "$TESTS/can-32-bit"
# timeout: 300
$ cat >both <<'E'
+ # both PROGRAM [ARG...]: is a replay what was recorded?
+ pugmark record -q -o r.pugrec -- "$@" >rec 2>rec.err </dev/null; a=$?
+ pugmark replay -q r.pugrec >rep 2>rep.err; b=$?
+ [ $a = $b ] && cmp rec rep && cmp rec.err rep.err && echo "${1##*/} $a"
+ E
$ for p in args cuts exits jumps faults pending segv threads timer refs seccomp holes gathers stops old; do sh both "$PROGRAMS/i386/$p"; done
> args 0
> cuts 3
> exits 0
> jumps 0
> faults 0
> pending 0
> segv 0
> threads 0
> timer 0
> refs 0
> seccomp 0
> holes 0
> gathers 0
> stops 0
> old 0
$ for seed in 1 2 3; do pugmark record -q --chaos $seed -o c.pugrec -- "$PROGRAMS/i386/threads" >rec; pugmark replay -q c.pugrec >rep; cmp rec rep; done
# The same instructions and data addresses as the single-stepper sees of the program itself.
$ for p in args cuts refs; do "$TESTS/record/stepped" "$PROGRAMS/i386/$p"; done
> equal, references too
> equal, references too
> equal, references too
# Processes, and programs that are executed.
$ cat >x.c <<'E'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ struct account { int balance; } account = { 100 };
+ __attribute__((noinline)) void deposit(struct account *a, int n) { a->balance += n; __asm__ volatile("" ::: "memory"); }
+ int main(int argc, char **argv)
+ {
+ 	int st;
+ 	if (argc > 1) { printf("%s %d\n", argv[1], account.balance); return 4; }
+ 	for (int i = 0; i < 3; i++) deposit(&account, i);
+ 	if (!fork()) { execl(argv[0], argv[0], "child", (char *)0); _exit(9); }
+ 	wait(&st);
+ 	printf("balance %d, status %d\n", account.balance, WEXITSTATUS(st));
+ 	fflush(stdout);
+ 	execl(argv[0], argv[0], "again", (char *)0);
+ 	return 1;
+ }
+ E
$ gcc -m32 -O1 -g -fno-pie -no-pie -idirafter /usr/include/$(uname -m)-linux-gnu -o x x.c; sh both ./x; cat rep
> x 4
> child 100
> balance 103, status 4
> again 100
$ pugmark query r.pugrec 'calls deposit' | grep -o 'stack2=[^ ]*'; a=0x$(nm x | awk '$3 == "account" { print $1 }'); pugmark query r.pugrec "writes $a+4" | sed 's/.*: //'; p=$(pugmark query -n 1 r.pugrec 'calls deposit' | cut -d' ' -f1); pugmark query r.pugrec "value all at $p" | cut -d' ' -f1 | paste -sd' '
> stack2=0x0
> stack2=0x1
> stack2=0x2
> 0x64 -> 0x64
> 0x64 -> 0x65
> 0x65 -> 0x67
> eax ebx ecx edx esi edi ebp esp eip eflags
$ pugmark convert -q r.pugrec r.pug && pugmark convert -q -j 2 r.pugrec j.pug && pugmark verify r.pug | tail -n 1 && pugmark info r.pug | grep -o 'x86-32'; for f in r j; do pugmark head -n 1000000000 $f.pug 2>/dev/null | wc -l; done | uniq | wc -l
> r.pug: good
> x86-32
> 1
# Programs of both widths execute each other, also from a child and from a second thread: signals, descriptors, children.
$ cp "$PROGRAMS/widths" w; cp "$PROGRAMS/i386/widths" n; sh both ./w x ./n m; sh both ./n x ./w m; sh both ./w a ./n a ./w a ./n am; sh both ./w so ./n c ./w cb ./n c; sh both ./w f ./n f ./w f ./n am; sh both ./n v ./w v ./n v ./w am; sh both ./w t ./n t ./w t ./n c; sh both ./n t ./n t ./n t ./w c; sh both sh -c './n am; ./w am | cat; ./n x ./w m & wait; exec ./n cc'
> w 1
> n 1
> w 2
> w 1
> w 32
> n 32
> w 1
> n 1
> sh 2
$ sh both ./w s ./n c ./w c; pugmark query r.pugrec 'calls main' | grep -o ' stack2=\| rsi=' | sort | uniq -c | sed 's/^ *//'
> w 1
> 2  rsi=
> 1  stack2=
$ pugmark convert -q r.pugrec r.pug && pugmark convert -q -j 2 r.pugrec j.pug && pugmark verify j.pug | tail -n 1 && for f in r j; do pugmark head -n 1000000000 $f.pug 2>/dev/null | grep -vc ' time='; done | uniq | wc -l
> j.pug: good
> 1
# Processes that share memory, with programs of tests for 64-bit ones.
$ for x in 'shared-memory shared' 'shared-memory threads' 'system-v seg' 'posix-shared shm' 'posix-shared twice' 'shared-files s' 'robust robust' 'group-killed workers'; do "$TESTS/record/narrow" $x; sh both ./${x#* }; done; sh both ./shared file
> shared 0
> threads 0
> seg 3
> shm 3
> twice 0
> s 0
> robust 0
> workers 0
> shared 0
$ for seed in 1 2; do for p in shared seg robust; do pugmark record -q --chaos $seed -o c.pugrec -- ./$p >rec; pugmark replay -q c.pugrec >rep; cmp rec rep; done; done
$ pugmark record --check -o r.pugrec -- ./seg 2>&1 | tail -n 1 | sed 's/.*; //'
> 0 holes in the table
# Two programs, of one width or of both, share a file of /dev/shm.
$ cat >mixed.c <<'E'
+ #include <fcntl.h>
+ #include <stdio.h>
+ #include <sys/mman.h>
+ #include <sys/stat.h>
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static struct { int turn; volatile unsigned lost; int order[64]; } *s;
+ static void map(const char *name)
+ {
+ 	int fd = open(name, O_RDWR | O_CREAT, 0600);
+ 	ftruncate(fd, 4096);
+ 	s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
+ 	close(fd);
+ }
+ static void work(int me)
+ {
+ 	for (int i = 0; i < 20; i++) {
+ 		while (__atomic_load_n(&s->turn, __ATOMIC_ACQUIRE) % 2 != me)
+ 			usleep(100);
+ 		s->order[s->turn] = me * 100 + sizeof(long);
+ 		__atomic_add_fetch(&s->turn, 1, __ATOMIC_RELEASE);
+ 		for (int k = 0; k < 30000; k++)
+ 			s->lost++;
+ 	}
+ }
+ int main(int argc, char **argv)
+ {
+ 	char name[64];
+ 	int st, sum = 0;
+ 	if (argc > 2) { map(argv[2]); work(1); return 3; }
+ 	snprintf(name, sizeof name, "/dev/shm/mixed-%d", (int)getpid());
+ 	map(name);
+ 	if (!fork()) { execl(argv[1], argv[1], name, name, NULL); _exit(9); }
+ 	work(0);
+ 	wait(&st);
+ 	for (int i = 0; i < 40; i++) sum = (sum * 31 + s->order[i]) % 1000003;
+ 	printf("%d turns, child %d, order %d, count %u\n", s->turn, WEXITSTATUS(st), sum, s->lost);
+ 	unlink(name);
+ 	return 0;
+ }
+ E
$ gcc -w -O1 -o mixed64 mixed.c; gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -w -O1 -o mixed32 mixed.c; for a in 32 64; do for b in 32 64; do sh both ./mixed$a ./mixed$b; sed 's/, order.*//' rec; done; done
> mixed32 0
> 40 turns, child 3
> mixed32 0
> 40 turns, child 3
> mixed64 0
> 40 turns, child 3
> mixed64 0
> 40 turns, child 3
