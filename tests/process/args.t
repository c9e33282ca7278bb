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
! pugmark: --json expects a value (FILE), not '--' (see `pugmark run --help`)
? 2
$ pugmark run -o -- "$PROGRAMS/bare" || ls -A | grep -c '^-'
> 0
! pugmark: -o expects a value (FILE), not '--' (see `pugmark run --help`)
? 1
# -o FILE is a trace if its name or -t says so, of what only counts the report, and never the program's own output.
$ pugmark run -q -o b.champsim.xz -- "$PROGRAMS/bare" > said; xz -dc b.champsim.xz | wc -c | awk '{ print ($1 > 0 && $1 % 64 == 0) }'; pugmark run -q -o b.pug --start-at 100 -- "$PROGRAMS/bare" > said; pugmark info b.pug | grep -c '^  instructions  *[1-9]'
> 1
> 1
$ pugmark run -q --exec --count -o /dev/null -- "$PROGRAMS/bare" > said; pugmark run --exec --count -o counts -- "$PROGRAMS/bare" > said; grep -c '^count' counts; pugmark run --count --exec -o c.pug --report counted -- "$PROGRAMS/bare" > said; cmp -n 3 counts counted; pugmark run -o b.report -- "$PROGRAMS/bare" > said; head -n 1 b.report | cut -c 1-7
> 2
> pugmark
$ for o in '--exec' '-t din' '-t pug --count'; do pugmark run $o -o - -- "$PROGRAMS/bare" || echo $?; done; pugmark run --exec --count -o - -- "$PROGRAMS/bare" | grep -c '^count'
> 2
> 2
> 2
> 2
! pugmark: -o - would mix the trace with what the program prints; a FIFO or bash's -o >(pugmark sim ... -) does not (see `pugmark run --help`)
! pugmark: -o - would mix the trace with what the program prints; a FIFO or bash's -o >(pugmark sim ... -) does not (see `pugmark run --help`)
! pugmark: -o - would mix the trace with what the program prints; a FIFO or bash's -o >(pugmark sim ... -) does not (see `pugmark run --help`)
# With some 16,000 arguments and more the stack may begin anywhere in its lowest page: all of a page, in steps of 384 bytes.
$ for n in $(seq 60000 48 60512); do set -- $(seq 1 $n); pugmark run -q -- /bin/echo "$@" | tail -c 6; done | awk '{ sum += $1 } END { print NR, sum }'
> 11 662640
$ set -- $(seq 1 60512); for n in 1 2 3 4 5 6 7 8 9 10 11; do shift 48; pugmark record -q -o r.pugrec -- /bin/echo "$@" | cksum >a; pugmark replay -q r.pugrec | cksum | cmp - a && echo same; done | uniq -c | sed 's/^ *//'
> 11 same
# A format without a file would be a trace that nobody gets.
$ for o in '-t pug' '-t pug --count' '-t nonsense' '-t pug --dump -o d'; do pugmark run $o -- echo ran || echo $?; done; pugmark replay -t din r.pugrec || echo $?
> 2
> 2
> 2
> 2
> 2
! pugmark: -t pug, but no -o FILE: where does the trace go? (see `pugmark run --help`)
! pugmark: -t pug, but no -o FILE: where does the trace go? (see `pugmark run --help`)
! pugmark: -t nonsense, but no -o FILE: where does the trace go? (see `pugmark run --help`)
! pugmark: --dump writes text: no -t FORMAT (see `pugmark run --help`)
! pugmark: -t din, but no -o FILE: where does the trace go? (see `pugmark replay --help`)
