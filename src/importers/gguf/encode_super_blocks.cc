#include "importers/gguf/encode_super_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "importers/gguf/fit_scales.h"
#include "importers/gguf/put_bits.h"

namespace fettle::gguf {
namespace {

constexpr int kElements = 256;

/// A block in the making: part i has the scale step * scales[i] and the minimum
/// -minimum_step * minima[i].
struct Super {
  int parts = 0;
  CodeRange range;
  float step = 0, minimum_step = 0;
  int scales[16] = {}, minima[16] = {};
  int least_scale = 0, most_scale = 0, most_minimum = 0;
  double error = 0;

  int size() const { return kElements / parts; }
  Grid GridOf(int scale, int minimum) const {
    return {step * static_cast<float>(scale), -minimum_step * static_cast<float>(minimum)};
  }
  Grid GridOf(int part) const { return GridOf(scales[part], minima[part]); }
};

int CodeOf(float value, float step, int low, int high) {
  if (step == 0) return 0;
  const float code = Clamped(value / step, static_cast<float>(low), static_cast<float>(high));
  return static_cast<int>(NearestWhole(code));
}

/// The best scale and minimum of each part among the neighbours of those it has.
void SearchParts(const float* x, Super& super) {
  super.error = 0;
  for (int part = 0; part < super.parts; ++part) {
    const float* of = x + part * super.size();
    const int scale = super.scales[part], minimum = super.minima[part];
    double best = HUGE_VAL;
    for (int s = std::max(super.least_scale, scale - 1); s <= std::min(super.most_scale, scale + 1);
         ++s) {
      for (int m = std::max(0, minimum - 1); m <= std::min(super.most_minimum, minimum + 1); ++m) {
        const double error = ErrorOf(of, super.size(), super.GridOf(s, m), super.range);
        if (!(error < best)) continue;
        best = error;
        super.scales[part] = s;
        super.minima[part] = m;
      }
    }
    super.error += best;
  }
}

/// Least-squares steps for the codes that are nearest now.
void ImproveSteps(const float* x, Super& super) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (int part = 0; part < super.parts; ++part) {
    float codes[kElements];
    const float* of = x + part * super.size();
    PutCodes(of, super.size(), super.GridOf(part), super.range, codes);
    const double b = -super.minima[part];
    for (int i = 0; i < super.size(); ++i) {
      const double a = super.scales[part] * static_cast<double>(codes[i]);
      const double value = static_cast<double>(of[i]);
      aa += a * a;
      ab += a * b;
      bb += b * b;
      ax += a * value;
      bx += b * value;
    }
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-9 * aa * bb) {
    super.step = AsHalf(static_cast<float>((ax * bb - bx * ab) / determinant));
    super.minimum_step = AsHalf(static_cast<float>((bx * aa - ax * ab) / determinant));
  } else if (aa > 0) {
    super.step = AsHalf(static_cast<float>((ax - super.minimum_step * ab) / aa));
  }
}

/// Searches parts and steps by turns, and leaves the best.
void Search(const float* x, Super& super) {
  SearchParts(x, super);
  Super best = super;
  for (int turn = 0; turn < 2; ++turn) {
    ImproveSteps(x, super);
    if (!std::isfinite(super.step) || !std::isfinite(super.minimum_step) || super.minimum_step < 0)
      break;
    SearchParts(x, super);
    if (super.error < best.error) best = super;
  }
  super = best;
}

/// Codes from 0 to `high`, scales and minima to `most`.
Super FitWithMinima(const float* x, int parts, float high, int most) {
  Super super{parts, {0, high, false, true}};
  super.most_scale = super.most_minimum = most;
  Grid grids[16];
  float scale = 0, minimum = 0;
  for (int i = 0; i < parts; ++i) {
    grids[i] = FitScaleAndMinimum(x + i * super.size(), super.size(), super.range);
    scale = std::max(scale, grids[i].scale);
    minimum = std::max(minimum, -grids[i].minimum);
  }
  super.step = AsHalf(scale / static_cast<float>(most));
  super.minimum_step = AsHalf(minimum / static_cast<float>(most));
  for (int i = 0; i < parts; ++i) {
    super.scales[i] = CodeOf(grids[i].scale, super.step, 0, most);
    super.minima[i] = CodeOf(-grids[i].minimum, super.minimum_step, 0, most);
  }
  Search(x, super);
  return super;
}

/// 16 parts of codes from `low` on without minima.
Super FitCentred(const float* x, float low, int least_scale) {
  Super super{16, {low, -low - 1}};
  super.least_scale = least_scale;
  super.most_scale = -least_scale - 1;
  Grid grids[16];
  float extreme = 0;
  for (int i = 0; i < 16; ++i) {
    grids[i] = FitScale(x + i * 16, 16, super.range);
    if (std::fabs(grids[i].scale) > std::fabs(extreme)) extreme = grids[i].scale;
  }
  super.step = AsHalf(extreme / static_cast<float>(least_scale));
  for (int i = 0; i < 16; ++i)
    super.scales[i] = CodeOf(grids[i].scale, super.step, super.least_scale, super.most_scale);
  Search(x, super);
  return super;
}

/// The counterpart of TwoBits.
void AddTwoBits(int code, int i, uint8_t* to) {
  AddBits(code << (i % 128 / 32 * 2), to[i / 128 * 32 + i % 32]);
}

/// The counterpart of ReadSixBits.
void PutSixBits(const Super& super, uint8_t* to) {
  std::memset(to, 0, 12);
  for (int i = 0; i < 8; ++i) {
    const int scale = super.scales[i], minimum = super.minima[i];
    if (i < 4) {
      AddBits(scale, to[i]);
      AddBits(minimum, to[i + 4]);
    } else {
      to[i + 4] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
      AddBits((scale >> 4) << 6, to[i - 4]);
      AddBits((minimum >> 4) << 6, to[i]);
    }
  }
}

void EncodeWithMinima(const float* x, float high, int64_t codes_at, uint8_t* fifth,
                      uint8_t* block) {
  const Super super = FitWithMinima(x, 8, high, 63);
  PutHalf(super.step, block);
  PutHalf(super.minimum_step, block + 2);
  PutSixBits(super, block + 4);
  std::memset(block + codes_at, 0, 128);
  if (fifth != nullptr) std::memset(fifth, 0, 32);
  for (int i = 0; i < 8; ++i) {
    float codes[32];
    PutCodes(x + i * 32, 32, super.GridOf(i), super.range, codes);
    uint8_t* to = block + codes_at + i / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      const int code = static_cast<int>(codes[j]);
      AddBits((code & 15) << (i % 2 * 4), to[j]);
      if (fifth != nullptr) AddBits((code >> 4) << i, fifth[j]);
    }
  }
}

}  // namespace

void EncodeQ2K(const float* x, uint8_t* block) {
  const Super super = FitWithMinima(x, 16, 3, 15);
  std::memset(block, 0, 80);
  PutHalf(super.step, block + 80);
  PutHalf(super.minimum_step, block + 82);
  for (int i = 0; i < 16; ++i) {
    block[i] = static_cast<uint8_t>(super.scales[i] | super.minima[i] << 4);
    float codes[16];
    PutCodes(x + i * 16, 16, super.GridOf(i), super.range, codes);
    for (int k = 0; k < 16; ++k) AddTwoBits(static_cast<int>(codes[k]), i * 16 + k, block + 16);
  }
}

void EncodeQ3K(const float* x, uint8_t* block) {
  const Super super = FitCentred(x, -4, -32);
  std::memset(block, 0, 108);
  PutHalf(super.step, block + 108);
  for (int i = 0; i < 16; ++i) {
    const int scale = super.scales[i] + 32;
    AddBits((scale & 15) << (i / 8 * 4), block[96 + i % 8]);
    AddBits((scale >> 4) << (i / 4 * 2), block[104 + i % 4]);
    float codes[16];
    PutCodes(x + i * 16, 16, super.GridOf(i), super.range, codes);
    for (int k = 0; k < 16; ++k) {
      const int at = i * 16 + k, code = static_cast<int>(codes[k]) + 4;
      AddTwoBits(code & 3, at, block + 32);
      AddBits((code >> 2) << (at / 32), block[at % 32]);
    }
  }
}

void EncodeQ4K(const float* x, uint8_t* block) { EncodeWithMinima(x, 15, 16, nullptr, block); }
void EncodeQ5K(const float* x, uint8_t* block) { EncodeWithMinima(x, 31, 48, block + 16, block); }

void EncodeQ6K(const float* x, uint8_t* block) {
  const Super super = FitCentred(x, -32, -128);
  std::memset(block, 0, 192);
  PutHalf(super.step, block + 208);
  for (int i = 0; i < 16; ++i) {
    block[192 + i] = static_cast<uint8_t>(super.scales[i]);
    float codes[16];
    PutCodes(x + i * 16, 16, super.GridOf(i), super.range, codes);
    for (int k = 0; k < 16; ++k) {
      const int at = i * 16 + k, half = at / 128, quarter = at % 128 / 32, j = at % 32;
      const int code = static_cast<int>(codes[k]) + 32;
      AddBits((code & 15) << (quarter / 2 * 4), block[half * 64 + quarter % 2 * 32 + j]);
      AddBits((code >> 4) << (2 * quarter), block[128 + half * 32 + j]);
    }
  }
}

}  // namespace fettle::gguf
