# Which threads there are, a thread that is not there, and what an option of a format is.
$ pugmark run -q --exec -o x.pug -- sh -c 'ls / | sort >/dev/null' && pugmark info x.pug | awk '$1 == "pid" || $1 == "tid" { print $1, $2 ~ /^[0-9]*$/ ? "N" : $2 }' | sort | uniq -c
>       5 pid N
>       5 tid N
$ pugmark info --json a.json x.pug; pugmark info --count --json b.json x.pug; for f in a b; do grep -A 6 '"stream"' $f.json | grep -E '"(stream|pid|tid|space|name|instructions)"' | tr -d ', ' >$f.s; done; cmp a.s b.s && sort -u a.s | wc -l | awk '{ print ($1 > 10) }'
> 1
$ t=$(pugmark info x.pug | awk '$1 == "tid" { print $2 }' | tail -n 1); pugmark slice -q --thread $t x.pug t.pug && pugmark info t.pug | grep -c "tid *$t"
> 2
$ pugmark slice -q --thread 99999999 x.pug no.pug 2>&1 | sed 's/[0-9][0-9]*, .*/.../; s/there are [0-9]*$/there are .../'; pugmark slice --thread 3 -t din $TESTS/data/formats/lackey-34.txt -; ls no.pug
> pugmark: the trace has no thread 99999999; there are ...
! pugmark: the trace has no thread 3; it does not say which threads there are
! ls: cannot access 'no.pug': No such file or directory
? 2
# An interval that the trace does not fill.
$ pugmark convert -t simpoint $TESTS/data/real.pug x.bb; ls x.bb; pugmark convert -q -t simpoint:keep $TESTS/data/real.pug - | wc -l; pugmark convert -q -t simpoint:interval=50000 $TESTS/data/real.pug - | wc -l
> 1
> 4
! pugmark: x.bb: the trace has 200000 instructions, less than an interval of 100000000; interval=N says how long one is, keep writes one that is not full
! ls: cannot access 'x.bb': No such file or directory
$ pugmark formats simpoint
> simpoint: basic-block vectors for SimPoint (exp-bbv, gem5)
>   pugmark reads and writes it
>   files:  .bb
>   needs:  nothing in particular
>   options, as in FORMAT:NAME=VALUE,NAME:
>     interval=N  instructions of an interval (100000000)
>     keep  write the last interval, which is not full, too
# Every option that a format takes is told by `formats`.
$ for f in $(pugmark formats | cut -d' ' -f1); do
+ pugmark formats $f >about
+ { pugmark info -f $f:nosuch /dev/null; pugmark convert -t $f:nosuch $TESTS/data/real.pug x; } 2>&1 | sed -n "s/.*unknown format option 'nosuch', expected //p" | tr ' ' '\n' | grep -v '^none$' | sort -u | while read o; do grep -q -w -e "$o" about || echo "$f: $o"; done
+ done
# Formats without threads say that they mix several.
$ pugmark convert -t din x.pug x.din 2>&1 | grep mixed; pugmark convert -q -t din x.pug x.din; pugmark convert -t din t.pug t.din 2>&1 | grep mixed; pugmark convert -t drmemtrace x.pug x.dr 2>&1 | grep mixed; pugmark run -q -t lackey -o x.lackey -- sh -c '/bin/true; :' 2>&1 | grep -c mixed; pugmark run -t lackey -o x.lackey -- sh -c '/bin/true; :' 2>&1 | grep mixed
> pugmark: note: din traces hold no threads: 3 threads of 3 processes are mixed (`pugmark slice --thread N` writes one)
> 0
> pugmark: note: lackey traces hold no threads: 2 threads of 2 processes are mixed (`pugmark slice --thread N` writes one)
