// The grid of a sweep: lists of sizes as options name them, and their combinations.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace fettle::tools {

/// What a point of a sweep varies, in the order of its columns.
inline constexpr std::array<std::string_view, 5> kSweepAxes = {"cin", "cout", "size", "kernel",
                                                               "stride"};
using SweepPoint = std::array<int64_t, kSweepAxes.size()>;

/// `8`, `8,16,24`, `8:256` (doubled each time), `8:256:8` (steps of 8), `8:256:x1.5` (times 1.5),
/// and lists of these: ascending, each once, from 1 to 2^20. Fails with kInvalidArgument, naming
/// the option.
Result<std::vector<int64_t>> ParseSizes(std::string_view option, std::string_view text);

/// What every point is.
struct SweepNetwork {
  std::string op = "conv";   // conv|depthwise
  std::string type = "f32";  // f32|int8
  uint64_t seed = 0;
};

/// All combinations, the last axis fastest; of depthwise convolutions those of cin alone, whose
/// cout is the same. Fails with kInvalidArgument where there are more than 100,000.
Result<std::vector<SweepPoint>> ListPoints(
    const SweepNetwork& network, const std::array<std::vector<int64_t>, kSweepAxes.size()>& sizes);

/// A network of one square convolution of one image, padded so that its output is the size over
/// the stride; of int8 it reads and writes u8 and has i8 weights, as quantised networks do.
Result<ir::Graph> PointGraph(const SweepNetwork& network, const SweepPoint& point);

/// Multiply-adds of a point.
int64_t PointMacs(const SweepNetwork& network, const SweepPoint& point);

}  // namespace fettle::tools
