// The inputs of a model: read from files, given as constants, or seeded.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "io/picture.h"
#include "io/picture_tensor.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace fettle::tools {

/// One `-i [NAME=]FILE` or `-i NAME=const:VALUE`, matched to a model input.
struct InputArgument {
  std::string name;
  std::string file;
  std::optional<double> constant;
};

/// One input as the model gets it.
struct BoundInput {
  std::string name;
  Tensor tensor;
  /// Where it was read from; empty for seeded and constant ones.
  std::string source;
};

struct BoundInputs {
  std::vector<BoundInput> inputs;  // in the order of graph.inputs
  /// The first picture among them and how it became a tensor, so that outputs can become pictures
  /// again.
  std::optional<Picture> picture;

  std::map<std::string, Tensor> tensors() const;
  std::map<std::string, Shape> shapes() const;
};

/// Matches the arguments to the graph's inputs: `NAME=` where NAME is an input, else the next input
/// without one.
Result<std::vector<InputArgument>> MatchInputs(const ir::Graph& graph,
                                               const std::vector<std::string>& arguments);

struct InputOptions {
  Preprocess preprocess = Preprocess::kUnit;
  uint64_t seed = 0;
  std::map<std::string, Shape> shapes;  // --shape
};

/// Completes the shapes of inputs that are neither given by a file nor fixed by the model; see
/// runtime::DefaultShapes.
using CompleteShapes =
    std::function<Result<std::map<std::string, Shape>>(std::map<std::string, Shape> given)>;

/// Reads, checks against the model's types and extents, and seeds the rest: floats uniform in
/// [-1, 1] (images [0, 1]), integers and bools in {0, 1}; each input has its own stream, so that
/// leaving one out does not change another.
Result<BoundInputs> BindInputs(const ir::Graph& graph, const std::vector<InputArgument>& arguments,
                               const InputOptions& options, const CompleteShapes& complete,
                               std::vector<std::string>& warnings);

/// The tensor as an input of `value`'s type: f32 stands for the floats that NumPy does not know.
/// Fails with kInvalidArgument naming the input where the types differ.
Result<Tensor> AsInputType(Tensor tensor, const ir::Value& value);

/// The shape that the model gives the input, with --shape's extents where it leaves them open (-1);
/// rank 0 where neither says anything. Fails with kInvalidArgument where the two contradict.
Result<Shape> DeclaredShape(const ir::Value& value, const std::map<std::string, Shape>& shapes);

/// "'x', 'y'": the names of the graph's inputs.
std::string InputNames(const ir::Graph& graph, std::string_view nearest_to = "");

/// A seeded tensor of the given type.
Result<Tensor> SeedTensor(const std::string& name, DType dtype, const Shape& shape, bool image,
                          uint64_t seed);

/// True for shapes that look like pictures: rank 4, 1 or 3 channels first or last, the other two
/// extents over 3 or unknown.
bool LooksLikeImage(const Shape& shape);

}  // namespace fettle::tools
