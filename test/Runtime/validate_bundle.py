# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Validates bundles against the schema, with just the keywords that it uses.

A keyword outside of that list is an error, so the schema cannot outgrow the test."""

import json
import sys
from pathlib import Path

ANNOTATIONS = {"$schema", "$defs", "title", "description"}


def is_type(value, name):
    if isinstance(value, bool):
        return name == "boolean"
    return {
        "object": lambda: isinstance(value, dict),
        "array": lambda: isinstance(value, list),
        "string": lambda: isinstance(value, str),
        "integer": lambda: isinstance(value, int) or (isinstance(value, float) and value.is_integer()),
        "number": lambda: isinstance(value, (int, float)),
    }.get(name, lambda: False)()


def equal(a, b):
    return type(a) is type(b) and a == b


class Validator:
    def __init__(self, schema):
        self.root = schema

    def resolve(self, reference):
        node = self.root
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]
        return node

    def accepts(self, value, schema):
        """True if the value fits; every keyword has its own check below."""
        for keyword, rule in schema.items():
            if keyword in ANNOTATIONS:
                continue
            check = getattr(self, "check_" + keyword.lstrip("$"), None)
            if check is None:
                raise SystemExit(f"expected a keyword that this validator knows, but got {keyword}")
            if not check(value, rule, schema):
                return False
        return True

    def check_ref(self, value, rule, _):
        return self.accepts(value, self.resolve(rule))

    def check_type(self, value, rule, _):
        return is_type(value, rule)

    def check_const(self, value, rule, _):
        return equal(value, rule)

    def check_enum(self, value, rule, _):
        return any(equal(value, choice) for choice in rule)

    def check_oneOf(self, value, rule, _):
        return sum(self.accepts(value, choice) for choice in rule) == 1

    def check_minLength(self, value, rule, _):
        return not isinstance(value, str) or len(value) >= rule

    def check_minimum(self, value, rule, _):
        return not is_type(value, "number") or value >= rule

    def check_maximum(self, value, rule, _):
        return not is_type(value, "number") or value <= rule

    def check_minItems(self, value, rule, _):
        return not isinstance(value, list) or len(value) >= rule

    def check_maxItems(self, value, rule, _):
        return not isinstance(value, list) or len(value) <= rule

    def check_prefixItems(self, value, rule, _):
        return not isinstance(value, list) or all(self.accepts(v, s) for v, s in zip(value, rule))

    def check_items(self, value, rule, schema):
        start = len(schema.get("prefixItems", ()))
        return not isinstance(value, list) or all(self.accepts(v, rule) for v in value[start:])

    def check_required(self, value, rule, _):
        return not isinstance(value, dict) or all(key in value for key in rule)

    def check_properties(self, value, rule, _):
        return not isinstance(value, dict) or all(self.accepts(value[k], s) for k, s in rule.items() if k in value)

    def check_additionalProperties(self, value, rule, schema):
        return rule is not False or not isinstance(value, dict) or set(value) <= set(schema["properties"])


def main():
    schema_path, folder = map(Path, sys.argv[1:])
    schema = json.loads(schema_path.read_text(encoding="utf-8"))
    validator = Validator(schema)
    text = (folder / "good.json").read_text(encoding="utf-8")
    print("good.json:", "accepted" if validator.accepts(json.loads(text), schema) else "refused")
    accepted = []
    changes = [line.split(" => ") for line in (folder / "broken.txt").read_text(encoding="utf-8").splitlines()]
    for old, new, *_ in changes:
        compact = json.dumps(json.loads(text), separators=(",", ":"))
        if old not in compact:
            raise SystemExit(f"expected good.json to contain {old}")
        if validator.accepts(json.loads(compact.replace(old, new, 1)), schema):
            accepted.append(new)
            print(f"{old} => {new}: accepted")
    print(f"refused {len(changes) - len(accepted)} of {len(changes)} broken bundles, {len(accepted)} accepted")


if __name__ == "__main__":
    main()
