# SPDX-License-Identifier: MIT
"""The numbers of include/pugmark/pugmark.h by their names."""
from __future__ import annotations

import enum

NONE = 0xffffffff
"""An ``id`` that is not there."""


class Fact(enum.IntFlag):
    """What a trace knows."""

    INSNS = 1 << 0
    BYTES = 1 << 1
    REFS = 1 << 2
    SIZES = 1 << 3
    VALUES = 1 << 4
    BRANCHES = 1 << 5
    REGS = 1 << 6
    REGVALS = 1 << 7
    UOPS = 1 << 8
    TIME = 1 << 9
    CYCLES = 1 << 10
    SPACES = 1 << 11
    PHYS = 1 << 12
    LANES = 1 << 13
    BUS = 1 << 14
    KERNEL = 1 << 15
    THREADS = 1 << 16
    BLOCKS = 1 << 17
    REPS = 1 << 18
    LINES = 1 << 19
    OPCODES = 1 << 20
    PAGES = 1 << 21
    OBJECTS = 1 << 22


class Kind(enum.IntEnum):
    """What an event is: the field ``kind``. There may be more in a later library."""

    NONE = 0
    INSN = 1
    BLOCK = 2
    READ = 3
    WRITE = 4
    MODIFY = 5
    BRANCH = 6
    REP_ITER = 7
    REP_END = 8
    UOP = 9
    LINE = 10
    BUS = 11
    REG_READ = 12
    REG_WRITE = 13
    KERNEL = 14
    INTERRUPT = 15
    DMA = 16
    DEVICE = 17
    SYSCALL = 18
    SYSRET = 19
    SIGNAL = 20
    SIGRETURN = 21
    PROCESS = 22
    EXEC = 23
    THREAD = 24
    EXIT = 25
    MMAP = 26
    MUNMAP = 27
    SWITCH = 28
    TIME = 29
    MARKER = 30
    LOST = 31
    OPAQUE = 32
    FRAME = 33


class Branch(enum.IntFlag):
    """``flags`` of Kind.BRANCH."""

    TAKEN = 1 << 0
    COND = 1 << 1
    INDIRECT = 1 << 2
    CALL = 1 << 3
    RET = 1 << 4


class Ref(enum.IntFlag):
    """``flags`` of references; WRITE of Kind.DMA and Kind.DEVICE, FILL of the others."""

    WRITE = 1 << 0
    FILL = 1 << 0
    STACK = 1 << 1
    REP = 1 << 2
    PREFETCH = 1 << 3
    UNCACHED = 1 << 4
    COPYBACK = 1 << 5
    INVAL = 1 << 6
    ALL = 1 << 7


class Flow(enum.IntEnum):
    """What an instruction does to control flow: ``flow`` of an instruction of the code table."""

    NONE = 0
    JUMP = 1
    COND = 2
    CALL = 3
    RET = 4
    JUMP_IND = 5
    CALL_IND = 6
    SYSCALL = 7


class Isa(enum.IntEnum):
    """``isa`` of an instruction of the code table."""

    X86_64 = 0
    X86_32 = 1
    MIPS = 2
    NONE = 3
    RISCV = 4
    MIPS_BE = 5
