# What every command does alike: help, wrong words, --quiet, --verbose, --color.
# Everyday commands come first.
$ pugmark help | sed -n 's/^\([^ ].*\):$/\1:/p; s/^  \([a-z0-9-]*\)  .*/  \1/p' | head -5; pugmark help >help; for a in --help -h ''; do pugmark $a | cmp - help; done
> everyday commands:
>   run
>   record
>   replay
>   query
# Each describes itself in three ways, which are one; none needs anything for it.
$ for c in $(sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p' help); do pugmark $c --help >a; pugmark $c -h | cmp - a; pugmark help $c | cmp - a; grep -c -e '^  -h, --help' -e '^  -q, --quiet' -e '^  -v, --verbose' -e '^      --color' a; done | sort | uniq -c | awk '{ print ($1 > 25), $2 }'
> 1 4
$ pugmark help machine diff | head -1; pugmark help citcat stat | head -1; pugmark help help | head -1
> usage: pugmark machine diff [options] A B
> usage: pugmark citcat stat [options] FILE.cat
> usage: pugmark help [COMMAND...]
$ pugmark help nosuch
! pugmark: 'nosuch' is not a command (see `pugmark help`)
? 2
$ pugmark help convret
! pugmark: 'convret' is not a command; did you mean 'convert'? (see `pugmark help`)
? 2
# Usage is wrong: 2, whatever is: a word, a format, its options, a simulator, its settings.
$ w() { "$@" >out 2>err </dev/null; echo "$? $(cat err)"; }
+ w pugmark; w pugmark convret; w pugmark info; w pugmark info --cuont x; w pugmark info -Z x; w pugmark info --json; w pugmark convert -t pgu x y; w pugmark convert x y; w pugmark info -f champsmi x; w pugmark sim -s cahce x; w pugmark sim -s cache:l1d=3k,lur x; w pugmark sim -s bpred:ghare=4 x; w pugmark sim -s core:preset=bgi x; w pugmark run --syntax inetl -- true; w pugmark machine rnu; w pugmark citcat stats; w pugmark convert -t pug:levl=fast $TESTS/data/real.pug y.pug; w pugmark head -f byu:ordr=le $TESTS/data/real.pug; w pugmark run -t pgu -o x -- true; w pugmark run -s cache:l9=1 -- true; w pugmark annotate --quite x; w pugmark sim --color=nevr x; w pugmark machine run --elf x --sim cahce; w pugmark convert --filter l1d=1k,2wya $TESTS/data/real.pug y.pug
> 2 
> 2 pugmark: 'convret' is not a command; did you mean 'convert'? (see `pugmark help`)
> 2 pugmark: missing TRACE (see `pugmark info --help`)
> 2 pugmark: unknown option '--cuont'; did you mean '--count'? (see `pugmark info --help`)
> 2 pugmark: unknown option '-Z' (see `pugmark info --help`)
> 2 pugmark: --json expects a value (FILE) (see `pugmark info --help`)
> 1 pugmark: x: cannot open: No such file or directory
> 1 pugmark: x: cannot open: No such file or directory
> 2 pugmark: 'champsmi' is not a format; did you mean 'champsim'? (see `pugmark formats`)
> 2 pugmark: 'cahce' is not a sink; did you mean 'cache'?
> 2 pugmark: cache: l1d: 'lur' is not a field; did you mean 'lru'?
> 2 pugmark: bpred: 'ghare' is not a predictor; did you mean 'gshare'? allowed: taken, nottaken, btfn, idtrace, bimodal, gshare, tournament, local, perceptron, tage, tagescl, btb, ras, ittage, top=N, debug=FILE
> 2 pugmark: core: preset: 'bgi' is unknown; did you mean 'big'? allowed: big, mid, small, zen3, zen4, zen5, golden-cove, neoverse-v2
> 2 pugmark: --syntax expects att or intel, not 'inetl'; did you mean 'intel'? (see `pugmark run --help`)
> 2 pugmark: 'rnu' is not a command; did you mean 'run'? expected run, diff or fetch-debian (see `pugmark machine --help`)
> 2 pugmark: 'stats' is not a command; did you mean 'stat'? expected extract, replay, verify or stat (see `pugmark citcat --help`)
> 2 pugmark: 'levl=fast' is not a level of .pug: fast, default or dense
> 2 pugmark: unknown format option 'ordr', expected order; did you mean 'order'?
> 2 pugmark: 'pgu' is not a format; did you mean 'pug'? (see `pugmark formats`)
> 2 pugmark: cache: 'l9' is not a level; did you mean 'l1'? allowed: l1 to l8 with i or d behind it, flush, spaces, regions, byinsn
> 2 pugmark: unknown option '--quite'; did you mean '--quiet'? (see `pugmark annotate --help`)
> 2 pugmark: --color expects auto, always or never, not 'nevr'; did you mean 'never'? (see `pugmark sim --help`)
> 1 pugmark: x: cannot open: No such file or directory
> 2 pugmark: cache: l1d: line size: '2wya' is not a number; allowed: 8..65536, with k, M or G behind
# ... and what is asked for makes sense, but cannot be: 1.
$ w() { "$@" >out 2>err </dev/null; echo "$? $(cat err)"; }
+ w pugmark info nosuch; w pugmark run -- ./nosuch; w pugmark sim -s cache $TESTS/data/formats/idt-branch.trc64 | cut -c1-60; mkdir d; w pugmark convert $TESTS/data/real.pug d
> 1 pugmark: nosuch: cannot open: No such file or directory
> 1 pugmark: ./nosuch: cannot execute: No such file or directory
> 1 pugmark: IDtrace traces (idt-branch64) hold no references:
> 2 pugmark: no format has names like 'd'; -t FORMAT says which to write (see `pugmark formats`)
# The mix of instructions is of instructions.
$ pugmark mix --rows 2 $TESTS/data/real.pug | sed -n '1,12p'; pugmark mix --json a $TESTS/data/real.pug >/dev/null; pugmark sim --sim insns --json b $TESTS/data/real.pug >/dev/null; cmp a b
> insns
>   instructions     200,000 instructions
>   reads            52,313 references
>   writes           19,631 references
>   unknown          0 instructions
>   blocks distinct  172 blocks
>   blocks cover 90  47 blocks that cover 90 % of all instructions
>
> insns by class  (most executed first)
>   class  executed   share
>     mov    54,524  27.3 %
>     jcc    35,067  17.5 %
$ pugmark mix $TESTS/data/formats/penn-sjeng-60.trace
! pugmark: Penn traces hold micro-ops, not instructions; `pugmark uop-mix` counts these
? 1
# --quiet leaves out notes; --verbose tells.
$ pugmark convert $TESTS/data/real.pug x.din; pugmark convert -q $TESTS/data/real.pug x.din
! pugmark: note: din traces hold no instruction bytes, access sizes, branch outcomes, timestamps and rep iterations
! pugmark: note: events discarded: 38093 branch
$ pugmark info -v $TESTS/data/formats/din.din 2>&1 >/dev/null | sed "s,$TESTS,T,; s/[0-9.]* s of/N s of/; s/[0-9.]* s in/N s in/; s/[0-9]* MiB/N MiB/"
> pugmark: T/data/formats/din.din: din traces, by its content
> pugmark: took N s of CPU in user mode, N s in the kernel; N MiB of memory at most
# Schemas are there for all that write JSON, by name and by command.
$ pugmark schema | awk '{ print $1 }' | while read -r s; do pugmark schema $s | grep -c "\"title\": \"pugmark.$s\""; done | sort | uniq -c | awk '{ print ($1 > 15), $2 }'; pugmark schema slice | grep title; pugmark schema citcat stat | grep title; pugmark schema sm
> 1 1
>  "title": "pugmark.convert",
>  "title": "pugmark.citcat-stat",
! pugmark: 'sm' has no schema; did you mean 'sim'? (see `pugmark schema --help`)
? 2
# The report of a run has colours where one wants them.
$ for o in --color=always --color=never --color=auto; do CLICOLOR_FORCE= pugmark run $o -- true 2>&1 >/dev/null | tr '\033' E | grep -c 'E.1m' | sed 's/[1-9][0-9]*/some/'; done; pugmark run --color=always -o f -- true; tr '\033' E <f | grep -c 'E.1m'
> some
> 0
> 0
> 0
? 1
# Nobody reads any more: a command ends of that as others do, without a word. A traced program has ended by then, as it would have.
$ pugmark run -q --exec -o pipe.pug -- seq 20000 > out; for c in 'dump pipe.pug' 'convert -q -t din pipe.pug -' 'run -q --dump -- sh -c "seq 20000 >&2"'; do (eval "pugmark $c" 2> err; echo $? > status) | head -n 1 | wc -l; cat status; grep -v '^[0-9]*$' err; done; cmp err out
+ (trap '' PIPE; pugmark convert -q -t din pipe.pug - 2> err; echo $? > status) | head -n 1 | wc -l; cat err status
> 1
> 141
> 1
> 141
> 1
> 141
> 1
> pugmark: standard output: cannot write: Broken pipe
> 1
# Help is as wide as the terminal, or as $PUGMARK_COLUMNS says; into a pipe it is not cut. Examples stay lines that can be copied.
$ for c in $(sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p' help); do PUGMARK_COLUMNS=80 pugmark $c --help | awk -v c=$c 'length > 80 && !/^  pugmark / { print c ": " $0 }'; done
$ for w in 40 80; do PUGMARK_COLUMNS=$w pugmark run --help | tr -s ' \n' '  ' >$w; done; PUGMARK_COLUMNS= pugmark run --help | tr -s ' \n' '  ' | cmp - 40; cmp 40 80
$ PUGMARK_COLUMNS= pugmark run --help | grep -c '.\{90\}' | grep -c ..
> 1
