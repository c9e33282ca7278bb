# Coherent caches: a program with false sharing and the same one mended, on cores that step 100 instructions at a time. A
# turn is 5 instructions, a step 20 turns, so 2000 turns are 100 steps, and each of the four threads misses once a step, as
# long as another one runs: they begin one after the other, some 10 steps apart, and end so.
$ for s in 8 64; do pugmark run -q --exec -o $s.pug -- "$PROGRAMS/sharing" $s; pugmark sim --cores 4 --save-schedule $s.sched -s coherence:cores=4 --json $s.json --csv $s.csv $s.pug >$s.text; done; head -1 8.sched
> pugmark-schedule 1
$ echo "awk -F, '/coherence.lines.*false_sharing/ { n = \$2 } /coherence.lines.*object,counters/ { s += n } END { print s + 0 }' \$1.csv" >on; n=$(sh on 8); test $n -ge 340 && test $n -le 400 && echo so it is; sh on 64
> so it is
> 0
# Both sides, by line and variable.
$ awk -F, '/sides.0..(missed|wrote)/ { sub(/.*\]./, "", $1); sub(/\+.*/, "", $2); print $1, $2 }' 8.csv
> missed count
> missed_line sharing.c:16
> missed_on counters
> wrote count
> wrote_line sharing.c:16
> wrote_to counters
# Twice the step, half the misses: a line moves once a step.
$ pugmark sim --cores 4 --step 200 -s coherence:cores=4 --csv half.csv 8.pug >/dev/null; n=$(sh on half); test $n -ge 170 && test $n -le 200 && echo so it is
> so it is
# On one core, or in the order of the trace's buffers, nobody sees it.
$ pugmark sim --cores 1 -s coherence:cores=1 --csv one.csv 8.pug >/dev/null; sh on one; awk -F, '/all_cores.(true|false)_sharing/ { print $2 }' one.csv
> 0
> 0
> 0
# A schedule repeats the result, event by event; with any simulator.
$ for c in 2 3 4; do for n in 50 500 700; do pugmark sim --cores $c --quantum $n --save-schedule q -s digest -s coherence:cores=$c -s cache 8.pug >a; pugmark sim --schedule q -s digest -s coherence:cores=$c -s cache 8.pug | diff a - && test $(wc -l <q) -gt 10 || echo $c $n; done; done
# Nothing is lost or made: each thread's events are those of the trace.
$ pugmark sim --cores 3 --quantum 500 -s count 8.pug | grep -v -E ' (kernel|events)  ' >c; pugmark sim -s count 8.pug | grep -v -E ' (kernel|events)  ' >t; for f in c t; do awk '$1 ~ /^(instructions|block|read|write|syscall|thread)$/ || NF == 6 { $6 = ""; print }' $f >$f.few; done; diff c.few t.few && wc -l <c.few
> 12
# Several traces, more threads than cores; address spaces are not the same.
$ pugmark sim --cores 2 -s coherence:cores=2 --csv m.csv 8.pug 64.pug "$TESTS/data/real.pug" >/dev/null; awk -F, '/all_cores.fetches/ { print ($2 > 500000) }' m.csv; pugmark sim --cores 2 --pinned --quantum 1000 --save-schedule p -s discard 8.pug 8.pug >/dev/null; awk 'NR > 2 && $4 % 2 != $1' p | wc -l
> 1
> 0
# What does not fit is refused, in one line.
$ pugmark sim --schedule 8.sched -s discard "$TESTS/data/real.pug"
! pugmark: 8.sched:2: the schedule is of another number of streams than the traces have
? 1
$ sed 's/ [0-9]* 4$/ 99999 4/' 8.sched >bad; pugmark sim --schedule bad -s discard 8.pug 2>&1 | sed 's/bad:[0-9]*/bad:N/'
> pugmark: bad:N: the stream does not run that many instructions: the schedule is of another trace
$ sed '$d' 8.sched >bad; pugmark sim --schedule bad -s discard 8.pug
! pugmark: bad:2: the traces have more instructions than the schedule: it is of other ones
? 1
$ sed '2s/streams 5/streams 6/' 8.sched >bad; pugmark sim --schedule bad -s discard 8.pug
! pugmark: bad:2: the schedule is of another number of streams than the traces have
? 1
$ sed '3s/.*/0 0 x 0/' 8.sched >bad; pugmark sim --schedule bad -s discard 8.pug
! pugmark: bad:3: expected core, start, instructions and stream
? 1
$ pugmark sim --schedule 64.pug -s count 8.pug
! pugmark: 64.pug:1: expected 'pugmark-schedule 1': this is no schedule
? 1
$ pugmark sim --cores 4 -s coherence:cores=2 8.pug >/dev/null
! pugmark: coherence: the schedule uses core 2, and there are 2 (from 0); cores=N says how many
? 1
$ pugmark sim -s count 8.pug 64.pug
! pugmark: several FILEs need --cores (see `pugmark sim --help`)
? 2
$ for c in cores=65 l2=1k l1d=1k 'l1d=2k;l2=1k' 'l1d=1k,fifo;l2=2k' 'l1d=1k;l2=2k,,32' 'l1=1k;l2=2k' colour=1; do pugmark sim -s "coherence:$c" 8.pug; done
! pugmark: coherence: cores: cores: 65 is outside 1..64
! pugmark: coherence: cores need l1d=..., and share a level below: l2=... or l3=...
! pugmark: coherence: cores need l1d=..., and share a level below: l2=... or l3=...
! pugmark: coherence: l1d: larger than l2, which includes it
! pugmark: coherence: l1d: coherent caches have size, ways and line only; they are lru, wb, wa and inclusive
! pugmark: coherence: l2: an empty field in 'l1d=1k;l2=2k,,32'
! pugmark: coherence: l1: first levels are l1i and l1d, those below have no side
! pugmark: coherence: 'colour' is not a setting; allowed: l1i, l1d, l2, l3, cores=N, top=N, spaces=shared, objects
? 2
# The twin agrees on the program's own accesses.
$ PM_TRACE=$PWD/8.pug "$BUILD/tests/unit/test_coherence" >out 2>&1 || cat out
