# SPDX-License-Identifier: MIT
"""Simulators, conversions and checks of whole traces."""
from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_void_p
from typing import Any, Iterable, Optional, Union as Either

from ._batch import Batch, Code, Outgoing, Stream, iterate, refuse_closed
from ._library import (PROGRESS, CConvertOptions, CErr, Error, PathLike, Progress, check,
                       close_quietly, lib, long_call, raw, strings, threads as thread_count)
from ._names import Fact
from ._results import Results, results_of
from ._trace import Trace


class Simulation:
    """Simulators that get events batch by batch, of any origin.

    >>> simulation = Simulation("count", facts=Fact.REFS)
    >>> simulation.push(events(kind=Kind.READ, addr=[64, 128]))
    >>> simulation.finish()["count"]["kinds"]
    {'read': 2}
    """

    def __init__(self, *specs: str, facts: int = 0, objects: Iterable[str] = ()) -> None:
        self._handle = _prepare(specs, objects, 0)
        self._out = Outgoing()
        err = CErr()
        check(lib.pm_simulation_begin(self._handle, int(facts), byref(err)), err)

    def push(self, events: Any, *, like: Optional[Batch] = None,
             stream: Either[Stream, int, None] = None, code: Optional[Code] = None) -> None:
        """Simulate these events, as Writer.write() has them."""
        for part in iterate(events):
            batch, stays = self._out.batch(part, like, stream, code)
            err = CErr()
            check(lib.pm_simulation_push(self._handle, byref(batch), byref(err)), err)
            del stays

    def finish(self) -> Results:
        """The results. Nothing can be pushed any more."""
        err = CErr()
        handle = lib.pm_simulation_finish(self._handle, byref(err))
        return results_of(c_void_p(handle), 0 if handle else -1, err)

    def __del__(self, close: Any = close_quietly) -> None:
        close("pm_simulation_close", getattr(self, "_handle", None))


def _prepare(specs: Iterable[str], objects: Iterable[str], threads: int) -> int:
    err = CErr()
    if isinstance(objects, str):
        objects = (objects,)
    handle = lib.pm_simulation_new(byref(err))
    try:
        check(0 if handle else -1, err)
        for spec in specs:
            check(lib.pm_simulation_add(handle, raw(spec), byref(err)), err)
        for where in objects:
            check(lib.pm_simulation_object(handle, raw(where), byref(err)), err)
        if threads:
            check(lib.pm_simulation_threads(handle, threads, byref(err)), err)
    except BaseException:
        lib.pm_simulation_close(handle, None)
        raise
    return int(handle)


def run(trace: Trace, specs: Iterable[str], objects: Iterable[str], threads: Optional[int],
        progress: Optional[Progress]) -> Results:
    handle = _prepare(specs, objects, thread_count(threads))
    try:
        reader = trace._reader()
        results, err = c_void_p(), CErr()

        # by another thread: its errors' text must be fetched there
        def call(told: Any) -> Results:
            with reader.lock:
                status = lib.pm_simulation_run(handle, reader.handle, told, None,
                                               byref(results), byref(err))
            return results_of(results, status, err)

        return long_call(call, progress)    # type: ignore[no-any-return]
    finally:
        lib.pm_simulation_close(handle, None)


def simulate(trace: Any, *specs: str, objects: Iterable[str] = (),
             threads: Optional[int] = None, progress: Optional[Progress] = None) -> Results:
    """What simulators count on a trace: the results of ``pugmark sim``.

    ``trace``: a Trace, or a path. ``specs``: one of simulators() each, with its configuration
    behind a colon: ``"cache:l1d=32k,8way,64"``; ``"./mine.so:config"`` is a plug-in.
    ``objects``: ``"PATH@ADDRESS"`` each, files that the trace had loaded, for names of functions.
    ``threads``: how many there may be besides one; None: one for each processor.
    ``progress(events, part)`` is called now and then, by another thread; if it returns something
    true, or raises, the simulation ends.
    """
    if not isinstance(trace, Trace):
        trace = Trace(trace)
    return run(trace, specs, objects, threads, progress)


def convert(source: Any, target: PathLike, to: Optional[str] = None, *,
            format: Optional[str] = None, transforms: Iterable[str] = (),
            threads: Optional[int] = None, progress: Optional[Progress] = None) -> Results:
    """Write a trace in another format, as ``pugmark convert``.

    ``source``: a path, of ``format``, or a Trace. ``to``: the format; None: by the target's name.
    ``transforms``: as Trace.transform(), behind those of the Trace. The rest is as in simulate().
    """
    specs = tuple(transforms)
    if isinstance(source, Trace):
        refuse_closed(source._name, source._closed)
        if source._once:
            raise Error(f"{source._name}: a pipe is converted by its path, not by its Trace")
        format, specs = source._format, source.transforms + specs
        source = source.path
    options = CConvertOptions(
        struct_size=ctypes.sizeof(CConvertOptions), threads=thread_count(threads),
        from_=raw(format), to=raw(to),
        transforms=ctypes.cast(strings(*map(raw, specs)), POINTER(c_char_p)))
    results, err = c_void_p(), CErr()

    def call(told: Any) -> Results:
        options.progress = told
        status = lib.pm_convert(raw(source), raw(target), byref(options), byref(results),
                                byref(err))
        return results_of(results, status, err)

    return long_call(call, progress)    # type: ignore[no-any-return]


def verify(path: PathLike, format: Optional[str] = None) -> Results:
    """Is the trace whole, and possible? If not, an Error, whose ``results`` say what was read."""
    results, err = c_void_p(), CErr()
    name, how = raw(path), raw(format)

    def call(told: Any) -> Results:
        return results_of(results, lib.pm_verify(name, how, byref(results), byref(err)), err)

    return long_call(call, abandon=True)    # type: ignore[no-any-return]


__all__ = ["PROGRESS", "Fact", "Simulation", "convert", "simulate", "verify"]
