# needs: perf perf2bolt-19 create_gcov create_llvm_prof dump_gcov llvm-profgen-19
# What reads perf's files reads ours: perf2bolt makes the lines of --fdata, each in proportion, and those for what the kernel began; the others have the functions of exact counts.
$ cp "$TESTS/data/branch_kinds.c" . && for o in -fPIE -no-pie; do gcc -O2 -gdwarf-4 $o -fno-reorder-blocks-and-partition -Wl,--emit-relocs branch_kinds.c -o prog
+ 	pugmark run -q --branch --predict --fdata want --llvm-sample exact --perf-data perf.data -- ./prog > native
+ 	/usr/lib/llvm-19/bin/perf2bolt prog -p perf.data -o got 2>&1 | grep -E 'WARN|ERR|mismatch' | sed 's/ (.*//'
+ 	for f in want got; do cut -d' ' -f1-6 $f | sort > $f.lines; done; comm -3 want.lines got.lines | grep -v '^.0 \[unknown\] 0 1 '
+ 	awk 'NR == FNR { want[$1 $2 $3 $4 $5 $6] = $8; a += $8; next } { got[$1 $2 $3 $4 $5 $6] = $8; b += $8 } END { for (k in want) { e = want[k] * b / a; if (e >= 500) { n++; if ((got[k] - e) ^ 2 > 36 * e) print k, e, got[k] } } print (n > 3) }' want got
+ 	llvm-profgen-19 --format=text --binary=prog --perfdata=perf.data -o sampled.prof > /dev/null 2>&1; llvm-profgen-19 --format=text --binary=prog --unsymbolized-profile=exact -o exact.prof 2> /dev/null
+ 	create_llvm_prof --binary=prog --profile=perf.data --format=text --out=autofdo.prof > /dev/null 2>&1
+ 	for f in exact sampled autofdo; do sed -n 's/^\([a-z_]*\):.*/\1/p' $f.prof | sort > $f.functions; done; cmp exact.functions sampled.functions; comm -12 exact.functions autofdo.functions
+ 	create_gcov --binary=prog --profile=perf.data --profiler=perf --gcov=prog.gcov --gcov_version=2 2>&1 | grep -v '^WARN'; test -s prog.gcov && echo gcov; done
> PERF2BOLT: traces mismatching disassembled function contents: 0
> 1
> ackermann
> add
> choose
> compare
> main
> on_signal
> twice
> gcov
> PERF2BOLT: traces mismatching disassembled function contents: 0
> 1
> ackermann
> add
> choose
> compare
> main
> on_signal
> twice
> gcov
