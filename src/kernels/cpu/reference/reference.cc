// compiled: small
// cpu.reference: any single operator through its scalar oracle. The kernel of last resort, so that
// everything runs.
#include <algorithm>
#include <cstring>

#include "base/subnormals.h"
#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Elements per task: small enough to share out, large enough to hide the claim of a task.
constexpr int64_t kElementsPerTask = 1024;

class Reference final : public CpuKernel {
 public:
  Reference(const Problem& problem, const ops::Operator* op) : group_(problem.group), op_(*op) {
    PlaceAbsentOutputs();
  }

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> requests;
    for (ir::ValueId id : Constants()) requests.push_back(PackedAsIs(*group_, id));
    return requests;
  }

  Status Run(const CpuLaunch& args) const override {
    const ir::Node& node = group_->nodes()[0];
    const std::vector<ir::ValueId> constants = Constants();
    const auto view = [&](ir::ValueId id, std::span<const ir::ValueId> ids,
                          std::span<const Location> locations) {
      const size_t at = std::find(ids.begin(), ids.end(), id) - ids.begin();
      const ir::Value& value = group_->value(id);
      return HostView{locations[at].host<std::byte>(), value.dtype, *value.shape,
                      RowMajorStrides(*value.shape)};
    };
    std::vector<HostView> inputs, outputs;
    for (ir::ValueId id : node.inputs) {
      if (id == ir::kAbsent) {
        inputs.emplace_back();
      } else if (group_->value(id).is_constant()) {
        inputs.push_back(view(id, constants, args.packed));
      } else {
        inputs.push_back(view(id, group_->inputs, args.inputs));
      }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ir::ValueId id = node.outputs[i];
      outputs.push_back(id == ir::kAbsent ? ViewOf(absent_[i], args)
                                          : view(id, group_->outputs, args.outputs));
    }
    const SubnormalScope scope(Subnormals::kKeep);
    return Run({node, inputs, outputs}, args.stream);
  }

 private:
  /// An output that nobody reads, which oracles write all the same.
  struct Absent {
    DType dtype = DType::kUndefined;
    Shape shape;
    std::optional<RunScratch<std::byte>> place;  // none: the output is bound, or is not inferred
  };

  void PlaceAbsentOutputs() {
    const ir::Node& node = group_->nodes()[0];
    absent_.resize(node.outputs.size());
    if (std::ranges::count(node.outputs, ir::kAbsent) == 0) return;
    const Result<ops::Inferred> inferred = ops::Infer(*group_, node);
    if (!inferred.ok() || inferred->needed_input >= 0) return;
    for (size_t i = 0; i < absent_.size(); ++i) {
      const ops::InferContext::Output& output = inferred->outputs[i];
      if (node.outputs[i] != ir::kAbsent || !output.set) continue;
      const int64_t bytes = StorageBytes(output.dtype, output.shape.elements());
      absent_[i] = {output.dtype, output.shape, PerRun<std::byte>(bytes)};
    }
  }

  static HostView ViewOf(const Absent& absent, const CpuLaunch& args) {
    if (!absent.place) return {};
    return {args.At(*absent.place), absent.dtype, absent.shape, RowMajorStrides(absent.shape)};
  }

  /// The distinct constant operands, in operand order.
  std::vector<ir::ValueId> Constants() const {
    std::vector<ir::ValueId> ids;
    for (ir::ValueId id : group_->nodes()[0].inputs) {
      if (id == ir::kAbsent || !group_->value(id).is_constant()) continue;
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids;
  }

  Status Run(const ops::RefContext& context, CpuStream& stream) const {
    const int64_t elements = context.outputs.empty() || context.outputs[0].data == nullptr
                                 ? 0
                                 : context.outputs[0].shape.elements();
    if (op_.Has(ir::Trait::kWholeOutput)) return op_.reference(context, {0, elements});
    // Where the first output has no elements, outputs that belong to its elements are 0, as in
    // Evaluate. Other outputs (present keys) are written by the region that begins at 0, even if it
    // is empty.
    for (const HostView& output : context.outputs)
      if (elements == 0 && output.data != nullptr && output.shape.elements() > 0)
        std::memset(output.data, 0, StorageBytes(output.dtype, output.shape.elements()));
    const int64_t tasks =
        std::max<int64_t>(1, (elements + kElementsPerTask - 1) / kElementsPerTask);
    std::vector<Status> failures(tasks);
    stream.ParallelFor(tasks, [&](int64_t task, int) {
      const int64_t begin = task * kElementsPerTask;
      failures[task] =
          op_.reference(context, {begin, std::min(begin + kElementsPerTask, elements)});
    });
    for (const Status& failure : failures) RETURN_IF_ERROR(failure);
    return OkStatus();
  }

  std::shared_ptr<const ir::Graph> group_;
  const ops::Operator& op_;
  std::vector<Absent> absent_;  // by outputs of the node
};

Result<const ops::Operator*> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("the reference runs one operator at a time");
  const ops::Operator& op = ops::OperatorOf(group.nodes()[0]);
  if (op.reference == nullptr) return Unsupported("operator has no reference");
  return &op;
}

constexpr Family<const ops::Operator*> kFamily{.read = Read,
                                               .states = RowMajorAlone,
                                               .prepare = Make<Reference>,
                                               .taste = Always<0>,
                                               .takes_no_first_output = true,
                                               .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuReference;
const KernelDesc kCpuReference = {
    .name = "cpu.reference", .arithmetic = Arithmetic::kReference, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
