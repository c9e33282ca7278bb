# if: ! nm -D "$(command -v pugmark)" | grep -q ' U __[at]san' || { echo 'a program with a sanitizer cannot be traced'; false; }
# ptrace() is refused to programs that are traced, and pugmark does without: it runs in pugmark.
$ timeout -s KILL 60 pugmark run -q -- pugmark run -q -- sh -c 'echo in; exit 3'
> in
? 3
