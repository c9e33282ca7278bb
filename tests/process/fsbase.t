# if: "$PROGRAMS/fsbase" here
# References through fs after wrfsbase.
$ "$TESTS/process/both" fsbase
> equal: status 0, 1 lines
$ ASAN_OPTIONS=detect_leaks=0 "$PROGRAMS/noptrace" "$TESTS/process/both" fsbase
> equal: status 0, 1 lines
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/fsbase" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
