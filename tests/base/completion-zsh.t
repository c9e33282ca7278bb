# needs: zsh
# Completion for zsh, by its keys: the function that the line calls shows what has become of it.
$ cat >drive <<'X'
+ zmodload zsh/zpty
+ zpty z zsh -f -i
+ zpty -w z 'PS1=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D; . ./pugmark.zsh; pugmark() { print -r -- "<ran $*>" }; print re""ady'
+ zpty -r z out '*ready*'
+ while IFS= read -r line; do
+ zpty -w z $line$'\t'
+ zpty -r z out '*<ran *>*'
+ out=${out##*<ran }
+ print -r -- "$line: ${out%%>*}"
+ done
+ zpty -d z
+ X
+ pugmark completion zsh >pugmark.zsh; zsh -n pugmark.zsh; touch one.pug two.txt; printf '%s\n' 'pugmark conv' 'pugmark machine run --el' 'pugmark sim --bp' 'pugmark sim --color=n' 'pugmark convert -t chr' 'pugmark help mer' 'pugmark completion b' 'pugmark info ' | timeout 60 zsh -f drive
> pugmark conv: convert
> pugmark machine run --el: machine run --elf
> pugmark sim --bp: sim --bpred
> pugmark sim --color=n: sim --color=never
> pugmark convert -t chr: convert -t chrome
> pugmark help mer: help merge
> pugmark completion b: completion bash
> pugmark info : info one.pug
