#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# cat-x86.py - an x86 guest's .cat by another reader, made from docs/formats/cat.md, and one with something that is not true
#
# usage: cat-x86.py FILE [OUT bus|witness|log|state|memory]
#
# Prints what is in it: parts' bytes, transactions and their bytes, pages of memory, instructions, the sum twice. OUT is FILE
# with one change: a transaction in the middle is another one; interrupts came elsewhere; QEMU's log is cut; QEMU's snapshot
# is not there; the last page of memory is missing. Its sum is right then.
import struct
import subprocess
import sys

TAGS = [b'CONF', b'KERN', b'INIT', b'BUS ', b'LOG ', b'END ', b'STAT', b'MEM ']
M = (1 << 64) - 1


def zstd(data, *options):
    return subprocess.run(['zstd', '-q', '-c', *options], input=data, stdout=subprocess.PIPE, check=True).stdout


def mix(h, v):
    h = (h ^ v) * 0x9e3779b97f4a7c15 & M
    return h ^ h >> 32


def mixed(h, tag, data):
    h = mix(mix(h, TAGS.index(tag)), len(data))
    for v in struct.unpack('>%dQ' % ((len(data) + 7) // 8), data + bytes(-len(data) % 8)):
        h = mix(h, v)
    return h


def read(path):
    with open(path, 'rb') as f:
        data = f.read()
    at, parts = 8, []
    while at < len(data):
        tag, size, packed = struct.unpack_from('>4sII', data, at)
        part = zstd(data[at + 12:at + 12 + packed], '-d')
        assert len(part) == size
        parts.append((tag, part))
        at += 12 + packed
    return data[:8], parts


def write(path, magic, parts):
    h, out = 0, magic
    for tag, part in parts:
        if tag == b'END ':
            part = part[:48] + struct.pack('>Q', mixed(h, tag, part[:48]))
        elif tag != b'BUS ':
            h = mixed(h, tag, part)
        packed = zstd(part)
        out += struct.pack('>4sII', tag, len(part), len(packed)) + packed
    with open(path, 'wb') as f:
        f.write(out)


magic, parts = read(sys.argv[1])
if len(sys.argv) > 2:
    for i, (tag, part) in enumerate(parts):
        if sys.argv[3] == 'bus' and tag == b'BUS ':
            at = len(part) // 24 // 2 * 24 + 5
            parts[i] = tag, part[:at] + bytes([part[at] ^ 1]) + part[at + 1:]
            break
        if sys.argv[3] == 'witness' and tag == b'END ':
            parts[i] = tag, part[:39] + bytes([part[39] ^ 1]) + part[40:]
        if sys.argv[3] == 'log' and tag == b'LOG ':
            parts[i] = tag, part[:-1]
        if sys.argv[3] == 'state' and tag == b'STAT':
            parts[i] = tag, part[:60] + bytes(12) + part[72:]
        if sys.argv[3] == 'memory' and tag == b'MEM ' and parts[i + 1][0] == b'END ':
            parts[i] = tag, part[:-4096]
    write(sys.argv[2], magic, parts)
    sys.exit(0)
h, n, size, memory = 0, 0, 0, b''
for tag, part in parts:
    if tag == b'BUS ':
        for at in range(0, len(part), 24):
            n += 1
            size += struct.unpack_from('>H', part, at + 4)[0] if part[at] not in (7, 8) else 0
    elif tag != b'END ':
        h = mixed(h, tag, part)
        print(tag.decode(), len(part))
        memory += part if tag == b'MEM ' else b''
at = pages = 0
while at < len(memory):
    first, run = struct.unpack_from('>2Q', memory, at)
    pages += run
    at += 16 + 4096 * run
print('pages', pages)
end = struct.unpack('>7Q', parts[-1][1])
print('transactions', n, end[1])
print('bytes', size, end[2])
print('instructions', end[0])
print('sum %x %x' % (mixed(h, b'END ', parts[-1][1][:48]), end[6]))
