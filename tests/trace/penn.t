# tests/trace/penn.t - micro-op traces: the reference parser's words, both dialects, every error
$ cp $TESTS/data/formats/penn-sjeng-60.trace a.trace; cp $TESTS/data/formats/penn-compact.trace c.trace
$ pugmark penn c.trace
> Processing trace...
> Processed 15 trace records.
> Micro-ops: 15
> Macro-ops: 12
$ pugmark penn - <c.trace
> Processing trace...
> Processed 15 trace records.
> Micro-ops: 15
> Macro-ops: 12
# macro-ops are lines that start with 1
$ pugmark penn a.trace | tail -1; grep -c '^1 ' a.trace
> Macro-ops: 57
> 57
# the dialect stays, and can be chosen
$ pugmark convert a.trace b.trace && cmp a.trace b.trace
$ pugmark convert -t penn:compact a.trace x.trace && pugmark convert -t penn:dialect=aligned x.trace y.trace && cmp a.trace y.trace
$ tr -s ' ' <a.trace | cmp - x.trace
# blanks, CR and a missing last line feed are accepted
$ printf '1\t40061e -1 -1 -1 R T -   -96 0 0x400620 4005c0 J JMP_IMM\r' | pugmark convert -f penn -t penn - -
> 1 40061e -1 -1 -1 R T -       -96            0       400620       4005c0 J        JMP_IMM
$ gzip -k c.trace; pugmark convert c.trace.gz d.trace && cmp c.trace d.trace
# every error names the line
$ sed '3s/48d1e2/48d1g2/' c.trace | pugmark penn -f penn -
> Processing trace...
! pugmark: standard input:3: field 2 (pc): expected a hexadecimal number of at most 64 bits, found '48d1g2'
? 1
$ sed '2s/13 R/256 R/' c.trace | pugmark uops -f penn -
! pugmark: standard input:2: field 5 (dest): expected a register from -1 to 255, found '256'
? 1
$ sed '4s/ADD$//;4s/SUB$//' c.trace | pugmark uops -f penn -
! pugmark: standard input:4: expected 14 fields, found 13
? 1
$ sed '4s/SUB$/ABCDEFGHIJKLMNOPQRSTUVWXYZ/' c.trace | pugmark uops -f penn -
! pugmark: standard input:4: field 14 (micro): expected at most 22 characters, found 'ABCDEFGHIJKLMNOPQRSTUVWX...'
? 1
# the course's analyses
$ pugmark uops a.trace
> Micro-ops: 60
> Macro-ops: 57
> Micro-ops per macro-op: 1.0526
>
>     uops          count   percent
>        1             54   94.737%
>        2              3    5.263%
$ pugmark isize --json - c.trace
> {
>   "schema": {"name": "pugmark.course", "version": 1},
>   "isize": {
>     "macros": 12,
>     "bytes": 44,
>     "mean": 3.6666666666666665,
>     "distribution": [
>       {
>         "bytes": 2,
>         "count": 2,
>         "percent": 16.666666666666668,
>         "cumulative": 16.666666666666668
>       },
>       {
>         "bytes": 3,
>         "count": 6,
>         "percent": 50,
>         "cumulative": 66.66666666666667
>       },
>       {
>         "bytes": 4,
>         "count": 2,
>         "percent": 16.666666666666668,
>         "cumulative": 83.33333333333333
>       },
>       {
>         "bytes": 7,
>         "count": 2,
>         "percent": 16.666666666666668,
>         "cumulative": 100
>       }
>     ]
>   }
> }
$ pugmark brdist a.trace
> Branches: 17
>
>     bits          count   percent   cumulative
>        5              8   47.059%      47.059%
>        6              2   11.765%      58.824%
>        8              7   41.176%     100.000%
>
> Needing more than 8 bits: 0 (0.000% of branches)
> Extra instructions: 0.000%
$ pugmark brdist --bits 7 --json - c.trace
> {
>   "schema": {"name": "pugmark.course", "version": 1},
>   "brdist": {
>     "branches": 2,
>     "distribution": [
>       {
>         "bits": 6,
>         "count": 1,
>         "percent": 50,
>         "cumulative": 50
>       },
>       {
>         "bits": 7,
>         "count": 1,
>         "percent": 50,
>         "cumulative": 100
>       }
>     ],
>     "offset_bits": 7,
>     "needing_more": 0,
>     "needing_more_percent": 0,
>     "macros": 12,
>     "extra_instructions_percent": 0
>   }
> }
$ pugmark uop-mix a.trace
> Micro-ops: 60
>
> loads                       6   10.000%
> stores                      0    0.000%
> unconditional               2    3.333%
> conditional                15   25.000%
> other                      37   61.667%
$ pugmark fusion a.trace
> Micro-ops: 60
> Conditional branches: 15
> Fused pairs: 14
> Micro-ops in pairs: 46.667%
> Micro-ops saved: 23.333%
$ pugmark fusion --json - c.trace
> {
>   "schema": {"name": "pugmark.course", "version": 1},
>   "fusion": {
>     "uops": 15,
>     "conditional": 1,
>     "pairs": 1,
>     "in_pairs_percent": 13.333333333333334,
>     "saved_percent": 6.666666666666667
>   }
> }
$ pugmark uop-mix $TESTS/data/formats/lackey-34.txt
! pugmark: lackey traces hold no micro-ops; 'uop-mix' needs them (`pugmark run --exec` traces them)
? 1
$ pugmark penn $TESTS/data/formats/lackey-34.txt
> Processing trace...
! pugmark: lackey traces hold no micro-ops; 'penn' needs them (`pugmark run --exec` traces them)
? 1
$ pugmark brdist --bits 0 c.trace
! pugmark: --bits expects a number from 1 to 64, not '0' (see `pugmark brdist --help`)
? 2
# Without a file it reads standard input, as the course's parser does.
$ pugmark penn <a.trace
> Processing trace...
> Processed 60 trace records.
> Micro-ops: 60
> Macro-ops: 57
# The next instruction's address makes a size that none has.
$ printf '1 401000 -1 -1 -1 - - - 0 0 401064 0 X Y\n' >far.trace; printf '1 401000 -1 -1 -1 - - - 0 0 400000 0 X Y\n' | pugmark isize -; pugmark isize far.trace
! pugmark: standard input: no instruction goes from 0x401000 to 0x400000, where the next one is said to be
! pugmark: far.trace: no instruction goes from 0x401000 to 0x401064, where the next one is said to be
? 1
# One wrong field in its first line does not make it a trace of another format.
$ printf '1 401000 -1 -1 256 - T - 0 0 401002 401000 JMP JMP_IMM\n' >h.trace; pugmark penn h.trace
> Processing trace...
! pugmark: h.trace:1: field 5 (dest): expected a register from -1 to 255, found '256'
? 1
