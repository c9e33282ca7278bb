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
$ for c in 'convert l.pugrec l.pug' 'replay --no-output -o l.pug l.pugrec' 'sim -s cache l.pugrec' 'verify l.pugrec' 'replay -q --no-output -o l.pug l.pugrec'; do TERM=xterm script -qec "bash stop.sh pugmark $c" /dev/null | tr '\r' '\n' | grep -cE 'M instructions, [0-9.]+ M/s' | sed 's/[1-9][0-9]*/shown/'; done
> shown
> shown
> shown
> shown
> 0
# Who analyses all of a recording replays it in the same process, without a trace in between: numbers are those of the trace.
$ pugmark sim -s requests r.pugrec
! pugmark: replays hold no requests for objects; 'requests' needs them
? 1
$ for f in r.pugrec r.pug; do pugmark sim --usual --json $f.json $f > $f.sim; pugmark annotate $f > $f.code; pugmark mix $f > $f.mix; pugmark profile write --bolt $f.bolt $f; pugmark verify $f | grep -v good > $f.good; pugmark report --no-open -o $f.html $f > z; done; for k in json sim code mix bolt good; do cmp r.pugrec.$k r.pug.$k && [ -s r.pug.$k ] && echo same; done; grep -c '</html>' r.pugrec.html
> same
> same
> same
> same
> same
> same
> 1
# So they are where threads are recorded, and several processes, with a simulator on a thread of its own or on none.
$ head -c 30000 /bin/sh > in; pugmark record -q -o t.pugrec -- zstd -q -5 -T2 -c in > z; pugmark record -q -o p.pugrec -- sh -c '/bin/true; ls /; exit 3' > z; for r in t p; do pugmark convert $r.pugrec $r.pug; for j in '' '-j 1' '-j 2'; do for f in $r.pugrec $r.pug; do pugmark sim $j -s digest $f 2> said | grep '^  digest'; done; done | uniq | wc -l; done
> 1
> 1
# Of processes at the same time it is chance which comes first.
$ pugmark record -q -o p.pugrec -- sh -c 'ls / | cat | wc -l' > z; pugmark convert p.pugrec p.pug; for f in p.pugrec p.pug; do pugmark sim -s count --csv - $f | grep '^count.*instructions' | cut -d, -f2 | sort -n | md5sum; done | uniq | wc -l; rm in z
> 1
# Nobody reads on: the replay ends, and does not come to where the program prints.
$ pugmark record -q -o e.pugrec -- awk 'BEGIN { while (i < 8000000) i++; print "end" }'; pugmark replay -q -t penn -o /dev/full e.pugrec; pugmark sim -s dump e.pugrec | head -n 1 | cut -d' ' -f2
> end
> exec
! pugmark: /dev/full: cannot write: No space left on device
# Interrupted, it leaves nothing behind.
$ { pugmark sim --usual --json x.json e.pugrec > x & sleep 1; kill $!; wait $!; echo $?; } 2> said; ls x.json 2>&1 | grep -c 'No such'; wc -c < x
> 143
> 1
> 0
