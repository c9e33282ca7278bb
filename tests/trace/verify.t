# tests/trace/verify.t - the samples of all formats are possible traces
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do pugmark verify -f $fmt $D/$f >v 2>&1 || { echo "$f"; cat v; }; done
# what programs really do is possible, too: every address is mapped, every call returns
$ for p in signals faults; do pugmark run -q -o x.pug -t pug -- "$PROGRAMS/$p" >out || echo "$p failed"; pugmark verify x.pug >v || cat v; grep -c -e '  map  .*good' -e '  calls .*good' v; done
> 2
> 2
$ pugmark run -q -o x.pug -t pug -- sh -c 'ls / | sort >out; (exit 3); echo $?' && pugmark verify x.pug | grep -vE ': [0-9]+ looked at|not applicable|instructions'
> 3
> x.pug: good
# ... and stays possible in every other format that takes it. A jump through a table may lead to the next instruction, and is
# taken (idt-branch64); whether an instruction is a branch may not be known (gem5).
$ pugmark formats | awk '$2 == "rw" { print $1 }' >all; while read f; do pugmark convert -q -t $f $TESTS/data/real.pug o 2>/dev/null || continue; echo $f >>taken; pugmark verify -f $f o >v 2>&1 || { echo "$f"; tail -1 v; }; rm -rf o o.*; done <all; [ $(wc -l <taken) -gt 15 ] && echo many
> many
# ... and every command that looks at traces takes them; a part is a trace of the same format, but for directories, and
# execution traces without their program, whose instructions have no bytes
$ D=$TESTS/data/formats; grep -v '^#' $D/LIST | while read f fmt rest; do
+ for c in info "info --count --json -" "head -n 3" dump; do pugmark $c -f $fmt $D/$f >o 2>&1 || { echo "$c $f"; cat o; }; done
+ to=$fmt; case $fmt in laplace-process | idt-exec*) to=pug ;; esac; pugmark formats $to | grep -q 'reads and writes' || to=pug
+ pugmark slice -q --from 1 --count 2 -f $fmt -t $to $D/$f x.out >o 2>&1 && pugmark head -f $to x.out >o 2>&1 || { echo "slice $f"; cat o; }
+ rm -rf x.out*; done
# ... which is said, with what would help
$ pugmark slice -q --from 1 --count 1 -f idt-exec -t idt-exec $TESTS/data/formats/ex-idt-exec.trc part.trc; ls part.*
! pugmark: part.trc: the instruction at 0x8048102 has no x86 bytes; execution traces need them (-f idt-exec:binary=PROGRAM says where they are)
! ls: cannot access 'part.*': No such file or directory
? 2
# from M, N instructions: those, with all that they did, whatever the format
$ for f in sample.kt64 steps.drmemtrace spike.spike lackey-34.txt penn-sjeng-60.trace ex-cvp1.bin cloudsuite.bin; do D=$TESTS/data/formats; fmt=$(sed -n "s/^$f //p" $D/LIST)
+ pugmark dump -f $fmt $D/$f | grep -v -E ' (opaque|time|switch|frame|rep-[a-z]*|uop) ' | sed 's/ id=.*//' | awk '/ insn /{n++} n == 2' >want
+ pugmark slice -q --from 1 --count 1 -f $fmt -t $fmt $D/$f part && pugmark dump -f $fmt part | grep -v -E ' (opaque|time|switch|frame|rep-[a-z]*|uop) ' | sed 's/ id=.*//' >got; cmp want got || diff want got
+ done
