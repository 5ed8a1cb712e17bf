#include "kernels/opencl/convert/convert.h"

#include <optional>

#include "kernels/opencl/launch.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// A tensor as [batch, channels, plane] with channels in blocks of neighbours.
struct Blocked {
  int64_t batch = 1, channels = 1, plane = 1, width = 1, block = 1;
  int64_t out_channels() const { return (channels + block - 1) / block * block; }
};

std::optional<Blocked> AsBlocked(const Shape& shape, const Layout& layout) {
  Blocked view;
  const int rank = shape.rank();
  if (rank < 2) {
    view.plane = view.width = shape.elements();
    return layout.IsRowMajor() ? std::optional(view) : std::nullopt;
  }
  view.batch = shape[0];
  view.channels = shape[1];
  for (int axis = 2; axis < rank; ++axis) view.plane *= shape[axis];
  view.width = rank > 2 ? shape[rank - 1] : 1;
  if (!layout.IsDense()) return std::nullopt;
  if (layout.IsRowMajor()) return view;
  if (rank > 2 && layout == Layout::ChannelsLast(rank)) {
    view.block = view.channels;
    return view;
  }
  const bool is_image = layout.image_y_dims > 0 && layout.image_y_dims == rank - 2;
  if (layout.blocks.size() != 1 || layout.blocks[0].axis != 1) return std::nullopt;
  if (!layout.order.empty() && !is_image) return std::nullopt;
  view.block = layout.blocks[0].size;
  return view;
}

/// Whether `layout` has the last axis outermost and all others in order: a matrix by columns.
bool IsByColumns(const Layout& layout, int rank) {
  if (!layout.blocks.empty() || !layout.IsDense() || static_cast<int>(layout.order.size()) != rank)
    return false;
  for (int i = 0; i < rank; ++i)
    if (layout.order[i] != (i + rank - 1) % rank) return false;
  return true;
}
/// Whether `layout` has four neighbours of the last axis a pixel and all other axes along y.
bool IsByPixelRows(const Layout& layout, int rank) {
  return layout.order.empty() && layout.IsDense() && layout.image_y_dims == rank - 1 &&
         layout.blocks == std::vector<Layout::Block>{{rank - 1, 4}};
}

/// A tensor as both sides of a conversion see it. Matrices of products have the last axis in
/// pixels or outermost, everything else has blocks of axis 1.
struct BlockedPair {
  Blocked from, to;
};
std::optional<BlockedPair> AsBlocked(const Shape& shape, const Layout& from, const Layout& to) {
  const int rank = shape.rank();
  const auto either = [&](auto is) { return rank >= 2 && (is(from, rank) || is(to, rank)); };
  const auto as_matrix = [&](auto is, const Blocked& in_form, const Blocked& in_rows) {
    const auto view = [&](const Layout& layout) -> std::optional<Blocked> {
      if (is(layout, rank)) return in_form;
      return layout.IsRowMajor() && layout.IsDense() ? std::optional(in_rows) : std::nullopt;
    };
    const auto a = view(from), b = view(to);
    return a && b ? std::optional(BlockedPair{*a, *b}) : std::nullopt;
  };
  const int64_t columns = rank < 2 ? 1 : shape[rank - 1];
  const int64_t rows = rank < 2 ? 1 : shape.Count(0, rank - 1);
  if (either(IsByPixelRows)) {
    const Blocked rows_of{.channels = columns, .plane = rows, .block = columns};
    Blocked pixels = rows_of;
    pixels.block = 4;
    return as_matrix(IsByPixelRows, pixels, rows_of);
  }
  const auto a = AsBlocked(shape, from), b = AsBlocked(shape, to);
  if (a && b) return BlockedPair{*a, *b};
  if (!either(IsByColumns)) return std::nullopt;
  const Blocked rows_of{.channels = rows, .plane = columns, .width = columns};
  Blocked by_columns = rows_of;
  by_columns.block = rows;
  return as_matrix(IsByColumns, by_columns, rows_of);
}

/// A tensor of which only the type changes: pixels next to each other where it can be cut into
/// such, whatever its axes are.
BlockedPair InPlace(int64_t elements) {
  Blocked view{.plane = elements, .width = elements};
  if (elements % 4 == 0)
    view = {.channels = 4, .plane = elements / 4, .width = elements / 4, .block = 4};
  return {view, view};
}

/// How a state's elements are named in reorder.cl.
std::string_view ElementType(DType storage) {
  if (storage == DType::kF32) return "float";
  if (storage == DType::kF16) return "half";
  switch (ByteSize(storage)) {
    case 1: return "uchar";
    case 2: return "ushort";
    case 4: return "uint";
    default: return "ulong";
  }
}

bool IsImage(const State& state) { return state.memory == MemoryKind::kImage2d; }
/// Whether each element stays where it is.
bool StaysInPlace(const Shape& shape, const State& from, const State& to) {
  return !IsImage(from) && !IsImage(to) && SameOffsets(shape, from.layout, to.layout);
}
bool IsHost(const State& state) { return state.device == DeviceKind::kCpu; }

BuildOptions ReorderOptions(const State& from, const State& to) {
  const bool is_float = IsFloatValue(from.storage);
  BuildOptions options;
  options.Define("IN_IMAGE", IsImage(from) ? 1 : 0).Define("OUT_IMAGE", IsImage(to) ? 1 : 0);
  options.Define("IN_HALF", from.storage == DType::kF16 ? 1 : 0)
      .Define("OUT_HALF", to.storage == DType::kF16 ? 1 : 0)
      .Define("IN_BFLOAT", from.storage == DType::kBF16 ? 1 : 0)
      .Define("OUT_BFLOAT", to.storage == DType::kBF16 ? 1 : 0);
  options.Add(fmt::format("-DIN_TYPE={} -DOUT_TYPE={} -DVALUE_TYPE={}", ElementType(from.storage),
                          ElementType(to.storage), is_float ? "float" : ElementType(from.storage)));
  return options;
}

/// Bytes as they are, between host and buffer.
class Transfer final : public PreparedKernel {
 public:
  Transfer(int64_t bytes, bool to_device) : bytes_(bytes), to_device_(to_device) {}

  Status Launch(const LaunchArgs& args) const override {
    OpenClStream& stream = OpenClStreamOf(args);
    if (to_device_)
      return stream.WriteBuffer(args.outputs[0], args.inputs[0].host<std::byte>(), bytes_);
    return stream.ReadBuffer(args.outputs[0].host<std::byte>(), args.inputs[0], bytes_);
  }

 private:
  int64_t bytes_;
  bool to_device_;
};

/// reorder.cl, with the bytes brought to the device before or fetched from it after.
class Reordering final : public PreparedKernel {
 public:
  Reordering(std::shared_ptr<OpenClKernel> kernel, const Blocked& in, const Blocked& out,
             State from, State to, int64_t host_bytes)
      : kernel_(std::move(kernel)),
        in_(in),
        out_(out),
        from_(std::move(from)),
        to_(std::move(to)),
        host_bytes_(host_bytes) {}

  int64_t workspace_bytes() const override { return host_bytes_; }

  Status Launch(const LaunchArgs& args) const override {
    OpenClStream& stream = OpenClStreamOf(args);
    Location in = args.inputs[0], out = args.outputs[0];
    if (IsHost(from_)) {
      RETURN_IF_ERROR(stream.WriteBuffer(args.workspace, in.host<std::byte>(), host_bytes_));
      in = args.workspace;
    }
    if (IsHost(to_)) out = args.workspace;
    RETURN_IF_ERROR(Run(stream, in, out));
    if (!IsHost(to_)) return OkStatus();
    return stream.ReadBuffer(args.outputs[0].host<std::byte>(), args.workspace, host_bytes_);
  }

 private:
  Status Run(OpenClStream& stream, const Location& in, const Location& out) const {
    const auto integer = [](int64_t value) { return static_cast<cl_int>(value); };
    ArgList args;
    args.Memory(in).Value(static_cast<cl_long>(in.offset / StorageBytes(from_.storage, 1)));
    args.Memory(out).Value(static_cast<cl_long>(out.offset / StorageBytes(to_.storage, 1)));
    args.Value(integer(in_.channels)).Value(integer(in_.plane)).Value(integer(in_.width));
    args.Value(integer(in_.block)).Value(integer(out_.block)).Value(integer(out_.out_channels()));
    WorkSizes sizes = PlaceSizes(in_.plane, DivideUp(out_.out_channels(), 4), in_.batch);
    // One local size for all shapes: PoCL compiles a program again for each.
    if (kernel_->facts().is_cpu) sizes.lws = {kGroupItems, 1, 1};
    return stream.Launch(*kernel_, sizes, args.args());
  }

  std::shared_ptr<OpenClKernel> kernel_;
  Blocked in_, out_;
  State from_, to_;
  int64_t host_bytes_;
};

Status CheckTypes(const State& from, const State& to) {
  if (from.storage == to.storage) return OkStatus();
  if (IsFloatValue(from.storage) && IsFloatValue(to.storage)) return OkStatus();
  return Unsupported("conversions on OpenCL are between f32, f16 and bf16, not {} to {}",
                     DTypeName(from.storage), DTypeName(to.storage));
}

}  // namespace

Status CheckOpenClConversion(const Shape& shape, const State& from, const State& to) {
  RETURN_IF_ERROR(CheckTypes(from, to));
  if (AsBlocked(shape, from.layout, to.layout)) return OkStatus();
  return Unsupported("conversions on OpenCL: a layout that is not blocked by one axis alone");
}

Result<std::unique_ptr<PreparedKernel>> PrepareOpenClConversion(const Shape& shape,
                                                                const State& from, const State& to,
                                                                const Device& device) {
  RETURN_IF_ERROR(CheckOpenClConversion(shape, from, to));
  const bool in_place = StaysInPlace(shape, from, to);
  const BlockedPair pair = in_place ? InPlace(PhysicalElements(shape, to.layout))
                                    : AsBlocked(shape, from.layout, to.layout).value();
  const bool crosses = IsHost(from) || IsHost(to);
  const int64_t host_bytes = IsHost(from) ? StateBytes(shape, from)
                             : IsHost(to) ? StateBytes(shape, to)
                                          : 0;
  if (crosses && in_place && from.storage == to.storage)
    return std::unique_ptr<PreparedKernel>(std::make_unique<Transfer>(host_bytes, IsHost(from)));
  ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel,
                   AsOpenCl(device).BuildKernel(
                       MakeProgram("convert/reorder.cl", ReorderOptions(from, to)), "reorder"));
  return std::unique_ptr<PreparedKernel>(
      std::make_unique<Reordering>(std::move(kernel), pair.from, pair.to, from, to, host_bytes));
}

}  // namespace fettle::kernels
