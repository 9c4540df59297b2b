"""WebSocket with the Python library websockets."""
import asyncio

import websockets

PATIENCE_S = 60
SIZES = (0, 1, 125, 126, 127, 1000, 65535, 65536, 300_000)


def run(url, talk, **options):
    """Connects, talks, and gives back what talk() says: empty, or what is wrong."""
    async def whole():
        async with websockets.connect(url, max_size=None, **options) as socket:
            return await talk(socket)
    return asyncio.run(asyncio.wait_for(whole(), PATIENCE_S))


async def echo(socket):
    for size in SIZES:
        for message in ("\u00e9" * (size // 2) + "x" * (size % 2), bytes(size)):
            await socket.send(message)
            if await socket.recv() != message:
                return f"{size} bytes came back changed"
    return ""


async def plain(socket):
    return f"has {socket.extensions}" if socket.extensions else await echo(socket)


async def compressed(socket):
    if [extension.name for extension in socket.extensions] != ["permessage-deflate"]:
        return f"not compressed: {socket.extensions}"
    return await echo(socket)


async def fragments(socket):
    for pieces in (["a", "", "b\u00e9"], [b"\x00", b"\xff" * 70_000, b""], ["x" * 200_000] * 3):
        await socket.send(pieces)
        if await socket.recv() != type(pieces[0])().join(pieces):
            return f"{len(pieces)} fragments came back changed"
    return ""


async def pings(socket):
    for payload in (b"", b"x" * 125):
        await asyncio.wait_for(await socket.ping(payload), PATIENCE_S)
    return ""


async def closed_by_us(socket):
    await socket.close(4001, "enough")
    return "" if socket.close_code == 4001 else f"answered with {socket.close_code}"


async def closed_by_server(socket):
    await socket.send("close 4002")
    try:
        return f"received {await socket.recv()!r}"
    except websockets.ConnectionClosed as closed:
        received = closed.rcvd
    if received is None or (received.code, received.reason) != (4002, "as asked"):
        return f"closed with {received}"
    return ""


async def broken_text(socket):
    """RFC 6455 8.1: text that is no UTF-8 fails the connection."""
    await socket.write_frame(True, 1, b"\xff\xfe")
    try:
        return f"received {await socket.recv()!r}"
    except websockets.ConnectionClosed as closed:
        code = closed.rcvd and closed.rcvd.code
    return "" if code == 1007 else f"closed with {code}"


def tests(servers, server_program):
    server, port = servers.start_ours([server_program, "127.0.0.1:0", servers.folder])
    url = f"ws://127.0.0.1:{port}/websocket"
    for name, talk, options in (
            ("echo", plain, {"compression": None}),
            ("echo, compressed", compressed, {}),
            ("fragments", fragments, {"compression": None}),
            ("fragments, compressed", fragments, {}),
            ("pings", pings, {}),
            ("closed by the client", closed_by_us, {}),
            ("closed by the server", closed_by_server, {}),
            ("text that is none", broken_text, {"compression": None})):
        yield (f"websockets: {name}",
               lambda talk=talk, options=options: run(url, talk, **options))
    yield "the server of messages ends in order", lambda: servers.end(server)
