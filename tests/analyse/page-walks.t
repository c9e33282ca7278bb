# Page walks of the core model. The rules are compared with a slow twin in tests/unit/test_core.c.
# A processor's preset has TLBs; what they cost is told. Without them nothing is.
$ pugmark sim -s core:preset=golden-cove "$TESTS/data/real.pug" | grep -c 'tlb misses\|walk'
> 6
$ pugmark sim -s 'core:preset=golden-cove;tlb=none' "$TESTS/data/real.pug" | grep -c 'tlb misses\|walk'
> 0
? 1
# What the TLBs lack is what the simulator `tlb` says.
$ pugmark sim -s 'core:itlb=4;dtlb=8,2way;stlb=16' --tlb 'itlb=4;dtlb=8,2way;stlb=16' --csv x.csv "$TESTS/data/real.pug" >/dev/null; n() { sed -n "s/^$1,\([0-9]*\),.*/\1/p" x.csv; }; echo "$(n core.itlb_misses) $(n core.dtlb_misses) $(n core.walks)" >a; echo "$(n tlb.itlb.misses) $(n tlb.dtlb.misses) $(n tlb.stlb.misses)" >b; cmp a b && [ "$(n core.walks)" -gt 100 ] && echo the same
> the same
# Larger TLBs never need more walks (LRU, fully associative: inclusion), and more walkers no more cycles here.
$ for n in 2 4 8 16 32; do pugmark sim -s "core:tlb=$n,full" --csv x.csv "$TESTS/data/real.pug" >/dev/null; sed -n 's/^core.walks,\([0-9]*\),.*/\1/p' x.csv; done >walks; sort -rn walks | cmp - walks && [ "$(head -n 1 walks)" -gt "$(tail -n 1 walks)" ] && echo fewer
> fewer
$ for n in 1 2 8; do pugmark sim -s "core:tlb=2,full;walkers=$n" --csv x.csv "$TESTS/data/real.pug" >/dev/null; sed -n 's/^core.cycles,\([0-9]*\),.*/\1/p' x.csv; done >cycles; sort -rn cycles | cmp - cycles && [ "$(head -n 1 cycles)" -gt "$(tail -n 1 cycles)" ] && echo sooner
> sooner
# What makes no sense.
$ pugmark sim -s 'core:stlb=64' "$TESTS/data/real.pug"
! pugmark: core: TLBs have a first level (itlb, dtlb, or tlb), and one below it at most
? 2
$ pugmark sim -s 'core:itlb=64;stlb=128,4way,2m' "$TESTS/data/real.pug"
! pugmark: core: itlb and stlb have pages of different sizes
? 2
$ pugmark sim -s 'core:pwc=1,2' "$TESTS/data/real.pug"
! pugmark: core: pwc: expected three numbers: pwc=PDE,PDPTE,PML4E
? 2
$ pugmark sim -s 'core:walkers=0' "$TESTS/data/real.pug"
! pugmark: core: walkers: page walkers: 0 is outside 1..1000
? 2
$ pugmark sim -s 'core:tlb=64;byinsn;flush=switch' "$TESTS/data/real.pug"
! pugmark: core: 'flush' is not a setting; allowed: preset, fetch, bytes, queue, front, bubble, width, rob, iq, lq, sq, mshr, gap, forward, alu, vec, loads, stores, lat, fdip, regs, bpred, byinsn, topdown, top, l1i, 
? 2
