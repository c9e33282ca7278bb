# Instrumented executables do what their originals do, and count it.
$ I=$TESTS/process/instrumented; "$I" bare; "$I" threads-static; "$I" exceptions-static
> equal: status 0, 1 lines
> equal: status 0, 6 lines
> equal: status 21, 9 lines
$ I=$TESTS/process/instrumented; "$I" signals-static-pie; "$I" forks-musl-static; "$I" vector-static
> equal: status 0, 15 lines
> equal: status 0, 10 lines
> equal: status 0, 7 lines
$ I=$TESTS/process/instrumented; "$I" exits 0; "$I" exits 3; "$I" exits _exit; "$I" exits thread; "$I" exits last
> equal: status 0, 2 lines
> equal: status 3, 2 lines
> equal: status 12, 1 lines
> equal: status 23, 1 lines
> equal: status 0, 2 lines
$ I=$TESTS/process/instrumented; for how in abort kill term segv jump fpe ill unmapped; do "$I" exits $how 2>/dev/null; done
> equal: status 134, 2 lines
> equal: status 137, 2 lines
> equal: status 143, 2 lines
> equal: status 139, 2 lines
> equal: status 139, 2 lines
> equal: status 136, 2 lines
> equal: status 132, 2 lines
> equal: status 15, 1 lines
$ I=$TESTS/process/instrumented; "$I" exceptions; "$I" jumps-stripped; "$I" segv-nopie
> equal: status 21, 9 lines
> equal: status 0, 6 lines
> equal: status 0, 5 lines
$ I=$TESTS/process/instrumented; "$I" threads; "$I" faults; "$I" odd; "$I" seccomp; "$I" timer
> equal: status 0, 6 lines
> equal: status 0, 51 lines
> equal: status 0, 7 lines
> equal: status 0, 3 lines
> equal: status 0, 1 lines
# Bare assembler: 3056 instructions, counted by hand, and 5 of a child with files of its own.
$ rm -f bare.cnt64*; ./bare.idt; pugmark vcount --json - bare | grep '"instructions"' | tr -dc 0-9; echo; for f in bare.cnt64.*; do mv $f bare.cnt64; done; pugmark vcount --json - bare | grep '"instructions"' | tr -dc 0-9
> good
> 3056
>- 5
$ pugmark idtinfo bare | grep -c good
> 4
# Hints: where to begin and to end; what contradicts the program.
$ cp bare hinted; printf 'trace_beg 0x4010b3\ntrace_end 0x4010ba\n' >hints; pugmark idt -H hints hinted; ./hinted.idt; pugmark vcount --json - hinted | grep '"instructions"' | tr -dc 0-9
> good
>- 4
$ echo 'nonsense 1' >hints; pugmark idt -H hints hinted
! pugmark: hints:1: expected a hint like 'trace_beg ADDRESS', found 'nonsense'
? 1
$ printf '# text\ntrace_beg 0x10\n' >hints; pugmark idt -H hints hinted
! pugmark: hints:2: 0x10 is not in the program's text
? 1
$ echo 'main_call 0x401000' >hints; pugmark idt -H hints hinted
! pugmark: hints:1: there is no call at 0x401000
? 1
# What cannot be instrumented.
$ pugmark idt bare.idt
! pugmark: bare.idt: it is an instrumented program already
? 1
$ pugmark idt /dev/null
! pugmark: /dev/null: expected a program, found a special file
? 1
$ printf '#!/bin/sh\n' >script; chmod +x script; pugmark idt script
! pugmark: script: it is a script; instrument the program that interprets it
? 1
$ pugmark idt no/such/file
! pugmark: no/such/file: cannot open: No such file or directory
? 1
$ cp bare suid; chmod u+s suid; pugmark idt suid
! pugmark: suid: it is setuid or setgid: an instrumented copy would not be
? 1
$ cp bare dir; mkdir dir.idt; pugmark idt dir; ls -d dir.*
> dir.idt
! pugmark: dir.idt: it is a directory, and would have to be a file
$ cp $PROGRAMS/libthrow.so lib; pugmark idt lib
! pugmark: lib: it has no entry point in its text: it is no program, but perhaps a library
? 1
$ cp $(readlink -f $(command -v gzip)) filed; touch filed.idt.d; pugmark idt filed
! pugmark: filed.idt.d: it is a file, and would have to be a directory
? 1
$ pugmark idt -B 10 bare
! pugmark: bare: it has 23 blocks, more than the 10 allowed: -B 23 is needed
? 1
$ pugmark idt -b -c bare
! pugmark: only one kind of trace at a time (see `pugmark instrument --help`)
? 2
$ pugmark idt -l 0 bare
! pugmark: --line expects a number from 1 to 32768, not '0' (see `pugmark instrument --help`)
? 2
$ pugmark idt -h | head -n 1
> usage: pugmark instrument [options] BENCH
# Counts of another program.
$ cp bare mine; pugmark idt mine; head -c 24 /dev/zero | tr '\0' x >mine.cnt64; pugmark vcount mine 2>&1 | sed 's/ expected.*//'
> pugmark: mine.cnt64:0x0: these are the counts of another program:
$ pugmark idt -l 24 bare
! pugmark: --line expects a power of two, not '24' (see `pugmark instrument --help`)
? 2
# A counter file that is cut off between two counters.
$ ./mine.idt >/dev/null; head -c 48 mine.cnt64 >cut; mv cut mine.cnt64; pugmark vcount mine
! pugmark: mine.cnt64:0x30: expected 23 counters, found 4: the file is cut off
? 1
# No file has more than four times its original.
$ rm filed.idt.d; for kind in p e; do pugmark idt -$kind filed; echo $(($(stat -c %s filed.idt) <= 4 * $(stat -c %s filed))); grep '/lib.*\.so\|/ld' filed.mod | while read range at id path; do echo $(($(stat -c %s filed.idt.d/$id) <= 4 * $(stat -c %s $path))); done | sort | uniq -c | tr -s ' '; done
> 1
>  3 1
> 1
>  3 1
# ... also if code becomes more than half as large when it is packed.
$ cp $(readlink -f $(command -v sed)) packed; pugmark idt -e packed; echo $(($(stat -c %s packed.idt) <= 4 * $(stat -c %s packed))); echo abc | ./packed.idt s/b/x/
> 1
> axc
# A library that is not the one that was there, an image that belongs to another program.
$ cp $PROGRAMS/libthrow.so keep.so; rm libthrow.so; cp keep.so libthrow.so; LD_LIBRARY_PATH=. pugmark idt exceptions && LD_LIBRARY_PATH=. ./exceptions.idt >/dev/null; echo $?
> 21
$ at=$(readelf -lW libthrow.so | sed -n 's/ *LOAD *\(0x[0-9a-f]*\) .* R E .*/\1/p'); printf x | dd of=libthrow.so bs=1 seek=$((at + 8)) conv=notrunc status=none; LD_LIBRARY_PATH=. ./exceptions.idt 2>err; echo $?; sed 's,/.*/,DIR/,' err
> 125
> pugmark: DIR/libthrow.so: it is not the file that was there when the program was instrumented
$ cp keep.so libthrow.so; for f in exceptions.idt.d/*; do printf xxxxxxxx | dd of=$f bs=1 seek=8 conv=notrunc status=none; done; LD_LIBRARY_PATH=. ./exceptions.idt 2>err; echo $?; sed 's,/.*/[0-9a-f]*,DIR/KEY,' err
> 125
> pugmark: DIR/KEY: it does not belong to this instrumented program
# An instrumented program that executes an instrumented one: the second's files have its number.
$ cat >again.c <<'END'
+ #include <stdio.h>
+ #include <unistd.h>
+ int main(int argc, char **argv)
+ {
+ 	if (argc > 1)
+ 		return puts("second") < 0;
+ 	puts("first");
+ 	fflush(stdout);
+ 	execl("./no-such-file", "again.idt", "x", (char *)NULL);
+ 	execl("./again.idt", "again.idt", "x", (char *)NULL);
+ 	return 1;
+ }
+ END
$ gcc -O1 -static -o again again.c && pugmark idt -b again && ./again.idt; ls again.cnt64* again.trc64* | sed 's/\.[0-9]*$/.PID/'
> first
> second
> again.cnt64
> again.cnt64.PID
> again.trc64
> again.trc64.PID
# Data between instructions: it is read where it is, and what it looks like does not matter.
$ printf '.globl _start\n_start: mov table(%%rip), %%edi\njmp over\ntable: .long 7\n.byte 0x48, 0xb8\nover: mov $60, %%eax\nsyscall\n' | gcc -nostdlib -static -Wl,--build-id=none -xassembler -o inline -; for k in -p -e; do pugmark idt $k inline; ./inline.idt; echo $? $(pugmark vcount --json - inline | grep '"instructions"' | tr -dc 0-9); done
> 7 4
> 7 4
# The other hints, and hints in other kinds of traces: the counts and the trace are of what is between them.
$ cat >hinted.S <<'END'
+ 	.globl	_start, table, main, leave
+ _start:	call	main
+ after:	call	leave
+ main:	mov	$2, %ecx
+ again:	mov	table(,%rcx,8), %rax
+ 	jmp	*%rax
+ one:	dec	%ecx
+ 	jmp	again
+ two:	dec	%ecx
+ 	jmp	again
+ zero:	ret
+ leave:	mov	$60, %eax
+ 	xor	%edi, %edi
+ 	syscall
+ 	.section .rodata
+ table:	.quad	zero, one, two
+ 	.globl	one
+ END
$ gcc -nostdlib -static -Wl,--build-id=none -o hinted hinted.S && rm -f hinted.idt; at() { echo 0x$(nm hinted | awk -v s=$1 '$3 == s { print $1 }'); }; printf 'main_call %s\nexit_call %s\njtab %s 3\ncurbrk_addr 0x10\n' $(at _start) $(at after) $(at table) >hints; for k in -p -b -c -e; do rm -f hinted.cnt64 hinted.trc64; pugmark idt $k -H hints hinted; ./hinted.idt; echo $? $(pugmark vcount --json - hinted | grep '"instructions"' | tr -dc 0-9); done
> 0 17
> 0 17
> 0 17
> 0 17
$ at() { echo 0x$(nm hinted | awk -v s=$1 '$3 == s { print $1 }'); }; printf 'trace_beg %s\ntrace_end %s\n' $(at main) $(at leave) >hints; for k in -b '-c -r' -s; do rm -f hinted.cnt64 hinted.trc64; pugmark idt $k -H hints hinted; ./hinted.idt; echo $? $(pugmark vcount --json - hinted | grep '"instructions"' | tr -dc 0-9) $(pugmark dump hinted.trc64 2>/dev/null | grep -c -E ' block | line '); done
> 0 12 6
> 0 12 10
> 0 12 0
$ printf 'jtab 0x401000 99999\n' >hints; pugmark idt -H hints hinted
! pugmark: hints:1: 0x401000 is not in the program's data
? 1
# A full disk: said once, and the program goes on.
$ mkdir full && cd full && cp $PROGRAMS/bare . && pugmark idt -b bare && ln -s /dev/full bare.trc64 && ./bare.idt 2>err; echo $?; sort -u err | sed 's,: /.*/,: DIR/,'
> good
> 0
> pugmark: cannot write the trace: DIR/bare.trc64
$ cd full && rm bare.trc64 && (ulimit -f 0; ./bare.idt; echo $?) 2>&1 | sed 's,: /.*/,: DIR/,; s/\.[0-9]*$//' | sort -u; ls bare.cnt64
> 0
> good
> pugmark: cannot write the counts: DIR/bare.cnt64
> pugmark: cannot write the trace: DIR/bare.trc64
! ls: cannot access 'bare.cnt64': No such file or directory
? 2
# A FIFO whose reader leaves: the program does not hear of it.
$ pugmark idt -b filed; rm -f filed.trc64; mkfifo filed.trc64; head -c 1 filed.trc64 >/dev/null & head -c 300000 $(command -v pugmark) | ./filed.idt -c 2>err | gzip -d | wc -c; wait; sed 's,: /.*/,: DIR/,' err
> 300000
> pugmark: cannot write the trace: DIR/filed.trc64
