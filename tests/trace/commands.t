# tests/trace/commands.t - info, head, dump, slice, convert and verify on .pug and on another format
$ cp $TESTS/data/blocks.pug b.pug; pugmark info b.pug
> file            b.pug
> format          pug
> bytes           858
> contents        instruction boundaries, data addresses, access sizes, branch
>                 outcomes, basic blocks
> traced:
>   tool          pugmark 0.1.0
>   level         default
> count:
>   instructions  400
>   events        132
>   kinds:
>     block       48
>     read        84
>   streams:
>     stream      0
>     pid         1
>     tid         1
>     name        x
>     instructions 400
> complete        yes
> bits_per_insn   17.160
$ pugmark info --count --json - b.pug
> {
>   "schema": {"name": "pugmark.info", "version": 1},
>   "file": "b.pug",
>   "format": "pug",
>   "bytes": 858,
>   "contents": ["instruction boundaries", "data addresses", "access sizes", "branch outcomes", "basic blocks"],
>   "traced": {
>     "tool": "pugmark 0.1.0",
>     "level": "default"
>   },
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
>   },
>   "complete": true,
>   "bits_per_insn": 17.16
> }
$ pugmark head -n 4 b.pug
> 0 insn 0x4013a48 3 bytes=000000
> 0 read 0x1fff000aa0 1
> 0 insn 0x4013a4b 2 bytes=0000
> 0 insn 0x4013a4d 2 bytes=0000
> 0 branch 0x4013a4d 2 target=0x4013a30 flags=taken,cond
> 0 insn 0x4013a30 2 bytes=0000
$ pugmark head -n 4 -b b.pug
> 0 block 0x4013a48 - n=3
> 0 read 0x1fff000aa0 1
> 0 block 0x4013a30 - n=1
$ pugmark head -n 3 $TESTS/data/formats/lackey-34.txt
> 0 opaque - 7 flags=write value=0x7 bytes=6c61636b657900
> 0 insn 0x401ab70 3
> 0 insn 0x401ab73 5
> 0 write 0x1fff000628 8
> 0 insn 0x401b770 1
> 0 write 0x1fff000620 8
$ pugmark dump b.pug >all; wc -l <all; pugmark dump -b b.pug | wc -l
> 531
> 132
# a slice is the same part of the text
$ pugmark slice --from 100 --count 50 b.pug s.pug && pugmark dump s.pug | grep -v branch >part
$ grep -v branch all | awk '/ insn /{n++} n>100 && n<=150' | cmp - part && wc -l <part
> 60
$ pugmark slice --from 399 b.pug - -t pug | pugmark head -
> 0 insn 0x4013a80 3 bytes=000000
> 0 read 0x40329f8 1
$ pugmark slice --from 400 b.pug e.pug && pugmark info e.pug | sed -n '/instructions/p'
>   instructions  0
! pugmark: note: no instruction is in that part, of 400 that were read
$ pugmark slice --range 0x0-0x1 b.pug r.pug && pugmark dump r.pug
! pugmark: note: no instruction is in that part, of 400 that were read
$ pugmark slice --from 2 --count 2 $TESTS/data/formats/lackey-34.txt - -t lackey
> I  0401b770,1
>  S 1fff000620,8
> I  0401b771,7
# every level and every compression holds the same
$ for l in fast default dense; do pugmark convert b.pug $l.pug -t pug:$l && pugmark dump $l.pug | cmp - all; done
$ for z in gz zst xz bz2; do pugmark convert b.pug x.pug.$z && pugmark dump x.pug.$z | cmp - all; done
$ cat b.pug | pugmark convert - - -t pug | pugmark dump - | cmp - all
# there and back
$ pugmark convert $TESTS/data/formats/penn-sjeng-60.trace p.pug && pugmark convert p.pug -t penn back.trace
$ cmp back.trace $TESTS/data/formats/penn-sjeng-60.trace
$ pugmark convert $TESTS/data/formats/ex-byu6.tr p.pug && pugmark convert p.pug -t byu back && cmp back $TESTS/data/formats/ex-byu6.tr
$ pugmark verify b.pug
> 400 instructions
>   flow     not applicable
>   block    good: 48 looked at
>   slot     good: 84 looked at
>   size     good: 84 looked at
>   map      not applicable
>   rep      not applicable
>   code     not applicable
>   branch   not applicable
>   calls    not applicable
>   time     not applicable
>   exit     not applicable
>   bus      not applicable
>   uop      not applicable
> b.pug: good
$ pugmark verify --json - b.pug | sed -n '/good/p'
>     "good": true,
# what cannot be
$ pugmark convert $TESTS/data/formats/din.din x.trace -t penn
! pugmark: din traces hold no micro-ops; writing Penn traces needs them (`pugmark run --exec` traces them)
? 1
$ pugmark convert b.pug x.unknown
! pugmark: no format has names like 'x.unknown'; -t FORMAT says which to write (see `pugmark formats`)
? 2
$ pugmark convert b.pug -
! pugmark: standard output has no name to tell the format from; use -t FORMAT (see `pugmark convert --help`)
? 2
$ pugmark convert -f nonsense b.pug x.pug
! pugmark: 'nonsense' is not a format (see `pugmark formats`)
? 2
$ pugmark convert b.pug x.din; ls x.*
> x.din
> x.pug.bz2
> x.pug.gz
> x.pug.xz
> x.pug.zst
! pugmark: note: din traces hold no access sizes and branch outcomes
! pugmark: note: events discarded: 47 branch
$ pugmark dump b.pug -o /dev/full
! pugmark: /dev/full: cannot write: No space left on device
? 1
$ pugmark info /dev/null
! pugmark: /dev/null: the input is empty
? 1
$ pugmark info no/such/file
! pugmark: no/such/file: cannot open: No such file or directory
? 1
$ pugmark slice --time 5 b.pug x.pug
! pugmark: --time expects A-B, not '5' (see `pugmark slice --help`)
? 2
$ pugmark slice --range 5-3 b.pug x.pug
! pugmark: --range expects LO-HI or LO+SIZE, not '5-3' (see `pugmark slice --help`)
? 2
$ pugmark head
! pugmark: missing TRACE (see `pugmark head --help`)
? 2
# What is no command: perhaps a simulator, a program, or misspelt.
$ pugmark bpred x.trace
! pugmark: 'bpred' is a simulator: `pugmark sim --sim bpred TRACE`, or `pugmark run --sim bpred -- PROGRAM`
? 2
$ pugmark ls
! pugmark: 'ls' is not a command; to trace the program: `pugmark run -- ls`
? 2
$ pugmark convret a b
! pugmark: 'convret' is not a command; did you mean 'convert'? (see `pugmark help`)
? 2
$ pugmark nonsense
! pugmark: 'nonsense' is not a command (see `pugmark help`)
? 2
# What is refused leaves nothing behind, also where a trace is a directory; who had made one keeps it.
$ cp $TESTS/data/blocks.pug r.pug; mkdir had; for o in new had; do pugmark convert -q -t laplace-process r.pug $o; done; ls -d new had
> had
! pugmark: pug traces hold no kernel events or canonical pages; writing Laplace per-process merges needs them
! pugmark: pug traces hold no kernel events or canonical pages; writing Laplace per-process merges needs them
! ls: cannot access 'new': No such file or directory
? 2
# Errors name the file
$ pugmark dump -o no/such r.pug; pugmark dump -o /dev/full r.pug; pugmark head r.pug >/dev/full
! pugmark: no/such: cannot open for writing: No such file or directory
! pugmark: /dev/full: cannot write: No space left on device
! pugmark: standard output: cannot write: No space left on device
? 1
# What pugmark has written about a trace is none.
$ pugmark info --json result.json "$TESTS/data/real.pug"; pugmark info result.json
! pugmark: result.json: a result of pugmark, not a trace
? 1
# Options of formats take the suffixes that all options take.
$ for n in 20000 20k; do pugmark convert -q -t simpoint:interval=$n "$TESTS/data/real.pug" $n.bb; done; cmp 20000.bb 20k.bb && wc -l < 20k.bb
> 10
