# needs: clang-19 ld.lld-19 objcopy
# The order of blocks and functions that clang and lld read. The compiler believes the rare branch to be the usual one; the counts say otherwise.
$ cat > hot.c <<'C'
+ #include <stdio.h>
+ static int sum;
+ __attribute__((noinline)) static void rare(int i) { sum ^= i; }
+ __attribute__((noinline)) int work(int n)
+ {
+ 	for (int i = 0; i < n; i++) {
+ 		if (__builtin_expect(i % 100 == 99, 1))
+ 			rare(i);
+ 		else
+ 			sum += i * 3;
+ 		if (sum == -1)
+ 			puts("never");
+ 	}
+ 	return sum;
+ }
+ __attribute__((noinline)) int unused(int n) { return n < 3 ? getchar() : putchar(n); }
+ extern int alias(int) __attribute__((alias("work")));
+ int main(int argc, char **argv) { printf("%d\n", argc > 9 ? unused(argc) : work(100000)); return 0; }
+ C
+ echo '-O1 -ffunction-sections -fuse-ld=lld-19' > flags; clang-19 $(cat flags) -fbasic-block-address-map hot.c -o old && pugmark run -q --propeller cc --bolt old.pa -- ./old > want && cat cc cc.order
> v1
> f work alias
> c 0 1 5 8 3 4 9 2
> f rare
> c 0
> f main
> c 0 2 3
> main
> work
> rare
# clang and lld take both. What never ran is somewhere else, the hot blocks are next to each other, and half the branches are taken no more.
$ clang-19 $(cat flags) -fbasic-block-address-map -fbasic-block-sections=list=cc -Wl,--symbol-ordering-file=cc.order hot.c -o new && ./new | cmp - want && nm -n new | awk '$3 ~ /^(main|work|rare|work.cold|main.cold)$/ { print $3 }'; objdump -d --disassemble=work new | grep -c puts; objdump -d --disassemble=work.cold new | grep -c puts
+ pugmark run -q --propeller again --bolt new.pa -- ./new > out; for f in old new; do awk '$1 == "B" { n += $4 } END { print int(n / 1000) }' $f.pa; done
> main
> work
> rare
> work.cold
> main.cold
> 0
> 1
> 201
> 102
# The new program's map says where the parts of a function are: its profile gives the same order.
$ grep -A1 work again
> f work alias
> c 0 1 5 8 3 4 9 2
# A stored trace says the same as the run; an address that is fixed changes nothing.
$ pugmark run -q --branch -o t.pug -- ./old > out; pugmark profile write --propeller stored t.pug && cmp stored cc && cmp stored.order cc.order; clang-19 $(cat flags) -no-pie -fbasic-block-address-map hot.c -o fixed && pugmark run -q --propeller f -- ./fixed > out; cmp f cc
# Probabilities of the compiler are skipped.
$ clang-19 $(cat flags) -fbasic-block-address-map -mllvm -pgo-analysis-map=func-entry-count,bb-freq,br-prob hot.c -o more && pugmark run -q --propeller f -- ./more > out; cmp f cc
# One file for each object that has a map; a function whose name another one has, too, is left out.
$ echo 'static int __attribute__((noinline)) rare(int i) { return i + 1; } int other(int i) { return rare(i); }' > b.c && clang-19 $(cat flags) -fbasic-block-address-map hot.c b.c -o two && rm -f cc.*; pugmark run --report r --propeller 'cc.%n' -- ./two 2>&1 > out | sed "s|$PWD/||" | grep cc; ls cc.*; grep '^f' cc.two
> pugmark: note: two: 1 of the functions that ran are left out of cc.two, for their names are not theirs alone (-funique-internal-linkage-names helps)
> cc.two
> cc.two.order
> f work alias
> f main
# What cannot be: no map, another build, a version that is not known, half a section, no symbols. Nothing is written.
$ cat > try <<'C'
+ pugmark profile write --propeller x t.pug 2>&1 | sed "s|$PWD/||; s/0x[0-9a-f]*/ADDR/g"; ls x x.order 2> /dev/null || true
+ C
+ for f in '-O1 hot.c' '-O2 -fbasic-block-address-map hot.c'; do pugmark run -q --branch -o t.pug -- ./old > out; clang-19 $f -o old; sh ./try; done
> pugmark: old: its code at ADDR is not what ran: this is another build, or the program has changed itself
> pugmark: old: its code at ADDR is not what ran: this is another build, or the program has changed itself
$ gcc -O1 hot.c -o old && pugmark run -q --branch -o t.pug -- ./old > out; sh ./try; pugmark run -q --propeller x -- ./old > out 2> err; echo $?; ls x x.order 2> /dev/null | wc -l
> pugmark: old: it has no map of basic blocks (section .llvm_bb_addr_map); build it with clang 14 to 19 and -fbasic-block-address-map (clang 18 and before: -fbasic-block-sections=labels)
> 1
> 0
$ objcopy -O binary --only-section=.llvm_bb_addr_map --set-section-flags .llvm_bb_addr_map=alloc fixed map; (printf '\5'; tail -c +2 map) > new.map; head -c 30 map > half.map
+ for m in new half; do objcopy --update-section .llvm_bb_addr_map=$m.map fixed old && pugmark run -q --branch -o t.pug -- ./old > out; sh ./try; done; objcopy -S --keep-section=.llvm_bb_addr_map fixed old; sh ./try
> pugmark: old:ADDR: its map of basic blocks has version 5, features ADDR, which are not known; build it with clang 14 to 19 and -fbasic-block-address-map (clang 18 and before: -fbasic-block-sections=labels)
> pugmark: old:ADDR: expected 1 bytes of block metadata, found 0
> pugmark: old: it has no symbols, and Propeller's files name functions; do not strip it
# Two files are not for standard output, and neither is another output.
$ pugmark run -q --propeller - -- ./fixed
! pugmark: --propeller writes two files, FILE and FILE.order: not to standard output
? 2
$ pugmark run -q --propeller x --bolt x.order -- ./fixed
! pugmark: --propeller writes 'x.order', too
? 2
