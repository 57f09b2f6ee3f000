// The page of sci-analyze --html: unpacks its data, draws what stands below the first screen.
// SPDX-License-Identifier: BSD-3-Clause
import { unpack } from "./data.js";
import { missing } from "./missing.js";
import { h } from "./dom.js";
import { drawBlame } from "./matrix.js";
import { drawSeries } from "./series.js";
import { Table } from "./tables.js";
import { KEYS, Timeline } from "./timeline.js";

// Also by name, for who looks at the page from a console or a test.
const tables = [], timelines = globalThis.sciTimelines = [];

function section(id, title, ...children) {
	const element = h("section", { id }, h("h2", {}, title), ...children);
	document.querySelector("main").append(element);
	document.querySelector("nav").append(h("a", { href: `#${id}` }, title));
	return element;
}

function addSearch() {
	const input = h("input", { type: "search", id: "search", autocomplete: "off",
		placeholder: "a file, a thread, ...", oninput: () => {
			const words = input.value.toLowerCase().split(/\s+/).filter((word) => word);
			for (const table of tables)
				table.search(words);
			for (const timeline of timelines)
				timeline.search(words);
		} });
	document.querySelector("nav").append(h("label", { for: "search" }, "Search all: "), input);
}

function addTables(parent, side, names, id) {
	for (const name of names) {
		const data = side.tables.find((t) => t.name === name);
		if (!data || (name !== "thread" && (data.n === 0 || !side.summary.trace.operations)))
			continue;
		const table = new Table(data, null, id);
		tables.push(table);
		parent.append(table.element);
	}
}

function draw(data) {
	const { sides } = data;
	const span = Math.max(...sides.map((s) => s.timeline.span_ns));
	if (data.compared) {
		const table = new Table(data.compared);
		tables.push(table);
		section("differences", "Differences", table.element);
	}
	const series = section("series", "Score over time");
	const first = [drawSeries(series, sides, span)];
	for (const [i, side] of sides.entries()) {
		const pieces = h("details", {}, h("summary", {}, `${sides.length > 1 ? `${"AB"[i]}: t` : "T"}he same as a table`));
		addTables(pieces, side, ["timeline"], sides.length > 1 ? `-${"ab"[i]}` : "");
		if (pieces.children.length > 1)
			series.append(pieces);
	}
	const lanes = section("timeline", "Timeline");
	for (const [i, side] of sides.entries()) {
		const timeline = new Timeline(side, span, sides.length > 1 ? `${"AB"[i]}: ${side.paths.join(", ")}` : "");
		timelines.push(timeline);
		first.push(timeline.drawn);
		lanes.append(timeline.element);
		timeline.follow(timelines);
	}
	lanes.append(h("p", { class: "note keys" }, KEYS));
	for (const [i, side] of sides.entries()) {
		const one = sides.length > 1 ? ` of ${"AB"[i]}` : "", id = sides.length > 1 ? `-${"ab"[i]}` : "";
		addTables(section(`tables${id}`, `Tables${one}`), side,
			["thread", "process", "container", "file", "device", "class", "callsite"], id);
		const workload = section(`workload${id}`, `Workload${one}`);
		for (const data of side.workload.filter((each) => each.n)) {
			const table = new Table(data, null, id);
			tables.push(table);
			workload.append(table.element);
		}
		if (!side.workload.some((each) => each.n))
			workload.append(h("p", { class: "note" }, "No reads and writes."));
		const blame = section(`blame${id}`, `Who took time from whom${one}`);
		drawBlame(blame, side);
		addTables(blame, side, ["blame"], id);
		section(`recorded${id}`, `How it was recorded${one}`, missing(side));
	}
	addSearch();
	// who waits for this sees all of the page: what has a width is drawn with the first frame
	Promise.all(first).then(() => {
		document.documentElement.dataset.drawn = Math.round(performance.now());
	});
}

async function start() {
	const status = document.getElementById("status");
	if (typeof DecompressionStream === "undefined") {
		status.textContent = "This browser cannot unpack the data in this page (it has no DecompressionStream): " +
			"the timeline and the tables are not shown. A browser of 2023 or later shows them.";
		return;
	}
	try {
		draw(await unpack(document.getElementById("data")));
		status.remove();
	} catch (error) {
		status.textContent = `The data in this page is damaged: ${error.message}. The answer above is whole.`;
	}
}

start();
