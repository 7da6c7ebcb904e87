# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch descriptions of the peers, in the form of docs/bundle.schema.json."""


def extent(name, dim):
    return ["extent", name, dim]


def stride(name, dim):
    return ["stride", name, dim]


def ceildiv(a, b):
    return ["ceildiv", a, b]


def tensor(name, kind, rank, access="read"):
    return {"name": name, "kind": "tensor", "type": kind, "rank": rank, "access": access}


def address(name):
    return {"kind": "address", "of": name}


def i32(value):
    return {"kind": "i32", "value": value}


def i64(value):
    return {"kind": "i64", "value": value}


def f32(value):
    return {"kind": "f32", "value": value}


def struct(size, *fields):
    return {"kind": "struct", "bytes": size, "fields": [{"offset": at, "parameter": p} for at, p in fields]}


def box_map(name, kind, order, box, swizzle="128"):
    """A map over `name` whose dimension d is the tensor's dimension order[d]."""
    return {
        "kind": "tensor_map", "of": name, "type": kind,
        "extents": [extent(name, d) for d in order],
        "strides": [stride(name, d) for d in order[1:]],
        "box": list(box), "element_strides": [1] * len(box),
        "swizzle": swizzle, "l2_promotion": "none", "fill": "zero",
    }


def launch(kernel, grid, parameters, cluster=None):
    """`kernel` says entry, threads and bytes of dynamic shared memory."""
    result = {"entry": kernel["entry"], "grid": grid}
    if cluster:
        result["cluster"] = cluster
    result.update(block=[kernel["threads"], 1, 1], dynamic_shared_bytes=kernel["shared"], parameters=parameters,
                  programmatic_dependence=False)
    return result


def bundle(target, ptx, arguments, launches, workspaces=None):
    spaces = [{"name": name, "bytes": size, "zero": False} for name, size in (workspaces or {}).items()]
    return {"schema_version": 1, "target": target, "ptx": ptx, "arguments": arguments, "workspaces": spaces,
            "launches": launches}
