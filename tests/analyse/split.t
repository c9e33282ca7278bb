# needs: gzip sqlite3
# Slices of a trace are simulated at once, the last ones in pieces if threads would have none, with the numbers of a simulation in order: real programs.
$ head -c 60000 "$BUILD/pugmark" >data; pugmark run -q --exec --for 9m -o gzip.pug -- gzip -9c data >/dev/null; for j in 1 2 3 7; do pugmark sim -j $j --cache 'l1i=8k,2way;l1d=8k,2way;l2=64k,8way;l3=1m,16way' --tlb '' --reuse '' --json j$j gzip.pug >/dev/null; done; cmp j1 j2 && cmp j1 j3 && cmp j1 j7 && echo the same
> the same
$ pugmark run -q --exec --for 9m -o sqlite3.pug -- sqlite3 -init /dev/null :memory: "create table t(k text, v real); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500) insert into t select 'key' || (i * 7919 % 107), i / 7.0 from n; select k, count(*) c from t group by k order by c desc, k limit 1;" >/dev/null; for j in 1 2; do pugmark sim -j $j --cache '' --reuse 'line=32;insns=1' --json j$j sqlite3.pug >/dev/null; done; cmp j1 j2 && echo the same
> the same
# Sets are shared out where they have nothing in common, whatever the policy.
$ for j in 1 2 3; do pugmark sim -j $j --cache 'l1i=8k,2way,plru;l1d=8k,2way,fifo,wt;l2=64k,8way,srrip;l3=1m,16way,incl' --tlb 'itlb=32,4way,4k,fifo;dtlb=32,4way,4k,plru;stlb=256,4way,4k' --json j$j gzip.pug >/dev/null; done; cmp j1 j2 && cmp j1 j3 && echo the same
> the same
# What is not split is simulated all the same, and said.
$ pugmark sim -j 2 --cache 'l1=8k,drrip' --bpred bimodal --reuse window=100000 --json j2 gzip.pug >/dev/null; pugmark sim -q -j 1 --cache 'l1=8k,drrip' --bpred bimodal --reuse window=100000 --json j1 gzip.pug >/dev/null; cmp j1 j2
! pugmark: note: in order, on one thread each: cache, bpred, reuse (reuse distances, and caches and TLBs whose sets have nothing in common, are split)
$ pugmark sim -j 2 --cache 'l1=8k' - <gzip.pug | grep -c misses
> 8
! pugmark: note: -: it can be read only once: it is simulated in order
$ cp "$TESTS/data/formats/lackey-34.txt" l.txt; pugmark sim -j 2 --cache 'l1=8k' l.txt | grep -c misses
> 4
! pugmark: note: l.txt: only .pug files can be read in parts: it is simulated in order
$ pugmark sim -j 0x --cache '' gzip.pug
! pugmark: --jobs expects a number from 1 to 256, not '0x' (see `pugmark sim --help`)
? 2
