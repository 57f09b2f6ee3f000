// Who took time from whom: as a matrix, and as a graph of who waited for whom.
// SPDX-License-Identifier: BSD-3-Clause
import { h, svg } from "./dom.js";
import { duration } from "./format.js";
import { tableOf } from "./data.js";

const MOST_NAMES = 16;
const MOST_EDGES = 24;

// The pairs, by name and number: threads of one name are several.
function pairsOf(side) {
	const table = tableOf(side, "blame");
	const value = (name) => table.column(name).values;
	const hosts = table.column("host")?.values, others = table.column("culprit_host")?.values;
	const severalHosts = new Set([...hosts ?? [], ...others ?? []].filter((host) => host)).size > 1;
	const label = (name, tid, host) => (tid && !String(name).includes(String(tid)) ? `${name} tid ${tid}` : name) +
		(severalHosts && host ? ` on ${host}` : "");
	const pairs = [];
	for (let i = 0; i < table.n; i++)
		pairs.push({
			victim: label(value("victim")[i], value("victim_tid")[i], hosts?.[i]),
			culprit: label(value("culprit")[i], value("culprit_tid")[i], others?.[i]),
			ns: value("time_ns")[i], named: value("named_time_ns")[i],
		});
	return pairs;
}

// The names with most of it; all others are one.
function most(pairs, key) {
	const sums = new Map();
	for (const p of pairs)
		sums.set(p[key], (sums.get(p[key]) ?? 0) + p.ns);
	return [...sums.entries()].sort((a, b) => b[1] - a[1]).slice(0, MOST_NAMES).map(([name]) => name);
}

function cellOf(sum, top) {
	if (!sum)
		return h("td", {});
	// by tenths, so that the style sheet has the colours
	const shade = Math.max(1, Math.round(9 * Math.sqrt(sum.ns / top)));
	const overlap = sum.named * 2 < sum.ns;
	return h("td", { class: `shade${shade}${overlap ? " overlap" : ""}`,
		title: `${duration(sum.named)} of it as the kernel named them, the rest by overlap` }, duration(sum.ns));
}

function matrix(pairs) {
	const victims = most(pairs, "victim"), culprits = most(pairs, "culprit");
	const REST = "all others";
	const sums = new Map();
	let rest = { victim: false, culprit: false };
	for (const p of pairs) {
		const victim = victims.includes(p.victim) ? p.victim : REST;
		const culprit = culprits.includes(p.culprit) ? p.culprit : REST;
		rest = { victim: rest.victim || victim === REST, culprit: rest.culprit || culprit === REST };
		const key = JSON.stringify([victim, culprit]);
		const sum = sums.get(key) ?? { ns: 0, named: 0 };
		sums.set(key, { ns: sum.ns + p.ns, named: sum.named + p.named });
	}
	const top = Math.max(...[...sums.values()].map((s) => s.ns));
	const columns = rest.culprit ? [...culprits, REST] : culprits;
	const rows = rest.victim ? [...victims, REST] : victims;
	return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who took time from whom, as a matrix" },
		h("table", { class: "matrix" },
			h("caption", {}, "Time that the thread of the row lost to that of the column; hatched: by overlap, not named by the kernel"),
			h("thead", {}, h("tr", {}, h("td", {}), ...columns.map((name) => h("th", { scope: "col" }, name)))),
			h("tbody", {}, ...rows.map((victim) => h("tr", {}, h("th", { scope: "row" }, victim),
				...columns.map((culprit) => cellOf(sums.get(JSON.stringify([victim, culprit])), top)))))));
}

// An edge for each of the largest pairs: whole lines as the kernel named them, broken ones by overlap.
function graph(pairs) {
	const edges = [];
	for (const p of pairs) {
		if (p.named > 0)
			edges.push({ ...p, ns: p.named, named: true });
		if (p.ns - p.named > 0)
			edges.push({ ...p, ns: p.ns - p.named, named: false, below: p.named > 0 ? 7 : 0 });
	}
	edges.sort((a, b) => b.ns - a.ns);
	edges.splice(MOST_EDGES);
	const victims = [...new Set(edges.map((e) => e.victim))], culprits = [...new Set(edges.map((e) => e.culprit))];
	const height = 28 * Math.max(victims.length, culprits.length) + 30;
	const y = (list, name) => 40 + 28 * list.indexOf(name);
	// both kinds of one pair are seen, one below the other
	const way = (from, to) => `M260 ${from} C400 ${from} 400 ${to} 536 ${to}`;
	const short = (name) => (name.length > 32 ? `…${name.slice(-31)}` : name);
	const top = edges[0].ns;
	const labels = (list, x, anchor) => list.map((name) =>
		svg("text", { x, y: y(list, name) + 4, "text-anchor": anchor }, short(name)));
	return h("figure", { class: "graph" }, svg("svg", { viewBox: `0 0 800 ${height}`, role: "img",
		"aria-label": "Who waited for whom; the same as the table below" },
	svg("text", { x: 250, y: 16, "text-anchor": "end", class: "head" }, "lost time"),
	svg("text", { x: 550, y: 16, class: "head" }, "took it"),
	...edges.map((e) => svg("path", {
		d: way(y(victims, e.victim) + (e.below ?? 0), y(culprits, e.culprit) + (e.below ?? 0)),
		class: e.named ? "named" : "overlap", "stroke-width": Math.max(1, 8 * Math.sqrt(e.ns / top)) },
	svg("title", {}, `${e.victim} lost ${duration(e.ns)} to ${e.culprit}${e.named ? "" : ", by overlap"}`))),
	...edges.map((e) => svg("circle", { cx: 540, cy: y(culprits, e.culprit), r: 4 })),
	...labels(victims, 250, "end"), ...labels(culprits, 550, "start")),
	h("figcaption", {}, "Whole lines: the kernel named who held it up. Broken lines: who was active at the same level, by overlap. The width is the time."));
}

export function drawBlame(parent, side) {
	const pairs = pairsOf(side).filter((p) => p.ns > 0);
	if (!pairs.length) {
		parent.append(h("p", { class: "note" }, "Nobody took time from anybody."));
		return;
	}
	parent.append(matrix(pairs), graph(pairs));
}
