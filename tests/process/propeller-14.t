# needs: clang-14 ld.lld
# An older compiler's map has a section type of its own and no ids; it reads the older form of the order.
$ cat > hot.c <<'C'
+ #include <stdio.h>
+ static int sum;
+ __attribute__((noinline)) int work(int n)
+ {
+ 	for (int i = 0; i < n; i++) {
+ 		if (__builtin_expect(i % 100 == 99, 1))
+ 			puts("rare");
+ 		else
+ 			sum += i * 3;
+ 		if (sum == -1)
+ 			puts("never");
+ 	}
+ 	return sum;
+ }
+ extern int alias(int) __attribute__((alias("work")));
+ int main(void) { printf("%d\n", work(10000)); return 0; }
+ C
+ clang-14 -O1 -ffunction-sections -fuse-ld=lld -fbasic-block-sections=labels hot.c -o old && pugmark run -q --propeller cc -- ./old > want && cat cc
> !work/alias
> !!0 1 6 2 3 4 7
> !main
> !!0
$ clang-14 -O1 -ffunction-sections -fuse-ld=lld -fbasic-block-sections=list=cc -Wl,--symbol-ordering-file=cc.order hot.c -o new && ./new | cmp - want && objdump -d new | grep -A3 'work.cold>:' | grep -c 'jmp.*<'
+ for f in old new; do pugmark run -q --bolt $f.pa -- ./$f > out; awk '$1 == "B" { n += $4 } END { print int(n / 1000) }' $f.pa; done
> 1
> 20
> 10
