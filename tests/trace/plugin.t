# tests/trace/plugin.t - the sinks of examples/, and what is refused
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/hash.so $TESTS/data/blocks.pug
> hash: 0x2306057056f657c5
> events: 132 events
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so:3 --json - $TESTS/data/formats/lackey-34.txt
> {
>   "pages": ["0x1fff000000", "0x4033000"]
> }
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so:0 $TESTS/data/blocks.pug
! pugmark: pages wants a number from 1 to 64, not '0'
? 1
$ E=$(dirname $(command -v pugmark))/examples; pugmark sim --sim $E/pages.so $TESTS/data/formats/ex-idt-branch.trc -f idt-branch
! pugmark: IDtrace traces (idt-branch) hold no data addresses; 'pages' needs them (`pugmark run --exec` traces them)
? 1
$ E=$(dirname $(command -v pugmark))/examples; cp $E/old.so .; pugmark sim --sim old.so $TESTS/data/blocks.pug
! pugmark: the plug-in './old.so' was built for interface 0, this pugmark has 1: rebuild it
? 1
$ pugmark sim --sim ./none.so $TESTS/data/blocks.pug
! pugmark: cannot load the plug-in './none.so': cannot open shared object file: No such file or directory
? 1
$ echo 'int x;' | cc -shared -o empty.so -x c - && pugmark sim --sim empty.so $TESTS/data/blocks.pug
! pugmark: './empty.so' is no plug-in: it does not define pm_plugin
? 1
