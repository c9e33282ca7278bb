# A core whose predictor runs ahead of fetch. What is missing in the instruction cache is the same lines; they come earlier.
$ n() { sed -n "s/^core.$1,\([0-9]*\),.*/\1/p" x.csv; }; for f in 0 1 8 24 200 24,1; do pugmark sim -q -s "core:preset=mid;fdip=$f;l1i=4k,4way;l1d=32k;l2=256k" --csv x.csv "$TESTS/data/real.pug" >/dev/null; echo "$f: cycles $(n cycles) issued $(n fdip_issued) useful $(n fdip_useful) late $(n fdip_late) hidden $(n fdip_hidden)"; done
> 0: cycles 461692 issued  useful  late  hidden 
> 1: cycles 459050 issued 151 useful 54 late 41 hidden 2630
> 8: cycles 458254 issued 151 useful 67 late 29 hidden 4089
> 24: cycles 458254 issued 151 useful 67 late 26 hidden 4104
> 200: cycles 458254 issued 151 useful 67 late 26 hidden 4104
> 24,1: cycles 458317 issued 151 useful 57 late 22 hidden 4068
# No instruction misses code that is not asked for.
$ pugmark sim -q -s 'core:preset=mid;fdip=24;l1i=4k,4way;l1d=32k;l2=256k;byinsn;top=1000000' --csv x.csv "$TESTS/data/real.pug" >/dev/null; awk -F, '/by_instruction.*\.Fm/ { fm += $2 } /core.fdip_issued/ { issued = $2 } END { print (fm > 50), (fm <= issued) }' x.csv
> 1 1
$ pugmark sim -q -s 'bounds:preset=mid;fdip=24' "$TESTS/data/real.pug"
! pugmark: bounds: fdip is for `core`: bounds has no front end that runs ahead
? 2
$ for s in fdip fdip=1,2,3 fdip=5000 fdip=4,0 fdip=4,17 fdip=four; do pugmark sim -q -s "core:$s" "$TESTS/data/real.pug"; done
! pugmark: core: fdip: expected fdip=N, or fdip=N,M: entries of the fetch target queue, blocks predicted per cycle
! pugmark: core: fdip: expected fdip=N, or fdip=N,M: entries of the fetch target queue, blocks predicted per cycle
! pugmark: core: fdip: entries of the fetch target queue: 5000 is outside 0..4096
! pugmark: core: fdip: blocks predicted per cycle: 0 is outside 1..16
! pugmark: core: fdip: blocks predicted per cycle: 17 is outside 1..16
! pugmark: core: fdip: entries of the fetch target queue: 'four' is not a number; allowed: 0..4096, with k, M or G behind
? 2
