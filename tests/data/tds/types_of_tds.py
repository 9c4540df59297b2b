"""The types of TDS 7.4: how values go over the wire (MS-TDS 2.2.5.4 to 2.2.5.6)."""
import datetime
import re
import struct
import uuid
from decimal import Context, Decimal

DIGITS = Context(prec=60)  # more than any number has
PLP = 0xFFFF  # the length of a type whose values come in pieces
PLP_NULL = 0xFFFFFFFFFFFFFFFF
COLLATION = bytes([0x09, 0x04, 0xD0, 0x00, 0x34])
FIRST_DAY = datetime.date(1, 1, 1)
FIRST_DATETIME = datetime.date(1900, 1, 1)

FIXED = {0x30: 1, 0x32: 1, 0x34: 2, 0x38: 4, 0x7F: 8, 0x3B: 4, 0x3E: 8, 0x3A: 4, 0x3D: 8,
         0x3C: 8, 0x7A: 4}
INTEGERS = {0x30, 0x34, 0x38, 0x7F, 0x26}


class Reader:
    """Bytes that are taken from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at:self.at + count]
        if len(part) != count:
            raise ValueError("the message ends too early")
        self.at += count
        return part

    def number(self, layout):
        return struct.unpack("<" + layout, self.take(struct.calcsize(layout)))[0]

    def text(self, units):
        return self.take(units * 2).decode("utf-16-le")

    def is_at_end(self):
        return self.at >= len(self.data)

    def pieces(self):
        if self.number("Q") == PLP_NULL:
            return None
        data = b""
        while count := self.number("I"):
            data += self.take(count)
        return data


def time_length(scale):
    return 3 if scale <= 2 else 4 if scale <= 4 else 5


def time_text(units, scale):
    seconds, fraction = divmod(units, 10 ** scale)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{fraction:0{scale}}".rstrip("0").rstrip(".") if scale else "")


def read_parameter(reader):
    """A value with its type before it, as SQLite takes it."""
    code = reader.number("B")
    if code in FIXED:
        return scalar(code, reader.take(FIXED[code]), 0)
    if code == 0x1F:
        return None
    if code in (0x28,):
        length = reader.number("B")
        return scalar(code, reader.take(length), 0) if length else None
    if code in (0x29, 0x2A, 0x2B):
        scale = reader.number("B")
        length = reader.number("B")
        return scalar(code, reader.take(length), scale) if length else None
    if code in (0x22, 0x23, 0x63):
        reader.number("I")
        if code != 0x22:
            reader.take(5)
        length = reader.number("i")
        return None if length < 0 else scalar(code, reader.take(length), 0)
    if code in (0xA5, 0xAD, 0xA7, 0xAF, 0xE7, 0xEF):
        most = reader.number("H")
        if code not in (0xA5, 0xAD):
            reader.take(5)
        if most == PLP:
            data = reader.pieces()
        else:
            length = reader.number("H")
            data = None if length == 0xFFFF else reader.take(length)
        return None if data is None else scalar(code, data, 0)
    reader.number("B")  # the most that it can be
    scale = reader.take(2)[1] if code in (0x6A, 0x6C) else 0
    length = reader.number("B")
    return scalar(code, reader.take(length), scale) if length else None


def scalar(code, data, scale):
    if code in INTEGERS:
        return int.from_bytes(data, "little", signed=len(data) > 1)
    if code in (0x32, 0x68):
        return data[0]
    if code in (0x3B, 0x3E, 0x6D):
        return struct.unpack("<f" if len(data) == 4 else "<d", data)[0]
    if code in (0x6A, 0x6C):
        digits = str(int.from_bytes(data[1:], "little")).zfill(scale + 1)
        text = digits[:-scale] + "." + digits[-scale:] if scale else digits
        return text if data[0] else "-" + text
    if code == 0x24:
        return str(uuid.UUID(bytes_le=bytes(data)))
    if code == 0x28:
        return (FIRST_DAY + datetime.timedelta(int.from_bytes(data, "little"))).isoformat()
    if code == 0x29:
        return time_text(int.from_bytes(data, "little"), scale)
    if code == 0x2A:
        day = FIRST_DAY + datetime.timedelta(int.from_bytes(data[-3:], "little"))
        return f"{day.isoformat()}T{time_text(int.from_bytes(data[:-3], 'little'), scale)}"
    if code in (0x63, 0xE7, 0xEF):
        return data.decode("utf-16-le")
    if code in (0x23, 0xA7, 0xAF):
        return data.decode("cp1252")
    if code in (0x22, 0xA5, 0xAD):
        return bytes(data)
    raise ValueError(f"a parameter of type {code:#x}")


class Column:
    """A column of a result: its type by what was declared, else by the first of its values."""

    def __init__(self, name, declared, value):
        self.name = name
        word, _, arguments = (declared or "").lower().replace(" ", "").partition("(")
        numbers = [int(n) for n in re.findall(r"\d+", arguments)]
        self.scale = numbers[0] if numbers else 7
        self.kind = word
        if word.startswith("decimal_"):
            self.kind = "decimal"
            self.precision, self.scale = (int(n) for n in word.split("_")[1:3])
        if not declared:
            self.kind = {int: "bigint", float: "float", bytes: "varbinary"}.get(
                type(value), "nvarchar")

    INTEGER_SIZES = {"bigint": 8, "int": 4, "integer": 4, "smallint": 2, "tinyint": 1}
    TIMES = {"time": 0x29, "datetime2": 0x2A, "datetimeoffset": 0x2B}

    def type_info(self):
        kind = self.kind
        if kind in self.INTEGER_SIZES:
            return bytes([0x26, self.INTEGER_SIZES[kind]])
        if kind in self.TIMES:
            return bytes([self.TIMES[kind], self.scale])
        known = {"bit": [0x68, 1], "float": [0x6D, 8], "real": [0x6D, 4], "date": [0x28],
                 "datetime": [0x6F, 8], "money": [0x6E, 8], "uniqueidentifier": [0x24, 16],
                 "decimal": [0x6A, 17, getattr(self, "precision", 38), self.scale]}
        if kind in known:
            return bytes(known[kind])
        if kind in ("varbinary", "binary", "blob"):
            return bytes([0xA5]) + struct.pack("<H", PLP)
        return bytes([0xE7]) + struct.pack("<H", PLP) + COLLATION

    def metadata(self):
        name = self.name.encode("utf-16-le")
        return struct.pack("<IH", 0, 1) + self.type_info() + bytes([len(name) // 2]) + name

    def encode(self, value):
        kind = self.kind
        pieces = self.type_info()[0] in (0xA5, 0xE7)
        if value is None:
            return struct.pack("<Q", PLP_NULL) if pieces else b"\0"
        if pieces:
            data = value if isinstance(value, bytes) else str(value).encode("utf-16-le")
            piece = struct.pack("<I", len(data)) + data if data else b""
            return struct.pack("<Q", len(data)) + piece + struct.pack("<I", 0)
        data = self.bytes_of(kind, value)
        return bytes([len(data)]) + data

    def bytes_of(self, kind, value):
        if kind in self.INTEGER_SIZES:
            size = self.INTEGER_SIZES[kind]
            return int(value).to_bytes(size, "little", signed=size > 1)
        if kind == "bit":
            return bytes([int(value) != 0])
        if kind in ("float", "real"):
            return struct.pack("<d" if kind == "float" else "<f", float(value))
        if kind == "uniqueidentifier":
            return uuid.UUID(value).bytes_le
        if kind == "decimal":
            units = int(DIGITS.scaleb(Decimal(str(value)), self.scale))
            return bytes([units >= 0]) + abs(units).to_bytes(16, "little")
        if kind == "money":
            units = int(DIGITS.scaleb(Decimal(str(value)), 4))
            return struct.pack("<iI", units >> 32, units & 0xFFFFFFFF)
        return self.moment(kind, value)

    def moment(self, kind, value):
        """Of a text such as 2026-11-18T08:00:00.5+02:00, or a part of it."""
        found = re.fullmatch(r"(?:(\d+)-(\d+)-(\d+))?[T ]?(?:(\d+):(\d+):(\d+)(?:\.(\d+))?)?"
                             r" ?([+-]\d+:\d+)?", value)
        year, month, day, hours, minutes, seconds, fraction, offset = found.groups()
        date = datetime.date(int(year), int(month), int(day)) if year else FIRST_DAY
        whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
        if kind == "datetime":
            units = whole * 300 + round(float("0." + (fraction or "0")) * 300)
            return struct.pack("<iI", (date - FIRST_DATETIME).days, units)
        days = (date - FIRST_DAY).days
        shift = 0
        if offset:
            shift = (int(offset[1:3]) * 60 + int(offset[4:])) * (-1 if offset[0] == "-" else 1)
            moved = days * 86400 + whole - shift * 60
            days, whole = divmod(moved, 86400)
        digits = (fraction or "")[:self.scale].ljust(self.scale, "0")
        units = whole * 10 ** self.scale + int(digits or 0)
        time = units.to_bytes(time_length(self.scale), "little")
        if kind == "date":
            return days.to_bytes(3, "little")
        if kind == "time":
            return time
        tail = struct.pack("<h", shift) if kind == "datetimeoffset" else b""
        return time + days.to_bytes(3, "little") + tail
