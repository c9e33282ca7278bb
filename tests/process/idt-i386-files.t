# Instrumented 32-bit executables: how they end, what is refused, and their files. As idt.t has it of 64-bit ones.
# needs: $PROGRAMS/i386/exits
# if: "$TESTS/can-32-bit"
# timeout: 240
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for how in 0 3 _exit thread last abort kill term segv jump fpe ill unmapped; do "$I" exits $how 2>/dev/null; done
> equal: status 0, 2 lines
> equal: status 3, 2 lines
> equal: status 12, 1 lines
> equal: status 23, 1 lines
> equal: status 0, 2 lines
> equal: status 134, 2 lines
> equal: status 137, 2 lines
> equal: status 143, 2 lines
> equal: status 139, 2 lines
> equal: status 139, 2 lines
> equal: status 136, 2 lines
> equal: status 132, 2 lines
> equal: status 15, 1 lines
$ export PROGRAMS=$PROGRAMS/i386; I=$TESTS/process/instrumented; for p in exceptions exceptions-static segv-nopie threads threads-static forks timer many; do "$I" $p; done
> equal: status 21, 9 lines
> equal: status 21, 9 lines
> equal: status 0, 5 lines
> equal: status 0, 6 lines
> equal: status 0, 6 lines
> equal: status 0, 10 lines
> equal: status 0, 1 lines
> equal: status 0, 1 lines
# Killed on its way: what was executed is there.
$ cp $PROGRAMS/i386/exits ends; pugmark idt -e ends; for how in 0 abort term segv; do rm -f ends.trc ends.cnt n; ./ends.idt $how >/dev/null 2>&1; test -s ends.trc && test -s ends.cnt && pugmark dump -f idt-exec ends.trc | grep -c ' insn ' >n; awk '{ print ($1 > 50000 ? "many" : $1) }' n; done
> many
> many
> many
> many
# Hints: all of them, in all kinds of traces; then tracing from one place to another.
$ cat >hinted.S <<'END'
+ 	.globl	_start, table, main, leave
+ _start:	call	main
+ after:	call	leave
+ main:	mov	$2, %ecx
+ again:	mov	table(,%ecx,4), %eax
+ 	jmp	*%eax
+ one:	dec	%ecx
+ 	jmp	again
+ two:	dec	%ecx
+ 	jmp	again
+ zero:	ret
+ leave:	mov	$1, %eax
+ 	xor	%ebx, %ebx
+ 	int	$0x80
+ 	.section .rodata
+ table:	.long	zero, one, two
+ END
$ gcc -m32 -nostdlib -static -Wl,--build-id=none -o hinted hinted.S; at() { echo 0x$(nm hinted | awk -v s=$1 '$3 == s { print $1 }'); }; printf 'main_call %s\nexit_call %s\njtab %s 3\ncurbrk_addr 0x10\n' $(at _start) $(at after) $(at table) >hints; for k in -p -b -c -e; do rm -f hinted.cnt hinted.trc; pugmark idt $k -H hints hinted; ./hinted.idt; echo $? $(pugmark vcount --json - hinted | grep '"instructions"' | tr -dc 0-9); done
> 0 17
> 0 17
> 0 17
> 0 17
$ at() { echo 0x$(nm hinted | awk -v s=$1 '$3 == s { print $1 }'); }; printf 'trace_beg %s\ntrace_end %s\n' $(at main) $(at leave) >hints; for k in -b '-c -r' -s; do rm -f hinted.cnt hinted.trc; pugmark idt $k -H hints hinted; ./hinted.idt; echo $? $(pugmark vcount --json - hinted | grep '"instructions"' | tr -dc 0-9) $(pugmark dump hinted.trc 2>/dev/null | grep -c -E ' block | line '); done
> 0 12 6
> 0 12 9
> 0 12 0
$ printf 'jtab 0x8049000 99999\n' >hints; pugmark idt -H hints hinted
! pugmark: hints:1: 0x8049000 is not in the program's data
? 1
$ printf 'trace_beg 0x10\n' >hints; pugmark idt -H hints hinted
! pugmark: hints:1: 0x10 is not in the program's text
? 1
# What cannot be instrumented.
$ cp $PROGRAMS/i386/libthrow.so lib; pugmark idt lib
! pugmark: lib: it has no entry point in its text: it is no program, but perhaps a library
? 1
$ pugmark idt -B 3 hinted
! pugmark: hinted: it has 9 blocks, more than the 3 allowed: -B 9 is needed
? 1
$ cat >taken.S <<'END'
+ 	.globl	_start
+ _start:	mov	$1, %eax
+ 	int	$0x80
+ END
$ gcc -m32 -nostdlib -static -Wl,-Ttext-segment=0x31000000 -o taken taken.S; pugmark idt taken
! pugmark: taken: it occupies addresses that tracing needs (0x20000000-0x51000000)
? 1
# Counts of another program, and a counter file that is cut off.
$ pugmark idt hinted; ./hinted.idt; cp hinted.cnt good; head -c 24 /dev/zero | tr '\0' x >hinted.cnt; pugmark vcount hinted 2>&1 | sed 's/ expected.*//'
> pugmark: hinted.cnt:0x0: these are the counts of another program:
$ head -c 24 good >hinted.cnt; pugmark vcount hinted
! pugmark: hinted.cnt:0x18: expected 9 counters, found 4: the file is cut off
? 1
# A library that is not the one that was there, an image that belongs to another program.
$ rm exceptions; cp $PROGRAMS/i386/exceptions .; cp $PROGRAMS/i386/libthrow.so keep.so; rm -f libthrow.so; cp keep.so libthrow.so; LD_LIBRARY_PATH=. pugmark idt exceptions && LD_LIBRARY_PATH=. ./exceptions.idt >/dev/null; echo $?
> 21
$ at=$(readelf -lW libthrow.so | sed -n 's/ *LOAD *\(0x[0-9a-f]*\) .* R E .*/\1/p'); printf x | dd of=libthrow.so bs=1 seek=$((at + 8)) conv=notrunc status=none; LD_LIBRARY_PATH=. ./exceptions.idt 2>err; echo $?; sed 's,/.*/,DIR/,' err
> 125
> pugmark: DIR/libthrow.so: it is not the file that was there when the program was instrumented
$ cp keep.so libthrow.so; for f in exceptions.idt.d/*; do printf xxxxxxxx | dd of=$f bs=1 seek=8 conv=notrunc status=none; done; LD_LIBRARY_PATH=. ./exceptions.idt 2>err; echo $?; sed 's,/.*/[0-9a-f]*,DIR/KEY,' err
> 125
> pugmark: DIR/KEY: it does not belong to this instrumented program
# A full disk: said once, and the program goes on.
$ mkdir full && cd full && cp ../hinted . && pugmark idt -b hinted && ln -s /dev/full hinted.trc && ./hinted.idt 2>err; echo $?; sort -u err | sed 's,: /.*/,: DIR/,'
> 0
> pugmark: cannot write the trace: DIR/hinted.trc
# Through a FIFO.
$ pugmark idt -b hinted; rm -f hinted.trc; mkfifo hinted.otr; ./hinted.idt & pugmark vtrace hinted | grep -c block; wait; rm hinted.otr
> 9
