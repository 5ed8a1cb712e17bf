"""Coding frames and reading them back, with the step of the quantiser that each block was coded with.

Frames are lists of luma planes, H x W bytes, sides multiples of 16; chroma is coded as grey. The level of a block is
what H.264 calls QP: 6 log2 of the quantiser's step over 0.625, whatever the codec calls its own number.
"""

import io

import av
import numpy as np
from av.sidedata.encparams import VideoEncParams  # noqa: F401 (its presence is the requirement)

BLOCK = 16


def encode(frames, codec, options, rate=25):
    """The coded bytes, in Matroska."""
    height, width = frames[0].shape
    file = io.BytesIO()
    with av.open(file, "w", format="matroska") as container:
        stream = container.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.thread_count = 1
        stream.options = {name: str(value) for name, value in options.items()}
        grey = np.full((height // 2, width), 128, np.uint8)
        for luma in frames:
            frame = av.VideoFrame.from_ndarray(np.concatenate([luma, grey]), format="yuv420p")
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def luma_of(frame):
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return rows[: frame.height, : frame.width].copy()


def levels_of(frame, codec, shape):
    """Blocks of 16 x 16 as float levels, or None where the decoder does not say."""
    for data in frame.side_data:
        if data.type.name != "VIDEO_ENC_PARAMS" or data.nb_blocks == 0:
            continue
        rows, columns = shape[0] // BLOCK, shape[1] // BLOCK
        # AVVideoBlockParams: src_x, src_y, width, height, delta_qp, of 32 bits each.
        record = np.dtype((np.int32, data.block_size // 4))
        blocks = np.frombuffer(data, record, data.nb_blocks, data.blocks_offset)
        levels = np.zeros((rows, columns), np.float32)
        x, y = blocks[:, 0] // BLOCK, blocks[:, 1] // BLOCK
        inside = (x < columns) & (y < rows)
        levels[y[inside], x[inside]] = data.qp + blocks[inside, 4]
        if codec in ("mpeg4", "mpeg2video", "msmpeg4v3"):
            # These divide by twice their number.
            levels = 6 * np.log2(np.maximum(levels, 1) * 2 / 0.625)
        return levels
    return None


def decode(data, codec):
    """A list of (luma, levels or None) in the order of presentation."""
    result = []
    with av.open(data if isinstance(data, str) else io.BytesIO(data)) as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        context.options = {"export_side_data": "venc_params"}
        context.thread_count = 1
        for frame in container.decode(stream):
            if frame.format.name not in ("yuv420p", "yuvj420p"):
                frame = frame.reformat(format="yuv420p")
            luma = luma_of(frame)
            result.append((luma, levels_of(frame, codec, luma.shape)))
    return result
