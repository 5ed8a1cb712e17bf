// A stage: the part of a graph that can be planned before it runs (a segment), and what follows it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/bind_plan.h"
#include "exec/near_programs.h"
#include "runtime/bindings.h"
#include "runtime/blocks.h"
#include "runtime/control_flow.h"
#include "runtime/graph_runner.h"

namespace fettle::runtime {

/// Cuts `graph` where a shape depends on data or an operator runs sub-graphs: all nodes before the
/// cut are one program; the cut itself and what follows are the next stage's graph.
class Stage {
 public:
  /// `graph`: with types and concrete shapes on its inputs. `passes`: of the same graph for others.
  static Result<std::unique_ptr<Stage>> Prepare(ir::Graph graph, Context& context,
                                                passes::PassHistory& passes);

  /// The same of a graph that is specialised.
  static Result<std::unique_ptr<Stage>> PrepareSwept(ir::Graph graph, Context& context);
  /// A stage as `like`, of the program that `programs` makes for `near`, in whose graph the values
  /// of the segment are `values`. Plans nothing. `spare`: NearPrograms::Build.
  static Result<std::unique_ptr<Stage>> Like(const Stage& like, exec::NearPrograms& programs,
                                             const exec::NearGraph& near,
                                             const std::vector<ir::ValueId>& values,
                                             Context& context,
                                             std::shared_ptr<const exec::Program> spare = nullptr);
  /// The graph of its program, where the stage is nothing else and ends with it; else null.
  const ir::Graph* OnlySegment() const;
  const std::shared_ptr<const exec::Program>& program() const { return program_; }
  /// What Like needs of it, without tensors.
  std::shared_ptr<const Stage> Example() const;

  /// One tensor per input of the graph (pinned ones left out), one per output of the whole graph:
  /// none where all of these are bound. `bindings`: what Bind was last called with and took.
  Result<std::vector<Tensor>> Run(std::span<const Tensor> inputs, Context& context,
                                  const Bindings& bindings = {});

  /// GraphRunner::CanBind. A program is made for each set of states that are bound.
  Result<bool> Bind(std::span<const Tensor> inputs, const Bindings& bindings, Context& context);

 private:
  /// A value at the end of this stage: an input, a result of the program or of the control node, or
  /// a constant.
  struct Source {
    enum class Kind { kInput, kProgram, kControl, kConstant };
    Kind kind = Kind::kInput;
    size_t index = 0;
    std::shared_ptr<const Constant> constant;
    bool is_shared = false;  // a result of the program that is several outputs of the graph
  };
  struct Results {
    std::span<const Tensor> inputs, program;
    std::vector<Tensor> control;
  };
  /// Of a run of program_; kept, so that the next run allocates nothing.
  struct Operands {
    std::vector<const TensorBuffer*> bound;  // BoundOutputs
    std::vector<Tensor> outputs;             // that program_ writes, of the pool or bound
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    /// Bound outputs (of the whole graph) that program_ does not write for them alone, set by Bind:
    /// constants, inputs, and values that another output holds. bound_ copies those of which either
    /// side is on a device; the host copies the others behind the run.
    std::vector<size_t> device_copies, host_copies;
  };
  /// A program for tensors in the accelerator's memory, null where it cannot be made, and the
  /// constants that it copies.
  struct BoundProgram {
    std::unique_ptr<exec::Program> program;
    std::vector<std::shared_ptr<DeviceMemory>> constants;
  };
  class Builder;
  explicit Stage(const DeviceSet& devices) : devices_(devices) {}

  /// What runs on `bindings`; null: program_.
  const BoundProgram* BoundFor(const Bindings& bindings) const {
    return bindings.on_device() ? bound_ : nullptr;
  }
  Result<std::vector<Tensor>> RunParts(std::span<const Tensor> inputs, Context& context,
                                       const Bindings& bindings);
  /// The results are in operands_.
  Status RunProgram(std::span<const Tensor> inputs, Context& context, const Bindings& bindings);
  Status SetOperands(std::span<const Tensor> inputs, const Bindings& bindings, OutputPool& pool);
  /// Per output of program_, the caller's tensor for it, or null.
  void BoundOutputs(const Bindings& bindings, std::vector<const TensorBuffer*>& bound) const;
  /// Whether output `index` of the whole graph is bound and one that program_ writes into it.
  bool IsWritten(const Bindings& bindings, size_t index) const;
  std::pair<DType, Shape> TypeOf(const Source& source, std::span<const Tensor> inputs) const;
  /// Sets the copies of operands_; whether they can be made.
  bool FindCopies(std::span<const Tensor> inputs, const Bindings& bindings);
  /// How bound_ makes copy `index`.
  exec::BoundCopy CopyOf(const Bindings& bindings, size_t index) const;
  void CopyOnHost(const Bindings& bindings) const;
  /// OK where each tensor that program_ writes into can hold what it gives.
  Status CheckWritten(const Bindings& bindings) const;
  Result<BoundProgram> BuildBound(const Bindings& bindings, Context& context);
  Result<std::unique_ptr<exec::Program>> BuildBound(exec::BoundStates states, Context& context);
  Result<Tensor> Fetch(const Source& source, const Results& results) const;
  /// The graph's; empty ones where they are bound, none where all are.
  Result<std::vector<Tensor>> FetchOutputs(const Results& results, const Bindings& bindings) const;

  /// Makes program_ of segment_ for `devices`.
  Status PlanOn(const DeviceSet& devices, Context& context);
  exec::MemoryBeside Beside(const Context& context) const;
  /// Of the program's outputs.
  int64_t OutputBytes() const;
  /// Whether `status` is a failure of another device that the CPU can make good.
  bool MayLeaveAccelerator(const Status& status, const Context& context) const;
  /// Has the CPU compute the segment from now on; says `why`.
  Status LeaveAccelerator(const Status& why, Context& context);

  std::shared_ptr<const ir::Graph> segment_;  // what program_ computes
  DeviceSet devices_;                         // that program_ uses
  std::shared_ptr<const exec::Program> program_;
  std::map<std::string, BoundProgram> bound_programs_;  // by the states that are bound
  const BoundProgram* bound_ = nullptr;                 // Bind's last; null: program_
  std::vector<std::pair<DType, Shape>> program_output_types_;
  Operands operands_;
  std::unique_ptr<ControlNode> control_;
  std::vector<Source> control_inputs_;
  std::unique_ptr<BlockRunner> next_;  // null at the end
  std::vector<Source> next_inputs_;
  std::vector<Source> outputs_;  // where there is no next stage
};

}  // namespace fettle::runtime
