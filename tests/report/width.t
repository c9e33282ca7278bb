# A report for a file or a pipe is as wide as it needs to be; PUGMARK_COLUMNS makes it narrower, wherever it goes. The name of
# the function where this program spends its time has 150 characters.
$ printf 'int main(void)\n{\n\tint n = 0;\n\n\tfor (int i = 0; i < 9; i++)\n\t\tif (i &\t1)\n\t\t\tn++;\n\treturn n - 4;\n}\n' >i.c; ${CC:-gcc} -g -o i i.c
$ f=$(printf '%150s' | tr ' ' f); echo "int main(void) { return $f() + 3; } int $f(void) { volatile int n = 99999; while (n) n--; return n; }" | sed "s/^/int $f(void); /" >w.c; ${CC:-gcc} -o w w.c
+ for w in '' 80 120; do if [ "$w" ]; then export PUGMARK_COLUMNS=$w; else unset PUGMARK_COLUMNS; fi; pugmark run -s cachegrind -- ./w 2>&1 | awk -v w="$w" '{ if (length > most) most = length } END { print w + 0, (most > 80), (most > 120) }'; done
> 0 1 1
> 80 0 0
> 120 1 0
# So it is with long names of programs, also beside how a process ended and where a block lies.
$ long=a-program-with-a-name-of-forty-characters; cp w $long; env -u PUGMARK_COLUMNS pugmark run --report - -q -- ./$long | awk -v end="  $long" '/^Hottest/ { on = 1 } on && / x .*ffff/ { print (substr($0, length - length(end) + 1) == end); exit }'
+ cp "$(readlink -f /bin/sh)" sh-$long; printf './%s; exit 4\n' $long >long.sh; PUGMARK_COLUMNS=80 pugmark run --report - -q -- ./sh-$long long.sh | awk 'length > 80 { print } / sh-a-.*, status 4$/ { print "ended" }'
> 1
> ended
# What does not fit is named; of misses and mispredictions some stay.
$ pugmark run -s cachegrind -- ./i 2>&1 | sed -n '/^cachegrind functions/,/^$/p' | sed -n '1,2p; /\.\.\. and/p' | sed 's/and [0-9]* more/and N more/'
> cachegrind functions  (most Ir first)
>       Ir  I1mr  ILmr     Dr  D1mr  DLmr  D1mw  DLmw  Bcm  Bim           function
>   ... and 3 columns: Dw, Bc, Bi
$ pugmark run -s cachegrind --annotate - -q -- ./i | head -1 | sed 's/  */ /g'
>  Ir I1mr D1mr Bcm function (most Ir first)
# Shares have one notation.
$ pugmark run -s insns -- ./i 2>&1 | awk '/share/ { getline; print NF, $NF; exit }'
> 4 %
$ pugmark run --report - -q -- ./i | sed -n '/by class/,/^$/p' | awk 'NR > 1 && NF' | grep -cv '[0-9] %'
> 0
? 1
# Tables say what they are sorted by.
$ pugmark run --report - -q -- ./i | grep -o '(.*most .*first.*)' | sed 's/[0-9]* of [0-9]*/N of N/'
> (most first; conditions left out: jcc, cmovcc, setcc)
> (most first)
> (most instructions first)
> (N of N, most instructions first)
> (most instructions first; addresses as in the file)
# Source keeps its indentation.
$ pugmark run -q --callgrind cg -- ./i; pugmark annotate --function main cg | grep -o 'i.c:[567] .*' | sort -u
> i.c:5          for (int i = 0; i < 9; i++)
> i.c:6                  if (i & 1)
> i.c:7                          n++;
# Lists of what there is go on below where they began; into a file or a pipe a line is a line.
$ for c in formats 'formats pug' doctor; do PUGMARK_COLUMNS=80 pugmark $c >narrow; awk 'length > 80' narrow; env -u PUGMARK_COLUMNS pugmark $c >wide; [ $(wc -l <narrow) -gt $(wc -l <wide) ] && echo "$c"; done
> formats
> formats pug
> doctor
$ PUGMARK_COLUMNS=80 pugmark formats | sed -n '/^penn /,/^idt/p' | head -2; env -u PUGMARK_COLUMNS pugmark formats | grep '^penn '
> penn             rw  .trace .penn       micro-op traces of Penn's CIS 501,
>                                         compact or aligned columns
> penn             rw  .trace .penn       micro-op traces of Penn's CIS 501, compact or aligned columns
# COLUMNS, which some shells export, is the width of a terminal, and says nothing about pipes and files.
$ pugmark run -q --callgrind wide.cg -- ./w; cat >widths <<'E'
+ for c in formats doctor 'run --report - -q -- ./w' 'run -q -s cachegrind --annotate - -- ./w' 'diff wide.cg wide.cg' 'annotate wide.cg' 'run -s insns -- ./w'; do env -u PUGMARK_COLUMNS COLUMNS=60 pugmark $c >narrow 2>&1; env -u PUGMARK_COLUMNS -u COLUMNS pugmark $c >wide 2>&1; [ $(wc -L <narrow) = $(wc -L <wide) ] || echo "$c"; done
+ E
+ sh widths
$ env -u PUGMARK_COLUMNS COLUMNS=70 script -qec 'pugmark formats' /dev/null | tr -d '\r' | awk 'length > most { most = length } END { print (most > 60), (most > 70) }'
> 1 0
# Tables of names, what is left out of them, the contents of a trace, and examples in --help.
$ pugmark run -q --exec -o s.pug -- "$PROGRAMS/sharing" 8; export PUGMARK_COLUMNS=80; for c in 'sim --cores 4 -s coherence:cores=4 s.pug' 'sim -s core:topdown s.pug' 'info s.pug' 'run --help' 'sim --help'; do pugmark $c >o; awk 'length > 80' o; grep -c . o | awk '{ print ($1 > 20) }'; done
> 1
> 1
> 1
> 1
> 1
$ PUGMARK_COLUMNS=80 pugmark info s.pug | sed -n '/^contents/,/^traced/p'; env -u PUGMARK_COLUMNS pugmark info s.pug | grep '^contents'
> contents        instruction boundaries, instruction bytes, data addresses,
>                 access sizes, branch outcomes, address spaces, kernel events,
>                 threads, basic blocks, rep iterations
> traced:
> contents        instruction boundaries, instruction bytes, data addresses, access sizes, branch outcomes, address spaces, kernel events, threads, basic blocks, rep iterations
