# tests/trace/plugin.t - the sinks of examples/, and what is refused
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/hash.so $TESTS/data/blocks.pug
> hash: 0x2306057056f657c5
> events: 132 events
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so:3 --json - $TESTS/data/formats/lackey-34.txt
> {
>   "schema": {"name": "pugmark.sim", "version": 1},
>   "pages": ["0x1fff000000", "0x4033000"]
> }
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so:0 $TESTS/data/blocks.pug
! pugmark: pages expects a number from 1 to 64, not '0'
? 1
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so $TESTS/data/formats/ex-idt-branch.trc -f idt-branch
! pugmark: IDtrace traces (idt-branch) hold no data addresses; 'pages' needs them (`pugmark run --exec` traces them)
? 1
$ E=$(dirname $(command -v pugmark))/examples; cp $E/old.so .; pugmark sim --sim old.so $TESTS/data/blocks.pug
! pugmark: the plug-in './old.so' was built for interface 1, this pugmark has 2: rebuild it
? 1
$ pugmark sim --sim ./none.so $TESTS/data/blocks.pug
! pugmark: cannot load the plug-in './none.so': cannot open shared object file: No such file or directory
? 1
$ echo 'int x;' | cc -shared -o empty.so -x c - && pugmark sim --sim empty.so $TESTS/data/blocks.pug
! pugmark: './empty.so' is no plug-in: it does not define pm_plugin
? 1
# Nothing of another interface, or of none, is called or crashes: one line each.
$ for d in FIRST NEXT NUMBER FUNCTION SHORT LONG NAMELESS FLAGS TAIL=7 LACKS; do cc -w -shared -fPIC -D$d -I$TOP/include -o bare.so $TESTS/trace/plugins/defective.c && pugmark sim --sim bare.so $TESTS/data/blocks.pug; echo $?; done 2>&1
> pugmark: the plug-in './bare.so' was built for interface 1, this pugmark has 2: rebuild it
> 1
> pugmark: the plug-in './bare.so' was built for interface 3, this pugmark has 2: rebuild it
> 1
> pugmark: './bare.so' is no plug-in: its pm_plugin is no struct pm_sink_ops
> 1
> pugmark: './bare.so' is no plug-in: its pm_plugin is no struct pm_sink_ops
> 1
> pugmark: the plug-in './bare.so' says that its pm_plugin has 16 bytes; it has 72, and 72 are the least
> 1
> pugmark: the plug-in './bare.so' says that its pm_plugin has 80 bytes; it has 72, and 72 are the least
> 1
> pugmark: the plug-in './bare.so' lacks a name, create() or consume()
> 1
> pugmark: the plug-in './bare.so' needs more than this pugmark has: it was built for a newer one
> 1
> pugmark: the plug-in './bare.so' needs more than this pugmark has: it was built for a newer one
> 1
> pugmark: cannot load the plug-in './bare.so': undefined symbol: pm_nothing_that_there_is
> 1
# Without anything in what it has more it is as good as any.
$ cc -w -shared -fPIC -DTAIL=0 -I$TOP/include -o bare.so $TESTS/trace/plugins/defective.c && pugmark sim --sim bare.so $TESTS/data/blocks.pug
# A plug-in keeps its own functions, and pugmark those of its libraries. Where malloc() is a sanitizer's, that takes
# -Bsymbolic: see the top of pugmark.h.
$ nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' && S=-Wl,-Bsymbolic; cc -w -D_GNU_SOURCE -shared -fPIC $S -I$TOP/include -o own.so $TESTS/trace/plugins/own.c && pugmark sim --sim own.so --sim count --json - $TESTS/data/blocks.pug
> {
>   "schema": {"name": "pugmark.sim", "version": 1},
>   "events": 132,
>   "version": 1,
>   "compress": 2,
>   "decompress": true,
>   "bzip2": "own",
>   "crc32": 3,
>   "zydis": 4,
>   "decode": 5,
>   "isal": 6,
>   "environ": true,
>   "pipeline": true,
>   "count": {
>     "instructions": 400,
>     "events": 132,
>     "kinds": {
>       "block": 48,
>       "read": 84
>     },
>     "streams": [
>       {
>         "stream": 0,
>         "pid": 1,
>         "tid": 1,
>         "name": "x",
>         "instructions": 400,
>         "events": 132,
>         "kinds": {
>           "block": 48,
>           "read": 84
>         }
>       }
>     ]
>   }
> }
$ cc -shared -fPIC -I$TOP/include -o zstd.so $TESTS/trace/plugins/libzstd.c -lzstd && pugmark sim --sim zstd.so $TESTS/data/blocks.pug
> addresses: 531
> wrong: 0 batches
