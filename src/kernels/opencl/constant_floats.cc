#include "kernels/opencl/constant_floats.h"

#include <algorithm>

namespace fettle::kernels {

std::vector<float> AllFloats(const Constant& constant) {
  std::vector<float> floats(constant.elements());
  if (constant.dtype() == DType::kF32) {
    constant.CopyTo(0, constant.elements(), reinterpret_cast<std::byte*>(floats.data()));
    return floats;
  }
  if (constant.dtype() == DType::kI8 || constant.dtype() == DType::kU8) {
    std::vector<std::byte> bytes(floats.size());
    constant.CopyTo(0, constant.elements(), bytes.data());
    const bool is_signed = constant.dtype() == DType::kI8;
    std::transform(bytes.begin(), bytes.end(), floats.begin(), [&](std::byte byte) {
      return static_cast<float>(is_signed ? static_cast<int8_t>(byte)
                                          : static_cast<int>(std::to_integer<uint8_t>(byte)));
    });
    return floats;
  }
  for (size_t i = 0; i < floats.size(); ++i)
    floats[i] = static_cast<float>(constant.GetDouble(static_cast<int64_t>(i)));
  return floats;
}

ConstantFloats::ConstantFloats(const Constant& constant) {
  const bool lies_there =
      constant.dtype() == DType::kF32 && !constant.is_splat() && constant.source() == nullptr;
  if (!lies_there) converted_ = AllFloats(constant);
  data_ =
      lies_there ? constant.bytes().data() : reinterpret_cast<const std::byte*>(converted_.data());
}

}  // namespace fettle::kernels
