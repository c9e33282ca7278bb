# tests/trace/crack.t - micro-ops from a program's instructions
# The sample: 1200 instructions of a program, single-stepped. What must hold in every trace, holds.
$ pugmark convert -q --json crack.json $TESTS/data/formats/steps.drmemtrace s.trace; awk -f $TESTS/oracle/penn-invariants.awk s.trace
$ pugmark penn s.trace | tail -2
> Micro-ops: 1594
> Macro-ops: 1200
$ grep -c . s.trace; sed -n '/"cracked"/,/"generic"/p' crack.json
> 1594
>   "cracked": {
>     "instructions": 1200,
>     "uops": 1594,
>     "integer": 1182,
>     "integer_specific": 1182,
>     "other": 18,
>     "other_specific": 18,
>     "unknown": 0,
>     "without_address": 0,
>     "generic": {}
# every reference of the program is a micro-op: loads and stores in the same order with the same addresses
$ pugmark convert -q -t lackey $TESTS/data/formats/steps.drmemtrace - | awk '$1 != "I" { split($2, a, ","); print $1, a[1] }' | sed 's/^\([LS]\) 0*/\1 /' >refs; awk '$8 != "-" { print $8, $10 }' s.trace | cmp - refs
# 32-bit code, from a KT trace
$ pugmark convert -q $TESTS/data/formats/ex-sample.kt k.trace && cat k.trace
> 1 8048100 -1 3 0 - - L 0 8049ff0 8048102 0 MOV LOAD
> 1 8048102 -1 6 44 - - L 0 8049000 8048104 0 MOVS LOAD
> 2 8048102 44 7 -1 - - S 0 804a000 8048104 0 MOVS STORE
> 3 8048102 6 -1 6 R - - 1 0 8048104 0 MOVS ADD_IMM
> 4 8048102 7 -1 7 R - - 1 0 8048104 0 MOVS ADD_IMM
> 5 8048102 1 -1 1 - - - 1 0 8048104 0 MOVS SUB_IMM
> 1 8048104 -1 -1 44 - - - 0 0 8048109 0 CALL SAVE_PC
> 2 8048104 4 -1 4 - - - 4 0 8048109 0 CALL SUB_IMM
> 3 8048104 44 4 -1 - - S 0 bffff7fc 8048109 0 CALL STORE
> 4 8048104 -1 -1 -1 - T - 759 0 8048109 8048400 CALL JMP_IMM
# analyses crack by themselves
$ pugmark uop-mix $TESTS/data/formats/steps.drmemtrace
> Micro-ops: 1594
>
> loads                     255   15.997%
> stores                    190   11.920%
> unconditional              17    1.066%
> conditional               248   15.558%
> other                     884   55.458%
$ cp $TESTS/data/formats/spike.spike .; pugmark penn spike.spike
> Processing trace...
! pugmark: spike.spike: the instruction at 0x80000000 is no x86 instruction; micro-ops need x86 instructions to be cracked from
? 1
