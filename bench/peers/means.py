"""Geometric means of a table in a page, so that what the page says of its rows can be checked.

    bench/peers/means.py PAGE HEADING COLUMN=TEXT:RATIOS...     bench/peers/means.py docs/performance.md "Standard networks" 1=fp32/:2

Of the first table below the first heading that holds HEADING: the mean of column RATIOS over the rows whose column COLUMN
begins with TEXT, to two digits; columns count from 1. Cells that hold - are left out. All means in one line.
"""

import math
import pathlib
import re
import sys


def rows_below(page, heading):
    """The cells of each row of the first table below a heading."""
    rows, below = [], False
    for line in page.read_text().splitlines():
        if below and line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip("|").split("|")])
        elif rows:
            break
        below = below or (line.startswith("#") and heading in line)
    return rows


def mean(rows, column, text, ratios):
    cells = [row[ratios - 1].strip("*") for row in rows if row[column - 1].startswith(text)]
    values = [float(cell) for cell in cells if cell != "-"]
    return math.exp(sum(map(math.log, values)) / len(values))


def main(page, heading, *wanted):
    rows = rows_below(pathlib.Path(page), heading)
    means = []
    for one in wanted:
        column, text, ratios = re.fullmatch(r"(\d+)=([^:]+):(\d+)", one).groups()
        means.append(f"{mean(rows, int(column), text, int(ratios)):.2f}")
    print(*means)


if __name__ == "__main__":
    main(*sys.argv[1:])
