// compiled: small
// cpu.col2im: columns of blocks summed up into images, in fp32 or fp64, row-major.
#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/conv/plane_sums.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/operands.h"
#include "kernels/cpu/zeros.h"
#include "kernels/family.h"
#include "ops/op.h"
#include "ops/resize/op.h"

namespace fettle::kernels {
namespace {

/// Floats of the widest vectors.
constexpr int64_t kMostLanes = 16;

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

/// Elements of a line that are equal modulo the stride are summed up side by side, as rows of their
/// own, and put in order at the end.
class Col2Im final : public CpuKernel {
 public:
  Col2Im(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads),
        operands_(*problem.group),
        facts_(facts),
        pixels_(Product(facts.col.image)),
        width_(facts.col.image.back()),
        stride_(facts.col.strides.back()),
        pitch_(CeilDiv(width_, stride_)),
        lines_(Product(facts.col.positions) / facts.col.positions.back()),
        is_apart_(IsApart(facts.col)) {
    for (int64_t line = 0; is_apart_ && line < pixels_ / width_; ++line) {
      if (const Place place = SourceOf(line); place.tap >= 0) written_.push_back(place);
    }
    // Taps of small planes are added to several of them by one call.
    constexpr int64_t kNearElements = 1 << 14;
    const int64_t share =
        CeilDiv(facts.planes, problem.threads == 1 ? 1 : int64_t{4} * problem.threads);
    const int64_t near = kNearElements / std::max<int64_t>(Columns() + RowElements(), 1);
    planes_ = std::max<int64_t>(1, std::min(near, share));
    if (stride_ == 1) return;
    // What vectors read behind the last row lies there, too.
    const int64_t sums = planes_ * RowElements() + kMostLanes;
    rows_ = PerLane<double>(facts.storage == DType::kF64 ? sums : CeilDiv(sums, 2));
  }

  Status Run(const CpuLaunch& args) const override {
    if (facts_.storage == DType::kF64) {
      Run<double>(args);
    } else {
      Run<float>(args);
    }
    return OkStatus();
  }

 private:
  /// What some axes have settled: indices of the tap, the positions' line and the image's line.
  struct Place {
    int64_t tap = 0, from = 0, to = 0;
  };

  /// A tap of the last axis: where in the rows of a line it begins, and the positions whose pixel
  /// lies in the image.
  struct LineTap {
    int64_t tap, start, begin, end;
  };

  /// Neighbouring planes: their columns, and the rows that these are added to.
  template <typename T>
  struct Planes {
    const T* x;
    T* rows;
    int64_t count;
  };

  template <typename T>
  void Run(const CpuLaunch& args) const {
    const T* x = reinterpret_cast<const T*>(operands_.input(args, 0));
    T* y = reinterpret_cast<T*>(operands_.output(args, 0));
    args.stream.ParallelFor(CeilDiv(facts_.planes, planes_), [&](int64_t task, int lane) {
      const int64_t plane = task * planes_, count = std::min(planes_, facts_.planes - plane);
      T* const image = y + plane * pixels_;
      T* const rows = stride_ == 1 ? image : reinterpret_cast<T*>(args.At(rows_, lane));
      if constexpr (std::is_same_v<T, float>) {
        if (is_apart_) return PutApart({x + plane * Columns(), rows, count}, image);
      }
      FillZeros(rows, count * RowElements());
      // Neighbouring taps of a line add to the same elements: one tap waits for the stores of
      // another.
      for (int64_t tap = 0; tap < facts_.col.block.back(); ++tap)
        AddLines(Planes<T>{x + plane * Columns(), rows, count}, RunOf(tap), 0, {});
      for (int64_t i = 0; stride_ > 1 && i < count; ++i)
        Order(rows + i * RowElements(), image + i * pixels_);
    });
  }

  /// Elements of a plane's columns, and of its rows.
  int64_t Columns() const { return Product(facts_.col.block) * Product(facts_.col.positions); }
  int64_t RowElements() const { return pixels_ / width_ * stride_ * pitch_; }

  LineTap RunOf(int64_t tap) const {
    const ops::Col2ImAttributes& col = facts_.col;
    const int64_t count = col.positions.back();
    const int64_t start = tap * col.dilations.back() - col.pad_begin.back();
    const int64_t phase = (start % stride_ + stride_) % stride_;
    const int64_t shift = (start - phase) / stride_;
    const int64_t room = phase < width_ ? CeilDiv(width_ - phase, stride_) : 0;
    const int64_t begin = std::clamp<int64_t>(-shift, 0, count);
    return {tap, phase * pitch_ + shift, begin, std::clamp(room - shift, begin, count)};
  }

  /// Adds the lines of positions that lie in the image, all axes from `axis` on.
  template <typename T>
  void AddLines(const Planes<T>& planes, const LineTap& of, size_t axis, const Place& place) const {
    const ops::Col2ImAttributes& col = facts_.col;
    const size_t last = col.block.size() - 1;
    if (axis == last) return AddRun(planes, of, place, {1, 0});
    for (int64_t tap = 0; tap < col.block[axis]; ++tap) {
      // Positions [begin, end) of the axis lie in the image.
      const int64_t stride = col.strides[axis],
                    at = tap * col.dilations[axis] - col.pad_begin[axis];
      const int64_t count = col.positions[axis];
      const int64_t begin = at < 0 ? std::min(CeilDiv(-at, stride), count) : 0;
      const int64_t room = std::max<int64_t>(col.image[axis] - at, 0);
      const int64_t end = std::clamp(CeilDiv(room, stride), begin, count);
      Place next{place.tap * col.block[axis] + tap, place.from * count + begin,
                 place.to * col.image[axis] + begin * stride + at};
      if (axis + 1 == last) {
        AddRun(planes, of, next, {end - begin, stride});
        continue;
      }
      for (int64_t i = begin; i < end; ++i, ++next.from, next.to += stride)
        AddLines(planes, of, axis + 1, next);
    }
  }

  /// Lines of positions one behind the other, and how many lines of the image lie between theirs.
  struct Lines {
    int64_t count, step;
  };
  template <typename T>
  void AddRun(const Planes<T>& planes, const LineTap& of, const Place& place,
              const Lines& lines) const {
    const int64_t width = facts_.col.positions.back(), line = stride_ * pitch_;
    const int64_t first = (place.tap * facts_.col.block.back() + of.tap) * lines_ + place.from;
    const T* from = planes.x + first * width + of.begin;
    const int64_t at = place.to * line + of.start + of.begin;
    if constexpr (std::is_same_v<T, float>) {
      kernels_.add_lines({.in = from,
                          .in_step = width,
                          .in_plane = Columns(),
                          .num_planes = planes.count,
                          .num_lines = lines.count,
                          .count = of.end - of.begin,
                          .out = planes.rows + at,
                          .out_step = lines.step * line,
                          .out_plane = RowElements(),
                          .room = planes.count * RowElements() - at});
      return;
    }
    for (int64_t i = 0; i < planes.count * lines.count; ++i) {
      const int64_t plane = i / lines.count, n = i % lines.count;
      const T* in = from + plane * Columns() + n * width;
      T* to = planes.rows + at + plane * RowElements() + n * lines.step * line;
      for (int64_t j = 0; j < of.end - of.begin; ++j) to[j] += in[j];
    }
  }

  /// Whether no element is a sum of several.
  static bool IsApart(const ops::Col2ImAttributes& col) {
    constexpr int64_t kMostLines = 1 << 20;  // which are listed
    if (col.strides.back() == 1 || Product(col.image) / col.image.back() > kMostLines) return false;
    for (size_t i = 0; i < col.image.size(); ++i) {
      const bool is_dilated = col.block[i] > 1 && col.dilations[i] != 1;
      if (is_dilated || col.block[i] > col.strides[i] || col.pad_begin[i] != 0) return false;
      if (col.positions[i] * col.strides[i] < col.image[i]) return false;
    }
    return true;
  }

  /// The tap, all axes but the last, and the line of positions that a line of the image comes from;
  /// a negative tap where none does.
  Place SourceOf(int64_t line) const {
    const ops::Col2ImAttributes& col = facts_.col;
    Place place{.to = line};
    int64_t taps = 1, positions = 1;
    for (size_t axis = col.image.size() - 1; axis-- > 0;) {
      const int64_t at = line % col.image[axis], tap = at % col.strides[axis];
      if (tap >= col.block[axis]) return {.tap = -1};
      place.tap += tap * taps;
      place.from += at / col.strides[axis] * positions;
      taps *= col.block[axis];
      positions *= col.positions[axis];
      line /= col.image[axis];
    }
    return place;
  }

  /// Planes whose taps write elements of their own, line by line: rows of a stride that no tap has
  /// stay zeros.
  void PutApart(const Planes<float>& planes, float* image) const {
    const int64_t width = facts_.col.positions.back(), taps = facts_.col.block.back();
    FillZeros(planes.rows, stride_ * pitch_);
    for (int64_t plane = 0; plane < planes.count; ++plane, image += pixels_) {
      if (std::cmp_less(written_.size(), pixels_ / width_)) FillZeros(image, pixels_);
      const float* columns = planes.x + plane * Columns();
      for (const Place& line : written_) {
        const float* from = columns + (line.tap * taps * lines_ + line.from) * width;
        for (int64_t i = 0; i < taps; ++i)
          std::copy_n(from + i * lines_ * width, width, planes.rows + i * pitch_);
        kernels_.join_phases({.rows = planes.rows,
                              .pitch = pitch_,
                              .num_rows = stride_,
                              .count = width_,
                              .out = image + line.to * width_});
      }
    }
  }

  template <typename T>
  void Order(const T* rows, T* image) const {
    for (int64_t line = 0; line < pixels_ / width_; ++line, image += width_) {
      const T* row = rows + line * stride_ * pitch_;
      if constexpr (std::is_same_v<T, float>) {
        // The next line overwrites what is written behind this one.
        kernels_.join_phases({.rows = row,
                              .pitch = pitch_,
                              .num_rows = stride_,
                              .count = width_,
                              .out = image,
                              .room = pixels_ - line * width_});
      } else {
        for (int64_t i = 0; i < width_; ++i) image[i] = row[i % stride_ * pitch_ + i / stride_];
      }
    }
  }

  NodeOperands operands_;
  Facts facts_;
  const PlaneKernels& kernels_ = GetPlaneKernels();
  int64_t pixels_, width_, stride_;
  int64_t pitch_;               // of the rows of a line
  int64_t lines_;               // of positions
  bool is_apart_;               // each element comes from one tap at most
  std::vector<Place> written_;  // then, the lines of a plane that a tap writes
  int64_t planes_ = 1;          // of a task
  LaneScratch<double> rows_;
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
