# Recordings that are none, of another version, cut, damaged; files that have changed.
$ cp /bin/true t; cp "$PROGRAMS/exits" e; pugmark record --lean -o r.pugrec -- ./e 7
> about to end: 7
> atexit
? 7
$ echo hello > x; pugmark replay x
! pugmark: x:0x0: not a recording
? 1
$ : > x; pugmark replay x; pugmark replay not-there; pugmark replay
! pugmark: x:0x0: not a recording
! pugmark: not-there: cannot open: No such file or directory
! pugmark: expected one recording (see `pugmark replay --help`)
? 2
$ cp r.pugrec x; printf '\13' | dd of=x bs=1 seek=8 conv=notrunc 2>/dev/null; pugmark replay x
! pugmark: x:0x8: a recording of version 11; this pugmark replays version 10
? 1
# Cut at many places: it replays up to there and says so, or says what is missing.
$ size=$(wc -c < r.pugrec); for n in $(seq 0 997 $size) $(seq $((size - 90)) 9 $((size - 1))); do head -c $n r.pugrec > x; timeout 20 pugmark replay -q --no-output x 2>&1 | sed 's/^pugmark: x:\(0x[0-9a-f]*:\)* //; s/expected .*/short/'; done | sort | uniq -c | sed 's/^ *[0-9]* //'
> not a recording
> the recording ends before the program began
> the recording is cut off: it has been replayed up to its last complete event
# Whatever is derived is there, up to the cut.
$ head -c $(($(wc -c < r.pugrec) * 8 / 10)) r.pugrec > x; for o in --json -o --folded --lcov --pprof --counts '-s cache --json' '--exec --count --report' --html; do timeout 60 pugmark replay -q --no-output $o y x 2> err; echo "$? $(wc -l < err)"; ls y y.1 2> /dev/null; rm -f y y.1; done | sort | uniq -c | sed 's/^ *//'
> 9 1 1
> 8 y
> 1 y.1
# Two things that go wrong are one error: that nothing could be written.
$ for c in 'replay -q --no-output --json -' 'replay -q --no-output -s mix --json -' 'sim -s mix --json -' 'convert -t din'; do pugmark $c x $(case $c in con*) echo -;; esac) >/dev/full; echo $?; done
! pugmark: standard output: cannot write: No space left on device
! pugmark: standard output: cannot write: No space left on device
! pugmark: standard output: cannot write: No space left on device
! pugmark: standard output: cannot write: No space left on device
> 1
> 1
> 1
> 1
# Damaged.
$ cp r.pugrec x; printf 'XXXX' | dd of=x bs=1 seek=$(($(grep -abo chnk r.pugrec | tail -n 2 | head -n 1 | cut -d: -f1) + 60)) conv=notrunc 2>/dev/null; pugmark replay -q --no-output x
! pugmark: x: the recording is damaged: it has been replayed up to where it is
? 1
# The program has changed.
$ printf x >> e; pugmark replay r.pugrec 2>&1 | sed "s,'.*/e','e',"
> pugmark: r.pugrec: the recorded program had mapped 'e', which has changed since (`pugmark record --portable` keeps it)
$ rm e; pugmark replay r.pugrec 2>&1 | sed "s,'.*/e','e',"
> pugmark: r.pugrec: the recorded program had mapped 'e', which cannot be opened: No such file or directory
$ for c in 'sim -s cache --json y' 'annotate --callgrind y' 'verify' 'report --no-open -o y' 'profile write --bolt y'; do pugmark $c r.pugrec 2>&1 | cut -d, -f 1 | sed "s,'.*/e','e',"; ls y* 2>/dev/null; done; true
> pugmark: r.pugrec: the recorded program had mapped 'e'
> pugmark: r.pugrec: the recorded program had mapped 'e'
> pugmark: r.pugrec: the recorded program had mapped 'e'
> pugmark: r.pugrec: the recorded program had mapped 'e'
> pugmark: r.pugrec: the recorded program had mapped 'e'
# Whoever records is killed: the program goes on, and what was written replays.
$ { pugmark record -o k.pugrec -- /usr/bin/sh -c 'echo a; sleep 0.7; kill -9 $PPID; echo b'; sleep 1.5; } 2>/dev/null; true
> a
> b
$ pugmark replay -q k.pugrec
> a
! pugmark: k.pugrec: the recording is cut off: it has been replayed up to its last complete event
? 1
# A recording writes nothing but memory of the process that replays it: what the program wrote to a file is not written again.
$ pugmark record -o w.pugrec -- /usr/bin/sh -c 'echo x > f; mkdir d; echo done'; rm -r f d; pugmark replay -q w.pugrec; ls f d 2>&1 | grep -c 'No such'
> done
> done
> 2
# A recording that cannot be written: the program does not run. If the program cannot run, no file appears, and one that is there stays.
$ pugmark record -o not-there/r.pugrec -- /usr/bin/sh -c 'echo ran'
! pugmark: not-there/r.pugrec: cannot create: No such file or directory
? 1
$ pugmark record -o new.pugrec -- ./not-there; ls new.pugrec 2>&1 | grep -c 'No such'; cp r.pugrec kept; pugmark record -o kept -- ./not-there; cmp kept r.pugrec
! pugmark: ./not-there: cannot execute: No such file or directory
> 1
! pugmark: ./not-there: cannot execute: No such file or directory
# What a report says of a recording that is cut, and of a process that was killed: in place of the replay's own ends, those of
# the recording.
$ pugmark record -q -o killed.pugrec -- sh -c 'kill -9 $$' 2>/dev/null; pugmark replay -q --report report killed.pugrec 2>/dev/null; grep -oE '(INCOMPLETE|incomplete).*|exit  *.*|dash, .*|sh, .*' report | tr -s ' '; pugmark replay -q --exec -o k.pug killed.pugrec 2>/dev/null; pugmark dump k.pug | grep ' exit '
> INCOMPLETE: a process was killed; what it had executed until then is counted
> exit SIGKILL
> dash, SIGKILL
> incomplete: killed; its last block may be missing
> 0 exit - - status=9 flags=process,signal
$ seq 4000 >in; pugmark record -q -o whole.pugrec -- gzip -c in >/dev/null; head -c $(($(wc -c <whole.pugrec) * 2 / 3)) whole.pugrec >short.pugrec; pugmark replay -q --report report --html page --callgrind cg --json json short.pugrec; grep -oE '(INCOMPLETE|incomplete).*|exit  *.*|gzip, .*' report | tr -s ' '; grep -o 'The replay ended before the program' page; grep -o 'incomplete, .*' cg; grep -A1 '"exit"' json | grep -c null; grep -c '"incomplete": true' json
> INCOMPLETE: the recording is cut off: it has been replayed up to its last complete event
> exit not seen
> incomplete: the replay ended
> The replay ended before the program
> incomplete, the recording is cut off: it has been replayed up to its last complete event
> 2
> 2
! pugmark: short.pugrec: the recording is cut off: it has been replayed up to its last complete event
# Where a replay may open few files it says so, and not that the recording is bad.
$ cp /bin/true own && pugmark record -q -o own.pugrec -- ./own; cp /bin/false own; for n in $(seq 8 40); do (ulimit -n $n; pugmark replay -q own.pugrec); done >said 2>&1; grep -c 'cannot be read$' said; grep 'no memory file' said | sed 's/.*: //' | uniq
> 0
> Too many open files
