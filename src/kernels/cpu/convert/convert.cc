#include "kernels/cpu/convert/convert.h"

#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/move/copy_set.h"
#include "kernels/cpu/simd/storage.h"
#include "tensor/reorder.h"

namespace fettle::kernels {
namespace {

/// Any layout and storage type to any other, through the generic reorder.
class GenericConversion final : public CpuKernel {
 public:
  GenericConversion(Shape shape, State from, State to)
      : shape_(std::move(shape)), from_(std::move(from)), to_(std::move(to)) {}

  Status Run(const CpuLaunch& args) const override {
    Reorder(shape_, from_, args.inputs[0].host<std::byte>(), to_,
            args.outputs[0].host<std::byte>());
    return OkStatus();
  }

 private:
  Shape shape_;
  State from_, to_;
};

/// The element sizes that strided copies have.
bool IsMovable(int64_t bytes) { return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8; }

/// Every element to its place in another layout, and zeros to the pad lanes there. Fails with
/// kUnsupported where the two cut their axes in too many ways.
Result<CopySet> MakeCopies(const Shape& shape, const Layout& from, const Layout& to,
                           int64_t element_bytes) {
  const MoveOperand src(shape, from), dst(shape, to);
  Move move;
  for (size_t i = 0; i < src.strides.size(); ++i)
    move.axes.push_back({shape[static_cast<int>(i)], src.strides[i], dst.strides[i]});
  ASSIGN_OR_RETURN(std::vector<Piece> pieces, CutMove(move, src, dst));
  std::vector<Piece> pads = PadPieces(0, dst);
  std::move(pads.begin(), pads.end(), std::back_inserter(pieces));
  CopySet copies;
  for (Piece& piece : pieces) copies.Add(element_bytes, std::move(piece));
  return copies;
}

/// What happens to elements on their way.
struct Passage {
  DType from, to;
  int64_t from_elements, to_elements;  // pad lanes included
  bool moves;                          // to other places
};

/// Between layouts, and storage types that float holds: the elements are converted where they lie,
/// then moved, or the other way round, so that the fewer bytes are moved.
class LayoutConversion final : public CpuKernel {
 public:
  LayoutConversion(const Passage& passage, CopySet copies)
      : passage_(passage), copies_(std::move(copies)) {}

  Status Run(const CpuLaunch& args) const override {
    const auto* src = args.inputs[0].host<std::byte>();
    auto* dst = args.outputs[0].host<std::byte>();
    std::byte* between = args.At(between_);
    if (passage_.from == passage_.to) {
      Move(args.stream, src, dst);
    } else if (!passage_.moves) {
      Convert(args.stream, passage_.to_elements, src, dst);
    } else if (WidensLast()) {
      Move(args.stream, src, between);
      Convert(args.stream, passage_.to_elements, between, dst);
    } else {
      Convert(args.stream, passage_.from_elements, src, between);
      Move(args.stream, between, dst);
    }
    return OkStatus();
  }

 private:
  int64_t BetweenBytes() const {
    if (!passage_.moves || passage_.from == passage_.to) return 0;
    return WidensLast() ? StorageBytes(passage_.from, passage_.to_elements)
                        : StorageBytes(passage_.to, passage_.from_elements);
  }
  bool WidensLast() const { return StorageBytes(passage_.from, 1) < StorageBytes(passage_.to, 1); }

  void Move(CpuStream& stream, const std::byte* src, std::byte* dst) const {
    copies_.Run(
        stream, [&](int) { return src; }, [&](int) { return dst; });
  }

  void Convert(CpuStream& stream, int64_t elements, const std::byte* src, std::byte* dst) const {
    constexpr int64_t kElementsPerTask = 32768;
    const int64_t tasks = (elements + kElementsPerTask - 1) / kElementsPerTask;
    stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t begin = task * kElementsPerTask;
      ConvertRow(passage_.from, src + StorageBytes(passage_.from, begin), passage_.to,
                 dst + StorageBytes(passage_.to, begin),
                 std::min(kElementsPerTask, elements - begin));
    });
  }

  Passage passage_;
  CopySet copies_;
  RunScratch<std::byte> between_ = PerRun<std::byte>(BetweenBytes());
};

}  // namespace

Result<std::unique_ptr<PreparedKernel>> PrepareConversion(const Shape& shape, const State& from,
                                                          const State& to, const Device&) {
  if (from.device != DeviceKind::kCpu || to.device != DeviceKind::kCpu ||
      from.memory != MemoryKind::kHost || to.memory != MemoryKind::kHost) {
    return Unsupported("conversions here are between host tensors");
  }
  const int64_t moved_bytes = std::min(StorageBytes(from.storage, 1), StorageBytes(to.storage, 1));
  // Between integers the low bits are kept, which float does not do.
  const bool through_float = HasFloatRows(from.storage) && HasFloatRows(to.storage) &&
                             (IsFloat(from.storage) || IsFloat(to.storage));
  const bool is_dense = from.layout.IsDense() && to.layout.IsDense();
  if (is_dense && IsMovable(moved_bytes) && (from.storage == to.storage || through_float)) {
    Result<CopySet> copies = MakeCopies(shape, from.layout, to.layout, moved_bytes);
    const Passage passage{from.storage, to.storage, PhysicalElements(shape, from.layout),
                          PhysicalElements(shape, to.layout),
                          !SameOffsets(shape, from.layout, to.layout)};
    if (copies.ok())
      return std::unique_ptr<PreparedKernel>(
          new LayoutConversion(passage, std::move(copies).value()));
  }
  return std::unique_ptr<PreparedKernel>(new GenericConversion(shape, from, to));
}

}  // namespace fettle::kernels
