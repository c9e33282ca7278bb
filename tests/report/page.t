# The first screen finds what the program was made to have, and the numbers are those of the run.
$ ${CC:-gcc} -g -O1 -o where "$TESTS/browser/where.c"; pugmark run -q --usual --html usual.html --json usual.json -- ./where >out; grep -o 'data-finding="[^"]*"' usual.html | grep -x 'data-finding="\(misses-in-one-line\|many-targets\|misses-in-one-object\)"' | sort -u
> data-finding="many-targets"
> data-finding="misses-in-one-line"
> data-finding="misses-in-one-object"
# Nothing of that is odd about a program that does little; its numbers are not all known, and that is said.
$ pugmark run -q --usual --html little.html -- "$PROGRAMS/cuts" >out; grep -c 'data-finding="\(misses-in-one\|many-targets\)' little.html
> 0
? 1
# What a file has without symbols is not one object, however often it is missed; with symbols it is.
$ echo 'static volatile int a[1 << 20]; int main(void) { for (int i = 0; i < 1 << 20; i += 16) a[i]++; return 0; }' >one.c; ${CC:-gcc} -O1 -o one one.c; strip -o none one; for p in one none; do pugmark run -q --usual --html $p.html --json $p.json -- ./$p; grep -c 'data-finding="misses-in-one-object"' $p.html; grep -o '"object": "a"\|"object": "none (data)"' $p.json; done
> 1
> "object": "a"
> 0
> "object": "none (data)"
# The flame graph has every instruction: the outermost box is the run.
$ n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' usual.json | head -n 1); sed -n 's/.*"contexts":\[\[0,0,[0-9]*,[0-9]*,\([0-9]*\)\].*/\1/p' usual.html | grep -cx "$n"
> 1
# A function and what it is called by: fib() calls itself, and is one box with all its calls.
$ python3 -c "import json, re; d = json.loads(re.search(r'id=\"contexts\">(.*?)</script>', open('usual.html').read(), re.S)[1]); c = d['contexts']; fib = d['names'].index('fib'); r = json.load(open('usual.json')); calls = next(f for f in r['calls']['by_self'] if f['function'] == 'fib'); tree = next(f for f in r['tree']['by_function'] if f['function'] == 'fib'); outer = sum(x[4] for x in c if x[1] == fib and c[x[0]][1] != fib); print(outer == calls['inclusive'] == tree['inclusive'] > 1000, calls['calls'] == tree['calls'] > 1000, sum(x[1] == fib for x in c) > 5)"
> True True True
# The profile's table of functions adds up to its total.
$ pugmark run -q --html p.html --json p.json -- ./where >out; n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' p.json | head -n 1); sed -n '/id="functions"/,/<\/table>/p' p.html | sed -n 's,^<tr>.*</td><td class="n">\([0-9.\,]*\)</td><td class="n">[0-9.\,]*</td><td class="n">.*,\1,p' | tr -d ',' | awk -v n="$n" '{ s += $1 } END { print s == n }'
> 1
# A page has no empty view, and none of the old ones' leftovers.
$ pugmark run -q --callgrind cg -- "$PROGRAMS/cuts" >out; pugmark annotate --html a.html -o text cg; grep -c '<h2>Summary\|</h2>.</section>\|unsafe-inline' a.html p.html usual.html
> a.html:0
> p.html:0
> usual.html:0
? 1
# Processes and threads: the page of a stored trace lists those that the page of the run does, with as many instructions.
$ cat >several.sh <<'END'
+ /bin/echo one | cat
+ (exec sort -o /dev/null /dev/null)
+ kill -9 $$
+ END
$ pugmark run -q --exec -o several.pug --html live.html --json several.json -- sh several.sh >/dev/null 2>&1; pugmark report -o stored.html --no-open several.pug; for p in live stored; do sed -n '/id="processes"/,/<\/table>/p' $p.html | sed -n 's/<[^>]*>/ /g; s/^ *[0-9]* *all/all/p' >$p; done; cmp live stored && sed 's/ [0-9,]* *[0-9,]* *[0-9,]* *$//; s/ *$//' stored | sort; n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' several.json); tr -d , <stored | awk -v n="$n" '{ s += $(NF - 2) } END { print s == n }'
> stored.html
> all  /usr/bin/cat  ended
> all  /usr/bin/dash  exec
> all  /usr/bin/dash  exec
> all  /usr/bin/dash  exec
> all  /usr/bin/dash  signal 9
> all  /usr/bin/echo  ended
> all  /usr/bin/sort  ended
> 1
# Each thread of a process has a row below it, and they add up; a trace without threads has no such view.
$ seq 5000 >several.txt; pugmark run -q --exec -o threads.pug -- xz -0 -T2 --block-size=10000 -kc several.txt >/dev/null && pugmark report -o threads.html --no-open threads.pug; sed -n '/id="processes"/,/<\/table>/p' threads.html | sed -n 's/<[^>]*>/ /g; s/^ *\([0-9]* *[0-9al]\)/\1/p' | tr -d , | awk '$2 == "all" { want = $(NF - 2); next } { n++; s += $(NF - 2) } END { print (n > 1), s == want }'; pugmark report -o none.html --no-open "$TESTS/data/formats/din.din"; grep -c 'id="processes"' none.html
> threads.html
> 1 1
> none.html
> 0
? 1
