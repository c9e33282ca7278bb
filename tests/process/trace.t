# Execution and branch traces while a program runs.
# In order, with addresses, against the single-stepper; forks, faults in the middle of blocks.
$ for i in cold warm; do "$TESTS/oracle/compare-stream" -f "$PROGRAMS/bare"; done
> equal: 3056 instructions
> 110 references
> equal: 5 instructions
> 0 references
> equal: 3056 instructions
> 110 references
> equal: 5 instructions
> 0 references
$ "$TESTS/oracle/compare-stream" -f "$PROGRAMS/cuts" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
> equal: N instructions
> N references
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/faults-static" beyond | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
# Addresses of registers of which the trace has only 32 bits, or others that they follow from.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/halves" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
# Loops that are entered in their middle, with faults in every turn; what one turn after the other writes is little.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/loops" | sed 's/[0-9][0-9]*/N/'
+ pugmark run -q --exec --count --csv n.csv -- "$PROGRAMS/loops" long > said; awk -F, '{ v[$1] = $2 } END { print (v["count.instructions"] > 2e6), (v["trace_bytes"] > 2e6), (v["trace_bytes"] <= 2.3 * v["count.instructions"]) }' n.csv; rm *
> equal: N instructions
> N references
> 1 1 1
# Code that uses the register in which the cursor is kept, also with signals everywhere.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/cursor" 300 | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
$ "$PROGRAMS/cursor" > native; for o in --branch --exec; do pugmark run -q $o --count --json /dev/null -- "$PROGRAMS/cursor" | cmp - native; done
# Of a thread that is killed nothing is lost: it wrote (modified) at least as often as the program says.
$ pugmark run -q --exec --count --json n.json -- "$PROGRAMS/cursor" killed > said
+ (pugmark run -q --exec --count --json k.json -- "$PROGRAMS/cursor" killed hard > hard; echo $?) 2> /dev/null
+ for i in "n.json said" "k.json hard"; do set -- $i; sed -n 's/^ *"modify": \([0-9]*\).*/\1/p' $1 | sort -n | tail -n 1 |
+ awk -v said="$(cat $2)" '{ print ($1 >= said && said >= 50000) }'; done; rm *
> 137
> 1
> 1
# Gathers, scatters, x87 and xsave areas, bit strings; string instructions and accesses that fault on their way.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/touches" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
# What instructions that did not complete referred to belongs to no other one: formats that tell references by
# instruction do without.
$ for t in pug idt-exec64; do pugmark run -q --exec -t $t -o t.trc64 -- "$PROGRAMS/touches" > said; pugmark dump t.trc64 | awk '$2 == "insn" { n++ } END { print n }'; done | uniq | wc -l; rm *
> 1
# Threads in order: each has its own stream.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/handover" 20 | sed 's/[0-9][0-9]*/N/' | sort | uniq -c | sed 's/^ *//'
> 4 N references
> 4 equal: N instructions
# Instructions that the decoder does not know, and one that the processor does not know either.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/unknown" | sed 's/[0-9][0-9]*/N/'
+ pugmark run -q --exec -o u.pug --sink dump:u -- "$PROGRAMS/unknown" > said && pugmark dump u.pug | cmp - u && grep -c ' bytes=660f1ac[456]$' u | sed 's/^0$/30/'; rm *
> equal: N instructions
> N references
> 30
# Equal numbers cold, warm, without a cache, and for all kinds.
$ for o in --exec --exec "--exec --no-cache" --branch --branch; do
+ pugmark run -q $o --count --json - -- "$PROGRAMS/args" x | sed -n '/^{/,$s/^ *"instructions": \([0-9]*\),/\1/p' | sort -u; done | uniq -c | sed 's/ [0-9]*$//; s/ //g'
> 5
# Stored and read back, a trace is the same, also in another format; 4 MiB are more than a buffer.
$ head -c 40000 /bin/sh > in
+ pugmark run -q -o a.pug --sink dump:live.txt --exec -- gzip -c in > in.gz && pugmark dump a.pug > stored.txt && cmp live.txt stored.txt && pugmark verify a.pug > /dev/null && gzip -dc in.gz | cmp - in && ls
> a.pug
> in
> in.gz
> live.txt
> stored.txt
$ perl -e 'print $_ * 7919 % 10007, " line $_\n" for 0 .. 799' > in
+ same() { pugmark run -q -o b.pug --sink dump:live.txt --exec -- "$@" > said && pugmark dump b.pug | cmp - live.txt && awk '$2 == "insn" { n++ } END { print (n > 1000000) }' live.txt; }
+ same perl -e '$SIG{USR1} = sub { $n++ }; for (1 .. 100) { kill "USR1", $$ } print "$n\n"'; same zstd -q -5 -T2 -c in; rm b.pug live.txt said
> 1
> 1
$ head -c 10000 /bin/sh > in; pugmark run -q --exec -o a.pug --sink count -s cache --json run.json -- gzip -c in > /dev/null &&
+ pugmark sim -s cache --json sim.json a.pug > /dev/null && sed -n '/"cache"/,/^  }/p' sim.json | tr -d , > a && sed -n '/"cache"/,/^  }/p' run.json | tr -d , > b && [ -s a ] && diff a b
# Threads: a stream each, all of them complete.
$ pugmark run -q --branch --count --json - -- "$PROGRAMS/threads" | grep -c '"tid"' | awk '{ print ($1 > 4) }'
> 1
# Cache lines: fewer of larger ones, and of all of 64 bytes by default.
$ for l in --cache --cache=64 --cache=16; do pugmark run -q $l --count --csv - -- "$PROGRAMS/bare" | sed -n 's/^count.kinds.line,//p'; done
> 11,events
> 11,events
> 20,events
# Regions. (bare's child executes 5 instructions at any time: in a region, or between two.)
$ r() { pugmark run -q --exec --count --csv - "$@" | sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p'; }
+ r -- "$PROGRAMS/bare"; r --for 10 --every 100 -- "$PROGRAMS/bare" | sed 's/^318$/323/'; r --exclude-lib bare -- "$PROGRAMS/bare"
+ all=$(r -- "$PROGRAMS/args" x) main=$(r --start-at main -- "$PROGRAMS/args" x) none=$(r --start-at nothing_like_it -- "$PROGRAMS/args" x 2> said)
+ own=$(r --exclude-lib libc --exclude-lib ld -- "$PROGRAMS/args" x) before=$(r --stop-at main -- "$PROGRAMS/args" x)
+ [ "$main" -gt "$own" ] && [ "$own" -gt 100 ] && [ "$none" = 0 ] && [ $((before + main)) = "$all" ] && echo good
> 3061
> 323
> 0
> good
# They are pieces of the whole trace, each where it says by what was left out before it, and begin with the block that
# is due: what nobody wants is counted by chains of blocks, but no further than to where something is wanted.
$ head -c 6000 /bin/sh > in; full() { env -i "PATH=$PATH" "XDG_CACHE_HOME=$XDG_CACHE_HOME" "$(command -v pugmark)" run -q --exec --fix-random "$@" -- gzip -c in > /dev/null; }
+ regions() { full --sink dump:part "$@"; awk '
+ $2 == "insn" && FILENAME == "all" { all[n++] = $0 }
+ $2 == "lost" { sub(/.*=/, ""); at += $0; if (!k++) first = at }
+ $2 == "insn" && FILENAME == "part" { if (all[at++] != $0) bad++; m++ }
+ END { print bad + 0, k, (n > 800000), first, m }' all part; }
+ full --sink dump:all
+ regions --after 300000 --for 1000 --every 50000 | awk '{ print $1, ($2 > 10), $3, ($4 >= 300000 && $4 < 300127), ($5 > 873 * $2 && $5 < 1127 * $2) }'
+ regions --after 500000 --for 100000 | awk '{ print $1, $2, $3, ($4 >= 500000 && $4 < 500127), ($5 > 100000 - 127 && $5 < 100127) }'
+ regions --exclude-lib libc | awk '{ print $1, ($2 > 100), $3, ($5 > 10000) }'; rm all part
> 0 1 1 1 1
> 0 1 1 1 1
> 0 1 1 1
# Outside, code runs that only counts, and the buffers stay empty; what is in the regions is the same as if there were
# records of everything: at the beginning, far away, in samples, around signals, from a function on.
$ work='for (1 .. 9) { for $j (1 .. 30000) { $k += $j } '; bytes() { pugmark run -q --exec "$@" --count --csv - -- perl -e "$work }" | sed -n 's/^trace_bytes,\([0-9]*\),.*/\1/p'; }
+ all=$(bytes) none=$(bytes --after 1000000000 2> said) some=$(bytes --for 1000 --every 9000000); [ $((8 * some)) -lt $all ] && [ $none -lt 65536 ] && echo $((all > 20000000))
+ both() { for i in 0 1; do env -i "PATH=$PATH" "XDG_CACHE_HOME=$XDG_CACHE_HOME" PERL_HASH_SEED=0 PUGMARK_NO_COUNTING=$i "$(command -v pugmark)" run -q --exec --fix-random --sink dump:all $1 -- perl -e "$2"
+ awk '$2 !~ /^(time|sys|exec)/' all > $i; done; cmp 0 1 && grep -c ' insn ' 0 | awk '{ print ($1 > 90) }'; }
+ both "--after 1 --for 100 --every 5000000" "$work }"; both "--for 1000 --after 4321" "$work }"
+ both "--after 5000000 --for 10000" "$work }"; both "--start-at 7654321 --stop-at 8000000" "$work }"
+ both "--start-at exit --for 200" "$work }"; both "--stop-at exit --after 5000000 --for 1000" "$work }"
+ both "--start-at SIGUSR1 --after 5500000 --for 1000" "\$SIG{USR1} = sub { \$n++ }; $work kill 'USR1', \$\$ }"; rm -f all 0 1
> 1
> 1
> 1
> 1
> 1
> 1
> 1
> 1
$ pugmark run --for 10 -- "$PROGRAMS/bare"
! pugmark: regions are for traces: --branch, --cache or --exec (see `pugmark run --help`)
? 2
$ pugmark run --exec --start-at SIGNOTHING --count -- "$PROGRAMS/bare"
! pugmark: --start-at and --stop-at want a function, 0xADDRESS, a number of instructions or SIGNAME (see `pugmark run --help`)
? 2
# (4) of consume/trace_state.h, a full disk: the program does not notice, the status tells, what was written can be read.
$ head -c 300000 /bin/sh > in; pugmark run -q --exec -t pug -o /dev/full -- sh -c 'gzip -c < in | gzip -dc | cmp - in && echo equal; exit 3'
> equal
! pugmark: /dev/full: cannot write: No space left on device
? 1
# A program that writes into the buffers harms its trace, nobody else.
$ pugmark run -q --exec --count -- "$PROGRAMS/scribble"
> done
! pugmark: the trace buffer of a traced process is damaged: a block that does not exist
? 1
$ for what in bytes records places full mail requests header; do for seed in 1 2 3 4; do
+   timeout -s KILL 60 pugmark run -q --exec --count -- "$PROGRAMS/scribble" $what $seed > out 2> err; s=$?
+   [ $s -le 1 ] && grep -qx done out && [ $(grep -c . err) = $s ] || echo "$what $seed: $s $(cat out err)"
+ done; done
# Two threads do so while tracing goes on. The program ends as it would, and when it is told to. Which of its words are met first
# is chance: so is what is wrong with them.
$ for kind in --branch --exec; do for sink in --count "-o a.pug"; do for on in "" on; do
+   timeout -s KILL 60 timeout --preserve-status -s TERM $([ "$on" ] && echo 2 || echo 50) pugmark run -q $kind $sink -- "$PROGRAMS/scribble" threads 5 $on 2> err
+   echo "$? $(sed 's/damaged: .*/damaged/' err)"; done; done; done | sort | uniq -c | sed 's/^ *//'; rm err
> 8 1 pugmark: the trace buffer of a traced process is damaged
> 8 done
$ pugmark run -q --discard -- sh -c 'exit 7'
? 7
# The same without the generated code that makes events of records.
$ for i in bare "cursor-static 3"; do PUGMARK_NO_EXPANDER=1 "$TESTS/oracle/compare-stream" $(echo "$PROGRAMS/$i") | sed 's/[0-9][0-9]*/N/'; done
> equal: N instructions
> N references
> equal: N instructions
> N references
# Times: when each buffer was full, and the end; a trace says how long it took, and is sliced by time.
$ head -c 40000 /bin/bash > in; pugmark run -q -o a.pug --exec -- gzip -9c in > /dev/null; pugmark info --json a.json a.pug
+ s=$(sed -n 's/^ *"duration_s": \([0-9.]*\).*/\1/p' a.json); n() { pugmark info --json - "$1" | sed -n 's/^ *"instructions": \([0-9]*\).*/\1/p' | head -n 1; }
+ pugmark slice --time 0-$(awk -v s="$s" 'BEGIN { printf "%d", s * 5e8 }') a.pug half.pug; awk -v s="$s" -v a=$(n a.pug) -v h=$(n half.pug) 'BEGIN { print (s > 0.01 && h > 0 && h < a) }'
+ pugmark verify a.pug | awk '$1 == "time" { print $2, ($3 > 10) }'; rm *
> 1
> good: 1
