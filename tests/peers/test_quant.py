"""The number formats on every path: dequantization against gguf-py over random blocks of every type
that it has, narrowing against NumPy over patterns spread over all float32."""

import subprocess

import gguf
import numpy as np
import pytest

import mounting

PROGRAM = mounting.BUILD / "tests/peers/quant-values"
PATHS = subprocess.run([PROGRAM, "paths"], capture_output=True, check=True).stdout.decode().split()
N_BYTES = 3_000_000


def converted(path, what, data):
    return subprocess.run([PROGRAM, path, what], input=data, capture_output=True, check=True).stdout


def n_different(ours, theirs):
    """How many float32 differ in a bit; one NaN is as good as another."""
    assert len(ours) == len(theirs)
    nan = np.isnan(ours) & np.isnan(theirs)
    return np.count_nonzero((ours.view(np.uint32) != theirs.view(np.uint32)) & ~nan)


def known_types():
    for kind in gguf.GGMLQuantizationType:
        block = np.zeros((1, gguf.GGML_QUANT_SIZES[kind][1]), np.uint8)
        try:
            gguf.dequantize(block, kind)
        except NotImplementedError:
            continue
        yield kind


@pytest.mark.parametrize("kind", list(known_types()), ids=lambda kind: kind.name)
def test_dequantize(report, kind):
    size = gguf.GGML_QUANT_SIZES[kind][1]
    n_blocks = N_BYTES // size
    if kind == gguf.GGMLQuantizationType.F16:
        blocks = np.arange(65536, dtype=np.uint16).view(np.uint8).reshape(-1, 2)
    else:
        blocks = np.random.default_rng(int(kind)).integers(0, 256, (n_blocks, size), np.uint8)
    with np.errstate(all="ignore"):
        theirs = gguf.dequantize(np.ascontiguousarray(blocks), kind).astype("<f4").ravel()
    for path in PATHS:
        ours = np.frombuffer(converted(path, kind.name, blocks.tobytes()), "<f4")
        assert n_different(ours, theirs) == 0, path
    report(f"{kind.name}: {len(theirs)} values on {len(PATHS)} paths, 0 differences from gguf-py")


def patterns():
    """Every 1021st pattern, so all low bits; every exponent with dense mantissas around halves."""
    spread = np.arange(0, 2**32, 1021, dtype=np.uint64).astype(np.uint32)
    tops = np.arange(0, 2**32, 2**13, dtype=np.uint64)
    offsets = (2**32 - 1, 0, 1, 0xfff, 0x1000, 0x1001, 0x7fff, 0x8000, 0x8001)
    near = np.concatenate([(tops + offset) % 2**32 for offset in offsets])
    return np.concatenate([spread, near.astype(np.uint32)])


def bf16(bits):
    """Nearest, ties to even, by arithmetic of another kind than ours: the two neighbours and the
    distances to them, in float64."""
    values = bits.view(np.float32).astype(np.float64)
    down = (bits & 0xffff0000).view(np.float32).astype(np.float64)
    up_bits = (bits & 0xffff0000).astype(np.uint64) + 0x10000
    up = np.where((up_bits & 0x7fffffff) == 0x7f800000, np.copysign(2.0**128, values),
                  up_bits.astype(np.uint32).view(np.float32).astype(np.float64))
    odd = bits >> 16 & 1
    nearer_up = (abs(up - values) < abs(values - down)) | (
        (abs(up - values) == abs(values - down)) & (odd == 1))
    nearer_up &= np.isfinite(values)
    return (bits >> 16) + nearer_up


@pytest.mark.parametrize("path", PATHS)
def test_narrow(report, path):
    bits = patterns()
    values = bits.view(np.float32)
    with np.errstate(all="ignore"):
        wanted = {"to-f16": values.astype(np.float16).view(np.uint16), "to-bf16": bf16(bits)}
    nan = np.isnan(values)
    for what, want in wanted.items():
        got = np.frombuffer(converted(path, what, values.tobytes()), np.uint16)
        assert np.array_equal(got[~nan], want[~nan]), what
        infinity = 0x7c00 if what == "to-f16" else 0x7f80
        assert np.all((got[nan] & 0x7fff) > infinity), what
    report(f"narrowing, {path}: {len(bits)} patterns to float16 and bfloat16, 0 differences")
