# Data objects: a variable's references and misses, counted by hand.
$ "$BUILD/tests/oracle/steptrace" costs.trace "$PROGRAMS/costs"; pugmark sim -s objects --object "$PROGRAMS/costs@0" costs.trace
> objects
>   objects      3 objects
>   allocations  0 calls
>   resolved     0 calls
>
> objects by object  (most l1 misses first)
>   l1 misses  l2 misses  reads  writes      kind  blocks  object
>          64         64    128       0  variable       0   table
>           1          1      0       1     other       0       ?
>           0          0      2       1     stack       0   stack
# Heap blocks by the place that allocated them: fresh, from the thread's cache, cleared, mapped; and every miss is somebody's.
$ "$BUILD/tests/oracle/steptrace" heap.trace "$PROGRAMS/heap"; pugmark sim -s 'objects:top=1000' --cache 'l1d=32k,8way,64;l2=8m,16way,64' --object "$PROGRAMS/heap@0" --csv csv --rows 1000 heap.trace >text; awk '/heap\.c:/ && !/main/ { print $4, $6, $NF }' text | LC_ALL=C sort
> 1,100 100 (heap.c:10)
> 1,300 100 (heap.c:11)
> 17 1 (heap.c:12)
> 700 100 (heap.c:9)
$ awk '$1 == "allocations" || $1 == "resolved" { print $2 }' text | uniq | wc -l
> 1
$ awk -F, '/by_object.*l1_misses/ { s += $2 } /by_object.*l2_misses/ { t += $2 } /cache.l1d.misses/ { s -= $2 } /cache.l2.misses/ { t -= $2 } END { print s, t }' csv
> 0 0
# The same by a slow twin that knows only the trace, the symbols and an LRU cache: all kinds of objects, all heap blocks.
$ "$TESTS/oracle/objects" heap.trace "$PROGRAMS/heap" >twin; awk -F, '/by_object/ { k = $1; sub(/.*\]\./, "", k); v[k] = $2 } /\.object,/ { o = v["kind"]; n = v["object"]; sub(/ .*/, "", n); o = o == "variable" ? "file" : o == "heap" ? o " " n : o; r[o] += v["reads"]; w[o] += v["writes"]; a[o] += v["l1_misses"]; b[o] += v["l2_misses"] } END { for (o in r) print o, r[o], w[o], a[o], b[o] }' csv | LC_ALL=C sort | diff - twin; test $(wc -l <twin) -gt 8
# Prefetches by object: of the table by hand (each line but the first is brought, used next, and late), and of all by the twin.
$ pugmark sim -q -s 'objects:l1d=32k,8way,64,prefetch=next' --object "$PROGRAMS/costs@0" --csv csv costs.trace >/dev/null; grep '\[0\].l1_' csv
> objects.by_object[0].l1_misses,1,references
> objects.by_object[0].l1_prefetched,63,lines
> objects.by_object[0].l1_useful,63,lines
> objects.by_object[0].l1_used,63,lines
> objects.by_object[0].l1_late,63,lines
> objects.by_object[0].l1_accuracy,1,used/brought
> objects.by_object[0].l1_coverage,0.984375,used/(used + misses)
> objects.by_object[0].l1_timeliness,0,in time/used
$ pugmark sim -q -s 'objects:l1d=32k,8way,64,prefetch=next;l2=8m,16way,64;top=1000' --cache 'l1d=32k,8way,64,prefetch=next;l2=8m,16way,64' --object "$PROGRAMS/heap@0" --csv csv heap.trace >/dev/null; NEXT=1 "$TESTS/oracle/objects" heap.trace "$PROGRAMS/heap" >twin; awk -F, '/by_object/ { k = $1; sub(/.*\]\./, "", k); v[k] = $2 } /\.object,/ { o = v["kind"]; n = v["object"]; sub(/ .*/, "", n); o = o == "variable" ? "file" : o == "heap" ? o " " n : o; r[o] += v["reads"]; w[o] += v["writes"]; a[o] += v["l1_misses"]; b[o] += v["l2_misses"]; p[o] += v["l1_prefetched"]; u[o] += v["l1_useful"]; f[o] += v["l1_used"]; l[o] += v["l1_late"] } END { for (o in r) print o, r[o], w[o], a[o], b[o], p[o], u[o], f[o], l[o] }' csv | LC_ALL=C sort | diff - twin; awk '{ s += $(NF - 3); n += $NF } END { print (s > 100), (n > 10) }' twin
> 1 1
# ... whose sums are the level's.
$ awk -F, '/by_object.*l1_(prefetched|useful|used|late)/ { sub(/.*l1_/, "", $1); s[$1] += $2 } /cache.l1d.pf_(issued|useful|late)/ { sub(/.*pf_/, "", $1); t[$1] = $2 } END { print s["prefetched"] - t["issued"], s["useful"] - t["useful"], s["used"] - t["useful"], s["late"] - t["late"] }' csv
> 0 0 0 0
# Moved by realloc, mapped by the program, or given by musl: written as often as the program says.
$ pugmark run -q --csv csv -s 'objects:top=1000' -- "$PROGRAMS/moved"; awk -F, '/by_object.*writes/ { n = $2 } /moved\.c:/ { sub(/\+.*/, "", $2); print $2, n }' csv | LC_ALL=C sort
> first 700
> map 17
> moved 1900
> other 1100
> zeroed 1300
$ test ! -e "$PROGRAMS/moved-musl-static" || pugmark run -q --csv csv -s 'objects:top=1000' -- "$PROGRAMS/moved-musl-static"; awk -F, '/by_object.*writes/ { n = $2 } /moved\.c:/ { sub(/\+.*/, "", $2); print $2, n }' csv | LC_ALL=C sort
> first 700
> map 17
> moved 1900
> other 1100
> zeroed 1300
# An allocator that touches nothing near its blocks: what it returned is followed to its first use, through registers,
# the stack, structures; and behind functions that allocate for others.
$ pugmark run -q --csv csv -s 'objects:top=1000;wrap=wrapped' -- "$PROGRAMS/given"; awk -F, '/by_object.*writes/ { n = $2 } /given\.c:/ { sub(/\+.*/, "", $2); print $2, n }' csv | LC_ALL=C sort; awk -F, '/objects.(allocations|resolved)/ { print $2 }' csv | uniq | wc -l
> keep 350
> more 550
> one 150
> two 250
> 1
$ pugmark run -q --csv csv -s 'objects:top=1000' -- "$PROGRAMS/given"; awk -F, '/by_object.*writes/ { n = $2 } /given\.c:/ { sub(/\+.*/, "", $2); print $2, n }' csv | LC_ALL=C sort
> keep 350
> more 550
> wrapped 400
$ pugmark sim -s 'objects:wrap' costs.trace
! pugmark: objects: wrap: the name of a function is missing, as in wrap=xmalloc,zmalloc
? 2
$ pugmark sim -s 'objects:l1i=4k' costs.trace
! pugmark: objects: no cache takes data; allowed: l1d=... or l1=..., then l2=...
? 2
$ pugmark sim -s 'objects:l1d=4k,opt' costs.trace
! pugmark: objects: l1d: opt knows of misses only at the end; any other policy
? 2
$ pugmark sim -s 'objects:top=0' costs.trace
! pugmark: objects: top: entries listed: 0 is outside 1..1000000
? 2
$ pugmark sim -s objects "$TESTS/data/formats/lackey-34.txt"
! pugmark: lackey traces hold no branch outcomes; 'objects' needs them (`pugmark run --exec` traces them)
? 1
# A function that ends in a jump to malloc is left out: its caller gets the blocks.
$ cat >tail.c <<'E'
+ #include <stdlib.h>
+ #include <string.h>
+ __attribute__((noipa)) char *make(size_t n) { return malloc(n + 8); }
+ __attribute__((noipa)) void drop(char *p) { free(p); }
+ int main(void) { for (int i = 0; i < 90; i++) { char *p = make(100), *q = make(200);
+ 	for (int k = 0; k < 10; k++) { ((volatile char *)p)[k] = k; ((volatile char *)q)[100 + k] = k; } if (i & 1) drop(p); } return 0; }
+ E
+ gcc -O2 -o tail tail.c; objdump -d tail | grep -c 'jmp.*<malloc'; pugmark run -q --csv csv -s 'objects:top=100' -- ./tail
+ awk -F, '/by_object.*writes/ { w = $2 } /by_object.*blocks/ { b = $2 } /\.object,.*main/ { sub(/\+.*/, "", $2); print b, w, $2 }' csv
> 2
> 90 900 main
> 90 900 main
