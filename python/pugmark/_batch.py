# SPDX-License-Identifier: MIT
"""Batches of events, and the arrays in them.

An array shares the memory of its batch, and keeps it: the memory goes with the last array. Arrays
are read-only.
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Optional, Union as Either

import numpy as np

from . import _arrow
from ._library import (CBatch, CBlock, CBus, CCode, CEvent, CInsn, CObject, CRare, CSizes,
                       CStream, CUop, Error, close_quietly, lib, text)
from ._names import Kind

if TYPE_CHECKING:
    from ._trace import Reader

COLUMNS = ("kind", "flags", "size", "id", "addr", "value")


def dtype_of(struct: Any, size: int = 0) -> Any:
    """A numpy dtype of a C struct of which a later library may have more at its end."""
    names = [name for name, *_ in struct._fields_]
    formats = []
    for name, ctype, *_ in struct._fields_:
        if issubclass(ctype, ctypes.Array) and ctype._type_ is ctypes.c_char:
            formats.append(np.dtype(("S", ctype._length_)))
        else:
            formats.append(np.dtype(ctype))
    return np.dtype({"names": names, "formats": formats,
                     "offsets": [getattr(struct, name).offset for name in names],
                     "itemsize": max(size, ctypes.sizeof(struct))})


EVENT = dtype_of(CEvent)
"""The dtype of events: kind, flags, size, id, addr, value."""
UOP, BUS, INSN, BLOCK = (dtype_of(s) for s in (CUop, CBus, CInsn, CBlock))
_dtypes: dict[tuple[Any, int], Any] = {(CEvent, EVENT.itemsize): EVENT}


def _dtype(struct: Any, size: int) -> Any:
    found = _dtypes.get((struct, size))
    if found is None:
        found = _dtypes[struct, size] = dtype_of(struct, size)
    return found


class Memory:
    """Owns a batch that is kept by the library."""

    __slots__ = ("kept", "__weakref__")

    def __init__(self) -> None:
        self.kept = ctypes.c_void_p()

    def __del__(self, close: Any = close_quietly) -> None:
        close("pm_kept_close", self.kept.value)


class _Span:
    """Bytes of a batch for numpy, which holds on to this object, and so to the memory."""

    __slots__ = ("owner", "__array_interface__")

    def __init__(self, owner: Any, address: int, size: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, True),
                                    "version": 3}


def array_at(owner: Any, address: Optional[int], n: int, dtype: Any) -> Any:
    """``n`` elements at an address that stays as long as ``owner``."""
    if not n or not address:
        return np.empty(0, dtype)
    return np.asarray(_Span(owner, address, n * dtype.itemsize)).view(dtype)


@dataclass(frozen=True)
class Stream:
    """One thread of the program, or one source of references. 0: not known."""

    index: int = 0
    pid: int = 0
    tid: int = 0
    space: int = 0
    name: Optional[str] = None


def stream_at(address: int) -> Stream:
    s = CStream.from_address(address)
    return Stream(s.index, s.pid, s.tid, s.space, text(s.name))


@dataclass(frozen=True)
class Rare:
    """What a rare event says beside its fields."""

    code: int
    args: tuple[int, ...]
    name: Optional[str]


@dataclass(frozen=True)
class Object:
    """A file with code that the program had loaded."""

    path: Optional[str]
    build_id: Optional[str]
    base: int
    lo: int
    hi: int


@dataclass(frozen=True, eq=False)
class Code:
    """A code table: what ids of instructions and blocks stand for. A copy, as it was at a time.

    * ``insns``: array with pc, bytes, len, flow, nref, rep, isa and object (an index);
    * ``blocks``: array with pc, insn (the index of its first instruction) and n;
    * ``objects``: the files.
    """

    insns: Any
    blocks: Any
    objects: list[Object] = field(default_factory=list)
    key: Any = None

    def bytes(self, i: int) -> bytes:
        """The bytes of instruction ``i``."""
        insn = self.insns[i]
        return bytes(insn["bytes"][:insn["len"]])

    def object_of(self, pc: int) -> Optional[Object]:
        """The file whose code is at ``pc``; None if there is none."""
        for o in self.objects:
            if o.lo <= pc < o.hi:
                return o
        return None


def code_at(address: int, sizes: CSizes, key: Any) -> Code:
    """A copy of a reader's table, which moves when it grows."""
    c = CCode.from_address(address)

    def copy(at: Optional[int], n: int, struct: Any, size: int, dtype: Any) -> Any:
        return array_at(c, at, n, _dtype(struct, size)).astype(dtype)

    objects = []
    for i in range(c.nobject):
        o = CObject.from_address(c.object + i * sizes.object)
        objects.append(Object(text(o.path), text(o.build_id), o.base, o.lo, o.hi))
    return Code(copy(c.insn, c.ninsn, CInsn, sizes.insn, INSN),
                copy(c.block, c.nblock, CBlock, sizes.block, BLOCK), objects, key)


class Batch:
    """Some thousand events of one stream, in order. Stays as long as somebody has it."""

    __slots__ = ("_memory", "_c", "_reader", "_stream", "_events")

    def __init__(self, memory: Memory, c: CBatch, reader: "Reader", stream: Stream) -> None:
        self._memory = memory
        self._c = c
        self._reader = reader
        self._stream = stream
        self._events: Any = None

    @property
    def _sizes(self) -> CSizes:
        return self._c.sizes.contents   # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self._c.n    # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<pugmark.Batch of {len(self)} events of stream {self.stream.index}>"

    @property
    def stream(self) -> Stream:
        """Whose events they are."""
        return self._stream

    @property
    def first_insn(self) -> int:
        """How many instructions the stream had before this batch."""
        return int(self._c.first_insn)

    @property
    def events(self) -> Any:
        """All events as a structured array: kind, flags, size, id, addr, value. No copy."""
        if self._events is None:
            self._events = self._array(self._c.ev, self._c.n, CEvent, self._sizes.event)
        return self._events

    def _array(self, address: Optional[int], n: int, struct: Any, size: int) -> Any:
        return array_at(self._memory, address, n, _dtype(struct, size))

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        if copy or (dtype is not None and np.dtype(dtype) != self.events.dtype):
            return np.array(self.events, dtype=dtype)
        return self.events

    @property
    def kind(self) -> Any:
        """Column of events: what happened (Kind). No copy."""
        return self.events["kind"]

    @property
    def flags(self) -> Any:
        """Column of events: Branch or Ref, by kind. No copy."""
        return self.events["flags"]

    @property
    def size(self) -> Any:
        """Column of events: bytes. No copy."""
        return self.events["size"]

    @property
    def id(self) -> Any:
        """Column of events: an index, by kind; NONE if there is none. No copy."""
        return self.events["id"]

    @property
    def addr(self) -> Any:
        """Column of events: the address. No copy."""
        return self.events["addr"]

    @property
    def value(self) -> Any:
        """Column of events: by kind. No copy."""
        return self.events["value"]

    def select(self, *kinds: int) -> Any:
        """The events of these kinds: a copy."""
        if len(kinds) == 1:
            return self.events[self.kind == kinds[0]]
        return self.events[np.isin(self.kind, kinds)]

    @property
    def references(self) -> Any:
        """The data references, reads and writes: a copy."""
        kind = self.kind
        return self.events[(kind >= Kind.READ) & (kind <= Kind.MODIFY)]

    @property
    def uops(self) -> Any:
        """Micro-ops, to which ids of Kind.UOP lead. No copy."""
        return self._array(self._c.uop, self._c.nuop, CUop, self._sizes.uop)

    @property
    def bus(self) -> Any:
        """Bus transactions, to which ids of Kind.BUS lead. No copy."""
        return self._array(self._c.bus, self._c.nbus, CBus, self._sizes.bus)

    @property
    def rare(self) -> list[Rare]:
        """What ids of system calls, signals and other rare events lead to."""
        found = []
        for i in range(self._c.nrare):
            r = CRare.from_address(self._c.rare + i * self._sizes.rare)
            found.append(Rare(r.code, tuple(r.arg[:r.nargs]), text(r.name)))
        return found

    @property
    def arena(self) -> Any:
        """Bytes that events refer to by offset. No copy."""
        return array_at(self._memory, self._c.arena, self._c.narena, np.dtype("u1"))

    @property
    def code(self) -> Optional[Code]:
        """The code table, as it is now; None if the trace has none. The trace must be open."""
        return self._reader.code(self._c.code, self._sizes) if self._c.code else None

    def to_pandas(self) -> Any:
        """A DataFrame of the events; ``kind`` is a categorical. A copy."""
        return to_pandas(self.events)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's PyCapsule interface: pyarrow.record_batch(batch)."""
        return _arrow.array_of(self._memory.kept.value)


def to_pandas(events: Any) -> Any:
    """A DataFrame of an array of events; ``kind`` is a categorical of names. A copy."""
    import pandas as pd

    frame = pd.DataFrame({name: np.ascontiguousarray(events[name]) for name in COLUMNS[1:]})
    kinds = kind_names()
    codes = np.minimum(events["kind"], len(kinds) - 1).astype(np.int8)
    frame.insert(0, "kind", pd.Categorical.from_codes(codes, categories=kinds))
    return frame


_kinds: list[str] = []


def kind_names() -> list[str]:
    """Names of kinds by their numbers; behind them one for those that are not known."""
    if not _kinds:
        names: list[str] = []
        while True:
            name = text(lib.pm_event_name(len(names)))
            if name is None:
                break
            names.append(name)
        _kinds.extend(names + ["unknown"])
    return _kinds


def events(n: Optional[int] = None, *, kind: Any = 0, flags: Any = 0, size: Any = 0,
           id: Any = 0xffffffff, addr: Any = 0, value: Any = 0) -> Any:
    """An array of events from columns, each an array or one number for all.

    Numbers are whole, and fit: a column of floats is a TypeError, a number that the field cannot
    hold a ValueError. Negative addresses and values are those of signed 64-bit numbers.

    >>> events(kind=Kind.READ, addr=[0x1000, 0x1008], size=8)["addr"].tolist()
    [4096, 4104]
    """
    columns = {"kind": kind, "flags": flags, "size": size, "id": id, "addr": addr,
               "value": value}
    if n is None:
        lengths = {len(c) for c in columns.values() if np.ndim(c)}
        if len(lengths) > 1:
            raise ValueError(f"columns of {sorted(lengths)} events")
        n = lengths.pop() if lengths else 1
    made = np.empty(n, EVENT)
    for name, column in columns.items():
        _check_fits(name, column)
        made[name] = column
    return made


def _check_fits(name: str, column: Any) -> None:
    # as objects: large numbers in a list would become floats
    given = column if hasattr(column, "dtype") else np.asarray(column, dtype=object)
    if not given.size:
        return
    if given.dtype == object:
        whole = all(isinstance(one, (int, np.integer)) for one in given.flat)
    else:
        whole = given.dtype.kind in "iub"
    if not whole:
        raise TypeError(f"{name} takes whole numbers")
    least, most = (0 if EVENT[name].itemsize < 8 else -1 << 63), np.iinfo(EVENT[name]).max
    if int(given.min()) < least or int(given.max()) > most:
        raise ValueError(f"{name} is from {least} to {most}, not {given.min()} to {given.max()}")


# ---- batches that go into the library -----------------------------------------------------------

class Outgoing:
    """Makes batches for a writer or a simulation, which wants streams and code tables to stay."""

    def __init__(self) -> None:
        self._streams: dict[int, tuple[CStream, Stream]] = {}
        self._codes: dict[Any, tuple[CCode, Code, Any]] = {}

    def batch(self, what: Any, like: Optional[Batch], stream: Either[Stream, int, None],
              code: Optional[Code]) -> tuple[CBatch, Any]:
        """The batch, and what must stay while it is used."""
        if isinstance(what, Batch):
            like = what
        c = CBatch()
        sizes = CSizes.from_buffer_copy(like._sizes) if like else CSizes(
            *(ctypes.sizeof(s) for s in (CSizes, CBatch, CStream, CCode, CEvent, CUop, CBus,
                                         CRare, CInsn, CBlock, CObject)))
        if like is not None:
            for name in ("uop", "bus", "rare", "arena", "nuop", "nbus", "nrare", "narena"):
                setattr(c, name, getattr(like._c, name))
            if stream is None:
                stream = like.stream
            if code is None:
                code = like.code
        if isinstance(what, Batch):
            array: Any = what
            c.ev, c.n = what._c.ev, what._c.n
            c.first_insn = what._c.first_insn
        else:
            array = np.asarray(what)
            if array.dtype.names is None:
                raise TypeError("events are an array of dtype pugmark.EVENT, or a batch")
            if array.ndim != 1:
                raise ValueError(f"events in {array.ndim} dimensions")
            if array.dtype != EVENT or not array.flags.c_contiguous:
                own = np.empty(len(array), EVENT)
                for name in COLUMNS:
                    own[name] = array[name]
                array = own
            sizes.event = EVENT.itemsize
            c.ev, c.n = array.ctypes.data, len(array)
        c.sizes = ctypes.pointer(sizes)
        c.stream = ctypes.addressof(self._stream(0 if stream is None else stream))
        c.code = ctypes.addressof(self._code(code, sizes)) if code is not None else None
        return c, (array, like, sizes)

    def _stream(self, stream: Either[Stream, int]) -> CStream:
        if not isinstance(stream, Stream):
            known = self._streams.get(stream)
            stream = known[1] if known else Stream(stream)
        known = self._streams.get(stream.index)
        if known is None:
            if not 0 <= stream.index <= 0xffffffff:
                raise ValueError(f"stream {stream.index}")
            name = stream.name.encode("utf-8", "surrogateescape") if stream.name else None
            made = CStream(stream.index, stream.pid, stream.tid, stream.space, name)
            known = self._streams[stream.index] = made, stream
        return known[0]

    def _code(self, code: Code, sizes: CSizes) -> CCode:
        key = id(code) if code.key is None else code.key
        known = self._codes.get(key)
        if known is not None and known[1] is code:
            sizes.insn, sizes.block, sizes.object = (
                INSN.itemsize, BLOCK.itemsize, ctypes.sizeof(CObject))
            return known[0]
        insns = np.ascontiguousarray(code.insns, INSN)
        blocks = np.ascontiguousarray(code.blocks, BLOCK)
        objects = (CObject * len(code.objects))()
        for to, o in zip(objects, code.objects):
            to.path = None if o.path is None else o.path.encode("utf-8", "surrogateescape")
            to.build_id = None if o.build_id is None else o.build_id.encode()
            to.base, to.lo, to.hi = o.base, o.lo, o.hi
        table = known[0] if known is not None else CCode()
        table.insn, table.ninsn = insns.ctypes.data if len(insns) else None, len(insns)
        table.block, table.nblock = blocks.ctypes.data if len(blocks) else None, len(blocks)
        table.object = ctypes.addressof(objects) if len(objects) else None
        table.nobject = len(objects)
        sizes.insn, sizes.block, sizes.object = (
            INSN.itemsize, BLOCK.itemsize, ctypes.sizeof(CObject))
        # the library reads the arrays that were there no more
        self._codes[key] = table, code, (insns, blocks, objects)
        return table


def iterate(what: Any) -> Iterator[Any]:
    """Batches of a trace, a batch, an array, or several of these."""
    if isinstance(what, (Batch, np.ndarray)):
        return iter((what,))
    if isinstance(what, Iterable):
        return iter(what)
    raise TypeError(f"{type(what).__name__} has no batches")


def refuse_closed(path: Any, closed: bool) -> None:
    if closed:
        raise Error(f"{path}: the trace is closed", "the trace is closed", str(path))
