# Branch profiles for compilers: branches and ranges are what the processor executed, and no more.
# timeout: 600
$ "$TESTS/oracle/compare-branches" "$PROGRAMS/bare"
> equal: 1002 branches, 3061 instructions
# Recursion, indirect calls, a switch, signals, longjmp; as shared objects are, at a fixed address, with libc inside. What has been stripped is as it was.
$ cp "$TESTS/data/branch_kinds.c" . && gcc -O2 -g branch_kinds.c -o pie && gcc -O2 -no-pie branch_kinds.c -o fixed && gcc -O1 -static branch_kinds.c -o static && strip -o stripped pie
+ for p in pie static; do "$TESTS/oracle/compare-branches" ./$p | sed "s/equal.*/$p: equal/"; done
> pie: equal
> static: equal
# Dynamically loaded libraries.
$ "$TESTS/oracle/compare-branches" "$PROGRAMS/dl" 8 | sed "s/equal.*/dl: equal/"
> dl: equal
$ pugmark run -q --bolt a -- ./pie > out; pugmark run -q --bolt b -- ./stripped > out; cmp a b
# A stored trace says the same as the run did, and so does an execution trace, in which chains are others.
$ for k in branch exec; do pugmark run -q --$k -o $k.pug --bolt $k.pa --autofdo $k.afdo -- ./pie > out || cat out; pugmark profile write --bolt stored.pa --autofdo stored.afdo $k.pug && cmp stored.pa $k.pa && cmp stored.afdo $k.afdo; done; cmp branch.pa exec.pa
# Counters of edges say the same without a trace, but for which return it was that came back. (Ranges that pass a place together may be paired otherwise, and a signal between blocks ends none.)
$ cat > sums <<'X'
+ FNR == 1 { nfile++ }
+ { sub(/^.*:/, "", $2) }
+ $1 == "B" && $2 in returns || $1 == "B" && $2 == 0 { next }
+ { k = $1 == "B" ? "B " $2 " " $3 : "begins " $2; n[nfile, k] += $4; all[k] }
+ $1 != "B" { n[nfile, "ends " $3] += $4; all["ends " $3] }
+ END { for (k in all) { some++; if (n[1, k] != n[2, k]) { print k, n[1, k] + 0, n[2, k] + 0; bad = 1 } } print (bad ? "differ" : some > 9 ? "same" : "few") }
+ X
+ for c in 'sqlite3 :memory: "select sum(value) from generate_series(1,2000)"' 'gzip -c /bin/sh' 'sort -n /etc/services'; do rm -f e-* t-*; eval "pugmark run -q --fix-random --bolt e-%n -- $c" > out.e; eval "pugmark run -q --fix-random --branch --bolt t-%n -- $c" > out.t; cmp out.e out.t; for f in e-*; do p=$(ls /usr/bin/${f#e-} /usr/lib/x86_64-linux-gnu/${f#e-} ./${f#e-} 2>/dev/null | head -n 1); objdump -dw "$p" | awk -v f=$f 'BEGIN { print "BEGIN {" } /\tret|bnd ret|repz ret/ { sub(/^ +/, ""); sub(/:.*/, ""); print "returns[\"" $0 "\"]" } END { print "}" }' > rets; cat rets sums > prog; awk -f prog $f t-${f#e-}; done | uniq; done
> same
> same
> same
# The sums of a merge; of one file it is the file itself.
$ pugmark profile merge -o one branch.pa && cmp one branch.pa && pugmark profile merge -o two branch.pa exec.pa && awk '{ print $1, $2, $3, 2 * $4 }' branch.pa > want; awk '{ print $1, $2, $3, $4 }' two | cmp - want
$ pugmark profile merge -o one branch.afdo && cmp one branch.afdo && pugmark run -q --llvm-sample a.ls --fdata a.fdata -- ./pie > out && for f in ls fdata; do pugmark profile merge -o two a.$f && cmp two a.$f; done
# Mispredictions, if somebody predicts. A loop of 500 rounds is right but for its end.
$ awk '$1 == "B" { n += $5 } END { print n }' branch.pa; pugmark run -q --bolt p.pa --predict -- ./pie > out && awk '$1 == "B" { n += $5 } $5 > $4 { print } END { print (n > 50) }' p.pa
> 0
> 1
# Of several processes: those of the program are one profile; others have files of their own. What replaces the program is the program.
$ pugmark run -q --branch --bolt a.pa -- /usr/bin/env -u X ./pie > out && cut -d' ' -f1,2,3,4 a.pa | cmp - branch.pa 2>&1 | head -c 0; test $(wc -l < a.pa) = $(wc -l < branch.pa) && echo same branches
> same branches
$ pugmark run -q --bolt 'all-%n.pa' -- sh -c './pie; ./pie' > out; for f in all-*; do echo "$f"; done; pugmark profile merge -o two branch.pa branch.pa; for f in two all-pie.pa; do awk '$1 != "B" { n += $4 } END { print n }' $f; done | uniq | wc -l
> all-dash.pa
> all-ld-linux-x86-64.so.2.pa
> all-libc.so.6.pa
> all-pie.pa
> 1
# Libraries that are gone by the end; the profile has them.
$ pugmark run -q --bolt '%n.pa' -- "$PROGRAMS/dl" > out; for f in lib[ab]*.pa; do grep -c '^F' $f > /dev/null && echo $f; done
> libalpha.so.pa
> libbeta.so.pa
# What is wrong is said in one sentence.
$ pugmark profile merge -o x branch.pa branch.afdo
! pugmark: branch.afdo: this is autofdo, and branch.pa is bolt: they cannot be added
? 1
$ printf 'B 10 20 5\n' > bad; pugmark profile merge -o x bad
! pugmark: bad:0x9: expected how many were mispredicted
? 1
$ printf '1\n10-20:5\n1\n10->:5\n' > bad; pugmark profile merge -o x bad
! pugmark: bad:0x10: expected FROM->TO:COUNT
? 1
$ printf 'hello\n' > bad; pugmark profile merge -o x bad; : > bad; pugmark profile merge -o x bad; pugmark profile merge -o x none
! pugmark: bad:0x0: expected a branch profile: bolt, fdata, autofdo or llvm-sample
! pugmark: bad: the file is empty
! pugmark: none: cannot open: No such file or directory
? 1
$ pugmark run -q --fdata x --bolt x.pa -- ./stripped 2>&1 > out | sed 's,[^ ]*/stripped,stripped,'
> pugmark: stripped: it has no symbols, and fdata names functions; --bolt needs none
# The program has been built anew meanwhile: nothing is written that would fit neither.
$ cp pie moved; pugmark run -q --branch -o m.pug -- ./moved > out; gcc -O1 branch_kinds.c -o moved
+ for o in bolt fdata autofdo llvm-sample; do pugmark profile write --$o x.$o m.pug 2>&1 | sed 's,[^ ]*/moved,moved,; s/0x[0-9a-f]*/0xX/'; test ! -e x.$o || echo written; done
> pugmark: moved: its code at 0xX is not what ran: this is another build, or the program has changed itself
> pugmark: moved: its code at 0xX is not what ran: this is another build, or the program has changed itself
> pugmark: moved: its code at 0xX is not what ran: this is another build, or the program has changed itself
> pugmark: moved: its code at 0xX is not what ran: this is another build, or the program has changed itself
$ pugmark run -q --bolt new -- ./moved > out; pugmark profile merge -o x branch.pa new 2>&1 | sed 's/[0-9a-f]\{40\}/ID/g'
> pugmark: new: this is of build ID, and branch.pa of ID
$ cp pie gone; pugmark run -q --branch -o g.pug -- ./gone > out; rm gone; pugmark profile write --bolt x g.pug && test -s x && pugmark profile write --autofdo x g.pug 2>&1 | sed 's,[^ ]*/gone,gone,'
> pugmark: gone: cannot open: No such file or directory
$ mkdir -p twin && cp pie twin/pie && pugmark run -q --bolt 'x.%n' -- sh -c './pie; twin/pie' 2>&1 > out | sed 's/ both .*;/ both;/'; ls x.pie 2>/dev/null; pugmark profile write branch.pug
> pugmark: x.pie would be of both; %b in a name is the build id
! pugmark: nothing to write; try --bolt FILE (see `pugmark profile write --help`)
? 2
$ echo 0 1000 4 > x.din; pugmark profile write --bolt x x.din
! pugmark: x.din: it has no basic blocks, of which a branch profile is made; traces by `pugmark run -o FILE.pug -- PROGRAM` have them, or use `pugmark run --bolt FILE -- PROGRAM`
? 1
$ pugmark profile write --bolt /none/x branch.pug; pugmark run --bolt /none/x -- ./pie
! pugmark: /none/x: cannot create: No such file or directory
! pugmark: /none/x: cannot create: No such file or directory
? 1
# a trace that was another format's once
$ pugmark convert -q "$TESTS/data/formats/steps.drmemtrace" d.pug && pugmark profile write --bolt x d.pug; echo $?
> 1
! pugmark: d.pug: it has no basic blocks, of which a branch profile is made; traces by `pugmark run -o FILE.pug -- PROGRAM` have them, or use `pugmark run --bolt FILE -- PROGRAM`
# What cannot be written is known before the program starts; in names %% is a percent sign, and %q stays as it is.
$ for o in --lcov --cobertura --drcov --bolt --fdata; do pugmark run -q $o no/x -- sh -c 'echo ran'; done; pugmark run -q --branch -t pug -o x.pug --drcov no/x -- sh -c 'echo ran'
! pugmark: no/x: cannot create: No such file or directory
! pugmark: no/x: cannot create: No such file or directory
! pugmark: no/x: cannot create: No such file or directory
! pugmark: no/x: cannot create: No such file or directory
! pugmark: no/x: cannot create: No such file or directory
! pugmark: no/x: cannot create: No such file or directory
? 1
$ mkdir names; cd names; pugmark run -q --bolt '%n.%%.%q' -- true; pugmark run -q --branch -o 'x.%p.%%.%q.pug' -- true; ls | sed 's/x\.[0-9]*/x.PID/' | grep -E '^(true|x)'
> true.%.%q
> x.PID.%.%q.pug
# What one file cannot hold keeps no other one away, in whatever order they are made: the run may have taken hours.
$ pugmark run -q --fdata not --autofdo auto --llvm-sample sample --lcov lines -- ./stripped 2>&1 >out | sed 's,[^ ]*/stripped,stripped,'; ls not auto sample lines 2>/dev/null
> pugmark: stripped: it has no symbols, and fdata names functions; --bolt needs none
> auto
> lines
> sample
? 2
