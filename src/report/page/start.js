// SPDX-License-Identifier: MIT
// The script of every page: one file out of these, in this order. No page loads anything.
"use strict";
const one = (selector, of = document) => of.querySelector(selector);
const all = (selector, of = document) => [...of.querySelectorAll(selector)];
/** An element with attributes and children; text is text, never markup. */
function make(tag, attributes = {}, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		if (value !== undefined && value !== false)
			e.setAttribute(name, value === true ? "" : value);
	e.append(...children);
	return e;
}
const thousands = (n) => String(n).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
/** The one notation of shares, as the tables have it: 20.8 %. */
function share(percent) {
	if (percent > 0 && percent < 0.05)
		return "<0.1 %";
	if (percent < 100 && percent > 99.95)
		return ">99.9 %";
	return percent.toFixed(1) + " %";
}
const data = (selector) => {
	const e = one(selector);
	return e ? JSON.parse(e.textContent) : null;
};

/* colours: as the system has it, or as was chosen last */
const themes = ["auto", "light", "dark"];
function set_theme(theme) {
	const root = document.documentElement;
	if (theme === "auto")
		delete root.dataset.theme;
	else
		root.dataset.theme = theme;
	const button = one("#theme");
	if (button) {
		button.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
		button.dataset.now = theme;
	}
	try {
		localStorage.setItem("pugmark-theme", theme);
	} catch {
		/* pages from files may not remember */
	}
}
function last_theme() {
	try {
		const theme = localStorage.getItem("pugmark-theme");
		return themes.includes(theme) ? theme : "auto";
	} catch {
		return "auto";
	}
}

/* the bar at the top */
{
	const theme = make("button", { id: "theme", type: "button", title: "Colours: as the system, light, dark (t)" });
	theme.onclick = () => set_theme(themes[(themes.indexOf(theme.dataset.now) + 1) % themes.length]);
	one(".bar").append(
		make("button", { id: "menu", type: "button", "aria-expanded": "false", "aria-controls": "nav" }, "Menu"),
		make("div", { class: "search" },
			make("input", { id: "search", type: "search", placeholder: "Search", autocomplete: "off", spellcheck: "false", role: "combobox",
				"aria-label": "Search functions, lines and sections", "aria-expanded": "false", "aria-controls": "hits", "aria-autocomplete": "list" }),
			make("kbd", { "aria-hidden": "true" }, "/"),
			make("ul", { id: "hits", class: "hits", role: "listbox", "aria-label": "Found", hidden: true })),
		theme, make("button", { id: "help", type: "button", "aria-label": "Keys", title: "Keys (?)" }, "?"));
	one(".bar").prepend(one("#menu"));
	set_theme(last_theme());
}
