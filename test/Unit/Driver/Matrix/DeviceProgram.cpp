//===- DeviceProgram.cpp - compiled kernels on a GPU ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kernel only writes holds NaNs before it runs.
//
//===----------------------------------------------------------------------===//

#include "DeviceProgram.h"

#include "llvm/ADT/STLExtras.h"

using fa4::driver::Argument;
using fa4::driver::HostArray;
using fa4::runtime::CudaBuffer;

namespace fa4::matrix {

namespace {

/// A tensor of a launch.
struct Tensor {
  HostArray *array;
  CudaBuffer buffer;
  std::vector<uint8_t> initial;
  std::vector<uint8_t> firstResult;
  bool isWritten;
};

} // namespace

llvm::Expected<std::unique_ptr<DeviceProgram>>
DeviceProgram::create(std::shared_ptr<const runtime::CudaDevice> device,
                      const runtime::Bundle &bundle, llvm::StringRef ptx) {
  auto loaded = runtime::CudaProgram::load(device, bundle, ptx);
  if (!loaded) {
    return loaded.takeError();
  }
  std::unique_ptr<DeviceProgram> result(new DeviceProgram());
  result->device = std::move(device);
  result->program = std::move(*loaded);
  return result;
}

static llvm::Expected<CudaBuffer> bindTensor(std::shared_ptr<const runtime::CudaDevice> device,
                                             const runtime::Argument &declared, HostArray &array,
                                             runtime::Binding &binding) {
  llvm::Expected<CudaBuffer> buffer =
      CudaBuffer::allocate(std::move(device), array.getSpan().size());
  if (!buffer) {
    return buffer.takeError();
  }
  runtime::BoundTensor &tensor = binding.tensors[declared.name];
  tensor.address = buffer->getAddress();
  tensor.type = declared.type;
  tensor.extents.assign(array.getShape().begin(), array.getShape().end());
  for (int64_t stride : array.getStrides()) {
    tensor.strides.push_back(stride * static_cast<int64_t>(runtime::elementBytes(declared.type)));
  }
  return buffer;
}

llvm::Error DeviceProgram::run(llvm::MutableArrayRef<Argument> arguments, unsigned repeats) {
  const runtime::Bundle &bundle = program->getBundle();
  runtime::Binding binding;
  std::vector<Tensor> tensors;
  tensors.reserve(arguments.size());
  for (auto [declared, given] : llvm::zip_equal(bundle.arguments, arguments)) {
    if (auto *number = std::get_if<float>(&given)) {
      binding.floats[declared.name] = *number;
    } else if (auto *number = std::get_if<int32_t>(&given)) {
      binding.integers[declared.name] = *number;
    } else {
      HostArray &array = *std::get<std::shared_ptr<HostArray>>(given);
      llvm::Expected<CudaBuffer> buffer = bindTensor(device, declared, array, binding);
      if (!buffer) {
        return buffer.takeError();
      }
      llvm::MutableArrayRef<uint8_t> span = array.getSpan();
      bool isRead = declared.access != runtime::Access::Write;
      tensors.push_back({&array,
                         std::move(*buffer),
                         isRead ? std::vector<uint8_t>(span.begin(), span.end())
                                : std::vector<uint8_t>(span.size(), 0xff),
                         {},
                         declared.access != runtime::Access::Read});
    }
  }
  llvm::Expected<std::vector<uint64_t>> sizes = program->getWorkspaceBytes(binding);
  if (!sizes) {
    return sizes.takeError();
  }
  std::vector<CudaBuffer> workspaces;
  workspaces.reserve(sizes->size());
  for (auto [workspace, bytes] : llvm::zip_equal(bundle.workspaces, *sizes)) {
    llvm::Expected<CudaBuffer> buffer = CudaBuffer::allocate(device, bytes);
    if (!buffer) {
      return buffer.takeError();
    }
    binding.tensors[workspace.name] =
        runtime::bindDense(buffer->getAddress(), runtime::ElementType::U8, {});
    workspaces.push_back(std::move(*buffer));
  }
  llvm::Expected<runtime::PreparedLaunch> prepared = program->prepare(std::move(binding));
  if (!prepared) {
    return prepared.takeError();
  }
  for (unsigned number = 1; number <= repeats; ++number) {
    for (Tensor &tensor : tensors) {
      if (number > 1 && !tensor.isWritten) {
        continue;
      }
      if (llvm::Error error = tensor.buffer.write(tensor.initial)) {
        return error;
      }
    }
    if (llvm::Error error = prepared->launch(/*stream=*/nullptr)) {
      return error;
    }
    for (Tensor &tensor : tensors) {
      if (!tensor.isWritten) {
        continue;
      }
      std::vector<uint8_t> bytes(tensor.initial.size());
      if (llvm::Error error = tensor.buffer.read(bytes)) { // waits for the launch
        return error;
      }
      if (number == 1) {
        tensor.firstResult = std::move(bytes);
      } else if (bytes != tensor.firstResult) {
        return llvm::createStringError("expected run " + llvm::Twine(number) +
                                       " to give the bits of run 1");
      }
    }
  }
  for (Tensor &tensor : tensors) {
    if (tensor.isWritten) {
      tensor.array->copyElements(tensor.firstResult);
    }
  }
  return llvm::Error::success();
}

} // namespace fa4::matrix
