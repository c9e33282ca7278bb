# PostgreSQL: a dozen processes share memory, of System V or as it comes (anonymous, and POSIX for a query's workers). The
# replay logs what the server has logged. So do initdb, and a server without processes.
# needs: /usr/lib/postgresql/15/bin/postgres setpriv
# timeout: 500
$ cat > server <<'end'
+ bin=/usr/lib/postgresql/15/bin
+ [ $(id -u) = 0 ] && as='setpriv --reuid=postgres --regid=postgres --clear-groups' && dir=$(setpriv --reuid=postgres --regid=postgres --clear-groups mktemp -d) || dir=$(mktemp -d)
+ as="$as env HOME=$dir XDG_CACHE_HOME=$dir/cache PGHOST=$dir"
+ cp "$(command -v pugmark)" $dir/pugmark && chmod a+rx $dir/pugmark
+ cd $dir
+ timeout 100 $as $bin/initdb -N -A trust -D $dir/data > /dev/null || exit 1
+ $as $dir/pugmark record -o $dir/r.pugrec -- $bin/postgres -D $dir/data -k $dir -c listen_addresses= -c shared_memory_type=$1 -c dynamic_shared_memory_type=$2 -c shared_buffers=16MB -c fsync=off -c min_parallel_table_scan_size=0 -c parallel_setup_cost=0 -c parallel_tuple_cost=0 2> $dir/log &
+ for i in $(seq 100); do $as $bin/psql -qtAc 'select 1' postgres > /dev/null 2>&1 && break; sleep 0.3; done
+ timeout 100 $as $bin/psql -qtA postgres <<'sql'
+ create table t(a int, b text);
+ insert into t select i, md5(i::text) from generate_series(1, 5000) i;
+ create index on t(b);
+ select count(*), max(b) from t;
+ select sum(a) from t;
+ sql
+ for i in 1 2 3; do timeout 100 $as $bin/psql -qtA postgres -c "update t set a = a + $i where a < 3000" & workers="$workers $!"; done; wait $workers
+ timeout 60 $as $bin/pg_ctl -D $dir/data stop -m fast > /dev/null; wait
+ timeout 200 $dir/pugmark replay -q $dir/r.pugrec > out 2> log.r; cmp log log.r && grep -c 'is shut down' log.r; grep pugmark log
+ cd /; rm -rf $dir
+ end
$ sh server sysv sysv
> 5000|ffeed84c7cb1ae7bf4ec4bd78275bb98
> 12502500
> 1
$ sh server mmap posix
> 5000|ffeed84c7cb1ae7bf4ec4bd78275bb98
> 12502500
> 1
$ cat > single <<'end'
+ bin=/usr/lib/postgresql/15/bin
+ [ $(id -u) = 0 ] && as='setpriv --reuid=postgres --regid=postgres --clear-groups' && dir=$(setpriv --reuid=postgres --regid=postgres --clear-groups mktemp -d) || dir=$(mktemp -d)
+ as="timeout 100 $as env HOME=$dir XDG_CACHE_HOME=$dir/cache"
+ cp "$(command -v pugmark)" $dir/pugmark && chmod a+rx $dir/pugmark
+ cd $dir
+ $as $dir/pugmark record -q -o $dir/i.pugrec -- $bin/initdb -N -A trust -D $dir/data > out
+ timeout 100 $dir/pugmark replay -q i.pugrec | cmp out -
+ printf 'create table t(a int);\ninsert into t select generate_series(1, 3000);\nselect sum(a) from t;\n' | $as $dir/pugmark record -q -o $dir/s.pugrec -- $bin/postgres --single -D $dir/data postgres > out 2> log
+ rm -rf data
+ timeout 100 $dir/pugmark replay -q s.pugrec > out.r 2> log.r; cmp out out.r && cmp log log.r && grep -o 'sum = "[0-9]*"' out
+ cd /; rm -rf $dir
+ end
$ sh single
> sum = "4501500"
