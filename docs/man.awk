# SPDX-License-Identifier: MIT
# man.awk - `pugmark COMMAND --help` in, a manual page out
#
# Variables: name, about (one line), version, extra (file with more roff, appended if it exists)
function roff(s) {
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	sub(/^[.']/, "\\\\\\&&", s)
	return s
}
BEGIN {
	printf ".TH PUGMARK\\-%s 1 \"\" \"pugmark %s\" \"pugmark manual\"\n", toupper(name), version
	printf ".SH NAME\npugmark\\-%s \\- %s\n", name, roff(about)
	part = "usage"
}
part == "usage" {
	sub(/^usage: /, "")
	print ".SH SYNOPSIS\n.B " roff($0) "\n.SH DESCRIPTION"
	part = "about"
	next
}
part == "about" && (/^  ( |-).*--/ || /^[a-z].*:$/) {
	print ".SH OPTIONS"
	part = "options"
}
part == "about" || part == "tail" {
	if ($0 != "")
		print roff($0)
	else if (seen++)
		print part == "tail" ? "" : ".PP"
	next
}
part == "options" && /^$/ {
	blank = 1
	next
}
part == "options" && /^[^ ].*:$/ {
	sub(/:$/, "")
	print ".SS " toupper(substr($0, 1, 1)) roff(substr($0, 2))
	next
}
part == "options" && /^  ( |-)/ && /--/ {
	if (match($0, /[^ ]  +[^ ]/)) {
		left = substr($0, 1, RSTART)
		right = substr($0, RSTART + RLENGTH - 1)
		# "      --name" starts with blanks that are not the gap
		if (left ~ /^ *$/)
			left = ""
	} else {
		left = $0
		right = ""
	}
	sub(/^ +/, "", left)
	print ".TP\n.B " roff(left)
	if (right != "")
		print roff(right)
	if (left == "--help")
		help = 1
	next
}
part == "options" && /^          / {
	sub(/^ +/, "")
	print roff($0)
	next
}
part == "options" && help {
	print ".SH NOTES\n.nf"
	part = "tail"
	print roff($0)
}
END {
	if (part == "tail")
		print ".fi"
	while ((getline line < extra) > 0)
		print line
	print ".SH SEE ALSO\n.BR pugmark (1)"
}
