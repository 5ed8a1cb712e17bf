#include "kernels/cpu/quantised/results.h"

#include <algorithm>

#include "kernels/cpu/epilogue/epilogue.h"
#include "kernels/cpu/quantised/gemm_kernel.h"

namespace fettle::kernels {
QuantResults::QuantResults(const Problem& problem, const QuantisedGroup& q, const PixelLayout& out,
                           const QuantLayout& layout, std::optional<elementwise::Program> program)
    : out_(out),
      nr_(layout.nr),
      oc_(layout.oc),
      group_columns_(layout.panels() * layout.nr),
      columns_{layout.zeros_offset(), layout.scales_offset(), layout.adds_offset(),
               layout.columns()},
      program_(std::move(program)),
      pads_(problem.shape(problem.group->outputs[0]), problem.states.outputs[0].layout,
            StorageBytes(problem.states.outputs[0].storage, 1)),
      output_(problem.states.outputs[0].storage),
      one_image_(out.is_channels_last()) {
  if (program_ && one_image_) scaled_ = program_->Scaled();
  const bool is_integer = q.core->op == "MatMulInteger"_op || q.core->op == "ConvInteger"_op;
  scales_sums_ = is_integer && output_ == DType::kF32 && scaled_ && !scaled_->IsClamped();
  if (scales_sums_) run_ = RunScaledSums;
  if (q.quantiser() == nullptr) return;
  requantise_ = *q.quantiser();
  const bool bounded = ResultsAreBounded(*problem.group, q, layout.groups * layout.oc);
  run_ = RequantiseFor(bounded);
  tiles_finish_ = one_image_ && bounded && !q.residual;
  if (q.residual) UseShortcut(problem, q);
}

void QuantResults::UseShortcut(const Problem& problem, const QuantisedGroup& q) {
  const ir::Graph& group = *problem.group;
  const QuantisedGroup::Residual& r = *q.residual;
  const auto type = [&](ir::ValueId id, double scale, int32_t zero) {
    return UnsignedBytes(group.value(id).dtype, static_cast<float>(scale),
                         static_cast<float>(zero));
  };
  sum_.a_type = type(r.product_bytes, r.product_scale, r.product.zero);
  sum_.b_type = type(r.shortcut, r.scale, r.zero);
  sum_.y_type = type(group.outputs[0], r.sum.scale, r.sum.zero);
  const int flipped = sum_.y_type.flip != 0 ? 128 : 0;
  sum_.low = static_cast<float>(r.sum.low + flipped);
  sum_.high = static_cast<float>(r.sum.high + flipped);
  fused_ = FindFusedSum(sum_);
  shortcut_ = IndexOf(group.inputs, r.shortcut);
  in_place_ = r.shortcut != q.x;
  run_ = SumFor(sum_);
}

std::vector<Alias> QuantResults::aliases() const {
  if (!in_place_) return {};
  return {{.output = 0, .input = shortcut_}};
}

std::span<const PackRequest> QuantResults::packs() const {
  return program_ ? std::span<const PackRequest>(program_->packs())
                  : std::span<const PackRequest>();
}

void QuantResults::FillScaling(QuantLaunch& launch, float* columns) const {
  launch.factors = {columns, columns + columns_.count};
  launch.addends = {columns + columns_.count, columns + 2 * columns_.count};
  for (int64_t group = 0; group * group_columns_ < columns_.count; ++group) {
    const auto fill = [&](const elementwise::Source& source, std::span<float> all) {
      const auto values = program_->Columns(launch.binding, source, group * oc_);
      for (int64_t c = 0; c < oc_; ++c)
        all[group * group_columns_ + c] = values.first[c * values.step];
    };
    fill(scaled_->factor, launch.factors);
    fill(scaled_->addend, launch.addends);
  }
}

QuantLaunch QuantResults::Begin(const CpuLaunch& args, const int32_t* init, float* columns) const {
  QuantLaunch launch{.args = args, .binding = {}, .init = init};
  if (program_) launch.binding = program_->Bind(args.inputs, args.packed.subspan(1), args.outputs);
  if (scales_sums_) FillScaling(launch, columns);
  RequantiseArgs& common = launch.common;
  common.out_stride = out_.block;
  if (!requantise_) return launch;
  common.is_signed = output_ == DType::kI8;
  common.zero = requantise_->zero;
  common.low = requantise_->low;
  common.high = requantise_->high;
  if (shortcut_ >= 0) {
    common.sum = &sum_;
    common.fused = fused_ ? &*fused_ : nullptr;
  }
  return launch;
}

RequantiseArgs QuantResults::OfPanel(const QuantLaunch& launch, int64_t group,
                                     int64_t panel) const {
  RequantiseArgs out = launch.common;
  const int64_t first = panel * nr_;
  out.columns = std::min(nr_, oc_ - first);
  SetColumns(launch, PaddedColumn(group, first), out);
  out.bytes = launch.args.outputs[0].host<uint8_t>() + group * oc_ + first;
  return out;
}

bool QuantResults::StoreInPlace(const QuantLaunch& launch, const QuantTile& first, bool scales,
                                QuantTileArgs& tile) const {
  const int64_t column = first.panel * nr_, padded = PaddedColumn(first.group, column);
  const bool are_sums = !requantise_ && !program_ && output_ == DType::kI32;
  if (!one_image_ || oc_ - column < nr_ || !(are_sums || (scales_sums_ && scales))) return false;
  tile.c = launch.args.outputs[0].host<int32_t>() + first.pixel * out_.block + first.group * oc_ +
           column;
  tile.c_stride = out_.block;
  if (scales_sums_) {
    tile.scale = &launch.factors[padded];
    tile.add = &launch.addends[padded];
  }
  return true;
}

void QuantResults::SetColumns(const QuantLaunch& launch, int64_t column,
                              RequantiseArgs& out) const {
  const std::byte* blob = launch.args.packed[0].host<std::byte>();
  if (launch.init != nullptr) out.init = launch.init + column;
  out.w_zero = reinterpret_cast<const int32_t*>(blob + columns_.zeros) + column;
  out.scale = reinterpret_cast<const float*>(blob + columns_.scales) + column;
  out.add = reinterpret_cast<const float*>(blob + columns_.adds) + column;
  if (scales_sums_) {
    out.scale = &launch.factors[column];
    out.add = &launch.addends[column];
  }
}

void QuantResults::End(const QuantLaunch& launch) const {
  pads_.Zero(launch.args.stream, launch.args.outputs[0].host<std::byte>());
}

int64_t QuantResults::scratch_bytes() const {
  return program_ && !scaled_ ? int64_t{kMaxTileSums} * 4 : 0;
}

void QuantResults::Store(const QuantLaunch& launch, const QuantTile& tile,
                         std::byte* scratch) const {
  const int64_t first = tile.panel * nr_;
  const int64_t columns = std::min(nr_, oc_ - first);
  const int64_t padded = PaddedColumn(tile.group, first);
  const int64_t channel = tile.group * oc_ + first;
  RequantiseArgs out = launch.common;
  out.sums_stride = tile.stride;
  out.rows = tile.rows;
  out.row_sums = tile.row_sums;
  for (int64_t n = 0; n < columns; n += out.columns) {
    out.sums = tile.sums + n;
    out.columns =
        one_image_ ? columns : std::min(columns - n, out_.block - (channel + n) % out_.block);
    StoreBlock(launch, out, tile.pixel, channel + n, padded + n, scratch);
  }
}

ScaledFloats QuantResults::ScaleOf(const QuantLaunch& launch, int64_t channel) const {
  const auto factor = program_->Columns(launch.binding, scaled_->factor, channel);
  const auto addend = program_->Columns(launch.binding, scaled_->addend, channel);
  return {.factor = factor.first,
          .addend = addend.first,
          .factor_step = factor.step,
          .addend_step = addend.step,
          .least = scaled_->least,
          .greatest = scaled_->greatest};
}

// Channels from `channel` on; `column` is the first one's among the padded columns.
void QuantResults::StoreBlock(const QuantLaunch& launch, RequantiseArgs& out, int64_t pixel,
                              int64_t channel, int64_t column, std::byte* scratch) const {
  SetColumns(launch, column, out);
  const int64_t image = one_image_ ? 0 : pixel / out_.pixels;
  const int64_t in_image = pixel - image * out_.pixels;
  const int64_t at =
      one_image_ ? pixel * out_.block + channel : out_.Offset(image, in_image, channel);
  std::byte* y = launch.args.outputs[0].host<std::byte>();
  if (requantise_) {
    out.bytes = reinterpret_cast<uint8_t*>(y) + at;
    if (shortcut_ >= 0) out.shortcut = launch.args.inputs[shortcut_].host<uint8_t>() + at;
  } else if (program_ && !scaled_) {
    out.floats = reinterpret_cast<float*>(scratch);
    out.out_stride = nr_;
  } else if (output_ == DType::kI32) {
    out.ints = reinterpret_cast<int32_t*>(y) + at;
  } else {
    out.floats = reinterpret_cast<float*>(y) + at;
  }
  ScaledFloats scaled;
  if (scaled_ && !scales_sums_) {
    scaled = ScaleOf(launch, channel);
    out.scaled = &scaled;
  }
  run_(out);
  if (!program_ || scaled_) return;
  elementwise::Tile tile{
      .rows = out.rows, .col = one_image_ ? channel : channel % out_.block, .cols = out.columns};
  tile.row =
      one_image_ ? pixel : (image * out_.blocks() + channel / out_.block) * out_.pixels + in_image;
  tile.running = out.floats;
  tile.running_stride = out.out_stride;
  program_->Run(launch.binding, tile);
}

QuantKernel::QuantKernel(QuantProduct& p, const QuantLayout& layout, std::string_view form,
                         bool flips, const CpuDevice& device)
    : CpuKernel(device.pool().threads()),
      q_(p.q),
      g_(p.shapes.g),
      operands_(p.problem.group, q_, layout, flips),
      results_(p.problem, q_, p.pixels.out, layout, std::move(p.program)),
      init_(PerRun<int32_t>(layout.columns())),
      form_(form),
      finishing_(PerLane<std::byte>(results_.scratch_bytes())),
      scaling_(PerRun<float>(results_.column_floats())) {}

std::vector<PackRequest> QuantKernel::packs() const {
  std::vector<PackRequest> all{MakeQuantPack(q_, operands_.layout(), form_)};
  all.insert(all.end(), results_.packs().begin(), results_.packs().end());
  return all;
}

}  // namespace fettle::kernels
