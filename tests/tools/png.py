"""PNG files of 8 and 16 bits, grey or RGB, with or without alpha, as plain lists: what tests need, no more."""

import pathlib
import struct
import zlib

CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
COLOUR_TYPES = {channels: kind for kind, channels in CHANNELS.items()}


class Png:
    """`pixels[y][x]` is a tuple of samples, alpha last; 2 and 4 channels have alpha."""

    def __init__(self, pixels, bits=8):
        self.pixels, self.bits = pixels, bits

    height = property(lambda self: len(self.pixels))
    width = property(lambda self: len(self.pixels[0]))
    channels = property(lambda self: len(self.pixels[0][0]))


def write(path, png):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    sample = "B" if png.bits == 8 else "H"
    rows = b"".join(b"\0" + struct.pack(f">{png.width * png.channels}{sample}", *(v for pixel in row for v in pixel))
                    for row in png.pixels)
    header = struct.pack(">IIBBBBB", png.width, png.height, png.bits, COLOUR_TYPES[png.channels], 0, 0, 0)
    pathlib.Path(path).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
                                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def paeth(left, up, corner):
    return min((left, up, corner), key=lambda value: abs(left + up - corner - value))


def unfiltered(kind, line, above, step):
    """One line of bytes with its filter undone; `step` is the bytes of a pixel."""
    line = bytearray(line)
    for i in range(len(line)):
        left, up, corner = (line[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
        line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]) & 255
    return line


def read(path):
    data, at, packed = pathlib.Path(path).read_bytes(), 8, b""
    while at < len(data):
        (size,), kind = struct.unpack_from(">I", data, at), data[at + 4:at + 8]
        body, at = data[at + 8:at + 8 + size], at + size + 12
        if kind == b"IHDR":
            width, height, bits, colour_type = struct.unpack_from(">IIBB", body)
        elif kind == b"IDAT":
            packed += body
    channels, raw = CHANNELS[colour_type], zlib.decompress(packed)
    step = channels * bits // 8
    line, rows = bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        line = unfiltered(raw[start], raw[start + 1:start + 1 + width * step], line, step)
        samples = struct.unpack(f">{width * channels}{'B' if bits == 8 else 'H'}", line)
        rows.append([samples[i:i + channels] for i in range(0, len(samples), channels)])
    return Png(rows, bits)
