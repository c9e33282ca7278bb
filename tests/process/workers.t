# needs: node
# Threads sleep in a system call while all code is translated anew, for want of a cache. What they left is copied when the
# process parts from a child, and other programs get its room: the threads come back to it.
$ pugmark run -q --no-cache -- node "$TESTS/programs/workers.js"
> main
> sum 76752 end
