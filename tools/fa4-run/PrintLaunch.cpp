//===- PrintLaunch.cpp - a launch as numbers --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers are the evaluator's own: other launchers compare theirs with them.
//
//===----------------------------------------------------------------------===//

#include "PrintLaunch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fa4;

template <typename Range>
static void printNumbers(json::OStream &json, StringRef name, const Range &numbers) {
  json.attributeArray(name, [&] {
    for (auto number : numbers) {
      json.value(int64_t(number));
    }
  });
}

static void printMap(json::OStream &json, uint32_t offset, const runtime::ResolvedTensorMap &map) {
  json.object([&] {
    json.attribute("offset", int64_t(offset));
    json.attribute("address", int64_t(map.address));
    json.attribute("type", runtime::elementName(map.type));
    printNumbers(json, "extents", map.extents);
    printNumbers(json, "strides", map.strides);
    printNumbers(json, "box", map.box);
    printNumbers(json, "element_strides", map.elementStrides);
    json.attribute("swizzle", int64_t(map.swizzle));
    json.attribute("l2_promotion", int64_t(map.promotion));
    json.attribute("fill", int64_t(map.fill));
  });
}

static void printLaunch(json::OStream &json, const runtime::ResolvedLaunch &launch) {
  json.object([&] {
    json.attribute("entry", launch.entry);
    printNumbers(json, "grid", launch.grid);
    printNumbers(json, "block", launch.block);
    if (launch.cluster) {
      printNumbers(json, "cluster", *launch.cluster);
    }
    json.attribute("dynamic_shared_bytes", int64_t(launch.dynamicSharedBytes));
    json.attribute("programmatic_dependence", launch.programmaticDependence);
    json.attributeArray("parameters", [&] {
      for (const runtime::ResolvedParameter &parameter : launch.parameters) {
        json.object([&] {
          json.attribute("bytes", toHex(parameter.bytes, /*LowerCase=*/true));
          json.attributeArray("maps", [&] {
            for (const auto &[offset, map] : parameter.maps) {
              printMap(json, offset, map);
            }
          });
        });
      }
    });
  });
}

Error tool::printLaunches(raw_ostream &os, const runtime::Bundle &bundle,
                          ArrayRef<GivenArgument> arguments, int64_t processors) {
  runtime::Binding binding;
  binding.processors = processors;
  uint64_t address = 0;
  for (const GivenArgument &given : arguments) {
    const std::string &name = given.declared->name;
    if (given.declared->isTensor) {
      address += uint64_t(1) << 32;
      binding.tensors[name] = runtime::bindDense(address, given.declared->type, given.shape);
    } else {
      binding.integers[name] = given.integer;
      binding.floats[name] = given.number;
    }
  }
  if (Error e = runtime::checkBinding(bundle, binding)) {
    return e;
  }
  Expected<std::vector<uint64_t>> sizes = runtime::workspaceBytes(bundle, binding);
  if (!sizes) {
    return sizes.takeError();
  }
  for (const runtime::Workspace &workspace : bundle.workspaces) {
    address += uint64_t(1) << 32;
    binding.tensors[workspace.name] = runtime::bindDense(address, runtime::ElementType::U8, {});
  }
  std::vector<runtime::ResolvedLaunch> launches;
  for (const runtime::Launch &launch : bundle.launches) {
    Expected<runtime::ResolvedLaunch> resolved = runtime::resolveLaunch(launch, binding);
    if (!resolved) {
      return resolved.takeError();
    }
    launches.push_back(std::move(*resolved));
  }
  json::OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    printNumbers(json, "workspaces", *sizes);
    json.attributeArray("launches", [&] {
      for (const runtime::ResolvedLaunch &launch : launches) {
        if (!launch.isEmpty()) {
          printLaunch(json, launch);
        }
      }
    });
  });
  os << '\n';
  return Error::success();
}
