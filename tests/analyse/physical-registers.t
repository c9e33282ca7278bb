# So many results are between dispatch and commit: fewer take longer, more than the reorder buffer can fill make no difference.
$ for r in 0 8 32 64 4096; do pugmark sim -q -s "core:preset=mid;regs=$r;l1i=32k,8way;l1d=32k;l2=256k" --csv x.csv "$TESTS/data/real.pug" >/dev/null; echo "$r: $(sed -n 's/^core.cycles,\([0-9]*\),.*/\1/p' x.csv)"; done
> 0: 459482
> 8: 971272
> 32: 805757
> 64: 616937
> 4096: 459482
$ pugmark sim -q -s 'core:preset=mid;l1i=32k,8way;l1d=32k;l2=256k' --csv x.csv "$TESTS/data/real.pug" >/dev/null; sed -n 's/^core.cycles,\([0-9]*\),.*/\1/p' x.csv
> 459482
$ pugmark sim -q -s 'bounds:preset=mid;regs=24' "$TESTS/data/real.pug"
! pugmark: bounds: regs is for `core`: bounds knows no physical registers
? 2
$ for s in regs regs=4097 regs=four regs=1,2; do pugmark sim -q -s "core:$s" "$TESTS/data/real.pug"; done
! pugmark: core: regs: results between dispatch and commit: '' is not a number; allowed: 0..4096, with k, M or G behind
! pugmark: core: regs: results between dispatch and commit: 4097 is outside 0..4096
! pugmark: core: regs: results between dispatch and commit: 'four' is not a number; allowed: 0..4096, with k, M or G behind
! pugmark: core: regs: results between dispatch and commit: '' is not a number; allowed: 0..4096, with k, M or G behind
? 2
