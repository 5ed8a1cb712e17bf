// A change of a network, as a value: what it does to the file, and what its designer is told.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "importers/onnx/model_edit.h"
#include "quantise/model_view.h"
#include "tensor/shape.h"

namespace fettle::tools {

/// A constant grows along one axis. What is added: kNoise, seeded, as large as the rest; kZero,
/// whatever other axes say, so that what meets it leaves no trace; kOne.
struct Growth {
  enum class Fill { kNoise, kZero, kOne };
  int64_t size = 0;
  Fill fill = Fill::kZero;
};

using Operand = std::pair<size_t, size_t>;

/// Channels that a change leaves out of one place.
struct TrimmedPlace {
  std::vector<size_t> writers;   // the convolutions that make them, nodes of the file
  int64_t channels = 0;          // before
  std::vector<int64_t> dropped;  // ascending
  double carried = 0;            // the share of all channels' weight that they have
};

struct Change {
  std::string rule;   // a name
  std::string text;   // "32 channels instead of 30"
  std::string where;  // what it is about: of changes of one place, one is taken
  /// Nodes of the file that it is about: their time is what may be gained.
  std::set<size_t> nodes;
  std::map<size_t, onnx::NodeEdit> edits;
  /// By operand, a node and its position, and axis: a constant may be shared with other nodes.
  std::map<Operand, std::map<int, Growth>> growths;
  /// The indices that a constant keeps along an axis, ascending; never of an operand that grows.
  std::map<Operand, std::map<int, std::vector<int64_t>>> cuts;
  int64_t channels = 0;                   // of each trimmed place, afterwards
  std::vector<TrimmedPlace> places;       // that are trimmed
  std::vector<std::string> initializers;  // TensorProtos
  std::set<std::string, std::less<>> dropped_constants;
  /// The changed network computes the same, but for rounding.
  bool same_function = false;
};

/// What rules look at. Outlived by what it points to.
struct Subject {
  const quantise::Network& network;
  /// Of the values that the planned network still has, by name.
  std::map<std::string, Shape, std::less<>> shapes;
  quantise::FreshNames names;
  uint64_t seed = 0;
};

/// The file with all of the changes. Fails with kInvalidArgument where two of them are about the
/// same node in ways that exclude each other, and as onnx::ApplyEdit does.
Result<std::string> ApplyChanges(Subject& subject, std::span<const Change* const> changes);

/// Seeded weights of f32 as large as those of trained layers with so many inputs to a sum.
Result<Tensor> SeededWeights(const Shape& shape, int64_t inputs, uint64_t seed);

}  // namespace fettle::tools
