# needs: bash
# Completion for bash: what it offers is what there is, by the function that the shell itself calls.
$ cat >drive <<'X'
+ # drive LINE: what completes its last word, a line each; the line is split as readline does it
+ . ./pugmark.bash
+ line=$1
+ line=${line//=/ = }
+ read -ra COMP_WORDS <<<"$line"
+ case $1 in *' ' | *=) COMP_WORDS+=('') ;; esac
+ COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
+ how=$(complete -p "${COMP_WORDS[0]}") && how=${how#*-F } && ${how%% *} "${COMP_WORDS[0]}"
+ printf '%s\n' "${COMPREPLY[@]}"
+ X
+ pugmark completion bash >pugmark.bash; bash -n pugmark.bash; for l in 'pugmark conv' 'pugmark machine f' 'pugmark machine run --el' 'pugmark sim --bp' 'pugmark sim -s cach' 'pugmark sim --color=n' 'pugmark run --syntax i' 'pugmark convert -f champ' 'pugmark convert -t chr' 'pugmark formats spi' 'pugmark help mer' 'pugmark completion ' 'pugmark brdist --bi' 'pugmark uops --bi' 'idt --mer' 'vcount --ro'; do echo "$l: $(bash drive "$l" | tr '\n' ' ')"; done
> pugmark conv: convert 
> pugmark machine f: fetch-debian 
> pugmark machine run --el: --elf 
> pugmark sim --bp: --bpred 
> pugmark sim -s cach: cache cachegrind 
> pugmark sim --color=n: never 
> pugmark run --syntax i: intel 
> pugmark convert -f champ: champsim 
> pugmark convert -t chr: chrome 
> pugmark formats spi: spike 
> pugmark help mer: merge 
> pugmark completion : bash zsh fish 
> pugmark brdist --bi: --bits 
> pugmark uops --bi:  
> idt --mer: --merge 
> vcount --ro: --rows 
# All commands and all options that --help names, and no other.
$ bash drive 'pugmark ' | grep -v '^--' | LC_ALL=C sort >a; pugmark help | sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p' | LC_ALL=C sort | cmp a -; for c in $(cat a) 'machine run' 'machine diff' 'machine fetch-debian' 'citcat extract' 'citcat replay' 'citcat verify' 'citcat stat'; do bash drive "pugmark $c --" | LC_ALL=C sort >b; pugmark $c --help | sed -n 's/^      \(--[a-z0-9-]*\).*/\1/p; s/^  -., \(--[a-z0-9-]*\).*/\1/p' | LC_ALL=C sort -u | diff b - || echo "$c"; [ -s b ] || echo "nothing for $c"; done
# Of formats, those that are read or written.
$ for w in f:r t:w; do bash drive "pugmark convert -${w%:*} " | LC_ALL=C sort >a; PUGMARK_COLUMNS= pugmark formats | awk -v w=${w#*:} 'index($2, w) { print $1 }' | LC_ALL=C sort | cmp a -; done
# Files: traces, compressed ones too, and directories; all if there are none of these. What a JSON goes to.
$ touch a.pug b.trace.gz c.txt d.json 'e f.din' g.cat h.ims; mkdir sub; for l in 'pugmark info ' 'pugmark info --json ' 'pugmark citcat extract ' 'pugmark citcat replay ' 'pugmark run --cache-dir ' 'pugmark slice x '; do echo "$l: $(bash drive "$l" | LC_ALL=C sort | tr '\n' ',')"; done; rm -r [a-h].* e* sub; rm -f a b; touch n.txt; bash drive 'pugmark info '
> pugmark info : a.pug,b.trace.gz,e f.din,g.cat,sub,
> pugmark info --json : d.json,sub,
> pugmark citcat extract : g.cat,sub,
> pugmark citcat replay : h.ims,sub,
> pugmark run --cache-dir : sub,
> pugmark slice x : a.pug,b.trace.gz,e f.din,g.cat,sub,
> drive
> pugmark.bash
> n.txt
# Behind -- there is a program, and then what it takes.
$ bash drive 'pugmark run -- pugma' | sort -u; bash drive 'pugmark run -q -- cat n'; bash drive 'pugmark run --only'
> pugmark
> n.txt
>
# The shell itself, with its keys.
$ printf '%s\n' 'pugmark() { echo "ran $*"; }' '. ./pugmark.bash' "$(printf 'pugmark form\t nosuch')" "$(printf 'pugmark sim --cal\t x')" >keys; script -qec 'bash --norc --noprofile -i' /dev/null <keys 2>/dev/null | sed -n 's/.*\(ran [a-z].*\)/\1/p' | tr -d '\r' | grep -v echo
> ran formats nosuch
> ran sim --callgrind x
$ pugmark completion; pugmark completion csh; pugmark completion bash zsh
! pugmark: missing shell: bash, zsh or fish (see `pugmark completion --help`)
! pugmark: expected bash, zsh or fish, not 'csh' (see `pugmark completion --help`)
! pugmark: only one shell (see `pugmark completion --help`)
? 2
