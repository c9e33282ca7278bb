# Signals that come in front of, in and behind system calls; faults.
$ "$TESTS/record/again" /usr/bin/sh -c 'trap "echo got" USR1; kill -USR1 $$; echo done; trap "echo bye" EXIT; kill -TERM $$' 2>&1 | grep again
> status 143, 2 lines again
$ "$TESTS/record/again" timeout 5 sleep 0.1 2>&1 | grep again
> status 0, 0 lines again
$ "$TESTS/record/again" perl -e '$SIG{ALRM} = sub { print "alarm\n" }; alarm 1; select(undef, undef, undef, 3); for (1 .. 3) { kill "ALRM", $$ } print "end\n"'
> status 0, 5 lines again
$ "$TESTS/record/again" "$PROGRAMS/exits" segv 2>&1 | grep again
> status 139, 1 lines again
