# The files of branch profiles: which objects have one, and what % in a name means.
# a library without symbols, as the dynamic linker is in many systems, keeps none of the others from its file
$ mkdir fd; cd fd; echo 'int part(int n) { return n > 3; }' >part.c; gcc -shared -fPIC -s -o libpart.so part.c; printf 'int part(int); int main(void) { return part(2) + part(1); }\n' >m.c; gcc -o m m.c -L. -lpart -Wl,-rpath,"$PWD"
+ pugmark run --fdata '%n.fdata' --bolt '%n.pa' ./m 2>said; echo $?; ls m.fdata libpart.so.fdata libpart.so.pa 2>/dev/null; grep -c 'no fdata of' said; grep -c ' main ' m.fdata | grep -c '^[1-9]'
> 0
> libpart.so.pa
> m.fdata
> 1
> 1
$ echo 'int main(void) { return 0; }' >s.c; gcc -static -s -o s s.c; mkdir alone; cd alone; pugmark run -q --fdata '%n.fdata' ../s; s=$?; ls; exit $s
! pugmark: nothing that ran has symbols, and fdata names functions; --bolt needs none
? 2
# names with % that is no pattern; two that would have one name are found before anything is written
$ mkdir pc; cd pc; pugmark run -q --bolt '100%.pa' --autofdo 'x%q' true && ls
> 100%.pa
> x%q
$ mkdir pp; cd pp; for o in bolt folded pprof; do pugmark run -q --$o 'x.%p' true 2>&1; done | sort -u; ls
> pugmark: 'x.%p': a file for each process (%p) is for traces: -o x.%p.pug (see `pugmark run --help`)
