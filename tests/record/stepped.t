# A replay against the single-stepper, which runs the program itself.
# timeout: 180
$ "$TESTS/record/stepped" "$PROGRAMS/bare"
> equal, references too
$ "$TESTS/record/stepped" "$PROGRAMS/exits" 7
> equal, references too
$ printf 'a b\nc d\n' > f; "$TESTS/record/stepped" /usr/bin/sort f
> equal, references too
$ "$TESTS/record/stepped" /usr/bin/gzip -c f
> equal, references too
