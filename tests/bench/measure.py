"""Measuring in pairs: one side and the other in turn, so that what else the machine does meets both;
the median of the ratios is the result."""

import dataclasses
import math
import statistics
import sys
import time

RATE, TIME, COUNT = "GB/s", "µs", ""  # of a rate more is better, of a time less


@dataclasses.dataclass
class Row:
    what: str
    unit: str
    ours: list
    other: list = dataclasses.field(default_factory=list)
    against: str = ""
    target: float | None = None
    at_most: bool = False

    @property
    def ratios(self):
        return [a / b for a, b in zip(self.ours, self.other, strict=True)]

    @property
    def result(self):
        """What the target is about: the ratio, or where there is no other side, the value."""
        return statistics.median(self.ratios if self.other else self.ours)

    @property
    def met(self):
        if self.target is None:
            return ""
        good = self.result <= self.target if self.at_most else self.result >= self.target
        return "yes" if good else "no"

    def fields(self):
        ratio = quartiles = other = ""
        if self.other:
            ratio, other = number(self.result), number(statistics.median(self.other))
            quartiles = spread(self.ratios)
        sign = "≤ " if self.at_most else "≥ "
        target = "" if self.target is None else sign + number(self.target)
        return (self.what, ratio, quartiles, target, self.met, number(statistics.median(self.ours)),
                other, self.unit, self.against)


HEADER = ("what", "ratio", "quartiles", "target", "met", "ours", "other", "unit", "other is")


def number(value):
    if value == 0 or value >= 1000:
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


def spread(values):
    if len(values) < 2:
        return ""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{number(low)}–{number(high)}"


class Table:
    """The rows, in order. `only` is a word that a row's name must hold; with `pause` there is as
    long a break after each measurement as it took."""

    def __init__(self, n_pairs, only="", pause=False):
        self.n_pairs, self.only, self.pause, self.rows = n_pairs, only, pause, []

    def wants(self, *names):
        return any(self.only in name for name in names)

    def add(self, row):
        self.rows.append(row)
        shown = [field for field in row.fields() if field]
        print("  " + "  ".join(shown), file=sys.stderr, flush=True)

    def pairs(self, what, ours, other, unit, against, target=None, at_most=False, n=None):
        """Calls ours() and other() in turn. Both give a number, or both the same count of numbers
        that `what`, a list then, names."""
        names = [what] if isinstance(what, str) else what
        if not self.wants(*names):
            return
        got = ([], [])
        for i in range(n or self.n_pairs):
            for side in ((0, 1), (1, 0))[i % 2]:
                start = time.monotonic()
                values = (ours, other)[side]()
                if self.pause:
                    time.sleep(time.monotonic() - start)
                got[side].append(values if isinstance(values, (list, tuple)) else [values])
        targets = target if isinstance(target, (list, tuple)) else [target] * len(names)
        for name, wanted, a, b in zip(names, targets, zip(*got[0]), zip(*got[1]), strict=True):
            self.add(Row(name, unit, list(a), list(b), against, wanted, at_most))

    def value(self, what, values, unit, target=None):
        """A measure that has no other side."""
        self.add(Row(what, unit, list(values), target=target, at_most=True))

    def print(self):
        lines = [HEADER, *(row.fields() for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADER))]
        for line in lines:
            cells = [field.ljust(width) if i in (0, len(HEADER) - 1) else field.rjust(width)
                     for i, (field, width) in enumerate(zip(line, widths, strict=True))]
            print("  ".join(cells).rstrip())

    def save(self, path):
        path.write_text("".join("\t".join(line) + "\n"
                                for line in [HEADER, *(row.fields() for row in self.rows)]))
