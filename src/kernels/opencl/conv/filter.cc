#include "kernels/opencl/conv/filter.h"

#include "kernels/opencl/constant_floats.h"

namespace fettle::kernels {
namespace {

void Pack(const FilterForm& form, DType storage, std::span<const Constant* const> constants,
          std::byte* out) {
  if (constants.size() > 1) {
    const ConstantFloats bias(*constants[1]);
    for (int64_t i = 0; i < constants[1]->elements(); ++i) StoreFloat(bias[i], DType::kF32, i, out);
  }
  if (form.elements == 0) return;
  const ConstantFloats weights(*constants[0]);
  std::byte* packed = out + form.bias * 4;
  if (storage == DType::kF16) {
    auto* halves = reinterpret_cast<Half*>(packed);
    return ForEachWeight(form, [&](int64_t to, int64_t from) { halves[to] = Half(weights[from]); });
  }
  auto* floats = reinterpret_cast<float*>(packed);
  ForEachWeight(form, [&](int64_t to, int64_t from) { floats[to] = weights[from]; });
}

}  // namespace

PackRequest RequestFilter(ir::ValueId w, ir::ValueId b, const FilterForm& form, DType storage) {
  PackRequest request{.constants = {w}};
  if (b != ir::kAbsent) request.constants.push_back(b);
  request.recipe =
      form.recipe + "." + std::string(DTypeName(storage)) + (b == ir::kAbsent ? "" : ".bias");
  request.bytes = form.bias * 4 + StorageBytes(storage, form.elements);
  request.pack = [form, storage, bytes = request.bytes](std::span<const Constant* const> constants,
                                                        std::byte* out) {
    std::memset(out, 0, bytes);
    Pack(form, storage, constants, out);
    return OkStatus();
  };
  return request;
}

}  // namespace fettle::kernels
