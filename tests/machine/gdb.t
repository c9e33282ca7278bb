# gdb.t - gdb-multiarch attaches: breakpoints, steps, registers and memory, in both byte orders
# needs: mipsel-linux-gnu-gcc gdb-multiarch
# timeout: 240
# (What is not answered within remotetimeout, two seconds, gdb asks again, and takes the one answer for the other.)
$ cat >attach <<'END'
+ elf=$1 stop=$2; shift 2
+ rm -f log # or the port of the run before is read
+ pugmark machine run -q --elf "$elf" "$@" --gdb 0 2>log & pid=$!
+ while kill -0 $pid && port=$(sed -n 's/.*localhost:\([0-9][0-9]*\)$/\1/p' log 2>/dev/null); [ -z "$port" ]; do sleep 0.05; done
+ timeout 200 gdb-multiarch -nx -batch -iex 'set remotetimeout 100' -ex "target remote localhost:$port" -ex "break *$stop" -ex c -ex 'x/2i $pc' \
+ 	-ex stepi -ex 'p/x $pc' -ex 'set $t0 = 0x1234' -ex 'p/x $t0' -ex 'set *(int*)0x80200000 = 77' \
+ 	-ex 'p *(int*)0x80200000' -ex delete -ex c "$elf" 2>&1 | grep '^=>\|^  \|^\$\|^.Inferior'
+ wait $!; echo "status $?"
+ END
# What gdb reads of the machine where it stops is what the file has there; a step is one instruction, or a branch and what is
# in its delay slot.
$ cat >compare <<'END'
+ elf=$1 stop=$2
+ sh attach "$@" >seen
+ gdb-multiarch -nx -batch -ex "x/2i $stop" "$elf" 2>/dev/null >file
+ head -n 2 seen | sed 's/^=>/  /' | diff file - && echo "at $stop"
+ at=$((0x$(mipsel-linux-gnu-nm "$elf" | awk -v s="$stop" '$3 == s { print substr($1, length($1) - 7) }')))
+ if head -n 1 file | grep -q ':	[bj]'; then at=$((at + 8)); else at=$((at + 4)); fi
+ sed "1,2d; s/^\$1 = $(printf '0x%x' $at)$/stepped/" seen
+ END
$ sh compare $TOP/build/guest/bare.elf run -n 3000000
> at run
> stepped
> $2 = 0x1234
> $3 = 77
> [Inferior 1 (Remote target) exited normally]
> status 0
$ seq 1 20000 | head -c 65536 >disk.img; sh compare $TOP/build/guest/nano-be.elf power_off --cpu r4400,endian=big --disk disk.img
> at power_off
> stepped
> $2 = 0x1234
> $3 = 77
> [Inferior 1 (Remote target) exited normally]
> status 0
# registers have the architecture's names
$ pugmark machine run -q --elf $TOP/build/guest/bare.elf --gdb 0 2>port & while ! n=$(sed -n 's/.*localhost:\([0-9][0-9]*\)$/\1/p' port 2>/dev/null) || [ -z "$n" ]; do sleep 0.05; done; gdb-multiarch -nx -batch -iex 'set remotetimeout 100' -ex "target remote localhost:$n" -ex 'p/x $status' -ex 'p/x $cause' -ex 'p/x $badvaddr' -ex 'set $status = 0x30000001' -ex 'p/x $status' -ex 'p/x $pc' -ex 'p/x $sp' -ex 'set $f4 = 3' -ex 'p $f4' -ex 'p/x $fcsr' -ex kill $TOP/build/guest/bare.elf 2>&1 | grep '^\$'; wait
> $1 = 0x30000080
> $2 = 0x0
> $3 = 0x0
> $4 = 0x30000001
> $5 = 0x80100110
> $6 = 0x83ffffc0
> $7 = 3
> $8 = 0x0
$ pugmark machine run --elf x --gdb 70000
! pugmark: '70000' is not a TCP port (see `pugmark machine run --help`)
? 2
# a signal ends the wait for a debugger, and the wait for one that has come and says nothing
$ for come in no yes; do rm -f port; pugmark machine run -q --elf $TOP/build/guest/bare.elf --gdb 0 2>port & pid=$!; while ! n=$(sed -n 's/.*localhost:\([0-9][0-9]*\)$/\1/p' port 2>/dev/null) || [ -z "$n" ]; do sleep 0.05; done; [ $come = no ] || { python3 -c "import socket; s = socket.create_connection(('localhost', $n)); print(flush=True); s.recv(1)" >there & while ! [ -s there ]; do sleep 0.05; done; }; kill $pid; timeout 20 tail --pid=$pid -f /dev/null; wait $pid; echo $?; sed 1d port; done
> 1
> pugmark: interrupted before a debugger came
> 0
