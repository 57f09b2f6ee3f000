// The score over time: what was taken at each level, of the time in I/O.
// SPDX-License-Identifier: BSD-3-Clause
import uPlot from "uplot";
import { colour, h, onLook } from "./dom.js";
import { tick } from "./format.js";
import { tableOf } from "./data.js";

const MOST_POINTS = 256;
const LEVELS = ["user", "vfs", "pagecache", "fs", "block", "net", "cpu"];

// Sums of every EACH values.
export function coarser(values, each) {
	const sums = [];
	for (let i = 0; i < values.length; i += each) {
		let sum = 0;
		for (let j = i; j < i + each && j < values.length; j++)
			sum += values[j];
		sums.push(sum);
	}
	return sums;
}

function seriesOf(side) {
	const table = tableOf(side, "timeline");
	const each = Math.max(1, Math.ceil(table.n / MOST_POINTS));
	const sums = (name) => coarser(table.column(name)?.values ?? Array(table.n).fill(0), each);
	const io = sums("io_ns");
	const part = (ns) => ns.map((value, i) => (io[i] > 0 ? Math.max(0, value / io[i]) : null));
	const from = table.column("from_ns").values.filter((_, i) => i % each === 0);
	return {
		seconds: from.map((ns) => ns / 1e9),
		levels: LEVELS.map((level) => part(sums(`at_${level}_ns`))),
		limit: part(sums("own_limit_ns")),
	};
}

// The promise is kept when each is drawn.
export function drawSeries(parent, sides, span) {
	const holders = sides.map((side, i) => {
		const holder = h("div", { class: "plot" });
		parent.append(...(sides.length > 1 ? [h("h3", {}, `${"AB"[i]}: ${side.paths.join(", ")}`)] : []), holder);
		if (!side.summary.trace.operations) {
			holder.append(h("p", { class: "note" }, "No I/O, so no score."));
			return null;
		}
		const { seconds, levels, limit } = seriesOf(side);
		// stacked: each line is the sum of those below it
		const stacked = [], names = [...LEVELS, "own limit"];
		[...levels, limit].forEach((values, l) => stacked.push(values.map((v, t) =>
			(v === null ? null : v + (l ? stacked[l - 1][t] : 0)))));
		const draw = () => {
			const width = Math.max(320, holder.clientWidth);
			const order = names.map((_, l) => l).reverse().filter(
				(l) => (l === names.length - 1 ? limit : levels[l]).some((v) => v > 0));
			const axis = { stroke: colour("--text"), grid: { stroke: colour("--line"), width: 1 },
				ticks: { stroke: colour("--line"), width: 1 } };
			const plot = new uPlot({
				width, height: 220, legend: { live: false }, cursor: { y: false },
				scales: { x: { time: false, range: [0, span / 1e9] }, y: { range: [0, 1] } },
				axes: [{ ...axis, values: (_, s, _axis, _space, every) =>
					s.map((v) => tick(v * 1e9, every * 1e9, span)) },
					{ ...axis, size: 60, label: "lost / in I/O", labelSize: 20 }],
				series: [{}, ...order.map((l) => ({
					label: names[l], points: { show: false }, width: 1,
					stroke: colour(l < LEVELS.length ? `--${LEVELS[l]}` : "--limit"),
					fill: colour(l < LEVELS.length ? `--${LEVELS[l]}` : "--limit"),
					paths: uPlot.paths.stepped({ align: 1 }),
				}))],
			}, [seconds, ...order.map((l) => stacked[l])], h("div"));
			// it is what its table says, which a reader of the screen gets instead
			plot.root.setAttribute("role", "img");
			plot.root.setAttribute("aria-label", "Part of the time in I/O that was lost, by level, over time; the same as a table follows");
			holder.replaceChildren(plot.root);
		};
		return { holder, draw };
	});
	return Promise.all(holders.filter((each) => each).map(({ holder, draw }) => onLook(holder, draw)));
}
