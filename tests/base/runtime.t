# The check of the runtime finds what it looks for.
$ echo 'int main(void) { return 0; }' > m.c && gcc -static -o m m.c && "$TESTS/check-runtime" m | grep -c '^not ok'
> 3
