# SPDX-License-Identifier: MIT
# qemu-log.awk - what QEMU's own log says that was executed, an address a line
#
#   qemu-system-x86_64 -accel tcg,one-insn-per-tb=on -d exec,nochain,int ... | awk -f qemu-log.awk
#
# The log has a line when an instruction begins. It did not complete if an exception of its own follows,
# whose frame leads back to it; nor if QEMU says that it stopped before; nor, of a rep instruction, if an
# interrupt leads back to it. A rep instruction is logged again and again until it is over: `reps` has
# the low 12 bits of such instructions' addresses, in hexadecimal, with blanks around each. From the
# first instruction at `from` on. Interrupts are lines "interrupt VECTOR ADDRESS"; of those by an
# instruction the log names that one, so the address is "software".
function flush() {
	if (last != "")
		print last
	last = ""
}
/^Trace/ {
	split($0, part, "/")
	pc = part[2]
	sub(/^0+/, "", pc)
	if (!begun && pc != from)
		next
	begun = 1
	if (pc == last && index(reps, " " substr(pc, length(pc) - 2) " "))
		next
	flush()
	last = pc
}
/^Stopped execution/ {
	last = ""
}
begun && match($0, / v=[0-9a-f][0-9a-f] /) {
	vector = substr($0, RSTART + 3, 2)
	ip = $0
	sub(/.* IP=[0-9a-f]*:0*/, "", ip)
	sub(/ .*/, "", ip)
	own = vector < "20" && index($0, " i=0 ")
	if (last == ip && (own || index(reps, " " substr(ip, length(ip) - 2) " ")))
		last = ""
	flush()
	print "interrupt", vector, index($0, " i=1 ") ? "software" : ip
}
END {
	flush()
}
