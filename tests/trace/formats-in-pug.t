# tests/trace/formats-in-pug.t - every sample of every format comes out of a .pug as it went in
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do
+ [ -f $D/$f ] && pugmark formats $fmt | grep -q 'reads and writes' || continue
+ for l in fast dense; do
+ pugmark convert -q -f $fmt -t pug:$l $D/$f x.pug && pugmark dump -f $fmt $D/$f >a && pugmark dump x.pug >b && cmp a b
+ pugmark convert -q -t $fmt x.pug back || echo "$fmt: $f: cannot go back"
+ pugmark convert -q -f $fmt -t $fmt $D/$f direct && [ -f direct ] && { cmp direct back || echo "$fmt: $f"; }
+ rm -rf back* direct* x.pug*; done; done
# nothing is left of a trace with code: its table is empty, but known
$ pugmark slice -q --from 1 $TESTS/data/formats/ex-gem5inst.pb x.pug && pugmark verify x.pug | head -1
> 0 instructions
# An instruction of a gem5 trace has no flags: its type is the format's own, and stays in the message.
$ pugmark slice -q --count 500 $TESTS/data/real.pug first.pug; pugmark convert -q -t gem5 first.pug g5; pugmark dump -f gem5 g5 | awk '$2 == "insn"' >insns; wc -l <insns; grep flags insns; pugmark convert -q -f gem5 g5 back.pug; pugmark convert -q -t gem5 back.pug again; cmp g5 again
> 500
# So it is with what other formats keep in an instruction's flags, and no bytes are shown where they are not known.
$ pugmark convert -q -t drmemtrace first.pug dr; pugmark dump -f drmemtrace dr | grep -c ' insn .*flags'; pugmark convert -q -t idt-exec64 first.pug idt; pugmark dump -f idt-exec64 idt | awk '$2 == "insn"' >insns; wc -l <insns; grep bytes insns; pugmark dump first.pug | grep -c ' insn .*bytes'
> 0
> 500
> 500
