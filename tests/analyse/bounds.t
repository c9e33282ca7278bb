# needs: gzip
# What each resource alone allows, and any number of cores from that: lists and ranges are those of sweep's plans.
$ pugmark sim -s 'bounds:preset=mid;rob=32..128*2;width=2|4' "$TESTS/data/real.pug"
> bounds
>   instructions  200,000 instructions
>   window        64 instructions
>   windows       3,125 windows
>
> bounds resources
>    cycles     ipc  p10  p50  p90  p99  sure  limit  resource
>   247,015  0.8097    0   12  288  576   yes      -      none
>   380,243  0.5260   18   28  288  640   yes     32       rob
>   319,843  0.6253   10   20  288  576   yes     64       rob
>   300,203  0.6662    2   18  288  576   yes    128       rob
>   247,422  0.8083    0   12  288  576   yes     96        iq
>   290,507  0.6885    0   16  288  576   yes     72        lq
>   250,471  0.7985    0   14  288  576   yes     56        sq
>   287,726  0.6951   32   32  256  640   yes      2     width
>   256,875  0.7786   16   17  288  576   yes      4     width
>   250,293  0.7991    0   13  288  576   yes      6     fetch
>   251,588  0.7950    0   16  288  576    no      4       alu
>   247,015  0.8097    0   12  288  576    no      4       vec
>   247,230  0.8090    0   12  288  576    no      3     loads
>   247,018  0.8097    0   12  288  576    no      2    stores
>   247,015  0.8097    0   12  288  576    no     24      mshr
>
> bounds configurations  (by rob)
>   rob  width  estimate    bound     ipc   share  mostly
>    32      2   408,290  380,243  0.4898  58.4 %     rob
>    32      4   385,819  380,243  0.5184  79.2 %     rob
>    64      2   365,785  319,843  0.5468  47.6 %   width
>    64      4   331,119  319,843  0.6040  39.6 %     rob
>   128      2   358,833  300,203  0.5574  49.3 %   width
>   128      4   322,141  300,203  0.6208  29.1 %   width
# CSV and JSON have all configurations, in the order of the lists; top=N the quickest.
$ pugmark sim -s 'bounds:rob=32|64;lq=8..16+4' --csv x.csv --json x.json "$TESTS/data/real.pug" >/dev/null; grep -c '^bounds.configurations.*\.estimate,' x.csv; grep -c '"estimate"' x.json
> 6
> 6
$ pugmark sim -s 'bounds:rob=32..512*2;top=2' --csv x.csv "$TESTS/data/real.pug" >/dev/null; grep '\.rob,' x.csv
> bounds.configurations[0].rob,512,
> bounds.configurations[1].rob,256,
# A sweep's configurations do one pass, and each says what it says alone.
$ printf 'trace r = %s/data/real.pug\nsim b = bounds:preset=small;rob=16|64;alu=1..3\n' "$TESTS" >p.plan; pugmark sweep plan p.plan >/dev/null; pugmark sweep run -q p.sweep >/dev/null 2>&1; pugmark sweep collect --csv all.csv p.sweep >/dev/null; wc -l <all.csv
> 7
$ pugmark sim -s 'bounds:preset=small;rob=16|64;alu=1..3' --csv x.csv "$TESTS/data/real.pug" >/dev/null; grep 'configurations.*\.estimate,' x.csv | cut -d, -f2 | sort >one; for r in 16 64; do for a in 1 2 3; do pugmark sim -s "bounds:preset=small;rob=$r;alu=$a" --csv y.csv "$TESTS/data/real.pug" >/dev/null; grep 'configurations.*\.estimate,' y.csv | cut -d, -f2; done; done | sort | cmp - one && echo the same
> the same
# Live.
$ head -c 6000 "$BUILD/pugmark" >data; pugmark run -q -s 'bounds:rob=32|256' --csv x.csv -- gzip -9c data >/dev/null; grep -c 'configurations.*\.bound,' x.csv
> 2
# What makes no sense.
$ pugmark sim -s 'bounds:rob=32..16' "$TESTS/data/real.pug"
! pugmark: bounds: rob: '32..16' goes down: the smaller end comes first
? 2
$ pugmark sim -s 'bounds:rob=1|32' "$TESTS/data/real.pug"
! pugmark: bounds: rob: micro-ops in the reorder buffer: 1 is outside 8..4096
? 2
$ pugmark sim -s 'bounds:preset=zen3|zen4' "$TESTS/data/real.pug"
! pugmark: bounds: preset: a list is for numbers: fetch, bytes, queue, front, bubble, width, rob, iq, lq, sq, mshr, gap, forward, alu, vec, loads, stores
? 2
$ pugmark sim -s 'bounds:topdown' "$TESTS/data/real.pug"
! pugmark: bounds: topdown: is for `core`: bounds tell no instructions apart
? 2
$ pugmark sim -s 'bounds:window=0' "$TESTS/data/real.pug"
! pugmark: bounds: window: instructions of a window: 0 is outside 1..4096
? 2
$ pugmark sim -s 'bounds:rob=8..1000;iq=8..1000' "$TESTS/data/real.pug"
! pugmark: bounds: more than 100000 configurations
? 2
$ pugmark sim -s 'bounds:front=1..64;gap=0..99' "$TESTS/data/real.pug"
! pugmark: bounds: these configurations limit resources in more than 1024 ways, as many lanes: give several simulators a part each
? 2
$ pugmark sim -s 'bounds:robs=3' "$TESTS/data/real.pug"
! pugmark: bounds: 'robs' is not a setting; did you mean 'rob'?
? 2
# a trace without instructions
$ pugmark slice -q --count 0 "$TESTS/data/real.pug" none.pug; pugmark sim -s 'bounds:rob=64|128' --csv - none.pug | grep -E '(windows|instructions|estimate),0'
> bounds.instructions,0,instructions
> bounds.windows,0,windows
> bounds.configurations[0].estimate,0,cycles
> bounds.configurations[1].estimate,0,cycles
