# tests/analyse/sweep-page.t - the page of a sweep: charts that can be read, a table without empty columns; errors name the folder
$ pugmark sweep collect nosuch
! pugmark: nosuch: cannot open: No such file or directory
? 1
$ cp $TESTS/data/real.pug .; printf '%s\n' 'trace t = real.pug' 'region first = 0..5k' 'sim l2 = cache:l1d=4k|8k,2|4way;l2=16m..64m*2,8way' 'sim bp = bpred:tournament=2..4' >s.plan; pugmark sweep run -q s.plan; pugmark sweep collect -q --html c.html s.sweep; pugmark sweep collect -q --sim bp --html b.html s.sweep
# the second level's size changes nothing in the first: a bar for each that does, the cheapest one, and how many more
$ grep -o '>l1d=[^<]*</text>' c.html | sort
> >l1d=4k l1d.way=2way l2=16m (+2)</text>
> >l1d=4k l1d.way=4way l2=16m (+2)</text>
> >l1d=8k l1d.way=2way l2=16m (+2)</text>
> >l1d=8k l1d.way=4way l2=16m (+2)</text>
# sizes on the axis are short; charts keep their letters' size where the window is narrow
$ grep -o '>[0-9.]*M</text>' c.html; grep -c '<figure class="fixed">' c.html; grep -o 'figure.fixed { overflow-x: auto; }' c.html
> >16M</text>
> >32M</text>
> >64M</text>
> 3
> figure.fixed { overflow-x: auto; }
$ for f in c b; do sed 's/<th/\n<th/g' $f.html | grep -o '>Cost<\|>On the front<' | wc -l; done
> 2
> 0
# The plan names its folder, as for run.
$ for f in s.plan s.sweep; do pugmark sweep status --json - $f | grep '"done"' > $f.done; pugmark sweep collect $f > $f.csv; done; cmp s.plan.done s.sweep.done && cmp s.plan.csv s.sweep.csv
$ pugmark sweep status t0.plan; echo x > t0.plan; pugmark sweep status t0.plan
! pugmark: t0.plan: cannot open: No such file or directory
! pugmark: t0.sweep: cannot open: No such file or directory
? 1
# a region behind the trace's end is a failure, and not a result of zeros
$ printf '%s\n' 'trace t = real.pug' 'region first = 0..5k' 'region far = 100m..200m' 'sim c = cache:l1d=4k,2way' >far.plan; pugmark sweep run -q far.plan; echo $?; pugmark sweep collect far.plan | cut -d , -f 2,5; grep -ho 'the trace ends at [0-9]*, before region far' far.sweep/results/*/*.json
> 3
> region,status
> first,done
> far,failed
> the trace ends at 200000, before region far
! pugmark: note: of 2 jobs 0 have no result, 1 failed
$ printf '%s\n' 'trace t = real.pug' 'format = champsin' 'sim c = bpred:gshare=4' >format.plan; pugmark sweep plan format.plan; ls -d format.sweep 2>/dev/null
! pugmark: format.plan:2: 'champsin' is not a format; did you mean 'champsim'? (see `pugmark formats`)
? 2
# the page's options are for a page; the axes are two parameters, and whichever is not said is not the other one
$ for o in '--sim l2' '--value l2.mpki' '-x l2' '-y l2' '--cost l2' '--baseline l2=16m' --more-is-better; do pugmark sweep collect $o s.sweep; done
! pugmark: --sim needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: --value needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: -x needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: -y needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: --cost needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: --baseline needs --html: the table has all (see `pugmark sweep collect --help`)
! pugmark: --more-is-better needs --html: the table has all (see `pugmark sweep collect --help`)
? 2
$ pugmark sweep collect -x l2 -y l2 --html x.html s.sweep; ls x.html; for o in '-x l2' '-y l1d' '-y l2 -x l1d.way'; do pugmark sweep collect $o --html x.html s.sweep; grep -c 'Two parameters' x.html; done; pugmark sweep collect -y l3 --html y.html s.sweep
> 1
> 1
> 1
! pugmark: -x and -y are two parameters, not 'l2' twice (see `pugmark sweep collect --help`)
! ls: cannot access 'x.html': No such file or directory
! pugmark: l2 has no parameter 'l3'
? 2
# no result yet: it is the folder that has none, whatever was written before the page
$ printf '%s\n' 'trace t = real.pug' 'sim c = bpred:gshare=4' >none.plan; pugmark sweep plan -q none.plan; pugmark sweep collect -q --csv n.csv --html n.html none.plan
! pugmark: none.sweep: no result of c has a number: nothing to draw
? 1
