# One run, every kind of report, and the same total in each.
$ pugmark run -o text --json json --csv csv --callgrind cg --html html -- "$PROGRAMS/cuts"; echo $?
> 1144 30 23
> 3
$ n=$(sed -n 's/^  "instructions": \([0-9]*\),$/\1/p' json | head -n 1); echo "$n" > total; test "$n" -gt 10000 && awk -F, 'NR > 1 { s += $(NF - 1) } END { print s }' csv | diff - total
$ sed -n 's/^totals: \([0-9]*\) .*/\1/p' cg | diff - total
$ awk '$1 == "instructions" { gsub(",", "", $2); print $2; exit }' text | diff - total
$ grep -c '</html>' html
> 1
# 80 columns, no colour in a file, the functions by name, the cut blocks' process by its own line.
$ awk 'length > 80' text; grep -c "$(printf '\033')" text; grep -c '/cuts,touch,' csv; sed -n '/^Processes/,/^$/p' text | grep -c ' cuts'
> 0
> 1
> 2
# Intel's syntax is Intel's.
$ pugmark run --syntax intel -- "$PROGRAMS/cuts" 2>&1 >/dev/null | grep -c '^ *[0-9a-f]*  .*%r'
> 0
? 1
# A program that is killed: everything until then, marked.
$ exec pugmark run -o text --json json -- /bin/sh -c 'kill -9 $$'
? 137
$ grep -c INCOMPLETE text; sed -n 's/^  "incomplete": //p' json; awk '$1 == "exit"' text | tr -s ' '
> 1
> true,
>  exit SIGKILL
# What cannot be written is said, with the name.
$ pugmark run -q --json /nowhere/x -- "$PROGRAMS/cuts"
! pugmark: /nowhere/x: cannot create: No such file or directory
? 1
