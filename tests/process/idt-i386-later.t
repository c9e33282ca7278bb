# Code that could not be known when a 32-bit program was instrumented: as idt-later.t has it of 64-bit ones.
# if: { ! nm -D "$(command -v pugmark)" | grep -q ' U __tsan' || { echo 'the thread sanitizer leaves too few addresses'; false; }; } && "$TESTS/can-32-bit"
# timeout: 240
$ gcc -m32 -O1 -o later "$TESTS/process/later.c" -ldl; for k in -p -b -c -e; do pugmark idt $k later; ./later >want; ./later.idt >got; echo $? $(cmp want got && grep -c '^@' later.mod) $(pugmark idtinfo later | grep -c good); done
> 0 1 4
> 0 1 4
> 0 1 4
> 0 1 4
$ env -i PATH=/nowhere ./later.idt 2>err; echo $?; sed 's/0x[0-9a-f]*/ADDRESS/' err
> 125
> pugmark: control reaches ADDRESS, which is not in the instrumented program and could not be known ahead of time
$ env -i PUGMARK="$(command -v pugmark)" ./later.idt | cmp - want
$ "$TESTS/process/same" later
> same output
> later: same events
> many
> 0
# What is there of it is what the processor executes, one instruction after the other.
$ "$TESTS/oracle/compare-idt" $PWD/later | sed 's/[0-9]* ins.*/and more/'
> equal: and more
# Code on the stack, on the heap, in data; rewritten; libraries that come and go: in each kind of trace.
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for k in '-p smc' '-e smc' '-p dl' '-b dl' '-p old' '-e old' '-c old'; do rm -f ${k#* }.idt; "$I" -o $k; done
> equal: status 0, 12 lines
> equal: status 0, 12 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
$ cp $PROGRAMS/i386/old mine; "$TESTS/process/same" mine; pugmark vcount --json - mine | grep '"instructions"' | tr -dc 0-9; echo; pugmark idt2kt mine; pugmark dump mine.kt | grep -c ' insn '
> same output
> mine: same events
> 71
> 0
> 71
> 71
$ pugmark vtrace mine | grep -c ' block '; grep -c 'gen$' mine.mod
> 26
> 4
# Two processes that get there one after the other, without having the translator from the same parent. The counts of
# the one that ended first are shorter.
$ gcc -m32 -O1 -o two "$TESTS/process/two.c" -ldl; pugmark idt -e two; ./two.idt; for t in two.trc*; do pugmark info -f idt-exec:modules=two.mod,blk=two.blk $t >said 2>&1 && echo good || cat said; done; for f in two.cnt two.cnt.*; do cp $f x; mv x two.cnt; [ $(pugmark vcount --json - two | grep '"instructions"' | tr -dc 0-9) = $(pugmark dump -f idt-exec:modules=two.mod,blk=two.blk two.trc${f#two.cnt} | grep -c ' insn ') ] && echo as many; done
> 0.909
> 1.000
> -0.416
> good
> good
> good
> as many
> as many
> as many
# A jump into the middle of a block.
$ cat >middle.S <<'END'
+ 	.globl	_start
+ _start:	mov	$5, %ebx
+ 	xor	%ecx, %ecx
+ again:	lea	block, %edx
+ 	add	%ecx, %edx
+ 	mov	$1, %esi
+ 	jmp	*%edx
+ block:	inc	%esi
+ 	nop
+ 	inc	%esi
+ 	nop
+ 	inc	%esi
+ 	nop
+ 	add	%esi, %ebx
+ 	add	$2, %ecx
+ 	cmp	$8, %ecx
+ 	jne	again
+ 	mov	$1, %eax
+ 	int	$0x80
+ END
$ gcc -m32 -nostdlib -static -Wl,--build-id=none -o middle middle.S; ./middle; echo $?; for k in -p -b -e; do pugmark idt $k middle; ./middle.idt; echo $? $(pugmark vcount --json - middle | grep '"instructions"' | tr -dc 0-9); done; "$TESTS/process/same" middle | sed 1d
> 15
> 15 48
> 15 48
> 15 48
> middle: same events
> 48
> 0
