// The ordered list of rewrites, and the work when a model is loaded.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "passes/clean/forward_sweep.h"

namespace fettle::passes {

/// One rewrite. `run` returns true if it changed the graph; the graph stays valid, computes the
/// same, and keeps the names of its inputs and outputs. Needs no shapes, but may use them.
struct Pass {
  std::string_view name;
  Result<bool> (*run)(ir::Graph&);
  /// Whether it saves arithmetic, or takes operators off the scalar reference; others tidy up.
  bool lowers = false;
};

/// All rewrites in the order in which they run.
std::span<const Pass> Passes();
/// Which of them lower.
std::vector<bool> LoweringPasses();

struct PipelineOptions {
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
  /// How often each pass changed a graph, added up; may be null. One entry per Passes().
  std::vector<int>* fired = nullptr;
  /// The passes that run, one entry per Passes(); empty: all.
  std::vector<bool> chosen = {};
};

/// Sweeps until no more branches become known; the first time with `trusts_shapes`. Optimise and
/// Specialise consist of these two functions.
Result<std::vector<Pending>> SweepAll(ir::Graph& graph, const PipelineOptions& options,
                                      bool trusts_shapes = false);
/// Runs all passes, or the chosen ones, once, in order.
Status RunPasses(ir::Graph& graph, const PipelineOptions& options);

/// At load time: folds, infers from the declared input shapes, inlines known branches, and runs all
/// passes, also in sub-graphs (there without trust in declared shapes). The rewrites hold for any
/// input shape that the graph's inputs allow. Graph outputs may become constants. Ids change. Fails
/// with kInvalidModel or kUnsupported where inference refuses a node.
Status Optimise(ir::Graph& graph, const PipelineOptions& options = {});

/// Runs all passes again where, since Optimise, the types of all values have become known but no
/// more shapes. Returns whether the graph changed; ids change then. Fails as Optimise does.
Result<bool> OptimiseTyped(ir::Graph& graph, const PipelineOptions& options = {});

}  // namespace fettle::passes
