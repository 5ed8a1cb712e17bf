"""Pages in headless Chromium. usage: report_page_test.py FETTLE FETTLE_DEMO [SCREENSHOTS]

What people do with a report (sort, filter, open a line, hover, change the theme), that it asks no network and logs no
error, that nothing is cut or called as something else at the widths of desktops, and what axe finds of its accessibility.
With a folder, screenshots of both themes and of the widths go there.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import axe_selenium_python
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

FETTLE, DEMO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
SHOTS = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
AXE = pathlib.Path(axe_selenium_python.__file__).parent / "node_modules/axe-core/axe.min.js"
WIDE, PHONE = (1280, 900), (390, 844)
DESKTOPS = (WIDE, (1400, 900), (800, 900))

NOTES_RESIZING = "addEventListener('resize', () => { window.resizedAt = performance.now(); });"
# Two frames deliver what was sent to the page; a resize makes it draw anew within 150 ms, and what was drawn before is gone.
SETTLES = """
const done = arguments[0];
const settle = () => {
  const left = window.resizedAt === undefined ? 0 : window.resizedAt + 250 - performance.now();
  if (left > 0) setTimeout(settle, left); else done();
};
requestAnimationFrame(() => requestAnimationFrame(settle));
"""
TEXTS = "return Array.from(document.querySelectorAll(arguments[0])).map(one => one.textContent)"


def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTES_RESIZING})
    return driver


def with_steps(page, steps, name):
    """The same page with its steps repeated, each reading the one before it, to `steps` of them that name(step, i) changes."""
    found = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', page, re.S)
    data = json.loads(found.group(2))
    ops = data["ops"]
    data["ops"] = [{**name(ops[i % len(ops)], i), "from": [i - 1] if i else []} for i in range(steps)]
    text = json.dumps(data).replace("<", "\\u003c")
    return page[:found.start(2)] + text + page[found.end(2):]


def large(page, steps):
    return with_steps(page, steps, lambda op, i: {**op, "node": f"{op['node']}_{i}"})


def long_names(page):
    """Names that differ in their middle or behind their first node, operators and kernels as long as they come; the last two
    steps convert and have no name."""
    def name(op, i):
        node = f"/classifier/blocks.{i % 4}/self_attn/{'qkv'[i // 4 % 3]}_proj_of_a_long_name/{'MatMul' if i % 2 else 'Add'}"
        why = {**(op["why"] or {"rejected": [], "choices": 2, "measured": False}), "runner_up": "cpu.quantised.depthwise.nhwc.and.more"}
        return {**op, "node": f"{node}+{node}_{i}" if i < 46 else "", "op": "DequantizeLinear+" * 3 + "Conv+QuantizeLinear", "why": why,
                "kernel": "cpu.quantised.depthwise.dot.and.more", "layout_in": "NHWC16c", "layout_out": "NCHW16c"}
    return with_steps(page, 48, name)


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.chdir(cls.folder.name)
        subprocess.run([DEMO, "."], check=True)
        subprocess.run([FETTLE, "report", "enhance_x2.onnx", "--shape", "picture=1x3x64x96", "--seconds", "0.1", "--budget", "2", "--no-advice",
                        "--cache", "cache", "-o", "report.html"], check=True, stdout=subprocess.DEVNULL)
        pathlib.Path("large.html").write_text(large(pathlib.Path("report.html").read_text(), 300))
        pathlib.Path("long.html").write_text(long_names(pathlib.Path("report.html").read_text()))
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        os.chdir("/")
        cls.folder.cleanup()

    def open(self, page, dark=False, size=WIDE):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                  {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE})
        self.driver.get(pathlib.Path(page).resolve().as_uri())
        self.driver.execute_async_script(SETTLES)

    def find(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def cells(self, column):
        return [row.text.split("\n")[0] for row in self.find(f"#operator-table tbody td:nth-child({column})")]

    def test_asks_no_network_and_logs_no_error(self):
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.open("report.html")
        sent = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = {message["params"]["request"]["url"] for message in sent if message["method"] == "Network.requestWillBeSent"}
        self.assertEqual({url.split(":")[0] for url in urls} - {"file", "data"}, set())
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def test_sorts_filters_and_opens_lines(self):
        self.open("report.html")
        times = [float(text) for text in self.cells(3)]
        self.assertEqual(times, sorted(times, reverse=True))
        titles = self.find("#operator-table th button")
        titles[2].click()
        self.assertEqual([float(text) for text in self.cells(3)], sorted(times))
        titles[0].click()
        names = [button.get_attribute("title") for button in self.find("#operator-table .name")]
        self.assertEqual(names, sorted(names))
        self.assertEqual(self.find("#operator-table th")[0].get_attribute("aria-sort"), "ascending")
        self.find("#operator-filter")[0].send_keys("cpu.conv.")
        shown = self.find("#operator-table tbody tr")
        self.assertTrue(0 < len(shown) <= len(names))
        self.assertTrue(all("cpu.conv." in row.get_attribute("textContent") for row in shown))
        self.find("#operator-table .name")[0].click()
        details = self.find("#operator-table tr.details")[0].text
        for word in ("Why", "Kernel", "Work", "Rejected"):
            self.assertIn(word, details)
        self.find("#operator-filter")[0].send_keys(" no such words")
        self.assertEqual(self.find("#operator-table tbody tr"), [])

    def test_discs_explain_themselves_and_lead_to_their_lines(self):
        self.open("report.html")
        disc = self.find("#roofline-plot circle")[-1]
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", disc)
        webdriver.ActionChains(self.driver).move_to_element(disc).perform()
        self.assertIn("of the roofline", self.find("#tooltip")[0].text)
        disc.click()
        self.assertEqual(len(self.find("#operator-table tr.details")), 1)
        boxes = self.find("#network-plot g > g")
        self.assertEqual(len(boxes), len(self.find("#operator-table tbody tr")) - 1)

    def test_colours_follow_the_choice_and_the_theme(self):
        self.open("report.html")
        paper = lambda: self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        light = paper()
        self.find("#theme")[0].click()
        self.assertEqual(paper(), light)
        self.find("#theme")[0].click()
        dark = paper()
        self.assertNotEqual(dark, light)
        self.open("report.html", dark=True)
        self.assertEqual(paper(), dark)
        legend = self.find("#network-legend")[0].text
        self.find("#network-colours option[value=layout]")[0].click()
        self.assertNotEqual(self.find("#network-legend")[0].text, legend)

    def test_fits_a_phone(self):
        self.open("report.html", size=PHONE)
        width = self.driver.execute_script("return document.documentElement.scrollWidth")
        self.assertLessEqual(width, PHONE[0])

    def test_no_table_is_cut(self):
        for page in ("report.html", "long.html"):
            for size in DESKTOPS:
                self.open(page, size=size)
                cut = self.driver.execute_script(
                    "return Array.from(document.querySelectorAll('body, .scroll, section > div, .scroll td'))"
                    ".filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.outerHTML.slice(0, 200))")
                self.assertEqual(cut, [], (page, size))

    def test_different_steps_have_different_names(self):
        for page in ("report.html", "long.html", "large.html"):
            for size in (*DESKTOPS, PHONE):
                self.open(page, size=size)
                names, lines = (self.driver.execute_script(TEXTS, selector)
                                for selector in ("#operator-table .name", "#network-plot g > g > text:not(.quiet)"))
                self.assertEqual(len(set(names)), len(names), (page, size))
                self.assertEqual(len(set(lines)), len(lines), (page, size))

    def test_axe_finds_nothing_serious(self):
        for page, dark, size in (("report.html", False, WIDE), ("report.html", True, WIDE), ("report.html", False, PHONE)):
            self.open(page, dark, size)
            self.find("#operator-table .name")[0].click()
            self.driver.execute_script(AXE.read_text())
            found = self.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
            bad = [f"{one['impact']} {one['id']}: {one['nodes'][0]['html'][:120]}" for one in found["violations"]
                   if one["impact"] in ("serious", "critical")]
            self.assertEqual(bad, [], (page, dark, size))

    def test_300_steps_are_there_when_loading_ends(self):
        self.open("large.html")
        self.assertEqual(len(self.find("#operator-table tbody tr")), 300)
        spent = self.driver.execute_script(
            "const n = performance.getEntriesByType('navigation')[0]; return n.loadEventEnd - n.startTime")
        print(f"300 steps: {spent:.0f} ms to the end of loading", file=sys.stderr)

    @unittest.skipUnless(SHOTS, "no folder for screenshots was named")
    def test_screenshots(self):
        SHOTS.mkdir(parents=True, exist_ok=True)
        for name, dark, size in (("light", False, WIDE), ("dark", True, WIDE), ("phone", False, PHONE), ("phone_dark", True, PHONE),
                                 ("desktop", False, DESKTOPS[1])):
            self.open("report.html", dark, size)
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": size[0], "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE})
            self.assertTrue(self.driver.save_screenshot(str(SHOTS / f"report_{name}.png")))


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], verbosity=1, exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed, {len(result.skipped)} skipped")
    sys.exit(1 if bad else 0)
