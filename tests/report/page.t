# The first screen finds what the program was made to have, and the numbers are those of the run.
$ ${CC:-gcc} -g -O1 -o where "$TESTS/browser/where.c"; pugmark run -q --usual --html usual.html --json usual.json -- ./where >out; grep -o 'data-finding="[^"]*"' usual.html | grep -x 'data-finding="\(misses-in-one-line\|many-targets\|misses-in-one-object\)"' | sort -u
> data-finding="many-targets"
> data-finding="misses-in-one-line"
> data-finding="misses-in-one-object"
# Nothing of that is odd about a program that does little; its numbers are not all known, and that is said.
$ pugmark run -q --usual --html little.html -- "$PROGRAMS/cuts" >out; grep -c 'data-finding="\(misses-in-one\|many-targets\)' little.html
> 0
? 1
# The flame graph has every instruction: the outermost box is the run.
$ n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' usual.json | head -n 1); sed -n 's/.*"contexts":\[\[0,0,[0-9]*,\([0-9]*\),.*/\1/p' usual.html | grep -cx "$n"
> 1
# A function and what it is called by: fib() calls itself, and is one box with all its calls.
$ tr -d '\n ' <usual.json | grep -o '"inclusive":[0-9]*,"calls":[0-9]*,"function":"fib"' | tr -cd '0-9,\n' | cut -d, -f1,2 >want; wc -l <want; i=$(sed -n 's/.*{"names":\[\([^]]*\)\],.*/\1/p' usual.html | tr ',' '\n' | grep -nx '"fib"' | cut -d: -f1); grep -o "\[[0-9]*,$((i - 1)),[0-9]*,[0-9]*,[0-9]*\]" usual.html | tr -d '[]' | cut -d, -f4,5 | diff - want
> 1
# The profile's table of functions adds up to its total.
$ pugmark run -q --html p.html --json p.json -- ./where >out; n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' p.json | head -n 1); sed -n '/id="functions"/,/<\/table>/p' p.html | sed -n 's,^<tr>.*</td><td class="n">\([0-9.\,]*\)</td><td class="n">[0-9.\,]*</td><td class="n">.*,\1,p' | tr -d ',' | awk -v n="$n" '{ s += $1 } END { print s == n }'
> 1
# A page has no empty view, and none of the old ones' leftovers.
$ pugmark run -q --callgrind cg -- "$PROGRAMS/cuts" >out; pugmark annotate --html a.html -o text cg; grep -c '<h2>Summary\|</h2>.</section>\|unsafe-inline' a.html p.html usual.html
> a.html:0
> p.html:0
> usual.html:0
? 1
