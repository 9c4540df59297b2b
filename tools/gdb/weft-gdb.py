"""Fibers in gdb.

    weft fibers                 all fibers of the program: number, state, name, what each waits on
    weft fiber N                enter fiber N: its frames follow frame #0 of the thread
    weft fiber N COMMAND...     enter it, run the command (bt, info locals, ...), and leave again
    weft fiber all COMMAND...   the same for each of them
    weft thread                 leave: the thread's own frames again

On a live process and on a core file; nothing is written to either. It needs no debug information of
the library: the library says itself where things lie (weft_debug_layout). A fiber that runs is
entered by going to its thread. x86_64 only.

A core file that the kernel wrote has everything. One by gdb's own generate-core-file lacks the
stacks of fibers where the kernel has light guards (Linux 6.13 and later): gdb leaves out what lies
beside memory that it cannot read.

Installed beside the library, as libweft.so.VERSION-gdb.py. gdb loads it by itself where it may
(`add-auto-load-safe-path FOLDER` in ~/.gdbinit); elsewhere: `source PATH`.
"""
import struct

import gdb
import gdb.unwinder

LAYOUT = "weft_debug_layout"
VERSION = 2
# The words of the layout, in their order; see weft/fiber/switch/debug_layout.h.
WORDS = ("version", "fiber_bytes", "chunk_older", "chunk_used", "chunk_begin", "word", "reason",
         "object", "busy", "scheduler", "context", "stack", "stack_bottom", "extra", "labelled",
         "name", "label", "state_mask", "waiting_first", "waiting_last")
REASON_BYTES = 16


def memory(address, size):
    return gdb.selected_inferior().read_memory(address, size).tobytes()


def pointer(address):
    return struct.unpack("<Q", memory(address, 8))[0]


class Layout:
    """Where the library keeps its fibers."""

    def __init__(self):
        address = None
        try:
            # The symbol may have no type, so its address is all that is asked for.
            address = int(gdb.parse_and_eval(f"(unsigned long) &{LAYOUT}"))
        except gdb.error:
            raise gdb.GdbError("weft: the program has no libweft, or it is not loaded yet")
        raw = memory(address, 4 * len(WORDS))
        for name, value in zip(WORDS, struct.unpack(f"<{len(WORDS)}I", raw)):
            setattr(self, name, value)
        if self.version != VERSION:
            raise gdb.GdbError(f"weft: the library has layout {self.version}, this script is for "
                               f"{VERSION}: take the one that was installed with it")
        address += 4 * len(WORDS)
        newest, self.reasons, self.reason_count = struct.unpack("<3Q", memory(address, 24))
        self.chunk = pointer(newest)

    def reason_name(self, reason):
        if reason >= self.reason_count:
            return "?"
        text = memory(self.reasons + REASON_BYTES * reason, REASON_BYTES)
        return text.split(b"\0")[0].decode()


def called(layout, extra):
    """The name that a fiber was given, else its label."""
    places = [extra & ~layout.labelled]
    if not extra & layout.labelled:
        places = [extra + layout.name, pointer(extra + layout.label)]
    for place in filter(None, places):
        text, size = struct.unpack("<2Q", memory(place, 16))
        if size:
            return memory(text, min(size, 200)).decode(errors="replace")
    return "unnamed"


class Fiber:
    def __init__(self, layout, address, number):
        self.address = address
        self.number = number
        block = memory(address, layout.fiber_bytes)

        def at(offset):
            return struct.unpack_from("<Q", block, offset)[0]
        self.used = at(layout.scheduler) != 0
        if not self.used:
            return
        self.stack_pointer = at(layout.context)
        self.stack = at(layout.stack)
        self.bottom = pointer(self.stack + layout.stack_bottom) if self.stack else 0
        state = at(layout.word) & layout.state_mask
        self.object = at(layout.object)
        self.name = called(layout, at(layout.extra))
        self.thread = None
        if block[layout.busy]:
            self.state = "running"
        elif not self.stack:
            self.state = "not started, or ended"
        elif layout.waiting_first <= state <= layout.waiting_last:
            self.state = "waiting on " + layout.reason_name(block[layout.reason])
            if self.object:
                self.state += f" {self.object:#x}"
        else:
            self.state = "ready"

    def owns(self, stack_pointer):
        return self.stack and self.bottom <= stack_pointer < self.stack


def all_fibers():
    layout = Layout()
    fibers = []
    number = 0
    chunk = layout.chunk
    while chunk:
        used = pointer(chunk + layout.chunk_used)
        for address in range(chunk + layout.chunk_begin, used, layout.fiber_bytes):
            fiber = Fiber(layout, address, number)
            number += 1
            if fiber.used:
                fibers.append(fiber)
        chunk = pointer(chunk + layout.chunk_older)
    find_threads([fiber for fiber in fibers if fiber.state == "running"])
    return fibers


def find_threads(running):
    """Which thread each of them runs on: the one whose stack pointer is on its stack."""
    before = gdb.selected_thread()
    left = entered.fiber
    entered.set(None)
    for thread in gdb.selected_inferior().threads() if running else ():
        thread.switch()
        stack_pointer = int(gdb.parse_and_eval("(unsigned long) $sp"))
        for fiber in running:
            if fiber.owns(stack_pointer):
                fiber.thread = thread
    if before:
        before.switch()
    entered.set(left)


class Entered(gdb.unwinder.Unwinder):
    """Lets the frames of a fiber that does not run follow frame #0 of the thread."""

    def __init__(self):
        super().__init__("weft-fiber")
        self.fiber = None
        self.at = None

    def set(self, fiber):
        self.fiber = None
        self.at = None
        gdb.invalidate_cached_frames()
        if fiber:
            frame = gdb.newest_frame()
            self.at = (int(frame.read_register("rsp")), int(frame.pc()))
            self.fiber = fiber
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if not self.fiber:
            return None
        stack_pointer = pending.read_register("rsp")
        instruction = pending.read_register("rip")
        if (int(stack_pointer), int(instruction)) != self.at:
            return None
        info = pending.create_unwind_info(FrameId(stack_pointer, instruction))
        # What a fiber leaves on its stack: see weft/fiber/switch/context_switch.h.
        saved = self.fiber.stack_pointer
        word = stack_pointer.type
        info.add_saved_register("rip", gdb.Value(pointer(saved)).cast(instruction.type))
        info.add_saved_register("rbp", gdb.Value(pointer(saved + 8)).cast(word))
        info.add_saved_register("rsp", gdb.Value(saved + 16).cast(word))
        return info


class FrameId:
    def __init__(self, stack_pointer, instruction):
        self.sp = stack_pointer
        self.pc = instruction


entered = Entered()
gdb.unwinder.register_unwinder(None, entered, replace=True)


class Weft(gdb.Command):
    """Commands for the fibers of a Weft program: weft fibers, weft fiber N, weft thread."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


class Fibers(gdb.Command):
    """List all fibers: number, state, name."""

    def __init__(self):
        super().__init__("weft fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        fibers = all_fibers()
        for fiber in fibers:
            where = f" in thread {fiber.thread.num}" if fiber.thread else ""
            mark = "*" if entered.fiber and entered.fiber.address == fiber.address else " "
            print(f"{mark} {fiber.number:<5} {fiber.name:<24} {fiber.state}{where}")
        print(f"{len(fibers)} fibers")


class EnterFiber(gdb.Command):
    """Enter a fiber: weft fiber N [COMMAND...], or weft fiber all COMMAND..."""

    def __init__(self):
        super().__init__("weft fiber", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        which, _, command = argument.strip().partition(" ")
        fibers = all_fibers()
        if which != "all":
            fibers = [fiber for fiber in fibers if str(fiber.number) == which]
            if not fibers:
                raise gdb.GdbError("weft: which fiber? `weft fibers` lists them")
        if not command:
            if which == "all":
                raise gdb.GdbError("weft: and what is to be done in each of them?")
            self.enter(fibers[0])
            print(f"fiber {fibers[0].number} '{fibers[0].name}': {fibers[0].state}; its frames "
                  "follow #0. `weft thread` leaves it.")
            return
        for fiber in fibers:
            self.apply(fiber, command)

    @staticmethod
    def enter(fiber):
        if fiber.thread:
            entered.set(None)
            fiber.thread.switch()
        elif fiber.state == "running":
            raise gdb.GdbError("weft: it is between two threads at this moment")
        elif fiber.state == "not started":
            raise gdb.GdbError("weft: it has not started yet, so it has no frames")
        else:
            entered.set(fiber)
            gdb.newest_frame().older().select()

    def apply(self, fiber, command):
        before = gdb.selected_thread()
        left = entered.fiber
        print(f"\nfiber {fiber.number} '{fiber.name}': {fiber.state}")
        try:
            self.enter(fiber)
            gdb.execute(command)
        except gdb.error as failure:
            print(failure)
        finally:
            before.switch()
            entered.set(left)


class LeaveFiber(gdb.Command):
    """Leave the fiber that was entered: the thread's own frames again."""

    def __init__(self):
        super().__init__("weft thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        entered.set(None)


Weft()
Fibers()
EnterFiber()
LeaveFiber()
