# Folded stacks of two runs: functions with what they called, and by themselves; the same as a page with one graph.
$ printf 'main;parse;hash 100\nmain;parse 20\nmain 5\nmain;parse;parse 7\n' >a.folded; printf 'main;parse;hash 40\nmain;parse 20\nmain;print 9\nmain 5\n' >b.folded
$ pugmark diff -q --json d.json --html d.html a.folded b.folded; python3 -c "import json, re; d = json.load(open('d.json')); t = next(t for t in d['tables'] if t['table'] == 'functions'); print(*sorted((r['name'], *(m[k] for m in r['measures'] for k in 'ab')) for r in t['differ'])); c = json.loads(re.search(r'id=\"contexts\">(.*?)</script>', open('d.html').read(), re.S)[1]); print(c['names']); print(*c['contexts'])"
> ('hash', 100, 40, 100, 40) ('main', 132, 74) ('parse', 127, 60, 27, 20) ('print', 0, 9, 0, 9)
> ['all', 'main', 'parse', 'hash', 'print']
> [0, 0, 0, 0, 132, 0, 74] [0, 1, 0, 5, 132, 5, 74] [1, 2, 0, 20, 127, 20, 60] [2, 3, 0, 100, 100, 40, 40] [2, 2, 0, 7, 7, 0, 0] [1, 4, 0, 0, 0, 9, 9]
$ pugmark diff --fail-if 'function parse inclusive>+1' a.folded b.folded >out && pugmark diff -q --fail-if 'function print self>5' a.folded b.folded
? 3
# A file that is none, and one that is none further down.
$ { for i in $(seq 200); do echo "a;b $i"; done; echo 'a;b'; } >bad.folded; pugmark diff a.folded bad.folded
! pugmark: bad.folded:201: expected FUNCTION;FUNCTION... COUNT, found 'a;b'
? 1
$ pugmark diff a.folded d.json
! pugmark: d.json: a JSON document cannot be compared with a.folded, which is folded stacks
? 1
