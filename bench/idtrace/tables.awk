# SPDX-License-Identifier: MIT
# tables.awk - what bench/idtrace-tables measured, as the report's Tables 1 to 9; `programs` is its list,
# *.profile are profiles as JSON, *.live results as CSV, minimize.mips the R4400's as JSON

function profile(id,    line, name, path) {
	path = id ".profile"
	while ((getline line < path) > 0) {
		if (match(line, /^  "(instructions|blocks_distinct|blocks_cover_90)": /)) {
			split(line, a, /[":, ]+/)
			prof[id, a[2]] = a[3]
		} else if (line ~ /"class": /) {
			split(line, a, "\"")
			name = a[4]
		} else if (name != "" && line ~ /"count": /) {
			gsub(/[^0-9]/, "", line)
			class[id, name] = line
			name = ""
		} else if (line ~ /"functions": /) {
			break
		}
	}
	close(path)
}

# Runs of the cache simulator, cache, cache-2..., are told apart by their order.
function live(id,    line, path, ncache) {
	path = id ".live"
	while ((getline line < path) > 0) {
		n = split(line, a, ",")
		sub(/^cache-[0-9]+\./, "cache.", a[1])
		if (a[1] == "cache.l1.size")
			ncache++
		if (a[1] ~ /^cache\./)
			a[1] = ncache "." a[1]
		got[id, a[1]] = a[2]
		if (a[1] ~ /configuration$/)		# "8B, 4-way, 4wb": quoted, with commas
			got[id, a[1]] = a[2] "," a[3] "," a[4]
	}
	close(path)
}

function geometries(path, who,    line, size, l, w) {
	while ((getline line < path) > 0) {
		gsub(/[ ",]/, "", line)
		split(line, a, ":")
		if (a[1] == "size") size = a[2]
		else if (a[1] == "line") l = a[2]
		else if (a[1] == "ways") w = a[2]
		else if (a[1] == "accesses") geo[who, "accesses"] = a[2]
		else if (a[1] == "misses" && size != "") geo[who, size, l, w] = a[2]
	}
	close(path)
}

function geometries_csv(id, who,    i, p) {
	for (i = 0; (id, p = "allcache.geometries[" i "].size") in got; i++) {
		sub(/size$/, "", p)
		geo[who, got[id, p "size"], got[id, p "line"], got[id, p "ways"]] = got[id, p "misses"]
		geo[who, "accesses"] = got[id, p "accesses"]
	}
}

function m(x) { return x / 1e6 }
function pct(a, b) { return b ? 100 * a / b : 0 }
function title(t) { printf "\n%s\n", t }

BEGIN {
	FS = "|"
	split("cc1 compress eqntott espresso sc xlisp", integer, " ")
	split("mov 28.3 jcc 17.4 cmp 14.4 push 4.9 movswl 4.1 inc 3.8 test 3.5 pop 2.9 xor 2.9 and 2.2 add 2.0 jmp 1.7 dec 1.2 call 1.1", t2, " ")
	# Table 3: distinct blocks, those of 90 %
	split("cc1 10216 1482 xlisp 1204 119 espresso 3752 343 sc 3047 223 compress 421 18 eqntott 749 12 ear 906 12 alvinn 1065 9", t3, " ")
	# Tables 4, 5: branches, unique, for 90 % of executions; accuracy, for 90 % of misses
	split("eqntott 345763211 333 5 82.8 2 ear 37291744 402 8 94.9 3 compress 11749280 217 13 84.8 6 sc 193868064 1427 104 91.4 44 xlisp 157075812 425 49 82.9 19 espresso 98055126 1434 188 84.6 134", t45, " ")
	# Table 6: million cycles for ten million instructions; 7: cycles, read misses... of all six, in K
	nconf = split("8B, 4-way, 4wb|16B, 4-way, 4wb|32B, 4-way, 4wb|64B, 4-way, 4wb|16B, 8-way, 4wb|16B, 2-way, 4wb|16B, 1-way, 4wb|16B, 4-way, 2wb", conf, "|")
	split("21.3 19.0 18.3 17.4 20.8 18.3 21.2 18.8 18.1 17.2 19.9 18.1 21.7 18.8 18.0 17.2 19.8 18.1 24.6 19.1 18.0 17.5 21.1 18.6 21.0 18.8 18.0 17.0 19.7 17.7 21.6 19.0 18.1 17.3 20.2 18.3 23.5 19.2 18.5 17.7 21.0 19.3 21.4 18.8 18.1 17.2 20.3 18.1", t6, " ")
	split("115 1719 2069 7710 12 2 113 1220 1535 2836 15 27 114 979 1155 1391 15 102 119 1045 1153 281 13 270 112 953 1361 3206 12 39 115 1453 1535 2719 31 71 119 2341 2451 2162 46 122 114 1224 1545 2849 15 112", t7, " ")
	# Table 8: thousand misses (ratio) of the i486 with lines of 32 and 64, then of the R3000
	split("9329 3.2 8093 2.8 9836 7.4 8371 6.3 7038 2.4 5036 1.7 8310 6.2 6541 4.9 6566 2.3 4607 1.6 7462 5.6 5506 4.1 1112 0.4 1030 0.4 1892 1.4 1843 1.4 607 0.2 551 0.2 1314 1.0 1204 0.9 504 0.2 447 0.2 1108 0.8 1030 0.8", t8, " ")
	split("1.0 4.3 0.5 2.4 0.5 3.7 0.2 2.1 0.4 2.8 0.2 1.1 0.3 2.4 0.1 1.2", t9, " ")
}

{
	id = $1
	if (id == "-") {
		split($5, w, " ")
		id = w[1]
		sub(/.*\//, "", id)
	}
	profile(id)
	live(id)
	if (!((id, "instructions") in prof))
		next
	ids[++nid] = id
	what[id] = $2
	type[id] = $3
	then[id] = $4
}

END {
	title("TABLE 1. The programs.")
	printf "%-10s %-8s %10s   %-28s %12s\n", "1994", "type", "M instr.", "today", "M instr."
	for (i = 1; i <= nid; i++)
		printf "%-10s %-8s %10s   %-28s %12.1f\n", then[ids[i]] == "-" ? "-" : ids[i], type[ids[i]], then[ids[i]],
			what[ids[i]], m(prof[ids[i], "instructions"])

	title("TABLE 2. Instruction mix of the six integer programs, % of all instructions (today: x86-64).")
	for (i = 1; i <= 6; i++)
		for (k in class) {
			split(k, a, SUBSEP)
			if (a[1] == integer[i])
				sum[a[2]] += class[k]
		}
	for (i = 1; i <= 6; i++)
		all += prof[integer[i], "instructions"]
	sum["movswl"] = sum["movsx"] + sum["movzx"] + sum["movsxd"]
	printf "%-8s %6s %6s      %-8s %6s\n", "opcode", "1994", "today", "today's", "%"
	for (i = 1; i <= 14; i++) {
		best = ""
		for (k in sum)
			if (k != "movswl" && !shown[k] && (best == "" || sum[k] > sum[best]))
				best = k
		shown[best] = 1
		printf "%-8s %6s %6.1f      %-8s %6.1f\n", t2[2 * i - 1], t2[2 * i], pct(sum[t2[2 * i - 1]], all), best, pct(sum[best], all)
	}
	print "(movswl: every widening move; today also movzx and movsxd)"

	title("TABLE 3. Code locality: blocks that make 90 % of all instructions.")
	printf "%-10s %9s %6s %7s   %9s %6s %7s\n", "", "1994: all", "90 %", "", "today", "90 %", ""
	for (i = 1; i <= 24; i += 3) {
		id = t3[i]
		printf "%-10s %9d %6d %6.1f%%   ", id, t3[i + 1], t3[i + 2], pct(t3[i + 2], t3[i + 1])
		row3(id)
	}
	for (i = 1; i <= nid; i++)
		if (then[ids[i]] == "-") {
			printf "%-10s %9s %6s %7s   ", ids[i], "-", "-", ""
			row3(ids[i])
		}

	title("TABLE 4. Conditional branches: unique ones, and those that make 90 % of the executions.")
	printf "%-10s %11s %7s %10s   %11s %7s %10s\n", "", "1994: total", "unique", "90 %", "today", "unique", "90 %"
	for (i = 1; i <= 36; i += 6) {
		id = t45[i]
		printf "%-10s %11d %7d %4d (%2.0f%%)   ", id, t45[i + 1], t45[i + 2], t45[i + 3], pct(t45[i + 3], t45[i + 2])
		row4(id)
	}
	rest4("row4")

	title("TABLE 5. Mispredictions of 1024 two-bit counters (-1..1): accuracy, and the branches that make 90 % of them.")
	printf "%-10s %11s %7s %10s   %11s %7s %10s\n", "", "1994: acc.", "unique", "90 %", "today", "unique", "90 %"
	for (i = 1; i <= 36; i += 6) {
		id = t45[i]
		printf "%-10s %10.1f%% %7d %4d (%2.0f%%)   ", id, t45[i + 4], t45[i + 2], t45[i + 5], pct(t45[i + 5], t45[i + 2])
		row5(id)
	}
	rest4("row5")

	title("TABLE 6. i486: million cycles for 10 million instructions; flushed every 50000. Upper lines 1994, lower today.")
	printf "%-16s", ""
	for (i = 1; i <= 6; i++)
		printf "%10s", integer[i]
	print ""
	for (c = 1; c <= nconf; c++) {
		printf "%-16s", conf[c]
		for (i = 1; i <= 6; i++)
			printf "%10.1f", t6[(c - 1) * 6 + i]
		printf "\n%-16s", ""
		for (i = 1; i <= 6; i++) {
			p = "i486.configurations[" c - 1 "]."
			cy = got[integer[i], p "cycles"]
			ins = got[integer[i], p "instructions"]
			if (ins) printf "%10.1f", cy / ins * 10
			else printf "%10s", "-"
		}
		print ""
	}

	title("TABLE 7. i486: the six together. Cycles in M, the others in K. Upper lines 1994, lower today.")
	for (i = n32 = 0; i++ < 6; )
		n32 += got[integer[i], "i486.configurations[0].cycles"] > 0
	printf "%-16s%10s%13s%15s%10s%12s%13s\n", "", "cycles", "read misses", "instr. misses", "prefetch", "mem. pref.", "wbuf full"
	for (c = 1; c <= nconf; c++) {
		o = (c - 1) * 6
		printf "%-16s%10d%13d%15d%10d%12d%13d\n", conf[c], t7[o + 1], t7[o + 2], t7[o + 3], t7[o + 4], t7[o + 5], t7[o + 6]
		split("", s)
		for (i = 1; i <= 6; i++) {
			p = "i486.configurations[" c - 1 "]."
			s[1] += got[integer[i], p "cycles"]
			s[2] += got[integer[i], p "read_misses"]
			s[3] += got[integer[i], p "instr_misses"]
			s[4] += got[integer[i], p "prefetches"]
			s[5] += got[integer[i], p "memory_prefetches"]
			s[6] += got[integer[i], p "full"]
		}
		if (n32 == 6) printf "%-16s%10.1f%13.0f%15.0f%10.0f%12.0f%13.0f\n", "", m(s[1]), s[2] / 1e3, s[3] / 1e3, s[4] / 1e3, s[5] / 1e3, s[6] / 1e3
	}
	if (n32 < 6) print "(today's six are not all there as 32-bit programs: see ROOT32 in bench/idtrace-tables)"
	print "(the report gives no unit for full write buffers)"

	title("TABLE 8. Misses in thousands (%): 1994 espresso on i486 and R3000; today a logic minimiser on x86-64 and R4400.")
	live("minimize")
	geometries_csv("minimize", "x86")
	geometries("minimize.mips", "mips")
	printf "references: 1994 290 M and 134 M; today %.1f M and %.1f M\n", m(geo["x86", "accesses"]), m(geo["mips", "accesses"])
	printf "%-10s %-27s %-27s %-27s %s\n", "", "i486: 32, 64 B lines", "R3000", "x86-64", "R4400"
	split("8192 8192 8192 65536 65536 65536", size, " ")
	split("1 2 4 1 2 4", ways, " ")
	for (i = 1; i <= 6; i++) {
		o = (i - 1) * 8
		printf "%3dK %d-way  ", size[i] / 1024, ways[i]
		for (k = 1; k <= 8; k += 2)
			printf "%6d (%4.1f) ", t8[o + k], t8[o + k + 1]
		for (mach = 1; mach <= 2; mach++)
			for (l = 32; l <= 64; l += 32) {
				who = mach == 1 ? "x86" : "mips"
				g = geo[who, size[i], l, ways[i]]
				if (g != "") printf "%6.1f (%4.1f) ", g / 1e3, pct(g, geo[who, "accesses"])
				else printf "%6s %6s ", "-", ""
			}
		print ""
	}

	title("TABLE 9. Miss ratios of pushes and pops, and of all other references; lines of 32 bytes.")
	print "1994: espresso on the i486; today: minisat (x86-64), instructions and data in one cache"
	printf "%-10s %24s %24s %24s %24s\n", "", "push write", "other write", "pop read", "other read"
	split("8K 2-way|8K 4-way|16K 2-way|16K 4-way", cc, "|")
	for (c = 1; c <= 4; c++) {
		o = (c - 1) * 4
		printf "%-10s", cc[c]
		printf " %12.1f%% %s", t9[o + 1], ratio9("push", c)
		printf " %12.1f%% %s", t9[o + 2], ratio9("other_write", c)
		printf " %12.1f%% %s", t9[o + 3], ratio9("pop", c)
		printf " %12.1f%% %s\n", t9[o + 4], ratio9("other_read", c)
	}
}

function ratio9(kind, c,    p) {
	p = c ".cache.l1." kind ".miss_ratio"
	if (("espresso", p) in got)
		return sprintf("%9.2f%%", 100 * got["espresso", p])
	return sprintf("%9s ", "-")
}

function row3(id) {
	if ((id, "blocks_distinct") in prof)
		printf "%9d %6d %6.1f%%\n", prof[id, "blocks_distinct"], prof[id, "blocks_cover_90"], pct(prof[id, "blocks_cover_90"], prof[id, "blocks_distinct"])
	else
		print "        -"
}

function row4(id,    p) {
	p = "bpred.idtrace-10."
	if ((id, p "branches") in got)
		printf "%11d %7d %4d (%2.0f%%)\n", got[id, p "branches"], got[id, p "unique_branches"], got[id, p "unique_90_percent_executed"],
			pct(got[id, p "unique_90_percent_executed"], got[id, p "unique_branches"])
	else
		print "          -"
}

function row5(id,    p) {
	p = "bpred.idtrace-10."
	if ((id, p "branches") in got)
		printf "%10.1f%% %7d %4d (%2.0f%%)\n", 100 * got[id, p "accuracy"], got[id, p "unique_branches"], got[id, p "unique_90_percent_missed"],
			pct(got[id, p "unique_90_percent_missed"], got[id, p "unique_branches"])
	else
		print "          -"
}

function rest4(row,    i) {
	for (i = 1; i <= nid; i++)
		if (ids[i] == "cc1" || ids[i] == "alvinn" || then[ids[i]] == "-") {
			printf "%-10s %11s %7s %10s   ", ids[i], "-", "-", ""
			if (row == "row4") row4(ids[i])
			else row5(ids[i])
		}
}
