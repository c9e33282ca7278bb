# tests/trace/losses.t - what a format cannot hold is said once and counted: no event vanishes unsaid
$ cp $TESTS/data/formats/steps.drmemtrace s.dr; pugmark convert s.dr x.trace
! pugmark: note: Penn traces hold no instruction bytes, access sizes, timestamps and rep iterations
! pugmark: note: events discarded: 1 rep-end, 1 time
$ pugmark convert -q --json - s.dr y.trace | sed -n '/"discarded"/,/}/p'
>     "discarded": {
>       "rep-end": 1,
>       "time": 1
>     }
# what came is in what was written or counted
$ $TESTS/trace/losses s.dr penn kt64 laplace64 xdin lackey champsim drmemtrace gem5 ramulator2 dramsim3 lcs
> 11 formats
$ $TESTS/trace/losses $TESTS/data/formats/merge.ref.txt laplace din drmemtrace ramulator lcs
> 5 formats
$ $TESTS/trace/losses $TESTS/data/formats/laplace.bm laplace-basic
> 1 formats
# references that no micro-op makes are left out of a Penn trace
$ pugmark convert -q -f penn $TESTS/data/formats/penn-compact.trace p.pug && $TESTS/trace/losses p.pug penn din
> 2 formats
