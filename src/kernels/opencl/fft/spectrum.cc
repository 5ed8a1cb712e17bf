// opencl.fft: DFT and STFT between row-major buffers, in local memory, of up to 2,048 numbers.
#include "kernels/match/spectrum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "kernels/family.h"
#include "kernels/opencl/recorded.h"
#include "kernels/opencl/sources.h"
#include "kernels/opencl/states.h"
#include "kernels/opencl/work_sizes.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Two of them, of eight bytes a number, are 32 KiB of local memory.
constexpr int64_t kMostNumbers = 2048;

/// 8, 4 and 2 first, which take the fewest passes; then the others as they divide. At most seven.
cl_int8 FactorsOf(int64_t n) {
  cl_int8 factors;
  std::fill(std::begin(factors.s), std::end(factors.s), 1);
  int at = 0;
  for (int64_t factor : {8, 4, 2}) {
    while (n % factor == 0) {
      factors.s[at++] = static_cast<cl_int>(factor);
      n /= factor;
    }
  }
  for (int64_t factor = 3; n > 1; factor += 2) {
    while (n % factor == 0) {
      factors.s[at++] = static_cast<cl_int>(factor);
      n /= factor;
    }
  }
  return factors;
}

struct Facts {
  SpectrumFacts spectrum;
  bool windowed = false;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  ASSIGN_OR_RETURN(const SpectrumFacts spectrum, ReadSpectrum(group));
  const ir::Node& node = group.nodes()[0];
  const ir::Value &x = group.value(node.inputs[0]), &y = group.value(node.outputs[0]);
  if (x.is_constant()) return Unsupported("the signal is constant");
  if (!IsFloatValue(x.dtype)) return Unsupported("{} is not computed in fp32", DTypeName(x.dtype));
  if (spectrum.length > kMostNumbers)
    return Unsupported("a transform of {} numbers: at most {}", spectrum.length, kMostNumbers);
  if (y.shape->elements() == 0 ||
      std::max(x.shape->elements(), y.shape->elements()) > std::numeric_limits<cl_int>::max())
    return Unsupported("no elements, or more than 32 bits count");
  return Facts{spectrum, node.op == "STFT"_op && node.input(2) != ir::kAbsent};
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return RowAssignments(group);
}

PackRequest RootsPack(int64_t n) {
  return {.constants = {},
          .recipe = fmt::format("opencl.fft.roots.{}", n),
          .bytes = n * 2 * static_cast<int64_t>(sizeof(float)),
          .pack = [n](std::span<const Constant* const>, std::byte* out) {
            for (int64_t k = 0; k < n; ++k) {
              const double angle =
                  -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
              const float root[] = {static_cast<float>(std::cos(angle)),
                                    static_cast<float>(std::sin(angle))};
              std::memcpy(out + k * static_cast<int64_t>(sizeof(root)), root, sizeof(root));
            }
            return OkStatus();
          }};
}

cl_int8 SpansOf(const SignalPlaces& x, const SignalPlaces& y) {
  cl_int8 spans{};
  int at = 0;
  for (const SignalPlaces& places : {x, y}) {
    for (int64_t span : {places.outer, places.inner, places.step})
      spans.s[at++] = static_cast<cl_int>(span);
  }
  return spans;
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device& device) {
  const SpectrumFacts& s = facts.spectrum;
  const ir::Node& node = problem.node();
  const DType storage = problem.states.outputs[0].storage;
  int64_t most = 256;
  while (most < s.length) most *= 2;
  BuildOptions options = AccessOptions(problem.states.outputs[0]);
  options.Define("ITEMS", static_cast<int64_t>(kGroupItems)).Define("MOST", most);
  options.Define("WINDOWED", facts.windowed ? 1 : 0);
  ASSIGN_OR_RETURN(
      std::shared_ptr<OpenClKernel> kernel,
      AsOpenCl(device).BuildKernel(MakeProgram("fft/spectrum.cl", options), "spectrum"));
  auto made = std::make_unique<RecordedKernel>();
  made->own_packs.push_back(RootsPack(s.length));
  RecordedLaunch launch(std::move(kernel),
                        GroupSizes(static_cast<int64_t>(kGroupItems), s.transforms));
  launch.Input(InputIndex(*problem.group, node.inputs[0]), StorageBytes(storage, 1));
  launch.Output(0, StorageBytes(storage, 1)).Packed(0, 0).Int(s.length);
  launch.Value(FactorsOf(s.length)).Value(SpansOf(s.x, s.y));
  launch.Int(s.inners).Int(s.samples).Int(s.bins);
  launch.Int((s.complex ? 1 : 0) + (s.inverse ? 2 : 0) + (s.mirrored ? 4 : 0));
  if (facts.windowed) made->AddRows(*problem.group, node.inputs[2], storage, launch);
  made->recorded.push_back(std::move(launch));
  return std::unique_ptr<PreparedKernel>(std::move(made));
}

constexpr Family<Facts> kFamily{
    .read = Read, .states = States, .prepare = Prepare, .taste = Always<10>};

}  // namespace

extern const KernelDesc kOpenClFft;
const KernelDesc kOpenClFft = {.name = "opencl.fft", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
