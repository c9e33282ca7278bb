# A recorded stack without limit is mapped in part only, and grows; whatever the limit of who replays.
# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __tsan' || { echo 'the thread sanitizer limits the stack of what runs under it'; false; }
# needs: gcc
# timeout: 120
$ cat > stack.c <<'end'
+ #include <stdio.h>
+ #include <stdlib.h>
+ static long down(int n)
+ {
+ 	volatile char b[100000];
+ 	for (int i = 0; i < 100000; i += 512)
+ 		b[i] = (char)(i >> 9);
+ 	return n ? down(n - 1) + b[512] : 0;
+ }
+ int main(int argc, char **argv)
+ {
+ 	printf("%ld\n", down(atoi(argv[1])));
+ 	return 0;
+ }
+ end
$ gcc -w -O1 -o stack stack.c
$ (ulimit -s unlimited 2>/dev/null; pugmark record -q -o r.pugrec -- ./stack 600)
> 600
$ for most in 256 8192 65536; do (ulimit -S -s 256; ulimit -s $most; pugmark replay -q r.pugrec) || echo status $?; done
> 600
> 600
> 600
