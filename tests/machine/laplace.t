# laplace.t - references and events of the small guest: merged, checked and analysed
# needs: mipsel-linux-gnu-gcc python3
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --refs n.ref --kernel-events n.kev
# by a reader that is not ours, every reference of a user address lies in what is mapped; with one mapping less it does not
$ $BUILD/tests/oracle/laplace_check n.kev <n.ref; grep -v '^m 90eb' n.kev >less.kev; $BUILD/tests/oracle/laplace_check less.kev <n.ref | tail -n 1 | sed 's/[0-9].*/N/'
> events < 24
> events > 12
> events A 5
> events F 5
> events S 402
> events T 5
> events X 5
> events e 1
> events m 10
> events u 5
> references of user addresses 897168
> references of kernel addresses 552364
> references of unknown spaces 0
> outside 0
> outside N
# the merge says the same
$ pugmark merge --kernel 80000000 n.ref n.kev n.bm 2>/dev/null; pugmark merge --kernel 80000000 n.ref less.kev /dev/null 2>&1 | sed -n 's/[0-9]* of \([0-9]*\) references/N of \1 references/p'
> pugmark: note: N of 897168 references of user addresses lie where no event had mapped anything, the first at time 2d70f, in address space 6: 3ffdc
# a file for each process, and one for the kernel, in which nothing of a user is
$ pugmark merge --kernel 80000000 -t laplace-process n.ref n.kev n.pp 2>/dev/null; find n.pp -type f | sort; grep -c '^[irw]' n.pp/1/1; awk '/^[irw]/ && length($4) < 5' n.pp/kernel/0 | head -n 1
> n.pp/0/0
> n.pp/1/1
> n.pp/2/2
> n.pp/3/3
> n.pp/4/4
> n.pp/5/5
> n.pp/kernel/0
> 491729
# what is counted is what a slow model counts
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 500000 --refs s.ref --kernel-events s.kev; pugmark laplace --kernel 80000000 --windows 1000,10000 --json s.json s.ref s.kev; $TESTS/oracle/laplace-model s.ref s.kev s.json
> the same 639520 references
# from one trace that holds both, too
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 500000 --exec-trace s.pug --kernel-events s.kev; pugmark laplace --kernel 80000000 --windows 1000,10000 --json p.json s.pug; cmp s.json p.json
$ pugmark laplace --kernel 80000000 --windows 1000 --rows 4 n.ref n.kev
> laplace
>   user             897,168 references
>   kernel           552,355 references
>   processes        5 processes
>   schedules        402 events
>   forks            5 events
>   exits            5 events
>   page faults      0 events
>   copies on write  0 events
>
>                     switch
>   switches             402
>   l1i misses        0.0025
>   l1d misses        0.3184
>
> laplace by process  (by pid)
>   pid  name  user fetches  user loads  user stores  kernel fetches  kernel loads
>     0  boot             0           0            0         179,182        25,652
>     1  user       417,967      49,168       24,594          71,452        16,525
>     2  user        51,156       3,022        9,016           8,742         2,389
>     3  user         9,650       1,564           42          25,550         4,228
>   ... and 2 more, 3 columns: kernel stores, switches, pages
>
> laplace sharing
>   processes  pages  references
>           1     17     897,168
>
> laplace working sets  (by pid)
>   pid  name  window   pages
>     1  user   1,000  4.6531
>     2  user   1,000  2.3410
>     3  user   1,000  2.0861
>     4  user   1,000  2.9885
>   ... and 1 more
>
> laplace caches  (by misses)
>   cache    mode  accesses  misses   cold  by itself  by kernel  by other
>     l1i    user   808,674      86     78          0          6         2
>     l1i  kernel   382,234     159    132          0          0        27
>     l1d    user    89,046   2,060    652          0      1,006       402
>     l1d  kernel   155,845  55,344  4,059     50,282          0     1,003
>   ... and 1 column: by switch
>
> laplace displaced
>   cache  misses      of  displaced by
>     l1i       7  kernel        4 user
>     l1i       5  kernel        1 user
>     l1i       5  kernel        2 user
>     l1i       5  kernel        3 user
>   ... and 23 more
>
> laplace after switch
>   from  l1i accesses  l1i miss ratio  l1d accesses  l1d miss ratio
>      1           400          0.0150             0          0.0000
>      2           714          0.0014            86          0.1512
>      4         1,470         0.00068           119          0.0420
>      8         2,775          0.0054           300          0.0967
>   ... and 13 more
>
> merge
>   user addresses  897,168 references
>   unmapped        0 references
$ pugmark laplace n.ref; pugmark laplace n.kev n.ref; pugmark laplace --l1d 16k n.ref n.kev; pugmark laplace --windows 0 n.ref n.kev; pugmark laplace --l1i 16k,3way,32 n.ref n.kev
! pugmark: Laplace traces hold no kernel events; they need a file EVENTS
! pugmark: Laplace event traces hold no data addresses; REFERENCES come first
! pugmark: '16k' is not a cache; one is 16k,1way,32
! pugmark: windows=: expected 1 to 4 numbers of references
! pugmark: '16k,3way,32': a cache has 1 to 64 ways, lines of 4 to 4096 bytes and a power of two of sets
? 2
# more processes than the table begins with: each has the name of the one that it came from
$ { echo 'F 1 1 0'; echo 'A 1 1 100'; echo 'X 1 1 2 3 4 prog'; for i in $(seq 2 400); do printf 'F %x %x %x\nA %x %x %x\nm %x %x 10000 1000\nS %x %x\n' $((10 * i)) $i $((i - 1)) $((10 * i)) $i $((256 + i)) $((10 * i)) $i $((10 * i)) $i; done; } >many.kev; for i in $(seq 2 400); do printf 'i %x 4 %x 10000\n' $((10 * i + 1)) $((256 + i)); done >many.ref.txt; pugmark laplace --json many.json many.ref.txt many.kev; grep -c '"name": "prog"' many.json; grep '"processes"' many.json | head -n 1
> 399
>     "processes": 400,
