// Charts as SVG. Colours come from the style, so they follow light and dark by themselves.
const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, ...children) {
	const e = document.createElementNS(SVG, tag);
	for (const [name, value] of Object.entries(attributes))
		e.setAttribute(name, value);
	e.append(...children);
	return e;
}
/** 1234567 as "1.23M": for axes. */
function short(v) {
	const a = Math.abs(v);
	for (const [size, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
		if (a >= size)
			return Number((v / size).toPrecision(3)) + letter;
	return String(Number(v.toPrecision(3)));
}
/** Round numbers that cut 0..most into about @n parts. */
function ticks(least, most, n) {
	const raw = (most - least) / n || 1, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
	const list = [];
	for (let v = Math.ceil(least / step) * step; v <= most + step / 1e6; v += step)
		list.push(Math.abs(v) < step / 1e6 ? 0 : v);
	return list;
}
function log_ticks(least, most) {
	const list = [];
	for (let p = Math.floor(Math.log10(least)); p <= Math.ceil(Math.log10(most)); p++)
		if (10 ** p >= least && 10 ** p <= most)
			list.push(10 ** p);
	const every = Math.ceil(list.length / 8);
	return list.filter((_, i) => i % every === 0);
}
const frame_of = (figure, height) => {
	const width = Math.max(300, Math.min(1000, figure.clientWidth || 640));
	return { width, height, left: 56, right: width - 12, top: 8, bottom: height - 40 };
};
function axes(svg, f, { x, y, sx, sy, tx, ty, unit = "" }) {
	for (const v of ty)
		svg.append(draw("line", { class: "grid", x1: f.left, x2: f.right, y1: sy(v), y2: sy(v) }),
			draw("text", { x: f.left - 8, y: sy(v) + 4, "text-anchor": "end" }, short(v) + unit));
	for (const v of tx)
		svg.append(draw("line", { class: "grid", x1: sx(v), x2: sx(v), y1: f.top, y2: f.bottom }),
			draw("text", { x: sx(v), y: f.bottom + 17, "text-anchor": "middle" }, short(v)));
	svg.append(draw("text", { x: (f.left + f.right) / 2, y: f.height - 5, "text-anchor": "middle" }, x));
	if (y)
		svg.append(draw("text", { x: f.left, y: f.top - 1, "text-anchor": "start", "font-weight": "600" }, ""));
}
function line_chart(figure, d, log) {
	const f = frame_of(figure, 300), unit = d.percent ? " %" : "";
	const points = log ? d.points.filter(([x]) => x > 0) : d.points;
	const xs = points.map(([x]) => x), least = log ? xs[0] : Math.min(0, xs[0]), most = xs[xs.length - 1];
	const high = Math.max(...points.map(([, y]) => y), 0), low = Math.min(...points.map(([, y]) => y), 0);
	const to = log ? Math.log : (v) => v;
	const sx = (x) => f.left + (to(x) - to(least)) / (to(most) - to(least) || 1) * (f.right - f.left);
	const ty = ticks(low, high, 5), top = Math.max(high, ty[ty.length - 1] ?? high);
	const sy = (y) => f.bottom - (y - low) / (top - low || 1) * (f.bottom - f.top);
	const svg = draw("svg", { viewBox: `0 0 ${f.width} ${f.height}`, role: "img", "aria-label": `${d.y} against ${d.x}; the table has the numbers` });
	axes(svg, f, { x: d.x, y: d.y, sx, sy, tx: log ? log_ticks(least, most) : ticks(least, most, Math.max(3, f.width / 110)), ty, unit });
	let path = "", last = 0;
	points.forEach(([x, y], i) => {
		path += i && d.step ? `H${sx(x).toFixed(1)}V${sy(y).toFixed(1)}` : `${i ? "L" : "M"}${sx(x).toFixed(1)},${sy(y).toFixed(1)}`;
		last = sx(x);
	});
	const cursor = draw("line", { class: "cursor", y1: f.top, y2: f.bottom, visibility: "hidden" });
	svg.append(draw("path", { class: "area", d: `${path}L${last},${sy(low)}L${sx(points[0][0])},${sy(low)}Z` }), draw("path", { class: "curve", d: path }), cursor);
	const readout = make("p", { class: "readout" }, `${d.y}, highest ${number_text(high, d.percent)}`);
	svg.onpointermove = (e) => {
		const at = (e.clientX - svg.getBoundingClientRect().left) * f.width / svg.getBoundingClientRect().width;
		const near = points.reduce((a, b) => Math.abs(sx(b[0]) - at) < Math.abs(sx(a[0]) - at) ? b : a);
		cursor.setAttribute("x1", sx(near[0]));
		cursor.setAttribute("x2", sx(near[0]));
		cursor.setAttribute("visibility", "visible");
		readout.textContent = `${d.x} ${number_text(near[0])}: ${d.y} ${number_text(near[1], d.percent)}`;
	};
	return [svg, readout];
}
const number_text = (v, percent) => percent ? share(v) : Number.isInteger(v) ? thousands(v) : String(Number(v.toPrecision(4)));
/* A rectangle of colours, the stronger the more, by logarithm. */
function heat_chart(figure, d) {
	const high = 14, f = { ...frame_of(figure, d.rows.length * high + 50), left: 130 };
	const columns = d.values[0].length, w = (f.right - f.left) / columns, most = Math.log1p(Math.max(1, ...d.values.map((row) => Math.max(...row))));
	const svg = draw("svg", { viewBox: `0 0 ${f.width} ${f.height}`, role: "img", "aria-label": "References by address and time; the table has the sums" });
	d.values.forEach((row, r) => {
		const y = f.top + (d.rows.length - 1 - r) * high;
		if (r % Math.ceil(d.rows.length / 24) === 0)
			svg.append(draw("text", { x: f.left - 6, y: y + 11, "text-anchor": "end", "font-family": "monospace" }, d.rows[r]));
		row.forEach((v, c) => {
			if (v)
				svg.append(draw("rect", { class: "heatcell", x: (f.left + c * w).toFixed(1), y, width: (w + 0.3).toFixed(1), height: high - 1,
					opacity: (0.12 + 0.88 * Math.log1p(v) / most).toFixed(2) },
				draw("title", {}, `${d.rows[r]}: ${thousands(v)} ${d.unit}`)));
		});
	});
	svg.append(draw("text", { x: (f.left + f.right) / 2, y: f.height - 12, "text-anchor": "middle" }, `time: ${columns} ${d.x}`));
	return [svg];
}
/* Which kind each part of the time was: one lane for each kind, so that colour is not all there is. */
function strip_chart(figure, d) {
	const kinds = [...new Set(d.parts.map(([, kind]) => kind))].sort((a, b) => a - b), high = 20;
	const f = { ...frame_of(figure, kinds.length * high + 50), left: 90 };
	const sx = (x) => f.left + x / d.end * (f.right - f.left);
	const svg = draw("svg", { viewBox: `0 0 ${f.width} ${f.height}`, role: "img", "aria-label": "Phases over time; the table has the numbers" });
	kinds.forEach((kind, i) => svg.append(draw("text", { x: f.left - 8, y: f.top + i * high + 14, "text-anchor": "end" }, `cluster ${kind}`),
		draw("line", { class: "grid", x1: f.left, x2: f.right, y1: f.top + (i + 1) * high, y2: f.top + (i + 1) * high })));
	d.parts.forEach(([from, kind], i) => {
		const end = i + 1 < d.parts.length ? d.parts[i + 1][0] : d.end;
		svg.append(draw("rect", { class: "heatcell", x: sx(from).toFixed(1), width: Math.max(1, sx(end) - sx(from)).toFixed(1),
			y: f.top + kinds.indexOf(kind) * high + 2, height: high - 4, opacity: .8 }, draw("title", {}, `${d.x} ${from} to ${end - 1}: cluster ${kind}`)));
	});
	for (const v of ticks(0, d.end, 8))
		svg.append(draw("text", { x: sx(v), y: f.bottom + 17, "text-anchor": "middle" }, short(v)));
	svg.append(draw("text", { x: (f.left + f.right) / 2, y: f.height - 5, "text-anchor": "middle" }, d.x));
	return [svg];
}
function draw_chart(figure) {
	const d = figure.chart;
	const parts = d.kind === "line" ? line_chart(figure, d, d.log) : d.kind === "heat" ? heat_chart(figure, d) : strip_chart(figure, d);
	for (const old of all("svg, .readout", figure))
		old.remove();
	figure.append(...parts);
}
function ready_charts(view) {
	for (const script of all(".chart-data", view)) {
		const figure = script.parentElement;
		if (figure.closest("details:not([open])"))
			continue;
		if (!figure.chart) {
			figure.chart = JSON.parse(script.textContent);
			if (figure.chart.kind === "line") {
				const button = make("button", { type: "button" });
				const say = () => { button.textContent = figure.chart.log ? "Linear axis" : "Logarithmic axis"; };
				button.onclick = () => {
					figure.chart.log = !figure.chart.log;
					say();
					draw_chart(figure);
				};
				say();
				one("figcaption", figure).append(button);
			}
		}
		if (figure.drawn !== figure.clientWidth) {
			figure.drawn = figure.clientWidth;
			draw_chart(figure);
		}
	}
}
addEventListener("resize", () => ready_charts(one(".view:not([hidden])")));
document.addEventListener("toggle", (e) => e.target.open && ready_charts(e.target), true);
