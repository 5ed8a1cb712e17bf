// Products of bytes with i32 sums; results are requantised, turned into floats for an element-wise
// program, or stored as sums.
//   cpu.quantised.gemm         matrix products, and convolutions of channels-last pixels
//   cpu.quantised.gemm.nchwc   convolutions from or to blocks of channels, or both
#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/conv/operands.h"
#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/gemm/block.h"
#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/layout/pad_lanes.h"
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

Result<std::vector<StateAssignment>> BlockedCandidates(const ir::Graph& group,
                                                       const Device& device) {
  ASSIGN_OR_RETURN(const std::vector<StateAssignment> usual, Candidates(group, device));
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(group));
  ASSIGN_OR_RETURN(const Shapes shapes, ReadShapes(group, q));
  if (!IsConv(q) || group.value(q.x).shape->rank() != 4) return Unsupported("not an image");
  if (shapes.g.groups != 1) return Unsupported("more than one group");
  const Layout blocks = ChannelBlockLayout(), last = Layout::ChannelsLast(4);
  const int64_t block = blocks.blocks[0].size;
  std::vector<ConvLayouts> layouts;
  if (2 * shapes.g.ic >= block && 2 * shapes.g.oc >= block) layouts.push_back({blocks, blocks});
  if (2 * shapes.g.oc >= block) layouts.push_back({last, blocks});
  if (2 * shapes.g.ic >= block) layouts.push_back({blocks, last});
  return StatesIn(group, q.x, usual[0], layouts, [&](const StateAssignment& states) {
    return CompileQuantTail(group, q, states).status();
  });
}

/// The pixels of a convolution; rows of a product are pixels too.
Result<ConvPixels> ReadQuantPixels(const Problem& problem, const QuantisedGroup& q,
                                   const ConvGeometry& g) {
  if (IsConv(q)) return ReadConvPixels(problem, q.x);
  return ConvPixels{ChannelsLastPixels(g.ic, g.pixels()), ChannelsLastPixels(g.oc, g.pixels())};
}

const QuantKernels& KernelsFor(const ConvGeometry& g) { return GetQuantKernels(g.oc / g.groups); }

/// Row tiles that a task may have: their pointers stay in the first-level cache.
int64_t MostRows(const ConvGeometry& g, const TapPlan& taps) {
  return std::clamp<int64_t>(16384 / taps.taps, KernelsFor(g).mr, 448);
}

Blocking UsualBlocking(const ConvGeometry& g, const TapPlan& taps, const CpuDevice& device) {
  const QuantKernels& kernels = KernelsFor(g);
  const int64_t steps =
      taps.taps * CeilDiv(g.groups == 1 ? taps.depth : g.ic / g.groups, kernels.wide ? 2 : 4);
  const int64_t columns = g.groups * RoundUp(g.oc / g.groups, kernels.nr);
  return ChooseBlocking(device.info(), kernels.mr, kernels.nr, g.pixels(), columns, steps,
                        device.pool().threads(), MostRows(g, taps));
}

class QuantGemm final : public PreparedKernel {
 public:
  QuantGemm(const Problem& problem, const QuantisedGroup& q, const Shapes& shapes,
            const ConvPixels& pixels, const Blocking& blocking,
            std::optional<elementwise::Program> program, const CpuDevice& device)
      : group_(problem.group),
        q_(q),
        g_(shapes.g),
        out_(pixels.out),
        taps_(PlanTaps(shapes.g, pixels.in, 1)),
        kernels_(KernelsFor(shapes.g)),
        program_(std::move(program)),
        pads_(problem.shape(problem.group->outputs[0]), problem.states.outputs[0].layout,
              ByteSize(problem.states.outputs[0].storage)),
        blocking_(blocking),
        output_(problem.states.outputs[0].storage),
        lanes_(device.pool().threads()),
        input_(static_cast<size_t>(IndexOf(group_->inputs, q.x))) {
    const ir::Value& w = group_->value(q_.w);
    layout_ = {.groups = g_.groups,
               .oc = g_.oc / g_.groups,
               .ic = g_.ic / g_.groups,
               .kernel_taps = g_.taps(),
               .kernel_width = g_.kernel[2],
               .ic_block = pixels.in.is_channels_last() ? 0 : pixels.in.block,
               .tap_rows = taps_.rows,
               .transposed = shapes.transposed,
               .wide = kernels_.wide,
               .unsigned_w = w.dtype == DType::kU8,
               .nr = kernels_.nr};
    signed_x_ = group_->value(q_.x).dtype == DType::kI8;
    if (q_.x_zero != ir::kAbsent && !group_->value(q_.x_zero).is_constant())
      zero_input_ = IndexOf(group_->inputs, q_.x_zero);
    row_sums_ = !kernels_.wide && HasZeroPoints();
    run_ = out_.is_channels_last() ? g_.pixels() : out_.pixels;
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
    const int64_t run_tasks = CeilDiv(run_, blocking_.rows);
    const int64_t row_tasks = g_.pixels() / run_ * run_tasks;
    const int64_t column_tasks = CeilDiv(all_panels, blocking_.panels);
    auto& stream = static_cast<CpuStream&>(args.stream);
    stream.ParallelFor(row_tasks * column_tasks, [&](int64_t task, int lane) {
      const int64_t row = task / column_tasks, in_run = row % run_tasks * blocking_.rows;
      const int64_t first = task % column_tasks * blocking_.panels;
      Task work{args,
                binding,
                {row / run_tasks * run_ + in_run, std::min(blocking_.rows, run_ - in_run)},
                zero};
      work.scratch = shared + SharedBytes() + lane * LaneBytes();
      RunTask(work, first, std::min(first + blocking_.panels, all_panels));
    });
    pads_.Zero(stream, args.outputs[0].host<std::byte>());
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
  int64_t TileBytes() const { return int64_t{kMaxQuantSums} * 4; }
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
    alignas(64) int32_t sums[kMaxQuantSums];
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
  int64_t TapDepth() const { return g_.groups == 1 ? taps_.depth : layout_.ic; }

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
    const uint8_t flip = signed_x_ ? 0x80 : 0;
    ForEachTap(task, pointers, [&](int64_t row, int64_t tap, const uint8_t* x) {
      // Pad lanes do not count.
      const int64_t before = tap / layout_.block_taps() * layout_.block();
      const int64_t channels = std::min(layout_.block(), layout_.ic - before);
      int32_t sum = 0;
      x += offset;
      for (int64_t p = 0; p < layout_.tap_pixels(); ++p, x += layout_.block()) {
        for (int64_t i = 0; i < channels; ++i) sum += x[i] ^ flip;
      }
      sums[row] += sum;
    });
  }

  /// One tile of sums, block by block of output channels.
  void Store(const Task& task, const int32_t* sums, const int32_t* row_sums, int64_t row,
             int64_t rows, int64_t group, int64_t panel) const {
    const int64_t first = panel * layout_.nr;
    const int64_t columns = std::min<int64_t>(kernels_.nr, layout_.oc - first);
    const int64_t padded = (group * layout_.panels()) * layout_.nr + first;
    const int64_t channel = group * layout_.oc + first;
    RequantiseArgs out;
    out.sums_stride = kernels_.nr;
    out.rows = rows;
    out.row_sums = row_sums;
    for (int64_t n = 0; n < columns; n += out.columns) {
      out.sums = sums + n;
      out.columns = std::min(columns - n, out_.block - (channel + n) % out_.block);
      StoreBlock(task, out, task.range.begin + row, channel + n, padded + n);
    }
  }

  /// Pixels from `pixel` on, channels from `channel` on; `column` is the first one's among the
  /// padded columns.
  void StoreBlock(const Task& task, RequantiseArgs out, int64_t pixel, int64_t channel,
                  int64_t column) const {
    const std::byte* blob = task.args.packed[0].host<std::byte>();
    out.init =
        reinterpret_cast<const int32_t*>(task.args.workspace.host<std::byte>() + PaddingBytes()) +
        column;
    out.w_zero = reinterpret_cast<const int32_t*>(blob + layout_.zeros_offset()) + column;
    out.scale = reinterpret_cast<const float*>(blob + layout_.scales_offset()) + column;
    out.add = reinterpret_cast<const float*>(blob + layout_.adds_offset()) + column;
    out.out_stride = out_.block;
    const int64_t image = pixel / out_.pixels, in_image = pixel % out_.pixels;
    const int64_t at = out_.Offset(image, in_image, channel);
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
    elementwise::Tile tile{.rows = out.rows, .col = channel % out_.block, .cols = out.columns};
    tile.row = (image * out_.blocks() + channel / out_.block) * out_.pixels + in_image;
    tile.running = out.floats;
    tile.running_stride = out.out_stride;
    program_->Run(task.binding, tile);
  }

  std::shared_ptr<const ir::Graph> group_;
  QuantisedGroup q_;
  ConvGeometry g_;
  PixelLayout out_;
  TapPlan taps_;
  const QuantKernels& kernels_;
  std::optional<elementwise::Program> program_;
  PadLanes pads_;
  Blocking blocking_;
  int64_t run_ = 0;  // pixels that follow each other in the output
  DType output_;
  int lanes_;
  size_t input_;
  int zero_input_ = -1;
  QuantLayout layout_;
  bool signed_x_ = false, row_sums_ = false;
};

/// What a problem is cut by.
struct Cut {
  int mr;
  int64_t max_tiles, all_panels;
  Blocking usual;
};

Cut ReadCut(const Problem& problem, const Device& device) {
  const QuantisedGroup q = ReadQuantisedGroup(*problem.group).value();
  const ConvGeometry g = ReadShapes(*problem.group, q).value().g;
  const TapPlan taps = PlanTaps(g, ReadQuantPixels(problem, q, g).value().in, 1);
  const QuantKernels& kernels = KernelsFor(g);
  return {kernels.mr, MostRows(g, taps) / kernels.mr,
          g.groups * CeilDiv(g.oc / g.groups, kernels.nr),
          UsualBlocking(g, taps, static_cast<const CpuDevice&>(device))};
}

std::vector<Tunable> Tunables(const Problem& problem, const Device& device) {
  const Cut cut = ReadCut(problem, device);
  std::vector<Tunable> tunables =
      BlockingTunables(cut.usual, cut.mr, cut.max_tiles, cut.all_panels);
  std::erase_if(tunables, [](const Tunable& tunable) { return tunable.name == "depth_block"; });
  return tunables;
}

Params Defaults(const Problem& problem, const Device& device) {
  const Cut cut = ReadCut(problem, device);
  Params params = BlockingParams(cut.usual, cut.mr);
  params.erase("depth_block");
  return params;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Params& params,
                                                const Device& device) {
  ASSIGN_OR_RETURN(const QuantisedGroup q, ReadQuantisedGroup(*problem.group));
  ASSIGN_OR_RETURN(const Shapes shapes, ReadShapes(*problem.group, q));
  ASSIGN_OR_RETURN(const ConvPixels pixels, ReadQuantPixels(problem, q, shapes.g));
  ASSIGN_OR_RETURN(std::optional<elementwise::Program> program,
                   CompileQuantTail(*problem.group, q, problem.states));
  const Cut cut = ReadCut(problem, device);
  const Blocking blocking = ReadBlocking(params, cut.usual, cut.mr);
  return std::unique_ptr<PreparedKernel>(new QuantGemm(problem, q, shapes, pixels, blocking,
                                                       std::move(program),
                                                       static_cast<const CpuDevice&>(device)));
}

}  // namespace

extern const KernelDesc kCpuQuantisedGemm;
const KernelDesc kCpuQuantisedGemm = {.name = "cpu.quantised.gemm",
                                      .version = 3,
                                      .preference = 15,
                                      .candidates = Candidates,
                                      .prepare = Prepare,
                                      .tunables = Tunables,
                                      .default_params = Defaults};

extern const KernelDesc kCpuQuantisedGemmNchwc;
const KernelDesc kCpuQuantisedGemmNchwc = {.name = "cpu.quantised.gemm.nchwc",
                                           .version = 2,
                                           .preference = 13,
                                           .candidates = BlockedCandidates,
                                           .prepare = Prepare,
                                           .tunables = Tunables,
                                           .default_params = Defaults};

}  // namespace fettle::kernels
