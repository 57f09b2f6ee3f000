// How it was recorded, and what of it is missing.
// SPDX-License-Identifier: BSD-3-Clause
import { count } from "./data.js";
import { h } from "./dom.js";
import { duration } from "./format.js";

// What the trace counts, one and many of it.
const COUNTS = [
	["lost_events", "record lost: the waits in it are missing", "records lost: the waits in them are missing"],
	["overwritten", "record before the last part was overwritten (--last)", "records before the last part were overwritten (--last)"],
	["missing", "machine or rank has no recording", "machines and ranks have no recording"],
	["orphans", "end without a beginning", "ends without a beginning"],
	["truncated", "call that the end of the trace cut", "calls that the end of the trace cut"],
	["bad", "record that could not be understood; it and what follows it there are missing",
		"records that could not be understood; they and what follows them there are missing"],
	["overlapping_regions", "region that does not lie in the one around it", "regions that do not lie in those around them"],
	["out_of_order", "event out of order", "events out of order"],
	["unmatched", "thread that only one of the tracers has seen", "threads that only one of the tracers has seen"],
	["open_requests", "block request without completion", "block requests without completion"],
	["low_confidence", "operation of a kind with few of them: its reference is unsure",
		"operations of kinds with few of them: their references are unsure"],
];

const list = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

function sidesOf({ trace, application }) {
	const ns = application.io_levels ?? {};
	if (!trace.operations)
		return ["There is no I/O in this trace: no call was recorded. Everything that is about calls is missing."];
	if (!trace.has_levels)
		return ["The kernel's side is missing: what happened below the library calls is not known, all of the time counts as user."];
	const none = Object.keys(ns).filter((level) => !ns[level] && level !== "user"), said = [];
	if (!ns.user)
		said.push("The program's side is missing: library calls, and what their own code takes, are not known.");
	if (none.length)
		said.push(`No time at ${list(none)}: nothing happened there, or it was not recorded.`);
	return said;
}

export function missing({ summary }) {
	const { trace, mode } = summary;
	const counted = COUNTS.filter(([key]) => trace[key] > 0).map(([key, one, many]) => count(trace[key], one, many));
	const said = [...sidesOf(summary), ...counted];
	if (trace.light)
		said.push("recorded with --light: of the kernel only what made calls wait");
	if (trace.suspended_ns)
		said.push(`the machine was suspended for ${duration(trace.suspended_ns)}, which no time includes`);
	if (trace.clock_error_ns !== undefined)
		said.push(trace.clock_error_ns === null ? "how far the clocks of what was merged are apart is not known: what one did before another may be wrong" :
			`the clocks of the machines agree to within ${duration(trace.clock_error_ns)}`);
	return h("div", {},
		h("p", {}, `${count(trace.operations, "operation")}, ${count(trace.events, "event")}, ` +
			`${count(trace.locations, "thread or device", "threads and devices")}, ${duration(trace.duration_ns)}. ` +
			`Reference of undisturbed operations: ${mode.reference} (--reference).`),
		said.length ? h("ul", { class: "missing" }, ...said.map((text) => h("li", {}, text))) :
			h("p", { class: "missing" }, "Nothing is missing."));
}
