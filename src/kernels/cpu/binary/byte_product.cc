// compiled: small
// cpu.binary.bytes: convolutions and products of bytes with constant weights that have two values
// for each output. These lie in memory as bits, an eighth of bytes and a thirty-second of floats;
// each bit chooses one of its output's two bytes in a register, and sums are those of bytes.
#include <algorithm>

#include "kernels/cpu/binary/sign_codes.h"
#include "kernels/cpu/quantised/gemm_problem.h"
#include "kernels/family.h"

namespace fettle::kernels {
namespace {

/// Rows up to which bytes take longer to read than to multiply, where there are many.
constexpr int64_t kFewByteRows = 8;
constexpr int64_t kManyBytes = int64_t{1} << 18;

struct ByteFacts {
  QuantBytes bytes;
  /// Where weights are floats; the group is then this one.
  std::optional<SpelledProduct> spelled;

  int64_t weights() const { return bytes.shapes.g.oc * depth(); }
  int64_t depth() const {
    const ConvGeometry& g = bytes.shapes.g;
    return g.ic / g.groups * g.taps();
  }
};

/// Whether integers have at most two values for each output.
Status CheckCodes(const ir::Graph& group, const QuantBytes& bytes) {
  const Constant& w = *group.value(bytes.q.w).constant;
  const int64_t outputs = bytes.shapes.g.oc, depth = w.elements() / outputs;
  std::vector<std::byte> codes(w.elements());
  w.CopyTo(0, w.elements(), codes.data());
  for (int64_t o = 0; o < outputs; ++o) {
    const auto at = [&](int64_t i) {
      return codes[bytes.shapes.transposed ? i * outputs + o : o * depth + i];
    };
    std::byte other = at(0);
    for (int64_t i = 1; i < depth; ++i) {
      if (at(i) == at(0) || at(i) == other) continue;
      if (other != at(0))
        return Unsupported("the weights of output {} have more than two values", o);
      other = at(i);
    }
  }
  return OkStatus();
}

Result<ByteFacts> ReadBytes(const ir::Graph& group, const Device&) {
  if (GetBitKernels() == nullptr) return Unsupported("no dot products of 64 bytes (AVX-512 VNNI)");
  const auto core = std::ranges::find_if(group.nodes(), [](const ir::Node& node) {
    return node.op == "Conv"_op || node.op == "Gemm"_op || node.op == "MatMul"_op;
  });
  if (core == group.nodes().end())
    return Unsupported("computes products of dequantised operands only");
  ByteFacts facts;
  if (group.value(core->input(1)).is_constant()) {
    ASSIGN_OR_RETURN(facts.spelled, SpellWeights(group, *core));
  }
  const ir::Graph& of = facts.spelled ? *facts.spelled->group : group;
  ASSIGN_OR_RETURN(facts.bytes, ReadQuantBytes(of));
  const ConvGeometry& g = facts.bytes.shapes.g;
  if (g.ic / g.groups % 4 != 0) return Unsupported("channels that are not a multiple of four");
  if (!facts.spelled) RETURN_IF_ERROR(CheckCodes(group, facts.bytes));
  return facts;
}

Result<std::vector<StateAssignment>> ByteStates(const ir::Graph& group, const ByteFacts& facts,
                                                const Device&) {
  ASSIGN_OR_RETURN(StateAssignment states,
                   UsualQuantStates(facts.spelled ? *facts.spelled->group : group, facts.bytes));
  return std::vector<StateAssignment>{std::move(states)};
}

Problem SpelledProblem(const Problem& problem, const ByteFacts& facts) {
  Problem same = problem;
  if (facts.spelled) same.group = facts.spelled->group;
  return same;
}

QuantCut ReadByteCut(const Problem& problem, const ByteFacts& facts, const Device& device) {
  return CutForVectors(SpelledProblem(problem, facts), facts.bytes, *GetBitKernels(), device);
}

ParamSpace ByteSpace(const Problem& problem, const ByteFacts& facts, const Device& device) {
  return SpaceOf(ReadByteCut(problem, facts, device));
}

/// A product of codes whose weights are packed from the floats that they stand for.
class SpelledKernel final : public PreparedKernel {
 public:
  SpelledKernel(std::unique_ptr<PreparedKernel> of, SpelledProduct spelled)
      : of_(std::move(of)), spelled_(std::move(spelled)) {}

  std::vector<PackRequest> packs() const override {
    std::vector<PackRequest> all = of_->packs();
    PackRequest& first = all.front();
    FETTLE_CHECK(first.constants.size() >= 2 && first.constants[0] == spelled_.codes &&
                     first.constants[1] == spelled_.steps,
                 "codes and steps are packed first");
    first.constants.erase(first.constants.begin());
    first.constants.front() = spelled_.weights;
    first.recipe = "signs." + first.recipe;
    first.pack = [pack = first.pack, order = spelled_.order](
                     std::span<const Constant* const> constants, std::byte* out) -> Status {
      ASSIGN_OR_RETURN(const SignCodes made, MakeSignCodes(*constants[0], order));
      std::vector<const Constant*> all{&made.codes, &made.steps};
      all.insert(all.end(), constants.begin() + 1, constants.end());
      return pack(all, out);
    };
    return all;
  }
  int64_t workspace_bytes() const override { return of_->workspace_bytes(); }
  std::vector<Alias> aliases() const override { return of_->aliases(); }
  Status Launch(const LaunchArgs& args) const override { return of_->Launch(args); }

 private:
  std::unique_ptr<PreparedKernel> of_;
  SpelledProduct spelled_;
};

Result<std::unique_ptr<PreparedKernel>> PrepareBytes(const Problem& given, const ByteFacts& facts,
                                                     const Params& params, const Device& device) {
  const Problem problem = SpelledProblem(given, facts);
  ASSIGN_OR_RETURN(QuantProduct product,
                   ReadQuantProduct(problem, facts.bytes, GetBitKernels(),
                                    ReadByteCut(given, facts, device), params));
  auto made = MakeQuantGemm(std::move(product), static_cast<const CpuDevice&>(device));
  if (!facts.spelled) return made;
  return std::unique_ptr<PreparedKernel>(new SpelledKernel(std::move(made), *facts.spelled));
}

/// Beside weights that are bytes already, bits gain where memory is waited for; beside floats they
/// are the bytes' kernel.
int ByteTaste(const ByteFacts& facts, const Device&) {
  if (facts.spelled) return 15;
  return facts.bytes.shapes.g.pixels() <= kFewByteRows && facts.weights() >= kManyBytes ? 16 : 2;
}

Work ByteWork(const Problem& problem, const ByteFacts& facts, const Params&, const Device&) {
  const ConvGeometry& g = facts.bytes.shapes.g;
  const auto rows = static_cast<double>(g.pixels());
  const auto inputs = static_cast<double>(g.batch * g.in[0] * g.in[1] * g.in[2] * g.ic);
  double outputs = 0;
  for (ir::ValueId id : problem.group->outputs)
    outputs += static_cast<double>(
        StorageBytes(problem.group->value(id).dtype, problem.shape(id).elements()));
  const auto weights = static_cast<double>(facts.weights());
  return {.operations = 2 * rows * weights,
          .ceiling = "int8 dot",
          .bytes = weights / 8 + inputs + outputs};
}

constexpr Family<ByteFacts> kByteFamily{.read = ReadBytes,
                                        .states = ByteStates,
                                        .prepare = PrepareBytes,
                                        .params = ByteSpace,
                                        .taste = ByteTaste,
                                        .work = ByteWork};

}  // namespace

extern const KernelDesc kCpuBinaryBytes;
const KernelDesc kCpuBinaryBytes = {
    .name = "cpu.binary.bytes", .version = 1, .match = MatchAs<kByteFamily>};

}  // namespace fettle::kernels
