# tests/process/drmemtrace.t - what is written of threads, forks, exec, signals and 32-bit programs for DynamoRIO is what
# its tools rely on: tests/oracle/drmemtrace_check has the rules
# timeout: 400
$ cat >try <<'E'
+ # try PROGRAM...: its threads' files against the rules; as many instructions as were traced
+ rm -rf o; pugmark run -q -t drmemtrace -o o/ -- "$@" >said 2>&1 </dev/null; "$BUILD/tests/oracle/drmemtrace_check" o/* 2>n | sed 's/^[0-9]* //'
+ E
$ for p in signals faults loops forks; do echo $p; sh try "$PROGRAMS/$p"; done
> signals
> files, good
> faults
> files, good
> loops
> files, good
> forks
> files, good
$ sh try sh -c 'for i in 1 2; do echo $i | cat | sort; done; (exit 3); kill -9 $$'; ls o | sed 's/[0-9][0-9]*/N/g' | sort -u
> files, good
> drmemtrace.cat.N.N.trace
> drmemtrace.dash.N.N.trace
> drmemtrace.sort.N.N.trace
$ if [ -x "$PROGRAMS/i386/refs" ]; then for p in cursor gathers; do sh try "$PROGRAMS/i386/$p"; done; fi
> files, good
> files, good
# several processes of 32 and 64 bits: files of both kinds
$ sh try sh -c "$PROGRAMS/i386/refs; $PROGRAMS/loops"
> files, good
# all instructions, and the references of those that completed; read again they are what they were
$ pugmark run -q --exec -o t.pug -- "$PROGRAMS/signals" >said; pugmark convert -q t.pug -t drmemtrace t/; pugmark convert -q t -t drmemtrace:dir u && diff -r t u; "$BUILD/tests/oracle/drmemtrace_check" t/* 2>n | sed 's/^[0-9]* //'; pugmark info t.pug | awk '$1 == "instructions" { print $2; exit }' >a; pugmark info t | awk '$1 == "instructions" { print $2; exit }' | cmp a -
+ for i in $(pugmark info t.pug | awk '$1 == "tid" { print $2 }'); do for x in t.pug t; do pugmark slice -q --thread $i $x $i.pug; pugmark dump $i.pug | awk '$2 ~ /insn|read|write|modify|branch/ { print $2, $3, $4 }' | sed 's/^modify \(.*\)/read \1\nwrite \1/' >${x%.pug}.$i.${#x}; done; cmp t.$i.5 t.$i.1; done; ls t.*.5 | wc -l
> files, good
> 12
# a region of the program has holes: windows
$ head -c 60000 "$PROGRAMS/loops" >in; sh try true; rm -rf o; pugmark run -q --every 20000 --for 500 -t drmemtrace:dir,gzip -o o -- gzip -c in >said; gunzip o/*.gz; "$BUILD/tests/oracle/drmemtrace_check" o/* 2>n | sed 's/^[0-9]* //'
> files, good
> files, good
# one file with all of them is for whoever wants one; a note says what tools think of it
$ pugmark convert t.pug t.drmemtrace 2>&1 | grep 'in one file' | sed 's/[0-9][0-9]*/N/'
> pugmark: note: N threads of 12 processes are in one file; tools for drmemtrace traces want a file for each (-o NAME/ writes them)
# the rules find what is wrong: missing bytes, a missing reference
$ f=$(ls t/* | head -1); for n in 40 90; do perl -e 'local $/; open F, shift; binmode F; $_ = <F>; substr $_, 12 * (100 + shift), 12, ""; print' $f $n >bad; "$BUILD/tests/oracle/drmemtrace_check" bad 2>n | sed -n '1s/.*: \(([0-9])\).*/\1/p'; done
> (2)
> (8)
