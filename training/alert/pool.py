"""Processes that draw slices into files that are mapped to memory, as long as they are let."""

import multiprocessing
import os
import pathlib

import numpy as np

import backgrounds
import slices

COLUMNS = {"slices": (np.uint8, (len(slices.KEPT), 6, slices.SIDE // 2, slices.SIDE // 2)), "boxes": (np.float32, (slices.MOST_BOXES, 4)),
           "about": (np.float32, (2,))}  # fmt: skip


def material(folder):
    """What prepare.py wrote, but for what is held out."""
    pictures = [backgrounds.read_picture(path) for path in sorted((folder / "pictures").glob("*.jpg"))]
    clips = []
    for path in sorted((folder / "clips").iterdir()):
        frames = backgrounds.read_clip(path)
        clips += [frames[i : i + backgrounds.CHUNK] for i in range(0, len(frames), backgrounds.CHUNK)]
    return slices.Material(pictures, clips)


def columns(folder, rows, mode):
    return {name: np.memmap(folder / f"{name}.bytes", kind, mode, shape=(rows, *shape)) for name, (kind, shape) in COLUMNS.items()}


class Pool:
    """`workers` processes, each of which fills its share of `rows`."""

    def __init__(self, folder, rows, workers, source, seed=1):
        self.folder, self.share, self.workers = pathlib.Path(folder), rows // workers, workers
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rows = columns(self.folder, self.share * workers, "w+")
        self.done = multiprocessing.RawArray("i", workers)
        self.read = [0] * workers
        context = multiprocessing.get_context("fork")
        self.processes = [context.Process(target=self.fill, args=(i, source, seed), daemon=True) for i in range(workers)]
        for process in self.processes:
            process.start()

    def fill(self, worker, source, seed):
        os.nice(5)
        rng = np.random.default_rng([seed, worker])
        filled = 0
        while filled < self.share:
            for name, made in zip(COLUMNS, slices.sheet_of_slices(rng, source)):
                n = min(len(made), self.share - filled)
                self.rows[name][worker * self.share + filled : worker * self.share + filled + n] = made[:n]
            filled += n
            self.done[worker] = filled

    def news(self):
        """Of each worker the rows since the last call, as slices."""
        for worker in range(self.workers):
            begin, end = self.read[worker], self.done[worker]
            self.read[worker] = end
            if end > begin:
                yield slice(worker * self.share + begin, worker * self.share + end)
