# simulation points: cut, simulated, weighted
$ seq 3000 >in; pugmark run -q --exec -o all.pug -- gzip -kc in >in.gz; pugmark slice -q --count 200000 all.pug gz.pug; pugmark simpoint cut -q --interval 10k --warmup 15k --each 2 -o p --json points.json gz.pug >text; cmp points.json p/points.json; head -3 text; ls p/*.pug | wc -l | awk '{ print ($1 > 1 && $1 <= 20) }'; wc -l <p/simpoints | awk '{ print ($1 > 0) }'; awk '{ s += $1 } END { printf "%.4f\n", s }' p/weights
> instructions: 200,000 instructions
> work: 200,000 instructions that do not wait
> interval: 10,000 instructions
> 1
> 1
> 1.0000
# each file is what slice makes of that part
$ tr -d ' ",' <p/points.json | awk -F: '$1 == "first" { f = $2 } $1 == "instructions" { n = $2 } $1 == "warmup" { w = $2 } $1 == "file" { print f - w, n + w, $2 }' | while read -r from n file; do pugmark slice -q --from "$from" --count "$n" gz.pug one.pug; pugmark dump one.pug >a; pugmark dump "p/$file" >b; cmp a b || echo "$file"; done
# all intervals, each behind all that comes before: the whole, exactly
$ pugmark simpoint cut -q --interval 10k --warmup 1g --each 1000 -o whole gz.pug >/dev/null; ls whole/*.pug | wc -l; for s in core cache:l1d=4k,2way bpred:gshare=10; do pugmark simpoint sim -q -j 2 -s $s --json s.json whole >/dev/null; pugmark sim -q -s $s --csv s.csv gz.pug >/dev/null; tr -d ' ",\n' <s.json | sed 's/{counter:/\n/g' | sed -n 's/^\([a-z][^:]*\)per_instruction:\([^a-z]*\)low:\([^a-z]*\)high:\([^a-z]*\)estimate:\([0-9]*\).*/\1 \5/p' | while read -r name v; do grep "^$name," s.csv | awk -F, -v v="$v" '{ d = $2 - v; if (d * d > 1) print "differs:", $0, v; else print "same" }'; done | sort | uniq -c | awk '{ print ($1 > 3), $2 }'; done
> 20
> 1 same
> 1 same
> 0 same
# a program is recorded, and runs once
$ cat >prog.sh <<'X'
+ echo ran >>ran
+ i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done
+ X
$ pugmark simpoint cut -q --interval 20k --warmup 20k -o q -- sh prog.sh >/dev/null; cat ran; ls q | grep -v '^0' | tr '\n' ' '; pugmark simpoint sim -s core q | grep -c 'core.cycles'; pugmark simpoint cut -q --trace --interval 20k --warmup 20k -o t -- sh prog.sh >/dev/null; cat ran; ls t | grep -v '^0' | tr '\n' ' '
> ran
> points.json run.pugrec simpoints weights 1
> ran
> ran
>- points.json simpoints weights 
# loops: regions of a threaded program begin at loop entries, and who waits does not work
$ cat >spin.c <<'X'
+ #include <pthread.h>
+ #include <stdatomic.h>
+ #include <stdlib.h>
+ #include <unistd.h>
+ static atomic_int flag;
+ static volatile double sum[2];
+ static void *work(void *arg)
+ {
+ 	long me = (long)arg;
+ 	double x = 0;
+ 	for (int r = 0; r < 200; r++) {
+ 		for (int i = 0; i < 300; i++)
+ 			x += i * 0.5 + r;
+ 		sum[me] = x;
+ 	}
+ 	if (me) {
+ 		usleep(atoi(getenv("WAIT")));
+ 		flag = 1;
+ 	} else {
+ 		while (!flag)
+ 			__builtin_ia32_pause();
+ 	}
+ 	for (int i = 0; i < 20000; i++)
+ 		sum[me] += i;
+ 	return NULL;
+ }
+ int main(void)
+ {
+ 	pthread_t t[2];
+ 	for (long i = 0; i < 2; i++)
+ 		pthread_create(t + i, NULL, work, (void *)i);
+ 	for (int i = 0; i < 2; i++)
+ 		pthread_join(t[i], NULL);
+ 	return 0;
+ }
+ X
$ gcc -O1 -pthread -o spin spin.c && for w in 1 60000; do WAIT=$w pugmark run -q --exec -o spin.$w.pug -- ./spin; pugmark simpoint cut -q --loops --interval 50k --warmup 50k -k 4 -o loops.$w spin.$w.pug | awk -F'[: ]+' '$1 == "work" { gsub(",", ""); print $2 }'; done >work; awk 'NR == 1 { a = $1 } END { d = $1 / a - 1; print NR, (a > 1300000 && a < 1500000), (d * d < 1e-6) }' work
> 2 1 1
# entries, counted in the trace's text
$ tr -d ' ",' <loops.1/points.json | awk -F: '$1 == "first" { f = $2 } $1 == "loop" { l = $2 } $1 == "entry" { print f, l, $2 }' >want; wc -l <want | awk '{ print ($1 > 3) }'; pugmark dump spin.1.pug | awk 'NR == FNR { at[$1] = 1; next } $2 == "insn" { c[$3]++; if (n in at) print n, $3, c[$3]; n++ }' want - | cmp - want
> 1
$ pugmark simpoint cut -q --loops --interval 60k --warmup 1g --each 1000 -o wl spin.1.pug >/dev/null; pugmark sim -q -s core --csv s.csv spin.1.pug >/dev/null; pugmark simpoint sim -q -s core --json s.json wl >/dev/null; grep -A4 '"core.cycles"' s.json | sed -n 's/.*"estimate": //p' | awk -v w="$(awk -F, '$1 == "core.cycles" { print $2 }' s.csv)" '{ d = $1 / w - 1; print (d * d < 1e-6) }'
> 1
# one interval of each phase: no bound
$ pugmark simpoint cut -q --interval 10k --each 1 -k 2 -o one gz.pug >/dev/null; pugmark simpoint sim -s core --json - one | grep -c '"low": null' | awk '{ print ($1 > 3) }'
> 1
$ pugmark simpoint cut -o p gz.pug; pugmark simpoint cut gz.pug; pugmark simpoint cut -o x; pugmark simpoint cut -o x none.pug; ls -d x*; pugmark simpoint cut -o x -; pugmark simpoint cut -o x a b; pugmark simpoint cut -o x --each 0 gz.pug
! pugmark: cannot make 'p': it is there already
! pugmark: missing -o FOLDER (see `pugmark simpoint cut --help`)
! pugmark: missing FILE or -- PROGRAM (see `pugmark simpoint cut --help`)
! pugmark: none.pug: cannot open: No such file or directory
! ls: cannot access 'x*': No such file or directory
! pugmark: a trace is read twice; standard input cannot be (see `pugmark simpoint cut --help`)
! pugmark: only one FILE; a program stands behind -- (see `pugmark simpoint cut --help`)
! pugmark: --each expects a number from 1 to 1000, not '0' (see `pugmark simpoint cut --help`)
? 2
$ pugmark simpoint cut -o x -- ./none; ls -d x*; pugmark simpoint cut -o no/x gz.pug
! pugmark: ./none: cannot execute: No such file or directory
! ls: cannot access 'x*': No such file or directory
! pugmark: cannot make 'no/x': No such file or directory
? 1
$ pugmark simpoint sim p; pugmark simpoint sim -s core none; pugmark simpoint sim -s nothing p; pugmark simpoint sim -s core:rob=1 p; mkdir e; echo '{}' >e/points.json; pugmark simpoint sim -s core e; rm whole/000003.pug; pugmark simpoint sim -s core whole; pugmark simpoint sim -s core --confidence 20 p
! pugmark: no simulator given; try -s core (see `pugmark simpoint sim --help`)
! pugmark: none/points.json: cannot open: No such file or directory
! pugmark: 'nothing' is no simulator (`pugmark sim --list` shows them)
! pugmark: core: rob: micro-ops in the reorder buffer: 1 is outside 8..4096
! pugmark: e/points.json: not what `pugmark simpoint cut` writes
! pugmark: point '000003.pug': cannot open: No such file or directory
! pugmark: --confidence expects a percentage from 50 to 99.99, not '20' (see `pugmark simpoint sim --help`)
? 2
$ sed 's/"warmup": [0-9]*/"warmup": 123456789/' p/points.json >e/points.json; pugmark simpoint sim -s core e; sed 's/"share": [0-9.]*/"share": 2/' p/points.json >e/points.json; pugmark simpoint sim -s core e
! pugmark: e/points.json: expected a number 'warmup' up to 0
! pugmark: e/points.json: expected a number 'share' from 0 to 1
? 1
# No room for the parts: one error, and nothing stays. What was collected for them is written by sinks that are given up, with
# code tables of those before them.
$ for n in 1 8 48; do (ulimit -f $n; pugmark simpoint cut -q --interval 20k -o full $TESTS/data/real.pug 2>&1; echo $?); ls -d full* 2>/dev/null; done; :
> pugmark: full: cannot write: File too large
> 1
> pugmark: full: cannot write: File too large
> 1
> pugmark: full: cannot write: File too large
> 1
# What counts nothing that adds up is refused, not left out; counters without a unit are weighted, too.
$ for s in branches calls i486 'core -s tree'; do pugmark simpoint sim -s $s p; done; pugmark simpoint sim -s cachegrind p | grep -cE 'cachegrind.(Ir|Dr|Dw|Bc|Bcm) '; pugmark simpoint sim -s reuse -s insns --json - p | grep -E 'lines|distinct'
> 5
! pugmark: branches counts nothing that can be weighted; `pugmark sim` shows what it gives
! pugmark: calls counts nothing that can be weighted; `pugmark sim` shows what it gives
! pugmark: i486 counts nothing that can be weighted; `pugmark sim` shows what it gives
! pugmark: tree counts nothing that can be weighted; `pugmark sim` shows what it gives
? 1
# Who is ended leaves no part of a folder behind.
$ mkfifo never; pugmark simpoint cut -o ended --trace -- cat never 2>/dev/null & sleep 1; ls -d ended.part* | wc -l; kill $!; wait $! 2>/dev/null; ls -d ended*; : >never
> 1
! ls: cannot access 'ended*': No such file or directory
