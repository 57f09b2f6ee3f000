// speedscope.mjs MODULES TOOLS CHROMIUM FILE...: opens each in Speedscope's own page; what the page complains of is a failure.
// SPDX-License-Identifier: BSD-3-Clause
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

// how long anything may take before it counts as stuck: a loaded machine is slow
const STUCK_MS = 240000;
const [modules, tools, executablePath, ...files] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(tools), "x.js"))("playwright-core");
const start = pathToFileURL(join(resolve(modules), "node_modules/speedscope/dist/release/index.html"));
const scratch = mkdtempSync(join(tmpdir(), "speedscope-"));
const browser = await chromium.launch({
	executablePath, timeout: STUCK_MS, args: ["--no-sandbox", "--enable-unsafe-swiftshader"],
});
let failed = false;
try {
	for (const file of files) {
		const page = await browser.newPage();
		const said = [];
		page.setDefaultTimeout(STUCK_MS);
		page.on("console", (message) => {
			// the graphics driver is none of ours
			if (/warning|error|assert/.test(message.type()) && !message.text().startsWith("[.WebGL"))
				said.push(message.text());
		});
		page.on("pageerror", (error) => said.push(String(error)));
		const profile = join(scratch, "profile.js");
		const data = readFileSync(file).toString("base64");
		writeFileSync(profile, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, "${data}")`);
		await page.goto(`${start}#localProfilePath=${profile}`);
		// its view of a profile names the threads; what cannot be loaded is an error on its first page
		await page.waitForFunction(() => /tid \d+\)|Something went wrong/.test(document.body.innerText));
		const text = await page.evaluate(() => document.body.innerText);
		if (text.includes("Something went wrong")) said.push(text);
		console.log(`${basename(file)}: ${said.length} complaints`);
		said.slice(0, 5).forEach((line) => console.log(`  ${line}`));
		failed ||= said.length > 0;
		await page.close();
	}
} finally {
	await browser.close();
	rmSync(scratch, { recursive: true });
}
process.exit(failed ? 1 : 0);
