# Modules in ChampSim's interface, written for this test, beside pugmark's own that do the same. See champsim-tree.t for ChampSim's.
# needs: c++
# A branch predictor whose two sources do not go together in one text; and the counters of pugmark's own.
$ pugmark sim -q --champsim-module $TESTS/analyse/champsim/two_level/two_level.cc --bpred 'gshare=14;two_level.cc' --csv csv $TESTS/data/real.pug >/dev/null && awk -F, '/mispredictions|branches/ && !/worst|unique/ { print $1, $2 }' csv
> bpred.gshare-14-14.branches 35067
> bpred.gshare-14-14.mispredictions 700
> bpred.gshare-14-14.mpki 3.5
> bpred.two_level.cc.branches 35067
> bpred.two_level.cc.mispredictions 700
> bpred.two_level.cc.mpki 3.5
> bpred.two_level.cc.by_type.conditional.branches 35067
> bpred.two_level.cc.by_type.conditional.mispredictions 700
# A replacement policy without a header: every counter of lru, in the first level and in the second.
$ for p in lru own_lru.cc; do pugmark sim -q --champsim-module $TESTS/analyse/champsim/own_lru/own_lru.cc --cache "l1i=4k,4way,$p;l1d=4k,4way,$p;l2=16k,8way,$p,wt;flush=20000" --csv $p.csv $TESTS/data/real.pug >/dev/null; grep -v policy $p.csv >$p.rest; done; grep policy own_lru.cc.csv; cmp lru.rest own_lru.cc.rest && wc -l <lru.rest
> cache.l1i.policy,own_lru.cc,
> cache.l1d.policy,own_lru.cc,
> cache.l2.policy,own_lru.cc,
> 60
# A prefetcher: every counter of next, where all accesses are reads.
$ for p in next next_news.cc; do pugmark sim -q --champsim-module $TESTS/analyse/champsim/next_news/next_news.cc --cache "l1i=2k,2way,prefetch=$p;l2=16k,8way" --csv $p.csv $TESTS/data/real.pug >/dev/null; done; cmp next.csv next_news.cc.csv && grep -c pf_ next.csv
> 7
# A branch target buffer: what each branch did last, and a slow twin of ChampSim's rule. All instructions were asked about.
$ pugmark sim -q --champsim-module $TESTS/analyse/champsim/taken/taken.cc --champsim-module $TESTS/analyse/champsim/last_target/last_target.cc --bpred 'taken.cc=last_target.cc' --csv csv $TESTS/data/real.pug 2>told >/dev/null; awk -F, '/taken.cc.*(mispredictions|branches)/ && !/worst|unique|by_type/ { print $2 }' csv; pugmark dump $TESTS/data/real.pug | awk '$2 == "insn" { n++ } $2 == "branch" { b++; t = $5; sub(/target=/, "", t); if (!/flags=taken/) { bad++; next } bad += last[$3] != t; last[$3] = t } END { print b; print bad; print "asked " n " times, told of " b " branches" >"twin" }'; cmp told twin && cat told
> 38093
> 24741
> 123.705
> 38093
> 24741
> asked 200000 times, told of 38093 branches
# Old forms of arguments; a policy that keeps out what does not fit: a set's first lines stay, as in the twin. What it says goes
# to standard error.
$ pugmark sim -q --champsim-module $TESTS/analyse/champsim/odd/odd.cc --cache 'l1d=1k,2way,odd.cc;l2=16k,8way' --csv csv $TESTS/data/real.pug >/dev/null; awk -F, '/l1d.(evictions|misses),/ { print $1, $2 }' csv; pugmark dump $TESTS/data/real.pug | awk 'function hex(s,   i, v) { v = 0; for (i = 3; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } function look(l,   s) { s = l % 8; if (l in there) return; bad++; if (n[s] < 2) { n[s]++; there[l] = 1 } } /^[0-9]+ (read|write|modify)/ { a = hex($3); for (k = ($2 == "modify"); k >= 0; k--) for (l = int(a / 64); l <= int((a + $4 - 1) / 64); l++) look(l) } END { print "twin", bad }'
> cache.l1d.misses 68925
> cache.l1d.evictions 0
> twin 68925
! cpu0_L1D has ended
# In a core: cycles and all other counters are those of pugmark's own, and a predictor is asked about each instruction once.
$ m=$TESTS/analyse/champsim; pugmark sim -q --champsim-module $m/two_level/two_level.cc --champsim-module $m/own_lru/own_lru.cc --champsim-module $m/next_news/next_news.cc --sim 'core:bpred=two_level.cc;l1i=2k,2way,own_lru.cc,prefetch=next_news.cc;l1d=4k,4way,own_lru.cc;l2=16k,8way,own_lru.cc' --csv modules.csv $TESTS/data/real.pug >/dev/null; pugmark sim -q --sim 'core:bpred=gshare,14;l1i=2k,2way,prefetch=next;l1d=4k,4way;l2=16k,8way' --csv own.csv $TESTS/data/real.pug >/dev/null; cmp modules.csv own.csv && grep -c . own.csv
> 87
$ pugmark sim -q --champsim-module $TESTS/analyse/champsim/taken/taken.cc --sim 'core:bpred=taken.cc' $TESTS/data/real.pug >/dev/null
! asked 200000 times, told of 38093 branches
$ for s in 'core:bpred=taken.cc=last_target.cc' 'bounds:bpred=taken.cc'; do pugmark sim -q --sim "$s" $TESTS/data/real.pug; done
! pugmark: core: bpred: expected taken.cc alone: the branch target buffer is the core's own
! pugmark: bounds: bpred: 'taken.cc': ChampSim modules are for `cache`, `core` and `bpred`
? 2
# Never in a family, never split.
$ pugmark sim -q -j 4 --champsim-module $TESTS/analyse/champsim/own_lru/own_lru.cc --cache 'l1d=4k,4way,own_lru.cc' --cache 'l1d=4k,4way,own_lru.cc;l2=16k,4way' --cache 'l1d=4k,4way' --csv csv $TESTS/data/real.pug >/dev/null; awk -F, '/l1d.misses/ { print $2 }' csv | uniq -c | awk '{ print $1 }'
> 3
# Each error is one line, and nothing is left behind.
$ for m in throws/none.cc throws/throws.h legacy/legacy.cc; do pugmark sim --champsim-module $TESTS/analyse/champsim/$m --bpred gshare $TESTS/data/real.pug 2>&1 | sed "s,$TESTS/,,"; done; mkdir x tmp; echo 'int x = y;' >x/x.cc; TMPDIR=$PWD/tmp pugmark sim --champsim-module x/x.cc --bpred gshare $TESTS/data/real.pug 2>&1 | sed 's/compile: .*error: .*/compile: .../'; CXX=no-such-compiler TMPDIR=$PWD/tmp pugmark sim --champsim-module x/x.cc --bpred gshare $TESTS/data/real.pug; echo $?; ls tmp
> pugmark: cannot read the ChampSim module 'analyse/champsim/throws/none.cc': No such file or directory
> pugmark: 'analyse/champsim/throws/throws.h' is no ChampSim module: expected X.cc, with a struct X in it
> pugmark: 'analyse/champsim/legacy/legacy.cc' is a ChampSim module of the old kind (__legacy__); those that derive from champsim::modules can be used
> pugmark: the ChampSim module 'x.cc' does not compile: ...
> 1
! pugmark: ChampSim modules need a C++ compiler, and 'no-such-compiler' cannot be run (Debian: the package g++; CXX names another)
$ mkdir -p tmp; TMPDIR=$PWD/tmp pugmark sim -q --champsim-module $TESTS/analyse/champsim/throws/throws.cc --cache l1d=1k,2way,throws.cc $TESTS/data/real.pug; echo $?; ls tmp
> 1
! pugmark: l1d: the ChampSim module 'throws' failed: find_victim() answers way -1 of 2
$ T=$TESTS/analyse/champsim; for c in 'taken cache l1d=1k,2way,taken.cc' 'own_lru cache l1d=1k,2way,lru,own_lru.cc' 'own_lru cache l1d=1k,2way,32,own_lru.cc' 'taken bpred taken.cc=taken.cc'; do set -- $c; pugmark sim -q --champsim-module $T/$1/$1.cc --$2 $3 $TESTS/data/real.pug; done
! pugmark: cache: l1d: the ChampSim module 'taken.cc' is no replacement policy
! pugmark: cache: l1d: 'lru' and 'own_lru.cc': one of them
! pugmark: cache: l1d: a ChampSim module goes with lines of 64 bytes and nine only; no sub, victim
! pugmark: bpred: the ChampSim module 'taken.cc' is no branch target buffer
? 2
$ for c in 'cache l1d=1k,2way,none.cc' 'tlb dtlb=64,4way,own_lru.cc' 'bpred own_lru.cc' 'bpred taken.cc=a,b' 'sim core:bpred=taken.cc'; do set -- $c; pugmark sim -q --$1 $2 $TESTS/data/real.pug; done
! pugmark: cache: l1d: there is no ChampSim module 'none.cc'; --champsim-module says where it is
! pugmark: tlb: dtlb: 'own_lru.cc': ChampSim modules are for `cache`, `core` and `bpred`
! pugmark: bpred: there is no ChampSim module 'own_lru.cc'; --champsim-module says where it is
! pugmark: bpred: taken.cc: expected taken.cc, or taken.cc=Y.cc with a branch target buffer
! pugmark: core: there is no ChampSim module 'taken.cc'; --champsim-module says where it is
? 2
