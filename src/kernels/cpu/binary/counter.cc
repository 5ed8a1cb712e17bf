#include "kernels/cpu/binary/counter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/binary/tables.h"
#include "kernels/cpu/binary/task_rows.h"

namespace fettle::kernels {
namespace {

/// Weights that stay in the first-level cache from task to task.
constexpr int64_t kNearBytes = 16 << 10;

int64_t TilesOf(std::span<const BitSpan> spans) {
  int64_t tiles = 0;
  for (const BitSpan& span : spans) tiles += span.tiles;
  return tiles;
}

}  // namespace

BitCounter::BitCounter(const ops::BinaryProduct& product, const BitBlob& blob,
                       const BitGeometry& geometry, bool by_tables)
    : blob_(blob),
      tile_(ChooseBitTile()),
      by_tables_(by_tables),
      columns_(geometry.columns()),
      lines_(geometry.lines()) {
  // Spans leave out lines and ends of them, so that columns of the filter lie together there.
  const int64_t columns = takes_spans() ? columns_ : 1, lines = geometry.taps() / columns;
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t i = 0; i < blob_.words; ++i)
        order_.push_back((line * columns + column) * blob_.words + i);
    }
  }
  for (const int64_t i : order_) steps_.push_back(geometry.steps()[static_cast<size_t>(i)]);
  const int64_t rest = product.channels % ops::kWordBits;
  const bool ends_in_half = rest != 0 && rest <= ops::kWordBits / 2;
  for (int64_t i = 0; i < std::ssize(steps_); ++i) {
    half_steps_.push_back(2 * steps_[i]);
    if (ends_in_half && i % blob_.words == blob_.words - 1) continue;
    half_steps_.push_back(2 * steps_[i] + 1);
  }
}

std::string_view BitCounter::arrangement() const {
  return by_tables_ ? ".tables" : takes_spans() ? ".columns" : tile_.gathers ? ".twos" : "";
}

void BitCounter::Arrange(std::byte* blob) const {
  if (by_tables_) return ArrangeTables(blob);
  if (takes_spans()) {
    ArrangePairs(blob);
    ArrangeSingles(blob);
  }
  if (tile_.gathers) ArrangeTwos(blob);
}

void BitCounter::ArrangeTables(std::byte* blob) const {
  std::vector<uint64_t> words(static_cast<size_t>(blob_.panel_words()));
  for (int64_t panel = 0; panel < blob_.all_panels; ++panel) {
    std::byte* at = blob + panel * blob_.panel_words() * 8;
    std::memcpy(words.data(), at, words.size() * 8);
    PairNibbles(words.data(), blob_.taps * blob_.words, reinterpret_cast<uint8_t*>(at));
  }
}

void BitCounter::ArrangeTwos(std::byte* blob) const {
  std::vector<uint64_t> words(static_cast<size_t>(blob_.panel_words()));
  const int64_t in_twos = std::ssize(steps_) / 2 * 2;
  for (int64_t panel = 0; panel < blob_.all_panels; ++panel) {
    auto* out = reinterpret_cast<uint64_t*>(blob) + panel * blob_.panel_words();
    std::copy_n(out, words.size(), words.data());
    for (int64_t i = 0; i < in_twos; ++i) {
      for (int64_t o = 0; o < kBitOutputs; ++o)
        out[(i / 2 * kBitOutputs + o) * 2 + i % 2] =
            words[static_cast<size_t>(i * kBitOutputs + o)];
    }
  }
}

void BitCounter::ArrangePairs(std::byte* blob) const {
  std::vector<uint64_t> words(static_cast<size_t>(2 * blob_.panel_words()));
  for (int64_t group = 0; group < blob_.all_panels; group += blob_.panels) {
    for (int64_t panel = 0; panel + 1 < blob_.panels; panel += 2) {
      std::byte* at = blob + (group + panel) * blob_.panel_words() * 8;
      std::memcpy(words.data(), at, words.size() * 8);
      std::memset(at, 0, words.size() * 8);
      auto* out = reinterpret_cast<uint32_t*>(at);
      size_t next = 0;
      for (int64_t i = 0; i < std::ssize(steps_); ++i) {
        for (int half = 0; half < 2; ++half) {
          if (next == half_steps_.size() || half_steps_[next] != 2 * steps_[i] + half) continue;
          ++next;
          for (int64_t first : {int64_t{0}, blob_.panel_words()}) {
            for (int o = 0; o < kBitOutputs; ++o)
              *out++ =
                  static_cast<uint32_t>(words[first + order_[i] * kBitOutputs + o] >> (32 * half));
          }
        }
      }
    }
  }
}

void BitCounter::ArrangeSingles(std::byte* blob) const {
  if (blob_.panels % 2 == 0) return;
  std::vector<uint64_t> words(static_cast<size_t>(blob_.panel_words()));
  for (int64_t panel = blob_.panels - 1; panel < blob_.all_panels; panel += blob_.panels) {
    auto* out = reinterpret_cast<uint64_t*>(blob) + panel * blob_.panel_words();
    std::copy_n(out, words.size(), words.data());
    for (const int64_t i : order_) {
      std::copy_n(words.data() + i * kBitOutputs, kBitOutputs, out);
      out += kBitOutputs;
    }
  }
}

int64_t BitCounter::TileOf(int64_t pixels) const {
  return by_tables_ ? TablePixels() : pixels == 1 || takes_spans() ? 1 : tile_.pixels;
}

int64_t BitCounter::scratch_bytes() const {
  if (by_tables_) return blob_.taps * blob_.words * ops::kWordBits / 4 * kTaskPixels;
  return tile_.gathers ? std::ssize(steps_) * 8 * kTaskPixels : 0;
}

void BitCounter::Count(const std::byte* blob, const Task& task) const {
  if (by_tables_) return CountTables(blob, task);
  CountWords(blob, task);
}

void BitCounter::Gather(const Task& task, const uint64_t** rows) const {
  auto* to = reinterpret_cast<uint64_t*>(task.scratch);
  const int64_t whole = (task.pixels + task.tile - 1) / task.tile * task.tile;
  for (int64_t p = 0; p < whole; ++p) {
    rows[p] = to;
    for (const int64_t step : steps_) *to++ = task.bases[p][step];
  }
}

void BitCounter::CountWords(const std::byte* blob, const Task& task) const {
  std::array<const uint64_t*, kTaskPixels> rows;
  if (tile_.gathers) Gather(task, rows.data());
  BitTileArgs tiles{.bases = tile_.gathers ? rows.data() : task.bases,
                    .tiles = (task.pixels + task.tile - 1) / task.tile,
                    .spans = task.spans,
                    .columns = columns_,
                    .lines = lines_,
                    .stride = task.panels * kBitOutputs,
                    .beside_stride = task.beside_stride};
  if (takes_spans()) tiles.tiles = TilesOf(task.spans);
  for (int64_t panel = 0; panel < task.panels;) {
    const bool is_pair = tile_.pair != nullptr && panel + 1 < task.panels;
    const auto& steps = is_pair ? half_steps_ : steps_;
    tiles.steps = steps.data();
    tiles.count = std::ssize(steps);
    tiles.tap_steps = tiles.count / blob_.taps;
    tiles.weights = WeightsOf(blob, task.panel + panel);
    tiles.sums = task.differ + panel * kBitOutputs;
    const bool is_far = blob_.all_panels * blob_.panel_words() * 8 > kNearBytes;
    tiles.next =
        is_far && panel + 3 < task.panels ? WeightsOf(blob, task.panel + panel + 2) : nullptr;
    tiles.beside = task.beside == nullptr ? nullptr : task.beside + panel * kBitOutputs;
    if (is_pair) {
      tile_.pair(tiles);
    } else {
      (task.tile == 1 && !takes_spans() ? tile_.single : tile_.whole)(tiles);
    }
    panel += is_pair ? 2 : 1;
  }
}

void BitCounter::CountTables(const std::byte* blob, const Task& task) const {
  auto* nibbles = reinterpret_cast<uint8_t*>(task.scratch);
  TableArgs tables{.pixels = (task.pixels + task.tile - 1) / task.tile * task.tile,
                   .count = std::ssize(steps_),
                   .nibbles = nibbles,
                   .stride = task.panels * kBitOutputs};
  SplitNibbles(task.bases, steps_.data(), tables, nibbles);
  for (int64_t panel = 0; panel < task.panels; ++panel) {
    tables.pairs = reinterpret_cast<const uint8_t*>(WeightsOf(blob, task.panel + panel));
    tables.sums = task.differ + panel * kBitOutputs;
    CountByTables(tables);
  }
}

}  // namespace fettle::kernels
