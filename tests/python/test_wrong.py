# SPDX-License-Identifier: MIT
"""What is wrong is an exception that says so."""
import os
import pickle
import shutil
import subprocess
import sys
import unittest

import numpy as np

import pugmark
from pugmark import Error, Fact, Kind
from common import BLOCKS, BUILD, DATA, REAL, InScratch


class Wrong(InScratch):
    def error(self, regex, call, *args, **kwargs):
        with self.assertRaisesRegex(Error, regex) as caught:
            call(*args, **kwargs)
        return caught.exception

    def test_columns(self):
        # what a field cannot hold is no other number
        for name, column, what in (("size", [8, 70000], ValueError), ("kind", 300, ValueError),
                                   ("id", [-1], ValueError), ("addr", [1.5, 2], TypeError),
                                   ("addr", "0x10", TypeError), ("value", 2**64, ValueError)):
            with self.subTest(name=name, column=column):
                self.assertRaisesRegex(what, "^" + name, pugmark.events, **{name: column})
        made = pugmark.events(kind=Kind.READ, addr=[2**64 - 1, 1], value=np.array([-1, 2]),
                              id=0xffffffff)
        self.assertEqual(made["addr"].tolist(), [2**64 - 1, 1])
        self.assertEqual(made["value"].tolist(), [2**64 - 1, 2])
        self.assertEqual(len(pugmark.events(addr=[])), 0)

    def test_files(self):
        e = self.error("^/nonexistent: cannot open: No such file", pugmark.open, "/nonexistent")
        self.assertEqual((e.file, e.place), ("/nonexistent", None))
        self.assertEqual(e.message, "cannot open: No such file or directory")
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((str(again), again.file), (str(e), e.file))
        self.error("not a trace that pugmark recognises", pugmark.open, __file__)
        self.error("'nosuch' is not a format", pugmark.open, REAL, "nosuch")
        self.error("cannot open", pugmark.simulate, "/nonexistent", "count")
        self.error("cannot open", pugmark.convert, "/nonexistent", self.dir / "x.din")
        self.error("cannot open", pugmark.verify, "/nonexistent")
        e = self.error("cannot open", pugmark.info, "/nonexistent")
        self.assertEqual(e.file, "/nonexistent")
        with self.assertRaises(TypeError):
            pugmark.open(7.5)
        for call in (pugmark.open, pugmark.verify, pugmark.info,
                     lambda path: pugmark.create(path, "din", facts=Fact.REFS)):
            self.assertRaisesRegex(ValueError, "null byte", call, "a\0b")

    def test_onto_itself(self):
        own, link = self.dir / "own.pug", self.dir / "link.pug"
        shutil.copy(REAL, own)
        link.symlink_to(own)
        for out in own, link:
            self.error("it is also the input", pugmark.convert, own, out)
        self.assertEqual(own.read_bytes(), REAL.read_bytes())

    def test_names_of_any_bytes(self):
        name = os.fsencode(self.dir) + b"/\xff\xfe.pug"
        shutil.copy(REAL, name)
        self.assertEqual(len(pugmark.open(name).events()), 310998)
        self.assertEqual(pugmark.info(os.fsdecode(name))["count"]["events"], 310998)
        open(name, "wb").close()
        e = self.error("empty|not a trace", pugmark.open, name)
        self.assertEqual(os.fsencode(e.file), name)

    def test_damage(self):
        """What came before it, then the error with its place, as often as one asks."""
        cut, many = self.dir / "cut.pug", self.dir / "many.pug"
        pugmark.convert(REAL, many, "pug:chunk=20000")
        whole = many.read_bytes()
        cut.write_bytes(whole[:len(whole) * 9 // 10])
        batches = pugmark.open(cut).batches()
        n = 0
        with self.assertRaises(Error) as caught:
            for batch in batches:
                n += len(batch)
        self.assertTrue(0 < n < 310998)
        for e in (caught.exception, self.error("the trace is cut here", next, batches)):
            self.assertEqual((e.file, e.unit), (str(cut), "byte"))
            self.assertTrue(0 < e.place <= len(whole) * 9 // 10)
            self.assertTrue(str(e).startswith(f"{cut}:0x{e.place:x}: the trace is cut here"))
        e = self.error("cut here", pugmark.simulate, cut, "count")
        self.assertTrue(0 < e.results["count"]["events"] <= n)
        e = self.error("cut here", pugmark.verify, cut)
        text = self.dir / "bad.xdin"
        text.write_text("r 1000 4\nnonsense\n")
        e = self.error("bad.xdin:2: ", lambda: pugmark.open(text, "xdin").events())
        self.assertEqual((e.place, e.unit), (2, "line"))
        e = self.error("bad.xdin:2: ", lambda: pugmark.info(text, "xdin"))
        self.assertEqual((e.place, e.unit), (2, "line"))

    def test_closed(self):
        trace = pugmark.open(REAL)
        batches = trace.batches()
        batch = next(batches)
        trace.close()
        trace.close()
        for call in (trace.batches, trace.events, trace.to_pandas, lambda: iter(trace),
                     trace.__arrow_c_stream__, lambda: trace.slice(1), trace.__enter__,
                     lambda: trace.simulate("count"), lambda: trace.blocks(),
                     lambda: pugmark.convert(trace, self.dir / "x.din")):
            self.error("the trace is closed", call)
        self.error("the reader is closed", next, batches)
        self.assertTrue(int(batch.addr.max()))
        self.error("the trace is closed", lambda: batch.code)
        with pugmark.open(REAL) as trace:
            batch = next(iter(trace))
            code = batch.code
        self.assertIs(batch.code, code)
        writer = pugmark.create(self.dir / "x.pug", facts=Fact.REFS)
        writer.close()
        writer.close()
        self.error("the writer is closed", writer.write, pugmark.events(kind=Kind.READ))
        self.error("the writer is closed", writer.commit)
        simulation = pugmark.Simulation("count", facts=Fact.REFS)
        simulation.finish()
        self.error("ended", simulation.push, pugmark.events(kind=Kind.READ))

    def test_wrong_handles(self):
        """Numbers of the library are not addresses: whatever they are, it says so."""
        trace = pugmark.open(REAL)
        reader = trace._fresh
        right = reader.handle
        other = pugmark.create(self.dir / "x.pug", facts=Fact.REFS)
        for wrong in (0, 1, 2, 12345678, right ^ 2, 2**64 - 1, id(reader), other._handle):
            reader.handle = wrong
            self.error("reader", reader.next)
            self.error("reader", reader.about)
        reader.handle = right
        self.assertTrue(len(reader.next()))

    def test_configurations(self):
        trace = pugmark.open(REAL)
        self.error("'nosuch'", trace.simulate, "nosuch")
        self.error("", trace.simulate, "cache:l1d=nonsense")
        self.error("no simulators", trace.simulate)
        self.error("nosuch.*no transform", trace.transform, "nosuch")
        self.error("power of two", trace.lines, 65)
        self.error("", trace.filter, "l1=nonsense")
        self.error("a slice is", trace.transform, "slice:from=x")
        self.error("needs", pugmark.convert, DATA / "formats" / "din.din",
                   self.dir / "x.champsim")
        with self.assertRaises(ValueError):
            trace.batches(ahead=-1)
        with self.assertRaises(ValueError):
            trace.simulate("count", threads=-1)
        self.assertEqual(len(trace.events()), 310998)

    def test_plugin_of_another_interface(self):
        old = BUILD / "examples" / "old.so"
        if not old.exists():
            self.skipTest("examples are not built")
        self.error("interface", pugmark.simulate, REAL, str(old))
        pages = BUILD / "examples" / "pages.so"
        self.assertTrue(pugmark.simulate(REAL, str(pages)))

    def test_library_of_another_interface(self):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if not compiler:
            self.skipTest("needs a C compiler")
        (self.dir / "x.c").write_text('const char *pm_version(void) { return "9"; }\n')
        so = self.dir / "libpugmark.so.1"
        subprocess.run([compiler, "-shared", "-fPIC", "-o", so, self.dir / "x.c"], check=True)
        for path, what in ((so, "not the libpugmark.so.1 that this package needs: it has no pm_"),
                           ("/nonexistent.so", "the library cannot be loaded"),
                           (__file__, "the library cannot be loaded")):
            done = subprocess.run(
                [sys.executable, "-c", "import pugmark\ntry:\n pugmark.version()\n"
                 "except pugmark.Error as e: print(e)"],
                env={**os.environ, "PUGMARK_LIBRARY": str(path)}, stdout=subprocess.PIPE,
                check=True, text=True)
            self.assertIn(what, done.stdout)
            self.assertIn(str(path), done.stdout)

    def test_batches_of_ones_own(self):
        reads = pugmark.events(kind=Kind.READ, addr=np.arange(100) * 64, size=8)
        wrong = self.dir / "wrong.pug"

        def write(*args, **kwargs):
            with pugmark.create(wrong, facts=Fact.REFS | Fact.SIZES) as writer:
                writer.write(*args, **kwargs)

        ids = reads.copy()
        ids["id"] = 7
        self.error("event 0 of the batch .* leads to nothing", write, ids)
        ids["kind"] = Kind.UOP
        self.error("leads to nothing", write, ids)
        insns = np.zeros(2, pugmark.INSN)
        insns["object"] = pugmark.NONE
        code = pugmark.Code(insns, np.array([(0, 1, 2)], pugmark.BLOCK))
        self.error("block 0 of the code table", write, reads, code=code)
        self.error("stream 70000 is more", write, reads, stream=70000)
        for bad in (7, "text", None):
            with self.assertRaises((TypeError, Error)):
                write(bad)
        with self.assertRaises(TypeError):
            write(np.arange(4))
        with self.assertRaises(ValueError):
            write(reads.reshape(10, 10))
        with self.assertRaises(ValueError):
            pugmark.events(addr=[1, 2], size=[1, 2, 3])
        self.error("needs", pugmark.create, self.dir / "x.champsim", facts=Fact.REFS)
        self.error("cannot|unheard", pugmark.create, self.dir / "x.unheard", facts=Fact.REFS)
        # an error leaves nothing with the name
        with self.assertRaises(ZeroDivisionError):
            with pugmark.create(self.dir / "gone.din", facts=Fact.REFS) as writer:
                writer.write(reads)
                1 / 0
        self.assertFalse((self.dir / "gone.din").exists())

    def test_arrays_of_any_layout(self):
        """Reversed, strided, of other integers: the trace has what the array has."""
        odd = np.zeros(200, [("value", "u8"), ("addr", ">i8"), ("id", "i8"), ("size", "u4"),
                             ("flags", "u1"), ("kind", "i4")])
        odd["kind"], odd["id"] = Kind.WRITE, pugmark.NONE
        odd["addr"], odd["size"] = np.arange(200) * 16, 4
        with pugmark.create(self.dir / "odd.pug", facts=Fact.REFS | Fact.SIZES) as writer:
            writer.write(odd[::-2])
            writer.write([pugmark.events(kind=Kind.READ, addr=5, size=1)] * 2, stream=1)
            self.assertIsNone(writer.results)
        self.assertIn("written", writer.results)
        parts = [(b.stream.index, b.addr.tolist()) for b in pugmark.open(self.dir / "odd.pug")]
        self.assertEqual([a for i, p in parts if i == 0 for a in p],
                         (np.arange(200) * 16)[::-2].tolist())
        self.assertEqual([a for i, p in parts if i == 1 for a in p], [5, 5])

    def test_blocks_of_ones_own(self):
        insns = np.zeros(2, pugmark.INSN)
        insns["pc"], insns["len"], insns["object"] = [0x1000, 0x1001], [1, 2], [0, 0]
        insns["bytes"][0, 0], insns["bytes"][1, :2] = 0x90, [0xeb, 0xfd]
        insns["flow"][1] = pugmark.Flow.JUMP
        code = pugmark.Code(insns, np.array([(0x1000, 0, 2)], pugmark.BLOCK),
                            [pugmark.Object("/bin/loop", None, 0, 0x1000, 0x1003)])
        facts = Fact.INSNS | Fact.BYTES | Fact.BLOCKS | Fact.BRANCHES
        with pugmark.create(self.dir / "loop.pug", facts=facts, notes={"isa": "x86-64"}) as w:
            w.write(pugmark.events(3, kind=Kind.BLOCK, id=0, addr=0x1000, value=2), code=code)
        trace = pugmark.open(self.dir / "loop.pug")
        self.assertEqual(trace.notes["isa"], "x86-64")
        self.assertEqual(trace.events(Kind.INSN)["addr"].tolist(), [0x1000, 0x1001] * 3)
        batch = next(iter(trace))
        self.assertEqual(batch.code.bytes(1), b"\xeb\xfd")
        self.assertEqual(batch.code.object_of(0x1002).path, "/bin/loop")
        self.assertIsNone(batch.code.object_of(0x1003))
        self.assertEqual(trace.simulate("count")["count"]["instructions"], 6)

    def test_pipes(self):
        fifo = self.dir / "fifo"
        os.mkfifo(fifo)
        feeder = subprocess.Popen(f"cat {BLOCKS} >{fifo}", shell=True)
        trace = pugmark.open(fifo)
        part = trace.slice(0, 10)
        self.assertIs(part, trace)
        self.assertEqual(len(part.events(Kind.INSN)), 10)
        self.error("a pipe can be read once", part.batches)
        trace.close()
        feeder.wait()


if __name__ == "__main__":
    unittest.main()
