# needs: gzip xz sqlite3
# Five real programs, live: TAGE-SC-L at 64 KB misses at most 0.75 of what gshare with as many bits does,
# and a core with a larger window is never slower by more than 1 %.
$ head -c 20000 "$BUILD/pugmark" >data; "$TESTS/oracle/rank" gzip -c data
> gzip: long enough, predicted, not slower
$ "$TESTS/oracle/rank" xz -0 -c data
> xz: long enough, predicted, not slower
$ printf 'int f(int x) { int s = 0; for (int i = 0; i < x; i++) s += i * i ^ x; return s; }\n' >a.c; "$TESTS/oracle/rank" "$(gcc -print-prog-name=cc1)" -quiet -O0 a.c -o a.s
> cc1: long enough, predicted, not slower
$ "$TESTS/oracle/rank" /usr/bin/python3 -S -E -c 'print(sum(i * i for i in range(2000)))'
> python3: long enough, predicted, not slower
$ FROM=2500000 "$TESTS/oracle/rank" sqlite3 -init /dev/null :memory: "create table t(k text, v real); with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500) insert into t select 'key' || (i * 7919 % 107), i / 7.0 from n; create index tk on t(k); select k, count(*) c, avg(v) from t group by k order by c desc, k limit 5;"
> sqlite3: long enough, predicted, not slower
