# Setting up: what is missing is installed, or named in one command. Tools of an imaginary Debian.
$ mkdir -p scripts bin; cp "$TOP/scripts/setup.sh" scripts
+ printf '%s\n' '# comment' 'gcc		# build' 'libx-dev	# build' 'lib32gcc-GCC-dev	# test' 'old-7|new-8	# test' 'gone	# test' 'shiny	# optional' 'new-1	# optional' 'new-2	# optional' >scripts/packages.txt
+ cat >bin/dpkg-query <<'E'
+ #!/bin/sh
+ case $* in *Version*) test ! -f gcc || echo 4:14.2.0-1; test -f gcc;; *) for p in $(cat installed); do echo "installed $p"; done;; esac
+ E
+ cat >bin/apt-cache <<'E'
+ #!/bin/sh
+ for p in make gcc libx-dev lib32gcc-14-dev new-8 shiny new-1 new-2; do case " $* " in *" $p "*) printf '%s:\n  Installed: (none)\n  Candidate: 4:14.1-2\n' $p;; esac; done
+ E
+ cat >bin/apt-get <<'E'
+ #!/bin/sh
+ while [ "${1#-}" != "$1" ]; do case $1 in -o) shift;; esac; shift; done
+ echo "apt-get $*" >>asked; case " $* " in *" shiny "*) echo no shiny; exit 1;; esac
+ E
+ printf '#!/bin/sh\ncat uid\n' >bin/id; chmod +x bin/*; echo 1000 >uid; : >installed
$ PATH=$PWD/bin:$PATH scripts/setup.sh
> setup: Debian packages are missing. Ask an administrator for this command:
>   apt-get update && apt-get install --no-install-recommends gcc lib32gcc-14-dev libx-dev new-8
? 1
$ PATH=$PWD/bin:$PATH scripts/setup.sh build
> setup: Debian packages are missing. Ask an administrator for this command:
>   apt-get update && apt-get install --no-install-recommends gcc libx-dev
? 1
# As root; what this Debian does not have and what is optional stops nothing.
$ echo 0 >uid; PATH=$PWD/bin:$PATH scripts/setup.sh build test optional; cat asked
> setup: installing 4 packages, see build/setup.log
> setup: installing 3 packages, which are optional
> setup: optional package shiny could not be installed
> setup: this Debian does not have gone
> apt-get update
> apt-get install -y --no-install-recommends gcc lib32gcc-14-dev libx-dev new-8
> apt-get install -y --no-install-recommends new-1 new-2 shiny
> apt-get install -y --no-install-recommends new-1
> apt-get install -y --no-install-recommends new-2 shiny
> apt-get install -y --no-install-recommends new-2
> apt-get install -y --no-install-recommends shiny
# Nothing is asked for where nothing can be had, and an alternative is as good as the other.
$ printf '%s\n' gcc libx-dev lib32gcc-14-dev old-7 >installed; rm asked; PATH=$PWD/bin:$PATH scripts/setup.sh; ls asked 2>/dev/null
> setup: this Debian does not have gone
? 2
$ echo 1000 >uid; PATH=$PWD/bin:$PATH scripts/setup.sh build test optional
> setup: not installed, and not needed: new-1 new-2 shiny
# What is vital and cannot be had is an error.
$ echo 0 >uid; sed -i '/libx-dev/d' installed; sed -i 's/shiny" /none/; s/^echo/case " $* " in *libx*) exit 100;; esac; echo/' bin/apt-get; PATH=$PWD/bin:$PATH scripts/setup.sh 2>&1 | tail -n 1
> setup: apt-get could not install libx-dev
# make demo and make check begin with it, and stop with what it says.
$ mkdir -p top && cp -r "$TOP/Makefile" top && cp -r "$TOP/tests/check.mk" . && mkdir top/tests top/scripts && mv check.mk top/tests
+ printf '#!/bin/sh\necho "asked for: $*"; exit 1\n' >top/scripts/setup.sh; chmod +x top/scripts/setup.sh
+ for t in demo check; do env -u MAKEFLAGS -u MFLAGS -u GROUPS -u SETUP make -s -C top $t 2>/dev/null; done
> asked for: build
> asked for: build test
? 2
