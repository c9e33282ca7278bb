// SPDX-License-Identifier: MIT
// drive.mjs TOP BROWSER DIR - uses the pages in DIR as somebody would, and says what happened (TAP)
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";

const [top, browser_path, dir] = process.argv.slice(2);
const require = createRequire(top + "/.cache/browser/");
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
let n = 0;

function result(ok, what, why = "") {
	console.log(`${ok ? "ok" : "not ok"} ${++n} - ${what}`);
	if (!ok)
		console.log("# " + String(why).replace(/\n/g, "\n# "));
}
let browser;
const launch = async () => { browser = await chromium.launch({ executablePath: browser_path, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] }); };
await launch();

/** A page with an ear for what must not be: errors, words on the console, requests. */
async function open(name, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
	const page = await context.newPage();
	page.said = [];
	page.setDefaultTimeout(60000);
	page.on("pageerror", (e) => page.said.push("error: " + e.message));
	page.on("console", (m) => page.said.push("console: " + m.text()));
	page.on("request", (r) => r.url().startsWith(`file://${dir}/${name}`) || page.said.push("request: " + r.url()));
	await page.goto(`file://${dir}/${name}`);
	return page;
}
async function once(name, body, options) {
	const page = await open(name, options);
	try {
		const wrong = await body(page);
		await page.waitForTimeout(20);
		if (process.env.KEEP)
			await page.screenshot({ path: `${dir}/${String(n + 1).padStart(2, "0")}.png` });
		return [wrong, ...page.said].filter(Boolean).join("\n");
	} finally {
		await page.context().close().catch(() => {});
	}
}
/* A browser that the system killed says nothing about the page: another try. A page that kills two does. */
async function test(what, name, body, options) {
	for (let more = 1; ; more--) {
		try {
			const wrong = await once(name, body, options);
			return result(!wrong, what, wrong);
		} catch (e) {
			if (browser.isConnected() || !more)
				return result(false, what, e.stack);
			await launch();
		}
	}
}
const shown = (page) => page.$eval(".view:not([hidden])", (e) => e.id);
/* A link's view is shown behind an event, which comes when the browser likes. */
const leads_to = (page, id) => page.waitForFunction((to) => document.querySelector(".view:not([hidden])").id === to, id, { timeout: 10000 });
const column = (page, view, k) => page.$$eval(`#${view} tbody tr:not([hidden])`, (rows, i) => rows.map((r) => r.cells[i].textContent), k);
const number = (s) => Number(s.replace(/,/g, ""));
const is_sorted = (v, sign) => v.every((x, i) => !i || sign * (v[i - 1] - x) <= 0);
const ids = (page) => page.$$eval(".view", (v) => v.map((e) => e.id));

await test("the first screen says what ran, where it went, what is odd and what to try", "usual.html", async (page) => {
	const text = await page.innerText("#overview");
	for (const want of ["./where", "started", "instructions", "threads", "Where it went", "scattered", "What is odd", "What to try next", "pugmark run"])
		if (!text.includes(want))
			return `no '${want}' in: ${text}`;
	const found = await page.$$eval("[data-finding]", (f) => f.map((e) => e.dataset.finding));
	for (const want of ["misses-in-one-line", "many-targets"])
		if (!found.includes(want))
			return `finding ${want} is missing: ${found}`;
	return "";
});
await test("a heading sorts, and says so", "usual.html", async (page) => {
	await page.click("nav a[href='#functions']");
	const k = await page.$$eval("#functions thead th", (h) => h.findIndex((e) => e.textContent === "D1mr"));
	await page.click("#functions thead th >> text=D1mr");
	const down = (await column(page, "functions", k)).map(number);
	await page.click("#functions thead th >> text=D1mr");
	const up = (await column(page, "functions", k)).map(number);
	const said = await page.innerText("#functions .tools p");
	return is_sorted(down, -1) && is_sorted(up, 1) && down[0] > 1000 && said.startsWith("Sorted by D1mr, least first") ? "" : `${down}; ${up}; ${said}`;
});
await test("the filter leaves what it names", "usual.html", async (page) => {
	await page.click("nav a[href='#functions']");
	const before = (await column(page, "functions", 0)).length;
	await page.fill("#functions .tools input", "SCATT");
	const after = await column(page, "functions", 0), said = await page.innerText("#functions .tools p");
	await page.press("#functions .tools input", "Escape");
	const again = (await column(page, "functions", 0)).length;
	return after.length === 1 && after[0] === "scattered" && said.includes(`1 of ${before}`) && again === before ? "" : `${after}; ${said}; ${again}`;
});
await test("the search finds a function, and Enter opens it", "usual.html", async (page) => {
	await page.keyboard.press("/");
	await page.keyboard.type("scatter");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowUp");
	await page.keyboard.press("Enter");
	await leads_to(page, "code");
	const name = await page.$eval("#which", (s) => s.selectedOptions[0].textContent);
	return name === "scattered" ? "" : name;
});
await test("what has no code to show is found in its table; nothing found is said", "usual.html", async (page) => {
	await page.fill("#search", "libc.so");
	await page.click("#hits li:has-text('libc.so')");
	await page.waitForFunction(() => document.activeElement.textContent.includes("libc.so"));
	await page.fill("#search", "no such thing");
	const said = await page.innerText("#hits");
	return await shown(page) === "objects" && said.includes("Nothing") ? "" : said;
});
await test("a function's link opens source and instructions side by side; a click marks both", "usual.html", async (page) => {
	await page.click("nav a[href='#functions']");
	await page.click("#functions tbody a >> text=scattered");
	await page.waitForSelector(".pane");
	const panes = await page.$$(".pane"), source = await panes[0].innerText();
	if (panes.length !== 2 || !source.includes("sum += table[x >> 12];"))
		return source;
	await page.click(".pane:nth-child(1) tr[data-key]:has-text('sum += table')");
	const marks = await page.$$eval(".pane", (p) => p.map((e) => e.querySelectorAll("tr.mark").length));
	const indented = await page.$eval(".pane tr.mark .text", (e) => e.textContent.startsWith("                sum"));
	const heat = await page.$$eval(".pane .heat", (h) => h.filter((e) => Number(e.style.getPropertyValue("--heat")) > 0.9).length);
	return marks[0] === 1 && marks[1] > 0 && indented && heat > 1 ? "" : `${marks} ${indented} ${heat}`;
});
await test("another event heats other code, and ranks other lines", "usual.html", async (page) => {
	await page.goto(page.url() + "#code");
	await page.selectOption("#event", { label: "D1mr: data reads that missed D1" });
	const most = await page.$$eval(".pane:first-child tr[data-key]", (rows) => rows.filter((r) => Number(r.querySelector(".heat").style.getPropertyValue("--heat")) === 1).map((r) => r.textContent));
	await page.click("nav a[href='#overview']");
	await page.selectOption("#rank", await page.$$eval("#rank option", (o) => o.find((e) => e.textContent.startsWith("Bim")).value));
	const first = await page.innerText("[data-top=functions] li:first-child");
	return most.length === 1 && first.includes("dispatch") ? "" : `${most}; ${first}`;
});
await test("every finding's link leads to its place", "usual.html", async (page) => {
	for (const d of await page.$$("#overview details"))
		await d.evaluate((e) => { e.open = true; });
	const links = await page.$$eval(".findings a", (a) => a.map((e) => e.getAttribute("href")));
	for (const link of links) {
		await page.click("nav a[href='#overview']");
		await page.click(`.findings a[href="${link}"]`);
		const view = link.slice(1).split("/")[0];
		await leads_to(page, view);
		if (link.startsWith("#code/") && link.split("/")[2] && !await page.$("tr.mark"))
			return `${link} marks nothing`;
	}
	return links.length > 3 ? "" : `only ${links}`;
});
await test("keys: next view, arrows and Enter in a table, help, colours, Esc", "usual.html", async (page) => {
	await page.keyboard.press("n");
	await leads_to(page, "functions");
	await page.focus("#functions .scroll");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("ArrowDown");
	const name = await page.evaluate(() => document.activeElement.cells?.[0].textContent);
	await page.keyboard.press("Enter");
	await page.waitForSelector(".pane");
	const opened = await page.$eval("#which", (s) => s.selectedOptions[0].textContent);
	await page.keyboard.press("?");
	const help = await page.$eval("dialog", (d) => d.open);
	await page.keyboard.press("Escape");
	const closed = await page.$eval("dialog", (d) => !d.open);
	await page.keyboard.press("t");
	await page.keyboard.press("t");
	const theme = await page.evaluate(() => document.documentElement.dataset.theme);
	await page.keyboard.press("Escape");
	await leads_to(page, "overview");
	return name === opened && help && closed && theme === "dark" ? "" : `${name} ${opened} ${help} ${closed} ${theme}`;
});
await test("light and dark: as the system has it, and by the button", "usual.html", async (page) => {
	const ground = () => page.$eval("body", (b) => getComputedStyle(b).backgroundColor);
	const light = await ground();
	await page.emulateMedia({ colorScheme: "dark" });
	const dark = await ground();
	await page.click("#theme");
	const chosen = await ground();
	return light === "rgb(255, 255, 255)" && dark !== light && chosen === light ? "" : `${light} ${dark} ${chosen}`;
});
await test("the flame graph: a click looks closer, Esc goes back, names are found", "usual.html", async (page) => {
	await page.click("nav a[href='#flame']");
	await leads_to(page, "flame");
	const whole = await page.$$eval(".flame button", (b) => b.length);
	await page.click(".flame button >> text=dispatch");
	const closer = await page.$$eval(".flame button", (b) => b.map((e) => [e.textContent, e.style.width]).find(([t]) => t === "dispatch")[1]);
	await page.keyboard.press("Escape");
	await page.fill("#flamebox input", "fib");
	const found = await page.$$eval(".flame .found", (b) => b.map((e) => e.textContent)), said = await page.innerText(".readout");
	return whole > 5 && closer === "100%" && found.includes("fib") && said.includes("of all instructions") ? "" : `${whole} ${closer} ${found} ${said}`;
});
await test("the flame graph: another event has other widths and another total; keys move and look closer", "events.html", async (page) => {
	await page.click("nav a[href='#flame']");
	await leads_to(page, "flame");
	const first = await page.innerText(".readout");
	await page.selectOption("#flamebox select", { label: (await page.$$eval("#flamebox option", (o) => o.map((e) => e.textContent))).find((t) => t.startsWith("instructions")) });
	const then = await page.innerText(".readout");
	await page.focus(".flame button");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press("Enter");
	const closer = await page.$$eval(".flame button", (b) => b.filter((e) => !e.classList.contains("above"))[0].style.width), reset = page.locator("#flamebox button", { hasText: "Whole graph" });
	const could = await reset.isEnabled();
	await reset.click();
	return first.includes("of all D1mr") && then.includes("of all instructions") && closer === "100%" && could && await reset.isDisabled() ? "" : `${first} ${then} ${closer} ${could}`;
});
await test("two runs' flame graphs: what became more and less has other colours, and both numbers", "difference.html", async (page) => {
	await page.click("nav a[href='#flame']");
	await leads_to(page, "flame");
	const looks = await page.$$eval(".flame button", (b) => Object.fromEntries(b.map((e) => [e.className.replace(/ ?found ?/, ""), getComputedStyle(e).backgroundColor])));
	await page.fill("#flamebox input", "renamed");
	const said = await page.innerText(".readout");
	await page.selectOption("#flamebox select", "0");
	await page.fill("#flamebox input", "dispatch");
	const gone = await page.$$eval(".flame .found", (b) => b.map((e) => e.className)), lost = await page.innerText(".readout");
	return looks.more && looks.less && looks.more !== looks.less && said.startsWith("renamed: 0 in A") && /in A, 0 in B/.test(lost) && gone.some((c) => c.includes("less")) ? "" :
		`${JSON.stringify(looks)} ${said} ${lost} ${gone}`;
});
await test("charts are drawn, the axis switches, a pointer reads a value; time is linear", "sim.html", async (page) => {
	const views = await page.$$eval("nav a", (a) => a.map((e) => [e.textContent, e.hash]));
	const to = async (name) => {
		const [, hash] = views.find(([text]) => text === name);

		await page.click(`nav a[href="${hash}"]`);
		await leads_to(page, hash.slice(1));
	};
	await to("Reuse distances");
	const working_set = page.locator("figure", { hasText: "over instructions" });
	if (await working_set.locator("button").innerText() !== "Logarithmic axis")
		return "time is logarithmic";
	const curve = page.locator("figure", { hasText: "miss ratio over size" });
	if (await curve.locator("button").innerText() !== "Linear axis")
		return "size is linear";
	const before = await curve.locator(".curve").getAttribute("d");
	await curve.locator("button").click();
	const after = await curve.locator(".curve").getAttribute("d");
	await curve.locator("svg").hover({ position: { x: 200, y: 100 } });
	const said = await curve.locator(".readout").innerText();
	await to("Memory over time");
	const cells = await page.$$eval(".view:not([hidden]) .heatcell", (c) => c.length);
	await to("Phases");
	const phases = await page.$$eval(".view:not([hidden]) .heatcell", (c) => c.length);
	return before !== after && / %$/.test(said) && cells > 10 && phases > 2 ? "" : `${said} ${cells} ${phases}`;
});
await test("names stay where the other columns move; headings stay where rows move", "usual.html", async (page) => {
	await page.goto(page.url() + "#functions");
	const box = "#functions .scroll";
	const at = () => page.$eval(box, (e) => [e.querySelector("tbody th").getBoundingClientRect().left, e.querySelector("thead th").getBoundingClientRect().top]);
	const before = await at();
	await page.$eval(box, (e) => { e.scrollLeft = 400; e.scrollTop = 300; });
	return String(before) === String(await at()) && await page.$eval(box, (e) => e.scrollLeft > 100 && e.scrollTop > 100) ? "" : `${before} ${await at()}`;
});
for (const name of ["profile.html", "usual.html", "sim.html", "annotate.html"]) {
	for (const [width, height] of [[360, 740], [1920, 1080]])
		await test(`${name}: no view is wider than ${width} pixels`, name, async (page) => {
			for (const id of await ids(page)) {
				await page.evaluate((to) => { location.hash = to; }, id);
				await leads_to(page, id);
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				if (wide > 0)
					return `${id}: ${wide} pixels too wide`;
			}
			return "";
		}, { viewport: { width, height } });
	for (const colorScheme of name === "usual.html" ? ["light", "dark"] : ["light"])
		await test(`${name}: axe finds nothing serious in ${colorScheme}`, name, async (page) => {
			/* rows are all alike: a dozen of each table will do */
			await page.$$eval("tbody", (bodies) => bodies.forEach((b) => [...b.rows].slice(12).forEach((r) => r.remove())));
			await page.evaluate(axe);
			const bad = [];
			for (const id of await ids(page)) {
				await page.evaluate((to) => { location.hash = to; }, id);
				await leads_to(page, id);
				const found = await page.evaluate(() => axe.run(".view:not([hidden]), header, nav", { resultTypes: ["violations"] }));
				for (const v of found.violations)
					if (["serious", "critical"].includes(v.impact))
						bad.push(`${id}: ${v.id}: ${v.nodes.length} times, ${v.nodes[0].html.slice(0, 200)} ${v.nodes[0].failureSummary}`);
			}
			return bad.join("\n");
		}, { colorScheme });
	await test(`${name}: no view or section is empty`, name, async (page) =>
		(await page.$$eval(".view, .view section", (v) => v.filter((e) => e.children.length < 2).map((e) => e.id + e.textContent))).join());
}
await test("the menu of a narrow screen opens, leads on and closes", "usual.html", async (page) => {
	await page.click("#menu");
	await page.click("nav a[href='#lines']");
	await leads_to(page, "lines");
	return await page.isVisible("nav") ? "the menu stays open" : "";
}, { viewport: { width: 360, height: 740 } });
for (const name of ["hostile.html", "hostile-usual.html"])
	await test(`${name}: names are shown and not obeyed`, name, async (page) => {
		for (const id of await ids(page)) {
			await page.evaluate((to) => { location.hash = to; }, id);
			await leads_to(page, id);
		}
		await page.fill("#search", "script");
		const text = await page.evaluate(() => document.body.textContent);
		const made = await page.evaluate(() => [typeof hostile, document.querySelectorAll("img, b[onclick], script[src]").length]);
		const bad = await page.evaluate(() => /[\x00-\x08\x1b\u202e]/.test(document.body.textContent));
		return text.includes("</script><script>hostile=1</script>") && text.includes("<img src=http://127.0.0.1:9/x") && String(made) === "undefined,0" && !bad ? "" : `${made} ${bad}`;
	});
await test("the policy forbids what is not the page's own", "hostile.html", async (page) => {
	await page.evaluate(() => {
		document.body.append(Object.assign(document.createElement("script"), { textContent: "window.smuggled = 1" }));
	});
	const smuggled = await page.evaluate(() => typeof smuggled);
	const refused = page.said.filter((s) => s.includes("Content Security Policy")).length;
	page.said = [];
	return smuggled === "undefined" && refused ? "" : `${smuggled} ${refused}`;
});
await test("every command of the first screens runs", "usual.html", async (page) => {
	const commands = new Set();
	for (const name of ["profile.html", "usual.html", "sim.html", "annotate.html"]) {
		await page.goto(`file://${dir}/${name}`);
		for (const c of await page.$$eval(".try code", (e) => e.map((x) => x.textContent)))
			commands.add(c);
	}
	page.said = [];
	for (const c of commands)
		execFileSync("sh", ["-c", c], { cwd: dir, stdio: "pipe", timeout: 120000 });
	return commands.size > 5 ? "" : [...commands].join("\n");
});
for (const name of ["profile.html", "usual.html"])
	result(statSync(`${dir}/${name}`).size < 2e6, `${name} is smaller than 2 MB`, statSync(`${dir}/${name}`).size);
await browser.close();
console.log(`1..${n}`);
