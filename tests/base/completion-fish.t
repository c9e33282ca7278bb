# needs: fish
# Completion for fish.
$ mkdir -p c/fish; export XDG_CONFIG_HOME=$PWD/c HOME=$PWD/c; pugmark completion fish >pugmark.fish; for l in 'pugmark conv' 'pugmark machine run --el' 'pugmark sim --bp' 'pugmark sim --color n' 'pugmark convert -t chr' 'pugmark help mer' 'pugmark completion b'; do echo "$l:"; fish --no-config -c "source pugmark.fish; complete -C '$l'" | tr '\t' ' '; done
> pugmark conv:
> convert write a trace in another format
> pugmark machine run --el:
> --elf a bare program
> pugmark sim --bp:
> --bpred branch predictors
> pugmark sim --color n:
> never colours (auto: on a terminal, unless $NO_COLOR is set)
> pugmark convert -t chr:
> chrome output format (default: by the name)
> pugmark help mer:
> merge
> pugmark completion b:
> bash
