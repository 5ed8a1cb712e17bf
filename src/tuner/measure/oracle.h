// The oracle of a group for many elements at once: all, or chosen elements of its outputs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/cpu/thread_pool.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace fettle::tuner {

/// Row-major elements, as ascending disjoint ranges.
using Elements = std::vector<ops::Region>;

Elements AllElements(const Shape& shape);
/// `count` elements of `shape`, or all where it has not many more: corners, borders, both sides of
/// the last whole block of 4 to 64 on each axis, and seeded others. Each brings the elements behind
/// it, `run` in all; runs may overlap.
Elements SampleElements(const Shape& shape, int64_t count, uint64_t seed, int64_t run = 1);
int64_t CountElements(const Elements& elements);

/// OK if `group` may run on made-up inputs; otherwise the reason: one of them holds a shape or
/// similar values that must fit the others.
Status CheckInputs(const ir::Graph& group);

/// The oracle of one group. Keeps what depends on constants alone. Thread-safe.
class Oracle {
 public:
  /// Fails with kUnsupported where results differ from run to run, or the right ones are unknown.
  static Result<Oracle> Make(std::shared_ptr<const ir::Graph> group, ThreadPool& pool);

  /// Computes the group on row-major `inputs`; of the outputs, at least the elements in
  /// `wanted[output]` (values elsewhere are unspecified). What outputs depend on element by element
  /// is computed there alone, everything else whole. Parallel on the pool. Fails as references do,
  /// on values out of range.
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs,
                                  std::span<const Elements> wanted) const;
  /// Steps of such a run (oracle_cost.h).
  double StepsFor(std::span<const Elements> wanted) const;

 private:
  Oracle(std::shared_ptr<const ir::Graph> group, ThreadPool& pool);
  /// Runs the nodes whose outputs are not there yet; with `constants_only`, those that need
  /// nothing else.
  Status RunNodes(std::span<const Elements> elements, bool constants_only,
                  std::vector<Tensor>& values) const;

  std::shared_ptr<const ir::Graph> group_;
  ThreadPool* pool_;
  std::vector<Tensor> constants_;  // by value; empty where a value is none
};

}  // namespace fettle::tuner
