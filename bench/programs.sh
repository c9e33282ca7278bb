# SPDX-License-Identifier: MIT
# programs.sh - of benchmarks that build programs: Debian's sources, what the programs are given, processor time.
# Sourced in the directory of all that, $work.
export PYTHONHASHSEED=0 PYTHONPATH="$work/src-python3.11/Lib"

sources() {	# PACKAGE: its source, unpacked below the current directory
	[ -d "src-$1" ] && return
	sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > src.sources
	set -- "$1" -o Dir::Etc::sourcelist="$work/src.sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$work/lists"
	name=$1
	shift
	mkdir -p "$name.part"
	# a mirror may not have the sources of security updates
	(apt-get -q "$@" update && cd "$name.part" && { apt-get -q "$@" --download-only source "$name" ||
		{ awk -v RS= -v ORS='\n\n' '!/-security/' "$work/src.sources" > "$work/main.sources"
		set -- "$@" -o Dir::Etc::sourcelist="$work/main.sources" -o Dir::State::lists="$work/main.lists"
		mkdir -p "$work/main.lists/partial"
		apt-get -q "$@" update && apt-get -q "$@" --download-only source "$name"; }; }) > "$name.log" 2>&1 || true
	for f in "$name.part"/*.orig.tar.*; do
		[ -e "$f" ] || { echo "bolt: no sources of $name: $work/$name.log" >&2; exit 1; }
		tar xf "$f" -C "$name.part" --strip-components=1
	done
	mv "$name.part" "src-$name"
}
command_of() {	# NAME: what its executable is given
	case $1 in
	python3) echo "-S $work/python3.py" ;;
	perl) echo "$work/perl.pl" ;;
	sqlite3) echo ":memory: '.read $work/sqlite3.sql'" ;;
	esac
}
cat > python3.py <<'X'
import json, re
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
class P:
    def __init__(s, x): s.x = x
    def f(s, y): return s.x * y + 1
d = {}
for i in range(2400000):
    d[i % 997] = d.get(i % 997, 0) + P(i).f(i % 13)
s = json.dumps({str(k): [v, v / 3, str(v)] for k, v in d.items()})
for i in range(60): t = json.loads(s)
w = re.findall(r'\d{3,}', s * 48)
print(fib(29), len(w), sum(len(x) for x in w), sorted(w)[:2], sum(x * x for x in range(3000000)))
X
cat > perl.pl <<'X'
sub fib { my $n = shift; $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
my (%count, @row);
for my $i (1 .. 600000) {
	my $name = sprintf "row %05d", ($i * 7919) % 10007;
	push @{$row[$i % 500]}, $name;
	$count{$name} += length($name) + $i % 13;
}
my $text = join "\n", map { join ",", @$_ } @row;
my ($digits, $words) = (0, 0);
$digits += $1 while $text =~ /\b\w+ 0*(\d+)7/g;
(my $copy = $text) =~ s/(\w+) (\d)(\d+)/$3-$2 \U$1/g;
$words++ for split /[ ,\n-]+/, $copy;
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print fib(25), " $digits $words @sorted[0 .. 3] ", length $copy, "\n";
my %by;
push @{$by{substr $_, -2}}, reverse $_ for @sorted;
print join(" ", map { "$_:" . @{$by{$_}} } (sort keys %by)[0 .. 9]), "\n";
X
cat > sqlite3.sql <<'X'
create table t(a integer primary key, b text, c real);
with recursive n(x) as (select 1 union all select x+1 from n where x<800000) insert into t select x, 'row ' || (x*7919%10007), x*0.5 from n;
create index i on t(b);
select count(*), sum(c), max(b) from t where b like 'row 1%';
select b, count(*) from t group by b having count(*)>6 order by 2 desc, 1 limit 5;
select count(*) from t x join t y on x.b=y.b where x.a<16000;
update t set c=c+1 where a%3=0;
delete from t where a%7=0;
select sum(length(b)), avg(c) from t;
X
measure() {	# FILE COMMAND...: appends "cpu wall" to FILE
	file=$1
	shift
	/usr/bin/time -a -o "$file" -f '%U %S %e' "$@" < /dev/null > measured
}
column() {	# FILE EXPRESSION: its median
	awk "{ print $2 }" "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

echo_head() {
	echo "| program | text | native | collected: ours | theirs | faster: ours | theirs | ours to theirs |"
	echo "|---|---|---|---|---|---|---|---|"
}
compare() {	# TOOL NAME FILE COMMAND...: $rounds of ./FILE, ./FILE.ours and ./FILE.theirs, and the table's row
	tool=$1 program=$2 file_of=$3
	shift 3
	for _ in $(seq "$rounds"); do
		measure "$file_of.t.native" "./$file_of" "$@"
		measure "$file_of.t.ours" "./$file_of.ours" "$@"
		measure "$file_of.t.theirs" "./$file_of.theirs" "$@"
		cmp -s measured ours || { echo "$tool: $program's output differs" >&2; exit 1; }
	done
	echo "$program $(size "$file_of" | awk 'NR == 2 { printf "%.1f MB", $1 / 1e6 }')" \
		$(for f in plain collect own; do column "$file_of.t.$f" '$1 + $2'; column "$file_of.t.$f" '$3'; done) \
		$(for f in native ours theirs; do column "$file_of.t.$f" '$1'; done) |
		awk '{ printf "| %s | %s %s | %.2f s | %.2f (%.2f) | %.2f (%.2f) | %.3f | %.3f | %.3f |\n", $1, $2, $3, $10,
			$6 / $4, $7 / $5, $8 / $4, $9 / $5, $10 / $11, $10 / $12, $12 / $11 }'
}
