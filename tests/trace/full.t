# tests/trace/full.t - a full disk: what is written stays readable, the error is said, the program goes on
$ D=$TESTS/data/formats; pugmark convert -q $D/steps.drmemtrace all.pug -t pug:chunk=100 && pugmark dump all.pug >all && pugmark dump $D/steps.drmemtrace | cmp - all
# at every size, a prefix of whole chunks, and one error
$ ulimit -f 14; pugmark convert -q $TESTS/data/formats/steps.drmemtrace part.pug -t pug:chunk=100
! pugmark: part.pug: cannot write: File too large
? 1
$ ls part.pug* && wc -c <part.pug && cmp -n 7168 all.pug part.pug
> part.pug
> 7168
# the records (docs/formats/pug.md) that fit are there, and where the first one that does not begins it is said how many instructions
# and events are before it
$ field() { od -An -t u$2 -j $((at + $1)) -N $2 all.pug | tr -d ' '; }; at=32; while [ $((at + 48 + $(field 4 4))) -le 7168 ]; do at=$((at + 48 + $(field 4 4))); done
+ pugmark dump part.pug >part 2>said; head -c $(wc -c <part) all | cmp - part; [ $(wc -l <part) = $(field 16 8) ] && [ $(field 8 8) -gt 1000 ] && pugmark verify part.pug 2>>said | sed "s/^$(field 8 8) /N /; 1q"; sed "s/:$(printf 0x%x $at):/:AT:/; s/ $(field 8 8) / N /" said >&2
> of a part of the trace: what stands before an error
! pugmark: part.pug:AT: the trace is cut here, after N instructions
! pugmark: part.pug:AT: the trace is cut here, after N instructions
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
# every format on a full device: one line, no crash
$ printf '%s\n' pug penn idt-branch64 idt-cache64 kt64 laplace64 laplace-text din xdin champsim cloudsuite lackey pinatrace drmemtrace gem5 ramulator dramsim3 oraclegeneral lcs chrome parquet >formats
+ pugmark run -q --exec -o some.pug -- sh -c : ; while read -r f; do pugmark convert -q -t $f some.pug /dev/full 2>said; s=$?; [ $s = 1 ] && [ $(wc -l <said) = 1 ] || { echo "$f: $s"; cat said; }; done <formats
# The last bytes of an IDtrace trace do not fit: nor are the files beside it there. (An error of ulimit's unit, 512 bytes or 1024, leaves room or takes more.)
$ for f in exec cache; do pugmark convert -q -t idt-${f}64 some.pug i.idt; (ulimit -f 1; trap "" XFSZ; head -c 4096 /dev/zero > unit) 2>/dev/null; u=$(wc -c < unit); n=$(($(wc -c < i.idt) / u - 1)); rm -f i.*; (ulimit -f $n; pugmark convert -q -t idt-${f}64 some.pug i.idt 2>&1 | sed 's/: .*write/: cannot write/'); ls i.* 2>/dev/null || :; done
> pugmark: cannot write: File too large
> pugmark: cannot write: File too large
