#include "kernels/opencl/conv/gathered_tiles.h"

#include <algorithm>

namespace fettle::kernels {

namespace {

Result<PixelConv> ReadInAnyGroups(const ir::Graph& group, const Device& device) {
  if (!AsOpenCl(device).facts().mma.available)
    return Unsupported("the device is not known to have matrix instructions");
  return ReadVolumeConv(group);
}

}  // namespace

Result<PixelConv> ReadForMma(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadInAnyGroups(group, device));
  if (conv.is_volume) return Unsupported("three spatial axes: a tile is of a plane");
  if (conv.groups > 1) return Unsupported("groups: a tile is of one");
  return conv;
}

Result<PixelConv> ReadGroupedForMma(const ir::Graph& group, const Device& device) {
  ASSIGN_OR_RETURN(PixelConv conv, ReadInAnyGroups(group, device));
  RETURN_IF_ERROR(BlocksOf(conv, ChunkOf(MmaFactors::kHalves)).status());
  return conv;
}

Result<ChannelBlocks> BlocksOf(const PixelConv& conv, int64_t chunk) {
  if (conv.groups == 1) return ChannelBlocks{conv.ic, conv.oc};
  constexpr int64_t kNarrowestTile = 32, kMostZeros = 8;
  const int64_t inputs = conv.ic / conv.groups, outputs = conv.oc / conv.groups;
  for (int64_t joined = 1; joined <= std::min(kMostZeros, conv.groups); ++joined)
    if (conv.groups % joined == 0 && joined * outputs % kNarrowestTile == 0 &&
        joined * inputs % chunk == 0)
      return ChannelBlocks{joined * inputs, joined * outputs};
  ChannelBlocks narrow{0, kNarrowestTile};
  for (int64_t first = 0; first < conv.oc; first += kNarrowestTile) {
    const int64_t last = std::min(first + kNarrowestTile, conv.oc) - 1;
    const int64_t end = (last / outputs + 1) * inputs;
    narrow.inputs = std::max(narrow.inputs, end - ChannelBlocks::FirstInput(conv, first));
  }
  narrow.inputs = DivideUp(narrow.inputs, chunk) * chunk;
  if (narrow.inputs <= kMostZeros * inputs) return narrow;
  return Unsupported("groups of {} channels to {}: blocks of {} outputs are mostly zero", inputs,
                     outputs, kNarrowestTile);
}

bool ChannelBlocks::AreWhole(const PixelConv& conv) const {
  for (int64_t first = 0; first < conv.oc; first += outputs)
    if (FirstInput(conv, first) + inputs > conv.ic) return false;
  return true;
}

ChannelBlocks KnownBlocksOf(const PixelConv& conv, int64_t chunk) {
  const auto blocks = BlocksOf(conv, chunk);
  FETTLE_CHECK(blocks.ok(), "read as one that has blocks");
  return *blocks;
}

Result<std::vector<StateAssignment>> BuffersOf(DType storage, const ir::Graph& group,
                                               const PixelConv& conv, const Device& device) {
  ASSIGN_OR_RETURN(std::vector<StateAssignment> states, PixelConvStates(group, conv, device));
  const size_t x = InputIndex(group, conv.x);
  const auto is_one = [storage](const State& state) {
    return state.memory == MemoryKind::kBuffer && state.storage == storage;
  };
  std::erase_if(states, [&](const StateAssignment& one) {
    return !is_one(one.inputs[x]) || !is_one(one.outputs[0]);
  });
  if (states.empty()) return Unsupported("no buffer of {}", DTypeName(storage));
  return states;
}

Work MmaConvWork(MmaFactors factors, const PixelConv& conv) {
  const auto y = static_cast<double>(conv.pixels() * conv.oc);
  const double products = factors == MmaFactors::kFloats ? 3 : 1;
  return {
      .operations = 2 * products * y *
                    static_cast<double>(conv.taps() * KnownBlocksOf(conv, ChunkOf(factors)).inputs),
      .ceiling = factors == MmaFactors::kHalves ? "f16 mma" : "tf32 mma",
      .bytes = y * static_cast<double>(StorageBytes(StorageOf(factors), 1))};
}

namespace {

FilterForm BlockedForm(const PixelConv& conv, const ChannelBlocks& blocks) {
  const int64_t of_group = conv.ic / conv.groups, taps = conv.taps();
  const int64_t rows_of_group = conv.oc / conv.groups, rows = DivideUp(conv.oc, 4) * 4;
  const auto source = [=](int64_t i) -> int64_t {
    const int64_t row = i / (blocks.inputs * taps), tap = i / blocks.inputs % taps;
    if (row >= conv.oc) return -1;
    const int64_t block = row / blocks.outputs * blocks.outputs;
    const int64_t channel =
        ChannelBlocks::FirstInput(conv, block) + i % blocks.inputs - row / rows_of_group * of_group;
    const bool is_of_group = channel >= 0 && channel < of_group;
    return is_of_group ? (row * of_group + channel) * taps + tap : -1;
  };
  return {.recipe = fmt::format("opencl.conv.mma.{}x{}.{} groups by {}", rows, blocks.inputs,
                                conv.groups, blocks.outputs),
          .bias = rows,
          .elements = rows * taps * blocks.inputs,
          .source = source};
}

}  // namespace

FilterForm GatheredForm(const PixelConv& conv, int64_t chunk) {
  const int64_t rows = DivideUp(conv.oc, 4) * 4;
  if (conv.groups > 1) return BlockedForm(conv, KnownBlocksOf(conv, chunk));
  const int64_t channels = DivideUp(conv.ic, chunk) * chunk;
  return {.recipe = fmt::format("opencl.conv.mma.{}x{}", rows, channels),
          .bias = rows,
          .elements = rows * conv.taps() * channels,
          .dims = {conv.oc, conv.ic, conv.taps()},
          .axes = {{rows, 0}, {conv.taps(), 2}, {channels, 1}}};
}

WarpProduct GatheredProduct(const PixelConv& conv, int64_t chunk, int64_t parts) {
  return {.m = conv.image_pixels(),
          .n = conv.oc,
          .k = conv.taps() * DivideUp(KnownBlocksOf(conv, chunk).inputs, chunk) * kChunkPairs,
          .batch = conv.batch,
          .parts = parts};
}

namespace {

void DefineTaps(const PixelConv& conv, BuildOptions& options) {
  options.Define("KERNEL_H", conv.kernel[1]).Define("KERNEL_W", conv.kernel[2]);
  options.Define("TAPS", conv.taps());
  options.Define("STRIDE_H", conv.stride[1]).Define("STRIDE_W", conv.stride[2]);
  options.Define("DILATION_H", conv.dilation[1]).Define("DILATION_W", conv.dilation[2]);
  options.Define("PAD_H", conv.pad[1]).Define("PAD_W", conv.pad[2]);
  options.Define("IN_H", conv.in[1]).Define("IN_W", conv.in[2]);
  options.Define("OUT_H", conv.out[1]).Define("OUT_W", conv.out[2]);
  if (!conv.is_volume) return;
  options.Define("KERNEL_D", conv.kernel[0]).Define("STRIDE_D", conv.stride[0]);
  options.Define("DILATION_D", conv.dilation[0]).Define("PAD_D", conv.pad[0]);
  options.Define("IN_D", conv.in[0]).Define("OUT_D", conv.out[0]);
}

}  // namespace

void DefineGeometry(const PixelConv& conv, BuildOptions& options) {
  DefineTaps(conv, options);
  options.Define("IN_QUADS", DivideUp(conv.ic, 4));
}

bool FillsMmaTiles(const PixelConv& conv) {
  // Patches of pictures (transformers of vision), frames of sound and volumes are long sums of few
  // channels.
  const int64_t long_sum = conv.kernel == conv.stride || conv.is_volume ? 128 : 512;
  const bool is_deep = conv.ic >= 16 || conv.ic * conv.taps() >= long_sum;
  // Three outputs of 3x3 taps of 48 channels take 9 us at fp16 on an H100, and 44 by
  // opencl.conv.direct.
  const bool is_wide = conv.oc >= 16 || conv.taps() > 1;
  // 16 outputs of 3x3 taps of 288 channels at 2x2 take 0.26 ms at fp32 on an H200 by
  // opencl.conv.direct, whose items have a sum each.
  const bool is_large = conv.image_pixels() >= 16 || (conv.taps() > 1 && is_deep);
  if (is_deep && is_wide && is_large) return true;
  // 96 channels to 24 of one pixel take 3.8 us on an H200, and 26 by opencl.conv.pointwise.
  constexpr int64_t kLeastChannels = 8, kManyPixels = 56 * 56;
  return conv.taps() == 1 && !conv.is_volume && conv.ic >= kLeastChannels &&
         conv.image_pixels() < kManyPixels;
}

void DefineColumns(const PixelConv& conv, int64_t wn, BuildOptions& options) {
  constexpr int64_t kColumns = 8;  // of an instruction
  if (conv.oc <= wn) options.Define("COLUMNS", DivideUp(conv.oc, kColumns));
}

void DefineGathered(const PixelConv& conv, const WarpTile& tile, int64_t chunk, bool has_dims,
                    BuildOptions& options) {
  DefineTaps(conv, options);
  const int64_t quads = DivideUp(conv.ic, 4);
  // DenseNet-169 has 61 convolutions of one tap, most of them of other input channels.
  if (has_dims && conv.groups == 1 && conv.taps() == 1 && !conv.is_volume) {
    const int64_t quads_of_tile = tile.bk / 8 * chunk / 4;  // A_CHUNKS * CHUNK_QUADS
    options.Define("QUADS_AT_RUN", 1).Define("WHOLE_TAPS", quads % quads_of_tile == 0 ? 1 : 0);
  } else {
    options.Define("IN_QUADS", quads);
  }
  if (conv.groups > 1) {
    const ChannelBlocks blocks = KnownBlocksOf(conv, chunk);
    options.Define("TAP_QUADS", blocks.inputs / 4).Define("BLOCK_CHANNELS", blocks.outputs);
    options.Define("GROUP_INPUTS", conv.ic / conv.groups);
    options.Define("GROUP_OUTPUTS", conv.oc / conv.groups);
    options.Define("EVEN_BLOCKS", blocks.AreWhole(conv) ? 1 : 0);
  }
  options.Define("EVEN_CHANNELS", DivideUp(conv.oc, 4) * 4 % tile.bn == 0 ? 1 : 0);
}

}  // namespace fettle::kernels
