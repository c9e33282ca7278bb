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
# The second of two equal runs finds everything.
$ for i in 1 2; do pugmark run -q --cache-dir "$PWD/c" --json j -- ls / > /dev/null; done; grep -o '"demand": *[0-9]*' j | tr -d ' '
> "demand":0
# A file that is cut short, or that has other bytes where it describes blocks, is not used.
$ for f in c/pugmark-code-b*; do truncate -s -100 "$f"; done
+ pugmark run -q --cache-dir "$PWD/c" --json j -- ls / > /dev/null; grep -o '"cached": *[0-9]*' j | tr -d ' '
> "cached":0
$ for f in c/pugmark-code-b*; do
+ 	printf '\377\376\375\374\000\001\002\003' |
+ 		dd of="$f" bs=1 seek=4100 conv=notrunc status=none
+ done
+ pugmark run -q --cache-dir "$PWD/c" --json j -- ls / > /dev/null; grep -o '"cached": *[0-9]*' j | tr -d ' '
> "cached":0
# What the cache file holds as it is needed is mapped from there, by whoever can open it; a process without a
# descriptor to spare gets a copy.
$ at=$(nm -D "$PROGRAMS/libalpha.so" | sed -n 's/ T name$//p')
+ for how in "" "" none; do
+ 	PUGMARK_STATS=1 pugmark run -q --cache-dir "$PWD/r" -- "$PROGRAMS/remap" "$PROGRAMS/libalpha.so" $at $how 2> stats
+ 	grep thawed stats
+ done
> called
> thawed: 0
> called
> thawed: 0
> called
> thawed: 1
