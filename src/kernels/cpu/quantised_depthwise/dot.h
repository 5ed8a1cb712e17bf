// Depthwise convolutions of bytes by dot products of four taps: the four bytes of a channel that
// lie above each other in a column of the input, side by side in a dword. AVX-512 with VNNI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fettle::kernels {

/// Channels that are computed together; a dot product sums kDotTaps taps of each.
inline constexpr int64_t kDotChannels = 64;
inline constexpr int kDotTaps = 4;
/// Of kDotChannels dwords.
inline constexpr int64_t kDotBytes = kDotChannels * 4;

/// Where channel `c` of kDotChannels lies among their dwords: as interleaving bytes and words of
/// 512-bit vectors leaves them, so that packs put results in order.
constexpr int64_t DotPlace(int64_t c) { return c % 16 / 4 * 16 + c / 16 * 4 + c % 4; }

/// Bytes of `count` pixels of four lines, interleaved: [pixel][kDotChannels][4], `out_step` bytes
/// from pixel to pixel.
struct ColumnsArgs {
  const uint8_t* lines[kDotTaps] = {};
  int64_t steps[kDotTaps] = {};  // bytes from pixel to pixel; 0 where a line is all padding
  uint8_t flip = 0;              // 0x80: i8 become u8
  int64_t count = 0, out_step = 0;
  std::byte* out = nullptr;
};
void InterleaveColumns(const ColumnsArgs& args);

/// Output pixels of one line and up to kDotChannels channels.
struct DotRowArgs {
  const std::byte* columns = nullptr;    // interleaved; [pixel's first column][tap]
  int64_t pixel_step = 0;                // bytes from pixel to pixel
  int64_t taps = 0;                      // of kDotTaps rows
  const int64_t* tap_offsets = nullptr;  // in bytes, from a pixel's first column
  const std::byte* weights = nullptr;    // [tap][kDotChannels][4]
  const int32_t* init = nullptr;         // the next three: of kDotChannels, as DotPlace says
  const float* scale = nullptr;
  const float* add = nullptr;
  int32_t zero = 0, low = 0, high = 255;
  bool is_signed = false;
  int64_t pixels = 0, channels = kDotChannels;
  uint8_t* out = nullptr;
  int64_t out_step = 0;
};
/// round((init + sum of taps) * scale + add) + zero, within [low, high]; |results| stay below 2^31.
void RunDotRow(const DotRowArgs& args);

/// Channels that one half of a vector holds.
inline constexpr int64_t kHalfChannels = kDotChannels / 2;

/// One line of the output, or two of them, of a kernel of up to three rows and three columns:
/// columns stay in registers from the pixel that reads them first to the one that reads them last.
struct DotLinesArgs {
  /// Of each output line: the lines that the kernel's rows read, and bytes from pixel to pixel of
  /// them; 0 where a line is all padding.
  const uint8_t* lines[2][3] = {};
  int64_t steps[2][3] = {};
  const uint8_t* padding = nullptr;  // a pixel of it
  uint8_t flip = 0;                  // 0x80: i8 become u8
  /// Of the input; what the first pixel reads first, which may be padding; 1 or 2 columns.
  int64_t width = 0, first_column = 0, stride = 1;
  /// Weights, first values, scales, addends, range, pixels and channels; columns and taps are not
  /// read. Up to kHalfChannels channels where `halves`.
  DotRowArgs row;
  /// Half of a vector is the second line, whose pixels lie at `second_out`; channels of both are
  /// those of `row`, twice.
  bool halves = false;
  uint8_t* second_out = nullptr;  // null: there is no second line
};
/// As RunDotRow.
void RunDotLines(const DotLinesArgs& args);

}  // namespace fettle::kernels
