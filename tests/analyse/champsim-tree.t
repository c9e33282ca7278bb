# Three modules as they lie in ChampSim's own tree, which CHAMPSIM names: its policies beside pugmark's, which have the same rules.
# if: [ -f "${CHAMPSIM:-}/replacement/srrip/srrip.cc" ] || { echo 'CHAMPSIM does not name a tree of ChampSim'; exit 1; }
# needs: c++
$ for p in srrip srrip.cc; do pugmark sim -q --champsim-module $CHAMPSIM/replacement/srrip/srrip.cc --cache "l1i=4k,4way,$p;l1d=4k,4way,$p;l2=16k,8way,$p" --csv $p.csv $TESTS/data/real.pug >/dev/null; grep -v policy $p.csv >$p.rest; done; cmp srrip.rest srrip.cc.rest && echo equal
> equal
# lru.cc does not count writes as uses.
$ for p in lru lru.cc; do pugmark sim -q --champsim-module $CHAMPSIM/replacement/lru/lru.cc --cache "l1i=4k,4way,$p" --csv $p.csv $TESTS/data/real.pug >/dev/null; grep -v policy $p.csv >$p.rest; done; cmp lru.rest lru.cc.rest && echo equal
> equal
# next_line.cc asks for the next line at each read, whatever it found: a slow twin, direct-mapped, of fetches.
$ pugmark sim -q --champsim-module $CHAMPSIM/prefetcher/next_line/next_line.cc --cache 'l1i=1k,1way,prefetch=next_line.cc' --csv csv $TESTS/data/real.pug >/dev/null; awk -F, '/l1i.(misses|pf_issued|pf_useful),/ { print $2 }' csv >got; pugmark dump $TESTS/data/real.pug | awk 'function hex(s,   i, v) { v = 0; for (i = 3; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v } function touch(l) { s = l % 16; if (line[s] != l) { bad++; line[s] = l; fresh[s] = 0 } else if (fresh[s]) { used++; fresh[s] = 0 } l++; s = l % 16; if (line[s] != l) { line[s] = l; fresh[s] = 1; brought++ } } $2 == "insn" { a = hex($3); for (l = int(a / 64); l <= int((a + $4 - 1) / 64); l++) touch(l) } END { print bad; print brought; print used }' >want; sort got >got.s; sort want >want.s; cmp got.s want.s && echo equal
> equal
