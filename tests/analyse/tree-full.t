# Calling-context trees that become full: contexts run out, or calls nest deeper than they are remembered. It is said, nothing is
# lost, and what has a context has the counts that it has without a limit. Trees that grow in the traced process are those that the
# consumer walks (PUGMARK_NO_GROWING=1, as in tree-grown.t), file for file, where one thread makes contexts.
# needs: gcc
$ cat >full.c <<'END'
+ #include <pthread.h>
+ #include <setjmp.h>
+ #include <stdlib.h>
+ #include <string.h>
+ #define F __attribute__((noinline, noipa))
+ static volatile long sum; static jmp_buf env;
+ F void leaf(long n) { sum += n; }
+ F void left(long n); F void right(long n) { leaf(n); if (n) { left(n - 1); right(n - 1); } sum++; }
+ F void left(long n) { if (n) { left(n - 1); right(n - 1); } leaf(n); sum++; }
+ F void last(long n) { if (n) leaf(n), last(n - 1); sum++; }
+ F void tail(long n) { sum++; last(n); }
+ F void jumps(long n) { if (n) jumps(n - 1); else longjmp(env, 1); sum++; }
+ F void lands(long n) { if (!setjmp(env)) jumps(n); leaf(4); }
+ static void (*volatile some[])(long) = { leaf, left, tail };
+ F void work(long n) { left(n); for (int i = 0; i < 3; i++) some[i](3); lands(3); right(n); tail(2); }
+ F long deep(long n) { if (!n) return 1; long r = deep(n - 1); if (n % 1000 == 0) leaf(n); return r + 1; }
+ F void flies(long n) { if (n) flies(n - 1); else longjmp(env, 1); sum++; }
+ F void far(long n) { if (!setjmp(env)) flies(n); leaf(5); }
+ F void *nested(void *n) { sum += deep((long)n); leaf(1); far((long)n); leaf(2); return 0; }
+ static void *thread(void *n) { work((long)n); return 0; }
+ static void start(void *(*f)(void *), long n)
+ {
+ 	pthread_attr_t a; pthread_t t;
+ 	pthread_attr_init(&a); pthread_attr_setstacksize(&a, 512 << 20);
+ 	if (pthread_create(&t, &a, f, (void *)n) || pthread_join(t, 0)) abort();
+ }
+ int main(int argc, char **argv)
+ {
+ 	if (!strcmp(argv[1], "one")) work(8);
+ 	if (!strcmp(argv[1], "threads")) for (int i = 0; i < 3; i++) start(thread, 7 + i % 2);
+ 	if (!strcmp(argv[1], "deep")) start(nested, atol(argv[2]));
+ }
+ END
$ gcc -O1 -fno-optimize-sibling-calls -pthread -o full full.c
$ cat >run <<'END'
+ never=$1 out=$2; shift 2
+ PUGMARK_NO_GROWING=$never pugmark run --fix-random --no-vdso --folded $out "$@"
+ END
# How much there is of everything, how much of each function, and what of the first file's contexts the second has otherwise.
$ cat >compare <<'END'
+ awk '{ own = stack = $0; n = $NF; sub(/ [0-9]*$/, "", stack); own = stack; sub(/.*;/, "", own)
+ 	if (FILENAME == ARGV[1]) { all += n; f[own] += n; at[stack] = n }
+ 	else { rest += n; f[own] -= n; if (stack ~ /^\[other contexts\]/) other++; else { kept++; wrong += at[stack] != n } }
+ } END { for (k in f) bad += f[k] != 0; print (all == rest), bad + 0, (other > 0), (kept > 20), wrong + 0 }' "$1" "$2"
+ END
# Some limits, small ones among them: within the program's beginning, among its own functions, and one that is just not reached.
$ sh run 0 all ./full one; for n in 40 100 150 300; do sh run 1 walked --max-contexts $n ./full one 2>said; sh run 0 grown --max-contexts $n ./full one 2>again; cmp said again && cmp walked grown && sh compare all grown; done; cat again
> 1 0 1 1 0
> 1 0 1 1 0
> 1 0 1 1 0
> 1 0 1 1 0
> pugmark: note: there was no room for more calling contexts: later ones are in '[other contexts]' (--max-contexts)
$ sh run 0 same --max-contexts 4000000 ./full one; cmp all same
# Threads have trees of their own, which are full each, and so is their sum: of what all of them have contexts for, others may have
# gone elsewhere.
$ sh run 0 all ./full threads; sh run 0 grown --max-contexts 300 ./full threads; sh compare all grown | cut -d' ' -f 1-4; grep -c '\[other contexts\].*\[other contexts\]' grown
> 1 0 1 1
> 0
! pugmark: note: there was no room for more calling contexts: later ones are in '[other contexts]' (--max-contexts)
? 1
# What all contexts of a thread stand below has a place itself.
$ for n in 100 300; do for never in 1 0; do sh run $never by$never --by-thread --max-contexts $n --max-depth 30 ./full one 2>/dev/null; sed -i 's/^thread [0-9]*/thread/' by$never; done; cmp by0 by1 && grep -c '^.other contexts.;left' by0; done
> 1
> 1
# 2^20 calls that have not returned are remembered; of more the outer half is forgotten. Returns and longjmp() lead to what is, and
# to what is not.
$ for n in 1048000 1049000 1700000; do sh run 1 walked ./full deep $n; sh run 0 grown ./full deep $n; cmp walked grown; awk -v n=$n '/;deep / { d += $NF } /;flies / { f += $NF } END { print (d > 5 * n), (f > 3 * n) }' grown; done
> 1 1
> 1 1
> 1 1
$ pugmark run -q --max-contexts 0 --folded x true; pugmark run -q --max-contexts 4194304 --folded x true
! pugmark: --max-contexts expects a number from 1 to 4194303, not '0' (see `pugmark run --help`)
! pugmark: --max-contexts expects a number from 1 to 4194303, not '4194304' (see `pugmark run --help`)
? 2
