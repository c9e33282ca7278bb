# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a sanitizer wants what is limited here'; false; }
# needs: cc
# Without memory a command says so in one line, and fails. Where it lacks depends on the machine, so
# many limits are tried: the program's symbols, debugging information, results, threads of a writer.
$ printf 'int main(void) { int s = 0; for (int i = 0; i < 999; i++) s += i; return s < 0; }\n' > p.c
+ cc -g -o p p.c && pugmark run -q --exec -o p.pug -- ./p
+ check() { (ulimit -c 0; ulimit -v $1; shift; exec pugmark "$@" -q) > out 2> err; s=$?; n=$(wc -l < err)
+ [ $s = $n ] && [ $s -le 1 ] || { echo "$*: status $s"; cat err; }; [ $s = 0 ] || { ls -A | grep '^made' && echo "left by $*"; }; failed=$((failed + s)); rm -f made*; }
+ failed=0
+ for v in 46000 54000 56000 58000 60000 62000 63880 64080 70000 76000 94000; do
+ for c in "annotate p.pug" "report --no-open -o made.html p.pug" "convert -t parquet p.pug made" "convert p.pug made.din.zst" "sim -s cachegrind --callgrind made.cg p.pug" "sim --usual p.pug"; do check $v $c; done; done
+ [ $failed -gt 9 ] || echo "only $failed failed"
# Nor does a stack that cannot grow end in a fault; threads have theirs, whatever the limit is.
$ for s in 16 64 128; do (ulimit -c 0; ulimit -s $s; exec pugmark report --no-open -o made.html p.pug) 2>&1; echo $?; ls made* 2>/dev/null; done; (ulimit -c 0; ulimit -s 1024; exec pugmark report --no-open -o made.html p.pug) >/dev/null && ls made.html
> pugmark: out of memory (the stack cannot grow)
> 1
> pugmark: out of memory (the stack cannot grow)
> 1
> pugmark: out of memory (the stack cannot grow)
> 1
> made.html
