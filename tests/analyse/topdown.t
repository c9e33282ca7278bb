# Each function of this program is bound by one thing, and the tree says so: its largest kind of empty slots, and that
# kind's part of the function's slots is more than half (that of retiring where nothing is in the way).
$ S='core:topdown;l1i=8k,8way,64;l1d=8k,8way,64;l2=64k,8way,64;l3=1m,16way,64'; echo "$S" >spec; pugmark run -q --csv csv --html page -o bounds.pug -t pug -s "$S" -- "$PROGRAMS/bounds"; tr -d '"]' <csv | tr '[' . | tr , ' ' >rows
$ awk '/^core.by_function/ { split($1, p, "."); v[p[3], p[4]] = $2; n = p[3] } END { for (i = 0; i <= n; i++) { m = v[i, "mostly"]; g = m ~ /^(l.|dram|store)$/ ? "memory_bound" : m ~ /^(ports|divider|serializing)$/ ? "core_bound" : m ~ /^(icache|resteers)$/ ? "fetch_latency" : m; if (v[i, "retiring"] > v[i, g]) m = g = "retiring"; if (v[i, "function"] != "_start") print v[i, "function"], m (v[i, g] > v[i, "slots"] / 2 ? "" : ": less than half") } }' rows | sort
> chase_dram dram
> chase_l1 l1
> chase_l2 l2
> chase_l3 l3
> divide divider
> guess bad_speculation
> one_port ports
> serialize serializing
> stream store
> wander icache
> wide retiring
# All slots of the leaves are the width of the core in all cycles; so are those of all functions; branches are sums.
$ awk '$1 ~ /^core\.(width|cycles)$/ { all = all ? all * $2 : $2 } /^core.top_down/ { split($1, p, "."); t[p[3], p[4]] = $2; n = p[3] } /^core.by_function.*\.slots/ { f += $2 } END { for (i = 0; i <= n; i++) { c = t[i, "category"]; slots[c] = t[i, "slots"]; if (t[i, "level"] == 1) top += t[i, "slots"]; if (sub(/\.[^.]*$/, "", c)) below[c] += t[i, "slots"] } for (c in below) if (below[c] != slots[c]) print c, below[c], slots[c]; print top == all, f == all }' rows
> 1 1
# Per instruction and line, from the stored trace: the same sums.
$ pugmark annotate -s "$(cat spec)" --csv a bounds.pug >text; awk -F, '/^annotate.total.S/ { s += $2 } END { print s }' a >sum; awk '$1 ~ /^core\.(width|cycles)$/ { all = all ? all * $2 : $2 } END { print all }' rows | diff - sum
$ pugmark annotate -s "$(cat spec)" --source "$TOP" --lines -e Sdv,Sdr,Sic --sort Sdv bounds.pug | grep -E 'div|bounds.S'
>  152,004           .         .  divide  bounds
> tests/programs/bounds.S
>        .           .         .    23          call    divide
>        .           .         .    64          function divide
>  152,004           .         .    68          div     %rbx
>        .           .         .    72          end     divide
$ grep -o '<h3[^>]*>[^<]*Top down[^<]*' page; grep -c backend_bound.memory.dram page
> <h3 id="s5">Top down
> 1
# KCachegrind's file has no slots: what a call has of them is not known.
$ pugmark sim -s "$(cat spec)" --callgrind cg bounds.pug >/dev/null; grep '^events:' cg
> events: Ir Fm Lm Llm Bm Cbr Cfe Cme Cst Cco
$ pugmark sim -s 'core:topdown=1' bounds.pug
! pugmark: core: topdown: stands alone, without a value
? 2
