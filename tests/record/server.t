# A server is recorded while others use it, and its recording replays when nobody does.
# needs: redis-server redis-cli redis-benchmark
# timeout: 60
$ cat > serve <<'end'
+ pugmark record -o r.pugrec -- redis-server --port 0 --unixsocket "$PWD/s" --save '' --appendonly no > want 2> err &
+ for i in $(seq 100); do redis-cli -s s ping > pong 2> no && break; sleep 0.1; done
+ redis-benchmark -s s -n 2000 -c 10 -t set,get,lpush -q > bench
+ redis-cli -s s set key "a value" > pong
+ redis-cli -s s get key
+ redis-cli -s s shutdown nosave
+ wait $!
+ echo $?
+ end
$ . ./serve; cat err
> a value
> 0
$ grep -c 'ready to exit' want; pugmark replay -q r.pugrec | cmp want -
> 1
