# tests/trace/sql-duckdb.t - `pugmark sql` with the DuckDB of the npm package
# needs: node
# if: [ -d $TOP/.cache/parquet/node_modules/@duckdb ] || { echo 'needs npm packages (make parquet-readers)'; exit 1; }
$ cp $TESTS/data/formats/steps.drmemtrace s.trace; echo 'export NODE_PATH=$TOP/.cache/parquet/node_modules PUGMARK_DUCKDB=; PATH=$(dirname $(command -v pugmark)):/usr/bin:/bin' >env; . ./env; pugmark sql s.trace 'select kind, count(*) n, min(addr) from t group by kind order by n desc, kind'
> kind         n        min(addr)
> --------  ----  ---------------
> insn      1149             NULL
> branch     265             NULL
> read       255  140737353917344
> write      190  140737354119440
> rep-iter    52             NULL
> rep-end      1             NULL
> time         1             NULL
$ . ./env; pugmark sql --csv - s.trace "select format('{:#x}', pc) pc, bytes, taken, 0.5 half, 'a\"b,c' q, '' e, null z from t where kind in ('insn', 'branch') limit 3"
> pc,bytes,taken,half,q,e,z
> 0x7ffff7fe4b70,H\x89\xE7,,0.5,"a""b,c","",
> 0x7ffff7fe4b73,\xE8\xF8\x0B\x00\x00,,0.5,"a""b,c","",
> 0x7ffff7fe4b73,,true,0.5,"a""b,c","",
$ . ./env; pugmark sql --json o s.trace "select kind, pc, taken, 0.5 half, 'a\"b' q, [1, 2] l, {'x': 18446744073709551615::ubigint} s from t where kind in ('insn', 'branch') limit 2"; cat o
> [{"kind":"insn","pc":140737354025840,"taken":null,"half":0.5,"q":"a\"b","l":[1, 2],"s":{"x":18446744073709551615}},
> {"kind":"insn","pc":140737354025843,"taken":null,"half":0.5,"q":"a\"b","l":[1, 2],"s":{"x":18446744073709551615}}]
# every column, and what a trace does not have
$ . ./env; pugmark sql --csv - s.trace 'describe t' | cut -d, -f1,2 | paste -sd' '; pugmark sql --csv - $TESTS/data/formats/din.din 'select * from t limit 2'
> column_name,column_type stream,UINTEGER pid,UINTEGER tid,UINTEGER kind,VARCHAR insn,UBIGINT pc,UBIGINT addr,UBIGINT size,UINTEGER taken,BOOLEAN target,UBIGINT flags,VARCHAR value,UBIGINT time,UBIGINT bytes,BLOB
> stream,pid,tid,kind,insn,pc,addr,size,taken,target,flags,value
> 0,,,insn,0,4198400,,4,,,,
> 0,,,read,0,4198400,8796067852360,4,,,,
# tables of results, several at once, and beside CSV
$ . ./env; pugmark run -q --parquet p.parquet --csv p.csv -- true; pugmark sql --csv - p.parquet p.csv 'select count(*) > 100 many, count(*) filter (t.instructions <> t2.instructions) differ from t positional join t2 where t.function = t2.function'
> many,differ
> true,0
# wrong SQL
$ . ./env; pugmark sql s.trace 'select nosuch from t' 2>&1 | head -n 1; pugmark sql s.trace 'select nosuch from t' 2>/dev/null
> duckdb: Binder Error: Referenced column "nosuch" not found in FROM clause!
? 1
