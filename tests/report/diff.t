# needs: gcc
# Two programs of which every count is known: work() executes 2 N + 1 instructions, the rest 5, and what it calls.
$ cat >prog.S <<'END'
+ 	.globl _start
+ 	.type _start, @function
+ _start:
+ 	mov $N, %ecx
+ 	call work
+ 	mov $60, %eax
+ 	xor %edi, %edi
+ 	syscall
+ 	.size _start, . - _start
+ 	.skip PAD, 0x90
+ 	.type work, @function
+ work:
+ 	dec %ecx
+ 	jnz work
+ #ifdef EXTRA
+ 	jmp extra
+ #else
+ 	ret
+ #endif
+ 	.size work, . - work
+ #ifdef EXTRA
+ 	.type extra, @function
+ extra:
+ 	nop
+ 	ret
+ 	.size extra, . - extra
+ #endif
+ END
$ printf 'name=$1; shift; gcc -nostdlib -static -o "$name" "$@" prog.S\n' >build; sh build old -DN=1000 -DPAD=1; sh build new -DN=1010 -DPAD=4096 -DEXTRA; for p in old new; do pugmark run -q --json $p.json --callgrind $p.cg -- ./$p; done; pugmark run -q --json same.json -- ./old
# 2,006 instructions: 5 and 2,001. Then 2,028: 5, 2,021 and 2. Code moved by 4 kB, and a function was added.
$ pugmark diff old.json new.json | sed -n '/^Totals/,/^$/p; /^Functions/,/^$/p' | grep -e instr -e work -e extra -e _start
>   2,006  2,028     +22   +1.1 %  instructions
>   2,001  2,021     +20  +1.0 %  work  old
>       0      2      +2     new  extra  old
$ pugmark diff old.cg new.cg | sed -n '/^Functions/,/^$/p; /^Blocks/,$p' | grep -e work -e extra -e _start
>   2,001  2,021     +20  +1.0 %  work  old
>       0      2      +2     new  extra  old
>   1,000  1,010     +10  +1.0 %  work+0x0  old
>       0      1      +1     new  extra+0x0  old
# No difference, and nothing else is said.
$ pugmark diff --fail-if different old.json same.json | grep -v '^ *[AB]'
> pugmark: differences of two profiles
>
> No difference: 52 numbers are the same.
>
> Conditions
>   holds   different
>           nothing differs
# The status says which conditions hold: +22 is 1.0967 %.
$ for c in 'instructions>+1%' 'instructions>+1.1%' 'instructions>=+22' 'instructions>+22' 'instructions>2027' 'instructions<2000' 'function work instructions>+0.9%' 'function e* instructions>+0' 'function _start instructions>+0' different; do pugmark diff -q --fail-if "$c" old.json new.json; echo "$? $c"; done
> 3 instructions>+1%
> 0 instructions>+1.1%
> 3 instructions>=+22
> 0 instructions>+22
> 3 instructions>2027
> 0 instructions<2000
> 3 function work instructions>+0.9%
> 3 function e* instructions>+0
> 0 function _start instructions>+0
> 3 different
$ pugmark diff --fail-if 'instructions>+1%' --fail-if 'reads>+0' old.json new.json | sed -n '/^Cond/,$p'
> Conditions
>   BROKEN  instructions>+1%
>           instructions: 2,006 to 2,028, +22, +1.1 %
>   holds   reads>+0
>           reads: 1 to 1
# At most 80 columns; the JSON has the same numbers, the page all tables.
$ pugmark diff --json d.json --html d.html old.cg new.cg | awk 'length > 80'; grep -c '"change": 22' d.json; grep -c '</html>' d.html
> 2
> 1
# Misses by line: each of 64 lines of the array is missed once, in another program in half of them.
$ printf 'char a[8192];\nint main(void)\n{\n\tfor (volatile int i = 0; i < LINES; i++)\n\t\ta[64 * i + 64] = 1;\n\treturn 0;\n}\n' >touch.c; for n in 64 32; do gcc -g -O0 -DLINES=$n -o t$n touch.c; pugmark run -q --sim cachegrind --callgrind t$n.cg -- ./t$n; done; pugmark diff --fail-if 'line touch.c:5 D1mw>+0' --measure D1mw t32.cg t64.cg >out; echo $?; sed -n '/^Lines/,/^$/p' out | grep touch.c:5 | tr -s ' '
> 3
>  32 64 +32 +100.0 % touch.c:5
# A trace that differs in one instruction, the 5,001st: that one, and what stands around it.
$ awk 'BEGIN { for (i = 0; i < 9000; i++) printf "2 %x\n", 4096 + 4 * i }' >a.din; sed '5001s/.*/2 abc/' a.din >b.din; pugmark diff --fail-if different a.din b.din | sed -n '/^Thread/,/^$/p'; pugmark diff -q --fail-if different a.din b.din
> Thread 0: the first difference is event 5,001, instruction 5,000
>     both        4,996  insn 0x5e10 4
>     both        4,997  insn 0x5e14 4
>     both        4,998  insn 0x5e18 4
>     both        4,999  insn 0x5e1c 4
>     A           5,000  insn 0x5e20 4
>     A           5,001  insn 0x5e24 4
>     A           5,002  insn 0x5e28 4
>     A           5,003  insn 0x5e2c 4
>     B           5,000  insn 0xabc 4
>     B           5,001  insn 0x5e24 4
>     B           5,002  insn 0x5e28 4
>     B           5,003  insn 0x5e2c 4
>
? 3
# One that ends earlier; and the same twice, also from a pipe.
$ head -n 8999 a.din >c.din; pugmark diff a.din c.din | sed -n '/^Thread/,$p'; pugmark diff --fail-if different - a.din <a.din | grep 'No diff'
> Thread 0: the first difference is event 9,000, instruction 8,999
>     both        8,995  insn 0x9c8c 4
>     both        8,996  insn 0x9c90 4
>     both        8,997  insn 0x9c94 4
>     both        8,998  insn 0x9c98 4
>     A           8,999  insn 0x9c9c 4
>     B                  ends here
> No difference: 9,001 events are the same.
# Of a real run: where control parts is the end of the shorter loop, instruction 1 + 1 + 2 * 1,000.
$ sh build late -DN=1010 -DPAD=1; for p in old late; do pugmark run -q --exec -o $p.pug -- ./$p; done; pugmark diff --events branch old.pug late.pug | sed -n '/^Thread/,$p' | grep -e '^Thread' -e '   [AB]  ' | sed 's/tid [0-9]* in A, [0-9]* in B/tids/'
> Thread 0  (tids): the first difference is event 1,000
>     A                  branch 0x401016 2 target=0x401014 flags=cond
>     A                  branch 0x401018 1 target=0x40100a flags=taken,indirect...
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=taken,cond
>     B                  branch 0x401016 2 target=0x401014 flags=cond
>     B                  branch 0x401018 1 target=0x40100a flags=taken,indirect...
$ pugmark run -q --exec -o old2.pug -- ./old; pugmark diff --fail-if different old.pug old2.pug | grep 'No diff'
> No difference: 3,020 events are the same.
# What cannot be compared is said in one sentence, with the file.
$ head -c 300 old.json >cut.json; head -c 200 old.cg >cut.cg; head -c 300 old.pug >cut.pug; echo '{"a": 1}' >no.json; echo '{"schema": {"name": "pugmark.sim", "version": 1}, "x": 1}' >sim.json
+ for ab in 'old.json old.cg' 'old.cg old.pug' 'old.json cut.json' 'old.json no.json' 'old.json sim.json' 'old.json nosuch' 'nosuch old.json' 'old.pug touch.c'; do pugmark diff $ab >/dev/null; echo "$?"; done; pugmark diff old.pug cut.pug 2>err >out; echo $?; sed 's/:0x[0-9a-f]*:/:0x#:/' err
> 1
> 1
> 1
> 1
> 1
> 1
> 1
> 1
> 1
> pugmark: cut.pug:0x#: the trace is cut here, after 0 instructions
! pugmark: old.cg: a stored profile cannot be compared with old.json, which is a JSON document
! pugmark: old.pug: a trace cannot be compared with old.cg, which is a stored profile
! pugmark: cut.json:14: expected ',' or '}'
! pugmark: no.json: expected a document that names its schema, "pugmark.*"; what a command writes with --json does
! pugmark: sim.json: cannot be compared: old.json is a profile, this is a sim
! pugmark: nosuch: cannot open: No such file or directory
! pugmark: nosuch: cannot open: No such file or directory
! pugmark: touch.c: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
# Conditions that make no sense are usage errors, and say what would.
$ for c in instructions 'instructions>' 'instrutions>+1' 'function mian instructions>1' 'nosuch x y>1'; do pugmark diff -q --fail-if "$c" old.json new.json; echo $?; done
> 2
> 2
> 2
> 2
> 2
! pugmark: condition 'instructions': expected 'different', or a measure, '<' or '>', and a bound, as in 'instructions>+1%' or 'function main instructions>+1000'
! pugmark: condition 'instructions>': expected a bound: [+|-]NUMBER, and % only behind a change, as in 'instructions>+1%' or 'function main instructions>+1000'
! pugmark: condition 'instrutions>+1': there is no total 'instrutions' on both sides; did you mean 'instructions'?
! pugmark: condition 'function mian instructions>1': no function is called 'mian'
! pugmark: condition 'nosuch x y>1': there is no table 'nosuch'; there are: mix, classes, objects, functions, blocks, processes, threads, times
# So is a measure that no table has, and --events of what is no trace. What is not a trace is not read from a pipe.
$ pugmark diff --measure instrutions old.json new.json; echo $?; pugmark diff -q --measure instructions old.cg new.cg; echo $?; pugmark diff --events insn old.json new.json; echo $?; pugmark diff - new.json <old.json; echo $?
> 2
> 0
> 2
> 1
! pugmark: --measure: no table has 'instrutions' on both sides; did you mean 'instructions'?
! pugmark: --events is for traces (see `pugmark diff --help`)
! pugmark: -: from a pipe only a trace can be compared; new.json is a JSON document
# Numbers of a part of a trace are no side of a comparison.
$ head -c 700 "$TESTS/data/blocks.pug" >cut.pug; pugmark sim -q --cache l1d=1k --json cut.json cut.pug 2>/dev/null >&2; pugmark sim --cache l1d=1k --json whole.json "$TESTS/data/blocks.pug" >whole; pugmark diff --fail-if 'misses>+1%' whole.json cut.json
! pugmark: cut.json: its numbers are of a part of a trace: the trace is cut here, after 400 instructions
? 1
