# A program that is killed while tracing begins has been killed, and that is all that is said of it.
# needs: python3
# timeout: 120
$ cat > early.py <<'end'
+ import collections, os, random, subprocess, sys, time
+ seen = collections.Counter()
+ for i in range(60):
+     p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
+     child = None
+     while child is None and p.poll() is None:
+         try:
+             for t in os.listdir('/proc/%d/task' % p.pid):
+                 for c in open('/proc/%d/task/%s/children' % (p.pid, t)).read().split():
+                     child = int(c)
+         except OSError:
+             pass
+     time.sleep(random.random() * 0.006)
+     try:
+         os.kill(child, 9)
+     except (OSError, TypeError):
+         pass
+     said = p.stderr.read().decode()
+     seen[p.wait(), said] += 1
+ for (status, said), n in seen.items():
+     if status not in (-9, 0) or said:
+         print(n, status, said)
+ end
$ python3 early.py pugmark run -q --exec --count -- "$PROGRAMS/medley" 5 work:30 threads:3
$ python3 early.py pugmark run -q --exec --count --start-at work -- "$PROGRAMS/medley" 5 work:30 threads:3
$ python3 early.py pugmark run -q --exec --count --stop-at work -- "$PROGRAMS/medley" 5 work:30 threads:3
$ python3 early.py pugmark run -q --branch -o t.pug -- sh -c 'seq 2000 | sort -n | tail -n 1'
