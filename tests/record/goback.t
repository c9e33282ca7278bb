# A replay goes back to checkpoints: what is there is what was there before, and what a replay from the beginning has.
# needs: python3
# timeout: 300
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __tsan' || { echo 'with the thread sanitizer a replay makes fewer checkpoints than these tests count'; false; }
$ cat > look.py <<'end'
+ # A debugger: forwards to each call of a function, and back; steps forwards and back. What it sees has to be the same.
+ import os, subprocess, sys
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
+         return answer[answer.index(b'$') + 1:-1].decode()
+     def register(self, i):
+         return int.from_bytes(bytes.fromhex(self.say('p%x' % i)), 'little')
+     def state(self):
+         return self.say('qC'), self.say('g'), self.say('m%x,100' % self.register(7)), self.say('m404000,100')
+ t = Target(sys.argv[1])
+ at = [int(a, 16) for a in sys.argv[2:]]
+ points = lambda z: [t.say('%s0,%x,1' % (z, a)) for a in at]
+ begin = t.state()
+ points('Z')
+ seen, stop = [], ''
+ while 'replaylog' not in stop:
+     stop = t.say('c')
+     seen.append(t.state())
+     if len(seen) < 60:
+         print('call %x of %d' % (t.register(5), len(seen)) if 'replaylog' not in stop else 'the end')
+ for want in seen[-2::-1]:
+     assert 'swbreak' in t.say('bc') and t.state() == want
+ points('z')
+ assert 'begin' in t.say('bc') and t.state() == begin
+ assert 'end' in t.say('c') and (t.state() == seen[-1] or t.say('qC') != seen[-1][0])
+ points('Z')
+ assert t.say('bc') and t.state() in seen + [begin]
+ while t.state() == begin:
+     t.say('c')
+ steps = []
+ for i in range(40):
+     steps.append(t.state())
+     t.say('bs')
+ for want in steps[::-1]:
+     t.say('s')
+     assert t.state() == want
+ children = subprocess.run(['ps', '--ppid', str(t.p.pid), '-o', 'pid='], stdout=subprocess.PIPE).stdout.split()
+ print('the same; %s' % ('checkpoints' if len(children) > 2 else 'few checkpoints'))
+ # somebody ends all of them: it begins anew
+ for child in children:
+     os.kill(int(child), 9)
+ assert t.say('bc') and t.state() in seen + [begin]
+ assert t.say('bc') and t.state() in seen + [begin]
+ t.say('D')
+ t.p.wait()
+ end
$ cat > work.h <<'end'
+ #include <pthread.h>
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ unsigned long sum[8];
+ __attribute__((noinline)) void mark(long k) { __asm__ volatile("" : : "r"(k) : "memory"); }
+ static void work(long me, int n)
+ {
+ 	double x = me;
+ 	for (int i = 0; i < n; i++) {
+ 		sum[me] += i ^ sum[me] >> 3;
+ 		x = x * 1.0000001 + i;
+ 	}
+ 	sum[me] += (unsigned long)x;
+ }
+ end
$ cat > look <<'end'
+ gcc -O1 -g -no-pie -pthread -include work.h -o $1 $1.c && pugmark record -q -o $1.pugrec -- ./$1 > $1.out
+ python3 look.py $1.pugrec $(nm $1 | grep ' T mark$' | cut -d' ' -f1)
+ end
# One thread.
$ cat > one.c <<'end'
+ int main(void)
+ {
+ 	char *heap = NULL;
+ 	for (int r = 0; r < 6; r++) {
+ 		work(r, 2000000);
+ 		heap = realloc(heap, (r + 1) * 100000);
+ 		heap[r * 100000] = r;
+ 		mark(r);
+ 	}
+ }
+ end
$ sh look one
> call 0 of 1
> call 1 of 2
> call 2 of 3
> call 3 of 4
> call 4 of 5
> call 5 of 6
> the end
> the same; checkpoints
# Several threads, which take turns, wait, end, and begin.
$ cat > threads.c <<'end'
+ static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
+ static void *run(void *arg)
+ {
+ 	for (int r = 0; r < 3; r++) {
+ 		work((long)arg, 700000);
+ 		pthread_mutex_lock(&lock);
+ 		sum[7] = sum[7] * 31 + sum[(long)arg];
+ 		pthread_mutex_unlock(&lock);
+ 		mark(0x10 * (long)arg + r);
+ 	}
+ 	return 0;
+ }
+ int main(void)
+ {
+ 	pthread_t t[6];
+ 	for (long i = 0; i < 3; i++)
+ 		pthread_create(&t[i], 0, run, (void *)i);
+ 	pthread_join(t[0], 0);
+ 	for (long i = 3; i < 6; i++)
+ 		pthread_create(&t[i], 0, run, (void *)i);
+ 	for (int i = 1; i < 6; i++)
+ 		pthread_join(t[i], 0);
+ }
+ end
$ sh look threads | sed '/^call/d'
> the end
> the same; checkpoints
# The first one ends, and the others go on.
$ cat > first.c <<'end'
+ static void *run(void *arg)
+ {
+ 	for (int r = 0; r < 4; r++) {
+ 		work((long)arg, 900000);
+ 		mark(0x10 * (long)arg + r);
+ 	}
+ 	return 0;
+ }
+ int main(void)
+ {
+ 	pthread_t t;
+ 	pthread_create(&t, 0, run, (void *)1);
+ 	pthread_create(&t, 0, run, (void *)2);
+ 	work(0, 500000);
+ 	pthread_exit(0);
+ }
+ end
$ sh look first | sed '/^call/d'
> the end
> the same; checkpoints
# Memory that a copy would not have: from there on there are no more checkpoints.
$ cat > wiped.c <<'end'
+ int main(void)
+ {
+ 	char *gone = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	work(0, 2000000);
+ 	mark(1);
+ 	gone[5] = 1;
+ 	madvise(gone, 0x10000, MADV_WIPEONFORK);
+ 	work(1, 2000000);
+ 	mark(gone[5] + 0x20);
+ }
+ end
$ sh look wiped
> call 1 of 1
> call 21 of 2
> the end
> the same; checkpoints
# It executes another program.
$ cat > becomes.c <<'end'
+ int main(int argc, char **argv)
+ {
+ 	work(0, 2000000);
+ 	mark(argc);
+ 	if (argc > 1)
+ 		return 0;
+ 	work(1, 2000000);
+ 	mark(0x11);
+ 	execl(argv[0], argv[0], "again", NULL);
+ }
+ end
$ sh look becomes
> call 1 of 1
> call 11 of 2
> call 2 of 3
> the end
> the same; checkpoints
# The trace of one program ends before that of the next begins, whoever is read first: so positions are the same each time.
$ for i in 1 2 3 4 5 6; do pugmark query becomes.pugrec 'calls mark'; done | sort | uniq -c | awk '{ print $1 }'
> 6
> 6
> 6
