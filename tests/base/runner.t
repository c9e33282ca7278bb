# The runner: what passes, what fails and how that is shown, what is skipped, what is blessed.
$ cat > good.t <<'X'
+ # a comment
+ $ echo one; echo two >&2; exit 3
+ > one
+ ! two
+ ? 3
+ $ printf 'no end'
+ >- no end
+ $ kill -9 $$
+ ? 137
+ X
+ cd "$TOP" && "$BUILD/tests/run" "$OLDPWD/good.t"
> 1 passed, 0 failed, 0 skipped
$ cat > bad.t <<'X'
+ $ printf 'a\nb\nc\n'
+ > a
+ > B
+ > c
+ X
+ "$BUILD/tests/run" bad.t | sed 's/, [0-9.]* s, processors [0-9.]* s)/)/'
> ---- bad.t (0 of 1)
> FAIL bad.t
>   $ printf 'a\nb\nc\n'
>     standard output differs from line 2 on (- expected, + seen):
>     - B
>     + b
> 0 passed, 1 failed, 0 skipped
$ "$BUILD/tests/run" --bless bad.t && cat bad.t
> blessed bad.t
> 1 passed, 0 failed, 0 skipped
> $ printf 'a\nb\nc\n'
> > a
> > b
> > c
$ printf '# needs: sh no-such-program\n$ true\n' > skip.t; "$BUILD/tests/run" skip.t
> skip skip.t: needs no-such-program
> 0 passed, 0 failed, 1 skipped
$ printf '# if: echo no such processor; false\n$ true\n' > skip.t; printf '# if: echo that is here\n$ true\n' > run.t; "$BUILD/tests/run" skip.t run.t
> skip skip.t: no such processor
> 1 passed, 0 failed, 1 skipped
$ printf '# timeout: 0.3\n$ sleep 20\n' > slow.t; "$BUILD/tests/run" slow.t | grep -v -e ----
> FAIL slow.t
>   $ sleep 20
>     was still running after 0.3 s
>     exit status: expected 0, seen 137
> 0 passed, 1 failed, 0 skipped
$ printf '$ sleep 20 >/dev/null 2>&1 &\n' > stray.t; "$BUILD/tests/run" stray.t | grep -v -e ----
> FAIL stray.t
>   $ sleep 20 >/dev/null 2>&1 &
>     left 1 process(es) behind
> 0 passed, 1 failed, 0 skipped
# Programs that speak TAP: each test counts, and so does a crash or a missing test.
$ "$BUILD/tests/run" 'printf "1..2\nok 1\nnot ok 2 - x\n# why\n"' 'printf "1..2\nok 1 # SKIP y\n"' 'echo 1..0; kill -11 $$' | grep -v -e ----
> FAIL printf "1..2\nok 1\nnot ok 2 - x\n# why\n": not ok 2 - x
>      # why
> skip printf "1..2\nok 1 # SKIP y\n": ok 1 # SKIP y
> FAIL printf "1..2\nok 1 # SKIP y\n": did not run every test (status 0, 1 of 2 tests)
> FAIL echo 1..0; kill -11 $$: failed (status 139, 0 of 0 tests)
> 1 passed, 3 failed, 1 skipped
