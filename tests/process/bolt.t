# needs: perf2bolt-19 llvm-bolt-19 merge-fdata-19
# BOLT takes our profiles without a warning: nothing in them is not as in the file, and fdata is what perf2bolt makes of --bolt. (perf2bolt is that only under its own name.)
$ cp "$TESTS/data/branch_kinds.c" . && for o in -fPIE -no-pie; do gcc -O2 $o -fno-reorder-blocks-and-partition -Wl,--emit-relocs branch_kinds.c -o prog
+ 	pugmark run -q --bolt prog.pa --fdata prog.fdata --predict -- ./prog > native
+ 	/usr/lib/llvm-19/bin/perf2bolt prog --pa -p prog.pa -o converted 2>&1 | grep -E 'WARN|ERR|mismatch|range' | sed 's/ (.*//'
+ 	sort prog.fdata > a; sort converted > b; cmp a b && pugmark profile merge -o c converted && sort c | cmp - a
+ 	llvm-bolt-19 prog -o prog.bolt -data prog.fdata -reorder-blocks=ext-tsp -reorder-functions=cdsort 2>&1 | grep -E 'stale|invalid|mismatch|WARN|ERR' | grep -v debug
+ 	./prog.bolt | cmp - native; done
> PERF2BOLT: traces mismatching disassembled function contents: 0
> PERF2BOLT: Out of range traces involving unknown regions: 0
> PERF2BOLT: traces mismatching disassembled function contents: 0
> PERF2BOLT: Out of range traces involving unknown regions: 0
# BOLT's own merge of two is ours; but it does not add mispredictions.
$ pugmark run -q --fdata 1 -- ./prog > native; cp 1 2; pugmark profile merge -o ours 1 2; merge-fdata-19 1 2 -o theirs 2>/dev/null; sort ours > a; sort theirs | cmp - a
