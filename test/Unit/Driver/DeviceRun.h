//===- DeviceRun.h - run a placed kernel in a unit test ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A T2 kernel of one role of 128 threads goes to PTX and is executed. Parameters
// are bound by `fa4.param`, as the host side does it.
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TEST_UNIT_DRIVER_DEVICERUN_H
#define FA4_TEST_UNIT_DRIVER_DEVICERUN_H

#include "HostRun.h"
#include "TileText.h"

#include "fa4/Dialect/FA4/IR/FA4Attributes.h"
#include "fa4/Driver/DeviceCompiler.h"
#include "fa4/Simulator/Simulator.h"
#include "fa4/Target/TargetInfo.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cstring>

namespace fa4::driver {

/// A kernel @kernel whose role runs `body` for each of its tiles %t. `symbols`
/// are allocations and views; with `setup` the role may use tensor memory.
inline std::string roleText(const std::vector<KernelArgument> &arguments, const std::string &body,
                            const std::string &symbols = "", const std::string &setup = "",
                            const std::string &teardown = "") {
  std::string kernelArgs, uses, types;
  for (const KernelArgument &argument : arguments) {
    std::string type =
        isScalar(argument) ? argument.global : "!tile.global<" + argument.global + ">";
    std::string separator = uses.empty() ? "" : ", ";
    kernelArgs += "%" + argument.name + ": " + type + ", ";
    uses += separator + "%" + argument.name;
    types += separator + type;
  }
  return "#rows = #tile.spread<rows>\n#columns = #tile.spread<columns>\n"
         "!row = !tile.frag<128xf32, #rows>\ntile.kernel @kernel(" +
         kernelArgs +
         "%nt: i32) target(#fa4.target<\"sm_100a\">) "
         "schedule(#fa4.schedule<forward, tile = 128 x 128>) {\n"
         "tile.work @work(%w) tiles(%nt : i32) uses(%nt : i32) -> (%t) { tile.yield %w : i32 }\n" +
         symbols + setup + "tile.role @role warps(4) at(0) regs(240) uses(" + uses + " : " + types +
         ") {\n%c0 = arith.constant 0 : i32\n%zero = arith.constant 0.0 : f32\n"
         "%ninf = arith.constant 0xFF800000 : f32\n%inf = arith.constant 0x7F800000 : f32\n"
         "tile.for_each_tile (%t) in @work {\n" +
         body + "\ntile.yield\n}\n" + (setup.empty() ? "" : "tile.named.sync @users\n") + "}\n" +
         teardown + "}\n";
}

/// The tile type of `shape` and element, spread by rows.
inline std::string tileType(const std::string &shape) { return "!tile.frag<" + shape + ", #rows>"; }

class DeviceProgram {
public:
  static std::unique_ptr<DeviceProgram> compile(llvm::StringRef text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &testContext());
    if (!module) {
      ADD_FAILURE() << "does not parse:\n" << text.str();
      return nullptr;
    }
    DeviceCompiler compiler(*module, *lookupTarget("sm_100a"));
    if (failed(compiler.lowerTo(DeviceLevel::Machine))) {
      ADD_FAILURE() << "does not lower:\n" << text.str();
      return nullptr;
    }
    auto result = std::make_unique<DeviceProgram>();
    auto function = *module->getOps<mlir::LLVM::LLVMFuncOp>().begin();
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      result->params.push_back(
          function.getArgAttrOfType<fa4::ParamAttr>(index, fa4::paramAttrName));
    }
    result->launch = function->getAttrOfType<fa4::LaunchAttr>(fa4::launchAttrName);
    mlir::FailureOr<std::string> ptx = compiler.emitPtx();
    if (failed(ptx)) {
      ADD_FAILURE() << "has no PTX:\n" << text.str();
      return nullptr;
    }
    result->ptx = *ptx;
    return result;
  }

  /// Runs `tiles` tiles; arrays are updated. Faults are failures.
  void run(llvm::ArrayRef<Argument> arguments, int tiles,
           sim::ApproxMode approx = sim::ApproxMode::Nearest, uint64_t seed = 1) const {
    auto program = sim::Program::load(ptx);
    ASSERT_TRUE(static_cast<bool>(program)) << llvm::toString(program.takeError());
    auto kernel = (*program)->kernel("kernel");
    ASSERT_TRUE(static_cast<bool>(kernel)) << llvm::toString(kernel.takeError());
    sim::Options options;
    options.threads = 1;
    options.seed = seed;
    options.approx = approx;
    sim::GlobalMemory memory(options.seed);
    std::vector<uint64_t> addresses;
    for (const Argument &argument : arguments) {
      addresses.push_back(0);
      if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument)) {
        addresses.back() =
            memory.allocate("array", std::max<size_t>(16, (*array)->getSpan().size()));
        memory.write(addresses.back(), (*array)->getSpan());
      }
    }
    sim::Launch grid;
    grid.grid.x = 1;
    grid.block.x = static_cast<uint32_t>(launch.getThreads());
    grid.dynamicSharedBytes = static_cast<uint32_t>(launch.getSmemBytes());
    grid.params.resize((*kernel)->paramBytes);
    for (auto [param, place] : llvm::zip_equal(params, (*kernel)->params)) {
      uint64_t bits = valueOf(param, arguments, addresses, tiles);
      std::memcpy(grid.params.data() + place.offset, &bits, place.size);
    }
    sim::FaultLog log;
    runGrid(**kernel, grid, memory, options, log);
    for (const sim::Fault &fault : log.take()) {
      ADD_FAILURE() << sim::faultName(fault.id).str() << ": " << fault.message;
    }
    for (auto [argument, address] : llvm::zip_equal(arguments, addresses)) {
      if (auto *array = std::get_if<std::shared_ptr<HostArray>>(&argument)) {
        memory.read(address, (*array)->getSpan());
      }
    }
  }

  llvm::StringRef getPtx() const { return ptx; }

private:
  static uint64_t valueOf(fa4::ParamAttr param, llvm::ArrayRef<Argument> arguments,
                          llvm::ArrayRef<uint64_t> addresses, int tiles) {
    auto number = static_cast<size_t>(param.getArgument());
    if (number == arguments.size()) {
      return static_cast<uint64_t>(tiles);
    }
    if (auto *real = std::get_if<float>(&arguments[number])) {
      uint32_t bits;
      std::memcpy(&bits, real, sizeof(bits));
      return bits;
    }
    if (auto *integer = std::get_if<int32_t>(&arguments[number])) {
      return static_cast<uint32_t>(*integer);
    }
    const HostArray &array = *std::get<std::shared_ptr<HostArray>>(arguments[number]);
    switch (param.getKind()) {
    case fa4::ParamKind::Stride:
      return array.getStrides()[param.getDim()] * support::npyTypeBytes(array.getType());
    case fa4::ParamKind::Extent:
      return array.getShape()[param.getDim()];
    default:
      return addresses[number];
    }
  }

  std::string ptx;
  std::vector<fa4::ParamAttr> params;
  fa4::LaunchAttr launch;
};

} // namespace fa4::driver

#endif // FA4_TEST_UNIT_DRIVER_DEVICERUN_H
