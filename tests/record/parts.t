# A recording is traced by several replays at once (-j): the events of each thread are those of one replay, in their order.
# timeout: 300
$ cat > same <<'end'
+ r=$1; shift
+ timeout 100 pugmark replay -q --no-output -o 1.pug $r; timeout 100 pugmark replay -q --no-output --json j.json -o 2.pug "$@" $r
+ for n in 1 2; do pugmark dump $n.pug | grep -v ' time ' | sort -s -n -k 1,1 > $n.text; done
+ cmp 1.text 2.text && pugmark verify 2.pug | grep -c ': good' && echo "equal, $(grep -c ' insn ' 1.text | sed 's/.....*/many/') instructions, $(grep -o '"parts": [0-9]*' j.json | sed 's/ [0-9][0-9]*[0-9]$/ many/; s/ [2-9]$/ many/')"
+ end
$ cat > p.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ #include <string.h>
+ int main(int argc, char **argv) { char b[64]; long n = 0; FILE *f = fopen(argv[1], "r"); while (fgets(b, sizeof b, f)) n += atol(b) * (long)strlen(b); printf("%ld\n", n); return 7; }
+ end
$ gcc -O1 -o p p.c && seq 1 1000 > n.in
$ pugmark record -q -o r.pugrec -- ./p n.in > /dev/null; rm n.in
$ export PUGMARK_PART=2000; for j in 2 3 5; do sh same r.pugrec -j $j; done
> 1
> equal, many instructions, "parts": many
> 1
> equal, many instructions, "parts": many
> 1
> equal, many instructions, "parts": many
# Each part has blocks of its own, and no branch is lost between them.
$ for n in 1 2; do pugmark sim -q -s branches -s tree -s calls --json $n.sim $n.pug >/dev/null; pugmark sim -q -s branches:predict --json $n.predict $n.pug >/dev/null; pugmark profile write --bolt $n.bolt $n.pug; done; cmp 1.sim 2.sim; cmp 1.predict 2.predict; cmp 1.bolt 2.bolt; pugmark profile write -h | grep -c bolt | sed 's/[1-9].*/some/'
> some
# Left to itself it makes fewer of them: here one.
$ unset PUGMARK_PART; sh same r.pugrec -j 2
> 1
> equal, many instructions, "parts": 1
# Threads, that begin, end, and wait for each other; and a process that executes another program.
$ export PUGMARK_PART=1500; for how in robust ring leaves; do timeout 60 pugmark record -q -o t.pugrec -- "$PROGRAMS/schedules" $how > /dev/null; sh same t.pugrec -j 3; done; timeout 60 pugmark record -q -o t.pugrec -- env true; sh same t.pugrec -j 3
> 1
> equal, many instructions, "parts": many
> 1
> equal, many instructions, "parts": many
> 1
> equal, many instructions, "parts": many
> 1
> equal, many instructions, "parts": many
# Where a new thread's first event lies is no matter of when the machine starts it: several at once.
$ export PUGMARK_PART=1500; for k in 1 2 3 4 5 6; do mkdir d$k && (cd d$k && for i in 1 2; do timeout 60 pugmark record -q -o t.pugrec -- "$PROGRAMS/schedules" leaves > /dev/null; sh ../same t.pugrec -j 3; done) & done | sort | uniq -c | sed 's/^ *//'
> 12 1
> 12 equal, many instructions, "parts": many
# What the program printed comes once, and so does its status. Blocks alone.
$ pugmark replay -q -o 2.pug -j 3 r.pugrec; echo $?
> 1998005
> 7
$ for j in '' '-j 3'; do pugmark replay -q --no-output --branch -o b.pug $j r.pugrec; pugmark dump b.pug | grep -v ' time ' | md5sum; done | uniq | wc -l
> 1
# Commands that take a recording in place of a trace.
$ pugmark convert r.pugrec c1.pug; pugmark convert -j 3 --json c.json r.pugrec c2.pug; for n in 1 2; do pugmark dump c$n.pug | grep -v ' time ' | md5sum; done | uniq | wc -l; grep -c '"replays": 3' c.json
> 1
> 1
$ for j in 1 3; do pugmark convert -j $j r.pugrec c.champsim 2>said; md5sum < c.champsim; done | uniq | wc -l
> 1
$ for j in 1 3; do pugmark sim -j $j --cache '' --bpred '' r.pugrec 2>said | grep -v ' s$' | md5sum; done | uniq | wc -l
> 1
$ for j in 1 3; do pugmark annotate -j $j r.pugrec | sed 's#/proc/self/fd/[0-9]*##' | md5sum; done | uniq | wc -l
> 1
# Several processes: one replay traces them.
$ pugmark record -q -o f.pugrec -- sh -c 'true | cat; true' && pugmark replay --no-output -j 2 -o f.pug f.pugrec && pugmark verify f.pug | tail -n 1
! pugmark: note: several processes are recorded: one replay traces all of them, whatever -j says
> f.pug: good
# A recording that is cut off is traced up to there, as by one; one that is none, and a full disk, are one error.
$ head -c $(($(stat -c %s r.pugrec) * 9 / 10)) r.pugrec > cut.pugrec; for j in 1 3; do pugmark replay -q --no-output -o cut.pug -j $j cut.pugrec; echo $?; done
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
> 1
> 1
# So it is where a command takes it in place of a trace: what there is is written, and the status says that it is cut.
$ for j in 1 3; do pugmark convert -j $j cut.pugrec c.pug; echo $?; pugmark dump c.pug | grep -v ' time ' | md5sum; done | sort -u | wc -l; pugmark info c.pug | grep complete
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
> 2
> complete        yes
$ pugmark info cut.pugrec | grep complete; pugmark sim --cache '' cut.pugrec > cut.text; echo $?; grep -c instructions cut.text
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
! pugmark: cut.pugrec: the recording is cut off: it has been replayed up to its last complete event
> complete        yes
> 1
> 1
$ head -c 100 r.pugrec > begin.pugrec; pugmark convert begin.pugrec b.champsim; echo $?; ls b.champsim 2>&1 | wc -l; pugmark annotate begin.pugrec
! pugmark: begin.pugrec:0x64: the recording ends before the program began
! pugmark: begin.pugrec:0x64: the recording ends before the program began
> 1
> 1
? 1
# The program's own status is not taken for that of the replay; notes of the replay come through.
$ pugmark record -q -o s.pugrec -- sh -c 'exit 3'; sh -c 'pugmark record -q -o k.pugrec -- sh -c "kill -9 \$\$"; :' 2> said; for r in s k; do pugmark convert $r.pugrec $r.pug; echo $?; pugmark replay -q --no-output --own-status -o $r.pug $r.pugrec; echo $?; done; pugmark replay -q s.pugrec; echo $?
> 0
> 0
> 0
> 0
> 3
$ pugmark replay -q --no-output -j 2 -o /dev/full r.pugrec -t pug
! pugmark: /dev/full: cannot write: No space left on device
? 1
$ echo no > x; pugmark convert -j 2 x y.pug
! pugmark: -j is for recordings, without --values (see `pugmark convert --help`)
? 2
$ pugmark replay -j 0 -o x.pug r.pugrec
! pugmark: --jobs expects a number from 1 to 64, not '0' (see `pugmark replay --help`)
? 2
$ pugmark replay -j 2 --usual r.pugrec
! pugmark: -j is for a trace in a .pug: -o FILE.pug, and no part of it (see `pugmark replay --help`)
? 2
