#include "kernels/cpu/quantised_avx2/terms.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/cpu/gemm/pack.h"
#include "kernels/cpu/quantised_avx2/panel_sums.h"

namespace fettle::kernels {
namespace {

/// Of 128 bytes each: what a tile reads of x in a block.
constexpr int64_t kMostSteps = 192;
constexpr int64_t kSlots = std::size(kSumLengths);
/// Before the lists of a block: the counts of their sums, and room.
constexpr int64_t kCountBytes = 16;
static_assert(kSlots * 2 <= kCountBytes);

int64_t ListBytes(int64_t terms) { return RoundUp(kCountBytes + kTermChannels * terms * 5, 8); }
/// Terms that a list may have where the longest one of its panel has so many without filling.
int64_t Roomy(int64_t terms) { return terms + terms / 4 + 2; }
int64_t TableBytes(const QuantLayout& layout) {
  return RoundUp(layout.groups * layout.panels() * TermBlocks(layout).count * 8, 64);
}

/// The weights of output channels less their zero points, as steps of a row of x.
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
    row_.resize(l_.taps() * l_.steps() * 4);
  }

  /// Those of a channel, counted over all groups; valid until the next call.
  const std::vector<int16_t>& Row(int64_t channel) {
    const auto length = std::ssize(places_);
    const int32_t zero = c_.Zero(channel);
    const std::byte* w = all_.data() + (l_.transposed ? channel : channel * length);
    const int64_t step = l_.transposed ? l_.oc : 1;
    for (int64_t k = 0; k < length; ++k, w += step) {
      const int32_t value =
          l_.unsigned_w ? static_cast<int32_t>(*w) : static_cast<int32_t>(static_cast<int8_t>(*w));
      row_[places_[k]] = static_cast<int16_t>(value - zero);
    }
    return row_;
  }

 private:
  const QuantLayout& l_;
  const QuantConstants& c_;
  std::vector<std::byte> all_;
  std::vector<int64_t> places_;
  std::vector<int16_t> row_;
};

/// Panels one after the other.
class PanelReader {
 public:
  PanelReader(const QuantLayout& layout, const QuantConstants& constants, int64_t channels)
      : l_(layout), blocks_(layout), channels_(layout, constants, channels), sums_(blocks_.count) {}

  /// Calls f(n, row) for the weights of each channel.
  template <typename F>
  void Rows(int64_t panel, const F& f) {
    const int64_t group = panel / l_.panels(), first = panel % l_.panels() * kTermChannels;
    for (int64_t n = 0; n < Count(panel); ++n) f(n, channels_.Row(group * l_.oc + first + n));
  }

  /// The terms of the channels in all blocks.
  template <typename F>
  std::vector<PanelSums>& Read(int64_t panel, const F& f) {
    for (PanelSums& sums : sums_) sums.Begin(Count(panel));
    Rows(panel, [&](int64_t n, const std::vector<int16_t>& row) {
      f(n, row);
      for (int64_t block = 0; block < blocks_.count; ++block) {
        const int64_t begin = blocks_.Begin(block), end = blocks_.Begin(block + 1);
        std::vector<Term>& terms = sums_[block].terms(n);
        terms.reserve(end - begin);
        for (int64_t step = begin; step < end; ++step)
          AppendTerms(row.data() + step * 4, static_cast<uint8_t>(step - begin), terms);
      }
    });
    return sums_;
  }

  /// What the lists of all blocks take, however their terms are grouped.
  int64_t ListsBytes(int64_t panel) {
    std::vector<int64_t> most(blocks_.count);
    Rows(panel, [&](int64_t, const std::vector<int16_t>& row) {
      for (int64_t block = 0; block < blocks_.count; ++block) {
        int64_t terms = 0;
        for (int64_t step = blocks_.Begin(block); step < blocks_.Begin(block + 1); ++step)
          terms += CountTerms(row.data() + step * 4);
        most[block] = std::max(most[block], terms);
      }
    });
    int64_t bytes = 0;
    for (int64_t terms : most) bytes += ListBytes(Roomy(terms));
    return bytes;
  }

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
    : steps(layout.taps() * layout.steps()),
      count(std::max<int64_t>(CeilDiv(steps, kMostSteps), 1)) {}

TermLists TermTable::At(int64_t panel, int64_t block) const {
  int64_t at;
  std::memcpy(&at, blob_ + (panel * blocks_.count + block) * 8, sizeof(at));
  const std::byte* lists = blob_ + at;
  TermLists found;
  found.counts = reinterpret_cast<const uint16_t*>(lists);
  for (int64_t slot = 0; slot < kSlots; ++slot)
    found.terms += int64_t{found.counts[slot]} * kSumLengths[slot];
  found.weights = reinterpret_cast<const int32_t*>(lists + kCountBytes);
  found.steps = reinterpret_cast<const uint8_t*>(found.weights + kTermChannels * found.terms);
  return found;
}

int64_t TermBytes(const QuantLayout& layout, const QuantConstants& constants) {
  int64_t bytes = TableBytes(layout);
  PanelReader reader(layout, constants, layout.groups * layout.oc);
  for (int64_t panel = 0; panel < layout.groups * layout.panels(); ++panel)
    bytes += reader.ListsBytes(panel);
  return bytes;
}

void PackTerms(const QuantLayout& layout, const QuantConstants& constants, std::byte* blob) {
  auto* sums = reinterpret_cast<int32_t*>(blob + layout.sums_offset());
  std::byte* const terms = blob + layout.terms_offset();
  std::memset(sums, 0, layout.columns() * 4);
  int64_t at = TableBytes(layout), number = 0;
  PanelReader reader(layout, constants, layout.groups * layout.oc);
  for (int64_t panel = 0; panel < layout.groups * layout.panels(); ++panel) {
    std::vector<PanelSums>& lists = reader.Read(panel, [&](int64_t n, const auto& row) {
      for (int16_t w : row) sums[panel * kTermChannels + n] += w;
    });
    for (PanelSums& list : lists) {
      const TermShape shape = list.Group(Roomy(list.most_terms()));
      std::memcpy(terms + number++ * 8, &at, sizeof(at));
      std::memset(terms + at, 0, ListBytes(shape.terms()));
      auto* counts = reinterpret_cast<uint16_t*>(terms + at);
      for (int64_t slot = 0; slot < kSlots; ++slot)
        counts[slot] = static_cast<uint16_t>(shape.counts[slot]);
      auto* weights = reinterpret_cast<int32_t*>(terms + at + kCountBytes);
      list.Write(shape, weights,
                 reinterpret_cast<uint8_t*>(weights + kTermChannels * shape.terms()));
      at += ListBytes(shape.terms());
    }
  }
}

double TermCost(const QuantLayout& layout, const QuantConstants& constants) {
  PanelReader reader(layout, constants, std::min<int64_t>(kTermChannels, layout.oc));
  double cost = 0;
  for (PanelSums& sums : reader.Read(0, [](int64_t, const auto&) {}))
    cost += sums.Group(Roomy(sums.most_terms())).cost();
  return cost / static_cast<double>(std::max<int64_t>(TermBlocks(layout).steps, 1));
}

}  // namespace fettle::kernels
