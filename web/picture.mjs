// A picture of a part of a page: node picture.mjs CHROMIUM PAGE PART FILE; PART is the id of a section, or "".
// SPDX-License-Identifier: BSD-3-Clause
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, path, part, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 760 }, reducedMotion: "reduce" });
await page.goto(pathToFileURL(path).href);
await page.waitForSelector("html[data-drawn]", { state: "attached" });
if (part) {
	// the first wait of it that has a holder is chosen, so that the arrow is seen
	await page.evaluate(() => {
		const [timeline] = globalThis.sciTimelines;
		timeline.lanes.some((lane, l) => {
			const region = lane.who.findIndex((_, i) => ![undefined, l].includes(timeline.holder(lane, i)) &&
				lane.ns[i] * 40 > timeline.span);
			if (region >= 0)
				timeline.select(l, region);
			return region >= 0;
		});
	});
	await page.locator(`#${part}`).screenshot({ path: file });
} else {
	// the answer as a whole
	const answer = await page.locator(".answer").first().boundingBox();
	await page.screenshot({ path: file, fullPage: true, clip: { x: 0, y: 0, width: 1200, height: Math.ceil(answer.y + answer.height + 16) } });
}
await browser.close();
