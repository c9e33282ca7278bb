# What a program sees of itself: /proc/self, auxv, its code, the vDSO, its descriptors.
$ "$TESTS/process/both" self
> equal: status 0, 10 lines
