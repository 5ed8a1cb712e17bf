"""The plot of docs/performance.md: each ratio of its table of standard networks as a dot, and their geometric means.

    bench/peers/plot.py docs/performance.md >docs/performance.svg

One line for each machine and kind (fp32, int8); the axis is logarithmic. scripts/check-docs compares the file with what this
prints.
"""

import math
import pathlib
import sys

from means import mean, rows_below

#: Column of the table (from 1), what the line is called.
COLUMNS = [(2, "Zen 5, 1 thread"), (3, "Zen 5, 2 threads"), (4, "Xeon with AMX, 1 thread"), (5, "Xeon with AMX, 2 threads"),
           (6, "Xeon held to AVX2, 1 thread"), (7, "Zen 3, 1 thread"), (8, "Zen 3, 2 threads")]
LEFT, RIGHT, TOP, LINE = 220, 760, 34, 18
LEAST, MOST = 0.75, 10
STYLE = """text { font: 12px sans-serif; fill: #333 } .grid { stroke: #ccc } .one { stroke: #333 }
.fp32 { fill: #1f6fb4; fill-opacity: .5 } .int8 { fill: #c8651b; fill-opacity: .5 } .mean { fill: none; stroke: #333; stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #555 } .one, .mean { stroke: #ddd } }"""


def x_of(ratio):
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LEAST) / math.log(MOST / LEAST)


def axis(bottom):
    for ratio in (0.8, 1, 1.5, 2, 3, 5, 8):
        x = f"{x_of(ratio):.1f}"
        yield f'<line x1="{x}" x2="{x}" y1="{TOP - 8}" y2="{bottom}" class="{"one" if ratio == 1 else "grid"}"/>'
        yield f'<text x="{x}" y="{TOP - 14}" text-anchor="middle">{ratio:g}</text>'


def line(rows, column, name, kind, y):
    yield f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{name}, {kind}</text>'
    for row in rows:
        cell = row[column - 1].strip("*")
        if row[0].startswith(kind + "/") and cell != "-":
            yield (f'<circle cx="{x_of(float(cell)):.1f}" cy="{y}" r="4" class="{kind}">'
                   f"<title>{row[0]}: {cell}</title></circle>")
    x = x_of(mean(rows, 1, kind + "/", column))
    yield f'<path d="M{x:.1f} {y - 7}V{y + 7}" class="mean"/>'


def main(page):
    rows = rows_below(pathlib.Path(page), "Standard networks")
    lines = [(column, name, kind) for kind in ("fp32", "int8") for column, name in COLUMNS]
    bottom = TOP + LINE * len(lines)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {RIGHT + 20} {bottom + 24}" role="img">')
    print(f"<style>{STYLE}</style>")
    print(*axis(bottom), sep="\n")
    for number, (column, name, kind) in enumerate(lines):
        print(*line(rows, column, name, kind, TOP + LINE * number + LINE // 2), sep="\n")
    print(f'<text x="{LEFT - 190}" y="{bottom + 16}">the rival\'s time over Fettle\'s: right of 1 Fettle is faster; '
          "dots: networks, lines: geometric means</text>")
    print("</svg>")


if __name__ == "__main__":
    main(*sys.argv[1:])
