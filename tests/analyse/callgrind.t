# needs: callgrind_annotate
# What annotate writes, read by Valgrind's own reader.
$ "$BUILD/tests/oracle/steptrace" costs.trace "$PROGRAMS/costs"; pugmark annotate --callgrind cg --object "$PROGRAMS/costs@0" -o text costs.trace; callgrind_annotate --show=Ir,D1mr,Bcm --inclusive=yes --auto=no cg | sed -n '/PROGRAM TOTALS/p; /:walk/p; /:_start/p' | sed 's,\[.*/,[,'
> 521 (100.0%) 64 (100.0%) 18 (100.0%)  PROGRAM TOTALS
> 521 (100.0%) 64 (100.0%) 18 (100.0%)  tests/programs/costs.S:_start [costs]
> 516 (99.04%) 64 (100.0%) 18 (100.0%)  tests/programs/costs.S:walk [costs]
$ callgrind_annotate --show=Ir,D1mr --auto=no --tree=calling --threshold=100 cg | grep 'walk (2x)' | sed 's,\[.*/,[,'
> 516 (99.04%) 64 (100.0%)  >   tests/programs/costs.S:walk (2x) [costs]
# A run that was kept without its data references: no reads, all the rest.
$ pugmark run -q --branch -o kept.pug -t pug -- "$PROGRAMS/costs"; pugmark annotate --callgrind cg -o text kept.pug; callgrind_annotate --show=Ir,Dr,Bc,Bcm --inclusive=yes --auto=no cg | sed -n '/PROGRAM TOTALS/p; /:walk/p; /:_start/p' | sed 's,\[.*/,[,'
> 521 (100.0%) 0          128 (100.0%) 18 (100.0%)  PROGRAM TOTALS
> 521 (100.0%) 0          128 (100.0%) 18 (100.0%)  tests/programs/costs.S:_start [costs]
> 516 (99.04%) 0          128 (100.0%) 18 (100.0%)  tests/programs/costs.S:walk [costs]
# The events of all simulators are told of calls, too: what a program's first function did and what it called are all
# there was.
$ pugmark run -q --exec -o heap.pug -t pug -- "$PROGRAMS/heap" > out; pugmark annotate -s 'cache:l1i=8k,2way;l1d=8k,2way;l2=64k,4way;byinsn' -s 'tlb:dtlb=16,full,4k;byinsn' -s 'bpred:gshare=12;tagescl;ras;ittage' -s cachegrind -s core:byinsn -s 'core:preset=small;byinsn' --callgrind cg -o text heap.pug; sed -n 's/^events: //p' cg
> l1im l1dm l2m dtlbm Br gsharem tagesclm rasm ittagem Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim Fm Lm Llm Bm Cbr Cfe Cme Cst Cco Fm2 Lm2 Llm2 Bm2 Cbr2 Cfe2 Cme2 Cst2 Cco2
$ awk '/^totals:/ { $1 = ""; print }' cg > totals; awk '/^fn=/ { on = $0 == "fn=_start" } /^0x/ && on { for (i = 3; i <= NF; i++) v[i] += $i } END { for (i = 3; i in v; i++) printf " %d", v[i]; print "" }' cg | diff totals - && echo the same
> the same
