#include "kernels/cpu/quantised/gemm_kernel.h"

#include <algorithm>
#include <cstring>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/layout/pad_lanes.h"
#include "kernels/cpu/quantised/pack.h"
#include "kernels/cpu/quantised/requantise.h"
#include "kernels/cpu/quantised/rows.h"

namespace fettle::kernels {
namespace {

class QuantGemm final : public PreparedKernel {
 public:
  QuantGemm(const Problem& problem, const QuantisedGroup& q, const QuantShapes& shapes,
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
              StorageBytes(problem.states.outputs[0].storage, 1)),
        blocking_(blocking),
        output_(problem.states.outputs[0].storage),
        lanes_(device.pool().threads()),
        input_(IndexOf(group_->inputs, q.x)) {
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
    std::memset(shared, zero, PaddingBytes());
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
    const Location& at = args.inputs[zero_input_];
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
    const TapRows rows_of{.pointers = pointers,
                          .offset = group * layout_.ic,
                          .rows = task.range.rows,
                          .taps = taps_.taps,
                          .mr = kernels_.mr,
                          .is_signed = signed_x_};
    if (kernels_.wide) {
      WidenRows(rows_of, g_.groups == 1 ? taps_.depth : layout_.ic, static_cast<int16_t>(task.zero),
                WideRowBytes() / 2, wide);
    }
    if (row_sums_) SumRows(rows_of, layout_, row_sums);
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

}  // namespace

const QuantKernels& KernelsFor(const ConvGeometry& g) { return GetQuantKernels(g.oc / g.groups); }

std::unique_ptr<PreparedKernel> MakeQuantGemm(const Problem& problem, const QuantisedGroup& q,
                                              const QuantShapes& shapes, const ConvPixels& pixels,
                                              const Blocking& blocking,
                                              std::optional<elementwise::Program> program,
                                              const CpuDevice& device) {
  return std::make_unique<QuantGemm>(problem, q, shapes, pixels, blocking, std::move(program),
                                     device);
}

}  // namespace fettle::kernels
