# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's numbers of a launch are those of lib/Runtime's evaluator."""

import pytest
from conftest import RUNTIME, resolved_by_run

import fa4
from fa4._arrays import ELEMENT_BYTES, _dense_strides
from fa4._bundle import Values, formula


def resolved_by_python(bundle, shapes, scalars, processors=7):
    values = Values(processors=processors)
    addresses = {}
    for argument in bundle.arguments:
        name = argument["name"]
        if argument["kind"] == "scalar":
            bundle.bind_scalar(argument, scalars[name], values)
            continue
        values.extents[name] = shapes[name]
        values.strides[name] = _dense_strides(shapes[name], ELEMENT_BYTES[argument["type"]])
        addresses[name] = (len(addresses) + 1) << 32
    bundle.check_conditions(values)
    sizes = bundle.workspace_bytes(values)
    for workspace in bundle.workspaces:
        addresses[workspace["name"]] = (len(addresses) + 1) << 32
    launches = []
    for launch in bundle.launches(values):
        parameters = []
        for parameter in launch.parameters:
            data = bytearray(parameter.data)
            for at, name, offset in parameter.addresses:
                data[at:at + 8] = (addresses[name] + offset).to_bytes(8, "little")
            maps = [{"offset": at, "address": addresses[m.tensor] + m.offset, "type": m.type, "extents": m.extents,
                     "strides": m.strides, "box": m.box, "element_strides": m.element_strides, "swizzle": m.swizzle,
                     "l2_promotion": m.promotion, "fill": m.fill} for at, m in parameter.maps]
            parameters.append({"bytes": data.hex(), "maps": maps})
        shown = {"entry": launch.entry, "grid": list(launch.grid), "block": list(launch.block),
                 "dynamic_shared_bytes": launch.shared_bytes, "programmatic_dependence": launch.dependent,
                 "parameters": parameters}
        if launch.cluster:
            shown["cluster"] = list(launch.cluster)
        launches.append(shown)
    return {"workspaces": sizes, "launches": launches}


@pytest.mark.parametrize("n", [1, 3, 0, -4])
@pytest.mark.parametrize("shape", [(2, 300, 64), (1, 1, 64), (0, 5, 64), (3, 0, 64)])
def test_every_kind_of_parameter(good, shape, n):
    words = [f"q=zeros:{'x'.join(map(str, shape))}", "o=empty:300x64", f"n={n}", "scale=0.3"]
    expected = resolved_by_run(RUNTIME / "bundles/good.json", words)
    assert resolved_by_python(good.bundle, {"q": shape, "o": (300, 64)}, {"n": n, "scale": 0.3}) == expected


def test_affine(affine):
    expected = resolved_by_run(RUNTIME / "Inputs/affine.json", ["y=zeros:5", "n=9", "factor=0.125"])
    assert resolved_by_python(affine.bundle, {"y": (5,)}, {"n": 9, "factor": 0.125}) == expected


@pytest.mark.parametrize("b, s, h", [(1, 1, 1), (2, 1000, 6), (0, 4, 2), (3, 0, 1), (1, 33, 1)])
def test_compiled_kernel(causal, tmp_path, b, s, h):
    path = causal.save(tmp_path)
    shape = f"{b}x{s}x{h}x64"
    words = [*(f"{name}=empty:{shape}" for name in "qkvo"), f"lse=empty:{b}x{h}x{s}"]
    shapes = {**dict.fromkeys("qkvo", (b, s, h, 64)), "lse": (b, h, s)}
    assert resolved_by_python(causal.bundle, shapes, {}, processors=148) == resolved_by_run(path, words, processors=148)


@pytest.mark.parametrize("tree, expected", [
    (["floordiv", -7, 2], -4), (["ceildiv", -7, 2], -3), (["mod", -7, 2], 1), (["mod", 7, -2], -1),
    (["align", 5, 4], 8), (["select", 0, 1, 2], 2), (["<", 1, 2], 1), (["==", 1, 2], 0), (["max", 3, 9, 4], 9),
])
def test_operators(tree, expected):
    assert formula(tree)(Values()) == expected


@pytest.mark.parametrize("tree", [["*", 1 << 40, 1 << 40], ["floordiv", 1, 0], ["mod", 1, 0],
                                  ["floordiv", -(1 << 63), -1]])
def test_no_wrapped_number(tree):
    with pytest.raises(fa4.ArgumentError):
        formula(tree)(Values())
