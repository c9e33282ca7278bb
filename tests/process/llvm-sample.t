# needs: clang-19 llvm-profgen-19 llvm-profdata-19
# clang's sample profiles: lines of a function, from its first, and calls, as often as they were executed.
$ cat > l.c <<'C'
+ #include <stdio.h>
+ __attribute__((noinline)) int f(int n)
+ {
+ 	int s = 0;
+ 	for (int i = 0; i < n; i++) {
+ 		if (i % 3)
+ 			s += printf("x") + n;
+ 	}
+ 	return s;
+ }
+ int main(void)
+ {
+ 	return f(90) + f(9) < 0;
+ }
+ C
+ for o in -fPIE -no-pie; do clang-19 -O1 -g -fdebug-info-for-profiling $o l.c -o l && pugmark run -q --llvm-sample l.txt -- ./l > out
+ llvm-profgen-19 --format=text --binary=l --unsymbolized-profile=l.txt -o l.prof && cat l.prof; done
> f:4396:2
>  1: 2
>  3.1: 99
>  3.2: 99
>  4: 99
>  5: 66
>  7: 2
>  65534: 66
> main:30:0
>  1: 1
>  2: 1 f:1
>  2.1: 1 f:1
> f:4396:2
>  1: 2
>  3.1: 99
>  3.2: 99
>  4: 99
>  5: 66
>  7: 2
>  65534: 66
> main:30:0
>  1: 1
>  2: 1 f:1
>  2.1: 1 f:1
$ llvm-profdata-19 merge --sample l.prof -o l.bin && clang-19 -O2 -g -fprofile-sample-use=l.bin l.c -o l && ./l | wc -c
> 66
