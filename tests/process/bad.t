# What cannot be run, and what ends badly: one clear error each, and nothing left behind.
$ pugmark run -- ./nothing
! pugmark: ./nothing: cannot execute: No such file or directory
? 1
$ pugmark run -- no-such-program-in-path
! pugmark: no-such-program-in-path: cannot execute: No such file or directory
? 1
$ : > plain; pugmark run -- ./plain
! pugmark: ./plain: cannot execute: Permission denied
? 1
$ mkdir dir; pugmark run -- ./dir
! pugmark: ./dir: cannot execute: Permission denied
? 1
# The shell takes what has neither a magic number nor an interpreter, as natively.
$ echo 'echo "$0 $1"; exit 3' > script; chmod +x script; pugmark run -q -o /dev/null -- ./script x
> ./script x
? 3
$ printf '#!/no/such/shell\n' > shebang; chmod +x shebang; pugmark run -- ./shebang
! pugmark: ./shebang: cannot execute: No such file or directory
? 1
$ head -c 1000 /bin/true > cut; chmod +x cut; pugmark run -- ./cut 2>&1 | sed 's/0x[0-9a-f]*/N/g'
> pugmark: ./cut:N: expected a segment within the file's N bytes, found N bytes at N: the file is cut off
$ printf '\177ELF' > magic; chmod +x magic; pugmark run -- ./magic 2> said; echo $?; grep -c '^pugmark: ./magic' said
> 1
> 1
# Another processor's: e_machine of RISC-V.
$ cp /bin/true riscv; printf '\363' | dd of=riscv bs=1 seek=18 conv=notrunc status=none; pugmark run -- ./riscv
! pugmark: ./riscv: it is a program for RISC-V; x86-64 and i386 programs can be traced
? 1
$ cp /bin/true noint; at=$(printf 0x%x $(readelf -lW noint | awk '$1 == "INTERP" { print $2 }')); printf '/no/such/ld.so\0' | dd of=noint bs=1 seek=$((at)) conv=notrunc status=none; pugmark run -- ./noint 2>said; said=$?; sed "s/:$at:/:AT:/" said >&2; exit $said
! pugmark: ./noint:AT: expected the interpreter '/no/such/ld.so' to exist: No such file or directory
? 1
# Hostile program headers: every byte of them turned round, one at a time.
$ for at in $(seq 64 13 700); do
+   cp /bin/true hostile; dd if=/bin/true bs=1 skip=$at count=1 status=none | tr '\000-\377' '\377\000-\376' |
+     dd of=hostile bs=1 seek=$at conv=notrunc status=none
+   ./hostile > n.out 2>&1; n=$?; timeout 100 pugmark run -q -o /dev/null -- ./hostile > t.out 2> t.err; t=$?
+   [ $n = $t ] || [ $t = 1 -a "$(grep -c ^pugmark: t.err)" = 1 ] || echo "byte $at: $n natively, $t: $(cat t.err)"
+ done 2> /dev/null
# A program killed in the middle: what it did until then.
$ { pugmark run -o killed -- sh -c 'i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); done; kill -9 $$'; } 2> /dev/null
+ echo $?; grep -c INCOMPLETE killed
> 137
> 1
# pugmark interrupted: the program decides; its profile is made.
$ for s in INT TERM HUP; do
+   env --default-signal=INT pugmark run -o ended -- sleep 60 & p=$!
+   until [ "$(pgrep -P $p sleep)" ]; do sleep 0.05; done
+   kill -$s $p; wait $p; echo "$s $?"; grep -c INCOMPLETE ended
+ done 2> /dev/null
> INT 130
> 1
> TERM 143
> 1
> HUP 129
> 1
# ... while the program is being launched, too.
$ cat > i.c <<'E'
+ #include <signal.h>
+ #include <sys/syscall.h>
+ #include <unistd.h>
+ long ptrace(int op, int pid, void *a, void *b) { if (op == 0x4200 /* PTRACE_SETOPTIONS */) kill(getpid(), SIGTERM); return syscall(SYS_ptrace, op, pid, a, b); }
+ E
+ gcc -shared -fPIC -o i.so i.c && rm -f ended
+ { ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$PWD/i.so pugmark run -o ended -- sleep 60; } 2> /dev/null; echo $?; grep -c INCOMPLETE ended
> 143
> 1
# ... or killed: the program goes on by itself, with its signal handlers, and nobody is left.
$ exec 2> /dev/null; mkfifo gate
+ pugmark run -o /dev/null -- sh -c 'trap "echo caught" USR1; echo $$ > pid; read x < gate; kill -USR1 $$; ls / > all; (exit 5) | cat; echo went on' > went & p=$!
+ until [ -s pid ]; do sleep 0.05; done
+ { kill -9 $p; wait $p; } 2> /dev/null; echo go > gate
+ until grep -q 'went on' went; do sleep 0.05; done; cat went
> caught
> went on
$ ls /dev/shm | grep -c pugmark
> 0
? 1
# ... or killed before its child has asked to be traced: whoever inherits the child would be its tracer, and never let it go.
$ cat > k.c <<'E'
+ #include <signal.h>
+ #include <sys/syscall.h>
+ #include <unistd.h>
+ long ptrace(int op, int pid, void *a, void *b) { int p = getppid(); if (op == 0) { kill(p, SIGKILL); while (getppid() == p) usleep(1000); } return syscall(SYS_ptrace, op, pid, a, b); }
+ E
+ gcc -shared -fPIC -o k.so k.c && cp /bin/sleep stays$$ && { ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$PWD/k.so pugmark run -- ./stays$$ 60; } 2> /dev/null; echo $?
+ while ps axo args | grep -q "^./stays$$ "; do sleep 0.05; done
> 137
# A cache that is full, of another version, damaged, or no directory: as if there were none.
$ mkdir c; pugmark run -q --cache-dir c -o /dev/null -- echo a; ls c | grep -c code
> a
> 3
$ for f in c/*; do printf 'XXXX' | dd of=$f bs=1 seek=8 conv=notrunc status=none; done; pugmark run -q --cache-dir c -o /dev/null -- echo b
> b
$ said() { sed 's/.*\(removed from the cache\).*/\1/' err | sort -u; }
+ for f in c/*; do dd if=/dev/urandom of=$f bs=100 count=1 seek=4 conv=notrunc status=none; done; pugmark run -q --cache-dir c -o /dev/null -- echo c 2>err; said
> c
> removed from the cache
$ said() { sed 's/.*\(removed from the cache\).*/\1/' err | sort -u; }
+ for f in c/*; do truncate -s -1000 $f; done; pugmark run -q --cache-dir c -o /dev/null -- echo d 2>err; said
> d
> removed from the cache
$ said() { sed 's/.*\(removed from the cache\).*/\1/' err | sort -u; }
+ for f in c/*; do : > $f; done; pugmark run -q --cache-dir c -o /dev/null -- echo e 2>err; said
> e
> removed from the cache
$ unshare -rm true 2> /dev/null || { printf 'hi\n1\n0\n'; exit 1; }
+ mkdir full; unshare -rm sh -c 'mount -t tmpfs -o size=64k,mode=700 none full && pugmark run -q --cache-dir full -o /dev/null -- echo hi 2> said; grep -c "No space left" said; ls -A full | grep -c tmp'
> hi
> 1
> 0
? 1
# Executions per address are written whole, or not at all. PREFIX is no file: a directory may be called like that.
$ mkdir pre; pugmark run -q --counts pre -- true; ls -d pre*; ls pre
> pre
> pre.1
# A trace has none of these counts.
$ pugmark run -q --counts none --folded none.f -- true; ls none*
! pugmark: --counts is for profiles, in a run without a trace; --sim cachegrind --callgrind FILE has a trace's (see `pugmark run --help`)
! ls: cannot access 'none*': No such file or directory
? 2
$ unshare -rm true 2> /dev/null || { printf '1\n0\n'; exit 0; }
+ mkdir small; unshare -rm sh -c 'mount -t tmpfs -o size=8k,mode=700 none small && pugmark run -q --counts small/x -- true 2> said; grep -c "small/x: cannot write: No space left" said; ls -A small | wc -l'
> 1
> 0
# Sanitizers' shadows lie where ours does.
$ echo 'int main(void) { return 3; }' > m.c; for s in address thread; do
+   gcc -fsanitize=$s -o m m.c && ./m; echo $s $?
+   pugmark run -q -o /dev/null -- ./m 2>&1 | grep pugmark
+ done 2> /dev/null
> address 3
> pugmark: the program asks for addresses that tracing needs; programs built with AddressSanitizer or ThreadSanitizer do, and cannot be traced
> thread 3
> pugmark: the program asks for addresses that tracing needs; programs built with AddressSanitizer or ThreadSanitizer do, and cannot be traced
# The controller is killed while the program sleeps: what was collected half a second before is in the trace, though it is
# far less than a chunk.
$ { pugmark run -q --exec -o k.pug -- perl -e '$k += $_ for 1 .. 2000; select(undef, undef, undef, 0.05) while getppid() > 1 and ! -e "end"' & p=$!
+ n() { pugmark info --json - k.pug | sed -n 's/^ *"instructions": \([0-9]*\),*$/\1/p' | head -n 1; }
+ for i in $(seq 400); do [ "$(n)" -gt 100000 ] && break; sleep 0.05; done
+ kill -9 $p; wait $p; : > end; } 2> /dev/null; [ "$(n 2> said)" -gt 100000 ] && sed 's/.*: the trace/the trace/; s/[0-9][0-9]*/N/g' said
> the trace is cut here, after N instructions
# No file is given twice.
$ pugmark run --json - --csv - true
! pugmark: standard output is given twice: --json and --csv (see `pugmark run --help`)
? 2
$ pugmark run --bolt x --html ./x true; ls x 2>&1 | wc -l; pugmark run -q --json /dev/null --csv /dev/null true
! pugmark: 'x' is given twice: --html and --bolt (see `pugmark run --help`)
> 1
$ pugmark record -q -o kept.pugrec true; cp kept.pugrec copy; pugmark replay -t pug -o kept.pugrec kept.pugrec; cmp copy kept.pugrec
! pugmark: 'kept.pugrec' is also the input: RECORDING and -o (see `pugmark replay --help`)
