#include "kernels/cpu/block_product/block_panel.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/file.h"
#include "kernels/cpu/block_product/round_row-inl.h"
#include "kernels/cpu/quantised/microkernel.h"
#include "kernels/cpu/simd/targets.h"
#include "tensor/block_source.h"
#include "tensor/read_floats.h"

namespace fettle::kernels {
namespace {

/// Columns of the result, which are rows of the constants from `row` on.
struct Columns {
  int64_t first, end;
  int64_t row;
};

/// Scales or minima, halves or floats as they are in a panel.
template <typename T>
void PackNumbers(const BlockLayout& layout, Columns columns, const Constant& scales, int64_t at,
                 std::byte* out) {
  std::vector<T> row(layout.blocks());
  std::vector<float> floats(layout.blocks());
  for (int64_t n = columns.first; n < columns.end; ++n) {
    std::byte* to = out + n / kBlockColumns * layout.panel_bytes() + at +
                    n % kBlockColumns * static_cast<int64_t>(sizeof(T));
    if (sizeof(T) == 2 && scales.dtype() == DType::kF16) {
      scales.CopyTo((columns.row + n) * layout.blocks(), layout.blocks(),
                    reinterpret_cast<std::byte*>(row.data()));
    } else {
      ReadFloats(scales, (columns.row + n) * layout.blocks(), layout.blocks(), floats.data());
      std::transform(floats.begin(), floats.end(), row.begin(), [](float x) { return T(x); });
    }
    for (int64_t b = 0; b < layout.blocks(); ++b)
      std::memcpy(to + b * layout.block_bytes(), &row[b], sizeof(T));
  }
}

/// Scales (`kind` 0) or minima as steps and numbers.
void PackSteps(const BlockLayout& layout, Columns columns, const BlockSource& source, int64_t kind,
               std::byte* out) {
  const int64_t steps = layout.blocks() / layout.step_blocks;
  std::vector<Half> column(steps);
  std::vector<int8_t> numbers(layout.blocks());
  for (int64_t n = columns.first; n < columns.end; ++n) {
    source.CopySteps((columns.row + n) * steps, steps, column.data(), numbers.data());
    std::byte* to = out + n / kBlockColumns * layout.panel_bytes();
    for (int64_t i = 0; i < steps; ++i, to += layout.step_bytes()) {
      std::memcpy(to + (kind * kBlockColumns + n % kBlockColumns) * 2, &column[i], 2);
      std::byte* first = to + (layout.kinds() * 2 + kind) * kBlockColumns + n % kBlockColumns;
      for (int64_t b = 0; b < layout.step_blocks; ++b)
        first[b * layout.kinds() * kBlockColumns] =
            static_cast<std::byte>(numbers[i * layout.step_blocks + b]);
    }
  }
}

/// The codes of one column of a block of 4 bits, two in a byte as panels have them.
void PutNibbles(const BlockLayout& layout, const std::byte* nibbles, int64_t column,
                std::byte* out) {
  for (int64_t i = 0; i < layout.block / 2; i += 4)
    std::memcpy(out + (i * kBlockColumns + column * 4), nibbles + i, 4);
}

/// The codes of one column of a block.
void PackColumn(const BlockLayout& layout, const std::byte* codes, int64_t column, std::byte* out) {
  if (layout.bits == 8) {
    for (int64_t i = 0; i < layout.block; i += 4)
      std::memcpy(out + (i * kBlockColumns + column * 4), codes + i, 4);
    return;
  }
  const int64_t half = layout.block / 2, fours = layout.block / 4;
  uint32_t plane = 0;
  for (int64_t i = 0; i < half; i += 4) {
    uint32_t low = 0, high = 0;  // 4 codes each
    std::memcpy(&low, codes + i, 4);
    std::memcpy(&high, codes + i + half, 4);
    const uint32_t both = (low & 0x0f0f0f0f) | (high & 0x0f0f0f0f) << 4;
    std::memcpy(out + (i / 4 * kBlockColumns + column) * 4, &both, 4);
    const int64_t place = i / 4 * 8 / fours;
    plane |= (low >> 4 & 0x0f0f0f0f) << place | (high >> 4 & 0x0f0f0f0f) << (place + 4);
  }
  if (layout.has_planes()) std::memcpy(out + (half * kBlockColumns + column * 4), &plane, 4);
}

uint8_t GreatestByte(std::span<const std::byte> bytes) {
  uint8_t most = 0;
  for (const std::byte byte : bytes) most = std::max(most, static_cast<uint8_t>(byte));
  return most;
}

uint8_t GreatestNibble(std::span<const std::byte> bytes) {
  uint8_t low = 0, high = 0;
  for (const std::byte byte : bytes) {
    low = std::max(low, static_cast<uint8_t>(byte & std::byte{15}));
    high = std::max(high, static_cast<uint8_t>(byte));
  }
  return std::max<uint8_t>(low, high >> 4);
}

void PackCodes(const BlockLayout& layout, Columns columns, const Constant& codes, std::byte* out,
               std::byte* greatest) {
  std::vector<std::byte> column(layout.k);
  const BlockSource* source = layout.bits == 4 && layout.block == 32 ? BlocksOf(codes) : nullptr;
  auto most = static_cast<uint8_t>(*greatest);
  for (int64_t n = columns.first; n < columns.end; ++n) {
    const int64_t begin = (columns.row + n) * layout.k, half = layout.k / 2;
    const bool in_nibbles =
        source != nullptr && source->CopyNibbles(begin, layout.k, column.data());
    if (!in_nibbles) codes.CopyTo(begin, layout.k, column.data());
    most = std::max(
        most, in_nibbles ? GreatestNibble(std::span(column).first(half)) : GreatestByte(column));
    std::byte* to = out + n / kBlockColumns * layout.panel_bytes() + layout.front_bytes();
    const int64_t step = in_nibbles ? layout.block / 2 : layout.block;
    const auto put = in_nibbles ? PutNibbles : PackColumn;
    for (int64_t b = 0; b < layout.blocks(); ++b, to += layout.block_bytes())
      put(layout, column.data() + b * step, n % kBlockColumns, to);
  }
  *greatest = static_cast<std::byte>(most);
}

void PackScales(const BlockLayout& layout, Columns columns, const Constant& scales,
                const Constant& minima, std::byte* out) {
  const Constant* kinds[] = {&scales, &minima};
  for (int64_t i = 0; i < layout.kinds(); ++i) {
    if (layout.step_blocks > 0) {
      PackSteps(layout, columns, *StepsOf(*kinds[i]), i, out);
      continue;
    }
    const auto pack = layout.halves ? PackNumbers<Half> : PackNumbers<float>;
    pack(layout, columns, *kinds[i], layout.code_bytes() + i * layout.scale_bytes(), out);
  }
}

float ReadScale(bool halves, const std::byte* from, int64_t i) {
  if (halves) {
    Half half;
    std::memcpy(&half, from + i * 2, 2);
    return static_cast<float>(half);
  }
  float x;
  std::memcpy(&x, from + i * 4, 4);
  return x;
}

void ScalePanel(const BlockLayout& layout, const std::byte* panel, float* out) {
  for (int64_t b = 0; b < layout.blocks(); b += layout.step_blocks) {
    const std::byte* numbers = panel + layout.kinds() * kBlockColumns * 2;
    for (int64_t i = 0; i < layout.step_blocks * layout.kinds(); ++i) {
      for (int64_t c = 0; c < kBlockColumns; ++c)
        *out++ = static_cast<float>(static_cast<int8_t>(*numbers++)) *
                 ReadScale(true, panel, i % layout.kinds() * kBlockColumns + c);
    }
    panel += layout.step_bytes();
  }
}

void UnpackPanel(const BlockLayout& layout, const std::byte* panel, std::byte* out) {
  const int64_t fours = layout.block / 4, bits = 8 / fours;
  panel += layout.front_bytes();
  for (int64_t b = 0; b < layout.blocks(); ++b, panel += layout.block_bytes()) {
    const std::byte* plane = panel + layout.block / 2 * kBlockColumns;
    for (int64_t i = 0; i < fours; ++i, out += kBlockColumns * 4) {
      const std::byte* from = panel + i % (fours / 2) * kBlockColumns * 4;
      for (int64_t j = 0; j < kBlockColumns * 4; ++j) {
        const auto high = static_cast<uint32_t>(plane[j]) >> (i * bits) & ((1U << bits) - 1);
        const auto low = static_cast<uint32_t>(from[j]) >> (i * 2 / fours * 4) & 15U;
        out[j] = static_cast<std::byte>(low | high << 4);
      }
    }
  }
}

/// The codes of 4 rows of a block from `i` on: [16][4].
void ReadCodes(const BlockLayout& layout, const std::byte* block, int64_t i, uint8_t* codes) {
  const int64_t half = layout.block / 2;
  const bool is_high = layout.bits == 4 && i >= half;
  const std::byte* from = block + (is_high ? i - half : i) * kBlockColumns;
  for (int64_t j = 0; j < kBlockColumns * 4; ++j) {
    const auto byte = static_cast<uint8_t>(from[j]);
    codes[j] = layout.bits == 8 ? byte : is_high ? byte >> 4 : byte & 15;
  }
}

void PortableTile(const BlockTile& tile) {
  const BlockLayout& layout = *tile.layout;
  const auto* bytes = reinterpret_cast<const int8_t*>(tile.rows);
  const auto* steps = reinterpret_cast<const float*>(tile.rows + layout.steps_at());
  float y[kBlockColumns] = {};
  const std::byte* scales = tile.scales;
  for (int64_t b = 0; b < layout.blocks(); ++b, scales += tile.scales_stride, ++steps) {
    const std::byte* block = tile.codes + b * tile.codes_stride;
    int32_t dots[kBlockColumns] = {};
    for (int64_t i = 0; i < layout.block; i += 4) {
      uint8_t codes[kBlockColumns * 4];
      ReadCodes(layout, block, i, codes);
      const int8_t* a = bytes + b * layout.block + i;
      for (int64_t c = 0; c < kBlockColumns; ++c)
        for (int64_t j = 0; j < 4; ++j) dots[c] += codes[c * 4 + j] * a[j];
    }
    const float sum = steps[layout.sum_at()];
    for (int64_t c = 0; c < kBlockColumns; ++c) {
      const float product = *steps * static_cast<float>(dots[c]);
      const float scale = ReadScale(layout.halves, scales, c);
      y[c] += layout.times_scale == 0
                  ? scale * product + sum * ReadScale(layout.halves, scales, kBlockColumns + c)
                  : scale * (product + sum);
    }
  }
  std::copy_n(y, tile.columns, tile.c);
}

void RoundRow(const BlockLayout& layout, const float* a, std::byte* row) {
  const auto round = [&](const float* from, int8_t* bytes, float* step, float* sum) {
    RoundOneBlock(from, layout.block, bytes, step, sum);
  };
  RoundRowBy(layout, a, row, round, round);
}

/// Gives back the memory of a file's rows.
void DropRows(const BlockLayout& layout, Columns columns, const Constant& codes) {
  const std::span<const std::byte> all = codes.raw_bytes();
  const int64_t rows = layout.matrices * layout.n,
                each = std::ssize(all) / std::max<int64_t>(1, rows);
  if (each * rows != std::ssize(all)) return DropMappedPages(all);
  DropMappedPages(
      all.subspan((columns.row + columns.first) * each, (columns.end - columns.first) * each));
}

}  // namespace

void PackBlocks(const BlockLayout& layout, const Constant& codes, const Constant& scales,
                const Constant& minima, std::byte* out) {
  std::memset(out + layout.greatest_at(), 0, 64);
  // So much of a file at a time that it is never in memory as a whole beside its packed form.
  const int64_t step = std::max<int64_t>(1, (int64_t{1} << 20) / layout.k);
  for (int64_t i = 0; i < layout.matrices; ++i) {
    std::byte* matrix = out + i * layout.matrix_bytes();
    if (layout.n % kBlockColumns != 0)  // the last panel has columns that are missing
      std::memset(matrix + layout.matrix_bytes() - layout.panel_bytes(), 0, layout.panel_bytes());
    for (int64_t first = 0; first < layout.n; first += step) {
      const Columns columns = {first, std::min(first + step, layout.n), i * layout.n};
      PackCodes(layout, columns, codes, matrix, out + layout.greatest_at());
      PackScales(layout, columns, scales, minima, matrix);
      DropRows(layout, columns, codes);
    }
  }
}

const BlockKernels& GetBlockKernels() {
  static const BlockKernels portable = [] {
    BlockKernels kernels;
    kernels.nibbles[1] = kernels.bytes[1] = kernels.small[1] = PortableTile;
    kernels.round = RoundRow;
    kernels.unpack = UnpackPanel;
    kernels.scale = ScalePanel;
    return kernels;
  }();
  ApplyIsaCap();
  // The functions themselves are compiled for their instruction set: other CPUs must not enter.
  if (RunsAvx512Vnni() && BlockKernelsAvx512Vnni() != nullptr) return *BlockKernelsAvx512Vnni();
  if (RunsAvxVnni() && BlockKernelsAvxVnni() != nullptr) return *BlockKernelsAvxVnni();
  if (RunsAvx2() && BlockKernelsAvx2() != nullptr) return *BlockKernelsAvx2();
  return portable;
}

}  // namespace fettle::kernels
