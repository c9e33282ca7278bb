# Large pages: what pugmark and its programs have of one file lies as far into such a page in the file as in memory, so that the
# kernel can map it as one. Translations, their shadows, and the memory of threads.
$ cat >odd <<'END'
+ while read -r range p off d i name x; do
+ 	case $name in /memfd:pugmark-$1) echo $(((0x${range%-*} - 0x$off) % 0x200000)) ;; esac
+ done <"/proc/$2/maps" | sort -u
+ END
$ cat >both <<'END'
+ mkfifo in out
+ pugmark run -q -- sh -c 'echo $$; read x; cat /dev/null' <in >out &
+ pugmark=$!
+ exec 3>in; read -r pid <out
+ sh ./odd code "$pid"; sh ./odd code "$pugmark"; sh ./odd data "$pugmark"
+ echo >&3; wait
+ END
$ sh both
> 0
> 0
> 0
