# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_picture.py FILE: an SVG file that parses, refers to nothing else, and draws inside
of its own size."""

import re
import sys
import xml.etree.ElementTree as xml

path = sys.argv[1]
root = xml.parse(path).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
text = open(path, encoding="utf-8").read().replace("http://www.w3.org/2000/svg", "")
assert not re.search(r"https?:|@import|<script|<image|href=", text), "refers to something else"
# A character of the monospaced fonts is 0.605 of their size wide.
sizes = {"small": 10.5 * 0.605, "title": 8.6, "note": 7.2, "badgetext": 6.05}
for node in root.iter():
    kind = node.tag.rpartition("}")[2]
    style = (node.get("class") or "").split()
    if kind == "rect" and "back" not in style:
        left, top = float(node.get("x")), float(node.get("y"))
        right, bottom = left + float(node.get("width")), top + float(node.get("height"))
    elif kind == "text":
        length = len(node.text or "") * next((sizes[s] for s in style if s in sizes), 12 * 0.605)
        left = float(node.get("x")) - length * {"middle": 0.5, "end": 1}.get(node.get("text-anchor"), 0)
        right, top = left + length, float(node.get("y"))
        bottom = top
    else:
        continue
    inside = left >= -1 and top >= -1 and right <= width + 1 and bottom <= height + 1
    assert inside, f"{kind} {node.text or node.attrib} ends at {right}, {bottom}"
print(f"well-formed, self-contained, nothing outside of {width:.0f} x {height:.0f}")
