# needs: valgrind gzip
# Valgrind's own cachegrind. Without a C library nothing differs:
$ "$TESTS/oracle/cachegrind" "$PROGRAMS/costs" | awk '{ print $1, $2, $3 }'
> Ir 521 521
> I1mr 1 1
> ILmr 1 1
> Dr 130 130
> D1mr 64 64
> DLmr 64 64
> Dw 2 2
> D1mw 1 1
> DLmw 1 1
> Bc 128 128
> Bcm 18 18
> Bi 0 0
> Bim 0 0
# With one, start-up does, and the less the longer the program: what happens often differs by less than one percent.
$ head -c 20000 "$BUILD/pugmark" >data; "$TESTS/oracle/cachegrind" /usr/bin/gzip -9 -c data | awk '$2 > 100000 { n++; if ($4 >= 1 || $4 <= -1) print "differs: " $0 } END { print (n >= 4) }'
> 1
