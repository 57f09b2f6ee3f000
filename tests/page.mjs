// What a browser makes of a page of sci-analyze --html: node page.mjs TOOLS CHROMIUM PLAN, as json.
// TOOLS holds node_modules with playwright-core and axe-core; PLAN is a list of { page, first, csv, regions, sums, says,
// silent, hostile, compare, damaged, reaches, tree }: what is looked at is what is there.
// SPDX-License-Identifier: BSD-3-Clause
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, chromium, plan] = process.argv.slice(2);
const require = createRequire(`${tools}/`);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
// how long anything may take before it counts as stuck: a loaded machine is slow
const STUCK_MS = 240000;
// the axe-core of the test is no part of the page: the page's policy would not let it in
const ISOLATED = { bypassCSP: true };

async function open(browser, path, options = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
	context.setDefaultTimeout(STUCK_MS);
	const page = await context.newPage(), requests = [], said = [];
	page.on("request", (request) => requests.push(request.url()));
	page.on("console", (message) => said.push(message.text()));
	page.on("pageerror", (error) => said.push(error.message));
	await page.goto(pathToFileURL(path).href);
	// by selectors: to ask with a function more than once is evaluation, which the page's policy refuses
	if (options.javaScriptEnabled !== false)
		await page.waitForSelector("html[data-drawn], #status:has-text('damaged')", { state: "attached" });
	return { page, requests, said, close: () => context.close() };
}

const timeline = (page) => page.evaluate(() => {
	const [first] = globalThis.sciTimelines;
	return { from: first.from, to: first.to, span: first.span, lane: first.lane, selected: first.selected,
		tip: first.tip.textContent, lanes: first.lanes.length };
});

async function answers(browser, { page: path, first }) {
	const { page, close } = await open(browser, path, { javaScriptEnabled: false });
	assert.equal(await page.textContent(".score"), first);
	assert.match(await page.textContent("#status"), /script/);
	await close();
	// a browser of before 2023: the answer is there, and why the rest is not
	const older = await (await browser.newContext()).newPage();
	await older.addInitScript(() => delete globalThis.DecompressionStream);
	await older.goto(pathToFileURL(path).href);
	assert.equal(await older.textContent(".score"), first);
	await older.waitForSelector("#status:has-text('DecompressionStream')", { timeout: STUCK_MS });
	await older.context().close();
}

// The numbers of its tables are those of the csv.
async function tables(page, { csv }) {
	await page.$$eval(".table button[aria-pressed]", (buttons) => buttons.forEach((b) => b.click()));
	for (const [view, rows] of Object.entries(csv)) {
		const table = page.locator(`#${view}-table`);
		const headings = await table.locator("th button").evaluateAll((buttons) => buttons.map((b) => b.dataset.column));
		const cells = await table.locator("tbody tr").evaluateAll((list) => list.map((tr) => [...tr.cells].map((td) => td.textContent)));
		assert.equal(cells.length, Math.min(rows.length, 15), view);
		cells.forEach((row, i) => headings.forEach((name, c) => {
			if (/^\d+$/.test(rows[i][name]) && !/_(ns|bytes)$/.test(name) && Number.isInteger(Number(row[c])))
				assert.equal(row[c], rows[i][name], `${view} ${name}`);
			else if (!/^[-\d.e]*$/.test(rows[i][name]))
				assert.equal(row[c], rows[i][name].replace(/^'/, ""), `${view} ${name}`);
		}));
	}
	// a click sorts, a second one the other way
	const heading = page.locator("#thread-table [data-column=tid]");
	const tids = () => page.$$eval("#thread-table tbody tr", (list) => list.map((tr) => tr.textContent));
	await heading.click();
	const down = await tids();
	await heading.click();
	assert.deepEqual((await tids()).sort(), [...down].sort());
	assert.equal(await page.getAttribute("#thread-table th[aria-sort]", "aria-sort"), "ascending");
}

// What the lanes hold is what was put in: each region, and at each zoom bins that sum to the whole.
async function lanes(page, { regions, sums }) {
	const found = await page.evaluate(() => {
		const [timeline] = globalThis.sciTimelines, list = [], whole = {};
		for (const lane of timeline.lanes) {
			for (let i = 0; i < lane.n; i++)
				list.push([lane.name, timeline.data.regions[lane.region[i]].name, lane.begin[i], lane.end(i)]);
			const sum = (column) => column.reduce((a, b) => a + b, 0);
			for (let most = 4 ** 9; lane.bins && most >= 1; most /= 4)
				(whole[`${lane.pid} ${lane.tid}`] ??= []).push(lane.binsFor(most).map(sum));
		}
		return { list, whole };
	});
	for (const [thread, columns] of Object.entries(sums)) {
		assert.equal(found.whole[thread]?.length, 10, thread);
		for (const level of found.whole[thread])
			assert.deepEqual(level, columns, thread);
	}
	if (!regions)
		return;
	// the page counts from the first event, the csv as the trace does
	const first = (list) => list.reduce((least, region) => Math.min(least, region[2]), Infinity);
	const moved = (list, by) => list.map(([lane, name, begin, end]) => [lane, name, begin - by, end - by].join(" ")).sort();
	assert.ok(regions.length > 100);
	assert.deepEqual(moved(found.list, first(found.list)), moved(regions, first(regions)));
}

async function searches(page, { word, threads }) {
	await page.fill("#search", word);
	const rows = await page.$$eval("#thread-table tbody tr", (list) => list.length);
	assert.equal(rows, threads);
	await page.locator(".timeline button", { hasText: "Next match" }).first().click();
	const { tip } = await timeline(page);
	assert.ok(tip.includes(word), tip);
	await page.fill("#search", "");
}

// With keys alone: to one operation, 1 us, and back.
async function keys(page) {
	await page.focus(".lanes");
	await page.keyboard.press("Home");
	await page.keyboard.press("ArrowDown");
	await page.keyboard.press(".");
	let now = await timeline(page);
	assert.ok(now.selected && now.tip.includes(" for "), now.tip);
	const chosen = now.selected.region;
	await page.keyboard.press(".");
	assert.equal((await timeline(page)).selected.region, chosen + 1);
	await page.keyboard.press(",");
	await page.keyboard.press("Enter");
	for (let i = 0; i < 60; i++)
		await page.keyboard.press("+");
	now = await timeline(page);
	assert.ok(now.to - now.from <= 1000 + 1e-3, `${now.to - now.from} ns`);
	await page.keyboard.press("Home");
	now = await timeline(page);
	assert.deepEqual([now.from, now.to], [0, now.span]);
	// from the top to the search and the tables by Tab, each visible
	await page.focus(".skip");
	const met = new Set();
	for (let i = 0; i < 40; i++) {
		await page.keyboard.press("Tab");
		met.add(await page.evaluate(() => document.activeElement.id || document.activeElement.className || document.activeElement.tagName));
	}
	assert.ok(met.has("search") && met.has("lanes"), [...met].join(" "));
	assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
}

// Something is drawn in the lanes: more than the colour of their ground.
async function draws(page) {
	const inks = await page.evaluate(() => {
		const { canvas } = globalThis.sciTimelines[0];
		const { data } = canvas.getContext("2d").getImageData(200, 30, canvas.width - 200, canvas.height - 30);
		return new Set(new Uint32Array(data.buffer)).size;
	});
	assert.ok(inks >= 4, `${inks} colours`);
}

async function reaches(browser, { page: path }) {
	for (const colorScheme of ["light", "dark"]) {
		const { page, close } = await open(browser, path, { ...ISOLATED, colorScheme });
		await page.evaluate(axe);
		const { violations } = await page.evaluate(() => globalThis.axe.run());
		const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
		assert.deepEqual(serious.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html)]), [], colorScheme);
		await close();
	}
}

// On a telephone only tables and lanes are wider than the window, and move within themselves.
async function narrow(browser, { page: path }) {
	const { page, close } = await open(browser, path, { viewport: { width: 360, height: 700 } });
	assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than the window`);
	await close();
}

async function checked(browser, step) {
	if (step.first)
		await answers(browser, step);
	const { page, requests, said, close } = await open(browser, step.page);
	await page.evaluate(() => document.querySelector("summary")?.click());
	if (step.hostile) {
		// as a text it is there, as anything else not
		const text = await page.evaluate(() => document.body.innerText);
		assert.ok(text.includes(step.hostile), "the hostile name is not shown");
		assert.equal(await page.evaluate(() => document.querySelectorAll("main script, main img, main b").length), 0);
		assert.equal(await page.evaluate(() => globalThis.hit), undefined);
	}
	if (step.sums)
		await lanes(page, step);
	if (step.says) {
		// as it is read, from the first screen to the end, each of them; and none of what would be nonsense
		const text = (await page.evaluate(() => document.body.innerText)).replaceAll(/\s+/g, " ");
		for (const words of step.says)
			assert.ok(text.includes(words), `${step.page} does not say: ${words}\n${text.slice(0, 2000)}`);
		for (const words of [...step.silent ?? [], "NaN", "undefined", "null", "Infinity", "[object"])
			assert.ok(!text.includes(words), `${step.page} says: ${words}`);
		assert.ok(await page.evaluate(() => globalThis.sciTimelines.every(({ devices }) => devices.every(({ most }) => most === undefined || most >= 0))));
	}
	if (step.csv) {
		await draws(page);
		await searches(page, step);
		await keys(page);
		await tables(page, step);
		const pdf = await page.pdf({ format: "A4" });
		assert.ok(pdf.length > 10000);
	}
	if (step.compare) {
		assert.equal(await page.locator(".answer").count(), 2);
		assert.ok(await page.locator("#compare-table tbody tr").count() > 3);
		// both on one time scale
		await page.locator(".timeline button[aria-label='Zoom in']").first().click();
		const views = await page.evaluate(() => globalThis.sciTimelines.map((t) => [t.from, t.to]));
		assert.deepEqual(views[0], views[1]);
	}
	if (step.tree)
		// names of machines, virtual machines, processes and threads, each further in than what it is in
		assert.deepEqual(await page.evaluate(() => {
			const [first] = globalThis.sciTimelines;
			return [...first.headings.map((h) => [h.y, h.indent, h.text]), ...first.lanes.map((l) => [l.y, l.indent, l.name])]
				.sort(([a], [b]) => a - b).map(([, indent, name]) => [indent / 8, name]);
		}), step.tree);
	if (step.damaged)
		assert.match(await page.textContent("#status"), /damaged/);
	// nothing but the page itself is asked for, and nothing is complained of
	assert.deepEqual(requests, [pathToFileURL(step.page).href]);
	assert.deepEqual(said, []);
	await close();
	if (step.reaches)
		await reaches(browser, step);
	if (step.reaches || step.compare || step.hostile)
		await narrow(browser, step);
}

const browser = await require("playwright-core").chromium.launch({ executablePath: chromium, timeout: STUCK_MS, args: ["--no-sandbox"] });
try {
	for (const step of JSON.parse(readFileSync(plan, "utf8")))
		await checked(browser, step);
} finally {
	await browser.close();
}
