# A program that uses addresses where it has nothing: pugmark may have something there.
$ "$TESTS/process/both" holes
> equal: status 0, 4 lines
$ for i in 1 2; do pugmark run -q --cache-dir kept -o /dev/null -- "$PROGRAMS/holes" | tail -n 1; done
> locked
> locked
$ for o in --no-cache --aslr "--exec --count" "--start-at main --exec --count"; do pugmark run -q $o -- "$PROGRAMS/holes" | tail -n 1; done
> locked
> locked
> locked
> locked
$ "$TESTS/process/instrumented" holes look
> equal: status 0, 2 lines
