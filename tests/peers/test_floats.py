"""Floats as text, against NumPy: random bits, powers of two, short decimals, whole numbers."""

import subprocess

import numpy as np
import pytest

import mounting

PROGRAM = mounting.BUILD / "tests/peers/number-text"
COUNT = 250_000


def samples(kind, bits, mantissa):
    random = np.random.default_rng(1)
    steps = np.arange(1 << (bits.itemsize * 8 - 1 - mantissa), dtype=bits) << bits.type(mantissa)
    edges = np.concatenate([steps, steps - bits.type(1), steps + bits.type(1),
                            np.arange(4000, dtype=bits)])
    decimals = random.integers(-10**7, 10**7, COUNT) / 10.0 ** random.integers(0, 9, COUNT)
    powers = [float(f"{digits}e{exponent}") for digits in range(1, 100)
              for exponent in range(-330, 308)]
    whole = random.integers(0, 2**62, COUNT) >> random.integers(0, 62, COUNT)
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([
            random.integers(0, np.iinfo(bits).max, COUNT, dtype=bits, endpoint=True).view(kind),
            edges.view(kind), decimals.astype(kind), np.array(powers).astype(kind),
            whole.astype(kind)])


@pytest.mark.parametrize("name,mantissa", [("f32", 23), ("f64", 52)])
def test_text(report, name, mantissa):
    kind = np.dtype("f" + str(int(name[1:]) // 8))
    values = samples(kind, np.dtype(f"u{kind.itemsize}"), mantissa)
    done = subprocess.run([PROGRAM, name], input=values.tobytes(), capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    assert len(lines) == len(values)
    different = [(line, str(value)) for line, value in zip(lines, values) if line != str(value)]
    assert not different, different[:10]
    report(f"{len(values)} texts of {name} compared with NumPy, 0 differences")
