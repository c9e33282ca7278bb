# needs: create_gcov dump_gcov
# gcc's AutoFDO: executions of each line of a function, from its first, are those that were.
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
+ for o in -fPIE -no-pie; do gcc -O1 -gdwarf-4 $o l.c -o l && pugmark run -q --autofdo l.txt -- ./l > out
+ create_gcov --binary=l --profile=l.txt --profiler=text --gcov=l.gcov 2>&1 | grep -v '^WARN'; dump_gcov l.gcov 2>/dev/null | sed -n '/^f /,/^main/p'; done
> f total:272 head:2
>   1: 2
>   2: 2
>   3: 2
>   3.2: 99
>   4: 99
>   5: 66
>   8: 2
> main total:3 head:0
> f total:272 head:2
>   1: 2
>   2: 2
>   3: 2
>   3.2: 99
>   4: 99
>   5: 66
>   8: 2
> main total:3 head:0
