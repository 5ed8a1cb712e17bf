#include "kernels/cpu/quantised/results.h"

#include <algorithm>

namespace fettle::kernels {
QuantResults::QuantResults(const Problem& problem, const QuantisedGroup& q, const PixelLayout& out,
                           const QuantLayout& layout, std::optional<elementwise::Program> program)
    : requantise_(q.requantise),
      out_(out),
      layout_(layout),
      program_(std::move(program)),
      pads_(problem.shape(problem.group->outputs[0]), problem.states.outputs[0].layout,
            StorageBytes(problem.states.outputs[0].storage, 1)),
      output_(problem.states.outputs[0].storage),
      one_image_(out.is_channels_last()) {
  if (requantise_)
    run_ = RequantiseFor(ResultsAreBounded(*problem.group, q, layout.groups * layout.oc));
}

std::span<const PackRequest> QuantResults::packs() const {
  return program_ ? std::span<const PackRequest>(program_->packs())
                  : std::span<const PackRequest>();
}

QuantLaunch QuantResults::Begin(const LaunchArgs& args, const int32_t* init) const {
  QuantLaunch launch{.args = args, .binding = {}, .init = init};
  if (program_) launch.binding = program_->Bind(args.inputs, args.packed.subspan(1), args.outputs);
  return launch;
}

void QuantResults::End(const QuantLaunch& launch) const {
  pads_.Zero(static_cast<CpuStream&>(launch.args.stream), launch.args.outputs[0].host<std::byte>());
}

int64_t QuantResults::scratch_bytes() const { return program_ ? int64_t{kMaxTileSums} * 4 : 0; }

void QuantResults::Store(const QuantLaunch& launch, const QuantTile& tile,
                         std::byte* scratch) const {
  const int64_t first = tile.panel * layout_.nr;
  const int64_t columns = std::min<int64_t>(layout_.nr, layout_.oc - first);
  const int64_t padded = tile.group * layout_.panels() * layout_.nr + first;
  const int64_t channel = tile.group * layout_.oc + first;
  RequantiseArgs out;
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

// Channels from `channel` on; `column` is the first one's among the padded columns.
void QuantResults::StoreBlock(const QuantLaunch& launch, RequantiseArgs& out, int64_t pixel,
                              int64_t channel, int64_t column, std::byte* scratch) const {
  const std::byte* blob = launch.args.packed[0].host<std::byte>();
  if (launch.init != nullptr) out.init = launch.init + column;
  out.w_zero = reinterpret_cast<const int32_t*>(blob + layout_.zeros_offset()) + column;
  out.scale = reinterpret_cast<const float*>(blob + layout_.scales_offset()) + column;
  out.add = reinterpret_cast<const float*>(blob + layout_.adds_offset()) + column;
  out.out_stride = out_.block;
  const int64_t image = one_image_ ? 0 : pixel / out_.pixels;
  const int64_t in_image = pixel - image * out_.pixels;
  const int64_t at =
      one_image_ ? pixel * out_.block + channel : out_.Offset(image, in_image, channel);
  std::byte* y = launch.args.outputs[0].host<std::byte>();
  if (requantise_) {
    out.bytes = reinterpret_cast<uint8_t*>(y) + at;
    out.is_signed = output_ == DType::kI8;
    out.zero = requantise_->zero;
    out.low = requantise_->low;
    out.high = requantise_->high;
  } else if (program_) {
    out.floats = reinterpret_cast<float*>(scratch);
    out.out_stride = layout_.nr;
  } else if (output_ == DType::kI32) {
    out.ints = reinterpret_cast<int32_t*>(y) + at;
  } else {
    out.floats = reinterpret_cast<float*>(y) + at;
  }
  (out.row_sums == nullptr ? run_ : RunRequantise)(out);
  if (!program_) return;
  elementwise::Tile tile{
      .rows = out.rows, .col = one_image_ ? channel : channel % out_.block, .cols = out.columns};
  tile.row =
      one_image_ ? pixel : (image * out_.blocks() + channel / out_.block) * out_.pixels + in_image;
  tile.running = out.floats;
  tile.running_stride = out.out_stride;
  program_->Run(launch.binding, tile);
}

}  // namespace fettle::kernels
