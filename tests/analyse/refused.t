# What makes no sense is refused: one line, the simulator, the setting, what is allowed.
$ cat >each <<'X'
+ cache:l1d=0
+ cache:l1d=32k,3way,64
+ cache:l1d=32k,8way,48
+ cache:l1d=32k,0way
+ cache:l1d=32k,8way,64,sub=7
+ cache:l1d=32k,8way,64,victim=0
+ cache:l1d=32k,8way,64,prefetch=psychic
+ cache:l1d=32k,8way,32,prefetch=spp
+ cache:l1d=32k,8way,64,3way,plru
+ cache:l1d=32k,wb,64,lru,wt
+ cache:l1d=32k,prefetch=next,prefetch=stream
+ cache:l1d=32k,degree=4
+ cache:l1d=48k,16way,64,plru
+ cache:l1d=32k,8way,64;l1d=16k
+ cache:l0=32k
+ cache:flush=never
+ cache:l1d
+ tlb:dtlb=64,4way,3k
+ tlb:dtlb=64,4way,4k,wt
+ tlb:dtlb=60,4way,4k
+ tlb:dtlb=64,5way,4k
+ tlb:cache=64
+ allcache:line=48
+ allcache:sets=16-8
+ allcache:sets=3-16
+ allcache:ways=0
+ allcache:refs=some
+ allcache:sizes=1k
+ reuse:line=3
+ reuse:sample=0
+ reuse:lines=64
+ bpred:gshare=99
+ bpred:tage=5
+ bpred:gshare=14;gshare
+ bpred:btb=100,3
+ bpred:debug=x
+ inorder:latency=0
+ inorder:width=nine
+ ooo:rob=0
+ ooo:mem=guess
+ ooo:bpred=taken,1
+ ooo:dcache=48k,8,64
+ ooo:speed=1
+ i486:line=24
+ i486:ways=3
+ i486:wbuf=0
+ i486:flush=often
+ i486:cores=2
+ core:preset=huge
+ core:lat=1,2,3
+ core:width=0
+ core:bpred=ras
+ core:l1d=1k,3way
+ core:l4=64m
+ core:clock=5
+ core:byinsn=1
+ cachegrind:i1=32k,8
+ cachegrind:d1=48k,8,64
+ cachegrind:ll=8m,16,60
+ cachegrind:l2=1m,8,64
+ cachegrind:top=0
+ calls:top=0
+ calls:depth=3
+ phases:interval=0
+ phases:k=0
+ phases:clusters=3
+ memory:page=1000
+ memory:line=4
+ memory:top=many
+ objects:l1d=3k
+ objects:sites=1
+ insns:top=0
+ insns:classes
+ brdist:bits=0
+ uops:all
+ isize:bits=3
+ mix:x=1
+ fusion:x=1
+ cache:l1d=32k,8way,64,random,seed=x
+ cache:l1d=32k,8way,64,seed=3
+ cache:l1d=8k;flush=9;flush=switch
+ cache:l1d=32k,8way,64;l2=16k,8way,64,incl
+ cache:l1d=32k,8way,64;l2=256k,8way,32,incl
+ cache:l1d=32k,8way,64,incl
+ cache:l1d=32k,8way,64,wt;l2=256k,8way,64,excl
+ cache:l1d=32k,8way,64,opt,prefetch=next
+ cache:l1d=32k,8way,64,opt;flush=1000
+ cache:l1d=32k,8way,64,victim=4,sub=16
+ cache:l1=8k;l1i=8k
+ cache:l1=8k;l2i=8k
+ cache:l1d=32k,8way,64;;
+ cache:=32k
+ tlb:dtlb=0
+ tlb:dtlb=64;flush=0
+ allcache:line=64,64
+ allcache:sets=16
+ allcache:sets=8388608-8388608
+ reuse:line=64;line=128
+ reuse:window=0
+ bpred:nosuch
+ bpred:top=3
+ bpred:gshare=4;debug=-;debug=-
+ bpred:perceptron=10,65
+ bpred:gshare=8;debug=/nonexistent/x
+ inorder:width=2;width=4
+ i486:table6;line=32
+ core:bpred=tage;bpred=tage
+ core:lat=0,0,0,0
+ phases:bbv=/nonexistent/x
+ objects:wrap=
+ nosuch
+ X
+ while read -r spec; do pugmark sim -s "$spec" "$TESTS/data/formats/penn-sjeng-60.trace" >out 2>err; s=$?; [ $s = 2 ] && [ "$(wc -l <err)" = 1 ] && ! [ -s out ] || echo "status $s:"; printf '%s -> %s\n' "$spec" "$(cat err)"; done <each
> cache:l1d=0 -> pugmark: cache: l1d: size: 0 is outside 1..1099511627776
> cache:l1d=32k,3way,64 -> pugmark: cache: l1d: 512 lines do not divide into 3 ways
> cache:l1d=32k,8way,48 -> pugmark: cache: l1d: line size: 48 is not a power of two
> cache:l1d=32k,0way -> pugmark: cache: l1d: '0way': the number of ways is 1 to 65536
> cache:l1d=32k,8way,64,sub=7 -> pugmark: cache: l1d: sub=7: a power of two smaller than the line, at least line/32
> cache:l1d=32k,8way,64,victim=0 -> pugmark: cache: l1d: lines of the victim cache: 0 is outside 1..4096
> cache:l1d=32k,8way,64,prefetch=psychic -> pugmark: cache: l1d: 'psychic' is not a prefetcher; allowed: none, next, stride, stream, ipstride, ampm, spp, berti, pythia
> cache:l1d=32k,8way,32,prefetch=spp -> pugmark: cache: l1d: prefetch=spp is for lines of 64 to 2048 bytes
> cache:l1d=32k,8way,64,3way,plru -> pugmark: cache: l1d: '8way' and '3way': one of them
> cache:l1d=32k,wb,64,lru,wt -> pugmark: cache: l1d: 'wb' and 'wt': one of them
> cache:l1d=32k,prefetch=next,prefetch=stream -> pugmark: cache: l1d: 'prefetch=next' and 'prefetch=stream': one of them
> cache:l1d=32k,degree=4 -> pugmark: cache: l1d: degree=4 goes with prefetch=... only
> cache:l1d=48k,16way,64,plru -> pugmark: cache: l1d: 49152 bytes in 16 ways of 64-byte lines make 48 sets; the number of sets must be a power of two
> cache:l1d=32k,8way,64;l1d=16k -> pugmark: cache: l1d: given twice in 'l1d=32k,8way,64;l1d=16k'
> cache:l0=32k -> pugmark: cache: 'l0' is not a level; did you mean 'l1'? allowed: l1 to l8 with i or d behind it, flush, spaces, regions, byinsn
> cache:flush=never -> pugmark: cache: flush: allowed: flush=N (instructions), flush=switch
> cache:l1d -> pugmark: cache: l1d: the size is missing, as in l1d=32k,8way,64
> tlb:dtlb=64,4way,3k -> pugmark: tlb: dtlb: page size: 3k is not a power of two
> tlb:dtlb=64,4way,4k,wt -> pugmark: tlb: dtlb: 'wt' is not a field; allowed: Nway, full, lru, fifo, random, plru, srrip, drrip, 3c, seed=N
> tlb:dtlb=60,4way,4k -> pugmark: tlb: dtlb: 60 entries in 4 ways make 15 sets; the number of sets must be a power of two
> tlb:dtlb=64,5way,4k -> pugmark: tlb: dtlb: 64 entries do not divide into 5 ways
> tlb:cache=64 -> pugmark: tlb: 'cache' is not a level; allowed: itlb, dtlb, tlb, istlb, dstlb, stlb, stlb2, flush, spaces, byinsn
> allcache:line=48 -> pugmark: allcache: line: line size: 48 is not a power of two
> allcache:sets=16-8 -> pugmark: allcache: sets: most sets: 8 is outside 16..8388608
> allcache:sets=3-16 -> pugmark: allcache: sets: fewest sets: 3 is not a power of two
> allcache:ways=0 -> pugmark: allcache: ways: ways: 0 is outside 1..256
> allcache:refs=some -> pugmark: allcache: refs: 'some' are no references; allowed: all, insns, data, split
> allcache:sizes=1k -> pugmark: allcache: 'sizes' is not a setting; allowed: line, sets, ways, refs
> reuse:line=3 -> pugmark: reuse: line: bytes that count as one: a line, a page: 3 is not a power of two
> reuse:sample=0 -> pugmark: reuse: sample: SHARDS: keep 1 in N lines; 1 is exact: 0 is outside 1..1048576
> reuse:lines=64 -> pugmark: reuse: 'lines' is not a setting; did you mean 'line'? allowed: line, sample, window, insns, data
> bpred:gshare=99 -> pugmark: bpred: gshare: log2 of the entries: 99 is outside 1..24
> bpred:tage=5 -> pugmark: bpred: tage: '5' is one number too many; it takes 0
> bpred:gshare=14;gshare -> pugmark: bpred: gshare: the same predictor twice
> bpred:btb=100,3 -> pugmark: bpred: btb: 100 entries in 3 ways do not make a power of two of sets
> bpred:debug=x -> pugmark: bpred: no predictor is given, as in gshare=14;tagescl
> inorder:latency=0 -> pugmark: inorder: latency: cycles of a load: 0 is outside 1..1000
> inorder:width=nine -> pugmark: inorder: width: micro-ops per cycle: 'nine' is not a number; allowed: 1..64, with k, M or G behind
> ooo:rob=0 -> pugmark: ooo: rob: micro-ops in the reorder buffer: 0 is outside 1..65536
> ooo:mem=guess -> pugmark: ooo: mem: 'guess' is unknown; allowed: ignore, conservative, perfect
> ooo:bpred=taken,1 -> pugmark: ooo: bpred: '1' is one number too many
> ooo:dcache=48k,8,64 -> pugmark: ooo: dcache: '64' is a third number; size and line size are given already
> ooo:speed=1 -> pugmark: ooo: 'speed' is not a setting; allowed: width, rob, load, miss, restart, mem, bpred, dcache, debug
> i486:line=24 -> pugmark: i486: line: bytes of a line: 24 is not a power of two
> i486:ways=3 -> pugmark: i486: 8192 bytes in 3 ways of 16-byte lines do not make a power of two of sets
> i486:wbuf=0 -> pugmark: i486: wbuf: write buffers: 0 is outside 1..64
> i486:flush=often -> pugmark: i486: flush: 'often' is not a number of instructions
> i486:cores=2 -> pugmark: i486: 'cores' is not a setting; allowed: size, line, ways, wbuf, flush, limit, table6
> core:preset=huge -> pugmark: core: preset: 'huge' is unknown; allowed: big, mid, small, zen3, zen4, zen5, golden-cove, neoverse-v2
> core:lat=1,2,3 -> pugmark: core: lat: expected four numbers: lat=L1,L2,L3,MEMORY
> core:width=0 -> pugmark: core: width: micro-ops dispatched and committed per cycle: 0 is outside 1..64
> core:bpred=ras -> pugmark: core: bpred: expected a predictor of conditional branches, as in bpred=gshare,14 or bpred=tagescl
> core:l1d=1k,3way -> pugmark: core: l1d: 16 lines do not divide into 3 ways
> core:l4=64m -> pugmark: core: at most three levels of caches
> core:clock=5 -> pugmark: core: 'clock' is not a setting; allowed: preset, fetch, bytes, queue, front, bubble, width, rob, iq, lq, sq, mshr, gap, forward, alu, vec, loads, stores, lat, fdip, regs, bpred, byinsn, topdown, top, l1i, 
> core:byinsn=1 -> pugmark: core: byinsn: stands alone, without a value
> cachegrind:i1=32k,8 -> pugmark: cachegrind: i1: expected size, ways and line, as in i1=32k,8way,64
> cachegrind:d1=48k,8,64 -> pugmark: cachegrind: d1: 49152 bytes in 8 ways of 64-byte lines do not make a power of two of sets
> cachegrind:ll=8m,16,60 -> pugmark: cachegrind: ll: line size: 60 is not a power of two
> cachegrind:l2=1m,8,64 -> pugmark: cachegrind: 'l2' is not a setting; did you mean 'll'? allowed: i1, d1, ll, top
> cachegrind:top=0 -> pugmark: cachegrind: top: entries listed: 0 is outside 1..1000000
> calls:top=0 -> pugmark: calls: top: entries listed: 0 is outside 1..1000000
> calls:depth=3 -> pugmark: calls: 'depth' is not a setting; allowed: top
> phases:interval=0 -> pugmark: phases: interval: instructions per interval: 0 is outside 1..18446744073709551615
> phases:k=0 -> pugmark: phases: k: clusters at most: 0 is outside 1..100
> phases:clusters=3 -> pugmark: phases: 'clusters' is not a setting; allowed: interval=N, k=N, loops, bbv=FILE
> memory:page=1000 -> pugmark: memory: page: bytes of a page: 1000 is not a power of two
> memory:line=4 -> pugmark: memory: line: bytes of a line: 4 is outside 8..4096
> memory:top=many -> pugmark: memory: top: entries listed: 'many' is not a number; allowed: 1..1000000, with k, M or G behind
> objects:l1d=3k -> pugmark: objects: l1d: 3072 bytes in 8 ways of 64-byte lines make 6 sets; the number of sets must be a power of two
> objects:sites=1 -> pugmark: objects: 'sites' is not a level; allowed: l1 to l8 with i or d behind it, flush, spaces, regions, byinsn
> insns:top=0 -> pugmark: insns: top: mnemonics listed: 0 is outside 1..1000000
> insns:classes -> pugmark: insns: 'classes' is not a setting; allowed: top
> brdist:bits=0 -> pugmark: brdist: bits: bits of a branch's offset: 0 is outside 1..64
> uops:all -> pugmark: uops, isize, mix, fusion: 'all' is not a setting; there are none
> isize:bits=3 -> pugmark: uops, isize, mix, fusion: 'bits=3' is not a setting; there are none
> mix:x=1 -> pugmark: uops, isize, mix, fusion: 'x=1' is not a setting; there are none
> fusion:x=1 -> pugmark: uops, isize, mix, fusion: 'x=1' is not a setting; there are none
> cache:l1d=32k,8way,64,random,seed=x -> pugmark: cache: l1d: seed: 'x' is not a number; allowed: 1..18446744073709551615, with k, M or G behind
> cache:l1d=32k,8way,64,seed=3 -> pugmark: cache: l1d: seed=3 goes with random only
> cache:l1d=8k;flush=9;flush=switch -> pugmark: cache: flush: given twice in 'l1d=8k;flush=9;flush=switch'
> cache:l1d=32k,8way,64;l2=16k,8way,64,incl -> pugmark: cache: l2: an inclusive level must be at least as large as l1d above it (32768 bytes)
> cache:l1d=32k,8way,64;l2=256k,8way,32,incl -> pugmark: cache: l2: an inclusive level needs lines at least as long as those of l1d (64)
> cache:l1d=32k,8way,64,incl -> pugmark: cache: l1d: the first level has none above it to be incl to
> cache:l1d=32k,8way,64,wt;l2=256k,8way,64,excl -> pugmark: cache: l2: excl needs l1d to be wb, with lines of the same size, no sub, no wbuf, no opt
> cache:l1d=32k,8way,64,opt,prefetch=next -> pugmark: cache: l1d: opt goes with wb, wa, nine and lines of 16 bytes or more only; no sub, victim, wbuf, prefetch, nofetch, drain
> cache:l1d=32k,8way,64,opt;flush=1000 -> pugmark: cache: l1d: opt does not go with flush, byinsn or regions
> cache:l1d=32k,8way,64,victim=4,sub=16 -> pugmark: cache: l1d: victim does not go with sub
> cache:l1=8k;l1i=8k -> pugmark: cache: l1i: l1 is there already
> cache:l1=8k;l2i=8k -> pugmark: cache: l2i stands below l1: a split level cannot follow a unified one
> cache:l1d=32k,8way,64;; -> pugmark: cache: an item is empty in 'l1d=32k,8way,64;;'
> cache:=32k -> pugmark: cache: a name is missing before '=' in '=32k'
> tlb:dtlb=0 -> pugmark: tlb: dtlb: entries: 0 is outside 1..1099511627776
> tlb:dtlb=64;flush=0 -> pugmark: tlb: flush: allowed: flush=N (instructions), flush=switch
> allcache:line=64,64 -> pugmark: allcache: line: 64 bytes are given twice
> allcache:sets=16 -> pugmark: allcache: sets: '16' is no range FROM-TO
> allcache:sets=8388608-8388608 -> pugmark: allcache: 8388608 sets of 16 ways are more than the 8388608 lines that are allowed
> reuse:line=64;line=128 -> pugmark: reuse: line: given twice in 'line=64;line=128'
> reuse:window=0 -> pugmark: reuse: window: instructions per point of the working-set curve: 0 is outside 1..18446744073709551615
> bpred:nosuch -> pugmark: bpred: 'nosuch' is not a predictor; allowed: taken, nottaken, btfn, idtrace, bimodal, gshare, tournament, local, perceptron, tage, tagescl, btb, ras, ittage, top=N, debug=FILE
> bpred:top=3 -> pugmark: bpred: no predictor is given, as in gshare=14;tagescl
> bpred:gshare=4;debug=-;debug=- -> pugmark: bpred: debug: given twice
> bpred:perceptron=10,65 -> pugmark: bpred: perceptron: bits of history: 65 is outside 1..64
> bpred:gshare=8;debug=/nonexistent/x -> pugmark: bpred: debug=/nonexistent/x: No such file or directory
> inorder:width=2;width=4 -> pugmark: inorder: width: given twice in 'width=2;width=4'
> i486:table6;line=32 -> pugmark: i486: line: table6 has lines, ways and write buffers of its own; only size, flush and limit go with it
> core:bpred=tage;bpred=tage -> pugmark: core: bpred: given twice in 'bpred=tage;bpred=tage'
> core:lat=0,0,0,0 -> pugmark: core: lat: L1 latency: 0 is outside 1..10000
> phases:bbv=/nonexistent/x -> pugmark: phases: bbv=/nonexistent/x: No such file or directory
> objects:wrap= -> pugmark: objects: wrap: an empty field in 'wrap='
> nosuch -> pugmark: 'nosuch' is not a sink: `pugmark sim --list` shows them, ./plugin.so is one of your own

# A trace without references has none for caches; half a trace is not enough for a cache that takes the other half.
$ for s in cache tlb allcache reuse memory; do pugmark sim -s $s "$TESTS/data/formats/idt-branch.trc64"; done
! pugmark: IDtrace traces (idt-branch64) hold no references: no instructions, cache lines or data addresses; 'cache' needs one of these (`pugmark run --exec` traces them)
! pugmark: IDtrace traces (idt-branch64) hold no references: no instructions, cache lines or data addresses; 'tlb' needs one of these (`pugmark run --exec` traces them)
! pugmark: IDtrace traces (idt-branch64) hold no references: no instructions, cache lines or data addresses; 'allcache' needs one of these (`pugmark run --exec` traces them)
! pugmark: IDtrace traces (idt-branch64) hold no references: no instructions, cache lines or data addresses; 'reuse' needs one of these (`pugmark run --exec` traces them)
! pugmark: IDtrace traces (idt-branch64) hold no data addresses; 'memory' needs them (`pugmark run --exec` traces them)
? 1
$ pugmark sim -s cache:l1i=8k "$TESTS/data/formats/vector.ramulator2"
! pugmark: cache: the trace holds no instructions, and l1i simulates nothing else
? 1

# Where results cannot be written is said before the program runs.
$ for o in json csv html callgrind annotate report; do pugmark run -q --$o nowhere/x -- echo ran; pugmark run -q -s cache --$o nowhere/x -- echo ran; done
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
! pugmark: nowhere/x: cannot create: No such file or directory
? 1
$ pugmark run -q --json . -- echo ran
! pugmark: .: cannot create: Is a directory
? 1
$ pugmark sim -s cache --json nowhere/x "$TESTS/data/formats/penn-sjeng-60.trace"
! pugmark: nowhere/x: cannot create: No such file or directory
? 1
