# Calling-context trees: who called whom, for programs whose structure is known; what functions cost, beside a profile,
# beside simulators' own totals, and beside callgrind.
# needs: gcc g++
# Recursion, tail calls, longjmp() out of nested frames, a signal's handler: each function below who called it, and what
# comes behind longjmp() below the function that called setjmp(), not below who jumped.
$ cat >t.c <<'END'
+ #include <setjmp.h>
+ #include <signal.h>
+ #include <pthread.h>
+ #include <unistd.h>
+ #define F __attribute__((noinline, noipa))
+ static volatile int sum; static jmp_buf env;
+ F void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
+ F int recurse(int n) { leaf(n); return n ? recurse(n - 1) + sum : 1; }
+ F void even(int n); F void odd(int n) { leaf(1); if (n) even(n - 1); }
+ F void even(int n) { leaf(2); if (n) odd(n - 1); }
+ F void last(int n) { leaf(n); sum++; }
+ F void tail(int n) { sum++; last(n); }
+ F void after(void) { leaf(3); sum++; }
+ F void deepest(void) { leaf(1); longjmp(env, 1); }
+ F void deeper(void) { deepest(); sum++; }
+ F void deep(void) { deeper(); sum++; }
+ F void jumps(void) { if (!setjmp(env)) deep(); after(); sum++; }
+ F void handler(int s) { leaf(s); sum++; }
+ F void raises(void) { kill(getpid(), SIGUSR1); after(); sum++; }
+ F void work(long n) { leaf((int)n); sum++; }
+ static void *thread(void *n) { work((long)n); sum++; return 0; }
+ int main(void)
+ {
+ 	pthread_t t[2];
+ 	signal(SIGUSR1, handler);
+ 	recurse(2); tail(5); even(5); jumps(); raises(); after();
+ 	for (long i = 0; i < 2; i++) { pthread_create(t + i, 0, thread, (void *)(i + 1)); pthread_join(t[i], 0); }
+ 	return 0;
+ }
+ END
$ gcc -O2 -Wl,-z,now -o t t.c && pugmark run -q --folded t.folded -- ./t && sed -n 's/ [0-9]*$//; s/.*;main\(;\|$\)/main\1/p' t.folded | awk -F';' '{ for (i = 1; i <= NF; i++) if ($i !~ /^(main|recurse|even|odd|tail|last|jumps|deep|deeper|deepest|raises|kill|handler|after|leaf)$/) next; print }' 
> main
> main;after
> main;after;leaf
> main;even
> main;even;leaf
> main;even;odd
> main;even;odd;leaf
> main;jumps
> main;jumps;after
> main;jumps;after;leaf
> main;jumps;deep
> main;jumps;deep;deeper
> main;jumps;deep;deeper;deepest
> main;jumps;deep;deeper;deepest;leaf
> main;raises
> main;raises;after
> main;raises;after;leaf
> main;raises;kill
> main;raises;kill;handler
> main;raises;kill;handler;leaf
> main;recurse
> main;recurse;leaf
> main;recurse;recurse
> main;recurse;recurse;leaf
> main;recurse;recurse;recurse
> main;recurse;recurse;recurse;leaf
> main;tail
> main;tail;last
> main;tail;last;leaf
$ sed -n 's/ [0-9]*$//; s/.*;thread\(;\|$\)/thread\1/p' t.folded | sort -u
> thread
> thread;work
> thread;work;leaf
# Nothing of a thread is lost, whoever ran its code first.
$ pugmark run -q --branch --folded live -o t.pug -t pug -- ./t; pugmark sim --folded stored t.pug >/dev/null; cmp live stored; pugmark run -q --by-thread --folded - -- ./t | grep -c ';thread;work;leaf '
> 2
# By thread: a tree for each; the number of a thread is not the same every time.
$ pugmark run -q --by-thread --folded - -- ./t | sed -n 's/^\([^;]*\)[ 0-9]*;.*thread;work;leaf [0-9]*/\1/p' | sed 's/[0-9]*$/N/'
> thread N
> thread N
# Exceptions: what runs after one is below the function that caught it, at every depth of a recursion; destructors on the
# way are below the function whose objects they destroy. What happened says the program itself, compiled to log it.
$ cat >x.cc <<'END'
+ #include <stdio.h>
+ #include <string.h>
+ #define F __attribute__((noinline, noipa))
+ #define LOG struct log here(__func__)
+ static char path[4000];
+ static volatile int sum;
+ struct log { size_t n; F log(const char *f) { n = strlen(path); strcat(path, ";"); strcat(path, f); fprintf(stderr, "%s\n", path); } F ~log() { path[n] = 0; } };
+ F void clean() { LOG; sum++; }
+ struct object { F ~object() { clean(); sum++; } };
+ F void after() { LOG; sum++; }
+ F int thrower(int n) { LOG; if (n < 3) { object o; int r = thrower(n + 1); sum++; return r; } sum++; throw n; }
+ F void catcher(int n) { LOG; try { thrower(n); } catch (int) { after(); } after(); sum++; }
+ F void nested(int n) { LOG; try { if (n) nested(n - 1); else thrower(2); } catch (int) { after(); if (n < 2) throw; } sum++; }
+ int main() { LOG; catcher(0); catcher(2); nested(3); after(); }
+ END
$ g++ -O2 -Wl,-z,now -o x x.cc && pugmark run -q --folded x.folded -- ./x 2>log; sort -u log | sed 's/^;//' >said; sed -n 's/ [0-9]*$//; s/.*;main\(;\|$\)/main\1/p' x.folded | sed 's/([a-z]*)//g; s/;object::~object//; s/;[a-z]* .clone .cold.//g' | awk -F';' '{ for (i = 1; i <= NF; i++) if ($i !~ /^(main|catcher|thrower|clean|after|nested)$/) next; print }' | sort -u >seen; diff said seen && grep -c . seen
> 21
# A node's own instructions, summed up by function, are what a profile says, to the last one: gzip, and sqlite3.
$ for i in 1 2 3 4 5 6 7 8 9; do cat t.c x.cc; done >in; printf 'create table t(a, b);\nwith recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into t select i, i %% 7 from n;\nselect b, count(*), sum(a) from t group by b order by 2;\n' >in.sql
$ cat >same <<'END'
+ name=$1; shift
+ pugmark run -q --fix-random --json p.json -- "$@" <in.sql >/dev/null && pugmark run -q --fix-random --folded f -- "$@" <in.sql >/dev/null
+ python3 - $name <<'PY'
+ import collections, json, sys
+ profile, tree = collections.Counter(), collections.Counter()
+ for f in json.load(open("p.json"))["functions"]: profile[f["function"].replace(";", ":")] += f["instructions"]
+ for line in open("f"): stack, n = line.rsplit(" ", 1); tree[stack.split(";")[-1]] += int(n)
+ print(sys.argv[1], "same" if profile == tree else [(k, profile[k], tree[k]) for k in profile | tree if profile[k] != tree[k]][:9])
+ PY
+ END
$ sh same gzip gzip -9c in; if command -v sqlite3 >/dev/null; then sh same sqlite3 sqlite3 :memory:; else echo sqlite3 same; fi
> gzip same
> sqlite3 same
# Blocks, single instructions and a stored trace give the same tree.
$ pugmark run -q --fix-random --branch --folded live -o g.pug -t pug -- gzip -9c in >/dev/null; pugmark sim --folded stored g.pug >/dev/null; pugmark run -q --fix-random --sim cachegrind --folded slow --speedscope s.json -- gzip -9c in >/dev/null; cmp live stored && cmp live slow && pugmark run -q --fix-random --folded blocks -- gzip -9c in >/dev/null; cmp live blocks && awk 'END { print (NR > 100) }' live
> 1
# Each event sums up to what its simulator counted; what speedscope and pprof read says the same (pprof's file is read by
# a few lines of Python that know nothing of how it was written).
$ cat >sums.py <<'END'
+ import gzip, json
+ def fields(b):
+     at = 0
+     def varint():
+         nonlocal at
+         v = shift = 0
+         while True:
+             v |= (b[at] & 127) << shift; shift += 7; at += 1
+             if b[at - 1] < 128: return v
+     while at < len(b):
+         tag = varint()
+         assert tag & 7 in (0, 2)
+         v = varint()
+         if tag & 7 == 2: v, at = b[at:at + v], at + v
+         yield tag >> 3, v
+ def numbers(b): return [v for tag, v in fields(b"".join(bytes([8]) + x for x in split(b)))]
+ def split(b):
+     start = 0
+     for i, c in enumerate(b):
+         if c < 128: yield b[start:i + 1]; start = i + 1
+ p = list(fields(gzip.open("c.pb.gz").read()))
+ strings = [v.decode() for tag, v in p if tag == 6]
+ types = [strings[dict(fields(v))[1]] for tag, v in p if tag == 1]
+ functions = {f[1]: f for f in (dict(fields(v)) for tag, v in p if tag == 5)}
+ locations = {l[1]: l for l in (dict(fields(v)) for tag, v in p if tag == 4)}
+ mappings = {m[1]: m for m in (dict(fields(v)) for tag, v in p if tag == 3)}
+ stacks = {t: {} for t in types}
+ for tag, v in p:
+     if tag != 2: continue
+     sample = dict(fields(v))
+     names = [strings[functions[dict(fields(locations[i][4]))[1]][2]] for i in numbers(sample[1])]
+     for t, n in zip(types, numbers(sample[2])):
+         key = ";".join(reversed(names))
+         if n: stacks[t][key] = stacks[t].get(key, 0) + n
+ sim = json.load(open("c.json"))
+ whole = dict(sim["cachegrind"]["total"] if "total" in sim["cachegrind"] else sim["cachegrind"])
+ scope = json.load(open("c.speedscope"))
+ frames = [f["name"] for f in scope["shared"]["frames"]]
+ for prof in scope["profiles"]:
+     t = prof["name"]; mine = {}
+     assert prof["type"] == "sampled" and len(prof["samples"]) == len(prof["weights"]) and prof["endValue"] == sum(prof["weights"])
+     for s, w in zip(prof["samples"], prof["weights"]): key = ";".join(frames[i] for i in s); mine[key] = mine.get(key, 0) + w
+     assert mine == stacks[t], t
+     assert sum(stacks[t].values()) == whole["Ir" if t == "instructions" else t], (t, sum(stacks[t].values()), whole)
+ folded = {}
+ for line in open("c.folded"): k, n = line.rsplit(" ", 1); folded[k] = folded.get(k, 0) + int(n)
+ assert folded == stacks["instructions"]
+ assert all(len(strings[m.get(6, 0)]) in (0, 40) and strings[m[5]][0] in "/[" for m in mappings.values()) and len(mappings) >= 3
+ print(*types)
+ END
$ cd . && pugmark run -q --sim cachegrind --folded c.folded --speedscope c.speedscope --pprof c.pb.gz --json c.json -- ./t && python3 sums.py
> instructions I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
# Inclusive costs are what a single-stepper's instructions add up to, and callgrind's, where it is installed.
$ cat >v.c <<'END'
+ static volatile int sum;
+ #define F __attribute__((noinline, noipa))
+ F void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
+ F void mid(int n) { leaf(n); leaf(n + 1); sum++; }
+ F void top(int n) { for (int i = 0; i < n; i++) mid(i); sum++; }
+ int main(void) { top(9); leaf(3); top(4); return 0; }
+ END
$ cat >inclusive.py <<'END'
+ # Addresses in order: an entry is a call, another function of the stack a return.
+ import array, collections, subprocess, sys
+ sizes = [l.split() for l in subprocess.check_output(["nm", "-S", "v"], text=True).splitlines()]
+ where = {l[3]: (int(l[0], 16), int(l[0], 16) + int(l[1], 16)) for l in sizes if l[-1] in ("leaf", "mid", "top", "main")}
+ pcs, n, stack = array.array("Q"), collections.Counter(), []
+ pcs.frombytes(open(sys.argv[1], "rb").read())
+ for pc in pcs:
+     f = next((f for f, (lo, hi) in where.items() if lo <= pc < hi), None)
+     if f is None: stack = []
+     elif pc == where[f][0]: stack.append(f)
+     else:
+         while stack[-1] != f: stack.pop()
+     n.update(stack)
+ print(*(f"{f} {n[f]}" for f in sorted(n)), sep="\n")
+ END
$ gcc -O1 -g -no-pie -o v v.c; pugmark run -q --folded v.folded -- ./v; "$BUILD/tests/oracle/singlestep" -r -s v.steps -d v.data -o v.sum -- ./v; python3 inclusive.py v.steps.1.1 >want
+ awk '{ n = split($1, f, ";"); for (i = 1; i <= n; i++) s[f[i]] += $2 } END { for (k in s) if (k ~ /^(leaf|mid|top|main)$/) print k, s[k] }' v.folded | sort >got; diff want got && sed 's/ .*//' got
+ ! command -v valgrind >/dev/null || ! command -v callgrind_annotate >/dev/null || { valgrind --tool=callgrind --callgrind-out-file=v.out ./v 2>/dev/null; callgrind_annotate --inclusive=yes --threshold=100 --auto=no --tree=none v.out | sed -n 's/^ *\([0-9,]*\) .*v\.c:\([a-z]*\) .*/\2 \1/p' | tr -d , | sort | diff - got; }
> leaf
> main
> mid
> top
# Names of generated code are in perf's map, which the program writes.
$ cat >j.c <<'END'
+ #include <stdio.h>
+ #include <string.h>
+ #include <sys/mman.h>
+ #include <unistd.h>
+ int main(void)
+ {
+ 	char name[64]; int sum = 0;
+ 	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
+ 	memcpy(p, "\xb8\x07\0\0\0\xc3", 6); memcpy(p + 64, "\xb8\x09\0\0\0\xc3", 6);
+ 	mprotect(p, 4096, PROT_READ | PROT_EXEC);
+ 	snprintf(name, sizeof name, "/tmp/perf-%d.map", getpid());
+ 	FILE *f = fopen(name, "w"); fprintf(f, "%lx 40 js:first function\nrubbish\n%lx 6 second;one\n", (long)p, (long)p + 64); fclose(f);
+ 	for (int i = 0; i < 5; i++) sum += ((int (*)(void))p)() + ((int (*)(void))(p + 64))();
+ 	puts(name); return sum != 80;
+ }
+ END
$ gcc -O1 -o j j.c; pugmark run -q --folded j.folded -- ./j >name && sed -n 's/.*;main;\(js\|second\)/\1/p' j.folded; rm -f "$(cat name)"
> js:first function 10
> second:one 10
# What cannot be.
$ pugmark run -q --folded x --event D1mr -- true
! pugmark: no event 'D1mr' was counted; there are: instructions (simulators count others, as --sim cachegrind)
? 2
$ pugmark run -q --event Ir -- true; pugmark run -q --sim tree:depth=1 -- true
! pugmark: --event, --by-thread, --fold-recursion, --max-depth and --max-contexts are for --folded, --speedscope, --pprof and --html
! pugmark: tree: depth: contexts: 1 is outside 2..100000
? 2
$ pugmark run -q --folded never --max-depth 1 -- true; pugmark run -q --folded never --max-contexts 9999999 -- true; ls never
! pugmark: --max-depth expects a number from 2 to 100000, not '1' (see `pugmark run --help`)
! pugmark: --max-contexts expects a number from 1 to 4194303, not '9999999' (see `pugmark run --help`)
! ls: cannot access 'never': No such file or directory
? 2
$ pugmark run -q --folded nowhere/x -- true
! pugmark: nowhere/x: cannot create: No such file or directory
? 1
$ printf '0 1000\n2 400000\n' >d.din; pugmark sim --folded x d.din
! pugmark: din traces hold no branch outcomes; 'tree-costs' needs them (`pugmark run --exec` traces them)
? 1

# An instruction that the decoder does not know and that faults: nothing of its block has executed. The handlers are below
# main, and a trace that is stored and read says the same.
$ pugmark run -q --branch --folded live -o u.pug -t pug -- "$PROGRAMS/unknown" >/dev/null; pugmark sim --folded stored u.pug >/dev/null; cmp live stored && grep -c ';main;skip [0-9]' live && grep -c ';skip;skip ' live
> 1
> 0
? 1
