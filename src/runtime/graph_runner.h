// Runs a graph for any input shapes, preparing each new set once.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "passes/pass_history.h"
#include "runtime/bindings.h"
#include "runtime/context.h"
#include "tensor/tensor.h"

namespace fettle::runtime {

class NearStages;
class Stage;

/// Types and shapes of tensors: what a stage is prepared for.
using TensorTypes = std::vector<std::pair<DType, Shape>>;
TensorTypes TypesOf(std::span<const Tensor> tensors);
/// Whether the tensors are of these types, in this order.
bool SameTypes(std::span<const Tensor> tensors, const TensorTypes& types);

/// A bounded set of prepared stages for one graph, by the shapes of its inputs and the contents of
/// those inputs whose values must be known. Drops the least recently used one.
class StageCache {
 public:
  /// `pinned[i]`: input i becomes a constant of the stage (its value is needed at shape time).
  StageCache(std::shared_ptr<const ir::Graph> graph, std::vector<bool> pinned);
  ~StageCache();

  /// The stage for these inputs, prepared if it is new. The pointer is valid until the next call.
  Result<Stage*> Get(std::span<const Tensor> inputs, Context& context);

 private:
  Result<Stage*> Find(std::span<const Tensor> inputs, Context& context);
  Result<std::unique_ptr<Stage>> Make(std::span<const Tensor> inputs, Context& context);

  struct Entry {
    std::unique_ptr<Stage> stage;
    int64_t last_use = 0;
  };
  std::shared_ptr<const ir::Graph> graph_;
  std::vector<bool> pinned_;
  std::map<std::string, Entry> entries_;
  passes::PassHistory passes_;
  std::unique_ptr<NearStages> near_;  // null: where inputs are pinned
  int64_t uses_ = 0;
  Stage* last_ = nullptr;  // what Get answered, where no input is pinned
  TensorTypes last_types_;
};

/// Runs a whole graph: stage after stage.
class GraphRunner {
 public:
  GraphRunner(std::shared_ptr<const ir::Graph> graph, Context& context);
  ~GraphRunner();

  /// Prepares for inputs of these types and shapes (contents are read only where a shape depends on
  /// them, so only the first stage is prepared).
  Status Prepare(std::span<const Tensor> inputs);
  /// Whether a run of these inputs can use the tensors of `bindings` in place: the graph is one
  /// program, on the device that holds them. Prepares the program. kInvalidArgument where an output
  /// has another type or shape.
  Result<bool> CanBind(std::span<const Tensor> inputs, const Bindings& bindings);
  /// One tensor per graph input in, one per graph output out. `bindings`, which CanBind, replace
  /// some of them; those on a device have no bytes here.
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs, const Bindings& bindings = {});

 private:
  Context& context_;
  StageCache stages_;
};

}  // namespace fettle::runtime
