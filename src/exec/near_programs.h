// Programs of one plan for graphs that differ from the one that was planned in extents alone.
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

/// Those of all values of a graph but constants, one after the other.
using Extents = std::vector<int64_t>;

/// A graph of the structure that was planned, at other extents.
struct NearGraph {
  const ir::Graph* graph = nullptr;
  std::shared_ptr<const Extents> extents;
  /// By value: a constant that may hold other elements than the one that was planned with.
  std::vector<char> other_constant;
  bool has_other_constants = false;  // any of them
  double larger = 1;  // how many times as many elements it computes as the planned one
};

/// Kernels are chosen once; what depends on extents is computed anew: kernels where an operand has
/// others, and where things lie in memory. Packed constants are shared. Belongs to one thread.
class NearPrograms : public std::enable_shared_from_this<NearPrograms> {
 public:
  /// `like`: on the CPU alone, of a plan that says what its values are in its graph, which are
  /// `values` of `graph`, that as it was planned. `threads`: that a program runs on at most.
  NearPrograms(std::shared_ptr<const Program> like, const std::vector<ir::ValueId>& values,
               const NearGraph& graph, int threads);

  /// Where a kernel refuses its group at these extents, or likes it more or less than it did, or
  /// where it computes at least twice as much and another is liked more, the best kernel of the
  /// same states computes the step. Fails where there is none that takes the group, or a kernel
  /// that was chosen for its layout is liked otherwise: then the graph is to be planned anew.
  /// Otherwise as Program::Build. No extent is 0 in one of the two graphs only. `spare`: a program
  /// that is taken apart for what it is made of where it was made here and nobody else has it; or
  /// null.
  Result<std::unique_ptr<Program>> Build(const NearGraph& near, const DeviceSet& devices,
                                         PackedStore& packed, const std::atomic<bool>* cancelled,
                                         MemoryBeside memory,
                                         std::shared_ptr<const Program> spare = nullptr);

 private:
  friend class NearNumbers;

  /// Of a value: its extents among those of all.
  struct Place {
    size_t begin = 0;
    int rank = 0;
  };
  /// What is known of a step where that many times as much is computed.
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
  /// Memory for what is packed of constants that follow from extents, while nobody else has it.
  struct Room {
    std::shared_ptr<std::byte> data;
    int64_t bytes = 0;
  };
  /// What is the same at all extents, and the last group.
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
    /// It was chosen for its layout, which plans weigh for all steps together.
    bool is_beside() const {
      return taste == kernels::kBesideBest || taste == kernels::kBeforeBest;
    }
    /// What computed the step where its kernel would not, and what that had packed: the store
    /// keeps nothing alive by itself.
    const kernels::KernelDesc* other = nullptr;
    std::vector<std::shared_ptr<const PackedBlob>> other_blobs;
  };

  void KeepOutline();
  // near_steps.cc
  Step StepOf(size_t i, const std::vector<ir::ValueId>& values) const;
  Shape ShapeOf(ir::ValueId value, const Extents& extents) const;
  /// That of step `i`, with the constants that it was planned with.
  std::shared_ptr<const ir::Graph> GroupAt(size_t i, const Extents& extents) const;
  /// Whether the kernel of step `i` is that of all programs at whose extents its operands are the
  /// same: it takes no part in windows.
  static bool MayShare(const Program::Step& like);
  bool HasExtents(ir::ValueId value, const NearGraph& near) const;
  /// Whether an extent is 1 that was not, or the other way round.
  bool HasOtherOnes(const NearGraph& near) const;
  /// The same of step `i`: its kernel may have other states then.
  bool HasOtherOnes(size_t i, const NearGraph& near) const;
  /// Whether tensors that are one another's memory still lie alike.
  Status CheckSameBytes(const NearGraph& near) const;
  /// Whether step `i` has the operands that it was planned for.
  bool IsSame(size_t i, const NearGraph& near) const;
  bool HasOtherConstant(size_t i, const NearGraph& near) const;
  /// Whether one of these of its group is another.
  bool HasOtherConstant(size_t i, std::span<const ir::ValueId> constants,
                        const NearGraph& near) const;
  /// Makes the problem of step `i` that of these extents.
  void SetGroup(size_t i, const NearGraph& near);

  Status MakeStep(size_t i, const NearGraph& near, const Device& cpu, Program& program);
  Status MakeGroup(size_t i, const NearGraph& near, const Device& cpu, Program::Step& step);
  // near_others.cc
  /// What the planned kernel makes of the group of step `i`, all of it anew where it `is_other`;
  /// sets the index of its states.
  Result<std::shared_ptr<const kernels::Match>> MatchAgain(size_t i, bool is_other,
                                                           const Device& cpu,
                                                           kernels::Setting& setting) const;
  /// Of those whose names begin with `among`, the best other kernel of the same states and
  /// arithmetic that ranks above `least`; null where there is none.
  const kernels::KernelDesc* BestOther(size_t i, int least, const Device& cpu,
                                       std::string_view among) const;
  /// Prepares `other` for step `i` where it ranks above `least`; says whether it does.
  bool TakeKernelOf(size_t i, const kernels::KernelDesc& other, int least, const Device& cpu,
                    Program::Step& step) const;
  /// Prepares the best kernel beside the planned one, whose match is `planned` (null: it refuses);
  /// says whether there is a better one.
  bool TakeOther(size_t i, const kernels::Match* planned, const Device& cpu, Program::Step& step);
  /// Where `larger` times as much is computed as was planned for, gives steps the threads that they
  /// are worth, and chooses which of them ask for a better kernel: each once for each doubling, few
  /// at a time.
  void ChooseAsking(double larger);
  void SetThreads(size_t i, double larger);
  /// TakeKernelOf the kernel that was better where as many doublings were asked for.
  bool TakeBetter(size_t i, const Device& cpu, Program::Step& step);
  /// A better kernel of the operator of step `i`, or null.
  const kernels::KernelDesc* AskAgain(size_t i, const Device& cpu) const;
  /// Which extents of the group of step `i` are 1.
  std::vector<bool> OnesOf(size_t i) const;
  /// Prepares the planned kernel for extents of 1 elsewhere, of a match that had the same ones;
  /// says whether there is one.
  bool TakeOfOnes(size_t i, Program::Step& step) const;
  void KeepOnes(size_t i, std::shared_ptr<const kernels::Match> match, int states);
  /// Has others be made of `kernel`, which is for as many threads as step `i` has now.
  void TakeFrom(size_t i, const std::shared_ptr<kernels::PreparedKernel>& kernel);

  Status MakeConversion(const PlannedStep& planned, const NearGraph& near, const Device& cpu,
                        Program::Step& step) const;
  /// Constants of a shape's own are packed for it alone.
  Result<std::shared_ptr<const PackedBlob>> PackFollowing(size_t i,
                                                          const kernels::PackRequest& request);
  Status PackStep(size_t i, const NearGraph& near, PackedStore& packed, Program::Step& step);
  void TakeWhatIsShared(size_t i, Program::Step& step) const;
  /// Makes the kernel of step `i` by arithmetic, of `step` where it is another program's; says
  /// whether it could.
  bool TakeKernel(size_t i, bool has_others, const Device& cpu, Program::Step& step) const;
  /// Profiles: numbers at once where they follow from a match or weights that the step has alone.
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
