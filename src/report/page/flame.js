// The flame graph: callers above, width is instructions in a function and all it called on this path.
const flame = { at: 0 };
function ready_flame() {
	const d = data("#contexts"), box = one("#flamebox");
	if (!d || !box)
		return;
	const nodes = d.contexts.map(([parent, name, self, all_of, calls], i) => ({ i, parent, name: d.names[name], self, all: all_of, calls, children: [], depth: 0 }));
	nodes.forEach((n, i) => {
		if (i) {
			nodes[n.parent].children.push(n);
			n.depth = nodes[n.parent].depth + 1;
		}
	});
	nodes.forEach((n) => n.children.sort((a, b) => b.all - a.all));
	const graph = make("div", { class: "flame", role: "group", "aria-label": "Flame graph" });
	const readout = make("p", { class: "readout", "aria-live": "polite" });
	const find = make("input", { type: "search", placeholder: "Highlight", "aria-label": "Highlight functions", autocomplete: "off" });
	const reset = make("button", { type: "button" }, "Whole graph (Esc)");
	box.replaceChildren(make("div", { class: "flamebar" }, find, reset, readout), graph);
	function describe(n) {
		readout.textContent = `${n.name}: ${share(100 * n.all / nodes[0].all)} of all instructions (${thousands(n.all)}), ${share(100 * n.self / nodes[0].all)} in itself` +
			(n.calls ? `, ${thousands(n.calls)} call${n.calls === 1 ? "" : "s"}` : "");
	}
	function render(focus) {
		const top = nodes[flame.at], list = [], width = graph.clientWidth || 800;
		const boxes = [];
		for (let n = top; ; n = nodes[n.parent]) {
			boxes.push([n, 0, 1, n !== top]);
			if (!n.i)
				break;
		}
		const below = (n, from) => {
			for (const child of n.children) {
				const size = child.all / top.all;
				if (size * width >= 1.5) {
					boxes.push([child, from, size, false]);
					below(child, from);
				}
				from += size;
			}
		};
		below(top, 0);
		let deepest = 0;
		for (const [n, from, size, above] of boxes) {
			const b = make("button", { type: "button", tabindex: n === top ? "0" : "-1", class: above ? "above" : "" }, size * width > 24 ? n.name : "");
			b.node = n;
			b.setAttribute("aria-label", `${n.name}, ${share(100 * n.all / nodes[0].all)}`);
			b.style.left = 100 * from + "%";
			b.style.width = 100 * size + "%";
			b.style.top = n.depth * 22 + "px";
			b.style.setProperty("--self", n.all ? (n.self / n.all).toFixed(2) : 0);
			deepest = Math.max(deepest, n.depth);
			list.push(b);
		}
		graph.style.height = (deepest + 1) * 22 + "px";
		graph.replaceChildren(...list);
		highlight();
		describe(top);
		reset.disabled = !flame.at;
		if (focus)
			list.find((b) => b.node === top)?.focus();
	}
	function highlight() {
		const want = find.value.toLowerCase();
		let sum = 0;
		for (const b of graph.children)
			b.classList.toggle("found", want !== "" && b.node.name.toLowerCase().includes(want));
		if (want) {
			const count = (n) => n.name.toLowerCase().includes(want) ? n.all : n.children.reduce((s, c) => s + count(c), 0);
			sum = count(nodes[0]);
			readout.textContent = `${find.value}: on ${share(100 * sum / nodes[0].all)} of all instructions`;
		}
	}
	const zoom = (n) => {
		flame.at = n.i;
		render(true);
	};
	find.oninput = highlight;
	reset.onclick = () => zoom(nodes[0]);
	graph.addEventListener("click", (e) => e.target.node && zoom(e.target.node));
	graph.addEventListener("pointerover", (e) => e.target.node && describe(e.target.node));
	graph.addEventListener("focusin", (e) => e.target.node && describe(e.target.node));
	graph.addEventListener("keydown", (e) => {
		const n = e.target.node;
		if (!n)
			return;
		const beside = nodes[n.parent].children, at = beside.indexOf(n);
		const to = { ArrowUp: n.i ? nodes[n.parent] : n, ArrowDown: n.children[0], ArrowLeft: beside[at - 1], ArrowRight: beside[at + 1] }[e.key];
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
