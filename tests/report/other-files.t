# diff and report: what is none of their files is called by its name, or by what is wrong with it.
$ pugmark run -q --json a.json true; : >empty; echo '[1,2]' >list.json; echo '{"x": {"y": 1}}' >other.json; echo words >words
$ for f in empty list.json other.json words; do pugmark diff a.json $f; pugmark diff $f a.json; done 2>&1 | uniq
> pugmark: empty: the input is empty
> pugmark: list.json: Chrome traces can be written but not read
> pugmark: other.json: expected a document that names its schema, "pugmark.*"; what a command writes with --json does
> pugmark: words: not a trace that pugmark recognises; -f FORMAT says what it is (see `pugmark formats`)
$ pugmark run -q --branch -o t.pug true; pugmark diff a.json t.pug
! pugmark: t.pug: a trace cannot be compared with a.json, which is a JSON document
? 1
$ pugmark report --no-open -o page.html other.json; ls page.html 2>/dev/null
! pugmark: other.json: expected a document that names its schema, "pugmark.*"; what a command writes with --json does
? 2
$ pugmark report --no-open -o page.html a.json
> page.html
# A recording is none of their traces, and is called what it is.
$ pugmark record -q -o r.pugrec true; pugmark diff t.pug r.pugrec; pugmark sample r.pugrec; pugmark info - <r.pugrec
! pugmark: r.pugrec: a recording, where a trace's file is needed: `pugmark convert` makes one
! pugmark: r.pugrec: a recording, where a trace's file is needed: `pugmark convert` makes one
! pugmark: standard input: a recording, where a trace's file is needed: `pugmark convert` makes one
? 1
