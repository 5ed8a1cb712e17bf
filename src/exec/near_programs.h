// Programs of one plan for graphs that differ from the one that was planned in extents alone.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "exec/program.h"
#include "kernels/near_match.h"

namespace fettle::exec {

/// A graph of the structure that was planned, at other extents.
struct NearGraph {
  const ir::Graph* graph = nullptr;
  /// By value: a constant that may hold other elements than the one that was planned with.
  std::vector<bool> other_constant;
};

/// Kernels are chosen once; what depends on extents is computed anew: kernels where an operand has
/// others, and where things lie in memory. Packed constants are shared. Belongs to one thread.
class NearPrograms {
 public:
  /// `like`: on the CPU alone, of a plan that says what its values are in its graph, which are
  /// `values` of those that Build takes.
  NearPrograms(std::shared_ptr<const Program> like, const std::vector<ir::ValueId>& values);

  /// Fails where a kernel refuses its group at these extents, or likes it more or less than it did:
  /// then the graph is to be planned anew. Otherwise as Program::Build. No extent is at most 1 in
  /// one of the two graphs only.
  Result<std::unique_ptr<Program>> Build(const NearGraph& near, const DeviceSet& devices,
                                         PackedStore& packed, const std::atomic<bool>* cancelled,
                                         MemoryBeside memory);

 private:
  /// What is the same at all extents, and the last group.
  struct Step {
    std::vector<ir::ValueId> values;  // of the graphs, by value of the group
    std::shared_ptr<ir::Graph> group;
    const kernels::MatchesNear* near = nullptr;  // null: matched anew
    kernels::Setting setting;
    int taste = 0;
    std::vector<std::string> recipes;
  };
  struct Made;

  /// Whether the kernel of step `i` is that of all programs at whose extents its operands are the
  /// same: it takes no part in windows.
  static bool MayShare(const Program::Step& like);
  /// Whether step `i` has the operands that it was planned for.
  bool IsSame(size_t i, const NearGraph& near) const;
  bool HasOtherConstant(size_t i, const NearGraph& near) const;
  const std::shared_ptr<ir::Graph>& GroupOf(size_t i, const NearGraph& near);
  Status MakeStep(size_t i, const NearGraph& near, const Device& cpu, Program& program, Made& made);
  Status MakeGroup(size_t i, const NearGraph& near, const Device& cpu, Program::Step& step,
                   Made& made);
  Status MakeConversion(const PlannedStep& planned, const NearGraph& near, const Device& cpu,
                        Program::Step& step) const;
  Status PackStep(size_t i, const NearGraph& near, PackedStore& packed, Program::Step& step);
  void Describe(size_t i, const Program& program, Made& made) const;

  std::shared_ptr<const Program> like_;
  std::vector<ir::ValueId> tensors_;  // of the graphs, by tensor of the plan
  std::vector<Step> steps_;
};

}  // namespace fettle::exec
