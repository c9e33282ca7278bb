# tests/analyse/sweep-files.t - the files of a sweep's folder: a result that nobody can read is missing for all commands
$ cp $TESTS/data/real.pug .; printf '%s\n' 'trace t = real.pug' 'region first = 0..2k' 'region none = 9g..10g' 'sim l1 = cache:l1d=4k|8k|16k' >s.plan; pugmark sweep run -q s.plan
? 3
$ cp -r s.sweep whole; pugmark sweep status s.sweep | head -1
> s.sweep: 6 jobs: 3 done (50.0 %), 3 failed, 0 missing
# cut, no JSON, another's, empty; a failure; then status and collect say the same, and run computes that alone
$ set -- $(pugmark sweep collect -q s.sweep | grep ,done, | cut -d, -f4); f() { echo s.sweep/results/$(echo $1 | cut -c1-2)/$1.json; }; head -c 300 $(f $1) >x; rm $(f $1); cp x $(f $1); echo '{}' >x; rm $(f $2); cp x $(f $2); rm $(f $3); cp $(f $1) $(f $3)
$ set -- $(pugmark sweep collect -q s.sweep | grep ,failed, | cut -d, -f4); f() { echo s.sweep/results/$(echo $1 | cut -c1-2)/$1.json; }; echo '{' >$(f $1); rm $(f $2); cp $(f $3) $(f $2)
$ pugmark sweep status s.sweep | head -1; pugmark sweep collect s.sweep | sed 1d | cut -d, -f5 | sort | uniq -c | tr -s ' '
> s.sweep: 6 jobs: 0 done (0.0 %), 1 failed, 5 missing
>  1 failed
>  5 missing
! pugmark: note: of 6 jobs 5 have no result, 1 failed
$ pugmark sweep run s.sweep | sed 's/, in .*//'
> s.sweep: 3 results computed, 2 failed, 1 result there before, 1 of them failed
$ pugmark sweep status s.sweep | head -1; pugmark sweep run s.sweep | sed 's/, in .*//'; pugmark sweep collect -q s.sweep >a; pugmark sweep collect -q whole >b; cmp a b
> s.sweep: 6 jobs: 3 done (50.0 %), 3 failed, 0 missing
> s.sweep: 0 results computed, 0 failed, 6 results there before, 3 of them failed
# failures of earlier runs count for the exit status
$ pugmark sweep run -q s.sweep
? 3
# a result in the place of a failure that nobody could read: no name in failed/ is left, which --retry would go by
$ set -- $(pugmark sweep collect -q s.sweep | grep ,done, | cut -d, -f4); echo '{' | tee s.sweep/failed/$1.json >s.sweep/results/$(echo $1 | cut -c1-2)/$1.json; pugmark sweep run -q s.sweep; ls s.sweep/failed | grep $1
? 1
# a trace that is not there: no folder is left, and one that is there keeps its plan
$ printf '%s\n' 'trace t = nosuch.pug' 'sim l1 = cache:l1d=4k' >n.plan; pugmark sweep plan n.plan 2>&1 | sed "s,$PWD/,,"; ls -d n.*
> pugmark: nosuch.pug: cannot open: No such file or directory
> n.plan
$ cp s.sweep/plan was; pugmark sweep plan n.plan s.sweep 2>/dev/null; cmp was s.sweep/plan
# a counter that is 0 in every result has its column, too
$ printf '%s\n' 'trace t = real.pug' 'sim l2 = cache:l1d=4k;l2=1m|2m' >z.plan; pugmark sweep run -q z.plan; pugmark sweep collect z.sweep | sed 1q | tr , '\n' | grep 'l2\.[ew]'
> l2.ways
> l2.writeback.accesses
> l2.writeback.misses
> l2.writeback.miss_ratio
> l2.evictions
> l2.writebacks
# simulators that do not go together are simulated one after the other
$ pugmark run -q --exec -o bare.pug -- "$PROGRAMS/bare" >/dev/null; printf '%s\n' 'trace t = bare.pug' 'sim t = tree' 'sim m = mix' 'sim i = insns' >g.plan; pugmark sweep run -j 1 g.plan | sed 's/, in .*//'
> g.sweep: 3 results computed, 0 failed, 0 results there before
# a parameter that no simulator uses stays, and is named
$ printf '%s\n' 'trace t = real.pug' 'let used = 4k|8k' '# one more' 'let size = 4k|' '  8k' 'sim l1 = cache:l1d=$used' >u.plan; pugmark sweep plan u.plan; pugmark sweep run u.plan | sed 's/, in .*//'; pugmark sweep run -q u.plan; pugmark sweep status u.sweep | head -1
> u.sweep: 2 jobs = 1 trace x 1 region x 2 configurations
> u.sweep: 2 results computed, 0 failed, 0 results there before
> u.sweep: 2 jobs: 2 done (100.0 %), 0 failed, 0 missing
! pugmark: note: u.plan:4: no simulator uses $size
! pugmark: note: u.plan:4: no simulator uses $size
