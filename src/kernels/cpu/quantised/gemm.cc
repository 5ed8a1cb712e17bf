// cpu.quantised.gemm: convolutions (channels-last) and matrix products of bytes with i32 sums;
// results are requantised, turned into floats for an element-wise program, or stored as sums.
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised/requantise.h"
#include "kernels/cpu/quantised/tail.h"
#include "ops/matmul/op.h"

namespace fettle::kernels {
namespace {

/// Longest sum of products that i32 holds: 2^31 / (255 * 255), rounded down.
constexpr int64_t kMaxDepth = 33000;

/// A product as the convolution that it is: rows are pixels of one line.
struct Shapes {
  ConvGeometry g;
  bool transposed = false;
};

bool IsConv(const QuantisedGroup& q) { return q.core->op == "Conv" || q.core->op == "ConvInteger"; }

Result<Shapes> ReadShapes(const ir::Graph& group, const QuantisedGroup& q) {
  Shapes shapes;
  ConvGeometry& g = shapes.g;
  if (IsConv(q)) {
    ASSIGN_OR_RETURN(g, ReadConvGeometry(group, *q.core));
  } else {
    const Shape& a = *group.value(q.core->input(0)).shape;
    const Shape& b = *group.value(q.core->input(1)).shape;
    if (a.rank() < 2 || b.rank() != 2) return Unsupported("weights of rank {}", b.rank());
    g.ic = a[a.rank() - 1];
    const bool rows_are_channels = q.core->op == "Gemm" && q.core->attributes.Int("transB") != 0;
    shapes.transposed = !rows_are_channels;
    g.oc = b[rows_are_channels ? 0 : 1];
    g.in[2] = g.out[2] = a.Count(0, a.rank() - 1);
    if (q.bias != ir::kAbsent && group.value(q.bias).shape->elements() != g.oc)
      return Unsupported("the addend is no row of the output");
  }
  if (g.ic / g.groups * g.taps() > kMaxDepth)
    return Unsupported("sums of over {} products", kMaxDepth);
  if (g.pixels() == 0 || g.ic == 0 || g.oc == 0) return Unsupported("an empty operand");
  return shapes;
}

Result<std::vector<StateAssignment>> Candidates(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  RETURN_IF_ERROR(ReadShapes(group, q).status());
  ASSIGN_OR_RETURN(StateAssignment states,
                   IsConv(q) ? ChannelsLastStates(group) : FloatRowMajorStates(group));
  RETURN_IF_ERROR(CompileQuantTail(group, q, states).status());
  return std::vector<StateAssignment>{std::move(states)};
}

class QuantGemm final : public PreparedKernel {
 public:
  QuantGemm(const Problem& problem, const QuantisedGroup& q, const Shapes& shapes,
            std::optional<elementwise::Program> program, const CpuDevice& device)
      : group_(problem.group),
        q_(q),
        g_(shapes.g),
        taps_(PlanTaps(shapes.g)),
        kernels_(GetQuantKernels()),
        program_(std::move(program)),
        output_(problem.states.outputs[0].storage),
        lanes_(device.pool().threads()),
        input_(static_cast<size_t>(IndexOf(group_->inputs, q.x))) {
    const ir::Value& w = group_->value(q_.w);
    layout_ = {.groups = g_.groups,
               .oc = g_.oc / g_.groups,
               .ic = g_.ic / g_.groups,
               .kernel_taps = g_.taps(),
               .kernel_width = g_.kernel[2],
               .tap_rows = taps_.rows,
               .transposed = shapes.transposed,
               .wide = kernels_.wide,
               .unsigned_w = w.dtype == DType::kU8,
               .nr = kernels_.nr};
    signed_x_ = group_->value(q_.x).dtype == DType::kI8;
    if (q_.x_zero != ir::kAbsent && !group_->value(q_.x_zero).is_constant())
      zero_input_ = IndexOf(group_->inputs, q_.x_zero);
    row_sums_ = !kernels_.wide && HasZeroPoints();
    const int64_t most = std::clamp<int64_t>(16384 / taps_.taps, kernels_.mr, 448);
    blocking_ = ChooseBlocking(device.info(), kernels_.mr, kernels_.nr, g_.pixels(),
                               layout_.columns(), layout_.taps() * layout_.steps(), lanes_, most);
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all{MakeQuantPack(q_, layout_, kernels_)};
    if (program_) all.insert(all.end(), program_->packs().begin(), program_->packs().end());
    return all;
  }

  int64_t workspace_bytes() const override { return SharedBytes() + lanes_ * LaneBytes(); }

  Status Launch(const LaunchArgs& args) const override {
    const int32_t zero = InputZero(args);
    std::byte* shared = args.workspace.host<std::byte>();
    std::memset(shared, zero, static_cast<size_t>(PaddingBytes()));
    FillInit(args, zero, reinterpret_cast<int32_t*>(shared + PaddingBytes()));
    elementwise::Binding binding;
    if (program_) binding = program_->Bind(args.inputs, args.packed.subspan(1), args.outputs);
    const int64_t all_panels = g_.groups * layout_.panels();
    const int64_t row_tasks = CeilDiv(g_.pixels(), blocking_.rows);
    const int64_t column_tasks = CeilDiv(all_panels, blocking_.panels);
    static_cast<CpuStream&>(args.stream)
        .ParallelFor(row_tasks * column_tasks, [&](int64_t task, int lane) {
          const int64_t begin = task / column_tasks * blocking_.rows;
          const int64_t first = task % column_tasks * blocking_.panels;
          Task work{args, binding, {begin, std::min(blocking_.rows, g_.pixels() - begin)}, zero};
          work.scratch = shared + SharedBytes() + lane * LaneBytes();
          RunTask(work, first, std::min(first + blocking_.panels, all_panels));
        });
    return OkStatus();
  }

 private:
  struct Task {
    const LaunchArgs& args;
    const elementwise::Binding& binding;
    PixelRange range;
    int32_t zero;
    std::byte* scratch = nullptr;
  };

  bool HasZeroPoints() const {
    const int64_t neutral = layout_.unsigned_w ? 128 : 0;
    if (q_.w_zero == ir::kAbsent) return neutral != 0;
    const Constant& zeros = *group_->value(q_.w_zero).constant;
    for (int64_t i = 0; i < zeros.elements(); ++i) {
      if (zeros.GetInt(i) != neutral) return true;
    }
    return false;
  }

  int32_t InputZero(const LaunchArgs& args) const {
    if (q_.x_zero == ir::kAbsent) return 0;
    if (zero_input_ < 0) return static_cast<int32_t>(group_->value(q_.x_zero).constant->GetInt(0));
    const Location& at = args.inputs[static_cast<size_t>(zero_input_)];
    return signed_x_ ? *at.host<int8_t>() : *at.host<uint8_t>();
  }

  // The workspace: padding bytes, init values, then per lane pointers, tap copies, widened rows,
  // row sums and one tile of floats.
  int64_t PaddingBytes() const { return RoundUp(taps_.depth + 64, 64); }
  int64_t SharedBytes() const { return PaddingBytes() + RoundUp(layout_.columns() * 4, 64); }
  int64_t PointerBytes() const {
    return RoundUp(blocking_.rows * taps_.taps * static_cast<int64_t>(sizeof(void*)), 64);
  }
  int64_t CopyBytes() const { return RoundUp(TapCopyBytes(g_, taps_, blocking_.rows, 1) + 64, 64); }
  int64_t WideRowBytes() const { return layout_.steps() * 4; }
  int64_t WideBytes() const {
    return kernels_.wide ? RoundUp(blocking_.rows * (WideRowBytes() + 8), 64) : 0;
  }
  int64_t RowSumBytes() const { return RoundUp(blocking_.rows * 4, 64); }
  int64_t TileBytes() const { return int64_t{kMaxQuantRows} * kMaxQuantColumns * 4; }
  int64_t LaneBytes() const {
    return PointerBytes() + CopyBytes() + WideBytes() + RowSumBytes() + TileBytes();
  }

  /// sum (x - zx)(w - zw) = sum xw - zx sum w - zw sum x + K zx zw; what the columns know of it.
  void FillInit(const LaunchArgs& args, int32_t zero, int32_t* init) const {
    const std::byte* blob = args.packed[0].host<std::byte>();
    const auto* sums = reinterpret_cast<const int32_t*>(blob + layout_.sums_offset());
    const auto* zeros = reinterpret_cast<const int32_t*>(blob + layout_.zeros_offset());
    const auto* biases = reinterpret_cast<const int32_t*>(blob + layout_.biases_offset());
    const int32_t x_zero = kernels_.wide ? 0 : zero + (signed_x_ ? 128 : 0);
    const auto depth = static_cast<uint32_t>(layout_.ic * layout_.kernel_taps);
    // The parts may wrap around; their sum with the products does not.
    for (int64_t n = 0; n < layout_.columns(); ++n) {
      const uint32_t column =
          depth * static_cast<uint32_t>(zeros[n]) - static_cast<uint32_t>(sums[n]);
      init[n] = static_cast<int32_t>(static_cast<uint32_t>(x_zero) * column +
                                     static_cast<uint32_t>(biases[n]));
    }
  }

  void RunTask(const Task& task, int64_t first, int64_t end) const {
    auto** pointers = reinterpret_cast<const uint8_t**>(task.scratch);
    FillTapPointers<uint8_t>(g_, taps_, task.args.inputs[input_].host<uint8_t>(),
                             task.args.workspace.host<uint8_t>(), static_cast<uint8_t>(task.zero),
                             task.range, kernels_.mr,
                             reinterpret_cast<uint8_t*>(task.scratch + PointerBytes()), pointers);
    for (int64_t panel = first; panel < end;) {
      const int64_t group = panel / layout_.panels(), in_group = panel % layout_.panels();
      const int64_t count = std::min(end - panel, layout_.panels() - in_group);
      RunGroup(task, pointers, group, in_group, in_group + count);
      panel += count;
    }
  }

  /// The panels [first, end) of one group.
  void RunGroup(const Task& task, const uint8_t* const* pointers, int64_t group, int64_t first,
                int64_t end) const {
    auto* wide = reinterpret_cast<int16_t*>(task.scratch + PointerBytes() + CopyBytes());
    auto* row_sums =
        reinterpret_cast<int32_t*>(task.scratch + PointerBytes() + CopyBytes() + WideBytes());
    if (kernels_.wide) WidenRows(task, pointers, group * layout_.ic, wide);
    if (row_sums_) SumRows(task, pointers, group * layout_.ic, row_sums);
    const bool flip = signed_x_ && !kernels_.wide;
    alignas(64) int32_t sums[kMaxQuantRows * kMaxQuantColumns];
    for (int64_t panel = first; panel < end; ++panel) {
      QuantTileArgs tile;
      tile.a_offset = kernels_.wide ? 0 : group * layout_.ic;
      tile.taps = layout_.taps();
      tile.steps = layout_.steps();
      tile.b = task.args.packed[0].host<std::byte>() + group * layout_.group_bytes() +
               panel * layout_.panel_bytes();
      tile.c = sums;
      for (int64_t row = 0; row < task.range.rows; row += kernels_.mr) {
        const int64_t rows = std::min<int64_t>(kernels_.mr, task.range.rows - row);
        const std::byte* wide_rows[kMaxQuantRows];
        if (kernels_.wide) {
          for (int64_t r = 0; r < rows; ++r)
            wide_rows[r] = reinterpret_cast<const std::byte*>(wide) + (row + r) * WideRowBytes();
          tile.a = wide_rows;
        } else {
          tile.a = reinterpret_cast<const std::byte* const*>(pointers + row * taps_.taps);
        }
        (flip ? kernels_.tile_signed : kernels_.tile)[rows](tile);
        Store(task, sums, row_sums_ ? row_sums + row : nullptr, row, rows, group, panel);
      }
    }
  }

  /// Calls f(row, pointer) for each tap of each row, in order of depth.
  template <typename F>
  void ForEachTap(const Task& task, const uint8_t* const* pointers, const F& f) const {
    for (int64_t first = 0; first < task.range.rows; first += kernels_.mr) {
      const int64_t rows = std::min<int64_t>(kernels_.mr, task.range.rows - first);
      const uint8_t* const* tile = pointers + first * taps_.taps;
      for (int64_t t = 0; t < taps_.taps; ++t) {
        for (int64_t r = 0; r < rows; ++r) f(first + r, t, tile[t * rows + r]);
      }
    }
  }
  int64_t TapDepth() const { return taps_.rows ? taps_.depth : layout_.ic; }

  void WidenRows(const Task& task, const uint8_t* const* pointers, int64_t offset,
                 int16_t* wide) const {
    const int64_t stride = WideRowBytes() / 2, depth = TapDepth();
    const auto zero = static_cast<int16_t>(task.zero);
    ForEachTap(task, pointers, [&](int64_t row, int64_t tap, const uint8_t* x) {
      int16_t* out = wide + row * stride + tap * depth;
      x += offset;
      if (signed_x_) {
        for (int64_t i = 0; i < depth; ++i)
          out[i] = static_cast<int16_t>(static_cast<int8_t>(x[i]) - zero);
      } else {
        for (int64_t i = 0; i < depth; ++i) out[i] = static_cast<int16_t>(x[i] - zero);
      }
      if (tap + 1 == taps_.taps && taps_.taps * depth % 2 != 0) out[depth] = 0;
    });
  }

  void SumRows(const Task& task, const uint8_t* const* pointers, int64_t offset,
               int32_t* sums) const {
    std::fill_n(sums, task.range.rows, 0);
    const int64_t depth = TapDepth();
    ForEachTap(task, pointers, [&](int64_t row, int64_t, const uint8_t* x) {
      int32_t sum = 0;
      x += offset;
      if (signed_x_) {
        for (int64_t i = 0; i < depth; ++i) sum += static_cast<int8_t>(x[i]) + 128;
      } else {
        for (int64_t i = 0; i < depth; ++i) sum += x[i];
      }
      sums[row] += sum;
    });
  }

  void Store(const Task& task, const int32_t* sums, const int32_t* row_sums, int64_t row,
             int64_t rows, int64_t group, int64_t panel) const {
    const std::byte* blob = task.args.packed[0].host<std::byte>();
    const int64_t column = (group * layout_.panels() + panel) * layout_.nr;
    const int64_t channel = group * layout_.oc + panel * layout_.nr;
    RequantiseArgs out;
    out.sums = sums;
    out.sums_stride = kernels_.nr;
    out.rows = rows;
    out.columns = std::min<int64_t>(kernels_.nr, layout_.oc - panel * layout_.nr);
    out.init =
        reinterpret_cast<const int32_t*>(task.args.workspace.host<std::byte>() + PaddingBytes()) +
        column;
    out.row_sums = row_sums;
    out.w_zero = reinterpret_cast<const int32_t*>(blob + layout_.zeros_offset()) + column;
    out.scale = reinterpret_cast<const float*>(blob + layout_.scales_offset()) + column;
    out.add = reinterpret_cast<const float*>(blob + layout_.adds_offset()) + column;
    out.out_stride = g_.oc;
    const int64_t at = (task.range.begin + row) * g_.oc + channel;
    std::byte* y = task.args.outputs[0].host<std::byte>();
    if (q_.requantise) {
      out.bytes = reinterpret_cast<uint8_t*>(y) + at;
      out.is_signed = output_ == DType::kI8;
      out.zero = q_.requantise->zero;
      out.low = q_.requantise->low;
      out.high = q_.requantise->high;
    } else if (program_) {
      out.floats = reinterpret_cast<float*>(task.scratch + LaneBytes() - TileBytes());
      out.out_stride = kernels_.nr;
    } else if (output_ == DType::kI32) {
      out.ints = reinterpret_cast<int32_t*>(y) + at;
    } else {
      out.floats = reinterpret_cast<float*>(y) + at;
    }
    RunRequantise(out);
    if (!program_) return;
    elementwise::Tile tile{.row = task.range.begin + row, .rows = rows, .col = channel};
    tile.cols = out.columns;
    tile.running = out.floats;
    tile.running_stride = out.out_stride;
    program_->Run(task.binding, tile);
  }

  std::shared_ptr<const ir::Graph> group_;
  QuantisedGroup q_;
  ConvGeometry g_;
  TapPlan taps_;
  const QuantKernels& kernels_;
  std::optional<elementwise::Program> program_;
  DType output_;
  int lanes_;
  size_t input_;
  int zero_input_ = -1;
  QuantLayout layout_;
  bool signed_x_ = false, row_sums_ = false;
  Blocking blocking_;
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params&,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(*problem.group));
  ASSIGN_OR_RETURN(const Shapes shapes, ReadShapes(*problem.group, q));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileQuantTail(*problem.group, q, problem.states));
  return std::unique_ptr<PreparedKernel>(
      new QuantGemm(problem, q, shapes, std::move(program), static_cast<const CpuDevice&>(device)));
}

}  // namespace

extern const KernelDesc kCpuQuantisedGemm;
const KernelDesc kCpuQuantisedGemm = {
    .name = "cpu.quantised.gemm", .preference = 15, .candidates = Candidates, .prepare = Prepare};

}  // namespace fettle::kernels
