# Instrumented programs with rights that who starts them need not have, which the kernel starts otherwise.
# if: [ "$(id -u)" = 0 ]
# needs: strace
$ cat > who.c <<'E'
+ #include <stdio.h>
+ #include <unistd.h>
+ #include <sys/auxv.h>
+ int main(void) { printf("%d %lu\n", getegid(), getauxval(AT_SECURE)); }
+ E
+ gcc -O1 -static -o who who.c; pugmark idt who; chgrp 4711 who who.idt; chmod g+s who who.idt; ./who
> 4711 1
$ timeout -s KILL 60 ./who.idt
> 4711 1
# They do not start the translator that somebody else names.
$ gcc -O1 -o later "$TESTS/process/later.c" -ldl; pugmark idt later; ./later > want; ./later.idt | cmp - want
$ printf '#!/bin/sh\necho called >&2\n' > pugmark; chmod +x pugmark later.idt; chgrp 4711 later.idt; chmod g+s later.idt
+ for e in PUGMARK=./pugmark PATH=.; do env -i $e ./later.idt 2>&1 >said | sed 's/0x[0-9a-f]*/ADDRESS/'; done
> pugmark: control reaches ADDRESS, which is not in the instrumented program and could not be known ahead of time
> pugmark: control reaches ADDRESS, which is not in the instrumented program and could not be known ahead of time
# The kernel places the stack of a program with rights at random, and one time in a thousand or so where a library has to be: then
# it begins again, three times at most. Without rights it would be there again.
$ printf '#include <stdio.h>\nint main(void) { puts("hello"); }\n' > hello.c; gcc -o hello hello.c; pugmark idt hello
+ run() { strace -qq -o calls -e trace=mmap,execve -e inject=mmap:error=EEXIST:when=$1 ./hello.idt 2>&1 | sed 's/: .*:/: FILE:/'; grep -c execve calls; }
+ run 7; chgrp 4711 hello.idt; chmod g+s hello.idt; for n in 4 5 6 7 4+4; do run $n; done
> pugmark: FILE: its place in memory is taken
> 2
> hello
> 3
> hello
> 3
> hello
> 3
> hello
> 3
> pugmark: its place in memory is taken
> 5
# What is written next to the program goes nowhere else.
$ mkdir open; chmod 1777 open; cd open; echo mine > mine; cp "$PROGRAMS/bare" .; ln -s mine bare.cnt64; ln -s mine bare.trc64; pugmark idt -e bare
+ for i in 1 2; do ./bare.idt 2>&1 > out | sed 's,/.*/,,'; rm -f bare.trc64; done; cat mine
> pugmark: bare.trc64: cannot write it
> pugmark: cannot write the counts: bare.cnt64
> mine
$ cd open; ln -s mine bare.idt.$$.tmp; sh -c 'ln -s mine bare.idt.$$.tmp; exec pugmark idt bare'; cat mine; ls -l bare.idt | cut -c1
> mine
> -
