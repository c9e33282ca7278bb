# if: sleep 5 & p=$!; said=$(pugmark run -q --pid $p --detach-after 0.01 2>&1 >/dev/null); s=$?; kill $p; [ $s = 0 ] || { echo "$said"; false; }
# timeout: 400
# A process that runs already is traced, all its threads wherever they are: computing, in calls that wait, in handlers on
# signal stacks, jumping out of them, in code that is written while it runs. Then it is left, and goes on as if nothing had
# been. Each thread checks what it does.
$ "$PROGRAMS"/attached 300 > went 2>&1 & p=$!; sleep 0.3
+ for i in 1 2 3 4 5 6; do pugmark run -q --pid $p --detach-after 0.1 || echo "cycle $i: $?"; done
+ for o in '--detach-after 0.1' '--for 5000000'; do pugmark run -q --exec -o x.pug --pid $p $o || echo "traced, $o: $?"; pugmark verify x.pug | tail -n 1; done
+ kill -TERM $p; wait $p; echo $?; cat went
> x.pug: good
> x.pug: good
> 0
> ok
# Nothing of the runtime is left behind, and handlers, masks and signal stacks are as they were.
$ "$PROGRAMS"/attached 60 0x1a > went 2>&1 & p=$!; sleep 0.3
+ state() { grep -E '^Sig(Cgt|Ign|Blk)' /proc/$p/status; sed 's/.*-[0-9a-f]* \(....\) [^/]*/\1 /' /proc/$p/maps | sort | uniq -c; }
+ state > before; pugmark run -q --pid $p --detach-after 0.2; state > after; diff before after && echo same
+ kill -TERM $p; wait $p; cat went
> same
> ok
# What is counted is what was executed meanwhile, to the instruction: as often as in a run that does the same work only.
$ cat > session.sh <<'E'
+ mkfifo in; "$PROGRAMS"/asked $1 < in > out & exec 3> in; while ! p=$(head -n 1 out | grep .); do sleep 0.05; done
+ echo before >&3; want=$((1 + ($1 + 0 > 0 ? $1 : 1))); while [ $(wc -l < out) -lt $want ]; do sleep 0.02; done
+ pugmark run -q --csv $2 --pid $p & t=$!; until grep -qs memfd:pugmark /proc/$p/maps; do sleep 0.02; done; sleep 0.3
+ echo during >&3; want=$((1 + 2 * ($1 + 0 > 0 ? $1 : 1))); while [ $(wc -l < out) -lt $want ]; do sleep 0.02; done; sleep 0.1
+ kill -INT $t; wait $t; echo "status $?"; echo after >&3; exec 3>&-; wait; sed 1d out | sort | uniq -c; rm in out
+ E
+ count() { awk -F, '/fib_asked/ { print $0 }' $1 | tr -d '"' | awk -F, -v c="$2" 'NR == 1 { print c, $0 }' | sed 's/0x[0-9a-f]*//g'; }
+ sh session.sh 0 one.csv; sh session.sh 3 three.csv; echo once | pugmark run -q --csv whole.csv -- "$PROGRAMS"/asked > /dev/null
+ cat > same.awk <<'E'
+ FNR == 1 { for (i = 1; i <= NF; i++) if ($i == "instructions" || $i == "calls") col[i] = $i }
+ /fib_asked/ { n = 0; for (i in col) n += $i; printf "%s %d\n", FILENAME, n / (FILENAME ~ /three/ ? 3 : 1) }
+ E
+ awk -F, -f same.awk one.csv three.csv whole.csv | awk '{ n[$2]++ } END { for (k in n) print (k > 1000), n[k] }'
> status 0
>       3 610
> status 0
>       9 610
> 1 3
# A program that was started under pugmark can be left, too; its status is still told.
$ pugmark run -q --csv f.csv --detach-after 0.3 -- sh -c 'sleep 0.6; echo went on; grep -c memfd:pugmark /proc/self/maps; exit 5'; echo $?; [ -s f.csv ] && echo reported
> went on
> 0
> 5
> reported
# The process ends while it is traced: that is the end of the trace.
$ sleep 1 & p=$!; pugmark run --pid $p -o report; echo $?; grep -c '^  instructions' report
> 0
> 1
# pugmark is killed: the program goes on in its original code.
$ "$PROGRAMS"/attached 60 0x66b > went 2>&1 & p=$!; sleep 0.3; pugmark run -q --pid $p & t=$!; sleep 0.7; kill -KILL $t; wait $t 2> /dev/null; sleep 1; kill -TERM $p; wait $p; echo $?; cat went
> 0
> ok
# One clear sentence each, and the process is unharmed.
$ pugmark run -q --pid 999999999; pugmark run -q --pid x 2>&1 | head -n 1; pugmark run -q --pid 1 true 2>&1 | head -n 1; pugmark run -q --detach-after 0 true 2>&1 | head -n 1
+ sh -c 'exec pugmark run -q --pid $$' 2>&1 | sed 's/process [0-9]*/process N/'
+ sleep 100 & p=$!; kill -STOP $p; until grep -q '^State:.T' /proc/$p/status; do sleep 0.01; done; pugmark run -q --pid $p 2>&1 | sed "s/$p/N/"; kill -CONT $p
+ pugmark run -q --pid $p & t=$!; until grep -qs memfd:pugmark /proc/$p/maps; do sleep 0.02; done; pugmark run -q --pid $p 2>&1 | sed "s/$p/N/"; kill -TERM $t; wait $t; echo "first: $?"
+ (ulimit -v 1000000; exec sleep 100) & q=$!; sleep 0.1; pugmark run -q --pid $q 2>&1 | sed "s/$q/N/"; grep -c State /proc/$p/status /proc/$q/status | cut -d: -f2; kill $p $q
> pugmark: --pid expects a number from 1 to 2147483647, not 'x' (see `pugmark run --help`)
> pugmark: --pid and a program: one of them can be traced (see `pugmark run --help`)
> pugmark: --detach-after expects seconds from 0.001 to 1000000000, not '0' (see `pugmark run --help`)
> pugmark: cannot attach to process N: it is pugmark itself
> pugmark: cannot attach to process N: it is stopped: let it go on first (kill -CONT)
> pugmark: cannot attach to process N: it is traced already, by pugmark
> first: 0
> pugmark: cannot attach to process N: its address space is limited (ulimit -v)
> 1
> 1
! pugmark: cannot attach to process 999999999: there is no such process
# Once so many instructions are traced it is left.
$ "$PROGRAMS"/attached 60 > went 2>&1 & p=$!; sleep 0.3
+ for o in '--after 500 --for 10000' '--stop-at 20000'; do timeout 30 pugmark run -q --pid $p $o -o x.pug; echo $?; pugmark info --json - x.pug | awk -F'[:,]' '/"instructions"/ { print ($2 > 9000 && $2 < 30000); exit }'; done
+ kill -TERM $p; wait $p; cat went
> 0
> 1
> 0
> 1
> ok
