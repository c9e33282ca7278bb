# nano.t - the small guest runs on the simulated machine, and nothing that watches changes it
# needs: mipsel-linux-gnu-gcc
$ seq 1 20000 | head -c 65536 >disk.img; pugmark machine run --elf $TOP/build/guest/nano.elf --disk disk.img --save plain.snap
> nano
> float  ecd09def
> disk   2362d648
> code   073555d0
> branch 1d30e181
> memory 44705aeb
> ticks 00000001 disk 00000024
# nothing of the host shows: no clock, no randomness
# the disk image is not written to
$ seq 1 20000 | head -c 65536 | cmp - disk.img
# watched by the bus monitor and traced: the same in every bit at the end
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img --cat n.cat --exec-trace n.din --save watched.snap
$ cmp plain.snap watched.snap
# stopped in the middle, saved, loaded, gone on: the same again
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 654321 --save half.snap
$ pugmark machine run -q --load half.snap --disk disk.img --save two.snap
$ cmp plain.snap two.snap
# what differs between two snapshots is named: where the next instruction is, as a trace of the same run says
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -n 654323 --exec-trace next.din; grep '^2 ' next.din | tail -n 2 | sed 's/^2 \([0-9a-f]*\).*/\1/' >pcs; { read pc; read after; } <pcs
+ pugmark machine diff --disk disk.img plain.snap two.snap; pugmark machine run -q --load half.snap --disk disk.img -n 1 --save next.snap; pugmark machine diff --disk disk.img half.snap next.snap >said; status=$?; sed "s/0x$pc and 0x$after$/PC and AFTER/" said; exit $status
> pc[0] (next instruction, virtual): PC and AFTER
? 1
$ pugmark machine diff --print --disk disk.img half.snap half.snap | head -4 | sed "s/^\(pc  *\)0*$(head -n 1 pcs)$/\1PC/; s/^\(tgt  *\)[0-9a-f]\{16\}$/\1TARGET/"
> half.snap:
> pc            PC
> in_delay      0000000000000000
> tgt           TARGET
# other cache lines and a secondary cache: another bus, the same results
$ pugmark machine run --cpu r4400,line=16 --elf $TOP/build/guest/nano.elf --disk disk.img | tail -2
> memory 44705aeb
> ticks 00000001 disk 00000024
$ pugmark machine run --elf $TOP/build/guest/nano.elf --ram 1M 2>&1 | sed "s|$TOP/||"
> nano
> disk   cb1ff1c3
> code   073555d0
> float  ecd09def
> branch 1d30e181
> memory 44705aeb
> ticks 00000001 disk 00000000
$ pugmark machine run --cpu r4400,l2=256k --elf $TOP/build/guest/nano.elf --disk disk.img | sort
> branch 1d30e181
> code   073555d0
> disk   2362d648
> float  ecd09def
> memory 44705aeb
> nano
> ticks 00000001 disk 00000024
# an image of the same size is not the same image; one that is sparse is
$ cp disk.img other.img; printf x | dd of=other.img bs=1 seek=60000 conv=notrunc 2>/dev/null; pugmark machine run -q --load half.snap --disk other.img
! pugmark: half.snap:0xd016: expected the --disk that the snapshot was made with, found another image of the same size (checksum c5a1a89d3f79d0ae, expected 095a51d0ba35d958)
? 1
$ head -c 32768 disk.img >small.img; pugmark machine run -q --load half.snap --disk small.img
! pugmark: half.snap:0xd016: expected the --disk that the snapshot was made with, of 128 sectors, found one of another size
? 1
$ pugmark machine run -q --load half.snap
! pugmark: half.snap:0xd016: expected the --disk that the snapshot was made with, of 128 sectors, found none
? 1
$ for i in 1 2; do truncate -s 4M image$i; dd if=disk.img of=image$i bs=64k seek=20 conv=notrunc 2>/dev/null; done; cp --sparse=never image1 image2; pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk image1 -n 654321 --save image.snap; pugmark machine run -q --load image.snap --disk image2 -n 1
# a machine that is off stays off
$ pugmark machine run -q --load plain.snap --disk disk.img
! pugmark: plain.snap: the machine is off: it was saved after it had powered off
? 1
# exceptions without end: there is no ROM, and the exception vector lies in it. What was seen until then is kept
$ printf '.globl __start\n.set noreorder\n__start: li $8, 0x30400000\nmtc0 $8, $12\nnop\nnop\n.word 0x4c000000\n' >rom.S; mipsel-linux-gnu-gcc -mips3 -mabi=32 -mno-abicalls -fno-pic -nostdlib -static -Wl,-Ttext=0x80100000 -Wl,--build-id=none -o rom.elf rom.S; timeout 20 pugmark machine run -q --elf rom.elf --exec-trace rom.din; awk '{ print $1, $2 }' rom.din
> 2 ffffffff80100000
> 2 ffffffff80100004
> 2 ffffffff80100008
> 2 ffffffff8010000c
! pugmark: rom.elf: the processor takes exceptions without end: the instruction at the exception vector 0xbfc00380 raises exception 6 itself, and EPC is 0x80100010
# damaged and foreign snapshots
$ head -c 100000 half.snap >cut.snap; pugmark machine run -q --load cut.snap
! pugmark: cut.snap:0x18698: the checksum is wrong: the snapshot is damaged or cut off
? 1
$ pugmark machine run --elf disk.img
! pugmark: disk.img:0x0: expected an ELF file, found something else
? 1
$ pugmark machine run --elf $TOP/build/guest/nano-be.elf 2>&1 | sed "s|$TOP/||"
> pugmark: build/guest/nano-be.elf:0x5: expected a little-endian program for this machine, found a big-endian one
$ head -c 2000000 /dev/zero >big; pugmark machine run --ram 2M --kernel $TOP/build/guest/nano.elf --initrd big
! pugmark: big: 2000000 bytes of initrd do not fit into 2 MiB of RAM behind the kernel
? 1
$ head -c 3000 $TOP/build/guest/nano.elf >cut.elf; pugmark machine run --elf cut.elf 2>said; status=$?; size=$(readelf -lW $TOP/build/guest/nano.elf | awk '$1 == "LOAD" { print $5; exit }'); sed "s/expected $((size)) bytes/expected SIZE bytes/" said >&2; exit $status
! pugmark: cut.elf:0x0: expected SIZE bytes of segment 0, found 3000
? 1
$ pugmark machine run --elf $BUILD/pugmark 2>&1 | sed "s|$BUILD/||"
> pugmark: pugmark:0x12: expected a MIPS program (machine 8), found machine 62
$ head -c 1000 disk.img >odd.img; pugmark machine run --elf $TOP/build/guest/nano.elf --disk odd.img
! pugmark: odd.img:0x3e8: expected a disk image of whole 512-byte sectors, found 1000 bytes
? 1
$ pugmark machine run --cpu r3000 --elf x
! pugmark: 'r3000' is not a processor (see `pugmark machine run --help`)
? 2
$ pugmark machine run -q --elf missing.elf
! pugmark: missing.elf: cannot open: No such file or directory
? 1
# Words of instructions, in either byte order: decoded, with targets and returns (eret is none: it ends no call). An independent stack of 16 return addresses, those behind delay slots, is as often wrong.
$ cat > ras.awk <<'end'
+ function low(s,  i, v) { s = substr(s, 3); if (length(s) > 8) s = substr(s, length(s) - 7); for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v }
+ $2 != "branch" { next }
+ { split($5, t, "=") }
+ $6 ~ /call/ { top = (top + 1) % 16; stack[top] = (low($3) + 8) % 4294967296; if (n < 16) n++; next }
+ $6 ~ /ret/ { all++; if (!n || stack[top] != low(t[2])) wrong++; if (n) { n--; top = (top + 15) % 16 } }
+ END { print all, wrong }
+ end
$ seq 1 20000 | head -c 65536 >disk.img; for e in little:nano big:nano-be; do pugmark machine run -q --cpu r4400,endian=${e%:*} --elf $TOP/build/guest/${e#*:}.elf --disk disk.img -o e.pug >out; pugmark verify e.pug | head -n 1; pugmark mix --json - e.pug | grep -c '"unknown": 0'; pugmark dump e.pug | awk -f ras.awk >mine; pugmark sim -q -s bpred:ras=16 --csv - e.pug | awk -F, '/ras-16.branches/ { n = $2 } /ras-16.mispredictions,/ { print n, $2 }' | cmp - mine && echo equal; awk '$2 * 50 < $1 { print "few" }' mine; done
> 1197721 instructions
> 1
> equal
> few
> 1207086 instructions
> 1
> equal
> few
# A program comes through a pipe, too. A snapshot is read twice.
$ run() { pugmark machine run -q --limit 100000 "$@"; }; cat $TOP/build/guest/nano.elf | run --elf - --save s1; run --elf $TOP/build/guest/nano.elf --save s2; mkfifo f; cat $TOP/build/guest/nano.elf > f & run --elf f --save s3; cmp s1 s2; cmp s1 s3; run --load - --save s5 < s2; run --elf /dev/zero; run --elf .
! pugmark: -: a snapshot is read twice: expected a file, found a pipe
! pugmark: /dev/zero: expected a file of at most 512 MiB, or a pipe
! pugmark: .: expected a file of at most 512 MiB, or a pipe
? 1
# To the i486 instructions of another processor are not without bytes.
$ pugmark sim -q -s i486 --csv - e.pug | grep 'not_x86\|without' | sed 's/,.*//'
> i486.not_x86
# No file type of drmemtrace names MIPS.
$ pugmark convert -q e.pug e.drmemtrace; ls e.drmemtrace 2>&1 | wc -l
! pugmark: e.drmemtrace: drmemtrace files have no form for MIPS code
> 1
$ for c in r4400, r4400,,line=16 r4400,l2line=64; do pugmark machine run --cpu $c --elf x; done
! pugmark: 'r4400,' is not a processor (see `pugmark machine run --help`)
! pugmark: 'r4400,,line=16' is not a processor (see `pugmark machine run --help`)
! pugmark: 'r4400,l2line=64' is not a processor (see `pugmark machine run --help`)
? 2
# limits that go beyond all numbers are none; the rate is this run's, the counts are since power-on
$ for l in '-n 18446744073709551615' '--cycles 18446744073709551615' '-n 0' '--cycles 0'; do pugmark machine run -q --load half.snap --disk disk.img $l --save far.snap; cmp plain.snap far.snap; done
$ pugmark machine run -q --load half.snap --disk disk.img -n 100 --json - | awk '{ sub(",", "", $2) } $1 == "\"instructions\":" { n = $2 } $1 == "\"cpu_seconds\":" { s = $2 } $1 == "\"mips\":" { print n, ($2 * s * 1e6 > 99 && $2 * s * 1e6 < 101) }'
> 654421 1
# no output is an input or another output, whatever it is called
$ cp $TOP/build/guest/nano.elf my.elf; ln my.elf hard.elf; cp disk.img d.img; cp half.snap h.snap; run() { pugmark machine run -q "$@"; echo $?; }
+ run --elf my.elf --disk d.img --refs d.img; run --elf my.elf --save ./my.elf; run --elf my.elf --cat hard.elf; run --load h.snap --disk d.img --save h.snap; run --elf my.elf -o x.din --refs x.din; run --elf my.elf -o x.din --json ./x.din; run --elf my.elf -o - -t din --cat -; cmp my.elf $TOP/build/guest/nano.elf; cmp d.img disk.img; cmp h.snap half.snap; ls x.din
> 2
> 2
> 2
> 2
> 2
> 2
> 2
! pugmark: 'd.img' is also the input: --disk and --refs (see `pugmark machine run --help`)
! pugmark: './my.elf' is also the input: --elf and --save (see `pugmark machine run --help`)
! pugmark: 'hard.elf' is also the input: --elf and --cat (see `pugmark machine run --help`)
! pugmark: 'h.snap' is also the input: --load and --save (see `pugmark machine run --help`)
! pugmark: 'x.din' is given twice: --exec-trace and --refs (see `pugmark machine run --help`)
! pugmark: './x.din' is given twice: --exec-trace and --json (see `pugmark machine run --help`)
! pugmark: standard output is given twice: --exec-trace and --cat (see `pugmark machine run --help`)
! ls: cannot access 'x.din': No such file or directory
? 2
$ pugmark machine run -q --elf my.elf -n 100 -o /dev/null -t din --refs /dev/null
# the console goes to standard error wherever something else goes to standard output
$ for o in '-o - -t din' '--refs -' '--cat -' '--save -' '--kernel-events -' '--bus - --bus-format din' '--json -'; do pugmark machine run --elf $TOP/build/guest/nano.elf --disk disk.img $o 2>said | grep -ac '^float'; grep -c '^float' said; done | paste -d ' ' - - | uniq -c
>       7 0 1
# each file that was written is listed; two traces, and two simulators of one kind, are told apart
$ pugmark machine run -q --elf $TOP/build/guest/nano.elf --disk disk.img -o a.pug --refs a.ref --bus a.byu --cat a.cat --kernel-events a.kev --save a.snap -s cache:l1i=1k,1way,32 -s cache:l1i=2k,1way,32 --json a.json; python3 -c '
+ import json, os
+ def pairs(p):
+ 	assert len(dict(p)) == len(p), p
+ 	return dict(p)
+ d = json.load(open("a.json"), object_pairs_hook=pairs)
+ print(list(d), [d[k]["file"] for k in d if k.startswith("written")], d["cache"]["l1i"]["size"], d["cache-2"]["l1i"]["size"])
+ for f in d["files"]: print(f["option"], f["file"], f["bytes"] == os.stat(f["file"]).st_size)'
> ['schema', 'machine', 'cache', 'cache-2', 'written', 'written-2', 'files'] ['a.pug', 'a.ref'] 1024 2048
> --exec-trace a.pug True
> --refs a.ref True
> --bus a.byu True
> --cat a.cat True
> --kernel-events a.kev True
> --save a.snap True
# what says how something is done that is not done is an error, not nothing
$ for o in '--bus-format din' '-t din' --no-idle '--warmup 5' --read-only '--append x' '--initrd x' '--bus b.x'; do pugmark machine run -q --elf my.elf $o; done
! pugmark: --bus-format needs --bus (see `pugmark machine run --help`)
! pugmark: --to needs --exec-trace (see `pugmark machine run --help`)
! pugmark: --no-idle needs --exec-trace, --refs or --sim (see `pugmark machine run --help`)
! pugmark: --warmup needs --exec-trace, --refs or --sim (see `pugmark machine run --help`)
! pugmark: --read-only needs --disk (see `pugmark machine run --help`)
! pugmark: --append needs --kernel (see `pugmark machine run --help`)
! pugmark: --initrd needs --kernel (see `pugmark machine run --help`)
! pugmark: no format has names like 'b.x'; --bus-format FORMAT says which to write (see `pugmark machine run --help`)
? 2
$ for o in '--ram 64M' '--cpu r4400' '--append x' '--initrd x'; do pugmark machine run -q --load half.snap --disk disk.img $o; done
! pugmark: --ram is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
! pugmark: --cpu is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
! pugmark: --append is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
! pugmark: --initrd is as the snapshot has it: --load excludes it (see `pugmark machine run --help`)
? 2
$ pugmark machine run -q --kernel my.elf --append "$(head -c 70000 /dev/zero | tr '\0' a)"
! pugmark: --append: expected at most 8192 characters, found 70000
? 2
# what cannot be written is said of the file that was to be written
$ for f in cvp1 champsim drmemtrace; do pugmark machine run -q --elf my.elf --disk disk.img --bus b.$f; done 2>&1 | sed 's/^\(pugmark: [^:]*:\).*/\1/'; pugmark machine run -q --elf my.elf --disk disk.img --kernel-events x.ref 2>&1 | sed 's/^\(pugmark: [^:]*:\).*/\1/'
> pugmark: b.cvp1:
> pugmark: b.champsim:
> pugmark: b.drmemtrace:
> pugmark: x.ref:
# a bus trace that never began is none, and so is what was to begin with it
$ pugmark machine run -q --elf my.elf --disk disk.img --cat s.cat -o s.pug -n 5000; ls s.*
! pugmark: the guest never began the bus trace: it needs a driver that stores to the monitor's window, or --sideband
! ls: cannot access 's.*': No such file or directory
? 2
