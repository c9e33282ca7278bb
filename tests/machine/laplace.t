# laplace.t - references and events of the small guest: merged, checked and analysed
# needs: mipsel-linux-gnu-gcc python3
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --refs n.ref --kernel-events n.kev
# by a reader that is not ours, every reference of a user address lies in what is mapped; with one mapping less it does not
$ pugmark convert n.ref -t laplace-text n.txt 2>/dev/null; awk 'NR == FNR { n[substr($0, 1, 1)]++; next } length($5) < 8 || $5 < "8" { user++ } END { for (k in n) print "events", k, n[k]; print "references of user addresses", user; print "references of kernel addresses", FNR - user }' n.kev n.txt >want
+ $BUILD/tests/oracle/laplace_check n.kev <n.ref >seen; sort want >want.sorted; grep -v 'unknown\|outside' seen | sort | diff want.sorted -; sed 's/\(S\|addresses\) [0-9]*$/\1 N/' seen; grep -v '^m 90eb' n.kev >less.kev; $BUILD/tests/oracle/laplace_check less.kev <n.ref | tail -n 1 | sed 's/[0-9].*/N/'
> events < 24
> events > 12
> events A 5
> events F 5
> events S N
> events T 5
> events X 5
> events e 1
> events m 10
> events u 5
> references of user addresses N
> references of kernel addresses N
> references of unknown spaces 0
> outside 0
> outside N
# the merge says the same
$ pugmark merge --kernel 80000000 n.ref n.kev n.bm 2>/dev/null; pugmark merge --kernel 80000000 n.ref less.kev /dev/null 2>&1 | sed -n "s/[0-9]* of $(sed -n 's/.*user addresses //p' want) references/N of ALL references/p"
> pugmark: note: N of ALL references of user addresses lie where no event had mapped anything, the first at time 2d70f, in address space 6: 3ffdc
# a file for each process, and one for the kernel, in which nothing of a user is
$ pugmark merge --kernel 80000000 -t laplace-process n.ref n.kev n.pp 2>/dev/null; find n.pp -type f | sort; [ $(grep -c '^[irw]' n.pp/1/1) = $(awk '$4 == "6" && (length($5) < 8 || $5 < "8")' n.txt | wc -l) ] && echo all of them; awk '/^[irw]/ && length($4) < 5' n.pp/kernel/0 | head -n 1
> n.pp/0/0
> n.pp/1/1
> n.pp/2/2
> n.pp/3/3
> n.pp/4/4
> n.pp/5/5
> n.pp/kernel/0
> all of them
# what is counted is what a slow model counts
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 500000 --refs s.ref --kernel-events s.kev; pugmark laplace --kernel 80000000 --windows 1000,10000 --json s.json s.ref s.kev; $TESTS/oracle/laplace-model s.ref s.kev s.json | sed "s/ $(pugmark convert s.ref -t laplace-text - 2>/dev/null | wc -l) / ALL /"
> the same ALL references
# from one trace that holds both, too
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 500000 --exec-trace s.pug --kernel-events s.kev; pugmark laplace --kernel 80000000 --windows 1000,10000 --json p.json s.pug; cmp s.json p.json
# the tables' numbers are those of the JSON
$ pugmark laplace --kernel 80000000 --windows 1000 --rows 4 n.ref n.kev >tables; pugmark laplace --kernel 80000000 --windows 1000 --json n.json n.ref n.kev; grep -ow '[0-9][0-9]*' n.json | sort -u >known
+ tr -d , <tables | sed '/and [0-9]* more/d; s/[0-9][0-9]*\.[0-9]*//g' | grep -ow '[0-9][0-9]*' | sort -u | comm -23 - known; sed 's/\b[0-9][0-9,.]*\b/N/g; s/  */ /g' tables
> laplace
>  user N references
>  kernel N references
>  processes N processes
>  schedules N events
>  forks N events
>  exits N events
>  page faults N events
>  copies on write N events
>
>  switch
>  switches N
>  l1i misses N
>  l1d misses N
>
> laplace by process (by pid)
>  pid name user fetches user loads user stores kernel fetches kernel loads
>  N boot N N N N N
>  N user N N N N N
>  N user N N N N N
>  N user N N N N N
>  ... and N more, N columns: kernel stores, switches, pages
>
> laplace sharing
>  processes pages references
>  N N N
>
> laplace working sets (by pid)
>  pid name window pages
>  N user N N
>  N user N N
>  N user N N
>  N user N N
>  ... and N more
>
> laplace caches (by misses)
>  cache mode accesses misses cold by itself by kernel by other
>  l1i user N N N N N N
>  l1i kernel N N N N N N
>  l1d user N N N N N N
>  l1d kernel N N N N N N
>  ... and N column: by switch
>
> laplace displaced
>  cache misses of displaced by
>  l1i N kernel N user
>  l1i N kernel N user
>  l1i N kernel N user
>  l1i N kernel N user
>  ... and N more
>
> laplace after switch
>  from l1i accesses l1i miss ratio l1d accesses l1d miss ratio
>  N N N N N
>  N N N N N
>  N N N N N
>  N N N N N
>  ... and N more
>
> merge
>  user addresses N references
>  unmapped N references
$ pugmark laplace n.ref; pugmark laplace n.kev n.ref; pugmark laplace --l1d 16k n.ref n.kev; pugmark laplace --windows 0 n.ref n.kev; pugmark laplace --l1i 16k,3way,32 n.ref n.kev
! pugmark: n.ref: Laplace traces hold no kernel events; they need a file EVENTS
! pugmark: n.kev: Laplace event traces hold no data addresses; REFERENCES come first
! pugmark: '16k' is not a cache; one is 16k,1way,32
! pugmark: windows expects 1 to 4 numbers of references, at least 1 each, not '0'
! pugmark: '16k,3way,32': a cache has 1 to 64 ways, lines of 4 to 4096 bytes and a power of two of sets
? 2
# more processes than the table begins with: each has the name of the one that it came from
$ { echo 'F 1 1 0'; echo 'A 1 1 100'; echo 'X 1 1 2 3 4 prog'; for i in $(seq 2 400); do printf 'F %x %x %x\nA %x %x %x\nm %x %x 10000 1000\nS %x %x\n' $((10 * i)) $i $((i - 1)) $((10 * i)) $i $((256 + i)) $((10 * i)) $i $((10 * i)) $i; done; } >many.kev; for i in $(seq 2 400); do printf 'i %x 4 %x 10000\n' $((10 * i + 1)) $((256 + i)); done >many.ref.txt; pugmark laplace --json many.json many.ref.txt many.kev; grep -c '"name": "prog"' many.json; grep '"processes"' many.json | head -n 1
> 399
>     "processes": 400,
# References without times cannot be put between events.
$ pugmark convert -q n.ref n.din; pugmark laplace n.din n.kev; pugmark merge n.din n.kev x.bm; ls x.bm 2>&1 | wc -l
! pugmark: n.din: din traces hold no times, by which EVENTS are put between them
! pugmark: n.din: din traces hold no times, by which EVENTS are put between them
> 1
$ for w in 0 -1 4,,4 99999999999999999999 1x; do pugmark laplace --windows=$w n.ref n.kev 2>/dev/null; echo $?; done | uniq -c | sed 's/^ *//'; pugmark laplace -q --windows 1k n.ref n.kev | grep -c working
> 5 2
> 1
# where the trace begins with a bus trace, what the kernel did before is in it, too
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -o w.pug --kernel-events w.kev --cat w.cat; cmp w.kev n.kev; pugmark convert -q w.pug again.kev; cmp w.kev again.kev; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --refs w.ref --kernel-events x.kev --cat w.cat; for f in 'w.pug' 'w.ref w.kev'; do pugmark laplace --kernel 80000000 --json $(echo $f | cut -c1-5).json $f; done; cmp w.pug.json w.ref.json; sed -n '/"processes": [0-9]/p; /"schedules"/q' w.pug.json
>     "processes": 5,
