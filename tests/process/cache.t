# What earlier runs translated serves later ones, of other programs too: libraries are loaded where
# numbers are others, parts are needed that no run has needed before. Counts are as without a cache.
$ for p in "ls --version" "ls -l /usr" "bash -c :" "sort -r /etc/hostname" "expr 6 + 7" "ls -l /usr" "bash --version"; do
+ 	pugmark run -q --no-vdso --no-follow --fix-random --no-cache --counts a -- $p > out.a
+ 	pugmark run -q --no-vdso --cache-dir "$PWD/c" --no-follow --fix-random --counts b -- $p > out.b
+ 	cmp out.a out.b
+ 	"$TESTS/oracle/compare-counts" a.* b.* | sed 's/:.*//'
+ 	rm -f a.* b.*
+ done
> equal
> equal
> equal
> equal
> equal
> equal
> equal
# Blocks that a program adds to a library that is a later one of its mappings are the library's in all programs.
$ cat > p.c <<'E'
+ #include <stdlib.h>
+ #include <stdio.h>
+ static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
+ int main(int argc, char **argv)
+ {
+ 	int v[] = { 3, 1, 2 };
+
+ 	if (argc > 1)
+ 		qsort(v, 3, sizeof *v, by), printf("%f\n", strtod(argv[1], NULL));
+ 	return v[0];
+ }
+ #ifdef EXTRA
+ __attribute__((section(".extra"))) void extra(void) { }
+ #endif
+ E
+ gcc -no-pie p.c -o one && gcc -no-pie -DEXTRA -Wl,--section-start=.extra=0x800000 p.c -o two
+ objects() { pugmark run -q --no-vdso --fix-random --json j "$@" > out; cat out; sed -n '/"objects"/,/]/p' j; }
+ for p in ./one "./two 1e9" "./one 1e9"; do objects --no-cache -- $p > a; objects --cache-dir "$PWD/o" -- $p > b; cmp a b; done; grep -c libc.so a
> 1
# Where its file says that a library lies stays what the smallest program had, also when another one adds something: the
# smallest one's blocks are mapped, not copied.
$ printf 'int main(void) { return 0; }' | gcc -xc - -o least && gcc p.c -Wl,--no-as-needed -lm -o more
+ libc=$(pugmark run -q --cache-dir "$PWD/w" --json j -- ./least; ls w/pugmark-code-* | grep "$(readelf -n "$(gcc -print-file-name=libc.so.6)" | sed -n 's/.*Build ID: //p')")
+ where() { od -A n -t x8 -j 128 -N 8 "$libc"; }; where > one; stat -c %i "$libc" > ino
+ pugmark run -q --cache-dir "$PWD/w" -- ./more 1e9; where | cmp - one; stat -c %i "$libc" | cmp -s - ino || echo written
+ for p in ./least "./more 1e9"; do pugmark run -q --no-vdso --fix-random --no-follow --cache-dir "$PWD/w" --counts b -- $p > out.b; pugmark run -q --no-vdso --no-cache --no-follow --fix-random --counts a -- $p > out.a; "$TESTS/oracle/compare-counts" a.* b.* | sed 's/:.*//'; rm -f a.* b.*; done
> 1000000000.000000
> written
> equal
> equal
# The second of two equal runs finds everything, but for what is in no file: the vDSO, in which glibc since 2.41 asks for random numbers.
$ for i in 1 2; do pugmark run -q --no-vdso --cache-dir "$PWD/c" --json j -- ls / > /dev/null; done; grep -o '"demand": *[0-9]*' j | tr -d ' '
> "demand":0
# A file that is cut short, or that has other bytes where it describes blocks, is removed, and a line says so. (More of that: damage.t.)
$ chmod u+w c/*; for f in c/pugmark-code-b*; do truncate -s -100 "$f"; done
+ pugmark run -q --cache-dir "$PWD/c" --json j -- ls / > /dev/null 2> log; grep -o '"cached": *[0-9]*' j | tr -d ' '
+ sed 's/.*removed/removed/; s/[0-9]* bytes, not [0-9]*/N bytes, not M/' log | sort -u
> "cached":0
> removed from the cache: it has N bytes, not M
$ chmod u+w c/*; for f in c/pugmark-code-b*; do
+ 	printf '\377\376\375\374\000\001\002\003' |
+ 		dd of="$f" bs=1 seek=4100 conv=notrunc status=none
+ done
+ pugmark run -q --cache-dir "$PWD/c" --json j -- ls / > /dev/null 2> log; grep -o '"cached": *[0-9]*' j | tr -d ' '
+ sed 's/.*removed/removed/' log | sort -u
> "cached":0
> removed from the cache: it is damaged
# What the cache file holds as it is needed is mapped from there, by whoever can open it; a process without a
# descriptor to spare gets a copy.
$ at=$(nm -D "$PROGRAMS/libalpha.so" | sed -n 's/ T name$//p')
+ for how in "" "" none; do
+ 	PUGMARK_STATS=1 pugmark run -q --cache-dir "$PWD/r" -- "$PROGRAMS/remap" "$PROGRAMS/libalpha.so" $at $how 2> stats
+ 	grep "made own" stats
+ done
> called
> made own: 0
> called
> made own: 0
> called
> made own: 1
# A link that one run resolves is resolved in later ones, wherever in the code it lies: also in the last page, which
# is not mapped from the file, and also if what is mapped has to be made own after that.
$ for n in 200 180 170 150 140 120; do
+ 	for more in "" "" "$((n - 1)) 0" "$((n - 1))"; do
+ 		"$PROGRAMS/chains" $n $more >expected
+ 		pugmark run -q --cache-dir "$PWD/l$n" -- "$PROGRAMS/chains" $n $more | cmp - expected
+ 	done
+ done
# Functions by address are kept, too: what another run reads there is what the file says, also when the kept
# one is damaged, cut, or of a file of the same build id that was stripped since.
$ names() { pugmark run -q --cache-dir "$PWD/n" --no-follow --fix-random --no-vdso --json j -- "$1" 2>>log >/dev/null && grep '"function":' j; }
+ printf 'int f(int x) { return x * 3; } int main(int c, char **v) { return f(c) - 3; }' >p.c
+ gcc -O0 -g0 -Wl,--build-id=0x0123456789abcdef0123456789abcdef -static p.c -o p; cp p full; : > log
+ names ./p >first; ls n | grep -c names-0123; names ./p | cmp - first; chmod u+w n/*
+ for k in n/pugmark-names-*; do printf 'XX' | dd of="$k" bs=1 seek=300 conv=notrunc status=none; done
+ names ./p | cmp - first; chmod u+w n/*; for k in n/pugmark-names-*; do truncate -s -7 "$k"; done; names ./p | cmp - first
+ strip -s p; names ./p | grep -c '"main"'; cp full p; names ./p | cmp - first; grep -c '"main"' first
+ sed 's/.*removed/removed/' log
> 1
> 0
> 1
> removed from the cache: it is damaged
> removed from the cache: it is damaged
# So are the forms of its instructions, for all programs: the second of two equal runs adds none and leaves the file as it
# is. One that is damaged, cut or of another build is replaced, and nothing of it is believed.
$ cat > forms.sh <<'E'
+ forms() { pugmark run -q --cache-dir "$PWD/f" --no-follow --fix-random --no-vdso --json j "$@" 2>>log > /dev/null; sed -n '/"mix"/,/]/p' j; }
+ what() { stat -c '%i %y %z %s' f/pugmark-forms-64; }
+ E
+ . ./forms.sh; : > log
+ pugmark run -q --no-cache --no-follow --fix-random --no-vdso --json j -- expr 6 + 7 > /dev/null; sed -n '/"mix"/,/]/p' j > true; grep -c '"mov"' true
+ forms -- expr 6 + 7 | cmp - true; ls -A f | grep forms; what > one; sleep 1.1; forms -- expr 6 + 7 | cmp - true; what | cmp - one && echo the same
+ for harm in 'printf XX | dd of=$k bs=1 seek=20 conv=notrunc' 'printf XXXXXX | dd of=$k bs=1 seek=70 conv=notrunc' \
+ 	'printf XX | dd of=$k bs=1 seek=300 conv=notrunc' 'printf XX | dd of=$k bs=1 seek=20000 conv=notrunc' 'truncate -s -32 $k' 'truncate -s 50 $k' ': > $k'; do
+ 	k=f/pugmark-forms-64; chmod u+w $k; eval "$harm" 2> /dev/null; what > two; forms -- expr 6 + 7 | cmp - true; what | cmp -s - two && echo "still there: $harm"
+ 	what > two; forms -- expr 6 + 7 | cmp - true; what | cmp - two
+ done; ls -A f | grep -c forms; grep -c 'removed from the cache: it is damaged' log
> 1
> pugmark-forms-64
> the same
> 1
> 7
# A few that are new are noted and not written. When that has happened often, they are; the next run lacks nothing.
$ printf 'int main(int c, char **v) { if (c > 1) __asm__ volatile("shld $3, %%%%r9, %%%%r10; bswap %%%%r14; rcl $3, %%%%r15" ::: "r10", "r14", "r15"); return 0; }' | gcc -xc - -o few
+ . ./forms.sh; rm -r f; forms -- ./few > /dev/null; what > one; for i in $(seq 40); do forms -- ./few x > /dev/null; what > two; [ "$(cut -d' ' -f8 one)" = "$(cut -d' ' -f8 two)" ] || break; done; echo $((i > 2)) $((i < 20)); forms -- ./few x > /dev/null; what | cmp - two
> 1 1
# Without a cache there are none, and where they cannot be written nothing is said.
$ HOME=$PWD/home XDG_CACHE_HOME=$PWD/xdg pugmark run -q --no-cache -o /dev/null -- true; ls -A home xdg 2>&1 | grep -c 'No such file'
+ mkdir -p xdg/pugmark/pugmark-forms-64/x; chmod 700 xdg/pugmark; XDG_CACHE_HOME=$PWD/xdg pugmark run -o report -- expr 6 + 7; grep -c '^Instruction mix' report; ls xdg/pugmark/pugmark-forms-64
> 2
> 13
> 2
> x
# Links out of code that is mapped from a file lead through a table; who goes there often makes the code be copied, and patched.
$ command -v perl >perl || { echo '1 more, and the file has them'; exit; }; export PERL_HASH_SEED=0 PUGMARK_STATS=1; p='$s += sprintf("%d", $_) % 7 for 1..$ARGV[0]; print "$s\n"'
+ made_own() { pugmark run --cache-dir g --no-follow -o warm "$@" 2>&1 >out | sed -n 's/^made own: //p'; }
+ for n in 100 40000; do rm -rf g; pugmark run --cache-dir g -q -- perl -e 1 2>log; made_own -- perl -e "$p" $n >$n; pugmark run --no-cache -o cold -- perl -e "$p" $n 2>log | cmp - out; grep '^  instructions ' warm >counts; grep '^  instructions ' cold | cmp - counts; done
+ for i in 1 2 3; do last=$(made_own -- perl -e "$p" $n); done; echo "$(($(cat 40000) - $(cat 100))) more, and the file has them$([ "$last" = 0 ] || echo ": $last")"
> 1 more, and the file has them
# Pages of a large shadow that no earlier run needed are filled when a thread or what it forks first needs them.
$ py=/usr/bin/python3; [ -x $py ] || { echo same; exit; }; export PYTHONHASHSEED=0; cat > p.py <<'E'
+ import decimal, json, os, re, threading
+ def work(n):
+     print(sum(len(json.dumps({str(i): [i, i / 3]})) for i in range(n)), decimal.Decimal(n).sqrt())
+ for n in 30, 40, 50:
+     t = threading.Thread(target=work, args=(n,)); t.start(); t.join()
+ if not os.fork():
+     print(sorted(re.findall('[a-z]+', 'the quick fox')), flush=True); os._exit(0)
+ os.wait()
+ E
+ $py p.py > native; pugmark run -q --cache-dir l -- $py -c 1 2>log
+ pugmark run -q --cache-dir l -- $py p.py 2>log >out; cmp native out && echo same
> same
