//===- BareLaunch.h - parameters from the command line ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel without a bundle: its parameters are given one by one, in order, as
//
//   i32=5  u64=0x10  f32=1.5  bf16=2     numbers
//   buffer=NAME:BYTES                    memory without values
//   zero=NAME:BYTES                      memory of zeros
//   file=NAME:PATH.npy                   an array's elements
//   random=NAME:TYPE:COUNT               seeded normal numbers
//   iota=NAME:TYPE:COUNT                 0, 1, 2, …
//   map=BUFFER:TYPE:D0xD1…:S1xS2…:B0xB1…:SWIZZLE   a tensor map, strides in bytes
//   bytes=COUNT                          a parameter of zero bytes
//   same=NAME                            the address of an earlier buffer again
//
//===----------------------------------------------------------------------===//

#ifndef FA4_TOOLS_FA4_SIM_BARELAUNCH_H
#define FA4_TOOLS_FA4_SIM_BARELAUNCH_H

#include "fa4/Simulator/Simulator.h"

#include "llvm/ADT/StringMap.h"

namespace fa4::tool {

struct NamedBuffer {
  uint64_t address = 0, bytes = 0;
};

struct BareState {
  sim::GlobalMemory &memory;
  uint64_t seed = 1;
  llvm::StringMap<NamedBuffer> buffers;
};

/// Fills a launch's parameters.
llvm::Error bindParameters(BareState &state, const sim::Kernel &kernel,
                           llvm::ArrayRef<std::string> specs, sim::Launch &launch);

/// "4,2,1" to dimensions.
llvm::Expected<sim::Dim3> parseDim(llvm::StringRef text);

/// Prints elements as `NAME:TYPE:FIRST:COUNT` says, one line.
llvm::Error dumpBuffer(BareState &state, llvm::StringRef spec, llvm::raw_ostream &os);
/// Writes a buffer as `NAME:TYPE:DxD…=PATH.npy` says.
llvm::Error saveBuffer(BareState &state, llvm::StringRef spec);

} // namespace fa4::tool

#endif // FA4_TOOLS_FA4_SIM_BARELAUNCH_H
