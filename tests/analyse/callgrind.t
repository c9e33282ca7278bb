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
