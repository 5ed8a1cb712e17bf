// libFuzzer target: any bytes as a TensorProto; what is read must be written and read back as the
// same.
//   build/fuzz/bin/tensor_fuzz -max_len=4096 tests/fuzz/corpus/tensor
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "importers/onnx/tensor_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  (void)fettle::onnx::ReadTensorProtoName(bytes);
  const fettle::Result<fettle::Tensor> tensor = fettle::onnx::ReadTensorProto(bytes);
  if (!tensor.ok()) return 0;
  const std::string written = fettle::onnx::WriteTensorProto(*tensor, "t");
  const fettle::Result<fettle::Tensor> again =
      fettle::onnx::ReadTensorProto(std::as_bytes(std::span(written)));
  if (!again.ok() || again->dtype() != tensor->dtype() || again->shape() != tensor->shape() ||
      !std::ranges::equal(again->bytes(), tensor->bytes())) {
    std::abort();
  }
  return 0;
}
