/* SPDX-License-Identifier: MIT */
/* Simulator.java - a starting point for homework on Penn micro-op traces, in Java
 *
 *   javac Simulator.java && zcat prog.trace.gz | java Simulator
 *   java Simulator.java prog.trace
 *
 * Reads a trace from the file that is named, or from standard input, calls simulate() for each
 * micro-op, and prints how many there were. */
import java.io.BufferedReader;
import java.io.FileReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.StringTokenizer;

public class Simulator {
	static final class Uop {
		int index;			// 1 starts a macro-op
		long pc;
		int src1, src2, dest;		// -1: none
		char flags, branch, ldst;	// R W -   T N -   L S -
		long imm;
		long mem, fall, target;
		String macro, micro;
	}

	private long uops, macros;

	void simulate(Uop u) {
		uops++;
		if (u.index == 1)
			macros++;
	}

	void report() {
		System.out.println("Processed " + uops + " trace records.");
		System.out.println("Micro-ops: " + uops);
		System.out.println("Macro-ops: " + macros);
	}

	static void parse(String line, Uop u) {
		StringTokenizer t = new StringTokenizer(line);

		u.index = Integer.parseInt(t.nextToken());
		u.pc = Long.parseUnsignedLong(t.nextToken(), 16);
		u.src1 = Integer.parseInt(t.nextToken());
		u.src2 = Integer.parseInt(t.nextToken());
		u.dest = Integer.parseInt(t.nextToken());
		u.flags = t.nextToken().charAt(0);
		u.branch = t.nextToken().charAt(0);
		u.ldst = t.nextToken().charAt(0);
		u.imm = Long.parseLong(t.nextToken());
		u.mem = Long.parseUnsignedLong(t.nextToken(), 16);
		u.fall = Long.parseUnsignedLong(t.nextToken(), 16);
		u.target = Long.parseUnsignedLong(t.nextToken(), 16);
		u.macro = t.nextToken();
		u.micro = t.nextToken();
	}

	public static void main(String[] args) throws IOException {
		Simulator s = new Simulator();
		Uop u = new Uop();

		System.out.println("Processing trace...");
		try (BufferedReader in = new BufferedReader(args.length > 0 ? new FileReader(args[0])
							    : new InputStreamReader(System.in))) {
			for (String line = in.readLine(); line != null; line = in.readLine()) {
				try {
					parse(line, u);
				} catch (RuntimeException e) {
					System.err.println("Error parsing trace at line " + (s.uops + 1));
					System.exit(1);
				}
				s.simulate(u);
			}
		}
		s.report();
	}
}
