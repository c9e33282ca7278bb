# KT of an execution trace is what a straightforward conversion makes of the same files: real programs, with
# generated code, gathers and scatters, and what has an order of its own in KT.
$ cat >twin <<'E'
+ name=$1; shift
+ [ -e "$name" ] || cp "$(command -v $name)" $name; pugmark idt -e $name
+ LD_BIND_NOW=1 ./$name.idt "$@" >/dev/null </dev/null
+ pugmark idt2kt -q $name; $BUILD/tests/oracle/kt $name.trc64 $name.blk64 $name.mod >$name.kt
+ cmp $name.kt $name.kt64 && wc -c <$name.kt | awk '{ print ($1 > 1000000 ? "equal: megabytes" : $1 > 100000 ? "equal: much" : "equal: " $1) }'
+ rm $name.trc64 $name.kt*
+ E
$ cp "$PROGRAMS/bare" .; sh twin bare
> equal: 59416
$ seq 1 300 | awk '{ print $1 * 7919 % 311 }' >in; sh twin sort -n in; sh twin gzip -9c in
> equal: megabytes
> equal: megabytes
$ printf '/(a+b|c[d-f]*)+x/jit\n  aaabcdefx\n  aabbbx\n' >re; sh twin pcre2test -jit re
> equal: megabytes
$ cat >odd.c <<'E'
+ #include <stdio.h>
+ static int twice(int x) { return 2 * x; }
+ static int (*fn)(int) = twice;
+ static int data[64], wide[8] = { 1, 5, 3, 9, 2, 0, 7, 4 }, mask[8] = { -1, 0, -1, -1, 0, 0, -1, -1 };
+ static long pair[2] __attribute__((aligned(16))), two[2];
+ static char state[512] __attribute__((aligned(16)));
+ static void gathers(void)
+ {
+ 	__asm__ volatile("vmovdqu %1, %%ymm1; vmovdqu %2, %%ymm2; vpgatherdd %%ymm2, (%0,%%ymm1,4), %%ymm0"
+ 			 : : "r"(data), "m"(wide), "m"(mask) : "xmm0", "xmm1", "xmm2", "memory");
+ }
+ int main(void)
+ {
+ 	char a[64] = "the quick brown fox", b[64];
+ 	long n, here = 5;
+ 	for (int i = 0; i < 3; i++) {
+ 		__asm__ volatile("rep movsb" : "=c"(n) : "0"(20), "S"(a), "D"(b) : "memory");
+ 		__asm__ volatile("rep stosb" : : "c"(0), "a"(0), "D"(b + 30) : "memory");
+ 		__asm__ volatile("repe cmpsb" : : "c"(9), "S"(a), "D"(b) : "memory", "cc");
+ 		__asm__ volatile("cmpsb; movsb; lodsb; xlatb" : : "S"(a), "D"(b), "b"(a), "a"(3) : "memory", "cc");
+ 		__asm__ volatile("lea -128(%%rsp), %%rsp; push (%0); pop (%0); push (%0); pop 8(%0); lea 128(%%rsp), %%rsp; lock incq (%0); enter $16, $0; leave; xchg %%rax, (%0); cmpxchg16b (%1)"
+ 				 : : "r"(two), "r"(pair) : "rax", "rdx", "memory", "cc");
+ 		__asm__ volatile("jrcxz 1f; loop 1f; 1:" : "+c"(n));
+ 		n = fn(i) + twice((int)here);
+ 		__asm__ volatile("fnsave (%0); frstor (%0); fxsave64 (%0); fxrstor64 (%0)" : : "r"(state) : "memory");
+ 	}
+ 	if (__builtin_cpu_supports("avx2"))
+ 		gathers();
+ 	return printf("%s %ld\n", b, n) < 0;
+ }
+ E
$ gcc -w -O1 -fno-inline -static -o odd odd.c && ./odd; sh twin odd | sed 's/megabytes/much/'
>  14
> equal: much
