# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bf16 conversion, and that `pip install .` gives a package that works."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

import fa4

ROOT = Path(__file__).resolve().parents[2]


def test_bf16_rounds_to_nearest_even():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-9, np.inf, -np.inf, 3.4e38, 0.0, -0.0], np.float32)
    back = fa4.from_bf16(fa4.to_bf16(values))
    assert back[:4].tolist() == [1.0, 1.0, 1 + 2**-6, -1.0]
    assert np.isinf(back[4:7]).all() and np.signbit(back[8])
    assert np.isnan(fa4.from_bf16(fa4.to_bf16(np.array([np.nan, -np.nan], np.float32)))).all()
    bits = np.arange(1 << 16, dtype=np.uint16)
    finite = ~np.isnan(fa4.from_bf16(bits))
    assert (fa4.to_bf16(fa4.from_bf16(bits))[finite] == bits[finite]).all()


def test_installs(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(ROOT / "pyproject.toml", source)
    shutil.copytree(ROOT / "python", source / "python", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    place = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation",
                    "--disable-pip-version-check", "--target", str(place), str(source)], check=True, timeout=120)
    assert (place / "fa4" / "py.typed").exists()
    code = "import fa4, sys; print(fa4.__file__); print(sorted(fa4.__all__) == sorted(set(fa4.__all__) & set(dir(fa4))))"
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={"PYTHONPATH": str(place)},
                            capture_output=True, text=True, check=True)
    assert result.stdout.split() == [str(place / "fa4" / "__init__.py"), "True"]
