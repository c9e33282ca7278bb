# SPDX-License-Identifier: MIT
"""How long arrays and readers live; threads, interrupts, Arrow, and programs that are run."""
import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
import unittest
import weakref
from pathlib import Path

import numpy as np

import pugmark
from pugmark import Error, Kind, _arrow
from common import BLOCKS, COMMAND, REAL, InScratch, needs_pandas, pugmark_json

TRUE = "/bin/true"


def rss():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class Life(InScratch):
    def test_arrays_outlive_all(self):
        events = pugmark.open(REAL).events()
        for trace in (pugmark.open(REAL), pugmark.open(REAL).filter("l1d=256,1way,64")):
            whole = trace.events()
            batches = trace.batches()
            arrays = [batch.addr for batch in batches]
            memory = weakref.ref(next(iter(trace))._memory)
            trace.close()
            del batches
            gc.collect()
            self.assertIsNone(memory())
            self.assertTrue(np.array_equal(np.concatenate(arrays), whole["addr"]))
            self.assertGreater(len(arrays), 1)
        self.assertEqual(len(events), 310998)

    def test_one_array_keeps_its_batch(self):
        batch = next(iter(pugmark.open(REAL)))
        memory = weakref.ref(batch._memory)
        last = batch.events[5:9]["addr"][::2]
        said = last.tolist()
        self.assertFalse(last.flags.writeable)
        with self.assertRaises(ValueError):
            batch.addr[0] = 1
        with self.assertRaises(ValueError):
            batch.addr.flags.writeable = True
        del batch
        gc.collect()
        self.assertIsNotNone(memory())
        for other in pugmark.open(REAL):
            pass
        self.assertEqual(last.tolist(), said)
        del last
        gc.collect()
        self.assertIsNone(memory())

    def test_no_copy(self):
        batch = next(iter(pugmark.open(REAL)))
        at = batch._c.ev
        self.assertEqual(np.asarray(batch).__array_interface__["data"], (at, True))
        for name in pugmark.EVENT.names:
            column = getattr(batch, name)
            self.assertEqual(column.__array_interface__["data"],
                             (at + pugmark.EVENT.fields[name][1], True))
            self.assertEqual(column.strides, (24,))
        self.assertFalse(np.shares_memory(batch.references, batch.events))
        self.assertEqual(batch.references["kind"].tolist(),
                         batch.select(Kind.READ, Kind.WRITE, Kind.MODIFY)["kind"].tolist())

    def test_memory_goes_round(self):
        """Batches that are let go cost nothing, however many there are."""
        trace = pugmark.open(REAL)
        places = {batch._c.ev for batch in trace}
        self.assertLess(len(places), 8)
        kept = [batch for batch in trace]
        self.assertEqual(len({batch._c.ev for batch in kept}), len(kept))

    def test_open_and_close(self):
        def once(i):
            trace = pugmark.open(BLOCKS)
            if i % 3 == 0:
                batch = next(iter(trace))
                if i % 2:
                    trace.close()
                return batch.addr
            if i % 3 == 1:
                trace.close()
            return None

        arrays = [once(i) for i in range(300)]
        files, memory = len(os.listdir("/proc/self/fd")), rss()
        for i in range(10000):
            once(i)
        gc.collect()
        self.assertEqual(len(os.listdir("/proc/self/fd")), files)
        # what 10000 blocks of 1 kB would be
        self.assertLess(rss() - memory, 10 << 20)
        first = arrays[0].tolist()
        self.assertTrue(all(a is None or a.tolist() == first for a in arrays))

    def test_again_and_at_the_same_time(self):
        trace = pugmark.open(REAL)
        a, b = trace.batches(), trace.batches()
        for x, y in zip(a, b):
            self.assertTrue(np.array_equal(x.events, y.events))
        for iterator in (a, b):
            for _ in range(3):
                self.assertRaises(StopIteration, next, iterator)
        self.assertEqual(sum(map(len, trace)), sum(map(len, trace)))
        self.assertEqual([s.index for s in a.streams], [0])

    def test_ahead(self):
        trace = pugmark.open(REAL)
        for ahead in (1, 3, 100):
            self.assertTrue(np.array_equal(
                np.concatenate([b.events for b in trace.batches(ahead=ahead)]), trace.events()))
        batches = trace.batches(ahead=1)
        next(batches)
        before = threading.active_count()
        del batches
        for thread in threading.enumerate():
            if thread.name == "pugmark":
                thread.join(30)
        self.assertLess(threading.active_count(), before)
        cut = self.dir / "cut.pug"
        cut.write_bytes(REAL.read_bytes()[:-1000])
        for _ in range(2):
            batches = pugmark.open(cut).batches(ahead=2)
            with self.assertRaisesRegex(Error, "cut here"):
                list(batches)
            self.assertRaisesRegex(Error, "cut here", next, batches)


class Threads(InScratch):
    def work(self, n, call):
        raised = []

        def guarded(i):
            try:
                call(i)
            except BaseException as e:
                raised.append(e)

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(n)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if raised:
            raise raised[0]

    def test_one_reader_many_threads(self):
        batches = pugmark.open(REAL).batches()
        parts = []
        self.work(8, lambda i: parts.extend(batches))
        self.assertEqual(sum(map(len, parts)), 310998)
        self.assertEqual(sorted(b.first_insn for b in parts),
                         [b.first_insn for b in pugmark.open(REAL)])

    def test_many_readers(self):
        trace = pugmark.open(REAL)
        sums = [None] * 6

        def call(i):
            if i % 2:
                sums[i] = trace.simulate("count")["count"]["events"]
            else:
                sums[i] = sum(map(len, trace))

        self.work(6, call)
        self.assertEqual(sums, [310998] * 6)

    def test_close_under_a_reader(self):
        """Whoever reads gets an error, or what was there: no crash."""
        for _ in range(20):
            trace = pugmark.open(REAL)

            def read(i):
                try:
                    for batch in trace:
                        batch.addr.max()
                except Error as e:
                    self.assertIn("closed", str(e))

            threads = [threading.Thread(target=read, args=(i,)) for i in range(3)]
            for t in threads:
                t.start()
            trace.close()
            for t in threads:
                t.join()

    def test_lock_is_released(self):
        """A thread of this process feeds the pipe that a call of the library waits for."""
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        data = REAL.read_bytes()

        def feed():
            with open(fifo, "wb", buffering=0) as f:
                for i in range(0, len(data), 4096):
                    f.write(data[i:i + 4096])

        feeder = threading.Thread(target=feed)
        feeder.start()
        self.assertEqual(sum(map(len, pugmark.open(fifo))), 310998)
        feeder.join()
        feeder = threading.Thread(target=feed)
        feeder.start()
        self.assertEqual(pugmark.simulate(fifo, "count")["count"]["events"], 310998)
        feeder.join()


class Interrupts(InScratch):
    def test_long_calls(self):
        for call in (lambda p: pugmark.simulate(REAL, "count", progress=p),
                     lambda p: pugmark.convert(REAL, self.dir / "x.pug", progress=p)):
            with self.assertRaises(KeyboardInterrupt):
                call(lambda events, part: os.kill(os.getpid(), signal.SIGINT))
            with self.assertRaisesRegex(Error, "stopped by the caller"):
                call(lambda events, part: True)
            with self.assertRaises(ZeroDivisionError):
                call(lambda events, part: 1 / 0)
            self.assertTrue(call(lambda events, part: False))

    def test_between_batches(self):
        """A filter that drops everything: the interrupt comes although no batch does."""
        program = (
            "import os, signal, threading, time, pugmark\n"
            "trace = pugmark.open(os.sys.argv[1]).slice(count=1 << 60, thread=123456)\n"
            "reader = trace._reader()\n"
            "calls = []\n"
            "keep = reader._keep\n"
            "def counted(*args):\n"
            "    calls.append(1)\n"
            "    if len(calls) == 2: os.kill(os.getpid(), signal.SIGINT)\n"
            "    return keep(*args)\n"
            "reader._keep = counted\n"
            "try:\n"
            "    print(reader.next())\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', len(calls))\n")
        big = self.dir / "big.pug"
        trace = pugmark.open(REAL)
        events = trace.events(Kind.READ)
        with pugmark.create(big, facts=trace) as writer:
            for i in range(40):
                writer.write(events, stream=pugmark.Stream(0, 1, 1))
        done = subprocess.run([sys.executable, "-c", program, big], stdout=subprocess.PIPE,
                              text=True, check=True)
        self.assertEqual(done.stdout, "interrupted 2\n")


class Arrow(InScratch):
    def column(self, array, i, dtype):
        child = _arrow.CArray.from_address(
            ctypes.c_void_p.from_address(array.children + 8 * i).value)
        at = ctypes.c_void_p.from_address(child.buffers + 8).value
        size = child.length * np.dtype(dtype).itemsize
        return np.frombuffer((ctypes.c_char * size).from_address(at), dtype).copy()

    def pointer(self, capsule, name):
        get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
            ("PyCapsule_GetPointer", ctypes.pythonapi))
        return get(capsule, name)

    def test_array(self):
        batch = next(iter(pugmark.open(REAL)))
        schema, array = batch.__arrow_c_array__()
        self.assertEqual(_arrow.sweep(), 2)
        c = _arrow.CArray.from_address(self.pointer(array, b"arrow_array"))
        said = batch.events.copy()
        del batch
        gc.collect()
        self.assertEqual(c.length, len(said))
        for i, name, dtype in ((1, "kind", "i1"), (2, "flags", "u1"), (3, "size", "u2"),
                               (4, "id", "u4"), (5, "addr", "u8"), (6, "value", "u8")):
            self.assertTrue(np.array_equal(self.column(c, i, dtype), said[name]), name)
        s = _arrow.CSchema.from_address(self.pointer(schema, b"arrow_schema"))
        self.assertEqual((s.format, s.n_children), (b"+s", 7))
        del schema, array
        self.assertEqual(_arrow.sweep(), 0)

    def test_capsules_that_nobody_wants(self):
        batch = next(iter(pugmark.open(REAL)))
        batch.__arrow_c_array__()
        before = rss()
        for _ in range(500):
            batch.__arrow_c_array__()
            pugmark.open(BLOCKS).__arrow_c_stream__()
        self.assertLess(rss() - before, 20 << 20)
        with self.assertRaises(ZeroDivisionError):
            (batch.__arrow_c_array__(), 1 / 0)
        self.assertEqual(_arrow.sweep(), 0)

    def test_pyarrow(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("needs pyarrow")
        trace = pugmark.open(REAL)
        table = pyarrow.table(trace)
        events = trace.events()
        kinds = pugmark.kind_names()
        self.assertEqual(table["addr"].to_pylist(), events["addr"].tolist())
        self.assertEqual(table["kind"].to_pylist(), [kinds[k] for k in events["kind"].tolist()])
        batch = next(iter(trace))
        self.assertEqual(pyarrow.record_batch(batch)["size"].to_pylist(), batch.size.tolist())


class Run(InScratch):
    def run_it(self, *args, **kwargs):
        try:
            return pugmark.run(*args, options=["--cache-dir", str(self.dir / "cache")], **kwargs)
        except Error as e:
            self.skipTest(f"programs cannot be traced here: {e}")

    def test_profile(self):
        profile = self.run_it([TRUE])
        self.assertEqual(profile.returncode, 0)
        self.assertEqual(sum(f["instructions"] for f in profile["functions"]),
                         profile["instructions"])
        again = self.run_it(["sh", "-c", "exit 3"], output=self.dir / "p.json")
        self.assertEqual(again.returncode, 3)
        self.assertTrue((self.dir / "p.json").exists())
        with self.assertRaises(subprocess.CalledProcessError):
            pugmark.run(["false"], check=True)

    @needs_pandas
    def test_functions(self):
        profile = self.run_it([TRUE])
        functions = profile.functions
        self.assertEqual(functions["instructions"].sum(), profile["instructions"])
        self.assertTrue(functions["instructions"].is_monotonic_decreasing)

    def test_trace(self):
        trace = self.run_it([TRUE], kind="exec")
        path = trace.path
        self.assertEqual(trace.returncode, 0)
        self.assertEqual(trace.notes["program"], TRUE)
        insns = sum(int((b.kind == Kind.INSN).sum()) for b in trace)
        self.assertEqual(insns, trace.info()["count"]["instructions"])
        part = trace.slice(10, 100)
        del trace
        gc.collect()
        self.assertEqual(len(part.events(Kind.INSN)), 100)
        del part
        gc.collect()
        self.assertFalse(os.path.exists(path))
        kept = self.run_it([TRUE], kind="branch", output=self.dir / "b.pug")
        self.assertEqual(pugmark_json("info", "--json", "-", self.dir / "b.pug"), kept.info())

    def test_wrong(self):
        with self.assertRaises(ValueError):
            pugmark.run([TRUE], kind="nosuch")
        for args in ("ls", []):
            with self.assertRaises(TypeError):
                pugmark.run(args)
        with self.assertRaisesRegex(Error, "made no trace"):
            pugmark.run(["/nonexistent"], kind="exec", stderr=subprocess.DEVNULL)
        (self.dir / "old.json").write_text("{}")
        with self.assertRaisesRegex(Error, "made no profile"):
            pugmark.run(["/nonexistent"], output=self.dir / "old.json",
                        stderr=subprocess.DEVNULL)
        old = os.environ.pop("PUGMARK")
        path, os.environ["PATH"] = os.environ["PATH"], "/nonexistent"
        try:
            with self.assertRaisesRegex(Error, "no pugmark in PATH"):
                pugmark.command()
        finally:
            os.environ["PUGMARK"], os.environ["PATH"] = old, path
        self.assertEqual(pugmark.command(), COMMAND)

    def test_timeout(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            pugmark.run(["sleep", "100"], timeout=1, output=self.dir / "x.json")


if __name__ == "__main__":
    unittest.main()
