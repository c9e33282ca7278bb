# A setuid program gets no rights from whoever traces it without any: the kernel does not say so, pugmark does.
# needs: setpriv
# if: [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$TOP" || { echo "not root, or not readable for others"; exit 1; }
$ cp "$(command -v id)" own; chmod 4755 own; chmod 755 .; mkdir c; chown 65534 c
+ as="setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all"
+ $as ./own -u; $as pugmark run -q --cache-dir c -- ./own -u 2>err; sed 's/process [0-9]*, .*\/own/process N, own/' err
> 0
> 65534
> pugmark: process N, own, runs without the rights of its owner: it is traced
