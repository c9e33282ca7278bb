# needs: /usr/bin/python3
# timeout: 120
$ "$TESTS/record/again" /usr/bin/python3 -c 'import time, random, os, json, re; print(time.time(), random.random(), id(object()), os.getpid(), hash("x")); print(sum(i * i for i in range(100000)))'
> status 0, 2 lines again
