# Every option that takes a number says what it accepts. Words, nothing, negative numbers, what does not
# fit in 64 bits and what stands behind a number are refused by all; 0 is accepted by those listed, to
# which it means something.
$ cat >all <<'.'
+ for c in run record replay query annotate head slice convert diff sim mix simpoint\ cut simpoint\ sim sample sweep\ run laplace machine\ run machine\ resume citcat\ extract citcat\ replay citcat\ compare citcat\ stat instrument vcount rtrace brdist penn profile\ write; do
+ 	COLUMNS=200 pugmark $c --help 2>/dev/null | grep -oE -e '--[a-z-]+ (N|M|SEED|PERCENT|SECONDS|BYTES|SIZE|PID|TID)( |$)' | cut -d ' ' -f 1 | sed "s/^/$c /"
+ done
+ .
+ sh all | grep -v 'machine.* --ram' >options; wc -l <options
> 83
$ while read -r o; do for v in x '' -1 99999999999999999999999 1x ' 1' 0x 1.5.5 nan inf; do x=${o##* }; pugmark ${o% *} "$x=$v" 2>&1 </dev/null | grep -q "^pugmark: $x expects .*, not '$v' (see" || echo "$o=$v"; done; done <options
$ while read -r o; do x=${o##* }; pugmark ${o% *} "$x=0" 2>&1 </dev/null | grep -q "^pugmark: $x expects .*, not '0' (see" || echo "$o"; done <options
> run --after
> run --cache-limit
> record --checks
> replay --after
> replay --cache-limit
> slice --from
> slice --count
> convert --skip
> simpoint cut --warmup
> sample --error
> sample --warmup
> sample --training
> sample --branches
> sample --seed
> machine run --limit
> machine run --cycles
> machine run --warmup
> citcat replay --warmup
> citcat replay --limit
