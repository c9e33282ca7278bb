# What a program reads about itself in /proc, by any of the file's names: nothing of ours, and no vDSO where there is none for it. A
# recorded program that found one would read times that no replay knows.
# needs: python3
$ cat >own.py <<'end'
+ import os, struct, threading
+ names = ["/proc/self/%s", "/proc/thread-self/%s", "/proc/%d/%%s" % os.getpid(), "/proc/self/task/%d/%%s" % os.getpid()]
+ def look():
+     own = "/proc/%d/task/%d/%%s" % (os.getpid(), threading.get_native_id())
+     for name in names + [own]:
+         maps = open(name % "maps").read()
+         auxv = open(name % "auxv", "rb").read()
+         keys = [struct.unpack_from("2Q", auxv, i)[0] for i in range(0, len(auxv), 16)]
+         print(name.replace(str(os.getpid()), "PID").replace(str(threading.get_native_id()), "TID"), "pugmark" in maps,
+               "[vdso]" in maps, 33 in keys, 3 in keys, os.readlink(name % "exe") == os.path.realpath("/proc/self/exe"))
+ t = threading.Thread(target=look)
+ look()
+ t.start()
+ t.join()
+ try:
+     open("/proc/self/task/1/maps")
+ except FileNotFoundError:
+     print("no such thread")
+ end
$ python3 own.py >native; grep -c 'False True True True True$' native; tail -n 1 native
> 10
> no such thread
$ pugmark run -q -o /dev/null -- python3 own.py | cmp - native
$ sed 's/False True True/False False False/' native >without; pugmark run -q --no-vdso -o /dev/null -- python3 own.py | cmp - without
$ pugmark record -q -o r.pugrec -- python3 own.py | cmp - without; pugmark replay -q r.pugrec | cmp - without
