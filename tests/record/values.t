# Values of loads and stores are those that the single-stepper reads of the program itself.
# timeout: 180
$ "$TESTS/record/stepped_values" "$PROGRAMS/bare"
> equal
$ "$TESTS/record/stepped_values" "$PROGRAMS/moves_data"
> equal
# A part: what all of it has there. Threads, too: what one has stored the next one loads.
$ pugmark record -q -o r.pugrec -- "$PROGRAMS/moves_data" >out; pugmark convert -q --values r.pugrec all.pug; pugmark convert -q --values --skip 1000 --length 500 r.pugrec part.pug; pugmark slice -q --from 1000 --count 500 all.pug cut.pug; for f in part cut; do pugmark dump $f.pug | grep -E '^0 (insn|read|write|modify|rep)' > $f; done; grep -c insn part; cmp part cut
> 500
$ pugmark info all.pug | grep -o 'data values'
> data values
$ pugmark convert --skip 5 r.pugrec x.pug
! pugmark: --skip and --length are about --values; `pugmark slice` cuts (see `pugmark convert --help`)
? 2
$ pugmark convert --values part.pug x.pug
! pugmark: part.pug:0x0: not a recording
? 1
# No room for the references that it collects first: that is said, though the replay has been ended on purpose.
$ unshare -rm true 2> /dev/null || { printf '1\n0\n'; exit 0; }
+ mkdir small; pugmark record -q -o ls.pugrec -- /bin/ls / >out; unshare -rm sh -c 'mount -t tmpfs -o size=4k,mode=700 none small && TMPDIR=$PWD/small pugmark convert -q --values --length 50000 ls.pugrec none.pug 2> said; grep -c "a temporary file: cannot write: No space left" said; ls none.pug 2> /dev/null | wc -l'
> 1
> 0
# A part behind the end is none.
$ pugmark record -q -o e.pugrec -- env true; pugmark convert -q --values --skip 99999999 e.pugrec e.pug 2>&1 | sed 's/[0-9][0-9]* i/N i/'; ls e.pug 2>&1 | wc -l
> pugmark: e.pugrec: it has N instructions: nothing is left of them
> 1
