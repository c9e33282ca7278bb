# requests for objects: misses by request and by byte, as libCacheSim counts them
$ D=$TESTS/data/formats; for f in requests.csv requests.txt requests-1.vscsi requests-2.vscsi ex-oracleGeneral.bin sample.lcs; do pugmark info $D/$f | grep -E '^(format|contents)'; done
> format          requests-csv
> contents        data addresses, timestamps, requests for objects
> format          requests-txt
> contents        data addresses, requests for objects
> format          vscsi
> contents        data addresses, timestamps, requests for objects
> format          vscsi
> contents        data addresses, timestamps, requests for objects
> format          oraclegeneral
> contents        data addresses, timestamps, requests for objects
> format          lcs
> contents        data addresses, timestamps, requests for objects
$ pugmark dump $TESTS/data/formats/requests.csv
> 0 time 0x0 - time=1000000000
> 0 read 0x2a 512 value=0x200
> 0 time 0x0 - time=1500000000
> 0 read 0x7 4096 value=0x1000
> 0 time 0x0 - time=2000000000
> 0 read 0x2a 512 value=0x200
> 0 read 0x9 0
> 0 time 0x0 - time=3000000000
> 0 read 0x2b 65535 value=0x186a0
$ pugmark dump $TESTS/data/formats/requests-1.vscsi
> 0 read 0x3e8 512 value=0x200
> 0 time 0x0 - time=1000000000
> 0 write 0x3e9 1024 value=0x400
> 0 time 0x0 - time=2000000000
> 0 read 0x3e8 1536 value=0x600
$ pugmark sim -s 'requests:lru=4608,1m;fifo=600' $TESTS/data/formats/requests.csv
> requests
>   requests      4 requests
>   bytes         105,120 bytes
>   objects       3 objects
>   object bytes  104,608 bytes
>   empty         1 requests
>
> requests caches
>   policy       size  misses  miss ratio  missed bytes  byte miss ratio
>      lru      4,608       3     75.00 %       104,608           0.9951
>      lru  1,048,576       3     75.00 %       104,608           0.9951
>     fifo        600       3     75.00 %       104,608           0.9951
>   ... and 3 columns: evicted, too large, objects
$ pugmark sim -s 'requests:lru=2;sieve=3;each' --json - $TESTS/data/formats/requests.txt | tr -d ' \n'
>- {"schema":{"name":"pugmark.sim","version":1},"requests":{"requests":9,"bytes":9,"objects":6,"object_bytes":6,"empty":0,"caches":[{"policy":"lru","size":2,"misses":8,"miss_ratio":0.8888888888888888,"missed_bytes":8,"byte_miss_ratio":0.8888888888888888,"evicted":6,"too_large":0,"objects":2},{"policy":"sieve","size":3,"misses":7,"miss_ratio":0.7777777777777778,"missed_bytes":7,"byte_miss_ratio":0.7777777777777778,"evicted":4,"too_large":0,"objects":3}]}}
# objects are no addresses
$ for s in cache tlb allcache reuse memory; do pugmark sim -s $s $TESTS/data/formats/requests.csv; done
! pugmark: request tables hold requests for objects, and 'cache' simulates addresses; `--sim requests` counts objects
! pugmark: request tables hold requests for objects, and 'tlb' simulates addresses; `--sim requests` counts objects
! pugmark: request tables hold requests for objects, and 'allcache' simulates addresses; `--sim requests` counts objects
! pugmark: request tables hold requests for objects, and 'reuse' simulates addresses; `--sim requests` counts objects
! pugmark: request tables hold requests for objects, and 'memory' simulates addresses; `--sim requests` counts objects
? 1
$ pugmark sim -s requests $TESTS/data/formats/din.din
! pugmark: din traces hold no requests for objects; 'requests' needs them
? 1
$ pugmark sim --usual $TESTS/data/formats/requests.csv | head -1
> requests
# which columns, and names for objects
$ printf '7 a\n' | tr ' ' '|' >t; printf '8|b\n' >>t; pugmark sim -s 'requests:lru=9' -f requests-csv t
! pugmark: t:1: the first line names no column 'object'; -f requests-csv:object=N,size=N,time=N says which they are
? 1
$ pugmark dump -f requests-csv:object=1 t | grep read; pugmark dump -f requests-csv:object=2 t; pugmark dump -f requests-csv:object=2,text t | grep -c read; pugmark dump -f requests-csv:size=2 t; pugmark dump -f requests-csv:object=900 t
> 0 read 0x7 1 value=0x1
> 0 read 0x8 1 value=0x1
> 2
! pugmark: t:1: expected an object's number (or the option text), found 'a'
! pugmark: size=N and time=N need object=N
! pugmark: object=900: expected a column, 1 to 255
? 2
$ printf 'object,size\n1,2\n1,x\n' | pugmark dump -f requests-csv -
! pugmark: standard input:3: expected a size in bytes, found 'x'
? 1
$ printf '1\n2\n\nx\n' | pugmark dump -f requests-txt - | grep read
! pugmark: standard input:4: expected an object's number (or the option text), found 'x'
? 1
$ head -c 70 $TESTS/data/formats/requests-1.vscsi >cut; pugmark sim -s requests -f vscsi cut; head -c 20 cut | pugmark dump -f vscsi -
! pugmark: cut:0x40: expected 32 bytes of record, found 6
! pugmark: standard input:0x0: expected records of vscsi version 1 or 2, two at least
? 1
$ pugmark sim -s requests:lru $TESTS/data/formats/requests.csv; pugmark sim -s requests:mru=5 $TESTS/data/formats/requests.csv; pugmark sim -s requests:lru=0 $TESTS/data/formats/requests.csv; pugmark sim -s requests:each $TESTS/data/formats/requests.csv
! pugmark: requests: lru: expected sizes, as in lru=64m,1g
! pugmark: requests: 'mru' is not a setting; did you mean 'lru'? allowed: lru=BYTES, fifo=BYTES, clock=BYTES, sieve=BYTES, each
! pugmark: requests: lru: size of the cache: 0 is outside 1..1152921504606846976
! pugmark: requests: no cache is configured; lru=64m,1g is two
? 2
