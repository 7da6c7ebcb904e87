# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions. All messages say what was expected and what came."""

from __future__ import annotations

import re
from dataclasses import dataclass


class FA4Error(Exception):
    """Base of every exception of this package."""


class ToolError(FA4Error):
    """A program of FA4 (fa4c, fa4-sim) is not there or ended in a way it never should."""


class ArgumentError(FA4Error, ValueError):
    """A tensor, a number or an option does not fit what was compiled."""


class DriverError(FA4Error):
    """NVIDIA's driver, or the package cuda-bindings, refused a call or is not there."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler at its place in the module; lines and columns from 1."""

    file: str
    line: int
    column: int
    severity: str  # "error", "warning", "remark" or "note"
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"


class CompileError(FA4Error):
    """The module does not compile. `diagnostics` are the located messages in their order
    (a note belongs to the error before it), `log` is all that fa4c printed."""

    def __init__(self, diagnostics: list[Diagnostic], log: str):
        self.diagnostics = diagnostics
        self.log = log
        shown = [str(d) for d in diagnostics if d.severity in ("error", "note")]
        super().__init__("\n".join(shown) if shown else log.strip())


class SimulationFault(FA4Error):
    """The simulated kernel did something that no kernel may: a deadlock, a wrong access.
    `report` is the simulator's text, by thread and line of the PTX."""

    def __init__(self, report: str):
        self.report = report
        super().__init__(report.strip().splitlines()[0] if report.strip() else "a fault without a report")


_LOCATED = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+): "
                      r"(?P<severity>error|warning|remark|note): (?P<message>.*)$", re.M)


def parse_diagnostics(log: str) -> list[Diagnostic]:
    """The located messages in what fa4c printed, without dumps of whole operations."""
    return [
        Diagnostic(m["file"], int(m["line"]), int(m["column"]), m["severity"], m["message"])
        for m in _LOCATED.finditer(log)
        if not m["message"].startswith("see current operation")
    ]
