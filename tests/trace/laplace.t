# tests/trace/laplace.t - references and kernel events merged by canonical pages
# The text page is shared after the fork (1), the stack page until its copy-on-write (2, then 4); the
# file's second page is the same for read() and for the mapping (5).
$ pugmark merge $TESTS/data/formats/merge.ref.txt $TESTS/data/formats/merge.kev - 2>/dev/null
> I 1
> W 2
> R 3
> I 1
> R 2
> W 4
> R 2
> R 5
> R 5
$ pugmark merge -t laplace-process $TESTS/data/formats/merge.ref.txt $TESTS/data/formats/merge.kev out; find out -type f | sort
> out/100/100
> out/101/101
$ cat out/100/100
> A 1 100 5
> M 2 100 8048000 3000 77 3 1 0 prog
> m 3 100 bfffe000 2000
> S 4 100
> i 5 3 8048 1
> w 6 4 bffff 2
> r 6 4 bfffe 3
> F 10 101 100
> D 10 5 6 8048000 804b000
> D 10 5 6 bfffe000 c0000000
$ cat out/101/101
> A 10 101 6
> S 11 101
> i 11 3 8048 1
> r 11 4 bffff 2
> C 12 101 bffff000
> w 12 4 bffff 4
> r 13 4 bffff 2
> < 20 101 77 3 1 1000 1000
> r 21 4 8049 5
> e 30
# not into the same directory again: a task that the new trace has not would have its file there
$ pugmark merge -t laplace-process $TESTS/data/formats/merge.ref.txt $TESTS/data/formats/merge.kev out; wc -l <out/100/100
! pugmark: out: this directory has files already, which would be mixed with the new ones
> 10
# a kernel reference goes to one separate file
$ echo 'w 14 4 5 c0100000' >>k.ref.txt; pugmark merge -t laplace-process k.ref.txt $TESTS/data/formats/merge.kev out2 && cat out2/kernel/0
> w 14 4 c0100 1
# a kernel's page is one page for all address spaces, and where no event mapped anything is said
$ printf 'w 14 4 5 c0100000\nw 15 4 6 c0100000\nr 16 4 5 80001000\nr 17 4 6 80001000\nr 18 4 6 80001000\n' >k.ref.txt; pugmark merge k.ref.txt $TESTS/data/formats/merge.kev - 2>/dev/null; pugmark merge k.ref.txt $TESTS/data/formats/merge.kev /dev/null 2>&1 | tail -1; pugmark merge --kernel 80000000 k.ref.txt $TESTS/data/formats/merge.kev - 2>/dev/null
> W 1
> W 1
> R 2
> R 3
> R 3
> R 4
> pugmark: note: 3 of 3 references of user addresses lie where no event had mapped anything, the first at time 16, in address space 5: 80001000
> W 1
> W 1
> R 2
> R 2
> R 2
> R 3
$ pugmark merge --kernel x k.ref.txt $TESTS/data/formats/merge.kev -
! pugmark: 'x' is not a hexadecimal address (see `pugmark merge --help`)
? 2
$ cp $TESTS/data/formats/merge.kev .; pugmark merge merge.kev merge.kev -
! pugmark: merge.kev: Laplace event traces hold no data addresses; REFERENCES come first
? 1
$ pugmark merge $TESTS/data/formats/merge.ref.txt
! pugmark: missing REFERENCES, EVENTS or OUT (see `pugmark merge --help`)
? 2
# dialects of kVMTrace and the strict subset
$ pugmark convert -t laplace-events:dialect=laplace $TESTS/data/formats/kvmtrace05.kev -
> A 10 100 9f8e7
> S 20 100
> F 30 101 100
> M 40 100 1a2b3c4d 9000 8efa5567 35 5 10 libc.so.6
> @ 50 100 1000 2000 8000 1000
> ( 60 100 8efa5567 35 5 1f4 f data file
> e 70
$ pugmark convert -t laplace-events:dialect=laplace,strict $TESTS/data/formats/kvmtrace05.kev - | cut -c1 | xargs
> A S F M (
! pugmark: note: events discarded: 2 kernel
# debug events have four fields, and mean nothing
$ printf 'F 1 100 1\n& 2 100 1000 3000 2000\nS 3 100\n' >four.kev; pugmark info four.kev | grep format; pugmark convert -t laplace-events four.kev - | cmp - four.kev
> format          laplace-events
$ printf 'F 1 100 1\n& 2 100 1000 3000\n' >three.kev; pugmark dump three.kev
! pugmark: three.kev:2: expected a kernel event record, found '& 2 100 1000 3000'
? 1
