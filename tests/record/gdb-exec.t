# gdb goes over calls that execute other programs, forwards and back: it knows the program that runs where it stands.
# needs: gdb python3
# timeout: 300
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __tsan' || { echo 'with the thread sanitizer a replay makes fewer checkpoints than these tests count'; false; }
$ cat > one.c <<'end'
+ #include <sys/wait.h>
+ #include <unistd.h>
+ static int count = 7;
+ void first(int n) { count += n; }
+ int main(void)
+ {
+ 	first(1);
+ 	if (!fork())
+ 		execl("/bin/true", "true", NULL);		/* another process's is no stop */
+ 	wait(0);
+ 	execl("/none", "none", NULL);				/* nor one that fails */
+ 	first(2);
+ 	execl("./two", "./two", "argument", NULL);
+ }
+ end
$ cat > two.c <<'end'
+ #include <pthread.h>
+ #include <unistd.h>
+ static long total;
+ void second(int n) { total += n; }
+ static void *run(void *arg)
+ {
+ 	second(3);
+ 	execl("./three", "./three", arg, NULL);
+ 	return 0;
+ }
+ int main(int argc, char **argv)
+ {
+ 	pthread_t t;
+ 	second(argc);
+ 	pthread_create(&t, 0, run, argv[1]);
+ 	pthread_join(t, 0);
+ }
+ end
$ cat > three.c <<'end'
+ #include <stdio.h>
+ void third(const char *arg) { printf("third %s\n", arg); }
+ int main(int argc, char **argv) { third(argv[1]); return argc; }
+ end
$ for i in one two three; do gcc -g -no-pie -pthread -o $i $i.c; done; pugmark record -q -o e.pugrec -- ./one
> third argument
? 2
$ cat > look <<'end'
+ { printf '%s\n' 'set pagination off' 'set confirm off' 'set breakpoint pending on' 'set sysroot /' "${EARLY:-echo}" 'target remote | pugmark gdb --stdio e.pugrec'; printf '%s\n' "$@"; } > script
+ timeout 200 gdb -nx -q -batch -iex 'set remotetimeout 100' -x script ./one 2>&1 | grep 'point [0-9]*\(,\|$\| (exec.d\)\|xecut\|EXECFN\|received\|^\$\|more rev\|=>\|1 (remote\| Yes ' | sed "s#$PWD/##; s/Thread [0-9.]* hit //; s/, 0x[0-9a-f]* in .*//; s/) at [^ ]*:[0-9]*\$/)/; s#Yes .*/#Yes #; s/[ <].*syscall/ syscall/; s/{.*} 0x[0-9a-f]* *//; s/0x[0-9a-f]*/N/g; s/1 (remote.*)//; s/   */ /g; s/ \$//"
+ end
# Each program in its turn.
$ sh look 'catch exec' 'break first' 'break second' 'break third' continue continue continue continue continue continue continue continue
> Breakpoint 2, first (n=1)
> Breakpoint 2, first (n=2)
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> Breakpoint 3, second (n=2)
> Breakpoint 3, second (n=3)
> Remote target is executing new program: three
> Catchpoint 1 (exec'd three)
> Breakpoint 4, third (arg=N "argument")
> No more reverse-execution history.
# Back: in front of the call, where the program before is. gdb has disabled what that did not have meanwhile.
$ sh look 'break first' 'catch exec' continue continue continue continue 'break third' continue reverse-continue 'break second' reverse-continue 'print total' reverse-continue 'print total' reverse-continue 'enable' reverse-continue 'print count' reverse-continue 'print count' reverse-continue
> Breakpoint 1, first (n=1)
> Breakpoint 1, first (n=2)
> Remote target is executing new program: two
> Catchpoint 2 (exec'd two)
> Remote target is executing new program: three
> Catchpoint 2 (exec'd three)
> Breakpoint 3, third (arg=N "argument")
> Remote target is executing new program: two
> Catchpoint 2 (exec'd two)
> Breakpoint 4, second (n=3)
> $1 = 2
> Breakpoint 4, second (n=2)
> $2 = 0
> Remote target is executing new program: one
> Catchpoint 2 (exec'd one)
> Breakpoint 1, first (n=2)
> $3 = 8
> Breakpoint 1, first (n=1)
> $4 = 7
> No more reverse-execution history.
# Nobody waits for it: breakpoints are those of the program that runs there.
$ sh look 'break second' 'continue' 'break first' reverse-continue continue 'break third' continue continue reverse-continue reverse-continue reverse-continue
> Remote target is executing new program: two
> Breakpoint 1, second (n=2)
> Remote target is executing new program: one
> Breakpoint 2, first (n=2)
> Remote target is executing new program: two
> Breakpoint 1, second (n=2)
> Breakpoint 1, second (n=3)
> Remote target is executing new program: three
> Breakpoint 3, third (arg=N "argument")
> Remote target is executing new program: two
> Breakpoint 1, second (n=3)
> Breakpoint 1, second (n=2)
> Remote target is executing new program: one
> Breakpoint 2, first (n=2)
# Step by step: the thread that executes, and the one that goes on for it.
$ sh look 'catch exec' continue 'print second' reverse-stepi 'x/i $pc' 'print first' stepi 'print second' continue reverse-continue 'x/i $pc' 'print $_thread' 'print run' stepi 'print third' 'print $_thread' reverse-stepi 'x/i $pc' 'print run' stepi
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> $1 = <second>
> Remote target is executing new program: one
> Catchpoint 1 (exec'd one)
> => syscall
> $2 = <first>
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> $3 = <second>
> Remote target is executing new program: three
> Catchpoint 1 (exec'd three)
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> => syscall
> $4 = 2
> $5 = <run>
> Remote target is executing new program: three
> Catchpoint 1 (exec'd three)
> $6 = <third>
> $7 = 3
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> => syscall
> $8 = <run>
> Remote target is executing new program: three
> Catchpoint 1 (exec'd three)
# A breakpoint at the first instruction. What is known of a program beside its symbols.
$ sh look 'catch exec' continue 'eval "break *%p", $pc' 'info auxv' 'maint packet qXfer:exec-file:read::0,fff' 'delete 1' continue 'info auxv' 'maint packet qXfer:exec-file:read::0,fff' 'info sharedlibrary' 'break third' continue 'info sharedlibrary' 'reverse-continue' reverse-continue 'info auxv' 'info sharedlibrary'
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> 31 AT_EXECFN File name of executable N "./two"
> received: "ltwo"
> Remote target is executing new program: three
> Breakpoint 2
> 31 AT_EXECFN File name of executable N "./three"
> received: "lthree"
> N N Yes ld-linux-x86-64.so.2
> Breakpoint 3, third (arg=N "argument")
> N N Yes ld-linux-x86-64.so.2
> N N Yes libc.so.6
> Breakpoint 2
> Remote target is executing new program: two
> Breakpoint 2
> 31 AT_EXECFN File name of executable N "./two"
# gdb keeps each program, if wanted.
$ sh look 'set follow-exec-mode new' 'catch exec' continue continue 'info inferiors' reverse-continue 'info inferiors' 'print total'
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
> Remote target is executing new program: three
> Catchpoint 1 (exec'd three)
>  Num Description Connection Executable
>  1 <null> one
>  2 <null> two
> * 3 Remote target three
> Remote target is executing new program: two
> Catchpoint 1 (exec'd two)
>  Num Description Connection Executable
>  1 <null> one
>  2 <null> two
>  3 <null> three
> * 4 Remote target two
> $1 = 5
# Where gdb does not want to hear of it, it learns what runs there if it asks.
$ EARLY='set remote exec-event-feature-packet off' sh look 'break first' continue delete continue 'maint packet qXfer:exec-file:read::0,fff' reverse-continue 'maint packet qXfer:exec-file:read::0,fff'
> Breakpoint 1, first (n=1)
> No more reverse-execution history.
> received: "lthree"
> No more reverse-execution history.
> received: "lone"
# What is there on the way back is what was there on the way forwards, also from a checkpoint.
$ cat > long.c <<'end'
+ #include <unistd.h>
+ volatile unsigned long sum;
+ __attribute__((noinline)) void mark(long k) { __asm__ volatile("" : : "r"(k) : "memory"); }
+ static void work(void)
+ {
+ 	for (int i = 0; i < 3000000; i++)
+ 		sum += i ^ sum >> 3;
+ }
+ int main(int argc, char **argv)
+ {
+ 	static char *more[] = { "1", "2", "3" };
+ 	work();
+ 	mark(argc);
+ 	work();
+ 	mark(argc + 10);
+ 	if (argc < 4)
+ 		execl(argv[0], argv[0], more[0], argc > 1 ? more[1] : 0, argc > 2 ? more[2] : 0, 0);
+ }
+ end
$ cat > look.py <<'end'
+ import subprocess, sys
+ class Target:
+     def __init__(self, recording):
+         self.p = subprocess.Popen(['pugmark', 'gdb', '--stdio', recording], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
+         self.say('QStartNoAckMode', '+')
+     def say(self, text, ack=''):
+         self.p.stdin.write(b'$%s#%02x' % (text.encode(), sum(text.encode()) & 255)); self.p.stdin.flush()
+         answer = b''
+         while not answer.endswith(b'#'):
+             c = self.p.stdout.read(1)
+             if not c:
+                 sys.exit('it is gone after ' + text)
+             answer += c
+         self.p.stdout.read(2)
+         self.p.stdin.write(ack.encode())
+         return answer[answer.index(b'$') + 1:-1].decode('latin-1')
+     def register(self, i):
+         return int.from_bytes(bytes.fromhex(self.say('p%x' % i)), 'little')
+     def state(self):
+         return self.say('qC'), self.say('g'), self.say('m%x,100' % self.register(7)), self.say('qXfer:auxv:read::0,fff')
+ t = Target(sys.argv[1])
+ assert 'exec-events+' not in t.say('qSupported:swbreak+')
+ assert 'exec-events+' in t.say('qSupported:swbreak+;exec-events+')
+ t.say('Z0,%x,1' % int(sys.argv[2], 16))
+ seen = []
+ while True:
+     stop = t.say('c')
+     if 'replaylog' in stop:
+         break
+     seen.append((stop[3:7], t.state()))
+     print('exec' if 'exec' in stop else 'mark %d' % t.register(5))
+ for stop, want in seen[::-1]:
+     came = t.say('bc')
+     assert came[3:7] == stop, (came, stop)
+     if stop == 'exec':          # in front of the call; one step further it is there
+         assert t.register(0) == 59 and t.say('m%x,2' % t.register(16)) == '0f05'
+         assert 'exec' in t.say('s') and t.state() == want
+         assert 'exec' in t.say('bs') and t.register(0) == 59
+     else:
+         assert t.state() == want
+ assert 'begin' in t.say('bc')
+ children = subprocess.run(['ps', '--ppid', str(t.p.pid), '-o', 'pid='], stdout=subprocess.PIPE).stdout.split()
+ print('the same; %s' % ('checkpoints' if len(children) > 2 else 'few checkpoints'))
+ t.say('D')
+ t.p.wait()
+ end
$ gcc -w -O1 -g -no-pie -o long long.c && pugmark record -q -o long.pugrec -- ./long && python3 look.py long.pugrec $(nm long | grep ' T mark$' | cut -d' ' -f1)
> mark 1
> mark 11
> exec
> mark 2
> mark 12
> exec
> mark 3
> mark 13
> exec
> mark 4
> mark 14
> the same; checkpoints
