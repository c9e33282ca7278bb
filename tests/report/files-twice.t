# No command writes over what it reads, and none writes a file twice: it says so, and all files stay as they are.
$ cp "$PROGRAMS/loops" prog && pugmark run -q --exec -o t.pug ./prog >out && pugmark run -q --json a.json ./prog >out
+ pugmark run -q --callgrind a.cg ./prog >out; cp a.json b.json; printf 'trace t = t.pug\nsim bp = bpred:gshare=10\n' >p.plan
+ pugmark sweep run -q p.plan >out; sha256sum prog t.pug a.json b.json a.cg p.plan >sums
$ cat >each <<'X'
+ convert t.pug t.pug
+ convert -t xdin --json t.pug t.pug x
+ convert -t xdin --json x t.pug ./x
+ slice t.pug ./t.pug
+ slice --json t.pug t.pug x.pug
+ diff -o a.json a.json b.json
+ diff -q --json b.json a.json b.json
+ diff -q --json x --html x a.json b.json
+ annotate -o t.pug t.pug
+ annotate --csv x --folded x t.pug
+ annotate -o a.cg a.cg
+ sim -s insns --json t.pug t.pug
+ sim -s insns --json - --csv - t.pug
+ sim -s insns --cores 2 --save-schedule t.pug t.pug
+ mix --csv t.pug t.pug
+ report --no-open -o t.pug t.pug
+ report --no-open -o a.json a.json
+ report --no-open -o a.cg a.cg
+ profile write --bolt t.pug t.pug
+ profile write --bolt x --fdata x t.pug
+ sample --store t.pug t.pug
+ simpoint cut -o x --json t.pug t.pug
+ info --json t.pug t.pug
+ verify --json t.pug t.pug
+ dump -o t.pug t.pug
+ head -o t.pug t.pug
+ sweep status --json p.plan p.plan
+ sweep collect --csv p.plan p.plan
+ sweep collect --csv x --json x p.plan
+ run -o prog ./prog
+ record -o prog ./prog
+ X
$ while read -r line; do
+ pugmark $line >out 2>said </dev/null; s=$?
+ [ $s = 2 ] && grep -qE '(is also the input|given twice): ' said || { echo "$line: status $s"; cat said; }
+ done <each; sha256sum -c --quiet sums && ls x x.pug 2>/dev/null | wc -l
> 0
# /dev/null may be given as often as one likes, and a sum of profiles may be one of them.
$ pugmark sim -s insns --json /dev/null --csv /dev/null t.pug >out && pugmark profile write --bolt sum.pa t.pug && pugmark profile merge -o sum.pa sum.pa sum.pa && echo good
> good
