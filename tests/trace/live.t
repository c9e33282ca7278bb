# tests/trace/live.t - a running program's trace in any format is what its stored trace becomes
# needs: gzip sqlite3
# Two runs of a program are alike but for process ids, which drmemtrace holds, and for the vDSO, which reads a clock
# again while the kernel sets it.
$ cat >same <<'E'
+ # same FORMATS COMMAND...: which of the formats come out otherwise when the program runs than from a .pug
+ formats=$1; shift; mkdir -p empty; cd empty
+ env -i PATH="$PATH" HOME="$HOME" pugmark run -q --fix-random --no-vdso -o ../same.pug -t pug -- "$@" >/dev/null
+ for f in $formats; do
+ 	n=${f%%:*}
+ 	env -i PATH="$PATH" HOME="$HOME" pugmark run -q --fix-random --no-vdso -o ../live.$n -t $f -- "$@" >/dev/null || echo "$f: not written"
+ 	pugmark convert -q -t $f ../same.pug ../later.$n || echo "$f: not converted"
+ 	case $n in
+ 	drmemtrace) [ $(cmp -l ../live.$n ../later.$n | wc -l) -le 8 ] || echo "$f differs" ;;
+ 	*) (cd ..; cmp live.$n later.$n) ;;
+ 	esac
+ 	! [ -e ../live.blk64 ] || { cmp ../live.blk64 ../later.blk64 && echo block tables, too; }
+ 	rm -f ../live.* ../later.*
+ done
+ E
$ seq 100 >data; sh same "penn penn:aligned din xdin lackey pinatrace champsim cloudsuite drmemtrace gem5 kt64" gzip -c ../data
$ sh same "idt-branch64 idt-cache64 laplace64 laplace-text oraclegeneral lcs ramulator:cpu ramulator2 dramsim3 simpoint:interval=10000" gzip -c ../data
$ sh same "penn champsim" sqlite3 :memory: 'select max(value) from generate_series(1, 99)'
$ sh same "penn champsim" $(gcc -print-prog-name=cc1) --version -o /dev/null
# what must hold in every trace of micro-ops, holds; and nearly nothing is left to the generic recipe
$ for c in "gzip -c data" "sqlite3 :memory: .tables" "$(gcc -print-prog-name=cc1) --version -o /dev/null"; do
+ 	pugmark run -q --json j.json -t penn -o live.trace -- $c >/dev/null && head -300000 live.trace | awk -f $TESTS/oracle/penn-invariants.awk
+ 	sed -n 's/,$//; s/.*"\(integer[a-z_]*\)": /\1 /p' j.json | awk '{ n[$1] = $2 } END { print (n["integer"] > 100000 && n["integer_specific"] >= 0.995 * n["integer"]) }'
+ done
> 1
> 1
> 1
$ pugmark penn live.trace | head -1; pugmark verify live.trace | tail -1
> Processing trace...
> live.trace: good
# compressed as it goes; to a pipe; into a format that cannot hold it
$ pugmark run -q -t penn -o live.trace.gz -- gzip -c data >/dev/null; mkfifo f; gzip -c <f >p.gz & pugmark run -q -t penn -o f -- true; wait; pugmark uop-mix live.trace.gz | head -1 | sed 's/[0-9].*/N/'; pugmark uop-mix p.gz | head -1 | sed 's/[0-9].*/N/'
> Micro-ops: N
> Micro-ops: N
$ pugmark run -q -t laplace -o live.ref -- /bin/true 2>said; s=$?; at=$(sed -n 's/.*address \(0x[0-9a-f]*\) .*/\1/p' said); entry=$(readelf -hW "$(readelf -lW /bin/true | sed -n 's/.*interpreter: \(.*\)]/\1/p')" | sed -n 's/.*Entry point address: *//p'); [ $((at & 0xfff)) = $((entry & 0xfff)) ] && sed "s/$at/ENTRY/" said >&2; ls live.ref*; exit $s
! pugmark: live.ref: address ENTRY needs more than 32 bits; write laplace64, whose records are 26 bytes, or laplace-text
! ls: cannot access 'live.ref*': No such file or directory
? 1
$ pugmark run -q --branch -t lackey -o live.lackey -- true
! pugmark: live traces hold no data addresses; writing lackey traces needs them (`pugmark run --exec` traces them)
? 1
