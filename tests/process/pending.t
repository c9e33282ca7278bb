# Signals that are blocked when somebody sends them: pending, fetched, read, delivered, inherited, shown by /proc.
$ "$TESTS/process/both" pending
> equal: status 0, 9 lines
$ pugmark run -q --exec --discard -- "$PROGRAMS/pending" >traced; "$PROGRAMS/pending" >want; cmp want traced
# An instrumented executable stops its threads by SIGTRAP, which remains for it.
$ cp "$PROGRAMS/pending" .; pugmark idt pending && env -i ./pending.idt >got; cmp want got
# What is blocked as a traced program executes another one stays so.
$ pugmark run -q -- env --block-signal=TRAP sh -c 'kill -TRAP $$; echo survived'
> survived
