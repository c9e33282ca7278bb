# Execution and branch traces of 32-bit programs: 32-bit records, addresses modulo 2^32.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
# timeout: 240
# In order, with addresses, against the single-stepper: cold, then with the cache's translations.
$ for i in cold warm; do "$TESTS/oracle/compare-stream" "$PROGRAMS/i386/refs"; "$TESTS/oracle/compare-stream" "$PROGRAMS/i386/old"; done
> equal: 265 instructions
> 222 references
> equal: 71 instructions
> 28 references
> equal: 265 instructions
> 222 references
> equal: 71 instructions
> 28 references
# Gathers and scatters, some of which fault on their way.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/i386/gathers" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
$ "$TESTS/oracle/compare-stream" -f "$PROGRAMS/i386/cuts" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
> equal: N instructions
> N references
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/i386/odd" | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
# Code that uses the register in which the cursor is kept, also with signals everywhere.
$ "$TESTS/oracle/compare-stream" "$PROGRAMS/i386/cursor" 20 | sed 's/[0-9][0-9]*/N/'
> equal: N instructions
> N references
# (several times: a signal that comes just before an instruction is executed in place is rare)
$ "$PROGRAMS/i386/cursor" > native; for o in --branch --branch --branch --branch --branch --branch --exec; do pugmark run -q $o --count --json /dev/null -- "$PROGRAMS/i386/cursor" | cmp - native; done
# Of a thread that is killed nothing is lost: it wrote (modified) at least as often as the program says.
$ pugmark run -q --exec --count --json n.json -- "$PROGRAMS/i386/cursor" killed > said
+ (pugmark run -q --exec --count --json k.json -- "$PROGRAMS/i386/cursor" killed hard > hard; echo $?) 2> /dev/null
+ for i in "n.json said" "k.json hard"; do set -- $i; sed -n 's/^ *"modify": \([0-9]*\).*/\1/p' $1 | sort -n | tail -n 1 |
+ awk -v said="$(cat $2)" '{ print ($1 >= said && said >= 5000) }'; done
> 137
> 1
> 1
# Equal numbers cold, warm, without a cache, and for all kinds.
$ for o in --exec --exec "--exec --no-cache" --branch --branch; do
+ pugmark run -q $o --count --json - -- "$PROGRAMS/i386/args" x | sed -n '/^{/,$s/^ *"instructions": \([0-9]*\),/\1/p' | sort -u; done | uniq -c | sed 's/ [0-9]*$//; s/ //g'
> 5
# What the program does is what it does untraced.
$ for p in signals faults smc segv dl threads-static; do "$TESTS/process/both" -o '-t pug --exec' i386/$p; done | sed 's/, .*//' | uniq -c | sed 's/^ *//'
> 6 equal: status 0
# Stored and read back, a trace is the same; more than all buffers of a thread hold.
$ pugmark run -q -o a.pug --sink dump:live.txt --exec -- "$PROGRAMS/i386/args" x > /dev/null && pugmark dump a.pug > stored.txt && cmp live.txt stored.txt && pugmark verify a.pug | grep wrong; pugmark info a.pug | grep isa
>   isa           x86-32
# Buffers that run full within a record go on in the next one.
$ n=$(pugmark run -q --exec --count --csv - -- "$PROGRAMS/i386/many" 2>&1 | sed -n 's/^count.instructions,\([0-9]*\),.*/\1/p'); [ "$n" -gt 100000 ] && echo good
> good
# A program that goes from one width to the other.
$ pugmark run -q --exec --count --csv - -- /bin/sh -c '"$PROGRAMS/i386/old"; exec "$PROGRAMS/i386/refs"' | sed -n 's/^count.streams.[0-9].*instructions,\(71\|265\),.*/\1/p' | sort -n
> 71
> 265
# IDtrace's own formats are those of 32-bit programs.
$ pugmark run -q --exec -t idt-exec -o refs.trc -- "$PROGRAMS/i386/refs"; pugmark info refs.trc | grep -E '^ *(format|instructions)'; wc -c < refs.blk
> format          idt-exec
>   instructions  265
>     instructions 265
> 528
# In DynamoRIO's format a 32-bit program's trace says so, and has entries of 8 bytes: inc and dec are no prefixes when it
# is read back; sysenter is an instruction of its own type.
$ pugmark run -q -o refs.pug -- "$PROGRAMS/i386/refs" > said; pugmark convert -q refs.pug refs.drmemtrace; od -An -tx4 -j20 -N4 refs.drmemtrace | sed 's/^ *0*//'
+ for f in refs.pug refs.drmemtrace; do pugmark dump $f | awk '$2 == "insn" { print $3, $4 }' > $f.insns; pugmark sim -s insns --csv - $f > $f.mix; done; cmp refs.pug.insns refs.drmemtrace.insns; cmp refs.pug.mix refs.drmemtrace.mix; grep -c '^insns' refs.pug.mix | awk '{ print ($1 > 9) }'; rm *
> 620
> 1
$ perl -e 'print pack "(v v Q<)*", 25, 0, 6, 28, 12, 6, 28, 9, 0x220, 22, 4, 5, 24, 4, 5, 47, 2, 0x340f, 31, 2, 0x1000, 47, 1, 0x90, 10, 1, 0x1002, 23, 4, 5, 44, 0, 0' > s.drmemtrace; pugmark convert -q s.drmemtrace s.pug && pugmark convert -q s.pug t.drmemtrace && od -An -v -w12 -tu2 t.drmemtrace | awk '$1 == 31 || $1 == 10 { print $1, $2, $3 }'; rm *
> 31 2 4096
> 10 1 4098
