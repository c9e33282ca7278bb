# needs: script
# A recording in place of a trace.
$ pugmark record -o r.pugrec -- "$PROGRAMS/exits" 7; echo $?
> about to end: 7
> atexit
> 7
$ pugmark replay -q --no-output -o r.pug r.pugrec; pugmark dump r.pugrec | grep -v ' time ' > a; pugmark dump r.pug | grep -v ' time ' > b; cmp a b && echo same
> same
$ pugmark convert -q r.pugrec r.champsim; pugmark convert -q r.pug s.champsim; cmp r.champsim s.champsim && echo same
> same
$ pugmark sim --sim cache r.pugrec > a; pugmark sim --sim cache r.pug > b; cmp a b && echo same
> same
$ pugmark verify r.pugrec | grep -c good; pugmark annotate r.pugrec | grep -c total; pugmark info r.pugrec | sed -n 2p
> 11
> 1
> format          pug
# What is converted is written by the replay itself, and JSON says what; on a terminal it says how far it is. (It is stopped for longer than a second.)
$ pugmark convert --json c.json r.pugrec c.pug && pugmark dump c.pug | grep -v ' time ' > c; pugmark dump r.pug | grep -v ' time ' | cmp - c; sed -n 's/.*"\(name\|format\)": "\([a-z.]*\)".*/\2/p' c.json
> pugmark.convert
> pug
$ pugmark record -o l.pugrec -- awk 'BEGIN { while (i < 600000) i++ }'; printf '%s\n' '"$@" & sleep 0.3; kill -STOP $!; sleep 1.2; kill -CONT $!; wait' > stop.sh
$ for c in 'convert l.pugrec l.pug' 'replay --no-output -o l.pug l.pugrec' 'replay -q --no-output -o l.pug l.pugrec'; do TERM=xterm script -qec "bash stop.sh pugmark $c" /dev/null | tr '\r' '\n' | grep -cE 'M instructions, [0-9.]+ M/s' | sed 's/[1-9][0-9]*/shown/'; done
> shown
> shown
> 0
