# kernel.t - what a guest's kernel reports of itself, at its place among the references
# needs: mipsel-linux-gnu-gcc
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --save plain.snap; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --refs n.ref --kernel-events n.kev --save watched.snap; cmp plain.snap watched.snap
$ head -n 5 n.kev; cut -c1 n.kev | sort | uniq -c | sed 's/^ *//; s/^[0-9]* S/several S/'; tail -n 3 n.kev | cut -d' ' -f1
> F 90da 1 0
> A 90e0 1 6
> m 90e5 1 10000 5000
> m 90eb 1 3c000 4000
> X 90f5 1 2 fe 0 user
> 24 <
> 12 >
> 5 A
> 5 F
> several S
> 5 T
> 5 X
> 1 e
> 10 m
> 5 u
> T
> u
> e
# one clock, and events behind the store that completed them: the last reference before the first event is older
$ pugmark convert n.ref -t laplace-text n.txt 2>/dev/null; set -- $(head -n 1 n.kev); awk -v t=$2 '{ if ($2 >= "90da" && length($2) == 4 && !seen++) print last; last = $1 " " $2 " " $3 }' n.txt; awk 'END { print (NR > 1000000) }' n.txt
> w 90d9 4
> 1
# every cycle has its stamp: an instruction takes one
$ grep '^i' n.txt | cut -d' ' -f2 | uniq -d | head -n 1
# address spaces are page directories; before the kernel reports one they are unknown
$ cut -d' ' -f4 n.txt | uniq | head -n 4 | tr '\n' ' '; cut -d' ' -f4 n.txt | sort -u | tr '\n' ' '
>- 0 6 7 8 0 6 7 8 9 a 
# all in one trace: the same events, and the same references with the time of the last thing from outside
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --exec-trace n.pug --kernel-events m.kev; cmp n.kev m.kev; pugmark convert n.pug o.kev 2>/dev/null; cmp n.kev o.kev; pugmark convert n.pug o.ref 2>/dev/null; pugmark convert o.ref -t laplace-text o.txt 2>/dev/null; cut -d' ' -f1,3- n.txt >p.txt; cut -d' ' -f1,3- o.txt | cmp - p.txt; paste n.txt o.txt | awk 'length($7) > length($2) || (length($7) == length($2) && "x" $7 > "x" $2)' | head -n 1
# a guest that reports none
$ pugmark machine run -q --elf $TOP/build/guest/bare.elf -n 1000 --kernel-events b.kev; ls b.kev
! pugmark: the guest's kernel reported no events: it needs the laplace module, or stores of its own to the monitor's window
! ls: cannot access 'b.kev': No such file or directory
? 2
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --kernel-events x.kev --warmup 5
! pugmark: --warmup would leave out what --kernel-events says of mappings (see `pugmark machine run --help`)
? 2
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --refs-format laplace
! pugmark: --refs-format needs --refs (see `pugmark machine run --help`)
? 2
$ pugmark machine run --guest i386 --kernel vmlinuz --kernel-events x.kev
! pugmark: --kernel-events is for guests of x86_64, not of i386 (see `pugmark machine run --help`)
? 2
# caches before the bus are options of x86 guests alone
$ pugmark machine run --elf x --bus-caches off
! pugmark: --bus-caches is for --guest; the R4400 has caches of its own: --cpu (see `pugmark machine run --help`)
? 2
$ pugmark machine run --guest x86_64 --kernel v --bus-locks
! pugmark: --bus-locks needs --bus or --cat (see `pugmark machine run --help`)
? 2
$ pugmark machine run --guest x86_64 --kernel v --bus b.byu --ram 4G
! pugmark: --bus is for guests with at most 3G of RAM, in whole pages (see `pugmark machine run --help`)
? 2
