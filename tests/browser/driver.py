"""Headless Chromium, driven through chromedriver (the W3C WebDriver protocol, by hand)."""
import base64
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

PATIENCE_S = 120
UNAVAILABLE = 69
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # what WebDriver calls an element
WIDE, PHONE = (1100, 1150), (500, 1700)


class DriverError(Exception):
    pass


class Driver:
    """A session of chromedriver."""

    def __init__(self, port, arguments):
        self.base = f"http://127.0.0.1:{port}"
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments},
                  "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{made['sessionId']}"

    def call(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise DriverError(json.load(error)["value"]["message"]) from None

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script):
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def text(self, selector):
        return self.run(f"return document.querySelector({json.dumps(selector)}).textContent")

    def find(self, selector):
        found = self.call("POST", "/element", {"using": "css selector", "value": selector})
        return f"/element/{found[ELEMENT]}"

    def type(self, selector, text):
        self.call("POST", self.find(selector) + "/value", {"text": text})

    def click(self, selector):
        self.call("POST", self.find(selector) + "/click")

    def window(self):
        return self.call("GET", "/window")

    def new_window(self):
        return self.call("POST", "/window/new", {"type": "tab"})["handle"]

    def switch_to(self, window):
        self.call("POST", "/window", {"handle": window})

    def command(self, name, parameters):
        """One of the DevTools."""
        self.call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def picture(self, path, size, scheme):
        width, height = size
        self.command("Emulation.setDeviceMetricsOverride",
                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.command("Emulation.setEmulatedMedia",
                     {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        self.run("scrollTo(0, 0)")
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))


def eventually(what, condition):
    """The first value of the condition that is true."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {PATIENCE_S} s")


@contextmanager
def running(arguments, pattern, output):
    """A program that says what it offers, by the pattern; stopped in the end. Gives the match."""
    with output.open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield process, eventually(
            f"{arguments[0]} says where it listens",
            lambda: re.search(pattern, output.read_text(errors="replace"))).group(1)
    finally:
        process.terminate()
        try:
            process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def take_pictures(driver, folder, prefix=""):
    """Light, dark and as on a phone; the page must fit each."""
    for name, size, scheme in (("light", WIDE, "light"), ("dark", WIDE, "dark"),
                               ("phone", PHONE, "light")):
        driver.picture(folder / f"{prefix}{name}.png", size, scheme)
        wide = driver.run("return document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{name}: the page is {wide} pixels too wide"


def problems_of(driver):
    """What the browser's console has of errors."""
    return [entry for entry in driver.call("POST", "/se/log", {"type": "browser"})
            if entry["level"] == "SEVERE"]


def try_in_browser(command, try_page):
    """Starts the program, which says where it serves, and a browser; calls try_page(driver, url,
    folder for pictures). Gives the exit status."""
    pictures = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    pictures.mkdir(parents=True, exist_ok=True)
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not chromedriver:
        print("chromium and chromedriver are not installed (scripts/setup browser)")
        return UNAVAILABLE
    with tempfile.TemporaryDirectory(prefix="weft-browser.") as scratch:
        scratch = Path(scratch)
        # The page is our own; as root, and in most containers, there is no sandbox to be had.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking",
                     f"--user-data-dir={scratch / 'profile'}"]
        serving = running(command, r"(http://\S+)", scratch / "program")
        driving = running([chromedriver, "--port=0"], r"successfully on port (\d+)",
                          scratch / "driver")
        with serving as (demo, url), driving as (_, port):
            try:
                driver = Driver(port, arguments)
            except (DriverError, OSError) as error:
                print(f"Chromium does not start: {str(error).splitlines()[0]}")
                return UNAVAILABLE
            try:
                try_page(driver, url, pictures)
            finally:
                # The page is still open: its stream and its socket must not keep the program.
                begun = time.monotonic()
                demo.terminate()
                ended = demo.wait(timeout=PATIENCE_S)
                driver.call("DELETE", "")
            assert ended == 0, f"the program ended with {ended}"
            assert time.monotonic() - begun < 15, "the program took long to end"  # a drain has 30 s
    print(f"the pictures: {pictures}")
    return 0
