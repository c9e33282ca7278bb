# SPDX-License-Identifier: MIT
"""Traces that are read: pugmark.open()."""
from __future__ import annotations

import ctypes
import itertools
import os
import queue
import stat
import threading
import weakref
from ctypes import byref
from typing import Any, Callable, Iterator, Optional

import numpy as np

from . import _arrow
from ._batch import (COLUMNS, EVENT, Batch, Code, Memory, Stream, code_at, kind_names,
                     refuse_closed, stream_at, to_pandas)
from ._library import (PM_END, CBatch, CErr, CReaderAbout, CSizes, CStream, Error, PathLike,
                       Progress, check, close_quietly, lib, raw, text)
from ._names import Fact
from ._results import Results


_STREAM_BYTES = ctypes.sizeof(CStream)
_numbers = itertools.count()


class Reader:
    """A reader of the library. Threads take turns."""

    def __init__(self, path: PathLike, format: Optional[str], transforms: tuple[str, ...],
                 blocks: bool) -> None:
        self.handle: Optional[int] = None
        self.number = next(_numbers)
        self.lock = threading.Lock()
        self.closed = False
        self.streams: dict[int, tuple[bytes, Stream]] = {}
        self._codes: dict[int, tuple[tuple[int, ...], Code]] = {}
        # for next(), which is called often: under the lock
        self._keep = lib.pm_reader_keep
        self._at, self._err = ctypes.c_void_p(), CErr()
        self._at_ref, self._err_ref = byref(self._at), byref(self._err)
        err = CErr()
        self.handle = lib.pm_reader_open(raw(path), raw(format), byref(err))
        if not self.handle:
            check(-1, err)
        for spec in transforms:
            self.transform(spec)
        if blocks:
            check(lib.pm_reader_blocks(self.handle, byref(err)), err)

    def transform(self, spec: str) -> None:
        err = CErr()
        check(lib.pm_reader_transform(self.handle, raw(spec), byref(err)), err)

    def about(self) -> CReaderAbout:
        err, about = CErr(), CReaderAbout(struct_size=ctypes.sizeof(CReaderAbout))
        check(lib.pm_reader_about(self.handle, byref(about), byref(err)), err)
        return about

    def notes(self) -> dict[str, str]:
        err, name, value = CErr(), ctypes.c_char_p(), ctypes.c_char_p()
        found: dict[str, str] = {}
        for i in itertools.count():
            status = lib.pm_reader_note_at(self.handle, i, byref(name), byref(value), byref(err))
            check(status, err)
            if status == PM_END:
                break
            found.setdefault(text(name.value) or "", text(value.value) or "")
        return found

    def next(self) -> Optional[Batch]:
        memory = Memory()
        kept = memory.kept
        with self.lock:
            while not kept:
                status = self._keep(self.handle, byref(kept), self._at_ref, self._err_ref)
                if status:
                    check(status, self._err)
                    return None
            at: int = self._at.value    # type: ignore[assignment]
            c = CBatch.from_address(at)
            # a stream keeps its place, and may learn its name later
            seen = ctypes.string_at(c.stream, _STREAM_BYTES)
            known = self.streams.get(c.stream)
            if known is None or known[0] != seen:
                known = self.streams[c.stream] = seen, stream_at(c.stream)
        return Batch(memory, c, self, known[1])

    def code(self, address: int, sizes: CSizes) -> Code:
        with self.lock:
            counts = tuple((ctypes.c_size_t * 3).from_address(address + 24)) \
                if not self.closed else ()
            known = self._codes.get(address)
            if known is not None and (self.closed or known[0] == counts):
                return known[1]
            if self.closed:
                raise Error("the trace is closed, and its code table with it: ask for "
                            "batch.code before")
            code = code_at(address, sizes, (self.number, address))
            self._codes[address] = counts, code
            return code

    def close(self) -> None:
        with self.lock:
            self.closed = True
            lib.pm_reader_close(self.handle, None)

    def __del__(self, close: Any = close_quietly) -> None:
        if not self.closed:
            close("pm_reader_close", self.handle)


class Batches(Iterator[Batch]):
    """Iterator over the batches of a trace."""

    def __init__(self, trace: "Trace", reader: Reader) -> None:
        self._trace = trace     # which may own a file
        self._reader = reader

    def __iter__(self) -> "Batches":
        return self

    def __next__(self) -> Batch:
        batch = self._reader.next()
        if batch is None:
            raise StopIteration
        return batch

    @property
    def part(self) -> float:
        """How much of the file has been read, 0 to 1; 0 if that is not known."""
        with self._reader.lock:
            return float(self._reader.about().part)

    @property
    def streams(self) -> list[Stream]:
        """The streams that there were so far, by number."""
        with self._reader.lock:
            return sorted((s for _, s in self._reader.streams.values()), key=lambda s: s.index)

    def close(self) -> None:
        """Stop reading. Batches stay."""
        self._reader.close()


class Ahead(Batches):
    """... which another thread reads, a few batches ahead."""

    def __init__(self, trace: "Trace", reader: Reader, ahead: int) -> None:
        super().__init__(trace, reader)
        self._queue: "queue.Queue[Any]" = queue.Queue(ahead)
        self._over: Any = None
        threading.Thread(target=_read_ahead, args=(reader, self._queue, weakref.ref(self)),
                         name="pugmark", daemon=True).start()

    def __next__(self) -> Batch:
        if self._over is None:
            item = self._queue.get()
            if isinstance(item, Batch):
                return item
            self._over = item
        if isinstance(self._over, BaseException):
            raise self._over
        raise StopIteration


def _read_ahead(reader: Reader, to: "queue.Queue[Any]", wanted: Callable[[], Any]) -> None:
    item: Any = None
    while True:
        try:
            item = reader.next()
        except BaseException as e:
            item = e
        while True:
            if wanted() is None:
                return
            try:
                to.put(item, timeout=0.5)
                break
            except queue.Full:
                pass
        if not isinstance(item, Batch):
            return


class Trace:
    """A trace, or what transforms make of it. ``pugmark.open()`` makes one.

    Nothing is read before batches() or another method asks for events, and each of these reads
    from the beginning. A pipe can be read once.
    """

    def __init__(self, path: PathLike, format: Optional[str] = None, *,
                 transforms: tuple[str, ...] = (), blocks: bool = False,
                 owner: Any = None) -> None:
        self.path = path
        self.transforms = tuple(transforms)
        self.returncode: Optional[int] = None
        self._format = format
        self._blocks = blocks
        self._owner = owner
        self._closed = False
        self._readers: "weakref.WeakSet[Reader]" = weakref.WeakSet()
        self._fresh: Optional[Reader] = None
        reader = self._open()
        about = reader.about()
        self.format: str = text(about.format) or ""
        self.facts = Fact(about.facts)
        self.bytes = int(about.bytes)
        self.notes = reader.notes()
        self._fresh = reader

    def _open(self) -> Reader:
        reader = Reader(self.path, self._format, self.transforms, self._blocks)
        self._readers.add(reader)
        return reader

    def _reader(self) -> Reader:
        """One that nothing has been read from."""
        refuse_closed(self._name, self._closed)
        reader, self._fresh = self._fresh, None
        if reader is not None:
            return reader
        if self._once:
            raise Error(f"{self._name}: a pipe can be read once", "a pipe can be read once",
                        self._name)
        return self._open()

    @property
    def _name(self) -> str:
        return os.fsdecode(self.path)

    @property
    def _once(self) -> bool:
        if os.fsencode(self.path) == b"-":
            return True
        try:
            mode = os.stat(self.path).st_mode
        except OSError:
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))

    def __repr__(self) -> str:
        how = "".join(f" | {spec}" for spec in self.transforms)
        return f"<pugmark.Trace {self._name}: {self.format}{how}>"

    def __reduce__(self) -> Any:
        return _again, (self.path, self._format, self.transforms, self._blocks)

    @property
    def contents(self) -> str:
        """The facts in words: "data addresses and access sizes"."""
        buf = ctypes.create_string_buffer(2000)
        lib.pm_facts_format(int(self.facts), buf, len(buf))
        return text(buf.value) or ""

    # ---- transforms -----------------------------------------------------------------------------

    def transform(self, spec: str) -> "Trace":
        """The trace behind a transform of the library, by its configuration string."""
        return self._derived(self.transforms + (spec,), self._blocks)

    def _derived(self, transforms: tuple[str, ...], blocks: bool) -> "Trace":
        refuse_closed(self._name, self._closed)
        if not self._once:
            trace = Trace(self.path, self._format, transforms=transforms, blocks=blocks,
                          owner=self)
            trace.returncode = self.returncode
            return trace
        # there is only this one
        reader = self._reader()
        self._fresh = reader
        for spec in transforms[len(self.transforms):]:
            reader.transform(spec)
            self.transforms += (spec,)
        if blocks and not self._blocks:
            err = CErr()
            check(lib.pm_reader_blocks(reader.handle, byref(err)), err)
            self._blocks = True
        self.facts = Fact(reader.about().facts)
        return self

    def slice(self, start: int = 0, count: Optional[int] = None,
              thread: Optional[int] = None) -> "Trace":
        """A part: ``count`` instructions behind the first ``start``, and of one thread only."""
        spec = [f"from={start}"] if start else []
        if count is not None:
            spec.append(f"count={count}")
        if thread is not None:
            spec.append(f"thread={thread}")
        return self.transform("slice:" + ",".join(spec))

    def filter(self, caches: str) -> "Trace":
        """What these caches let through: ``trace.filter("l1d=32k,8way,64")``."""
        return self.transform("filter:" + caches)

    def lines(self, size: int = 64) -> "Trace":
        """Instructions become the cache lines that they touch."""
        return self.transform(f"lines:{size}")

    def uops(self) -> "Trace":
        """Instructions are cracked into micro-ops."""
        return self.transform("uops")

    def blocks(self) -> "Trace":
        """Blocks come as Kind.BLOCK, not expanded to instructions, if the trace has them."""
        return self._derived(self.transforms, True)

    # ---- events ---------------------------------------------------------------------------------

    def batches(self, ahead: int = 0) -> Batches:
        """The events from the beginning, batch by batch.

        ``ahead``: so many batches another thread may read ahead, while this one computes.
        """
        if ahead < 0:
            raise ValueError(f"ahead={ahead}")
        reader = self._reader()
        return Ahead(self, reader, ahead) if ahead else Batches(self, reader)

    def __iter__(self) -> Batches:
        return self.batches()

    def events(self, *kinds: int) -> Any:
        """All events, or those of these kinds, as one array. It has 24 bytes for each."""
        parts = [batch.select(*kinds) if kinds else batch.events for batch in self.batches()]
        return np.concatenate(parts) if parts else np.empty(0, EVENT)

    def to_pandas(self, *kinds: int) -> Any:
        """All events, or those of these kinds, as one DataFrame, with a column ``stream``."""
        import pandas as pd

        frames = []
        for batch in self.batches():
            frame = to_pandas(batch.select(*kinds) if kinds else batch.events)
            frame.insert(0, "stream", np.uint32(batch.stream.index))
            frames.append(frame)
        if frames:
            return pd.concat(frames, ignore_index=True)
        frame = to_pandas(np.empty(0, EVENT))
        frame.insert(0, "stream", np.empty(0, np.uint32))
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Arrow's PyCapsule interface: pyarrow.table(trace), polars.from_arrow(trace)..."""
        reader = self._reader()
        capsule = _arrow.stream_of(reader.handle)
        reader.closed = True    # it belongs to the capsule
        return capsule

    # ---- whole traces ---------------------------------------------------------------------------

    def simulate(self, *specs: str, objects: Any = (), threads: Optional[int] = None,
                 progress: Optional[Progress] = None) -> Results:
        """What simulators count: see pugmark.simulate()."""
        from ._simulate import run

        return run(self, specs, objects, threads, progress)

    def info(self) -> dict[str, Any]:
        """What ``pugmark info`` says of the file: see pugmark.info()."""
        from ._command import info

        return info(self)

    # ---- the end --------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file. Batches and arrays stay, code tables do not."""
        self._closed = True
        self._fresh = None
        for reader in list(self._readers):
            if not reader.closed:
                reader.close()

    def __enter__(self) -> "Trace":
        refuse_closed(self._name, self._closed)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


def _again(path: PathLike, format: Optional[str], transforms: tuple[str, ...],
           blocks: bool) -> Trace:
    return Trace(path, format, transforms=transforms, blocks=blocks)


def open(path: PathLike, format: Optional[str] = None, *, blocks: bool = False) -> Trace:
    """Open a trace to read it.

    ``path``: a file, a directory (of formats that are one), a pipe, or ``"-"`` for standard
    input. ``format``: one of formats(), with options behind a colon if it has any; None: guessed
    from the content. Packed files are unpacked. ``blocks``: as Trace.blocks().
    """
    return Trace(path, format, blocks=blocks)


__all__ = ["Batches", "COLUMNS", "Trace", "kind_names", "open"]
