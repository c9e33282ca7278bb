# goback.t for 32-bit programs: a replay goes back to checkpoints, which have the segments of their threads, too.
# needs: python3, gdb, $PROGRAMS/i386/args
# if: "$TESTS/can-32-bit"
# timeout: 300
$ for x in look.py work.h one.c threads.c first.c becomes.c; do "$TESTS/written-by" record/goback $x >$x; done; sed -i 's/self.register(7)/self.register(4)/' look.py
$ cat > look <<'end'
+ gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -w -O1 -g -fno-pie -no-pie -pthread -include work.h -o $1 $1.c && pugmark record -q -o $1.pugrec -- ./$1 > $1.out
+ python3 look.py $1.pugrec $(nm $1 | grep ' T mark$' | cut -d' ' -f1) | sed 's/^call.*of/call/'
+ end
$ sh look one
> call 1
> call 2
> call 3
> call 4
> call 5
> call 6
> the end
> the same; checkpoints
$ for p in threads first becomes; do sh look $p | tail -n 2; done
> the end
> the same; checkpoints
> the end
> the same; checkpoints
> the end
> the same; checkpoints
# A program of one width executes one of the other.
$ cat > other.c <<'end'
+ int main(int argc, char **argv)
+ {
+ 	work(0, 2000000);
+ 	mark(argc);
+ 	if (argc > 1)
+ 		execl(argv[1], argv[1], NULL);
+ }
+ end
$ for w in 32 64; do gcc -m$w -idirafter /usr/include/$(uname -m)-linux-gnu -w -O1 -g -fno-pie -no-pie -pthread -include work.h -o other$w other.c; done; at=$(nm other32 other64 | grep ' T mark$' | cut -d' ' -f1); for x in "32 64" "64 32"; do pugmark record -q -o o.pugrec -- ./other${x% *} ./other${x#* }; python3 look.py o.pugrec $at | tail -n 2; done
> the end
> the same; checkpoints
> the end
> the same; checkpoints
# gdb: who has written over a variable of a threaded program is found backwards.
$ "$TESTS/written-by" record/gdb bank.c >bank.c; gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -w -g -fno-pie -no-pie -pthread -o bank bank.c && pugmark record -q -o bank.pugrec -- ./bank
> balance 100
$ g=$(command -v gdb-multiarch || command -v gdb); printf '%s\n' 'set pagination off' 'set confirm off' 'set sysroot /' 'target remote | pugmark gdb --stdio bank.pugrec' 'break check' continue 'watch -l account.balance' reverse-continue reverse-continue 'print $eip == 0' 'reverse-stepi' 'stepi' >script; timeout 200 $g -nx -q -batch -iex 'set remotetimeout 100' -x script ./bank 2>&1 | grep 'hit\|value\|^\$' | sed 's/Thread [0-9]*\.*[0-9]* /Thread N /'
> Thread N hit Hardware watchpoint 2: -location account.balance
> Old value = 100
> New value = 868
> Thread N hit Hardware watchpoint 2: -location account.balance
> Old value = 868
> New value = 1020
> $1 = 0
# What several replays trace together is what one does.
$ cat > alone.c <<'end'
+ int main(void)
+ {
+ 	work(0, 30000);
+ 	puts("end");
+ }
+ end
$ gcc -m32 -idirafter /usr/include/$(uname -m)-linux-gnu -w -O1 -fno-pie -no-pie -include work.h -o alone alone.c && pugmark record -q -o a.pugrec -- ./alone; pugmark convert -q -j 1 a.pugrec 1.pug; PUGMARK_PART=1000 pugmark convert -q -j 2 a.pugrec 2.pug; for i in 1 2; do pugmark dump $i.pug | grep -v ' time ' > $i; done; cmp 1 2 && grep -c ' insn ' 1 | sed 's/.....*/many/'
> end
> many
