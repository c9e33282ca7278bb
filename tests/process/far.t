# What code addresses relative to rip and its translation cannot reach: every form, counted and traced; in several
# threads, which executed one another's steps; and the state that signal handlers see.
$ "$TESTS/process/both" far; for how in "--branch -t pug" "--exec -t pug" --strict-flags --aslr; do "$TESTS/process/both" -o "$how" far; done
> equal: status 0, 3 lines
> equal: status 0, 3 lines
> equal: status 0, 3 lines
> equal: status 0, 3 lines
> equal: status 0, 3 lines
# Nothing of it is stepped in its place.
$ PUGMARK_STATS=1 pugmark run -q -- "$PROGRAMS/far" 2>&1 | grep -c step
> 0
? 1
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/far" forms | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
$ "$TESTS/process/instrumented" far
> equal: status 0, 3 lines
# Code in all parts of a heap that leaves little of the lower 2 GiB.
$ "$TESTS/process/both" narrow; for how in "--branch -t pug" "--exec -t pug" --strict-flags --no-cache; do "$TESTS/process/both" -o "$how" narrow; done
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
