# tests/process/isolation.t - a program cannot write to translated code, its own or others', by any way
$ "$PROGRAMS/isolation"
> isolated
$ for i in 1 2 3; do pugmark run -q --cache-dir "$PWD/kept" -o /dev/null -- "$PROGRAMS/isolation"; done
+ for o in '--no-cache -o report' '--strict-flags -o report' '--aslr -o report' '--exec --count --json report'; do pugmark run -q $o -- "$PROGRAMS/isolation"; done
> isolated
> isolated
> isolated
> isolated
> isolated
> isolated
> isolated
$ pugmark run -q -o /dev/null -- sh -c '"$PROGRAMS/isolation"; "$PROGRAMS/isolation"'
> isolated
> isolated
