// opencl.move.concat: Concat between buffers, rows or pixels, one launch for up to kMostSources
// operands.
#include <algorithm>
#include <limits>

#include "kernels/family.h"
#include "kernels/opencl/move/torn_channels.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/tables.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

/// Of one launch: NVIDIA's takes 4,352 bytes of arguments, 12 an operand.
constexpr int64_t kMostSources = 128;

struct Join {
  int axis = 0;
  bool tears_pixels = false;
};

/// Elements of `shape` from `axis` on, and of the axes before it, in rows or in pixels of four
/// channels.
struct Runs {
  int64_t outer = 1, run = 1;
};
Runs RunsOf(const Shape& shape, int axis, bool pixels) {
  const auto count = [&](int from, int to) {
    int64_t elements = 1;
    for (int i = from; i < to; ++i) elements *= pixels && i == 1 ? DivideUp(shape[1], 4) : shape[i];
    return elements;
  };
  return {count(0, axis), count(axis, shape.rank()) * (pixels ? 4 : 1)};
}

Result<Join> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "Concat"_op)
    return Unsupported("computes Concat only");
  const ir::Value& y = group.value(node.outputs[0]);
  if (!IsStored(y.dtype) || RowOf(y.dtype).bits > 64 || RowOf(y.dtype).bits < 8)
    return Unsupported("elements of type {} are not moved", DTypeName(y.dtype));
  if (y.shape->elements() == 0 || y.shape->elements() > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  if (node.inputs.size() < 2) return Unsupported("nothing to join");
  return Join{*NormaliseAxis(node.attributes.Int("axis"), y.shape->rank()),
              ReadTornChannels(group).ok()};
}

/// Where opencl.move.channels joins pixels, each plan may choose which of the two spares
/// conversions.
int Taste(const Join& join, const Device&) { return join.tears_pixels ? 10 : 12; }

/// Whether pixels of the operands stay pixels.
bool JoinsPixels(const ir::Graph& group, const Join& join) {
  const ir::Node& node = group.nodes()[0];
  for (ir::ValueId id : node.inputs) {
    const ir::Value& x = group.value(id);
    if (x.is_constant() || !IsFloatValue(x.dtype) || !HasVolumeRank(*x.shape)) return false;
    if (join.axis == 1 && id != node.inputs.back() && (*x.shape)[1] % 4 != 0) return false;
  }
  return true;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Join& join,
                                            const Device& device) {
  std::vector<StateAssignment> states = RowAssignments(group);
  if (!JoinsPixels(group, join)) return states;
  for (const State& form : PixelStates(device)) {
    if (form.memory == MemoryKind::kBuffer) states.push_back(StatesBeside(group, form));
  }
  return states;
}

class Recorder {
 public:
  Recorder(const Problem& problem, const Join& join, const Device& device)
      : problem_(problem),
        node_(problem.node()),
        join_(join),
        device_(AsOpenCl(device)),
        storage_(problem.states.outputs[0].storage),
        pixels_(!problem.states.outputs[0].layout.IsRowMajor()),
        word_(WordBytes()) {}

  Result<std::unique_ptr<PreparedKernel>> Run() {
    const auto count = std::ssize(node_.inputs);
    for (int64_t begin = 0; begin < count; begin += kMostSources)
      RETURN_IF_ERROR(Record(begin, std::min(count, begin + kMostSources)));
    return std::unique_ptr<PreparedKernel>(std::move(made_));
  }

 private:
  int64_t Bytes(int64_t elements) const { return StorageBytes(storage_, elements); }
  Runs RunsAt(int64_t i) const {
    return RunsOf(problem_.shape(node_.inputs[i]), join_.axis, pixels_);
  }
  bool IsConstant(int64_t i) const { return problem_.group->value(node_.inputs[i]).is_constant(); }

  /// Bytes of the widest word that every operand is made of.
  int64_t WordBytes() const {
    int64_t bytes = 16;
    for (int64_t i = 0; i < std::ssize(node_.inputs); ++i) {
      if (IsConstant(i)) return Bytes(1);  // packed by elements
      while (Bytes(RunsAt(i).run) % bytes != 0) bytes /= 2;
    }
    return bytes;
  }

  Result<std::shared_ptr<OpenClKernel>> Build(int64_t sources) {
    const std::string type = word_ == 16 ? "uint4" : std::string(UnsignedName(word_));
    std::string parts = "#define PARTS(f)";
    for (int64_t i = 0; i < sources; ++i) parts += fmt::format(" f({})", i);
    BuildOptions options;
    options.Add(fmt::format("-DWORD={}", type)).Define("SOURCES", sources);
    return device_.BuildKernel(MakeProgram("move/concat.cl", options, parts + "\n"), "concat");
  }

  Status Record(int64_t begin, int64_t end) {
    const Runs whole = RunsOf(problem_.shape(node_.outputs[0]), join_.axis, pixels_);
    std::vector<cl_int> table;
    int64_t longest = 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t words = Bytes(RunsAt(i).run) / word_;
      table.insert(table.end(), {static_cast<cl_int>(next_), static_cast<cl_int>(words)});
      next_ += words;
      longest = std::max(longest, words);
    }
    if (longest == 0) return OkStatus();
    ASSIGN_OR_RETURN(std::shared_ptr<OpenClKernel> kernel, Build(end - begin));
    RecordedLaunch launch(std::move(kernel), PlaceSizes(longest, end - begin, whole.outer));
    launch.Output(0, word_).Packed(made_->own_packs.size(), 0).Int(Bytes(whole.run) / word_);
    made_->own_packs.push_back(TablePack("move.parts", std::move(table)));
    for (int64_t i = begin; i < end; ++i) {
      if (IsConstant(i)) {
        made_->AddRows(*problem_.group, node_.inputs[i], storage_, launch);
      } else {
        launch.Input(InputIndex(*problem_.group, node_.inputs[i]), word_);
      }
    }
    made_->recorded.push_back(std::move(launch));
    return OkStatus();
  }

  const Problem& problem_;
  const ir::Node& node_;
  const Join& join_;
  const OpenClDevice& device_;
  DType storage_;
  bool pixels_;
  int64_t word_;
  int64_t next_ = 0;  // word of y
  std::unique_ptr<RecordedKernel> made_ = std::make_unique<RecordedKernel>();
};

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Join& join,
                                                const Params&, const Device& device) {
  return Recorder(problem, join, device).Run();
}

constexpr Family<Join> kFamily{.read = Read, .states = States, .prepare = Prepare, .taste = Taste};

}  // namespace

extern const KernelDesc kOpenClMoveConcat;
const KernelDesc kOpenClMoveConcat = {.name = "opencl.move.concat", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
