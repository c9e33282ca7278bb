# tests/analyse/course-awk.t - the course's analyses of a real program's micro-ops, against awk that reads the file as it is
$ pugmark run -q -t penn -o all.trace -- gzip -c /etc/passwd >/dev/null; head -60000 all.trace >g.trace; wc -l <g.trace
> 60000
$ awk 'BEGIN { print "Processing trace..." } { m += $1 == 1 } END { print "Processed " NR " trace records."; print "Micro-ops: " NR; print "Macro-ops: " m }' g.trace >want; pugmark penn g.trace | cmp - want
# micro-ops and, from the next instruction's address where it follows, bytes per macro-op
$ awk '$1 == 1 { if (n) c[n]++; n = 0; m++ } { n++ } END { c[n]++; for (i = 1; i < 66; i++) if (c[i]) printf "%8d %14d %8.3f%%\n", i, c[i], 100 * c[i] / m }' g.trace >want; pugmark uops g.trace | tail -n +6 | cmp - want
# loads, stores, branches that read flags and that do not
$ awk '{ k = $8 == "L" ? "loads" : $8 == "S" ? "stores" : $12 == "0" ? "other" : $6 == "R" ? "conditional" : $6 == "-" ? "unconditional" : "other"; c[k]++ } END { split("loads stores unconditional conditional other", o); for (i = 1; i < 6; i++) printf "%-14s %14d %8.3f%%\n", o[i], c[o[i]], 100 * c[o[i]] / NR }' g.trace >want; pugmark uop-mix g.trace | tail -n +3 | cmp - want
$ awk '$12 != "0" && $6 == "R" { b++; p += last == "W" } { last = $6 } END { printf "Micro-ops: %d\nConditional branches: %d\nFused pairs: %d\nMicro-ops in pairs: %.3f%%\nMicro-ops saved: %.3f%%\n", NR, b, p, 200 * p / NR, 100 * p / NR }' g.trace >want; pugmark fusion g.trace | cmp - want
# the scoreboard, counted down cycle by cycle
$ awk '{ while (($3 >= 0 && s[$3]) || ($4 >= 0 && s[$4])) step(); if ($5 >= 0) s[$5] = $8 == "L" ? 2 : 1; step() } function step(  r) { for (r = 0; r < 50; r++) if (s[r]) s[r]--; c++ } END { print c }' g.trace >want; pugmark sim --sim inorder --csv - g.trace | sed -n 's/^inorder\.cycles,\([0-9]*\),.*/\1/p' | cmp - want
# tables of 16 two-bit counters by the lowest bits of the pc
$ awk '$12 != "0" && $6 == "R" { d = index("0123456789abcdef", substr($2, length($2))); t = $7 == "T"; miss += (c[d] >= 2) != t; c[d] += t ? c[d] < 3 : -(c[d] > 0) } END { print miss }' g.trace >want; pugmark sim --bpred bimodal=4 --json - g.trace | sed -n 's/^ *"mispredictions": \([0-9]*\),.*/\1/p' | head -1 | cmp - want
