# samples of a core
$ seq 20000 >in; pugmark run -q --exec -o all.pug -- gzip -kc in >in.gz; pugmark slice -q --count 2m all.pug gz.pug; pugmark slice -q --count 1990000 gz.pug g.pug; pugmark sim -q -s core --csv whole.csv g.pug >/dev/null; awk -F, '$1 == "core.cycles" { c = $2 } $1 == "core.instructions" { i = $2 } END { printf "%.9g\n", c / i }' whole.csv >cpi
# all instructions in time, window behind window: exactly the whole, but for the last window, for which there is no room
$ pugmark sample -q -j 1 --window 10k --warmup 0 --training 0 --most 100% --error 0 --json s.json gz.pug >/dev/null; awk -F'[:,]' -v w="$(cat cpi)" '$1 ~ /"cpi"/ { d = $2 / w - 1; print (d * d < 1e-12) } $1 ~ /"windows"/ { print $2 }' s.json
>  199
> 1
# a real sample: the whole is inside its interval at 99.99 %
$ pugmark sample -q -j 2 --most 20% --error 0 --confidence 99.99% --training 20k --every 10k --store st --json s.json gz.pug >/dev/null; awk -F'[:,]' -v w="$(cat cpi)" '$1 ~ /"cpi"/ { print ($2 > 0) } $1 ~ /"low"/ { print ($2 < w) } $1 ~ /"high"/ { print ($2 > w) } $1 ~ /in_time_share/ { print ($2 <= 0.2) }' s.json
> 1
> 1
> 1
> 1
# A store has the intervals that it was made with.
$ pugmark sample -q --every 20k --store st gz.pug
! pugmark: st: its intervals are 10000 instructions, not 20000
? 1
# predictors that are told of all branches are where training from the beginning has them: the same mispredictions; without, others
$ for o in '--training 2m --branches 0' '--training 0 --branches 2m' '--training 0 --branches 0'; do pugmark sample -q -j 1 --most 5% --error 0 --every 7k --core bpred=tagescl $o --json p.json gz.pug >/dev/null; awk -F'[:,]' '$1 ~ /"mispredicted"/ { print $2 + 0 }' p.json >>wrong; done; sort wrong | uniq -c | awk '{ print $1 }' | sort; sed -n '1,2p' wrong | uniq | wc -l
> 1
> 2
> 1
# the store serves again, and for other cores
$ cp st st.1; pugmark sample -q -j 2 --most 20% --error 0 --confidence 99.99% --training 20k --store st --json t.json gz.pug >/dev/null; cmp st st.1; cmp s.json t.json; pugmark sample -q --most 20% --error 0 --store st --core preset=small --core 'l2=64k,4way' gz.pug | tail -2 | awk '{ print $1 }'
> l2=64k,4way
> ...
# the error that is asked for: reached with few windows, or it is said what it would take
$ pugmark sample --most 30% --error 50% --training 5k --window 300 --warmup 200 --every 5k --json s.json gz.pug >/dev/null; awk -F'[:,]' '$1 ~ /"reached"/ { print $2 } $1 ~ /"rounds"/ { print $2 } $1 ~ /"periods"/ { p = $2 } $1 ~ /"windows"/ { print ($2 < p) }' s.json; pugmark sample --error 0.1% --most 5% gz.pug 2>&1 >/dev/null | sed 's/[0-9][0-9]* windows/N windows/; s/room for [0-9]*/room for N/'
>  1
> 1
>  true
> pugmark: note: default core: an error of 0.1 % takes about N windows; there is room for N with 5 % of the instructions in time (--most)
# nothing is in the file that was not asked for
$ pugmark slice -q --from 5 --count 100000 gz.pug other.pug; pugmark sample --most 50% --store st other.pug; echo "not a store" >bad; pugmark sample --store bad gz.pug; printf x | dd of=st bs=1 seek=90 conv=notrunc 2>/dev/null; pugmark sample --store st gz.pug; pugmark sample --store no/st gz.pug
! pugmark: st: it was made of another trace than other.pug
! pugmark: bad:0x0: not a file of warm lines
! pugmark: st:0x40: the checksum of the intervals is wrong
! pugmark: no/st: cannot create: No such file or directory
? 1
$ pugmark sample; pugmark sample none.pug; pugmark sample --most 0 gz.pug; pugmark sample --error x gz.pug; pugmark sample --core rob=1 gz.pug; pugmark sample --period 5000 gz.pug; pugmark slice -q --count 1000 gz.pug few.pug; pugmark sample few.pug; cp $TESTS/data/formats/din.din .; pugmark sample din.din; pugmark sample - <gz.pug; pugmark run -q --branch -o br.pug -- true; pugmark sample br.pug
! pugmark: missing FILE (see `pugmark sample --help`)
! pugmark: none.pug: cannot open: No such file or directory
! pugmark: --most expects a percentage from 0.0001 to 100, not '0' (see `pugmark sample --help`)
! pugmark: --error expects a percentage from 0 to 100, not 'x' (see `pugmark sample --help`)
! pugmark: core: rob: micro-ops in the reorder buffer: 1 is outside 8..4096
! pugmark: a period of 5000 instructions has more than 1 % of them in time: the least is 300000
! pugmark: few.pug: too short for samples: two periods of 300000 instructions are the least, and it has 1000
! pugmark: din.din: only .pug files can be read in parts; `pugmark convert` makes a .pug of it
! pugmark: -: it can be read only once; `pugmark convert` makes a .pug of it
! pugmark: br.pug: pug traces hold no data addresses; samples of a core need them (`pugmark run --exec` traces them)
? 1
# -f says what it is, as of other commands
$ mkdir d; for f in pug din nix; do pugmark sample -f $f din.din; done; pugmark sample d; head -c 100 /dev/zero >zeros; pugmark sample -f pug zeros
! pugmark: din.din:0x0: not a .pug trace
! pugmark: din.din: only .pug files can be read in parts; `pugmark convert -f din` makes one of it
! pugmark: 'nix' is not a format (see `pugmark formats`)
! pugmark: d: is a directory
! pugmark: zeros:0x0: not a .pug trace
? 1
# 40 samples, and their intervals of 95 %: at least 33 hold the whole (fewer do once in 1,400 times, if each does with 95 %); they are less than two thirds as wide as without the regression, whose estimate is not the same
$ for s in $(seq 40); do pugmark sample -q -j 1 --most 20% --error 0 --training 100k --every 10k --store st4 --seed $s --json t.json gz.pug >/dev/null; awk -F'[:,]' -v w="$(cat cpi)" '{ gsub(/[" ]/, "", $1) } $1 == "cpi" { c = $2 } $1 == "error" { e = $2 } $1 == "plain_error" { p = $2 } $1 == "plain_cpi" { q = $2 } $1 == "explained" { r = $2 } $1 == "counts" { n = $2 } END { d = c / w - 1; print (d < e && -d < e), e, p, (r > 0.5 && n > 5 && c != q) }' t.json; done >seeds; awk '{ held += $1; e += $2; p += $3; good += $4 } END { print (held >= 33), (e < p / 1.5), good }' seeds
> 1 1 40
# thousands' counts need windows and intervals that are multiples of 1,000; else the estimate is plain, and it is said why
$ for o in '--window 1500' '--every 1500' '--window 5k --warmup 0 --most 100%' '--window 2k --every 3k'; do pugmark sample -q --most 50% --training 5k --error 0 $o --json t.json gz.pug >/dev/null; awk -F'"' '/estimator|plain_because/ { print $4 }' t.json; done
> windows are not a multiple of 1000 instructions
> plain
> the store's intervals are not a multiple of 1000 instructions
> plain
> half of all instructions are measured
> plain
> regression
# stores of earlier versions are refused
$ cp st4 old; printf '\2' | dd of=old bs=1 seek=8 conv=notrunc 2>/dev/null; pugmark sample --store old gz.pug
! pugmark: old:0x8: expected version 3, found 2: it has to be made again
? 1
# what is not a file is no store
$ timeout 20 pugmark sample --store /dev/full gz.pug; timeout 20 pugmark sample --store . gz.pug
! pugmark: /dev/full: a store is a file, and this is not one
! pugmark: .: a store is a file, and this is not one
? 1
# a store of a trace that is too short is not kept; one that was there is
$ pugmark slice -q --count 1000 gz.pug short.pug; pugmark sample --store short.st short.pug; ls short.st 2>/dev/null; head -c 40 st >few.st; pugmark sample --store few.st short.pug 2>/dev/null; ls few.st
> few.st
! pugmark: short.pug: too short for samples: two periods of 300000 instructions are the least, and it has 1000
