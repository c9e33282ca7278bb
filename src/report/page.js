"use strict";
/* tables: headings sort, an input filters */
for (const table of document.querySelectorAll("table")) {
	const body = table.tBodies[0];
	table.querySelectorAll("th button").forEach((button, column) => button.onclick = () => {
		const th = button.parentElement, number = th.classList.contains("n");
		const down = th.getAttribute("aria-sort") ? th.getAttribute("aria-sort") === "ascending" : number;
		const key = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
		for (const other of table.querySelectorAll("th"))
			other.removeAttribute("aria-sort");
		th.setAttribute("aria-sort", down ? "descending" : "ascending");
		const rows = [...body.rows].sort((a, b) => number ? Number(key(a)) - Number(key(b)) :
			key(a).localeCompare(key(b)));
		body.append(...(down ? rows.reverse() : rows));
	});
}
for (const input of document.querySelectorAll("input[data-filters]"))
	input.oninput = () => {
		const want = input.value.toLowerCase();
		for (const row of document.getElementById(input.dataset.filters).tBodies[0].rows)
			row.hidden = !row.textContent.toLowerCase().includes(want);
	};
/* what does not fit is said where the pointer is; headings tell what their events are */
for (const table of document.querySelectorAll("table"))
	table.onpointerover = (e) => {
		const td = e.target.closest("td");
		if (td && td.scrollWidth > td.clientWidth)
			td.title = td.textContent;
	};
for (const dt of document.querySelectorAll("dl.events dt"))
	for (const button of document.querySelectorAll("th button"))
		if (button.textContent === dt.textContent)
			button.title = dt.nextElementSibling.textContent;
/* long code opens where it is hot */
function to_heat(pre) {
	let hot = null, most = 0;
	for (const span of pre.querySelectorAll(".heat")) {
		const w = parseFloat(span.style.getPropertyValue("--w"));
		if (w > most) {
			most = w;
			hot = span;
		}
	}
	if (hot)
		pre.scrollTop = hot.offsetTop - pre.offsetTop - pre.clientHeight / 3;
}
for (const pre of document.querySelectorAll("details pre.code")) {
	const details = pre.closest("details");
	if (details.open)
		to_heat(pre);
	details.addEventListener("toggle", () => details.open && to_heat(pre), { once: true });
}
/* one link for each group of sections */
{
	const nav = document.createElement("nav"), groups = new Set();
	nav.ariaLabel = "Sections";
	for (const h2 of document.querySelectorAll("h2")) {
		const group = h2.firstChild.textContent.split(":")[0].trim();
		if (groups.has(group) || h2.closest("details"))
			continue;
		groups.add(group);
		const a = nav.appendChild(document.createElement("a"));
		a.href = "#" + h2.id;
		a.textContent = group;
	}
	if (groups.size > 3)
		document.querySelector("main").before(nav);
}
/* charts */
function bars(d, color, axis) {
	return {
		type: "bar",
		data: { labels: d.labels, datasets: [{ data: d.values, label: d.unit, backgroundColor: color("--mark") }] },
		options: {
			indexAxis: "y", interaction: { intersect: false, mode: "nearest", axis: "y" },
			scales: { x: axis(d.unit), y: { ticks: { autoSkip: false, callback(v) {
				const s = this.getLabelForValue(v);
				const most = innerWidth < 600 ? 18 : 28;
				return s.length > most ? s.slice(0, most - 1) + "\u2026" : s; } } } },
		},
	};
}
function line(d, color, axis) {
	return {
		type: "line",
		data: { datasets: [{ data: d.points.map(([x, y]) => ({ x, y })), label: d.y, borderColor: color("--mark"),
			backgroundColor: color("--bar"), fill: true, pointRadius: 0, borderWidth: 2, stepped: d.step }] },
		options: {
			interaction: { intersect: false, mode: "nearest", axis: "x" },
			scales: { x: { type: d.log ? "logarithmic" : "linear", ...axis(d.x) },
				y: { beginAtZero: true, ...axis(d.y) } },
		},
	};
}
/* Stacked bars of height 1: a row is a data set, a column a label. */
function heat(d, color, axis) {
	const most = Math.log1p(Math.max(...d.values.flat(), 1));
	const [r, g, b] = color("--mark").match(/[0-9a-f]{2}/gi).map((x) => parseInt(x, 16));
	const paint = (v) => v ? `rgba(${r},${g},${b},${0.12 + 0.88 * Math.log1p(v) / most})` : "transparent";
	return {
		type: "bar",
		data: { labels: d.values[0].map((_, i) => i), datasets: d.values.map((row, i) => ({
			label: d.rows[i], data: row.map(() => 1), backgroundColor: row.map(paint),
			barPercentage: 1, categoryPercentage: 1, borderWidth: 0 })) },
		options: {
			interaction: { intersect: true, mode: "nearest" },
			plugins: { tooltip: { callbacks: { label: (c) =>
				`${d.rows[c.datasetIndex]}: ${d.values[c.datasetIndex][c.dataIndex].toLocaleString("en")} ${d.unit}` } } },
			scales: { x: { stacked: true, grid: { display: false }, ...axis(d.x) },
				y: { stacked: true, max: d.rows.length, grid: { display: false },
					ticks: { autoSkip: true, font: { family: "monospace" }, callback: (v) => d.rows[Math.floor(v)] ?? "" },
					afterBuildTicks: (scale) => { scale.ticks = d.rows.map((_, i) => ({ value: i + 0.5 })); },
				} },
		},
	};
}
function charts() {
	if (typeof Chart === "undefined")
		return;
	const css = getComputedStyle(document.documentElement), color = (name) => css.getPropertyValue(name).trim();
	const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
	Chart.defaults.color = color("--dim");
	Chart.defaults.borderColor = color("--line");
	const axis = (text) => ({ title: { display: true, text } });
	for (const data of document.querySelectorAll("script.chart-data")) {
		const d = JSON.parse(data.textContent), canvas = data.parentElement.querySelector("canvas");
		const chart = { bars, line, heat }[d.kind](d, color, axis);
		Chart.getChart(canvas)?.destroy();
		new Chart(canvas, { ...chart, options: { ...chart.options, animation: still ? false : undefined,
			maintainAspectRatio: false, plugins: { legend: { display: false }, ...chart.options.plugins } } });
	}
}
charts();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts);
