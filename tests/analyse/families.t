# needs: gzip sqlite3
# Caches of one command share their work, and count what each counts alone: real programs.
$ head -c 6000 "$BUILD/pugmark" >data; pugmark run -q --exec -o gzip.pug -- gzip -9c data >/dev/null; "$TESTS/oracle/families" gzip.pug 1
> 24 configurations: the same
$ printf 'int f(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * i ^ x; return s; }\n' >a.c; pugmark run -q --exec --for 600k -o cc1.pug -- "$(gcc -print-prog-name=cc1)" -quiet -O1 a.c -o a.s; "$TESTS/oracle/families" cc1.pug 2
> 24 configurations: the same
$ pugmark run -q --exec --for 600k -o sqlite3.pug -- sqlite3 -init /dev/null :memory: "create table t(k text, v real); with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) insert into t select 'key' || (i * 7919 % 107), i / 7.0 from n; select k, count(*) c from t group by k order by c desc, k limit 1;" >/dev/null; "$TESTS/oracle/families" sqlite3.pug 3
> 24 configurations: the same
# A gang of a sweep, against each alone.
$ printf 'trace g = gzip.pug\nsim c = cache:l1i=1k..4k*2,2way;l1d=2k,2|4way;l2=16k..64k*2\n' >p.plan; pugmark sweep plan p.plan >/dev/null; pugmark sweep run -q p.sweep >/dev/null 2>&1; pugmark sweep collect --csv all.csv p.sweep >/dev/null; wc -l <all.csv
> 19
