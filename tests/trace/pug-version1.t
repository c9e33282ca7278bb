# tests/trace/pug-version1.t - files of version 1 of the container stay readable: written by the pugmark
# that had it, each the same trace as the sample beside it in its own format
$ V=$TESTS/data/pug1 D=$TESTS/data/formats; while read f fmt; do
+ [ $(od -An -tu1 -j8 -N1 $V/$f.pug) = 1 ] || echo "$f.pug is not of version 1"
+ pugmark dump -f $fmt $D/$f >a && pugmark dump $V/$f.pug >b && cmp a b && wc -l <a; done <<'X'
+ steps.drmemtrace drmemtrace
+ penn-sjeng-60.trace penn
+ ex-byu6.tr byu
+ ex-cvp1.bin cvp1
+ laplace.kev laplace-events
+ ex-idt-exec.trc idt-exec
+ X
> 2020
> 141
> 7
> 8
> 25
> 12
$ V=$TESTS/data/pug1; for l in fast default dense; do pugmark dump $V/blocks-$l.pug >$l; done; cmp fast default && cmp dense default && wc -l <fast
> 531
$ V=$TESTS/data/pug1; pugmark convert $V/blocks-default.pug new.pug && pugmark dump new.pug | cmp - default && od -An -tu1 -j8 -N1 new.pug
>    2
$ V=$TESTS/data/pug1; pugmark slice --from 390 $V/blocks-default.pug - -t pug | pugmark info --count - | sed -n '/instructions/p;/complete/p'
>   instructions  10
>     instructions 10
> complete        yes
$ V=$TESTS/data/pug1; head -c -100 $V/steps.drmemtrace.pug >cut.pug; pugmark verify cut.pug >out; pugmark dump cut.pug | wc -l
> 2020
! pugmark: cut.pug:0x1b1d: the trace is cut here, after 1149 instructions
! pugmark: cut.pug:0x1b1d: the trace is cut here, after 1149 instructions
