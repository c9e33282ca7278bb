# A thousand signals a second into integer, floating-point and string code.
$ "$TESTS/process/both" timer
> equal: status 0, 1 lines
# ... which may arrive between the stores of a trace.
$ pugmark run -q --exec --count --json /dev/null -- "$PROGRAMS/timer"
> under a 1 kHz timer: results equal
