# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the conformance set into a folder.

usage: build.py DIR [--cubin PTXAS [--without RESULTS] | --variants]

With --cubin the scalar variants of a family share a kernel, and cubins are made
for hopper.py; --without leaves out the cases that the results file has. With
--variants every variant is a kernel of its own, which is what fa4-sim-replay
runs. Either way DIR gets cases.json and inputs.bin.
"""

import argparse
import json
import os
import subprocess
from array import array
from concurrent.futures import ThreadPoolExecutor

import conformance

KEYS = ("name", "grid", "block", "output", "shared", "maps", "part")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--cubin", metavar="PTXAS")
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--without", metavar="RESULTS", help="cases that are recorded in this file")
    options = parser.parse_args()
    folder = options.folder
    recorded = json.load(open(options.without))["results"] if options.without else {}
    os.makedirs(folder, exist_ok=True)
    listed, placed = [], {}
    with open(os.path.join(folder, "inputs.bin"), "wb") as inputs:
        for case in conformance.all_cases(options.variants, recorded):
            if options.only not in case["name"]:
                continue
            key = case.get("pool") or case["name"]
            if key not in placed:
                data = array("I", case["input"]).tobytes()
                placed[key] = (inputs.tell(), len(data))
                inputs.write(data)
            index = len(listed)
            listed.append({key: case[key] for key in KEYS})
            listed[-1].update(ptx=index, at=placed[key][0], bytes=placed[key][1])
            with open(os.path.join(folder, f"{index}.ptx"), "w") as file:
                file.write(case["ptx"])
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(listed, file)

    def assemble(index):
        path = os.path.join(folder, str(index))
        subprocess.run([options.cubin, "-arch=sm_90a", path + ".ptx", "-o", path + ".cubin"],
                       check=True)
        os.remove(path + ".ptx")

    if options.cubin:
        with ThreadPoolExecutor(2) as workers:
            list(workers.map(assemble, range(len(listed))))


if __name__ == "__main__":
    main()
