# personality(): READ_IMPLIES_EXEC, which makes whatever is readable executable from then on, and
# ADDR_NO_RANDOMIZE, which the program is to find as it has left it.
$ "$TESTS/process/both" persona
> equal: status 0, 11 lines
$ pugmark run -q --exec --discard -- "$PROGRAMS/persona" | tail -n 1
> and no more
$ "$TESTS/process/both" -o --aslr persona
> equal: status 0, 11 lines
# 32-bit programs keep it when they are executed.
$ "$TESTS/can-32-bit" >/dev/null || exec echo "equal: status 0, 11 lines"
+ "$TESTS/process/both" i386/persona
> equal: status 0, 11 lines
$ pugmark run -q -- setarch -R "$PROGRAMS/persona" show; pugmark run -q -- "$PROGRAMS/persona" show
> after exec: addresses stay
> after exec:
