# The engine executes what the processor executes: every instruction, equally often. (Larger programs:
# make oracle.)
# timeout: 240
$ "$TESTS/oracle/compare" -f "$PROGRAMS/bare" | sed 's,^/.*/,,'
> bare: equal: 3056 instructions at 55 addresses
> bare: equal: 5 instructions at 5 addresses
$ "$TESTS/oracle/compare" "$PROGRAMS/unknown" | sed 's,^/.*/,,; s/equal: .*/equal/'
> unknown: equal
$ "$TESTS/oracle/compare" "$PROGRAMS/faults-static" beyond | sed 's,^/.*/,,; s/equal: .*/equal/'
> faults-static: equal
$ "$TESTS/oracle/compare" /bin/true | sed 's/equal: .*/equal/'
> /usr/bin/true: equal
