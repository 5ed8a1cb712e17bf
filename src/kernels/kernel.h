// The kernel contract: how a kernel says what it computes, in which states, how it is prepared and
// launched.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "ops/op.h"
#include "tensor/state.h"

namespace fettle::kernels {

/// Tunable parameters by name.
using Params = std::map<std::string, int64_t, std::less<>>;

struct Tunable {
  std::string name;
  std::vector<int64_t> values;
};

/// What may be tuned of a kernel, and how it stands before anything is measured.
struct ParamSpace {
  std::vector<Tunable> tunables;
  /// Takes constant time to choose and is always valid.
  Params usual;
  /// Whether a combination works; empty: all do.
  std::function<Status(const Params&)> check;
};

/// The states of a group's operands: one per group->inputs, one per group->outputs.
struct StateAssignment {
  std::vector<State> inputs;
  std::vector<State> outputs;
  bool operator==(const StateAssignment&) const = default;
};

/// A group to compute, with everything a choice depends on. The group is a graph with concrete
/// shapes: its inputs are the operands bound at launch; constants are values of the graph (with
/// contents, or without them where only a problem text was given). Has one canonical text form
/// (problem.h).
struct Problem {
  std::shared_ptr<const ir::Graph> group;
  StateAssignment states;
  int threads = 1;

  const ir::Node& node(size_t i = 0) const { return group->nodes()[i]; }
  const Shape& shape(ir::ValueId id) const { return *group->value(id).shape; }
};

/// A packed form of constants: made once per (contents, recipe) and shared by kernels, parameters,
/// plans, shapes and sessions; a buffer where the device has memory of its own. The recipe never
/// names activation shapes.
struct PackRequest {
  std::vector<ir::ValueId> constants;  // of the group, in the order that `pack` reads
  std::string recipe;                  // e.g. "conv.ohwi.nr32.f32"; equal recipes mean equal bytes
  int64_t bytes = 0;
  /// Writes `bytes` bytes to `out` (64-byte aligned). May be called from any thread.
  std::function<Status(std::span<const Constant* const> constants, std::byte* out)> pack;
};

/// An output that needs no bytes of its own: it is a window of an input (a view), or may share its
/// memory.
struct Alias {
  int output = 0;
  int input = 0;
  int64_t byte_offset = 0;
  /// True: the output *is* that window, Launch writes nothing there. False: Launch may run in place
  /// if the planner puts both at one address.
  bool is_view = false;
};

/// Whether they are views that leave no output of `group` with elements to be written.
bool IsAllViews(const ir::Graph& group, const std::vector<Alias>& aliases);

/// What Launch works on. Operands are in the states of the problem; `packed` follows packs().
struct LaunchArgs {
  std::span<const Location> inputs;
  std::span<const Location> outputs;
  std::span<const Location> packed;
  Location workspace;  // workspace_bytes() bytes, 64-byte aligned, contents undefined
  Stream& stream;
};

class JoinsWindows;  // join_windows.h

/// A kernel made ready for one problem and one set of parameters. Immutable; Launch may be called
/// by several threads at once, on distinct memory.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual std::vector<PackRequest> packs() const { return {}; }
  virtual int64_t workspace_bytes() const { return 0; }
  virtual std::vector<Alias> aliases() const { return {}; }
  /// The kernel as a JoinsWindows, where it does nothing for inputs that are windows of its output;
  /// else null.
  virtual const JoinsWindows* joins() const { return nullptr; }
  /// Enqueues the work and returns; never allocates, never waits. Outputs have elements (steps that
  /// write only empty tensors are never launched). Writes zero to pad lanes of the
  /// outputs. Results do not depend on the stream's thread count.
  virtual Status Launch(const LaunchArgs& args) const = 0;
};

/// A parameter as its kernel declares it (fields.h).
struct ParamInfo {
  std::string_view name;
  std::span<const int64_t> values;  // empty: they follow from the problem
  std::string_view macro;           // of the source below; empty: not compiled in
  std::string_view source;          // a file below kernels/opencl
};

/// What a kernel computes in. It decides which kernels a plan may use. kF16: everything in f16,
/// except for part of the sums of products. kBF16, kTF32: the factors of products are rounded to
/// that type (TF32: f32 with 10 bits of mantissa) however they are stored; sums and everything else
/// are f32. kReference: as the scalar oracle; plans use it only where no other kernel computes a
/// group.
enum class Arithmetic : uint8_t { kF32, kF16, kBF16, kTF32, kInt, kBits, kReference };

/// The least work that a kernel does for a problem: what its roofline bound is made of.
struct Work {
  /// Arithmetic operations of the kernel itself (a Winograd product has fewer than the operator),
  /// two for each multiply-add.
  double operations = 0;
  /// What limits them: a name of kernels/cpu/probe ("fp32 fma", "int8 dot"); "scalar" for loops
  /// over elements that no vector instruction helps.
  std::string_view ceiling = "fp32 fma";
  /// Bytes read and written at least once, packed constants included.
  double bytes = 0;
};

/// One of the ways that a match offers.
struct Setting {
  int states = 0;  // index of Match::states()
  int threads = 1;
  Params params;
  bool is_complete = false;  // whether `params` has all parameters
};

/// Match::taste() of a kernel that no plan takes before it is measured.
inline constexpr int kOnlyMeasured = -1;
/// Match::taste() of a kernel that is as good as the device's best kernel for the group, in other
/// layouts. Plans made before measuring take the one with fewer conversions; on a tie they take the
/// best kernel, or this one if it says kBeforeBest.
inline constexpr int kBesideBest = -2, kBeforeBest = -3;

/// A group as one kernel understands it, read once. Immutable: any thread may ask. Its device
/// outlives it.
class Match {
 public:
  virtual ~Match() = default;
  /// The assignments in which the kernel computes the group, best first; at least one.
  virtual std::span<const StateAssignment> states() const = 0;
  /// How much the kernel is preferred for this group and device before anything is measured: the
  /// higher wins. An unattractive kernel gets a low taste instead of a refusal; references have 0.
  /// Plans cover as many nodes by one group as a kernel takes, so a kernel that may be slower than
  /// several kernels for parts of its group says kOnlyMeasured.
  virtual int taste() const { return 1; }
  /// Empty where there is nothing to tune.
  virtual ParamSpace params(int states, int threads) const = 0;
  /// The least work; nullopt: the operators' multiply-adds and the operands' bytes.
  virtual std::optional<Work> work(const Setting&) const { return std::nullopt; }
  /// Whether every output that has elements is a window of an input, so that nothing runs.
  virtual bool is_view(int /*states*/) const { return false; }
  /// Makes the kernel ready. Parameters that the setting leaves out are the usual ones.
  virtual Result<std::unique_ptr<PreparedKernel>> Prepare(const Setting&) const = 0;
};

/// One row of a kernel table. Which build of its sources it is: build_id.h.
struct KernelDesc {
  /// Stable, never reused: "<backend>.<op>.<algorithm>[.<layout>]".
  std::string_view name;
  /// Raised with any change of what is computed or how parameters are read.
  int version = 1;
  Arithmetic arithmetic = Arithmetic::kF32;
  /// What the kernel makes of `group` on `device`, one of its backend; or why it cannot compute it
  /// (kUnsupported; the reason is the message).
  Result<std::unique_ptr<const Match>> (*match)(std::shared_ptr<const ir::Graph> group,
                                                const Device& device) = nullptr;
  /// All parameters that the kernel may have in any group, for documentation and checks; null where
  /// it has none or all follow from the problem.
  std::span<const ParamInfo> (*parameters)() = nullptr;

  /// The backend that the name begins with.
  DeviceKind device() const { return DeviceKindOf(name.substr(0, name.find('.'))); }
  bool is_reference() const { return arithmetic == Arithmetic::kReference; }
};

/// What `kernel` makes of `group` on `device`, which outlives it; or why it cannot compute it.
Result<std::shared_ptr<const Match>> MatchGroup(const KernelDesc& kernel,
                                                std::shared_ptr<const ir::Graph> group,
                                                const Device& device);
/// The position of `states` among those of `match`; kUnsupported where `match` does not have them.
Result<int> FindStates(const KernelDesc& kernel, const Match& match, const StateAssignment& states);

/// For a single question: each of these matches the group anew. That of the states, best first:
Result<std::vector<StateAssignment>> CandidatesOf(const KernelDesc& kernel, const ir::Graph& group,
                                                  const Device& device);
/// Of the parameters; the problem's states are one of the candidates.
ParamSpace SpaceOf(const KernelDesc& kernel, const Problem& problem, const Device& device);
/// Of a kernel made ready.
Result<std::unique_ptr<PreparedKernel>> PrepareKernel(const KernelDesc& kernel,
                                                      const Problem& problem, const Params& params,
                                                      const Device& device);

Params DefaultParams(const KernelDesc& kernel, const Problem& problem, const Device& device);

/// Row-major host states with the value's own type as storage, one per input and output of the
/// group.
StateAssignment RowMajorStates(const ir::Graph& group);

/// The kernels of the CPU, in no particular order (cpu/table.cc).
std::span<const KernelDesc* const> CpuKernels();

}  // namespace fettle::kernels
