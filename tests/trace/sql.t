# tests/trace/sql.t - how `pugmark sql` calls a DuckDB; sql-duckdb.t asks a real one
$ cp $TESTS/data/formats/steps.drmemtrace s.trace; pugmark convert -q s.trace s.parquet; pugmark sql; pugmark sql s.trace; pugmark sql --csv a --json b s.trace 'select 1'
! pugmark: missing FILE and QUERY (see `pugmark sql --help`)
! pugmark: missing QUERY (see `pugmark sql --help`)
! pugmark: --json or --csv, not both (see `pugmark sql --help`)
? 2
# there is none
$ P=$(command -v pugmark); PATH=/nonexistent PUGMARK_DUCKDB= $P sql s.trace 'select 1'
! pugmark: there is no DuckDB: put the command duckdb (see https://duckdb.org) into PATH, or name it in PUGMARK_DUCKDB, or `npm install @duckdb/node-api`
? 1
$ PUGMARK_DUCKDB=/nonexistent/duckdb pugmark sql s.trace 'select 1'
! pugmark: cannot run '/nonexistent/duckdb': No such file or directory
? 1
# one that says what it is called with, and shows the beginning of each table
$ printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@" | sed "s,/fd/[0-9]*,/fd/N,g"' 'for f in $(printf "%s\n" "$@" | grep -o "/proc/self/fd/[0-9]*"); do head -c 4 $f; echo; done' >duckdb; chmod +x duckdb; export PUGMARK_DUCKDB=$PWD/duckdb; echo a,b >t.csv; echo '[{"a":1}]' >"it's.json"; pugmark sql s.trace s.parquet t.csv "it's.json" 'select 1'
> -box
> -cmd
> create view t as from read_parquet('/proc/self/fd/N');
> create view t2 as from read_parquet('/proc/self/fd/N');
> create view t3 as from read_csv('/proc/self/fd/N');
> create view t4 as from read_json('/proc/self/fd/N');
>
> -c
> select 1
> PAR1
> PAR1
> a,b
>
> [{"a
$ PUGMARK_DUCKDB=$PWD/duckdb pugmark sql --csv - s.parquet q | head -n 1; PUGMARK_DUCKDB=$PWD/duckdb pugmark sql --json o s.parquet q; head -n 1 o
> -csv
> -json
# one that dies has not said why; one whose reader has gone need not
$ for x in SEGV PIPE; do printf '#!/bin/sh\nkill -%s $$\n' $x >dies; chmod +x dies; PUGMARK_DUCKDB=./dies pugmark sql s.parquet q; echo $?; done
! pugmark: './dies' was killed by signal 11 (Segmentation fault)
> 1
> 1
# a Parquet file that is none
$ echo x >x.parquet; PUGMARK_DUCKDB=$PWD/duckdb pugmark sql x.parquet q
! pugmark: x.parquet:0x0: expected "PAR1", with which a Parquet file begins
? 1
# of a pipe, in a format of its own
$ cat $TESTS/data/formats/din.din | PUGMARK_DUCKDB=$PWD/duckdb pugmark sql -f din - q | tail -n 1
> PAR1
# what it says is passed on, and its failure
$ printf '%s\n' '#!/bin/sh' 'echo no >&2; exit 5' >duckdb; PUGMARK_DUCKDB=$PWD/duckdb pugmark sql s.trace q; PUGMARK_DUCKDB=$PWD/duckdb pugmark sql --csv c s.trace q; ls c
! no
! no
! ls: cannot access 'c': No such file or directory
? 2
# files that are not there, or no traces
$ pugmark sql nosuch q; pugmark sql nosuch.csv q; echo no >n; pugmark sql n q; pugmark sql --csv nosuch/c s.trace q
! pugmark: nosuch: cannot open: No such file or directory
! pugmark: nosuch.csv: cannot open: No such file or directory
! pugmark: n: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
! pugmark: nosuch/c: cannot create: No such file or directory
? 1
# nothing is left behind
$ printf '%s\n' '#!/bin/sh' 'ls -A tmp; echo done' >duckdb; mkdir tmp; TMPDIR=$PWD/tmp PUGMARK_DUCKDB=$PWD/duckdb pugmark sql s.trace q; ls -A tmp
> done
