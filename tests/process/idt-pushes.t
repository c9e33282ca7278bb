# Own tags for pushes and pops in cache traces, as for table 9 of the IDtrace report; and what -v prints.
$ cp $PROGRAMS/bare bench; pugmark idt -c -P bench; env -i ./bench.idt; pugmark idtinfo bench | head -1; pugmark dump bench.trc64 | awk '$2 == "read" || $2 == "write" { print $2, $5 }' | sort | uniq -c
> good
> options: -c -P
>       3 read 
>       3 read flags=stack
>     105 write 
>       1 write flags=stack
# The references are those of the execution trace, pushes and pops included.
$ cp bench bench.run; env -i $(command -v pugmark) run --no-cache --no-follow --no-vdso --fix-random -q --exec -t idt-cache64:push-pop -o run.trc64 -- ./bench.run; for t in bench run; do pugmark dump $t.trc64 | grep -E ' (read|write) ' >$t.refs; done; cmp bench.refs run.refs
> good
# Simulators then tell them apart.
$ pugmark sim --cache 'l1d=8k,2way,32' --csv - bench.trc64 2>&1 | grep -E 'push|pop' | head -3
> cache.l1d.pop.accesses,3,lookups
> cache.l1d.pop.misses,1,lookups
> cache.l1d.pop.miss_ratio,0.3333333333,misses/access
$ pugmark idt -c bench; rm bench.trc64; env -i ./bench.idt; pugmark dump bench.trc64 | grep -c stack
> good
> 0
? 1
$ pugmark convert -t idt-cache64:push-pop run.trc64 again.trc64; cmp run.trc64 again.trc64; pugmark convert -t idt-cache64 run.trc64 -  | cmp - run.trc64; pugmark verify run.trc64
> 0 instructions
>   flow     not applicable
>   block    not applicable
>   slot     not applicable
>   size     good: 112 looked at
>   map      not applicable
>   rep      not applicable
>   code     not applicable
>   branch   not applicable
>   calls    not applicable
>   time     not applicable
>   exit     not applicable
>   bus      not applicable
>   uop      not applicable
> run.trc64: good
$ pugmark idt -e -P bench
! pugmark: -P expects -c or -l: other traces say which instruction refers (see `pugmark instrument --help`)
? 2
# -v: functions in both programs, tables, buffers.
$ pugmark idt -v bench 2>/dev/null | sed 's/0x[0-9a-f]*f[0-9a-f]\{6,\}/CODE/; s/-> 0x[0-9a-f]*/-> CODE/; s/, [0-9]* bytes/, N bytes/g; s/([0-9.]* x)/(N x)/'
> bench
>   text  0x401000-0x402000
>   code  CODE, N bytes (N x)
>   23 blocks from number 0, map 395 bytes, 1 entries, 2 exits, 0 unknown
>   tables  0x2b1000000000, N bytes; packed at CODE, N bytes
>   function  0x401000 -> CODE  _start
>   function  0x40108b -> CODE  say
>   function  0x4010aa -> CODE  child
>   function  0x4010b3 -> CODE  handler
>   function  0x4010ba -> CODE  restorer
> process
>   manifest  0x2b0000000000, start-up stub  0x3e0000
>   thread blocks  from 0x340040000000, 0x40000000 bytes each: 8 trace buffers from +0x38000000, N bytes each; counters at +0x100000
$ nm bench | awk '$2 ~ /[tT]/ { print "0x" $1, $3 }' | sed 's/0x0*/0x/' | sort >nm; pugmark idt -v bench 2>/dev/null | awk '$1 == "function" { print $2, $5 }' | sort >v; comm -13 nm v
$ cp "$(command -v gzip)" .; pugmark idt -v gzip 2>/dev/null | grep -c '  tables '
> 4
# What is left out of a table is in --json and --csv.
$ pugmark idt -c -r bench; rm -f bench.cnt64* bench.trc64*; env -i ./bench.idt; pugmark vcount --rows 1 bench | tail -n 1; pugmark vcount --csv - bench | head -n 3; pugmark rtrace -q --csv sizes bench | head -n 4; head -n 3 sizes; pugmark idtinfo --csv - bench | head -n 3
> good
>   ... and 20 more
> path,value,unit
> instructions,3056,instructions
> blocks,1014,blocks
> block accesses: 3 instructions
> of no bytes: 1 instructions
> references: 103 references
> bytes read: 0 bytes
> path,value,unit
> block_accesses,3,instructions
> of_no_bytes,1,instructions
> path,value,unit
> options,'-c -r,
> blocks,23,blocks
