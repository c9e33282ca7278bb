# SPDX-License-Identifier: MIT
# champsim.mk - what champsim.c has inside
$(B)/src/trace/champsim.o: $(wildcard plugins/champsim/*.hh) src/trace/champsim_abi.h
