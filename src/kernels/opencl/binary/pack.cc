// opencl.binary.pack: PackBits of pixels, and of rows.
#include "kernels/family.h"
#include "kernels/opencl/binary/bit_states.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/work_sizes.h"

namespace fettle::kernels {
namespace {

struct Facts {
  ops::BitPacking packing;
  bool in_pixels = false;
  int64_t batch = 1, height = 1, width = 1;
  int64_t channels() const { return packing.groups * packing.channels; }
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  const ir::Node& node = group.nodes()[0];
  if (group.nodes().size() != 1 || node.op != "PackBits"_op)
    return Unsupported("computes PackBits only");
  if (group.inputs.size() != 1) return Unsupported("its input is constant");
  const Shape& x = *group.value(node.inputs[0]).shape;
  Facts facts;
  ASSIGN_OR_RETURN(facts.packing, ops::ReadPackBits(node, x));
  facts.in_pixels = facts.packing.axis == 1 && HasPixelRank(x);
  if (!facts.in_pixels && facts.packing.axis != x.rank() - 1)
    return Unsupported("channels on axis {}", facts.packing.axis);
  if (facts.in_pixels) {
    const auto [height, width] = PlaneOf(x);
    facts.batch = x[0];
    facts.height = height;
    facts.width = width;
  } else {
    facts.width = x.Count(0, x.rank() - 1);
  }
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts& facts,
                                            const Device& device) {
  const ir::Value &x = group.value(group.inputs[0]), &bits = group.value(group.outputs[0]);
  std::vector<StateAssignment> all;
  for (const State& form : facts.in_pixels ? PixelStates(device) : RowStates())
    all.push_back({{StateBeside(x, form, x.shape->rank())}, {RowStateOf(bits, form)}});
  return all;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const State& from = problem.states.inputs[0];
  BuildOptions options = AccessOptions(from);
  options.Define("ROWS", facts.in_pixels ? 0 : 1);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("binary/pack.cl", options), "binary_pack"));
  const int64_t halves = 2 * facts.packing.words();
  auto made = std::make_unique<RecordedKernel>();
  made->recorded
      .emplace_back(std::move(kernel), PlaceSizes(facts.height * facts.width,
                                                  facts.packing.groups * halves, facts.batch))
      .Input(0, StorageBytes(from.storage, facts.in_pixels ? 4 : 1))
      .Output(0, 4)
      .Value(Int4(DivideUp(facts.channels(), 4), facts.height, facts.width, facts.batch))
      .Value(Int4(facts.packing.channels, halves, facts.channels(), 0))
      .Value(PackingArg(facts.packing));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClBinaryPack;
const KernelDesc kOpenClBinaryPack = {
    .name = "opencl.binary.pack", .arithmetic = Arithmetic::kBits, .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
