# What programs ask files and disks by ioctl(), also where the number does not say how much is written. --check compares memory.
# needs: python3
$ cat > ask.py <<'end'
+ import fcntl, glob, os, sys
+ numbers = [1, 2, 0x301, 0x125e, 0x1260, 0x1263, 0x1265, 0x1267, 0x1268, 0x1278, 0x1279, 0x127a, 0x127b, 0x127c, 0x127e]
+ for path in ["ask.py"] + sorted(glob.glob("/dev/[sv]d[a-z]") + glob.glob("/dev/nvme*n1")):
+     try:
+         fd = os.open(path, os.O_RDONLY)
+     except OSError:
+         continue
+     for n in numbers:
+         answer = bytearray(b"\xaa" * 64)
+         try:
+             fcntl.ioctl(fd, n, answer, True)
+             print(path, hex(n), answer.hex())
+         except OSError as e:
+             print(path, hex(n), e.errno)
+ end
$ python3 ask.py > native && pugmark record -q --check -o r.pugrec -- python3 ask.py > recorded 2> said && cmp native recorded && pugmark replay -q r.pugrec > replayed && cmp native replayed && grep -o '[0-9]* holes' said && grep -c ask.py replayed
> 0 holes
> 15
