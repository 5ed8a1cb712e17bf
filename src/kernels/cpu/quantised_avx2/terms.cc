#include "kernels/cpu/quantised_avx2/terms.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised_avx2/panel_sums.h"

namespace fettle::kernels {
namespace {

/// Of 256 bytes each: what a tile reads of x in a block.
constexpr int64_t kMostPairs = 96;
constexpr int64_t kSlots = std::size(kSumLengths);
/// Before what a block has: the counts of its sums, and room.
constexpr int64_t kCountBytes = 64;
static_assert(kSlots * 2 <= kCountBytes);

/// A term has four weights and a step, a sum of some terms has a channel.
int64_t BlockBytes(int64_t pairs, int64_t terms, int64_t sums) {
  return RoundUp(kCountBytes + pairs * kPairBytes + terms * 5 + sums, 64);
}
/// So many terms and those that fill sums: one for each five.
int64_t Filled(int64_t terms) { return terms + terms / 5; }
int64_t TableBytes(const QuantLayout& layout) {
  return RoundUp(layout.groups * layout.panels() * TermBlocks(layout).count * 8, 64);
}

/// The weights of an output channel.
struct ChannelRow {
  std::vector<int16_t> weights;  // less their zero points, as pairs of steps of a row of x
  std::vector<int8_t> bytes;     // what is multiplied by pairs
  std::vector<int16_t> rest;     // by lists
};

/// Reads output channels, one at a time.
class Channels {
 public:
  /// Of the first `channels` ones, or of all.
  Channels(const QuantLayout& layout, const QuantConstants& constants, int64_t channels)
      : l_(layout),
        c_(constants),
        all_((layout.transposed ? layout.oc : channels) * layout.ic * layout.kernel_taps) {
    c_.w->CopyTo(0, std::ssize(all_), all_.data());
    for (int64_t i = 0; i < l_.ic; ++i) {
      for (int64_t t = 0; t < l_.kernel_taps; ++t) {
        const int64_t tap = i / l_.block() * l_.block_taps() + t / l_.tap_pixels();
        places_.push_back(tap * l_.steps() * 4 + t % l_.tap_pixels() * l_.block() + i % l_.block());
      }
    }
    const int64_t length = TermBlocks(layout).pairs * kPairedWeights;
    row_.weights.resize(length);
    row_.bytes.resize(length);
  }

  /// Those of a channel, counted over all groups; valid until the next call.
  const ChannelRow& Row(int64_t channel) {
    const auto length = std::ssize(places_);
    const int32_t zero = c_.Zero(channel);
    const std::byte* w = all_.data() + (l_.transposed ? channel : channel * length);
    const int64_t step = l_.transposed ? l_.oc : 1;
    for (int64_t k = 0; k < length; ++k, w += step) {
      const int32_t value =
          l_.unsigned_w ? static_cast<int32_t>(*w) : static_cast<int32_t>(static_cast<int8_t>(*w));
      row_.weights[places_[k]] = static_cast<int16_t>(value - zero);
    }
    row_.rest = row_.weights;
    for (int64_t at = 0; at < std::ssize(row_.rest); at += kPairedWeights)
      SplitPairedSteps(row_.rest.data() + at, row_.bytes.data() + at);
    return row_;
  }

 private:
  const QuantLayout& l_;
  const QuantConstants& c_;
  std::vector<std::byte> all_;
  std::vector<int64_t> places_;
  ChannelRow row_;
};

/// Panels one after the other.
class PanelReader {
 public:
  PanelReader(const QuantLayout& layout, const QuantConstants& constants, int64_t channels)
      : l_(layout), blocks_(layout), channels_(layout, constants, channels), sums_(blocks_.count) {}

  /// Calls f(n, row) for each channel, a ChannelRow.
  template <typename F>
  void Rows(int64_t panel, const F& f) {
    const int64_t group = panel / l_.panels(), first = panel % l_.panels() * kTermChannels;
    for (int64_t n = 0; n < Count(panel); ++n) f(n, channels_.Row(group * l_.oc + first + n));
  }

  /// The terms of the channels in all blocks.
  template <typename F>
  std::vector<PanelSums>& Read(int64_t panel, const F& f) {
    for (PanelSums& sums : sums_) sums.Begin(Count(panel));
    Rows(panel, [&](int64_t n, const ChannelRow& row) {
      f(n, row);
      for (int64_t block = 0; block < blocks_.count; ++block) {
        std::vector<Term>& terms = sums_[block].terms(n);
        const int64_t begin = blocks_.Begin(block) * 2, end = blocks_.Begin(block + 1) * 2;
        for (int64_t step = begin; step < end; ++step)
          AppendTerms(row.rest.data() + step * 4, static_cast<uint8_t>(step - begin), terms);
      }
    });
    return sums_;
  }

  /// What all blocks take at most, however their terms are grouped.
  int64_t PanelBytes(int64_t panel) {
    std::vector<int64_t> terms(blocks_.count);
    Rows(panel, [&](int64_t, const ChannelRow& row) {
      for (int64_t block = 0; block < blocks_.count; ++block) {
        for (int64_t step = blocks_.Begin(block) * 2; step < blocks_.Begin(block + 1) * 2; ++step)
          terms[block] += CountTerms(row.rest.data() + step * 4);
      }
    });
    int64_t bytes = 0;
    for (int64_t block = 0; block < blocks_.count; ++block)
      bytes += BlockBytes(Pairs(block), Filled(terms[block]), terms[block]);
    return bytes;
  }
  int64_t Pairs(int64_t block) const { return blocks_.Begin(block + 1) - blocks_.Begin(block); }

 private:
  int64_t Count(int64_t panel) const {
    return std::min<int64_t>(kTermChannels, l_.oc - panel % l_.panels() * kTermChannels);
  }

  const QuantLayout& l_;
  TermBlocks blocks_;
  Channels channels_;
  std::vector<PanelSums> sums_;
};

}  // namespace

TermBlocks::TermBlocks(const QuantLayout& layout)
    : pairs(CeilDiv(layout.taps() * layout.steps(), 2)),
      count(std::max<int64_t>(CeilDiv(pairs, kMostPairs), 1)) {}

TermLists TermTable::At(int64_t panel, int64_t block) const {
  int64_t at;
  std::memcpy(&at, blob_ + (panel * blocks_.count + block) * 8, sizeof(at));
  const std::byte* from = blob_ + at;
  TermLists found;
  found.counts = reinterpret_cast<const uint16_t*>(from);
  int64_t terms = 0, sums = 0;
  for (int64_t slot = 0; slot < kSlots; ++slot) {
    terms += int64_t{found.counts[slot]} * kSumLengths[slot];
    sums += found.counts[slot];
  }
  found.empty = terms == 0;
  found.bytes = reinterpret_cast<const int8_t*>(from + kCountBytes);
  const int64_t pairs = blocks_.Begin(block + 1) - blocks_.Begin(block);
  found.weights = reinterpret_cast<const int32_t*>(found.bytes + pairs * kPairBytes);
  found.steps = reinterpret_cast<const uint8_t*>(found.weights + terms);
  found.channels = found.steps + terms;
  found.end = reinterpret_cast<const int8_t*>(from + BlockBytes(pairs, terms, sums));
  return found;
}

int64_t TermBytes(const QuantLayout& layout, const QuantConstants& constants) {
  int64_t bytes = TableBytes(layout);
  PanelReader reader(layout, constants, layout.groups * layout.oc);
  for (int64_t panel = 0; panel < layout.groups * layout.panels(); ++panel)
    bytes += reader.PanelBytes(panel);
  return bytes;
}

namespace {

/// Writes the bytes of channel `n` of a panel.
void WriteBytes(const ChannelRow& row, int64_t n, std::vector<int8_t>& panel) {
  for (int64_t at = 0; at < std::ssize(row.bytes); at += 4)
    std::copy_n(row.bytes.data() + at, 4, panel.data() + at * kTermChannels + n * 4);
}

/// Writes a block, all bytes of it, and returns how many they are.
int64_t WriteBlock(PanelSums& sums, std::span<const int8_t> bytes, std::byte* out) {
  const TermShape shape = sums.Group();
  const int64_t size = BlockBytes(std::ssize(bytes) / kPairBytes, shape.terms(), shape.sums());
  std::memset(out, 0, size);
  auto* counts = reinterpret_cast<uint16_t*>(out);
  for (int64_t slot = 0; slot < kSlots; ++slot)
    counts[slot] = static_cast<uint16_t>(shape.counts[slot]);
  std::memcpy(out + kCountBytes, bytes.data(), bytes.size());
  auto* weights = reinterpret_cast<int32_t*>(out + kCountBytes + bytes.size());
  auto* steps = reinterpret_cast<uint8_t*>(weights + shape.terms());
  sums.Write(weights, steps, steps + shape.terms());
  return size;
}

}  // namespace

void PackTerms(const QuantLayout& layout, const QuantConstants& constants, std::byte* blob) {
  auto* sums = reinterpret_cast<int32_t*>(blob + layout.sums_offset());
  std::byte* const terms = blob + layout.terms_offset();
  std::memset(sums, 0, layout.columns() * 4);
  int64_t at = TableBytes(layout), number = 0;
  PanelReader reader(layout, constants, layout.groups * layout.oc);
  const TermBlocks blocks(layout);
  std::vector<int8_t> bytes(blocks.pairs * kPairBytes);
  for (int64_t panel = 0; panel < layout.groups * layout.panels(); ++panel) {
    std::ranges::fill(bytes, int8_t{0});
    std::vector<PanelSums>& lists = reader.Read(panel, [&](int64_t n, const ChannelRow& row) {
      for (int16_t w : row.weights) sums[panel * kTermChannels + n] += w;
      WriteBytes(row, n, bytes);
    });
    for (int64_t block = 0; block < blocks.count; ++block) {
      std::memcpy(terms + number++ * 8, &at, sizeof(at));
      const std::span<const int8_t> own(bytes.data() + blocks.Begin(block) * kPairBytes,
                                        bytes.data() + blocks.Begin(block + 1) * kPairBytes);
      at += WriteBlock(lists[block], own, terms + at);
    }
  }
}

double TermCost(const QuantLayout& layout, const QuantConstants& constants) {
  // Sums of lists are transposed, which takes as long as so many terms of each channel.
  constexpr double kPairedStep = 0.96, kTransposed = 12;
  PanelReader reader(layout, constants, std::min<int64_t>(kTermChannels, layout.oc));
  double cost = 0;
  for (PanelSums& sums : reader.Read(0, [](int64_t, const auto&) {})) {
    const double lists = sums.Group().cost() / kTermChannels;
    if (lists > 0) cost += lists + kTransposed;
  }
  const int64_t steps = std::max<int64_t>(TermBlocks(layout).pairs, 1) * 2;
  return kPairedStep + cost / static_cast<double>(steps);
}

}  // namespace fettle::kernels
