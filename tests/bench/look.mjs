// How long a page takes to open, and a frame while zooming: node look.mjs TOOLS CHROMIUM PAGE RUNS, as json.
// SPDX-License-Identifier: BSD-3-Clause
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [tools, executablePath, path, runs] = process.argv.slice(2);
const { chromium } = createRequire(`${tools}/`)("playwright-core");
const median = (list, part = 0.5) => list.sort((a, b) => a - b)[Math.floor((list.length - 1) * part)];
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const opened = [], frames = [];
try {
	for (let run = 0; run < Number(runs); run++) {
		// the lanes are 1400 pixels wide
		const page = await browser.newPage({ viewport: { width: 1640, height: 1400 } });
		const begin = performance.now();
		await page.goto(pathToFileURL(path).href);
		await page.waitForSelector("html[data-drawn]", { state: "attached" });
		opened.push(performance.now() - begin);
		await page.focus(".lanes");
		frames.push(...await page.evaluate(() => {
			const [timeline] = globalThis.sciTimelines, took = [];
			for (let i = 0; i < 40; i++) {
				const middle = (timeline.from + timeline.to) / 2, half = (timeline.to - timeline.from) * 0.4;
				const from = performance.now();
				timeline.show(middle - half, middle + half);
				// what was put off is done now
				timeline.canvas.getContext("2d").getImageData(0, 0, 1, 1);
				took.push(performance.now() - from);
			}
			return took;
		}));
		await page.close();
	}
} finally {
	await browser.close();
}
console.log(JSON.stringify({ open_ms: median(opened), frame_ms: median([...frames]), p95_ms: median([...frames], 0.95) }));
