// The flame graph: callers above, width is what was counted in a function and all it called on this path.
const flame = { at: 0 };
function ready_flame() {
	const d = data("#contexts"), box = one("#flamebox");
	if (!d || !box)
		return;
	const nodes = d.contexts.map(([parent, name, calls, ...v], i) => ({ i, parent, name: d.names[name], calls, v, children: [], depth: 0 }));
	nodes.forEach((n, i) => {
		if (i) {
			nodes[n.parent].children.push(n);
			n.depth = nodes[n.parent].depth + 1;
		}
	});
	// of a difference event 0 is A and 1 is B
	let event = d.event;
	const own = (n, k = event) => n.v[2 * k], all = (n, k = event) => n.v[2 * k + 1];
	const part = (n, k = event) => 100 * all(n, k) / (all(nodes[0], k) || 1);
	const events = d.events.map((e) => e.name), largest = d.diff && Math.max(1, ...nodes.map((n) => Math.abs(all(n, 1) - all(n, 0))));
	const counted = () => d.diff ? `all of ${events[event]}` : events[event] === "instructions" ? "all instructions" : `all ${events[event]}`;
	const graph = make("div", { class: d.diff ? "flame difference" : "flame", role: "group", "aria-label": "Flame graph" });
	const readout = make("p", { class: "readout", "aria-live": "polite" });
	const find = make("input", { type: "search", placeholder: "Highlight", "aria-label": "Highlight functions", autocomplete: "off" });
	const reset = make("button", { type: "button" }, "Whole graph (Esc)");
	const which = make("select", { "aria-label": d.diff ? "Whose widths" : "Event" });
	d.events.forEach(({ name, about }, k) => (k === event || nodes[0].v[2 * k + 1]) &&
		which.append(make("option", { value: k, selected: k === event }, d.diff ? `as wide as in ${name}` : about ? `${name}: ${about}` : name)));
	which.hidden = which.options.length < 2;
	box.replaceChildren(make("div", { class: "flamebar" }, which, find, reset, readout), graph);
	function change(n) {
		const [a, b] = [all(n, 0), all(n, 1)];
		return `${thousands(a)} in A, ${thousands(b)} in B: ${b === a ? "the same" : (b > a ? "+" : "\u2212") + thousands(Math.abs(b - a)) + (a ? ` (${share(100 * Math.abs(b - a) / a)})` : "")}`;
	}
	function describe(n) {
		readout.textContent = d.diff ? `${n.name}: ${change(n)}` :
			`${n.name}: ${share(part(n))} of ${counted()} (${thousands(all(n))}), ${share(100 * own(n) / (all(nodes[0]) || 1))} in itself` +
			(n.calls ? `, ${thousands(n.calls)} call${n.calls === 1 ? "" : "s"}` : "");
	}
	function shade(b, n) {
		const by = d.diff ? (all(n, 1) - all(n, 0)) / largest : 0;
		if (d.diff) {
			b.classList.add(by > 0 ? "more" : by < 0 ? "less" : "same");
			b.style.setProperty("--change", Math.sqrt(Math.abs(by)).toFixed(2));
		} else {
			b.style.setProperty("--self", all(n) ? (own(n) / all(n)).toFixed(2) : 0);
		}
	}
	function render(focus) {
		const top = nodes[flame.at], list = [], width = graph.clientWidth || 800;
		const boxes = [];
		for (let n = top; ; n = nodes[n.parent]) {
			boxes.push([n, 0, 1, n !== top]);
			if (!n.i)
				break;
		}
		const todo = [[top, 0]];
		while (todo.length) {
			let [n, from] = todo.pop();
			for (const child of n.children.toSorted((a, b) => all(b) - all(a))) {
				const size = all(child) / (all(top) || 1);
				if (size * width >= 1.5) {
					boxes.push([child, from, size, false]);
					todo.push([child, from]);
				}
				from += size;
			}
		}
		let deepest = 0;
		for (const [n, from, size, above] of boxes) {
			const b = make("button", { type: "button", tabindex: n === top ? "0" : "-1", class: above ? "above" : "" }, size * width > 24 ? n.name : "");
			b.node = n;
			b.setAttribute("aria-label", d.diff ? `${n.name}, ${change(n)}` : `${n.name}, ${share(part(n))}`);
			b.style.left = 100 * from + "%";
			b.style.width = 100 * size + "%";
			b.style.top = n.depth * 22 + "px";
			shade(b, n);
			deepest = Math.max(deepest, n.depth);
			list.push(b);
		}
		graph.style.height = (deepest + 1) * 22 + "px";
		graph.replaceChildren(...list);
		describe(top);
		highlight();
		reset.disabled = !flame.at;
		if (focus)
			list.find((b) => b.node === top)?.focus();
	}
	// what is below a function that was found counts once
	function total(want, k) {
		const todo = [nodes[0]];
		let sum = 0;
		while (todo.length) {
			const n = todo.pop();
			if (n.name.toLowerCase().includes(want))
				sum += all(n, k);
			else
				todo.push(...n.children);
		}
		return sum;
	}
	function highlight() {
		const want = find.value.toLowerCase();
		for (const b of graph.children)
			b.classList.toggle("found", want !== "" && b.node.name.toLowerCase().includes(want));
		if (want)
			readout.textContent = d.diff ? `${find.value}: ${thousands(total(want, 0))} in A, ${thousands(total(want, 1))} in B` :
				`${find.value}: on ${share(100 * total(want) / (all(nodes[0]) || 1))} of ${counted()} (${thousands(total(want))})`;
	}
	const zoom = (n) => {
		flame.at = n.i;
		render(true);
	};
	find.oninput = highlight;
	reset.onclick = () => zoom(nodes[0]);
	which.onchange = () => {
		event = Number(which.value);
		if (!all(nodes[flame.at]))
			flame.at = 0;
		render(false);
	};
	graph.addEventListener("click", (e) => e.target.node && zoom(e.target.node));
	graph.addEventListener("pointerover", (e) => e.target.node && describe(e.target.node));
	graph.addEventListener("focusin", (e) => e.target.node && describe(e.target.node));
	graph.addEventListener("keydown", (e) => {
		const n = e.target.node;
		if (!n)
			return;
		const beside = nodes[n.parent].children.toSorted((a, b) => all(b) - all(a)), at = beside.indexOf(n);
		const first = n.children.toSorted((a, b) => all(b) - all(a))[0];
		const to = { ArrowUp: n.i ? nodes[n.parent] : n, ArrowDown: first, ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1] }[e.key];
		if (e.key.startsWith("Arrow")) {
			[...graph.children].find((b) => b.node === to)?.focus();
			e.preventDefault();
		} else if (e.key === "Escape" && flame.at) {
			zoom(nodes[0]);
			e.stopPropagation();
		}
	});
	openers.flame = () => render(false);
	flame.reset = () => flame.at ? (zoom(nodes[0]), true) : false;
	addEventListener("resize", () => !one("#flame").hidden && render(false));
}
