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
# Words of instructions, in either byte order: decoded, with targets and returns. An independent stack of 16 return addresses, those behind delay slots, is as often wrong.
$ cat > ras.awk <<'end'
+ function low(s,  i, v) { s = substr(s, 3); if (length(s) > 8) s = substr(s, length(s) - 7); for (i = 1; i <= length(s); i++) v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1; return v }
+ $2 != "branch" { next }
+ { split($5, t, "=") }
+ $6 ~ /call/ { top = (top + 1) % 16; stack[top] = (low($3) + 8) % 4294967296; if (n < 16) n++; next }
+ $6 ~ /ret/ { all++; if (!n || stack[top] != low(t[2])) wrong++; if (n) { n--; top = (top + 15) % 16 } }
+ END { print all, wrong }
+ end
$ seq 1 20000 | head -c 65536 >disk.img; for e in little:nano big:nano-be; do pugmark machine run -q --cpu r4400,endian=${e%:*} --elf $TOP/build/guest/${e#*:}.elf --disk disk.img -o e.pug >out; pugmark verify e.pug | head -n 1; pugmark mix --json - e.pug | grep -c '"unknown": 0'; pugmark dump e.pug | awk -f ras.awk >mine; pugmark sim -q -s bpred:ras=16 --csv - e.pug | awk -F, '/ras-16.branches/ { n = $2 } /ras-16.mispredictions,/ { print n, $2 }' | cmp - mine && echo equal; done
> 1197721 instructions
> 1
> equal
> 1207086 instructions
> 1
> equal
# No file type of drmemtrace names MIPS.
$ pugmark convert -q e.pug e.drmemtrace; ls e.drmemtrace 2>&1 | wc -l
! pugmark: e.drmemtrace: drmemtrace files have no form for MIPS code
> 1
