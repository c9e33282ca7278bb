# tests/trace/full.t - a full disk: what is written stays readable, the error is said, the program goes on
$ D=$TESTS/data/formats; pugmark convert -q $D/steps.drmemtrace all.pug -t pug:chunk=100 && pugmark dump all.pug >all && pugmark dump $D/steps.drmemtrace | cmp - all && wc -c <all.pug
> 7296
# at every size, a prefix of whole chunks, and one error
$ ulimit -f 14; pugmark convert -q $TESTS/data/formats/steps.drmemtrace part.pug -t pug:chunk=100
! pugmark: part.pug: cannot write: File too large
? 1
$ ls part.pug* && wc -c <part.pug && pugmark dump part.pug >part; wc -l <part; head -c $(wc -c <part) all | cmp - part && pugmark verify part.pug | head -1
> part.pug
> 7168
> 2020
> 1149 instructions
! pugmark: part.pug:0x1bb4: the trace is cut here, after 1149 instructions
! pugmark: part.pug:0x1bb4: the trace is cut here, after 1149 instructions
$ for n in 1 2 4 8 10 12 14; do (ulimit -f $n; pugmark convert -q $TESTS/data/formats/steps.drmemtrace p$n.pug -t pug:fast,chunk=100 2>e; echo "$n $? $(wc -l <e)"); pugmark dump p$n.pug 2>e >p; wc -l <e; head -c $(wc -c <p) all | cmp - p; done
> 1 1 1
> 1
> 2 1 1
> 1
> 4 1 1
> 1
> 8 1 1
> 1
> 10 1 1
> 1
> 12 1 1
> 1
> 14 1 1
> 1
# a traced program does not notice
$ pugmark run -q -o /dev/full -t pug:chunk=1000 -- sh -c 'echo undisturbed; ls / >/dev/null; exit 7'
> undisturbed
! pugmark: /dev/full: cannot write: No space left on device
? 1
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace x.pug -t pug:chunk=3
! pugmark: chunk expects a number of instructions from 16 to 8388608, not '3'
? 2
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace x.pug -t pug:level=dense,chunk=50 && pugmark dump x.pug | cmp - all
# Whoever is killed leaves nothing behind; what was there stays until something whole takes its place.
$ mkdir k; echo old > k/old.xdin; for o in k/new.xdin k/old.xdin; do yes '0 1000' | pugmark convert -q -f din -t xdin - $o & p=$!
+ until readlink /proc/$p/fd/* 2> /dev/null | grep -q -e '(deleted)' -e '\.part'; do sleep 0.02; done; { kill -9 $p; wait $p; } 2> /dev/null; done; ls k; cat k/old.xdin
> old.xdin
> old
$ echo '0 1000' | pugmark convert -q -f din -t xdin - k/old.xdin; cat k/old.xdin; ls k; umask 27; echo '0 1000' | pugmark convert -q -f din --json k/j -t xdin - k/new.xdin; stat -c '%n %a' k/*
> r 1000 4
> old.xdin
> k/j 640
> k/new.xdin 640
> k/old.xdin 644
