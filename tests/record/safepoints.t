# A thousand signals a second into code of every shape that goes round: a replay gives each where it came, whatever it
# makes of the program, and counts as many instructions. The program prints what depends on all of them.
# timeout: 300
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/preempted" 200 > out; cut -d' ' -f2 out
> signals:
$ for k in '' --branch --cache --exec --strict-flags '--exec --strict-flags' '--lcov l' '--bolt b' '--exec --after 1000000 --for 100000 --every 900000'; do timeout 120 pugmark replay -q $k --discard r.pugrec > o; cmp o out && echo "${k%% *} the same"; done
>  the same
> --branch the same
> --cache the same
> --exec the same
> --strict-flags the same
> --exec the same
> --lcov the same
> --bolt the same
> --exec the same
$ for k in '' --strict-flags '--lcov l' '--bolt b' '--exec --discard' '--branch --discard'; do timeout 120 pugmark replay --no-output --count $k r.pugrec 2>&1 | grep -m1 -o '[0-9,]* instructions'; done | uniq | wc -l
> 1
# Cold, recorded and replayed; and what was recorded in one cache replays with another.
$ XDG_CACHE_HOME=$PWD/c1 pugmark record -q -o r.pugrec -- "$PROGRAMS/preempted" 50 > out; XDG_CACHE_HOME=$PWD/c2 pugmark replay -q r.pugrec | cmp - out; XDG_CACHE_HOME=$PWD/c3 pugmark replay -q --exec --discard r.pugrec | cmp - out
$ "$TESTS/record/again" "$PROGRAMS/timer"
> status 0, 1 lines again
# A library that calls its own function through its procedure linkage table, and jumps back there as well. Registers are
# compared at every safepoint, by a replay that has no copies of such stubs.
$ cat > lib.c <<'end'
+ int odd(int n) { return n & 1; }
+ int both(int n) { int k = odd(n); return k ? odd(n >> 1) : n; }
+ end
$ cat > main.c <<'end'
+ #include <stdio.h>
+ int both(int n);
+ int main(void) { int n = 0; for (int i = 0; i < 1000; i++) n += both(i); printf("%d\n", n); return 0; }
+ end
$ gcc -O2 -fPIC -shared -fno-inline -fno-ipa-cp -fcf-protection=none -o libboth.so lib.c && gcc -O1 -o both main.c -L. -lboth -Wl,-rpath,$PWD && pugmark record -q --checks 1 -o r.pugrec -- ./both > out; for k in '' '--exec --discard' --strict-flags; do timeout 60 pugmark replay -q $k r.pugrec | cmp out - && echo the same; done
> the same
> the same
> the same
# Handlers that interrupt each other, jump out, have a stack of their own; in several processes.
$ for i in 1 2 3; do pugmark record -q -o r.pugrec -- "$PROGRAMS/interrupted" | sort > out; for k in '' --exec; do timeout 60 pugmark replay -q --discard $k r.pugrec | sort | cmp - out; done; done; wc -l < out
> 4
