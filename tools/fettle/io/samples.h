// Samples of a model's inputs: what it is calibrated on.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/picture_tensor.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::tools {

struct SampleOptions {
  Preprocess preprocess = Preprocess::kUnit;
  std::map<std::string, Shape> shapes;  // --shape
  /// At most so many samples, chosen by the seed and kept in their order.
  size_t limit = 64;
  uint64_t seed = 0;
  /// Ends the reading with kCancelled; null: never.
  const std::atomic<bool>* cancelled = nullptr;
};

/// Inputs of one inference each, by name.
using SampleList = std::vector<std::map<std::string, Tensor>>;

/// Reads `[NAME=]PATH` for each of `data`: a picture, an array (.npy, .pb) or a folder of these, in
/// the order of their names; NAME may be left out where the model has one input. An array holds one
/// sample, a number of them behind each other along the first axis, or along one more axis. An open
/// first extent is a batch of 1 unless --shape says otherwise. Every input needs as many samples as
/// the others.
/// Fails with kInvalidArgument, naming file and input, on what cannot be read, empty folders, wrong
/// types and shapes, numbers that are not finite, and pictures for inputs of open extents.
Result<SampleList> ReadSamples(const ir::Graph& graph, const std::vector<std::string>& data,
                               const SampleOptions& options, std::vector<std::string>& warnings);

}  // namespace fettle::tools
