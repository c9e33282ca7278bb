# x86.t - files of x86 guests, without QEMU (tests/check-qemu has it): a bare program's, from power-on to power-off
$ cp $TESTS/data/formats/ex-x86.cat x.cat; pugmark citcat stat x.cat | sed -n '1,20p' | awk 'NF == 4 { $4 = "" } { print }'
> trace
>   instructions               162,232
>   idle                       0 instructions
>   without idle               162,232
>   interrupts                 9
> bus bytes 575,814 
>   bus bytes per instruction  3.5493
>
> sizes
> record records raw 
> places 95 475 
> interrupts 10 10 
> exceptions 14 14 
> clocks 10 90 
> devices 0 0 
> characters 0 0 
> random 0 0 
> meetings 124 124 
> ends 3 3 
> all 1 728 
$ pugmark citcat stat x.cat --json - | grep -c bytes_per_instruction
> 8
$ pugmark citcat extract x.cat --json -
> {
>   "schema": {"name": "pugmark.citcat-extract", "version": 1},
>   "state": 6152,
>   "log": 728,
>   "instructions": 162232,
>   "interrupts": 10,
>   "clocks": 10,
>   "characters": 0,
>   "devices": 0,
>   "random": 0,
>   "cut": false
> }
$ pugmark citcat extract x.cat -o y.cit; cmp x.cit y.cit; pugmark citcat stat x.cit | sed -n 1,8p
> trace
>   instructions               162,232
>   idle                       0 instructions
>   without idle               162,232
>   interrupts                 9
>   bus bytes                  575,814 bytes
>   bus bytes per instruction  3.5493
>
$ pugmark citcat extract x.cat --ims x.ims 2>&1 | tail -1
> pugmark: an x86 guest's state and schedule are one file: -o (see `pugmark citcat extract --help`)
# the bus is a trace
$ pugmark dump x.cat | head -8
> 0 time 0x0 - time=0
> 0 bus 0x100080 64 type=0 lanes=0x00 attr=3 agent=0 raw=00000000 data=0x0
> 0 line 0x100080 64
> 0 bus 0x101300 64 type=1 lanes=0x00 attr=3 agent=0 raw=00000000 data=0x0 time=0
> 0 read 0x101300 64
> 0 time 0x0 - time=7
> 0 bus 0x101340 64 type=1 lanes=0x00 attr=3 agent=0 raw=00000000 data=0x0 time=7
> 0 read 0x101340 64
$ pugmark convert -q x.cat -t byu-text - | head -4
> 00100080 00 I_FETCH
> 00101300 00 D_READ
> 00101340 00 D_READ
> 00106000 00 D_READ
$ pugmark sim -q --cache 'l2=256k,8way,64' x.cat | head -5
> cache
>   instructions  0 instructions
>   fetches       15 references
>   reads         7,866 references
>   writes        1,134 references
# what cannot be replayed
$ pugmark citcat replay x.cit --qemu /nowhere -o none.pug; ls none.pug 2>/dev/null
! pugmark: /nowhere: cannot run it: x86 guests need QEMU 10 or newer (Debian 12: qemu-system-x86 of bookworm-backports)
? 2
$ pugmark citcat verify x.cit
! pugmark: x.cit: a .cit has no transactions to compare with: give the .cat
? 1
$ pugmark citcat verify x.cat --state 2>&1 | tail -1
> pugmark: --state is for the R4400 (see `pugmark citcat verify --help`)
$ pugmark citcat replay x.cit --no-idle 2>&1 | tail -1
> pugmark: a second file, --no-idle and --warmup are for the R4400's (see `pugmark citcat replay --help`)
$ pugmark citcat replay x.cit --disk x.cat --qemu /nowhere
! pugmark: --disk: the guest had none
? 1
$ printf '#!/bin/sh\necho "QEMU emulator version 10.0.99"\n' >q; chmod +x q; pugmark citcat replay x.cit --qemu ./q | sed 's/(.*)/(...)/'
! pugmark: ./q: is "QEMU emulator version 10.0.99", and the trace is from "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)": only that one replays it
$ for n in 0 7 8 19 20 300 9000 16000; do head -c $n x.cat >cut.cat; pugmark citcat verify cut.cat; pugmark info cut.cat 2>&1 >/dev/null | head -1; done
> pugmark: cut.cat: the input is empty
> pugmark: cut.cat:0x0: expected 8 bytes of magic, found 7
> pugmark: cut.cat:0x8: the file is cut off: expected a part, found 0 bytes
> pugmark: cut.cat:0x8: the file is cut off: expected a part, found 11 bytes
> pugmark: cut.cat:0x8: the file is cut off: expected 213 bytes of a part
> pugmark: cut.cat:0xe9: the file is cut off: expected 1168 bytes of a part
> pugmark: cut.cat:0x585: the file is cut off: expected 14748 bytes of a part, found 7575
> pugmark: cut.cat:0x585: the file is cut off: expected 14748 bytes of a part, found 14575
! pugmark: cut.cat:0x0: expected 8 bytes of magic, found 0
! pugmark: cut.cat:0x0: expected 8 bytes of magic, found 7
! pugmark: cut.cat:0x8: the file is cut off: expected a part, found 0 bytes
! pugmark: cut.cat:0x8: the file is cut off: expected a part, found 11 bytes
! pugmark: cut.cat:0x8: the file is cut off: expected 213 bytes of a part, found 0
! pugmark: cut.cat:0xe9: the file is cut off: expected 1168 bytes of a part, found 55
! pugmark: cut.cat:0x585: the file is cut off: expected 14748 bytes of a part
! pugmark: cut.cat:0x585: the file is cut off: expected 14748 bytes of a part
$ for n in 40 400 9000 16500; do cp x.cat bad.cat; printf '\245' | dd of=bad.cat bs=1 seek=$n conv=notrunc 2>/dev/null; pugmark citcat stat bad.cat; done
! pugmark: bad.cat:0x8: a part of 256 bytes is damaged: Data corruption detected
! pugmark: bad.cat:0xe9: a part of 6152 bytes is damaged: Restored data doesn't match checksum
! pugmark: bad.cat:0x585: a part of 217368 bytes is damaged: Restored data doesn't match checksum
! pugmark: bad.cat:0x403b: a part of 56 bytes is damaged: Restored data doesn't match checksum
? 1
$ (cat x.cat; echo) >more.cat; pugmark citcat stat more.cat
! pugmark: more.cat:0x4084: expected the file's end, found more
? 1
# options of the other machine
$ pugmark machine run --guest x86_64 --kernel x --cat x.cat --sideband 2>&1 | tail -1
> pugmark: --sideband is for the R4400, not for --guest (see `pugmark machine run --help`)
$ pugmark machine run --guest x86_64 --kernel x --bus-caches off 2>&1 | tail -1
> pugmark: --bus-caches needs --bus or --cat (see `pugmark machine run --help`)
$ pugmark citcat verify --disk x $TESTS/data/formats/ex.cat 2>&1 | tail -1
> pugmark: --disk is for x86 guests (see `pugmark citcat verify --help`)
$ pugmark citcat replay --frames -o x.pug $TESTS/data/formats/ex.cat 2>&1 | tail -1
> pugmark: --frames is for x86 guests (see `pugmark citcat replay --help`)
$ pugmark citcat replay --frames x.cat 2>&1 | tail -1
> pugmark: --frames needs --output or --sim (see `pugmark citcat replay --help`)
# snapshots of x86 guests
$ printf '#!/bin/sh\npugmark machine run "$@" 2>&1 | tail -1\n' >run; chmod +x run
$ ./run --guest x86_64 --kernel x --save x.sav
> pugmark: --guest is saved behind so many instructions: --save needs --limit (see `pugmark machine run --help`)
$ ./run --guest x86_64 --kernel x --save x.sav -n 1 --cat y.cat
> pugmark: --save excludes --cat: save the guest first, then --load it (see `pugmark machine run --help`)
$ ./run --guest x86_64 --kernel x --save x.sav -n 1 --disk d
> pugmark: --save needs --read-only with --disk: what the guest writes to it would not be saved (see `pugmark machine run --help`)
$ ./run --guest x86_64 --load x.sav --kernel x; ./run --guest x86_64 --load x.sav --ram 1G; ./run --guest x86_64 --load x.sav --kernel-events x.kev
> pugmark: --kernel is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
> pugmark: --ram is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
> pugmark: --kernel-events begins at power-on: --load excludes it (see `pugmark machine run --help`)
$ ./run --guest x86_64 --load x.cat; ./run --guest x86_64 --load none.sav
> pugmark: x.cat:0x0: expected a snapshot of a guest, found a trace
> pugmark: none.sav: cannot open: No such file or directory
$ (printf 'PMSAVX1\0'; tail -c +9 x.cat) >x.sav; ./run --load x.sav -n 1; pugmark citcat stat x.sav 2>&1
> pugmark: x.sav:0x585: expected a part of the machine, its bus or its log, found none that may stand here
> pugmark: x.sav:0x0: it is a snapshot, which has no trace: `pugmark machine run --load` goes on from it
? 1
