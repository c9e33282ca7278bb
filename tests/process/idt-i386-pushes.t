# Own tags for pushes and pops of 32-bit programs: the references are those of the execution trace, where pusha is
# eight of them and a far call two.
# needs: $PROGRAMS/i386/refs
# if: "$TESTS/can-32-bit"
$ cat >narrow.S <<'END'
+ .globl _start
+ _start: pusha; popa; push %eax; pop %ebx; call f; mov $1, %eax; xor %ebx, %ebx; int $0x80
+ f: push %ebp; pop %ebp; ret
+ END
$ gcc -m32 -nostdlib -static -Wl,--build-id=none -o narrow narrow.S && pugmark idt -c -P narrow && env -i ./narrow.idt && cp narrow narrow.run && env -i "$(command -v pugmark)" run --no-cache -q --exec -t idt-cache:push-pop -o run.trc -- ./narrow.run; for t in narrow run; do pugmark dump $t.trc | awk '$2 == "read" || $2 == "write" { print $2, $4, $5 }' >$t.refs; done; cmp narrow.refs run.refs; uniq -c run.refs | sed 's/^ *//'
> 4 write 8 flags=stack
> 4 read 8 flags=stack
> 1 write 4 flags=stack
> 1 read 4 flags=stack
> 2 write 4 flags=stack
> 2 read 4 flags=stack
