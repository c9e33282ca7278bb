# tests/trace/protoc.t - protocol buffers as protoc reads them
# needs: protoc python3
# Behind the magic stand messages with their lengths; with a key before each they are one message.
$ cat >whole.py <<'E'
+ import sys
+ data = open(sys.argv[1], "rb").read()
+ assert data[:4] == b"gem5"
+ at = 4
+ while at < len(data):
+     size, shift, begin = 0, 0, at
+     while True:
+         size |= (data[at] & 127) << shift
+         shift += 7
+         at += 1
+         if data[at - 1] < 128:
+             break
+     sys.stdout.buffer.write(b"\x0a" + data[begin:at + size])
+     at += size
+ E
$ pugmark convert -q $TESTS/data/formats/steps.drmemtrace s.gem5; python3 whole.py s.gem5 | protoc --decode_raw >s.txt; head -26 s.txt; grep -c '^1 {' s.txt
> 1 {
>   1: "pugmark"
>   2: 0
>   3: 1000000000000
>   4: 1
> }
> 1 {
>   1: 140737354025840
>   4: 0
>   5: 0x0000000000000000
>   6: 1
>   9: "H\211\347"
> }
> 1 {
>   1: 140737354025843
>   4: 0
>   5: 0x00000000000001f4
>   6: 31
>   8 {
>     1: 140737488349080
>     2: 8
>     3: 0
>   }
>   9: "\350\370\013\000\000"
> }
> 1 {
> 1201
# pc, address and size of each: the same from protoc and from our own reader (bytes that look like a
# message are shown as one: only fields 1 and 8 of an instruction count)
$ awk '/^  [0-9]+ {/ { in8 = $1 == 8 } /^  1: [0-9]/ { printf "%x\n", $2 } in8 && /^    1: / { printf "%x", $2 } in8 && /^    2: / { printf " %x\n", $2 }' s.txt >theirs; pugmark convert -q -t xdin s.gem5 - | awk '{ print $1 == "i" ? $2 : $2 " " $3 }' >ours; cmp theirs ours; wc -l <ours
> 1645
