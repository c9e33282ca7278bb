# smc-threads.t for 32-bit programs, whose runtime is another one: what a thread is told while others wait for it.
# needs: $PROGRAMS/i386/finds
# if: "$TESTS/can-32-bit"
# timeout: 200
$ "$TESTS/written-by" process/smc-threads slots.c >slots.c; gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -O1 -pthread -o slots slots.c; for i in 1 2 3 4; do pugmark run -q -- ./slots 1500; done
> good
> good
> good
> good
$ pugmark run -q -o slots.pug -- ./slots 200; pugmark verify slots.pug | tail -n 1; pugmark record -q -o slots.pugrec -- ./slots 200; pugmark replay -q slots.pugrec
> good
> slots.pug: good
> good
> good
