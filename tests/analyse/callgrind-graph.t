# The call graph of a run, beside callgrind's: inclusive costs of functions, and of their calls. (Of a recursive function
# callgrind counts calls from within apart.)
# needs: gcc valgrind callgrind_annotate
$ cat >t.c <<'END'
+ #include <stdio.h>
+ static __attribute__((noinline)) int leaf(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
+ static __attribute__((noinline)) int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
+ static __attribute__((noinline)) int mid(int n) { return leaf(n) + leaf(2 * n) + fib(n / 100); }
+ int main(void) { int s = 0; for (int i = 0; i < 20; i++) s += mid(100 * (i % 12)); return s & 1; }
+ END
$ gcc -g -O1 -fno-optimize-sibling-calls -o t t.c; pugmark run -q --sim cachegrind --callgrind p.out -- ./t; valgrind --tool=callgrind --callgrind-out-file=v.out ./t 2>/dev/null
+ for f in p v; do callgrind_annotate --show=Ir --inclusive=yes --tree=calling --threshold=100 $f.out | tr -d , | awk '/:(main|mid|leaf|fib)/ { if (!match($0, /:(main|mid|leaf|fib)/)) next; n = substr($0, RSTART + 1); sub(/ \[.*/, "", n); if (n !~ /\047/ && n !~ /fib$/ && n !~ /fib \([38]/) print n, $1 }' | sort -u >$f; done; diff p v && cat p
> fib (20x) 12110
> leaf (40x) 169440
> leaf 169440
> main (1x) 182281
> main 182281
> mid (20x) 181950
> mid 181950
# The program's first function and all that it called is everything.
$ head -c 100000 "$(command -v pugmark)" >f; pugmark run -q --sim cachegrind --callgrind g.out -- gzip -k f; callgrind_annotate --show=Ir --inclusive=yes g.out | sed -n '/:_start /s/.*(\(.*%\)).*/\1/p' | sort -u
> 100.0%
