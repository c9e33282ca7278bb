# Names of files, functions, source files and threads that hold escape sequences, line feeds, invalid UTF-8 and characters
# that change the direction of text: no output obeys them, every output is UTF-8, and symbols are found.
# needs: gcc objcopy python3
$ cat >"$(printf 'e\033v.c')" <<'END'
+ #include <sys/prctl.h>
+ void evil(void) { volatile int i; for (i = 0; i < 10000; i++); }
+ void form(void) { volatile int i; for (i = 0; i < 1000; i++); }
+ int main(void) { prctl(PR_SET_NAME, "t\033[32m\xff"); evil(); form(); return 0; }
+ END
$ gcc -g -O1 -fno-inline -static -c -o e.o "$(printf 'e\033v.c')" && objcopy --redefine-sym "evil=$(printf 'ev\033[31mil\377\342\200\256')" e.o && printf 'form =cmd()\n' >syms && objcopy --redefine-syms syms e.o && gcc -static -o "$(printf 'na\033[31mme\n\377')" e.o
$ cat >check.py <<'END'
+ import sys, unicodedata, json
+ for f in sys.argv[1:]:
+     try:
+         s = open(f, 'rb').read().decode()
+     except UnicodeDecodeError as e:
+         print(f, e)
+         continue
+     bad = [i for i, c in enumerate(s) if c not in '\n\t' and unicodedata.category(c) in ('Cc', 'Cf', 'Zl', 'Zp')]
+     if bad:
+         print(f, repr(s[max(0, bad[0] - 50):bad[0] + 20]))
+     if f.endswith('.json') or f.endswith('.chrome'):
+         json.loads(s)
+ END
$ P=$(printf './na\033[31mme\n\377'); for f in json csv html callgrind annotate report; do pugmark run -q --$f p.$f -- "$P"; pugmark run -q --usual --$f u.$f -- "$P"; done
+ pugmark run -q --counts pc -- "$P"; pugmark run -q --exec -o x.pug -- "$P"
+ pugmark dump x.pug >dump; pugmark info x.pug >info; pugmark info --json info.json x.pug; pugmark convert -q -t chrome x.pug x.chrome 2>/dev/null; pugmark annotate --csv a.csv x.pug >/dev/null; pugmark annotate x.pug >a; pugmark annotate --json a.json x.pug >/dev/null; pugmark sim --usual x.pug >sim
+ python3 check.py p.* u.* pc* dump info info.json x.chrome a a.csv a.json sim
$ sed -n '/^Functions/,/^$/p' p.report | grep mil | sed 's/.* %  //'; grep -e cmd -e mil p.csv | sed 's,.*/na,na,; s/,0x.*//'
> ev\e[31mil\xff\u202e  na\e[31mme\n\xff
> na\e[31mme\n\xff,ev\e[31mil\xff\u202e
> na\e[31mme\n\xff,'=cmd()
$ python3 -c "
+ import json
+ print([f['function'] for f in json.load(open('p.json'))['functions'] if '31mil' in f['function']])"
> ['ev\x1b[31mil\\xff\u202e']
# Errors are one line, whatever was asked for.
$ P=$(printf 'na\033[31mme\n\377'); pugmark "$P"; pugmark run --"$P"; pugmark info "x$P"; pugmark run -- "./x$P"; pugmark run -q --exec --count --start-at "$P" -- true; pugmark slice --function "$P" -t din x.pug - 2>&1 | cat -v 2>&1 | grep 'no instruction belongs' >&2
! pugmark: 'na\e[31mme\n\xff' is not a command (see `pugmark help`)
! pugmark: unknown option '--na\e[31mme\n\xff' (see `pugmark run --help`)
! pugmark: xna\e[31mme\n\xff: cannot open: No such file or directory
! pugmark: ./xna\e[31mme\n\xff: cannot execute: No such file or directory
! pugmark: --start-at: no function 'na\e[31mme\n\xff' in the symbol tables of the 3 files that ran
! pugmark: note: no instruction belongs to a function 'na\e[31mme\n\xff'
# A path with \012 of its own is another file.
$ cp "$(printf 'na\033[31mme\n\377')" 'a\012b'; pugmark run --report r -- './a\012b'; grep -c 'mil.*a.012b' r
> 2
# An instrumented program with such a name, too.
$ cp "$(printf 'na\033[31mme\n\377')" "$(printf 'b\nc')"; pugmark idt "$(printf 'b\nc')"; "./$(printf 'b\nc.idt')"; tail -n 1 "$(printf 'b\nc.mod')" | sed 's,.*/,,'; pugmark vcount "$(printf 'b\nc')" | head -n 1 | tr -d 0-9,
> b\012c
> instructions:  instructions
