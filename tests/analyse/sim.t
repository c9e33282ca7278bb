# Simulators on small traces: what they print, and what they refuse.
$ pugmark sim --list | grep -c .. >n; pugmark sim --list | grep -E '^(cache|bpred|core) '
> cache      a hierarchy of caches
> bpred      branch predictors, side by side
> core       a modern out-of-order core: cycles, IPC, where the time goes
$ pugmark sim --list | awk 'length > 80'
$ pugmark sim --cache 'l1i=1k,2way,32;l1d=1k,2way,32,wt,nwa' "$TESTS/data/formats/lackey-34.txt"
> cache
>   instructions  23 instructions
>   fetches       23 references
>   reads         1 references
>   writes        11 references
>
>                              l1i           l1d        memory
>   size                     1,024         1,024             -
>   ways                         2             2             -
>   line                        32            32             -
>   policy                     lru           lru             -
>   accesses                    25            12             -
>   misses                       5            11             -
>   miss ratio             20.00 %       91.67 %             -
>   mpki                  217.3913      478.2609             -
>   fetch accesses              25             -             -
>   fetch misses                 5             -             -
>   fetch miss ratio       20.00 %             -             -
>   evictions                    0             0             -
>   bytes in                   160            32             -
>   read accesses                -             1             -
>   read misses                  -             1             -
>   read miss ratio              -      100.00 %             -
>   write accesses               -            11             -
>   write misses                 -            10             -
>   write miss ratio             -       90.91 %             -
>   bytes out                    -            89             -
>   reads                        -             -             6
>   writes                       -             -            11
>   bytes read                   -             -           192
>   bytes written                -             -            89
$ pugmark sim --cache 'l1=256,2way,16,opt;l2=1k,4way,16' --csv - "$TESTS/data/formats/xdin.xdin" | head -12
> path,value,unit
> cache.instructions,1,instructions
> cache.fetches,1,references
> cache.reads,2,references
> cache.writes,1,references
> cache.l1.size,256,bytes
> cache.l1.ways,2,
> cache.l1.line,16,bytes
> cache.l1.policy,opt,
> cache.l1.accesses,4,lookups
> cache.l1.misses,4,lookups
> cache.l1.miss_ratio,1,misses/access
$ pugmark sim --tlb 'dtlb=4,full,4k' --csv - "$TESTS/data/formats/lackey-34.txt" | grep 'dtlb\.'
> tlb.dtlb.size,4,entries
> tlb.dtlb.ways,4,
> tlb.dtlb.page,4096,bytes
> tlb.dtlb.policy,lru,
> tlb.dtlb.accesses,12,lookups
> tlb.dtlb.misses,2,lookups
> tlb.dtlb.miss_ratio,0.1666666667,misses/access
> tlb.dtlb.mpki,86.95652174,misses/1000 instructions
> tlb.dtlb.read.accesses,12,lookups
> tlb.dtlb.read.misses,2,lookups
> tlb.dtlb.read.miss_ratio,0.1666666667,misses/access
> tlb.dtlb.evictions,0,lines
$ pugmark sim --allcache 'sets=16-32;ways=2;refs=data' "$TESTS/data/formats/lackey-34.txt"
> allcache
>
> allcache geometries  (by size)
>   refs   size  line  sets  ways  accesses  misses  miss ratio
>   data  1,024    64    16     1        12       5     41.67 %
>   data  2,048    64    16     2        12       5     41.67 %
>   data  2,048    64    32     1        12       5     41.67 %
>   data  4,096    64    32     2        12       5     41.67 %
$ pugmark sim --reuse 'line=16;insns=1' "$TESTS/data/formats/lackey-34.txt"
> reuse
>   line     16 bytes
>   lookups  38 lookups
>   sample   1 one line in
>   lines    15 lines
>   cold     15 lookups
>
> reuse distances
>   from  count
>      0     10
>      1     13
>
> reuse miss ratio curve  (by size)
>   size  miss ratio
>     16     73.68 %
>     32     39.47 %
>     48     39.47 %

# The course's debug lines: 60 micro-ops of sjeng, tables of eight counters.
$ pugmark sim --bpred 'bimodal=3;debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -5 dbg
> NNNNNNNN | 40061e  T | N  incorrect  1
> NNNNNNnN | 4005d3  N | N  correct    1
> NNNNNNnN | 4005d8  T | N  incorrect  2
> nNNNNNnN | 400609  N | N  correct    2
> nNNNNNnN | 40060e  N | N  correct    2
$ grep -E 'mispredictions|unique' csv | grep -v worst
> bpred.bimodal-3.mispredictions,5,branches
> bpred.bimodal-3.mpki,87.71929825,mispredictions/1000 instructions
> bpred.bimodal-3.unique_branches,6,branches
> bpred.bimodal-3.unique_90_percent_executed,6,branches
> bpred.bimodal-3.unique_90_percent_missed,2,branches
$ pugmark sim --bpred 'gshare=3,3;debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -5 dbg
> NNNNNNNN  NNN | 40061e  T | N  incorrect  1
> NNNNNNnN  NNT | 4005d3  N | N  correct    1
> NNNNNNnN  NTN | 4005d8  T | N  incorrect  2
> NNnNNNnN  TNT | 400609  N | N  correct    2
> NNnNNNnN  NTN | 40060e  N | N  correct    2
$ pugmark sim --bpred 'tournament=3,3;debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -5 dbg
> BBBBBBBB NNNNNNNN NNNNNNNN  NNN | 40061e  T | N  incorrect  1
> BBBBBBBB NNNNNNnN NNNNNNnN  NNT | 4005d3  N | N  correct    1
> BBBBBBBB NNNNNNnN NNNNNNnN  NTN | 4005d8  T | N  incorrect  2
> BBBBBBBB nNNNNNnN NNnNNNnN  TNT | 400609  N | N  correct    2
> BBBBBBBB nNNNNNnN NNnNNNnN  NTN | 40060e  N | N  correct    2
# IDtrace's counters are -1, 0 and +1, and predict taken unless negative.
$ pugmark sim --bpred 'idtrace=3;debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -5 dbg; tail -n 1 dbg | tr -s ' ' '\n' | tail -n 1; grep idtrace-3.mispredictions csv
> 00000000 | 40061e  T | T  correct    0
> 000000+0 | 4005d3  N | T  incorrect  1
> 000-00+0 | 4005d8  T | T  correct    1
> +00-00+0 | 400609  N | T  incorrect  2
> +-0-00+0 | 40060e  N | T  incorrect  3
> 4
> bpred.idtrace-3.mispredictions,4,branches
$ pugmark sim --sim 'inorder:debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -4 dbg
>     0     1 -1 (Ready)    -1 (Ready)     -> -1  -  --------------------------------------------------
>     1     2 -1 (Ready)     1 (Ready)     -> 44  L  --------------------------------------------------
>     2     3 44 (NotReady) -1 (Ready)     ->  2  -  --------------------------------------------1-----
>     3     3 44 (Ready)    -1 (Ready)     ->  2  -  --------------------------------------------------
$ cat csv
> path,value,unit
> inorder.latency,2,cycles
> inorder.width,1,micro-ops/cycle
> inorder.uops,60,micro-ops
> inorder.instructions,57,instructions
> inorder.cycles,66,cycles
> inorder.cpi,1.1,cycles/micro-op
$ pugmark sim --sim 'inorder:sweep' --csv - "$TESTS/data/formats/penn-sjeng-60.trace" | grep 'cycles' | tail -8
> inorder.sweep[20].cycles,32,cycles
> inorder.sweep[20].cpi,0.5333333333,cycles/micro-op
> inorder.sweep[21].latency,2,cycles
> inorder.sweep[21].cycles,32,cycles
> inorder.sweep[21].cpi,0.5333333333,cycles/micro-op
> inorder.sweep[22].latency,2,cycles
> inorder.sweep[22].cycles,32,cycles
> inorder.sweep[22].cpi,0.5333333333,cycles/micro-op
$ pugmark sim --sim 'ooo:width=2;rob=16;debug=dbg' --csv csv "$TESTS/data/formats/penn-sjeng-60.trace" >text; head -6 dbg
> 1: 0 1 2 2  r49->p49 | J JMP_IMM
> 2: 1 2 6 6  r1->p1 r44->p50 [p44] | MOVSX LOAD
> 3: 1 6 7 7  r44->p50 r2->p51 [p2] | MOVSX SEXT_DWORD_TO_QWORD
> 4: 2 7 8 8  r7->p7 r2->p51 r6->p52 [p6] | LEA LEA
> 5: 2 8 9 9  r6->p52 r6->p53 [p52] | MOVSX SEXT_DWORD_TO_QWORD
> 6: 3 9 13 13  r6->p53 r6->p54 [p53] | MOV LOAD
$ grep cycles csv
> ooo.cycles,51,cycles

# A cache as a filter.
$ pugmark convert -q --filter 'l1i=1k;l1d=1k' -t din "$TESTS/data/formats/lackey-34.txt" -
> 2 401ab40
> 0 1fff000600
> 2 401b740
> 2 401b780
> 0 1fff0005c0
> 0 1fff000580
> 0 4033e00
> 0 4033ac0
> 2 401b7c0
# For a DRAM simulator instructions are read like data; its processor traces count what is between.
$ for f in ramulator ramulator:ref dramsim3; do pugmark convert -q --filter 'l1i=1k;l1d=1k' -t $f "$TESTS/data/formats/lackey-34.txt" - | sed -n '3,4p;$p'; done
> 0x401b740 R
> 0x401b780 R
> 0x401b7c0 R
> 0 0x401b740 R
> 2 0x401b780 R
> 0 0x401b7c0 R
> 0x401B740 READ  2
> 0x401B780 READ  3
> 0x401B7C0 READ  8

# Errors name what is wrong and what is allowed.
$ pugmark sim --cache 'l1i=16k;l1d=32k;l2=16k,8way,64,incl' "$TESTS/data/formats/lackey-34.txt"
! pugmark: cache: l2: an inclusive level must be at least as large as l1d above it (32768 bytes)
? 2
$ pugmark sim --sim core:lat=4,14,12,300 "$TESTS/data/real.pug"
! pugmark: core: lat: L3 latency: less than the L2 latency
? 2
$ pugmark sim --cache 'l1d=48k,8way,64' "$TESTS/data/formats/lackey-34.txt"
! pugmark: cache: l1d: 49152 bytes in 8 ways of 64-byte lines make 96 sets; the number of sets must be a power of two
? 2
$ pugmark sim --cache 'l1d=32k,8way,64,mru' "$TESTS/data/formats/lackey-34.txt"
! pugmark: cache: l1d: 'mru' is not a field; did you mean 'lru'?
? 2
$ pugmark sim --cache 'l1d=32k,0way' "$TESTS/data/formats/lackey-34.txt"
! pugmark: cache: l1d: '0way': the number of ways is 1 to 65536
? 2
$ pugmark sim --bpred 'gshare' "$TESTS/data/formats/lackey-34.txt"
! pugmark: lackey traces hold no branch outcomes; 'bpred' needs them (`pugmark run --exec` traces them)
? 1
$ pugmark sim --cache 'l1i=1k' "$TESTS/data/formats/ramulator.ramulator"
! pugmark: cache: the trace holds no instructions, and l1i simulates nothing else
? 1
$ pugmark sim --bpred 'oracle' "$TESTS/data/formats/lackey-34.txt"
! pugmark: bpred: 'oracle' is not a predictor; allowed: taken, nottaken, btfn, idtrace, bimodal, gshare, tournament, local, perceptron, tage, tagescl, btb, ras, ittage, top=N, debug=FILE
? 2
$ pugmark sim --sim 'i487' "$TESTS/data/formats/lackey-34.txt" 2>&1 | cut -c 1-60
> pugmark: 'i487' is not a sink; did you mean 'i486'?
$ pugmark sim --sim 'inorder' "$TESTS/data/formats/lackey-34.txt"
! pugmark: lackey traces hold no micro-ops; 'inorder' needs them (`pugmark run --exec` traces them)
? 1
$ pugmark sim --sim 'core:rob=4' "$TESTS/data/formats/lackey-34.txt"
! pugmark: core: rob: micro-ops in the reorder buffer: 4 is outside 8..4096
? 2
$ pugmark sim "$TESTS/data/formats/lackey-34.txt"
! pugmark: no simulator given; try --usual (see `pugmark sim --help`)
? 2

# The mix and the blocks of a program that can be counted by hand: 521 instructions, one of its six blocks
# makes 90 %.
$ "$BUILD/tests/oracle/steptrace" costs.trace "$PROGRAMS/costs"; pugmark sim -s insns:top=3 costs.trace
> insns
>   instructions     521 instructions
>   reads            130 references
>   writes           2 references
>   unknown          0 instructions
>   blocks distinct  6 blocks
>   blocks cover 90  1 blocks that cover 90 % of all instructions
>
> insns by class  (most executed first)
>   class  executed   share
>     mov       129  24.8 %
>     add       128  24.6 %
>     cmp       128  24.6 %
>
> insns by mnemonic  (most executed first)
>   mnemonic  executed   share
>        mov       129  24.8 %
>        add       128  24.6 %
>        cmp       128  24.6 %
# The usual set takes what a trace has the facts for.
$ pugmark sim --usual --csv - costs.trace | sed 's/\..*//' | uniq | tr '\n' ' '
>- path,value,unit insns cachegrind bpred cache reuse objects memory phases calls 
$ pugmark sim --usual --csv - "$TESTS/data/formats/lackey-34.txt" | sed 's/\..*//' | uniq | tr '\n' ' '
>- path,value,unit insns cachegrind cache reuse memory phases 
$ pugmark sim --usual --csv - "$TESTS/data/formats/ramulator.ramulator" | sed 's/\..*//' | uniq | tr '\n' ' '
>- path,value,unit cache reuse memory 
# a branch of a micro-op trace is one, the first, too
$ printf '1 48d237 -1 -1 -1 R N - 0 0 48d239 48d277 J JMP_IMM_COND\n' > one.trace; pugmark sim --bpred 'bimodal=3;debug=-' one.trace | grep -e '|' -e branches
> NNNNNNNN | 48d237  N | N  correct    0
>   branches                               1
>   unique branches                        1
# All mean the same by instructions: what goes on with one that makes many references (rep, xsave) is not another.
$ pugmark run -q --exec -o rep.pug -- "$PROGRAMS/bare" >/dev/null; R=rep.pug; pugmark info --json - $R | sed -n 's/.*"instructions": \([0-9]*\).*/\1/p' | head -1 >n; pugmark info --json - $R | grep -c '"rep-iter"'; for s in core bounds insns cache; do pugmark sim -s $s --csv - $R | sed -n "s/^$s.instructions,\([0-9]*\),.*/\1/p" | cmp - n && echo $s; done
> 1
> core
> bounds
> insns
> cache
# A loop that ends in a jump is left by another branch: how often it is entered is not known, and not 0 times
$ pugmark sim -s calls --csv - $TESTS/data/real.pug | sed -n 's/.*mean_trips,\([^,]*\),.*/\1/p' | awk '{ k[$1 == "" ? "none" : $1 >= 1 ? "more" : "less"]++ } END { for (i in k) print i }' | sort
> more
> none
# several of one kind are told apart by a number, in the order in which they were given
$ pugmark sim -q -s cache:l1i=1k,2way,32 -s count -s cache:l1i=2k,2way,32 -s cache:l1i=4k,2way,32 --json 3.json "$TESTS/data/formats/lackey-34.txt" | grep '^[a-z]'; grep '^  "' 3.json; grep '"size"' 3.json
> cache
> count
> count streams
> cache-2
> cache-3
>   "schema": {"name": "pugmark.sim", "version": 1},
>   "cache": {
>   "count": {
>   "cache-2": {
>   "cache-3": {
>       "size": 1024,
>       "size": 2048,
>       "size": 4096,

# What a simulator says does not depend on what runs beside it: others may have instructions cracked into micro-ops.
$ for s in core bounds memory; do pugmark sim -q -s $s --json alone.json rep.pug >/dev/null; pugmark sim -q -s $s -s mix --json beside.json rep.pug >/dev/null; diff alone.json beside.json | grep '^<.*[a-z]'; echo $s; done
> core
> bounds
> memory
# ... but for what needs blocks, which micro-ops are made of: the reason is not the trace
$ for s in branches tree; do pugmark sim -s $s -s mix rep.pug; done; pugmark sim -q -s branches rep.pug >/dev/null
! pugmark: 'branches' and 'mix' do not go together: 'branches' needs basic blocks, and cracking into micro-ops, which 'mix' needs, leaves none; run one after the other
! pugmark: 'tree' and 'mix' do not go together: 'tree' needs basic blocks, and cracking into micro-ops, which 'mix' needs, leaves none; run one after the other
# Mispredicted branches are a number only where somebody predicts.
$ for s in branches branches:predict; do pugmark sim -s $s --json - rep.pug | grep -c '"mispredicted"'; done
> 0
> 1
# A count that is 0 is there as 0, so that a table of many results has its column: what a level can count, its configuration says
$ for l2 in 32k 1m; do pugmark sim --cache "l1d=4k,8way,64,prefetch=next;l2=$l2,8way,64" --csv - $TESTS/data/real.pug | grep 'l2\.\(evictions\|writebacks\|pf_issued\|read.accesses\),'; done
> cache.l2.read.accesses,3476,lookups
> cache.l2.evictions,4737,lines
> cache.l2.writebacks,510,lines
> cache.l2.read.accesses,3476,lookups
> cache.l2.evictions,0,lines
> cache.l2.writebacks,0,lines
# Blocks are the same, whether the trace tells of branches and iterations or not: gem5's does not.
$ pugmark convert -q rep.pug rep.gem5; for f in rep.pug rep.gem5; do pugmark sim -s insns --csv - $f | sed -n 's/^insns.blocks_distinct,//p'; done | uniq | wc -l
> 1
# Of a damaged trace there is every file, of what came before the damage, and the error names the trace, whatever is written.
$ head -c 60000 $TESTS/data/real.pug >cut.pug; pugmark sim --cache '' --json j --csv c --folded f --html h cut.pug >/dev/null; echo $?; wc -c j c h | awk '{ n += $1 > 300 } END { print n }'; ls f
> 1
> 4
> f
! pugmark: cut.pug:0xcc: the trace is cut here, after 0 instructions
# What is wrong behind a file that was written is not in that file.
$ pugmark annotate -q --sort x --speedscope s $TESTS/data/real.pug 2>&1 >/dev/null | cut -c 1-32
> pugmark: 'x' is not an event; th
