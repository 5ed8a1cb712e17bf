// cpu.col2im: columns of blocks summed up into images, in fp32 or fp64, row-major.
#include <algorithm>

#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

struct Facts {
  ops::Col2ImAttributes col;
  int64_t planes;
  DType storage;
};

/// Numbers of a shape.
int64_t Product(const std::vector<int64_t>& extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

class Col2Im final : public CpuKernel {
 public:
  Col2Im(const Problem& problem, const Facts& facts)
      : operands_(*problem.group),
        facts_(facts),
        positions_(Product(facts.col.positions)),
        pixels_(Product(facts.col.image)) {}

  Status Run(const CpuLaunch& args) const override {
    if (facts_.storage == DType::kF64) {
      Run<double>(args);
    } else {
      Run<float>(args);
    }
    return OkStatus();
  }

 private:
  template <typename T>
  void Run(const CpuLaunch& args) const {
    const T* x = reinterpret_cast<const T*>(operands_.input(args, 0));
    T* y = reinterpret_cast<T*>(operands_.output(args, 0));
    const int64_t taps = Product(facts_.col.block);
    args.stream.ParallelFor(facts_.planes, [&](int64_t plane, int) {
      T* image = y + plane * pixels_;
      std::fill_n(image, pixels_, T{0});
      for (int64_t tap = 0; tap < taps; ++tap)
        Add(x + (plane * taps + tap) * positions_, tap, image);
    });
  }

  /// The positions of one element of the block.
  template <typename T>
  void Add(const T* x, int64_t tap, T* image) const {
    const ops::Col2ImAttributes& col = facts_.col;
    const size_t last = col.block.size() - 1;
    const int64_t row = col.positions[last], stride = col.strides[last];
    const int64_t start = tap % col.block[last] * col.dilations[last] - col.pad_begin[last];
    // The positions of a row whose pixel lies in the image.
    const int64_t begin = start >= 0 ? 0 : std::min(row, (-start + stride - 1) / stride);
    const int64_t room = col.image[last] - start;
    const int64_t end = std::clamp((room + stride - 1) / stride, begin, row);
    for (int64_t line = 0; line < positions_ / std::max<int64_t>(1, row); ++line) {
      const int64_t to = ImageLine(line, tap / col.block[last]);
      if (to < 0) continue;
      T* pixel = image + to * col.image[last] + start;
      const T* from = x + line * row;
      if (stride == 1) {
        for (int64_t i = begin; i < end; ++i) pixel[i] += from[i];
      } else {
        for (int64_t i = begin; i < end; ++i) pixel[i * stride] += from[i];
      }
    }
  }

  /// The line of the image that a line of positions adds to, for a tap of the axes before the last;
  /// -1: none.
  int64_t ImageLine(int64_t line, int64_t tap) const {
    const ops::Col2ImAttributes& col = facts_.col;
    int64_t at = 0, apart = 1;
    for (size_t axis = col.block.size() - 1; axis-- > 0;) {
      const int64_t pixel = line % col.positions[axis] * col.strides[axis] +
                            tap % col.block[axis] * col.dilations[axis] - col.pad_begin[axis];
      if (pixel < 0 || pixel >= col.image[axis]) return -1;
      at += pixel * apart;
      apart *= col.image[axis];
      line /= col.positions[axis];
      tap /= col.block[axis];
    }
    return at;
  }

  NodeOperands operands_;
  Facts facts_;
  int64_t positions_, pixels_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1 || group.nodes()[0].op != "Col2Im"_op)
    return Unsupported("computes Col2Im only");
  const ir::Node& node = group.nodes()[0];
  const ir::Value& x = group.value(node.inputs[0]);
  const ir::Value &image = group.value(node.inputs[1]), &block = group.value(node.inputs[2]);
  if (!image.is_constant() || !block.is_constant() || x.is_constant())
    return Unsupported("its extents are not constant");
  if (!IsFloat(x.dtype) || ByteSize(x.dtype) < 2)
    return Unsupported("{} is not summed up here", DTypeName(x.dtype));
  const auto ints = [](const Constant& constant) {
    std::vector<int64_t> values;
    for (int64_t i = 0; i < constant.elements(); ++i) values.push_back(constant.GetInt(i));
    return values;
  };
  ASSIGN_OR_RETURN(ops::Col2ImAttributes col,
                   ops::ReadCol2Im(node, ints(*image.constant), ints(*block.constant)));
  const Shape& y = *group.value(node.outputs[0]).shape;
  return Facts{std::move(col), y[0] * y[1], x.dtype == DType::kF64 ? DType::kF64 : DType::kF32};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Make<Col2Im>,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuCol2Im;
const KernelDesc kCpuCol2Im = {.name = "cpu.col2im", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
