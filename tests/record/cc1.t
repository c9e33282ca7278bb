# The compiler proper, which uses what it finds on its stack. Its output goes to a file.
# if: [ -x "$(gcc -print-prog-name=cc1)" ] || { echo "there is no cc1"; exit 1; }
# timeout: 180
$ cat > x.in <<'end'
+ #include <stddef.h>
+ struct s { char c; long l; double d; };
+ static double f(const struct s *s, size_t n) { double r = 0; for (size_t i = 0; i < n; i++) r += s[i].d * (double)s[i].l + s[i].c; return r; }
+ double g(const struct s *s, size_t n) { return f(s, n) / (double)(n + 1); }
+ end
$ gcc -E -x c x.in > y.in; "$TESTS/record/again" "$(gcc -print-prog-name=cc1)" -quiet -O2 -fpreprocessed y.in -o x.s
> status 0, 0 lines again
