//===- BundleWriter.cpp - bundles as JSON -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Members come in a fixed order and defaults are left out, so equal bundles are
// equal bytes and a difference between two files is a difference that matters.
//
//===----------------------------------------------------------------------===//

#include "BundleNames.h"
#include "fa4/Runtime/Bundle.h"

#include "llvm/Support/raw_ostream.h"

namespace fa4::runtime {

namespace {

using llvm::json::OStream;

template <typename Range>
void writeExprs(OStream &json, llvm::StringRef key, const Range &exprs) {
  json.attributeArray(key, [&] {
    for (const Expr &expr : exprs) {
      expr.write(json);
    }
  });
}

template <typename Range>
void writeIntegers(OStream &json, llvm::StringRef key, const Range &numbers) {
  json.attributeArray(key, [&] {
    for (uint32_t number : numbers) {
      json.value(int64_t(number));
    }
  });
}

void writeExpr(OStream &json, llvm::StringRef key, const Expr &expr) {
  json.attributeBegin(key);
  expr.write(json);
  json.attributeEnd();
}

void writeParameter(OStream &json, const Parameter &parameter);

/// The members of one kind of parameter, inside an open object.
struct ParameterMembers {
  OStream &json;

  void operator()(const AddressParameter &address) const {
    json.attribute("kind", "address");
    json.attribute("of", address.tensor);
    if (!address.offset.isLiteral(0)) {
      writeExpr(json, "offset", address.offset);
    }
  }
  void operator()(const IntegerParameter &integer) const {
    json.attribute("kind", "i" + std::to_string(integer.bytes * 8));
    writeExpr(json, "value", integer.value);
  }
  void operator()(const FloatParameter &number) const {
    json.attribute("kind", "f32");
    if (!number.scalar.empty()) {
      json.attribute("scalar", number.scalar);
    }
    json.attribute("value", number.value);
  }
  void operator()(const TensorMapRecipe &map) const {
    json.attribute("kind", "tensor_map");
    json.attribute("of", map.tensor);
    if (!map.offset.isLiteral(0)) {
      writeExpr(json, "offset", map.offset);
    }
    json.attribute("type", elementName(map.type));
    writeExprs(json, "extents", map.extents);
    writeExprs(json, "strides", map.strides);
    writeIntegers(json, "box", map.box);
    writeIntegers(json, "element_strides", map.elementStrides);
    json.attribute("swizzle", nameOf(kSwizzleNames, map.swizzle));
    json.attribute("l2_promotion", nameOf(kPromotionNames, map.promotion));
    json.attribute("fill", nameOf(kFillNames, map.fill));
  }
  void operator()(const StructParameter &record) const {
    json.attribute("kind", "struct");
    json.attribute("bytes", int64_t(record.bytes));
    json.attributeArray("fields", [&] {
      for (const StructParameter::Field &field : record.fields) {
        json.object([&] {
          json.attribute("offset", int64_t(field.offset));
          json.attributeBegin("parameter");
          writeParameter(json, field.value);
          json.attributeEnd();
        });
      }
    });
  }
};

void writeParameter(OStream &json, const Parameter &parameter) {
  json.object([&] { std::visit(ParameterMembers{json}, parameter); });
}

void writeArgument(OStream &json, const Argument &argument) {
  json.object([&] {
    json.attribute("name", argument.name);
    json.attribute("kind", argument.isTensor ? "tensor" : "scalar");
    json.attribute("type", elementName(argument.type));
    if (argument.isTensor) {
      json.attribute("rank", int64_t(argument.rank));
      json.attribute("access", nameOf(kAccessNames, argument.access));
    }
  });
}

void writeLaunch(OStream &json, const Launch &launch) {
  json.object([&] {
    json.attribute("entry", launch.entry);
    writeExprs(json, "grid", launch.grid);
    if (launch.cluster) {
      writeIntegers(json, "cluster", *launch.cluster);
    }
    writeExprs(json, "block", launch.block);
    writeExpr(json, "dynamic_shared_bytes", launch.dynamicSharedBytes);
    json.attributeArray("parameters", [&] {
      for (const Parameter &parameter : launch.parameters) {
        writeParameter(json, parameter);
      }
    });
    json.attribute("programmatic_dependence", launch.programmaticDependence);
  });
}

} // namespace

void writeBundle(llvm::raw_ostream &os, const Bundle &bundle) {
  constexpr unsigned indent = 2;
  OStream json(os, indent);
  json.object([&] {
    json.attribute("schema_version", kBundleSchemaVersion);
    json.attribute("target", bundle.target);
    json.attribute("ptx", bundle.ptx);
    json.attributeArray("arguments", [&] {
      for (const Argument &argument : bundle.arguments) {
        writeArgument(json, argument);
      }
    });
    // Left out where there is none, as in bundles of before there were any.
    if (!bundle.conditions.empty()) {
      json.attributeArray("conditions", [&] {
        for (const Condition &condition : bundle.conditions) {
          json.object([&] {
            writeExpr(json, "holds", condition.holds);
            json.attribute("expected", condition.expected);
            writeExpr(json, "value", condition.value);
          });
        }
      });
    }
    json.attributeArray("workspaces", [&] {
      for (const Workspace &workspace : bundle.workspaces) {
        json.object([&] {
          json.attribute("name", workspace.name);
          writeExpr(json, "bytes", workspace.bytes);
          json.attribute("zero", workspace.zero);
        });
      }
    });
    json.attributeArray("launches", [&] {
      for (const Launch &launch : bundle.launches) {
        writeLaunch(json, launch);
      }
    });
  });
  os << '\n';
}

} // namespace fa4::runtime
