# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bench/h200's report: which numbers are compared with which."""

import importlib.util
from pathlib import Path

spec = importlib.util.spec_from_file_location("report", Path(__file__).resolve().parents[2] / "bench/h200/report.py")
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)


def test_ratios(tmp_path):
    path = tmp_path / "h200.csv"
    path.write_text("direction,dtype,head_dim,seqlen,causal,impl,tflops,spread\n"
                    "forward,bf16,128,2048,0,fa4,300.0,0.01\nforward,bf16,128,2048,0,fa4-deep,330.0,0.01\n"
                    "forward,bf16,128,2048,0,cudnn,300.0,0.01\nforward,f16,128,2048,0,jax-f16,200.0,0.01\n"
                    "forward,bf16,128,2048,0,yardstick-a,400.0,0.01\nforward,bf16,128,2048,0,yardstick-b,440.0,0.01\n"
                    "forward,bf16,64,512,1,cudnn,100.0,0.01\n")
    cases = report.load(path)
    rows = list(report.table(cases))
    assert rows[2] == "| 64 | causal | 512 | – | – | 100 | – | – | – |"
    assert rows[3] == "| 128 | full | 2048 | 330 | 440 | 300 | 200 | 1.10 | 0.75 |"
    picture = report.svg(cases)
    assert picture.count("<rect") == 5 + len(report.COLOURS)
