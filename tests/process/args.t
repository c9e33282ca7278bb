# Arguments, environment and input are the program's; so is its own name.
$ env -i PATH="$PATH" PROGRAMS="$PROGRAMS" XDG_CACHE_HOME="$XDG_CACHE_HOME" "$TESTS/process/both" args 'a b' '' "it's" '*' '$HOME'
> equal: status 0, 10 lines
$ printf 'in\0put\n' | env -i A=1 B='x y' "$BUILD/pugmark" run -o report -- "$PROGRAMS/args" x | tr '\0' '~'
> arg 0: args
> arg 1: x
> env: A=1
> env: B=x y
> in~put
# The end of the options is no value of an option: no file is called so.
$ pugmark run --json -- "$PROGRAMS/bare"
! pugmark: --json wants a value (FILE), not '--' (see `pugmark run --help`)
? 2
$ pugmark run -o -- "$PROGRAMS/bare" || ls -A | grep -c '^-'
! pugmark: -o wants a value (FILE), not '--' (see `pugmark run --help`)
> 0
? 1
