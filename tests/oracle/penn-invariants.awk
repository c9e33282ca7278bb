# SPDX-License-Identifier: MIT
# penn-invariants.awk - what must hold in every micro-op trace (docs/formats/penn.md); prints violations
function hex(s,  i, v) {
	v = 0
	for (i = 1; i <= length(s); i++)
		v = v * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
	return v
}
function bad(what) {
	print NR ": " what
	wrong++
}
{
	if (NF != 14)
		bad("fields")
	if ($1 == 1) {
		if (NR > 1 && $2 != (br == "T" ? tgt : fall) && !($2 == pc && $13 == macro))
			bad("the instruction before goes to " (br == "T" ? tgt : fall) ", not " $2)
		pc = $2; fall = $11; macro = $13; br = "-"; n = 0
	}
	if ($1 != ++n)
		bad("micro-op number")
	if ($2 != pc || $11 != fall || $13 != macro)
		bad("pc, fall or macro changes inside an instruction")
	if (($12 != "0") != ($7 != "-"))
		bad("target without branch or branch without target")
	if (($10 != "0") != ($8 != "-"))
		bad("address without access or access without address")
	if (length($13) > 11 || length($14) > 22)
		bad("names too long")
	if ($7 != "-") {
		br = $7
		tgt = $12
	}
	# awk counts in doubles: compare the low 48 bits, which is what user addresses have
	if ($14 == "JMP_IMM" && hex($12) != hex($11) + $9)
		bad("target is not fall + imm")
}
END { exit wrong > 0 }
