# tests/trace/packed.t - zip archives and Snappy frames are unpacked as gzip is: told by content, from a file or a pipe
# needs: python3
$ cp $TESTS/data/formats/steps.drmemtrace d; cat >pack.py <<'E'
+ import io, sys, zipfile, random
+ d = open('d', 'rb').read()
+ class Pipe(io.RawIOBase):           # nobody can go back in it: sizes and sums stand behind the data
+     def __init__(self, name): self.f = open(name, 'wb')
+     def writable(self): return True
+     def write(self, b): return self.f.write(b)
+ def make(to, method, parts):
+     with zipfile.ZipFile(to, 'w', method) as z:
+         for i, p in enumerate(parts): z.writestr('chunk.%04d' % i, p)
+ half = len(d) // 24 * 12
+ make('deflated', zipfile.ZIP_DEFLATED, [d[:half], b'', d[half:]])
+ make('stored', zipfile.ZIP_STORED, [d[:half], d[half:]])
+ make(Pipe('piped'), zipfile.ZIP_DEFLATED, [d[:half], d[half:]])
+ make('lzma', zipfile.ZIP_LZMA, [d])
+ rnd = random.Random(1)              # longer than any buffer, members end anywhere
+ big = d[:-24] + b''.join(b'\0\0\10\0' + rnd.randbytes(8) for _ in range(100000)) + d[-24:]
+ open('big', 'wb').write(big)
+ make(Pipe('bigzip'), zipfile.ZIP_DEFLATED, [big[i:i + 9973] for i in range(0, len(big), 9973)])
+ bad = bytearray(open('deflated', 'rb').read()); bad[14] ^= 1; open('sum', 'wb').write(bad)
+ bad = bytearray(open('deflated', 'rb').read()); bad[6] |= 1; open('secret', 'wb').write(bad)
+ open('cut', 'wb').write(open('deflated', 'rb').read()[:3000])
+ # Snappy's frames; the sum is computed bit by bit
+ def crc(b):
+     c = 0xffffffff
+     for x in b:
+         c ^= x
+         for _ in range(8): c = c >> 1 ^ (0x82f63b78 if c & 1 else 0)
+     c ^= 0xffffffff
+     return ((c >> 15 | c << 17) + 0xa282ead8 & 0xffffffff).to_bytes(4, 'little')
+ def chunk(kind, b): return bytes([kind]) + len(b).to_bytes(3, 'little') + b
+ def packed(b):                      # zeros as one literal and copies of it, the rest as literals
+     n, out = len(b), b''
+     while True:
+         out += bytes([n & 127 | (128 if n > 127 else 0)]); n >>= 7
+         if not n: break
+     i = 0
+     while i < len(b):
+         if i and b[i:i + 4] == b[i - 1:i] * 4: out += bytes([3 << 2 | 2, 1, 0]); i += 4
+         else: out += b'\0' + b[i:i + 1]; i += 1
+     return out
+ s = chunk(0xff, b'sNaPpY') + chunk(0x99, b'skip me') + chunk(1, crc(d[:1200]) + d[:1200])
+ for i in range(1200, len(d), 5000): s += chunk(0, crc(d[i:i + 5000]) + packed(d[i:i + 5000]))
+ open('snappy', 'wb').write(s)
+ bad = bytearray(s); bad[40] ^= 1; open('snapbad', 'wb').write(bad)
+ E
+ python3 pack.py
$ for f in deflated stored piped; do for i in $f -; do pugmark convert -q -t drmemtrace $i o <$f && cmp o d && echo $f; done; done
> deflated
> deflated
> stored
> stored
> piped
> piped
$ for i in bigzip -; do pugmark convert -q -t drmemtrace $i o <bigzip && cmp o big && echo the same; done
> the same
> the same
$ for f in lzma secret sum cut; do pugmark info $f >/dev/null || echo $?; done
> 1
> 1
> 1
> 1
! pugmark: lzma:0x0: zip data is packed in another way than deflated
! pugmark: secret:0x0: zip data is encrypted
! pugmark: sum:0xb83: zip data has a wrong checksum
! pugmark: cut:0xbad: zip data is cut here
# Snappy needs its library; without it one sentence says so
$ unpack() { pugmark convert -q -t drmemtrace $1 o 2>e; if grep -q 'needs the library libsnappy' e; then cat said; else cat e; cmp o d; fi; }; : >said; unpack snappy; echo 'pugmark: snapbad:0x15: Snappy data has a wrong checksum' >said; rm -f o; cp d o; unpack snapbad
> pugmark: snapbad:0x15: Snappy data has a wrong checksum
# A window that is larger than the zstd tool takes, too, unless it is told
$ yes "some line that repeats" | head -c 1000000 | zstd -q --long=28 --stream-size=300000000 -f -o w.zst 2>/dev/null || yes "some line that repeats" | head -c 270000000 | zstd -q --long=28 -f -o w.zst; pugmark head -f penn w.zst
! pugmark: w.zst:0x0: zstd data needs a window of more than 128 MiB: `zstd -dc --long=31` unpacks it
? 1
