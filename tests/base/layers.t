# The layer check accepts what the table allows and names what it does not.
$ mkdir -p good/base good/isa/x86 good/trace good/collect/control good/collect/runtime
+ echo '#include "base/b.h"' > good/trace/t.c
+ echo '#include "base/b.h"' > good/isa/x86/i.h
+ printf '%s\n' '#include "trace/t.h"' '#include "collect/runtime/abi.h"' '#include <stdio.h>' > good/collect/control/p.c
+ echo '#include "abi.h"' > good/collect/runtime/r.c
+ echo '#include "pugmark/err.h"' > good/base/b.c
+ "$TESTS/check-layers" good
> 1..1
> ok 1 - layers: 5 files, 7 includes
$ cp -r good bad
+ echo '#include "trace/t.h"' > bad/base/b.c
+ printf '%s\n\n\t%s\n' '#include "isa/x86/i.h"' '# include "collect/runtime/r.h"' > bad/collect/control/p.c
+ echo '#include "base/b.h"' > bad/collect/runtime/r.c
+ mkdir bad/misc && echo 'int x;' > bad/misc/m.c
+ "$TESTS/check-layers" bad
> 1..1
> not ok 1 - layers: 5 files, 6 includes
> # bad/base/b.c:1: base may not include trace/t.h
> # bad/collect/control/p.c:3: collect/control may not include collect/runtime/r.h
> # bad/collect/runtime/r.c:1: collect/runtime may not include base/b.h
> # bad/misc/m.c:1: the layer misc is not in the table
? 1
$ mkdir empty; "$TESTS/check-layers" empty
> 1..1
> not ok 1 - layers: 0 files, 0 includes
> # :: no source found
? 1
