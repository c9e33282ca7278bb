# Simulators while a program runs say what they say about its stored trace, and about a single-stepper's trace.
$ pugmark run -q --csv live -o costs.pug -t pug -s cachegrind -s 'cache:l1i=1k;l1d=1k,2way,32;l2=8k;byinsn' -s bpred:gshare=4 -s bpred:tage -s core:byinsn -- "$PROGRAMS/costs"; pugmark sim --csv stored -s cachegrind -s 'cache:l1i=1k;l1d=1k,2way,32;l2=8k;byinsn' -s bpred:gshare=4 -s bpred:tage -s core:byinsn costs.pug >text; grep -E '^(cachegrind|cache|bpred|core)\.' live >a; grep -E '^(cachegrind|cache|bpred|core)\.' stored >b; test $(wc -l <a) -gt 100 && diff a b
$ "$BUILD/tests/oracle/steptrace" costs.trace "$PROGRAMS/costs"; pugmark annotate --source "$TOP" --object "$PROGRAMS/costs@0" -e Ir,Dr,D1mr,D1mw,Bc -o stepped costs.trace; pugmark annotate --source "$TOP" -e Ir,Dr,D1mr,D1mw,Bc -o live costs.pug; diff stepped live && wc -l <live
> 32
# cachegrind gets packed batches, with all references when it is not alone: same caches, repeats and signals included.
$ for p in "$PROGRAMS/vector-static" "$PROGRAMS/signals" "$PROGRAMS/threads"; do pugmark run -q --no-follow --csv live -o x.pug -s 'cachegrind:ll=64k,4way,64' -- $p >/dev/null; pugmark sim --csv stored -s cachegrind:ll=64k,4way,64 x.pug >/dev/null; for f in live stored; do grep -E '^cachegrind\.[A-Z]' $f >$f.cg; done; diff live.cg stored.cg && wc -l <live.cg; done
> 13
> 13
> 13
# Alone, without those that hit the newest line: two runs of a program that knows no addresses but its own.
$ for s in '-s cachegrind' '-s cachegrind -s count' '-s cachegrind:d1=2k,2way,32;ll=64k,4way,64' '-s cachegrind:d1=2k,2way,32;ll=64k,4way,64 -s count'; do setarch -R pugmark run -q --fix-random --csv csv $s -- "$PROGRAMS/costs" >/dev/null; grep -E '^cachegrind\.[A-Z]' csv | cksum; done | uniq -c | awk '{ print $1 }'
> 2
> 2
# From counts alone, too.
$ pugmark run -q --annotate counted -- "$PROGRAMS/costs"; grep -E 'total|walk|next|jnz' counted
>      521     130       2  total
>      516     130       .  walk  costs
> walk  costs
>      128       .       .      401011  jnz 0x401002
# Every kind of result of one run.
$ pugmark run -q --usual --html page --callgrind cg --annotate hot --json json --report text -- "$PROGRAMS/costs"; grep -c '</html>' page; sed -n 's/^totals: \([0-9]*\) .*/\1/p' cg; sed -n 2p hot | awk '{ print $1 }'; sed -n 's/^    "Ir": \([0-9]*\),$/\1/p' json | head -1; awk '$1 == "Ir" { print $2; exit }' text
> 1
> 521
> 521
> 521
> 521
# The page begins with what one wants to know first.
$ grep -o '<dt>exit status</dt><dd>0\|>Where it went\|>What is odd\|>What to try next\|>costs</code>\|<h2>Overview' page | sort | uniq -c | sed 's/^ *//'
> 1 <dt>exit status</dt><dd>0
> 1 <h2>Overview
> 1 >What is odd
> 1 >What to try next
> 1 >Where it went
$ pugmark run -s reuse --callgrind cg -- "$PROGRAMS/costs"
! pugmark: none of the simulators counts per instruction; cachegrind, cache:...;byinsn, bpred and core:byinsn do
? 1
# ... before the program runs, which may take long, and before anything is written
$ pugmark run -q --folded f.e --lcov l.e --annotate a.e -- sh -c 'echo ran'; ls *.e 2>/dev/null
! pugmark: none of the simulators counts per instruction; cachegrind, cache:...;byinsn, bpred and core:byinsn do
? 2
$ pugmark run -s i487 -- "$PROGRAMS/costs" 2>&1 | cut -c 1-60
> pugmark: 'i487' is not a sink; did you mean 'i486'?
$ pugmark run -s 'cache:l1d=48k,8way,64' -- "$PROGRAMS/costs"
! pugmark: cache: l1d: 49152 bytes in 8 ways of 64-byte lines make 96 sets; the number of sets must be a power of two
? 2
$ pugmark run --cache -s bpred:tage -- "$PROGRAMS/costs"
! pugmark: live traces hold no branch outcomes; 'bpred' needs them (`pugmark run --exec` traces them)
? 1
# Classes of memory, from the mappings and from brk(): nothing is left over.
$ pugmark run -q -s 'cache:l1=8k;regions' --csv csv -- "$PROGRAMS/heap"; sed -n 's/^cache\.regions\.\([a-z]*\)\.accesses,\([0-9]*\),.*/\1 \2/p' csv | awk '{ print $1, ($2 > 1000 ? "many" : $2) }'
> code many
> stack many
> heap many
> global many
> other 0
