# needs: perf
# A branch profile as perf's own file: samples of taken branches, 32 each, every one in proportion to its exact count, up to six standard deviations of drawing (what runs together is drawn together).
$ cat > proportion <<'X'
+ function hex(s,   i, n) { if (s in is) return is[s]; n = 0; for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return is[s] = n }
+ FILENAME == ARGV[1] { sub(/^[^ ]*:/, "", $2); if ($1 == "B") { want[hex($2) " " hex($3)] = $4; all += $4 } next }
+ { for (i = 1; i <= NF; i++) seen[$i]++ }
+ END { for (s in seen) { split(s, p, "/"); for (k = 1; k < 3; k++) { p[k] = hex(substr(p[k], 3)); p[k] = p[k] == hex("7ffff7000000") || p[k] == hex("f7000000") ? 0 : p[k] - at } got[p[1] " " p[2]] += seen[s] }
+ 	for (k in got) if (k in want) n += got[k]; else if (k !~ / 0$|^0 /) print "no such branch:", k
+ 	for (k in want) { e = want[k] * n / all; if (e >= 500) { big++; d = (got[k] - e) ^ 2; if (d > 36 * e) print k, "expected", e, "got", got[k] + 0 } }
+ 	print (big > few ? "in proportion" : "few branches: " big) }
+ X
+ cp "$TESTS/data/branch_kinds.c" . && for o in -fPIE -no-pie $("$TESTS/can-32-bit" >/dev/null && echo -m32); do gcc -O2 -g $o $([ $o != -fPIE ] || echo -pie) branch_kinds.c -o prog
+ 	pugmark run -q --branch --bolt prog.pa --perf-data perf.data -- ./prog > native
+ 	case $o in -fPIE) load=$((0x555555554000));; -no-pie) load=0;; *) load=$((0x56555000));; esac
+ 	perf script -i perf.data -F brstack 2> err | awk -v at=$load -v few=1 -f proportion prog.pa -; cat err; done; [ $o = -m32 ] || echo "in proportion"
> in proportion
> in proportion
> in proportion
# Where edges are counted, as usually, and which return came back is not known.
$ pugmark run -q --bolt gzip.pa --perf-data perf.data -- /bin/gzip -9c /bin/sh > native; perf script -i perf.data -F brstack | awk -v at=$((0x555555554000)) -v few=50 -f proportion gzip.pa -
> in proportion
# The same counts, the same file; every sample is of the program, and nearly all are full; what they stand for is the branches taken.
$ for f in 1 2; do pugmark run -q --branch --bolt gzip.pa --perf-data $f --perf-samples 1000 -- /bin/gzip -9c /bin/sh > native; done; cmp 1 2; perf script -i 1 -F comm,pid,period,brstack | awk '{ samples[$1 " " $2]++; full += NF == 35; all += $3 } END { for (k in samples) print k, samples[k], (full > 900) } END { print all > "all" }'
> gzip 1000 1000 1
$ awk '$1 == "B" { n += $4 } END { print n }' gzip.pa | cat - all | awk '{ v[NR] = $1 } END { print (v[2] / v[1] > .99 && v[2] / v[1] < 1.01) }'
> 1
$ perf buildid-list -i 1 | awk '{ print length($1), $2 }'; perf evlist -i 1
> 40 /usr/bin/gzip
> branches:u
# Predicted or not, if somebody predicts; a file for each object.
$ pugmark run -q --predict --bolt p.pa --perf-data p.data -- ./prog > native; awk '$1 == "B" { n += $4; m += $5 } END { print m / n }' p.pa > want; perf script -i p.data -F brstack | tr -s ' ' '\n' | awk -F/ 'NF { n++; m += $3 == "M"; p += $3 == "P" } END { getline w < "want"; print (m + p == n), (m / n > w * .9 && m / n < w * 1.1) }'
> 1 1
$ pugmark run -q --perf-data '%n.data' -- ./prog > native; for f in prog libc.so.6; do perf script -i $f.data -F brstack | wc -l | grep -c '^[0-9][0-9]'; done
> 1
> 1
# A trace that is stored; and what is wrong.
$ pugmark run -q --branch -o g.pug --perf-data 1 -- ./prog > native; pugmark profile write --perf-data 2 g.pug && cmp 1 2
$ pugmark run -q --perf-samples 5 -- ./prog > native
! pugmark: --perf-samples is for --perf-data FILE
? 2
$ pugmark run -q --predict -- ./prog > native
! pugmark: --predict is for branch profiles: --bolt FILE and its like
? 2
$ pugmark profile write --perf-data 1 --perf-samples 1000001 g.pug
! pugmark: --perf-samples expects a number from 1 to 1000000, not '1000001' (see `pugmark profile write --help`)
? 2
$ pugmark run -q --perf-data /dev/full -- ./prog 2>&1 > native | sed 's/cannot write/&/'
> pugmark: /dev/full: cannot write: No space left on device
$ pugmark profile merge -o x 1 2>&1 | sed 's/expected.*/.../'
> pugmark: 1:0x0: ...
$ cp prog moved; pugmark run -q --branch -o m.pug -- ./moved > native; gcc -O1 branch_kinds.c -o moved; pugmark profile write --perf-data x m.pug 2>&1 | sed 's,[^ ]*/moved,moved,; s/0x[0-9a-f]*/0xX/'; test ! -e x || echo written
> pugmark: moved: its code at 0xX is not what ran: this is another build, or the program has changed itself
