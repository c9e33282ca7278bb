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
/* charts */
function charts() {
	if (typeof Chart === "undefined")
		return;
	const css = getComputedStyle(document.documentElement), color = (name) => css.getPropertyValue(name).trim();
	const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
	Chart.defaults.color = color("--dim");
	Chart.defaults.borderColor = color("--line");
	for (const data of document.querySelectorAll("script.chart-data")) {
		const d = JSON.parse(data.textContent), canvas = data.parentElement.querySelector("canvas");
		Chart.getChart(canvas)?.destroy();
		const bars = d.kind === "bars";
		const axis = (text) => ({ title: { display: true, text } });
		new Chart(canvas, {
			type: bars ? "bar" : "line",
			data: bars ? { labels: d.labels, datasets: [{ data: d.values, label: d.unit,
					backgroundColor: color("--mark") }] } :
				{ datasets: [{ data: d.points.map(([x, y]) => ({ x, y })), label: d.y,
					borderColor: color("--mark"), backgroundColor: color("--bar"),
					fill: true, pointRadius: 0, borderWidth: 2 }] },
			options: {
				animation: still ? false : undefined, indexAxis: bars ? "y" : "x",
				maintainAspectRatio: false, plugins: { legend: { display: false } },
				interaction: { intersect: false, mode: "nearest", axis: bars ? "y" : "x" },
				scales: bars ? { x: axis(d.unit), y: { ticks: { autoSkip: false, callback(v) {
						const s = this.getLabelForValue(v);
						return s.length > 28 ? s.slice(0, 27) + "\u2026" : s; } } } } :
					{ x: { type: d.log ? "logarithmic" : "linear", ...axis(d.x) },
					  y: { beginAtZero: true, ...axis(d.y) } },
			},
		});
	}
}
charts();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts);
