// Programs of one plan for graphs that differ from the planned one in extents alone.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/memory_outline.h"
#include "exec/program.h"
#include "kernels/near_match.h"
#include "kernels/takes_extents.h"

namespace fettle::exec {

/// The extents of all values of a graph except constants, one after the other.
using Extents = std::vector<int64_t>;

/// A graph of the structure that was planned, at other extents.
struct NearGraph {
  const ir::Graph* graph = nullptr;
  std::shared_ptr<const Extents> extents;
  /// By value: whether it is a constant that may hold other elements than in the planned graph.
  std::vector<char> other_constant;
  bool has_other_constants = false;  // any of them
  double larger = 1;  // how many times as many elements it computes as the planned one
};

/// Kernels are chosen once. What depends on extents is computed anew: kernels whose operands have
/// other extents, and the layout of memory. Packed constants are shared. Belongs to one thread.
class NearPrograms : public std::enable_shared_from_this<NearPrograms> {
 public:
  /// `like`: a program for the CPU alone, of a plan that says which values its tensors are.
  /// `graph`: the graph as it was planned; `values`: the plan's values in it. `threads`: the most
  /// that a program runs on.
  NearPrograms(std::shared_ptr<const Program> like, const std::vector<ir::ValueId>& values,
               const NearGraph& graph, int threads);

  /// The best kernel of the same states replaces a step's kernel that refuses its group at these
  /// extents, that has another taste for it than before, or that computes at least twice as much
  /// where another kernel has a higher taste. Fails where no kernel takes the group, or where the
  /// taste of a kernel that was chosen for its layout changes: the graph must then be planned anew.
  /// Otherwise as Program::Build. An extent of 0 must be 0 in both graphs. `spare` (may be null): a
  /// program of this object that nobody else holds; its parts are used again.
  Result<std::unique_ptr<Program>> Build(const NearGraph& near, const DeviceSet& devices,
                                         PackedStore& packed, const std::atomic<bool>* cancelled,
                                         MemoryBeside memory,
                                         std::shared_ptr<const Program> spare = nullptr);

 private:
  friend class NearNumbers;

  /// Where a value's extents begin among all extents.
  struct Place {
    size_t begin = 0;
    int rank = 0;
  };
  /// What is known about a step where it computes that many times as much.
  struct Larger {
    bool is_settled = false;                     // or was asked
    bool asks = false;                           // now
    const kernels::KernelDesc* other = nullptr;  // that is better; null: none is
    /// The first of its matches, of the group at this many doublings, and which states it has.
    std::shared_ptr<const kernels::Match> match;
    int states = 0;
  };
  /// A match of the group where other extents are 1 than were planned for, and its states.
  struct Ones {
    std::vector<bool> at;  // by extent of `sized`
    std::shared_ptr<const kernels::Match> match;
    int states = 0;
  };
  /// Memory for the packed form of constants that follow from extents, while nobody else holds it.
  struct Room {
    std::shared_ptr<std::byte> data;
    int64_t bytes = 0;
  };
  /// The parts that are the same at all extents, and the last group.
  struct Step {
    std::vector<ir::ValueId> values;  // of the graphs, by value of the group
    std::vector<ir::ValueId> sized;   // of the group: those that may have other extents
    std::vector<ir::ValueId> constants;
    kernels::Problem problem;
    ir::Graph* group = nullptr;                  // that of the problem
    const kernels::MatchesNear* near = nullptr;  // null: matched anew
    const kernels::TakesExtents* takes = nullptr;
    kernels::Setting setting;
    int taste = 0;
    bool may_share = false;
    std::vector<std::string> recipes;
    bool may_have_from = false;                           // for as many threads as now
    std::shared_ptr<const kernels::PreparedKernel> from;  // what `takes` is, where not the plan's
    std::vector<Room> rooms;
    std::vector<int> best_of_tastes;  // that the kernel had where no other was better
    std::vector<Larger> larger;       // by doublings of what is computed, from the first
    std::vector<Ones> ones;           // the last few
    /// It was chosen for its layout, which the planner weighs for all steps together.
    bool is_beside() const {
      return taste == kernels::kBesideBest || taste == kernels::kBeforeBest;
    }
    /// The kernel that computed the step where the planned one refused, and its packed constants,
    /// held here because the store keeps nothing alive by itself.
    const kernels::KernelDesc* other = nullptr;
    std::vector<std::shared_ptr<const PackedBlob>> other_blobs;
  };

  void KeepOutline();
  // near_steps.cc
  Step StepOf(size_t i, const std::vector<ir::ValueId>& values) const;
  Shape ShapeOf(ir::ValueId value, const Extents& extents) const;
  /// The group of step `i`, with the constants that it was planned with.
  std::shared_ptr<const ir::Graph> GroupAt(size_t i, const Extents& extents) const;
  /// Whether programs in which the operands of step `i` have equal extents share its kernel: not
  /// where it makes or joins windows.
  static bool MayShare(const Program::Step& like);
  bool HasExtents(ir::ValueId value, const NearGraph& near) const;
  /// Whether an extent has become 1 or stopped being 1.
  bool HasOtherOnes(const NearGraph& near) const;
  /// The same of step `i`: its kernel may have other states then.
  bool HasOtherOnes(size_t i, const NearGraph& near) const;
  /// Whether tensors that share their bytes still lie alike.
  Status CheckSameBytes(const NearGraph& near) const;
  /// Whether step `i` has the operands that it was planned for.
  bool IsSame(size_t i, const NearGraph& near) const;
  bool HasOtherConstant(size_t i, const NearGraph& near) const;
  /// Whether one of these constants of its group has other elements.
  bool HasOtherConstant(size_t i, std::span<const ir::ValueId> constants,
                        const NearGraph& near) const;
  /// Gives the problem of step `i` these extents.
  void SetGroup(size_t i, const NearGraph& near);

  Status MakeStep(size_t i, const NearGraph& near, const Device& cpu, Program& program);
  Status MakeGroup(size_t i, const NearGraph& near, const Device& cpu, Program::Step& step);
  // near_others.cc
  /// Matches the planned kernel with the group of step `i`, from the beginning where `is_other`;
  /// sets the index of its states.
  Result<std::shared_ptr<const kernels::Match>> MatchAgain(size_t i, bool is_other,
                                                           const Device& cpu,
                                                           kernels::Setting& setting) const;
  /// The best other kernel of the same states and arithmetic whose name begins with `among` and
  /// whose taste is above `least`; null where no kernel has.
  const kernels::KernelDesc* BestOther(size_t i, int least, const Device& cpu,
                                       std::string_view among) const;
  /// Prepares `other` for step `i` where its taste is above `least`; says whether it did.
  bool TakeKernelOf(size_t i, const kernels::KernelDesc& other, int least, const Device& cpu,
                    Program::Step& step) const;
  /// Prepares the best kernel other than the planned one, whose match is `planned` (null: it
  /// refuses); says whether one is better.
  bool TakeOther(size_t i, const kernels::Match* planned, const Device& cpu, Program::Step& step);
  /// For `larger` times as much computing as planned: gives steps the threads that they are worth,
  /// and chooses the steps that look for a better kernel, each once for each doubling, few at a
  /// time.
  void ChooseAsking(double larger);
  void SetThreads(size_t i, double larger);
  /// TakeKernelOf the better kernel that was found for this number of doublings.
  bool TakeBetter(size_t i, const Device& cpu, Program::Step& step);
  /// A better kernel of the operator of step `i`, or null.
  const kernels::KernelDesc* AskAgain(size_t i, const Device& cpu) const;
  /// Which extents of the group of step `i` are 1.
  std::vector<bool> OnesOf(size_t i) const;
  /// Prepares the planned kernel from a kept match whose extents of 1 are the same; says whether
  /// there was one.
  bool TakeOfOnes(size_t i, Program::Step& step) const;
  void KeepOnes(size_t i, std::shared_ptr<const kernels::Match> match, int states);
  /// Lets other kernels be made from `kernel`, which has as many threads as step `i` has now.
  void TakeFrom(size_t i, const std::shared_ptr<kernels::PreparedKernel>& kernel);

  Status MakeConversion(const PlannedStep& planned, const NearGraph& near, const Device& cpu,
                        Program::Step& step) const;
  /// Constants that depend on the shape are packed for that shape alone.
  Result<std::shared_ptr<const PackedBlob>> PackFollowing(size_t i,
                                                          const kernels::PackRequest& request);
  Status PackStep(size_t i, const NearGraph& near, PackedStore& packed, Program::Step& step);
  void TakeWhatIsShared(size_t i, Program::Step& step) const;
  /// Makes the kernel of step `i` by arithmetic, by moving the kernel that `step` already holds
  /// where nobody else has it; says whether it could.
  bool TakeKernel(size_t i, bool has_others, const Device& cpu, Program::Step& step) const;
  /// Fills the profiles of the steps. Their numbers are computed when somebody asks (NearNumbers),
  /// from the step's own match and packed constants, if it has any.
  void Describe(const NearGraph& near, std::vector<TensorWindow> windows, Program& program) const;

  std::shared_ptr<const Program> like_;
  std::shared_ptr<const Extents> extents_;  // that it was planned for
  std::vector<Place> places_;               // by value of the graphs
  std::vector<ir::ValueId> tensors_;        // of the graphs, by tensor of the plan
  std::vector<size_t> same_bytes_;          // the tensors that are another's
  std::vector<Step> steps_;
  int threads_ = 1;
  MemoryOutline outline_;  // of the last program whose memory was planned
  // Of the graph that is built for:
  bool has_other_ones_ = false;  // than were planned for
  int doublings_ = 0;            // of what is computed
};

}  // namespace fettle::exec
