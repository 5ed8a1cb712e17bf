#include "kernels/cpu/convert/convert.h"

#include <algorithm>
#include <optional>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/move/strided_copy.h"
#include "kernels/cpu/simd/storage.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// Any layout and storage type to any other, through the generic reorder.
class GenericConversion final : public PreparedKernel {
 public:
  GenericConversion(Shape shape, State from, State to)
      : shape_(std::move(shape)), from_(std::move(from)), to_(std::move(to)) {}

  Status Launch(const LaunchArgs& args) const override {
    Reorder(shape_, from_, args.inputs[0].host<std::byte>(), to_,
            args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  Shape shape_;
  State from_, to_;
};

/// A permutation of axes: one strided copy.
std::optional<StridedCopy> MakeCopy(const Shape& shape, const Layout& from, const Layout& to,
                                    int64_t element_bytes) {
  const std::optional<Dims> src = AxisStrides(shape, from), dst = AxisStrides(shape, to);
  const bool known_size =
      element_bytes == 1 || element_bytes == 2 || element_bytes == 4 || element_bytes == 8;
  if (!src || !dst || !from.IsDense() || !to.IsDense() || !known_size) return std::nullopt;
  std::vector<CopyAxis> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto at = static_cast<size_t>(i);
    axes.push_back({shape[i], (*src)[at], (*dst)[at]});
  }
  return StridedCopy(element_bytes, std::move(axes), 0, 0);
}

/// Between permutations of axes, storage types that float holds: the elements are converted where
/// they lie, then moved, or the other way round, so that the fewer bytes are moved.
class DenseConversion final : public PreparedKernel {
 public:
  DenseConversion(int64_t elements, StridedCopy copy, bool permutes, DType from, DType to)
      : elements_(elements), copy_(std::move(copy)), permutes_(permutes), from_(from), to_(to) {}

  int64_t workspace_bytes() const override {
    return permutes_ && from_ != to_ ? elements_ * std::min(ByteSize(from_), ByteSize(to_)) : 0;
  }

  Status Launch(const LaunchArgs& args) const override {
    auto& stream = static_cast<CpuStream&>(args.stream);
    const auto* src = args.inputs[0].host<std::byte>();
    auto* dst = args.outputs[0].host<std::byte>();
    auto* between = args.workspace.host<std::byte>();
    if (from_ == to_) {
      Move(stream, src, dst);
    } else if (!permutes_) {
      Convert(stream, src, dst);
    } else if (ByteSize(from_) < ByteSize(to_)) {
      Move(stream, src, between);
      Convert(stream, between, dst);
    } else {
      Convert(stream, src, between);
      Move(stream, between, dst);
    }
    return OkStatus();
  }

 private:
  void Move(CpuStream& stream, const std::byte* src, std::byte* dst) const {
    stream.ParallelFor(copy_.tasks(), [&](int64_t task, int) { copy_.Run(src, dst, task); });
  }

  void Convert(CpuStream& stream, const std::byte* src, std::byte* dst) const {
    constexpr int64_t kElementsPerTask = 32768;
    const int64_t tasks = (elements_ + kElementsPerTask - 1) / kElementsPerTask;
    stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t begin = task * kElementsPerTask;
      ConvertRow(from_, src + begin * ByteSize(from_), to_, dst + begin * ByteSize(to_),
                 std::min(kElementsPerTask, elements_ - begin));
    });
  }

  int64_t elements_;
  StridedCopy copy_;
  bool permutes_;
  DType from_, to_;
};

/// The axes of more than one element in physical order.
std::vector<int> LargeAxes(const Shape& shape, const Layout& layout) {
  std::vector<int> axes;
  for (int i = 0; i < shape.rank(); ++i) {
    const int axis = layout.AxisAt(i, shape.rank());
    if (shape[axis] != 1) axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Result<std::unique_ptr<PreparedKernel>> PrepareConversion(const Shape& shape, const State& from,
                                                          const State& to, const Device&) {
  if (from.device != DeviceKind::kCpu || to.device != DeviceKind::kCpu ||
      from.memory != MemoryKind::kHost || to.memory != MemoryKind::kHost) {
    return Unsupported("conversions here are between host tensors");
  }
  const bool same_type = from.storage == to.storage;
  const int64_t moved_bytes = std::min(ByteSize(from.storage), ByteSize(to.storage));
  std::optional<StridedCopy> copy = MakeCopy(shape, from.layout, to.layout, moved_bytes);
  // Between integers the low bits are kept, which float does not do.
  const bool through_float = HasFloatRows(from.storage) && HasFloatRows(to.storage) &&
                             (IsFloat(from.storage) || IsFloat(to.storage));
  if (copy && (same_type || through_float)) {
    const bool permutes = LargeAxes(shape, from.layout) != LargeAxes(shape, to.layout);
    return std::unique_ptr<PreparedKernel>(new DenseConversion(shape.elements(), std::move(*copy),
                                                               permutes, from.storage, to.storage));
  }
  return std::unique_ptr<PreparedKernel>(new GenericConversion(shape, from, to));
}

}  // namespace fettle::kernels
