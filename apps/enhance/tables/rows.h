// Rows of samples through the curves of the nodes to their left and right: the loops of
// tables/local.cc, for each instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace fettle::enhance {

/// Curves at one node of a row: the slopes of 16 segments and what they would start with at 0, in
/// 1/256 levels and modulo 65536. Where
/// words can be looked up (AVX-512), words, of which the upper half is not used; else low and high
/// bytes apart, for shuffles of bytes.
struct alignas(64) RowCurve {
  struct Words {
    std::array<uint16_t, 32> starts, slopes;
  };
  struct Bytes {
    std::array<uint8_t, 16> start_low, start_high, slope_low, slope_high;
  };
  union {
    Words words;
    Bytes bytes;
  };
};
struct RowNode {
  RowCurve tone, detail;
};

/// Knots of differences are 2^5 or, where fine, 2^3 sixteenths of a level apart; of pixels 2^4
/// levels.
inline constexpr int kToneShift = 4, kDetailShift = 5, kFineShift = 3;
/// Changes are kept above this, in 1/256 levels, so that they are not negative.
inline constexpr int kChangeZero = 1 << 14;
/// Samples that are computed at once: what is read and written ends at a multiple of it.
inline constexpr int kSpan = 64;

/// What the tables say at one node: 17 knots, the rest unused, in 1/256 levels; changes above
/// kChangeZero.
struct alignas(64) Node {
  std::array<uint16_t, 32> tone, detail;
};

/// Which of the tables there are.
struct TableKinds {
  bool tone = false, detail = false, fine = false;
};
/// `count` nodes between those above a row and those below it, by `weight` (of the latter, of
/// 65535).
void BlendNodes(const Node* above, const Node* below, int count, int weight, TableKinds kinds,
                RowNode* row);

template <typename Sample>
struct TableRow {
  const uint8_t* from = nullptr;
  const uint8_t* ahead = nullptr;  // of a row to come, fetched meanwhile: caches hold no frames
  /// 1 2 1 of three rows (see tables/sums.h) where there is detail, with `distance` more at each
  /// end.
  const uint16_t* sums = nullptr;
  const RowNode* nodes = nullptr;  // `cell` samples apart, which is a multiple of kSpan
  int width = 0, cell = kSpan, distance = 1;
  TableKinds kinds;
  /// kSpan numbers, those of even samples first: added, in 1/256 levels, before the fraction is
  /// cut.
  const uint16_t* rounding = nullptr;
  Sample* to = nullptr;
};
/// Rows of one width, table and row of nodes to 8 or 10 bits; `width` samples are written, and
/// `from` and `sums` read up to a multiple of kSpan.
void RunRows(const TableRow<uint8_t>* rows, int count);
void RunRows(const TableRow<uint16_t>* rows, int count);

/// For tests: those of this machine, and the use of one of them alone for all rows to come; 0: of
/// the best. Not thread-safe.
std::vector<int64_t> InstructionSets();
void UseInstructionSet(int64_t set);

}  // namespace fettle::enhance
