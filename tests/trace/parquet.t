# tests/trace/parquet.t - traces and results as Parquet tables; tests/check-parquet reads them
$ pugmark formats parquet
> parquet: a table for DuckDB, pandas and the like (write only)
>   pugmark writes it
>   files:  .parquet
>   needs:  nothing in particular
>   options, as in FORMAT:NAME=VALUE,NAME:
>     level=N  1 to 19: of zstd
>     group=N  rows of a row group
$ cp $TESTS/data/formats/steps.drmemtrace s.trace; pugmark convert s.trace s.parquet && head -c 4 s.parquet && tail -c 4 s.parquet
>- PAR1PAR1
# the same to a pipe, and by its name's end
$ pugmark convert -q -t parquet s.trace - | cmp - s.parquet
$ pugmark convert -q s.trace x.parquet.gz && gzip -dc x.parquet.gz | cmp - s.parquet
# it is recognised, and not read
$ pugmark info s.parquet
! pugmark: s.parquet: Parquet tables can be written but not read
? 1
$ pugmark convert s.parquet x.pug; ls x.pug
! pugmark: s.parquet: Parquet tables can be written but not read
! ls: cannot access 'x.pug': No such file or directory
? 2
# options
$ pugmark convert -t parquet:level=20 s.trace x.parquet; pugmark convert -t parquet:group=0 s.trace x.parquet; pugmark convert -t parquet:rows=5 s.trace x.parquet; ls
> s.parquet
> s.trace
> x.parquet.gz
! pugmark: x.parquet: level=20: expected a number from 1 to 19
! pugmark: x.parquet: group=0: expected a number from 1 to 1073741824
! pugmark: unknown format option 'rows', expected level group
$ for o in level=1 level=19 group=1; do pugmark convert -q -t parquet:$o s.trace x.parquet && tail -c 4 x.parquet; echo " $o"; done
> PAR1 level=1
> PAR1 level=19
> PAR1 group=1
# a full disk leaves nothing, wherever it happens, and what was there
$ pugmark convert -q -t parquet:group=20 s.trace big.parquet; [ $(wc -c <big.parquet) -gt 60000 ] && echo large; echo old >x.parquet; for n in 1 4 8 12 16 32 64; do (ulimit -f $n; pugmark convert -q -t parquet:group=20 s.trace x.parquet 2>e; echo "$n $? $(cat e)"); ls *.part* 2>/dev/null; cat x.parquet; done | sort | uniq -c | sed 's/^ *//'
> large
> 1 1 1 pugmark: x.parquet: cannot write: File too large
> 1 12 1 pugmark: x.parquet: cannot write: File too large
> 1 16 1 pugmark: x.parquet: cannot write: File too large
> 1 32 1 pugmark: x.parquet: cannot write: File too large
> 1 4 1 pugmark: x.parquet: cannot write: File too large
> 1 64 1 pugmark: x.parquet: cannot write: File too large
> 1 8 1 pugmark: x.parquet: cannot write: File too large
> 7 old
$ pugmark convert -q -t parquet:group=20 s.trace /dev/full
! pugmark: /dev/full: cannot write: No space left on device
? 1
# so does a kill
$ mkfifo in; (cat s.trace; exec sleep 10) >in & w=$!; timeout -s KILL 1 pugmark convert -q -f drmemtrace in killed.parquet 2>/dev/null; kill $w; wait $w 2>/dev/null; ls killed*
! ls: cannot access 'killed*': No such file or directory
? 2
# of a running program
$ pugmark run -q --exec -o r.parquet -- true && head -c 4 r.parquet; pugmark run -q --parquet p.parquet -- true && head -c 4 p.parquet
>- PAR1PAR1
# results
$ pugmark sim --cache '' --parquet - s.trace | head -c 4; pugmark annotate --parquet a.parquet s.trace >/dev/null; head -c 4 a.parquet; pugmark sim --cache '' --parquet nosuch/x s.trace
>- PAR1PAR1
! pugmark: nosuch/x: cannot create: No such file or directory
? 1
