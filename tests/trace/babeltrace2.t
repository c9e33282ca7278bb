# tests/trace/babeltrace2.t - CTF traces as babeltrace2 reads them
# needs: babeltrace2
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.ctf; babeltrace2 k.ctf | cut -d' ' -f3- | head -4
> kernel: { cpu_id = 0 }, { tag = "A", arg0 = 256, arg1 = 653543, text = "" }
> kernel: { cpu_id = 0 }, { tag = "S", arg0 = 256, arg1 = 0, text = "" }
> kernel: { cpu_id = 0 }, { tag = "F", arg0 = 256, arg1 = 119, text = "" }
> kernel: { cpu_id = 0 }, { tag = "X", arg0 = 256, arg1 = 7982, text = "gcc" }
# every event arrives: instructions, references, branches
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace s.ctf; babeltrace2 s.ctf | grep -c .; pugmark dump $TESTS/data/formats/steps.drmemtrace | grep -c -E ' (insn|read|write|modify|branch) '
> 1859
> 1859
# ... of every format's sample that has any
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do
+ rm -rf o.ctf; pugmark convert -q -f $fmt -t ctf $D/$f o.ctf && babeltrace2 o.ctf >out 2>err && ! [ -s err ] || { echo "$f"; cat err; }
+ done
# a running program's
$ pugmark run -q -t ctf -o r.ctf -- true; [ $(babeltrace2 r.ctf | wc -l) -gt 50000 ] && echo many
> many
