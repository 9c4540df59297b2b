"""Programs that run while something is tested, each with its own folder and port."""
import contextlib
import importlib.machinery
import importlib.util
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 60
HERE = Path(__file__).resolve().parent


def load_conformance():
    """The runner of the conformance cases, as a module: it has the parser of their form."""
    path = HERE.parent / "conformance" / "http1" / "run"
    loader = importlib.machinery.SourceFileLoader("conformance", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("conformance", loader))
    sys.modules["conformance"] = module  # dataclasses look it up
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module, path.with_name("cases.txt")


def free_port():
    """Below those that the kernel gives away, or somebody else has it before it is used."""
    while True:
        port = random.randrange(15000, 30000)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def await_port(process, port):
    """Returns when somebody listens there."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args[0]} ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"{process.args[0]} does not listen")


class Servers:
    """Everything that was started here is ended, and every file removed, on leaving."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="weft-peers."))
        self.processes = []
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, command, **options):
        log = (self.folder / f"{len(self.processes)}.log").open("wb")
        options = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL} | options
        process = subprocess.Popen([str(word) for word in command], **options)
        log.close()
        self.processes.append(process)
        return process

    def start_ours(self, command):
        """A program that writes first where it serves. Its process and its port."""
        process = self.start(command, stdout=subprocess.PIPE, text=True)
        match = re.search(r"\d:(\d+)\b", process.stdout.readline())
        if not match:
            raise RuntimeError(f"{command[0]} does not say where it serves")
        return process, int(match[1])

    def end(self, process):
        """How a program of ours ended after SIGTERM: empty, or what is wrong."""
        process.terminate()
        status = process.wait(PATIENCE_S)
        self.processes.remove(process)
        return "" if status == 0 else f"{process.args[0]} ended with {status}"

    def new_folder(self, name):
        folder = self.folder / name
        folder.mkdir()
        os.chmod(self.folder, 0o755)
        return folder
