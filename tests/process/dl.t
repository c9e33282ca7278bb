# dlopen and dlclose: other code at the same address.
$ "$TESTS/process/both" dl
> equal: status 0, 1 lines
# ... for ever: what is near a program is not used up by libraries that are gone.
$ echo 'int f(int x) { return x * 3; }' > l.c; cat > m.c <<'E'
+ #include <dlfcn.h>
+ #include <stdio.h>
+ int main(void)
+ {
+ 	long sum = 0;
+
+ 	for (int i = 0; i < 1500; i++) {
+ 		void *h = dlopen("./l.so", RTLD_NOW);
+ 		int (*f)(int) = dlsym(h, "f");
+
+ 		sum += f(i);
+ 		dlclose(h);
+ 	}
+ 	printf("%ld\n", sum);
+ }
+ E
+ gcc -shared -fPIC l.c -o l.so && gcc m.c -o m && for o in "" "--exec --discard"; do pugmark run -q $o -- ./m; done
> 3372750
> 3372750
$ "$TESTS/can-32-bit" >/dev/null || exec echo 3372750
+ gcc -m32 -shared -fPIC l.c -o l.so && gcc -m32 m.c -o m && pugmark run -q -- ./m
> 3372750
# Libraries so large that there is no room for six times their text near them, which ld.so maps executable as a whole first.
$ for l in a b; do printf '.globl f%s\n.text\nf%s: mov $7, %%eax\nret\n.skip 100000000\n' $l $l > $l.s; gcc -shared -nostdlib -Wl,-z,noseparate-code $l.s -o lib$l.so; done
+ echo 'int fa(void), fb(void), puts(const char *); int main(void) { return puts("called") < 0 || fa() + fb() != 14; }' > big.c
+ gcc big.c -o big -L. -la -lb -Wl,-rpath,. && pugmark run -q -- ./big; echo $?; rm *.so big
> called
> 0
