# SPDX-License-Identifier: MIT
# bus-complete.awk - what the bus of a processor without caches shows of tests/programs/x86-guest/bare.S
#
#   pugmark dump bare.pug >bare.txt; awk -v tick=32 -f bus-complete.awk bare.txt bare.txt
#
# From a trace with virtual addresses, of which it is known where the program has put its pages. A line
# for each transaction but for ports and special cycles: type, address, size. An instruction is fetched
# in aligned quadwords, none of them twice while control goes straight on; a rep instruction that
# an interrupt stops was fetched, too. An interrupt is acknowledged if its vector is `tick`.
function hex(s,  v, i) {
	for (i = 3; i <= length(s); i++)
		v = 16 * v + index("0123456789abcdef", substr(s, i, 1)) - 1
	return v
}
function place(a) {
	if (a >= 419430400 && a < 423624704)	# 0x19000000: two pages of 2 MiB
		return a < 421527552 ? a - 419430400 + 6291456 : a - 421527552 + 4194304
	if (a >= 3219128320 && a < 3221225472)	# 0xbfe00000
		return a - 3219128320 + 4194304
	if (a >= 2147483648 && a < 3221225472)
		return a - 2147483648
	return a >= 1073741824 && a < 2147483648 ? a - 1073741824 : a
}
function transfer(type, a, size,  n, p) {
	while (size > 0) {
		n = 8 - a % 8
		if (n > size)
			n = size
		printf "%d 0x%x %d\n", type, place(a), n
		a += n
		size -= n
	}
}
function fetch(a, size,  u) {
	if (place(a) != straight)
		quadword = -1
	for (u = a - a % 8; u < a + size; u += 8) {
		if (place(u) != quadword)
			printf "0 0x%x 8\n", place(u)
		quadword = place(u)
	}
	straight = place(a + size - 1) + 1
}
NR == FNR { if ($2 == "insn") len[$3] = $4; next }
$2 == "insn" { fetch(hex($3), $4); last = $3 }
$2 == "rep-iter" && $3 != last { fetch(hex($3), len[$3]); last = $3 }
$2 == "read" { transfer(1, hex($3), $4) }
$2 == "write" { transfer(2, hex($3), $4) }
$2 == "interrupt" && $5 == "vector=" tick { print "7 0x0 1" }
