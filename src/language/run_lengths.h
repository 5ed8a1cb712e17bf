// How many tokens of a prompt are read at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace fettle::language {

/// Context of sequences without one of their own, unless the model was trained for less.
inline constexpr int64_t kDefaultContext = 4096;

/// Lengths of runs that read a prompt: each run takes the first length of this list that fits the
/// remaining tokens, and the last run is padded. Each length is planned once. A device needs longer
/// runs than the CPU to be busy; the CPU's longest is the third.
inline constexpr int64_t kRunLengths[] = {2048, 512, 128, 32, 8, 1}, kLongRun = 128;
inline constexpr size_t kFirstOfCpu = 2;

/// Whether so many tokens that are left are read in a run of `length`, filled up where that takes
/// no more than twice as long; long runs are filled up where little is missing.
inline bool Fills(int64_t left, int64_t length) {
  return left >= length || (length > kLongRun ? left * 8 >= length * 7 : left * 2 > length);
}

/// Of the next run, where `left` tokens are left (at least 1) and `room` have room (as many).
/// Without `fills` it has no more than are left.
inline int64_t RunLength(int64_t left, int64_t room, bool on_device, bool fills = true) {
  const auto lengths = std::span(kRunLengths).subspan(on_device ? 0 : kFirstOfCpu);
  return *std::ranges::find_if(lengths, [&](int64_t length) {
    return length <= room && (fills ? Fills(left, length) : length <= left);
  });
}

}  // namespace fettle::language
