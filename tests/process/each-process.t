# A trace for each process: %p in the name.
# needs: python3
$ seq 2000 >numbers; cat >several.sh <<'END'
+ gzip -c numbers >packed & p=$!
+ (exec sort -o sorted numbers) & q=$!
+ wait
+ echo $$ $p $q
+ END
$ pugmark run -q --count --json j -o x.%p.pug -- sh several.sh >pids; ls x.*.pug | tr -dc '0-9\n' | sort >have; tr ' ' '\n' <pids | sort | cmp - have && wc -l <have
> 3
# what each of them executed, and nothing else; one after the other in one file
$ cat >check.py <<'END'
+ import collections, json, subprocess
+ def counts(j):
+     n = collections.Counter()
+     for s in json.load(open(j))["count"]["streams"]:
+         n[s["pid"]] += s["instructions"]
+     return n
+ want = counts("j")
+ for f in json.load(open("j"))["written_by_process"]:
+     subprocess.run(["pugmark", "sim", "-s", "count", "--json", "one.json", f["file"]], stdout=subprocess.DEVNULL, check=True)
+     assert counts("one.json") == {f["pid"]: want[f["pid"]]}, f
+     subprocess.run(["pugmark", "verify", "-q", f["file"]], stdout=subprocess.DEVNULL, check=True)
+ print(len(want))
+ END
$ python3 check.py; read sh gzip sort <pids; for p in $sh $gzip $sort; do pugmark dump x.$p.pug | sed -n 's/^[0-9]* \(exec\|process\) .*name=".*\/\(.*\)"/\1 \2/p' | sort | xargs; done
> 3
> exec dash
> exec gzip process dash
> exec sort process dash
# other formats, %%, a file's name without %p as it is; only some processes
$ pugmark run -q -t lackey -o 'l%%.%p' -- sh several.sh >pids 2>/dev/null; ls l%.* | wc -l; pugmark run -q -t pug -o 'as%%it%is' -- true; ls as*; pugmark run -q --follow-only gzip -o only.%p.pug -- sh several.sh >/dev/null; ls only.*.pug | wc -l
> 3
> as%%it%is
> 1
# bad ones
$ pugmark run -q -o none/x.%p.pug -- true; echo $?; pugmark run -q --html x.%p.html -- true; echo $?; pugmark run -q -o x.%p -- true; echo $?
> 1
> 2
> 2
! pugmark: none/x.%p.pug: cannot create files there: No such file or directory
! pugmark: 'x.%p.html': a file for each process (%p) is for traces: -o x.%p.pug (see `pugmark run --help`)
! pugmark: 'x.%p': a file for each process (%p) is for traces: -o x.%p.pug (see `pugmark run --help`)
