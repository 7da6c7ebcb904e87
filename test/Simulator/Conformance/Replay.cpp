//===- Replay.cpp - runs the conformance set in the simulator -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fa4-sim-replay DIR OUT. DIR holds cases.json, inputs.bin and one PTX
// file per case as build.py writes them; OUT receives the raw output words of
// all cases one after the other. One line per case on stdout:
// `<offset> <bytes> <ok|first fault> <name>`, then one line per row of the
// opcode table: `row <arch> <opcode> <covered> <modifiers used> <modifiers not
// used> <modifiers of sm_100 on not used>`.
//
//===----------------------------------------------------------------------===//

#include "../../../lib/Simulator/Opcodes.h"
#include "fa4/Simulator/Simulator.h"
#include "fa4/Simulator/TensorMap.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <map>
#include <set>

using namespace llvm;
using namespace fa4::sim;

static MapElement elementNamed(StringRef name) {
  return StringSwitch<MapElement>(name)
      .Case("u8", MapElement::U8)
      .Case("u16", MapElement::U16)
      .Case("u32", MapElement::U32)
      .Case("s32", MapElement::S32)
      .Case("u64", MapElement::U64)
      .Case("s64", MapElement::S64)
      .Case("f16", MapElement::F16)
      .Case("f32", MapElement::F32)
      .Case("f64", MapElement::F64)
      .Case("bf16", MapElement::BF16)
      .Case("f32_ftz", MapElement::F32Ftz)
      .Case("tf32", MapElement::TF32)
      .Default(MapElement::TF32Ftz);
}

static Swizzle swizzleNamed(StringRef name) {
  return StringSwitch<Swizzle>(name)
      .Case("32", Swizzle::B32)
      .Case("64", Swizzle::B64)
      .Case("128", Swizzle::B128)
      .Default(Swizzle::None);
}

static TensorMap readMap(const json::Object &recipe, uint64_t base) {
  TensorMap map;
  map.type = elementNamed(*recipe.getString("type"));
  map.swizzle = swizzleNamed(*recipe.getString("swizzle"));
  map.nanFill = *recipe.getString("fill") == "nan";
  map.base = base;
  map.rank = recipe.getArray("sizes")->size();
  map.strides[0] = mapElementBytes(map.type);
  for (unsigned d = 0; d < map.rank; ++d) {
    auto number = [&](StringRef key, unsigned at) {
      return uint64_t(*(*recipe.getArray(key))[at].getAsInteger());
    };
    map.sizes[d] = number("sizes", d);
    map.box[d] = number("box", d);
    map.elementStrides[d] = number("elementStrides", d);
    if (d > 0) {
      map.strides[d] = number("strides", d - 1);
    }
  }
  return map;
}

/// Per row the modifiers used, with the number of their group.
using Coverage = std::map<const OpcodeInfo *, std::set<std::pair<unsigned, std::string>>>;

/// Notes which rows and modifiers the statements of a kernel use.
static void cover(const ptx::Block &block, Coverage &coverage) {
  for (const std::unique_ptr<ptx::Statement> &statement : block) {
    cover(statement->block, coverage);
    if (statement->kind != ptx::Statement::Kind::Instruction) {
      continue;
    }
    if (const OpcodeInfo *row = OpcodeTable::get().lookup(statement->instruction)) {
      SmallVector<Type, 4> types;
      SmallVector<ModifierUse, 8> uses;
      std::string why;
      checkModifiers(statement->instruction, *row, types, why, &uses);
      for (const ModifierUse &use : uses) {
        coverage[row].insert({use.group, use.name.str()});
      }
      coverage[row];
    }
  }
}

/// False if a kernel for sm_90a uses a modifier that the table gives to sm_100.
static bool printCoverage(const Coverage &coverage) {
  bool right = true;
  for (const OpcodeInfo &row : OpcodeTable::get().rows()) {
    auto found = coverage.find(&row);
    std::vector<StringRef> used, unused, later;
    SmallVector<StringRef, 16> groups;
    row.modifiers.split(groups, ' ', -1, /*KeepEmpty=*/false);
    for (auto [number, group] : enumerate(groups)) {
      group.consume_front("?");
      group.consume_front(":");
      for (StringRef modifier : split(group, '|')) {
        bool isLater = modifier.consume_front("^");
        bool isUsed = found != coverage.end() && found->second.count({number, modifier.str()});
        if (isUsed && isLater) {
          errs() << "error: expected '" << row.name << "' to have '." << modifier
                 << "' from sm_100 on, but got it in a kernel for sm_90a\n";
          right = false;
        }
        (isUsed ? used : isLater ? later : unused).push_back(modifier);
      }
    }
    StringRef arch = row.arch == Arch::Sm100a ? "sm_100a" : "sm_90a";
    outs() << "row\t" << arch << "\t" << row.name << "\t" << (found != coverage.end()) << "\t"
           << join(used, " ") << "\t" << join(unused, " ") << "\t" << join(later, " ") << "\n";
  }
  return right;
}

/// Runs one case; the text is `ok` or what went wrong.
static std::string runCase(const json::Object &entry, StringRef ptx, ArrayRef<uint8_t> input,
                           MutableArrayRef<uint8_t> output, Coverage &coverage) {
  Expected<std::unique_ptr<Program>> program = Program::load(ptx);
  if (!program) {
    return "load: " + toString(program.takeError());
  }
  Expected<const Kernel *> kernel = (*program)->kernel("conformance");
  if (!kernel) {
    return "load: " + toString(kernel.takeError());
  }
  for (const std::unique_ptr<ptx::Function> &function : (*program)->module().functions) {
    cover(function->body, coverage);
  }
  Options options;
  options.threads = 1;
  GlobalMemory memory(options.seed);
  uint64_t addresses[2] = {memory.allocate("input", input.size()),
                           memory.allocate("output", output.size())};
  memory.write(addresses[0], input);
  // The GPU's buffer is cleared before every launch, too.
  memory.write(addresses[1], output);

  Launch launch;
  launch.grid.x = *entry.getInteger("grid");
  launch.block.x = *entry.getInteger("block");
  launch.dynamicSharedBytes = *entry.getInteger("shared");
  launch.params.resize((*kernel)->paramBytes);
  std::memcpy(launch.params.data(), addresses, sizeof(addresses));
  const json::Array &maps = *entry.getArray("maps");
  for (size_t i = 0; i < maps.size(); ++i) {
    const json::Object &recipe = *maps[i].getAsObject();
    TensorMap map = readMap(recipe, addresses[*recipe.getString("buffer") == "output"]);
    if (Error error = map.verify()) {
      return "map: " + toString(std::move(error));
    }
    const Param &param = (*kernel)->params[2 + i];
    map.encode(MutableArrayRef<uint8_t>(launch.params).slice(param.offset, kMapBytes));
  }

  FaultLog log;
  bool ok = runGrid(**kernel, launch, memory, options, log);
  memory.read(addresses[1], output);
  if (ok) {
    return "ok";
  }
  for (const Fault &fault : log.take()) {
    if (faultSeverity(fault.id) == Severity::Error) {
      return formatv("{0} line {1}: {2}", faultName(fault.id), fault.site.line, fault.message);
    }
  }
  return "stopped without a fault";
}

int main(int argc, char **argv) {
  if (argc != 3) {
    errs() << "usage: fa4-sim-replay DIR OUT\n";
    return 1;
  }
  std::string folder = argv[1];
  auto read = [&](const Twine &name) -> std::unique_ptr<MemoryBuffer> {
    ErrorOr<std::unique_ptr<MemoryBuffer>> file = MemoryBuffer::getFile(folder + "/" + name);
    return file ? std::move(*file) : nullptr;
  };
  std::unique_ptr<MemoryBuffer> list = read("cases.json"), inputs = read("inputs.bin");
  std::error_code failed;
  raw_fd_ostream out(argv[2], failed);
  if (!list || !inputs || failed) {
    errs() << "error: expected DIR to hold cases.json and inputs.bin and OUT to be writable\n";
    return 1;
  }
  Expected<json::Value> cases = json::parse(list->getBuffer());
  if (!cases) {
    errs() << "error: " << toString(cases.takeError()) << "\n";
    return 1;
  }
  uint64_t written = 0;
  Coverage coverage;
  for (size_t i = 0; i < cases->getAsArray()->size(); ++i) {
    const json::Object &entry = *(*cases->getAsArray())[i].getAsObject();
    std::unique_ptr<MemoryBuffer> ptx = read(Twine(*entry.getInteger("ptx")) + ".ptx");
    StringRef bytes =
        inputs->getBuffer().substr(*entry.getInteger("at"), *entry.getInteger("bytes"));
    std::vector<uint8_t> output(*entry.getInteger("output") * 4);
    std::string state =
        ptx ? runCase(entry, ptx->getBuffer(), arrayRefFromStringRef(bytes), output, coverage)
            : "no PTX";
    std::replace(state.begin(), state.end(), '\n', ' ');
    out << toStringRef(output);
    outs() << written << "\t" << output.size() << "\t" << state << "\t" << *entry.getString("name")
           << "\n";
    outs().flush();
    written += output.size();
  }
  return printCoverage(coverage) ? 0 : 1;
}
