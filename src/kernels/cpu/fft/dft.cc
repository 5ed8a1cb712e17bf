// compiled: small
// cpu.fft: DFT and STFT by fast transforms, in fp32 or fp64, row-major.
#include <algorithm>

#include "device/cpu/cpu_device.h"
#include "kernels/cpu/cpu_kernel.h"
#include "kernels/cpu/fft/spectrum.h"
#include "kernels/cpu/operands.h"
#include "kernels/family.h"
#include "ops/op.h"

namespace fettle::kernels {
namespace {

/// Numbers that a task moves of a transform that is computed alone.
constexpr int64_t kNumbersPerTask = 8192;

/// A plan whose length is padded further than this takes too much memory.
constexpr int64_t kLongestPadded = 1 << 23;

/// Multiply-adds of direct sums up to which the reference, which adds in double, takes no time:
/// zeros come out as such there, where sums of floats leave a rounding.
constexpr int64_t kFewProducts = 1024;

struct Facts {
  SpectrumFacts spectrum;
  DType storage;
  bool windowed;
};

template <typename T>
class Dft final : public CpuKernel {
 public:
  Dft(const Problem& problem, const Facts& facts)
      : CpuKernel(problem.threads), operands_(*problem.group), spectrum_(facts.spectrum) {
    if (IsShared()) {
      shared_ = PerRun<T>(4 * PlaneNumbers());
      work_ = PerRun<T>(2 * WorkNumbers());
    } else {
      planes_ = PerLane<T>(4 * PlaneNumbers());
    }
    if (!facts.windowed) return;
    windowed_ = true;
    const Constant* constant = problem.group->value(problem.node().inputs[2]).constant.get();
    for (int64_t i = 0; constant != nullptr && i < constant->elements(); ++i)
      window_.push_back(static_cast<T>(constant->GetDouble(i)));
  }

  Status Run(const CpuLaunch& args) const override {
    const T* x = reinterpret_cast<const T*>(operands_.input(args, 0));
    T* y = reinterpret_cast<T*>(operands_.output(args, 0));
    const T* window = nullptr;
    if (windowed_) {
      window =
          window_.empty() ? reinterpret_cast<const T*>(operands_.input(args, 2)) : window_.data();
    }
    if (IsShared()) {
      RunShared(args, x, window, y);
      return OkStatus();
    }
    const auto alone = [](int64_t tasks, FftWork work) {
      for (int64_t i = 0; i < tasks; ++i) work(i, 0);
    };
    args.stream.ParallelFor(spectrum_.steps(), [&](int64_t step, int lane) {
      T* memory = args.At(planes_, lane);
      const Planes<T> a{memory, memory + PlaneNumbers()};
      spectrum_.Load(x, window, step, 0, spectrum_.loads(), a);
      const Planes<T> z = spectrum_.Run(a, a.From(2 * PlaneNumbers()), {}, alone);
      spectrum_.Store(z, step, 0, spectrum_.stores(), y);
    });
    return OkStatus();
  }

 private:
  bool IsShared() const { return spectrum_.fft().side() == 1; }
  int64_t WorkNumbers() const { return lanes() * spectrum_.fft().work_numbers(); }
  int64_t PlaneNumbers() const { return spectrum_.fft().extent() * spectrum_.fft().side(); }

  /// One transform after the other, each by all lanes.
  void RunShared(const CpuLaunch& args, const T* x, const T* window, T* y) const {
    const auto share = [&](int64_t tasks, FftWork work) { args.stream.ParallelFor(tasks, work); };
    T *memory = args.At(shared_), *scratch = args.At(work_);
    const Planes<T> a{memory, memory + PlaneNumbers()}, work{scratch, scratch + WorkNumbers()};
    const auto chunks = [&](int64_t numbers, auto&& move) {
      share((numbers + kNumbersPerTask - 1) / kNumbersPerTask, [&](int64_t task, int) {
        move(task * kNumbersPerTask, std::min(numbers, (task + 1) * kNumbersPerTask));
      });
    };
    for (int64_t step = 0; step < spectrum_.steps(); ++step) {
      chunks(spectrum_.loads(),
             [&](int64_t begin, int64_t end) { spectrum_.Load(x, window, step, begin, end, a); });
      const Planes<T> z = spectrum_.Run(a, a.From(2 * PlaneNumbers()), work, share);
      chunks(spectrum_.stores(),
             [&](int64_t begin, int64_t end) { spectrum_.Store(z, step, begin, end, y); });
    }
  }

  NodeOperands operands_;
  Spectrum<T> spectrum_;
  bool windowed_ = false;
  std::vector<T> window_;  // where it is constant
  RunScratch<T> shared_, work_;
  LaneScratch<T> planes_;
};

Result<Facts> Read(const ir::Graph& group, const Device&) {
  if (group.nodes().size() != 1) return Unsupported("not a single node");
  const ir::Node& node = group.nodes()[0];
  const bool is_stft = node.op == "STFT"_op;
  if (!is_stft && node.op != "DFT"_op) return Unsupported("computes DFT and STFT only");
  if (group.value(node.inputs[0]).is_constant()) return Unsupported("the signal is constant");
  Facts facts;
  ASSIGN_OR_RETURN(facts.spectrum, ReadSpectrum(group));
  const DType dtype = group.value(node.inputs[0]).dtype;
  facts.storage = dtype == DType::kF64 ? dtype : DType::kF32;
  const SpectrumFacts& spectrum = facts.spectrum;
  if (!is_stft && facts.storage == DType::kF32 &&
      spectrum.transforms * spectrum.length * spectrum.bins <= kFewProducts)
    return Unsupported("short enough for the reference, which sums in double");
  facts.windowed = is_stft && node.input(2) != ir::kAbsent;
  if (facts.windowed && group.value(node.inputs[2]).dtype != dtype)
    return Unsupported("the window has another type");
  const int64_t extent = Fft<float>::ExtentFor(facts.spectrum.length);
  if (extent != facts.spectrum.length && extent > kLongestPadded)
    return Unsupported("a length of {} is padded too far", facts.spectrum.length);
  return facts;
}

Result<std::vector<StateAssignment>> States(const ir::Graph& group, const Facts&, const Device&) {
  return std::vector<StateAssignment>{WidenedStates(group)};
}

Result<std::unique_ptr<PreparedKernel>> Prepare(const Problem& problem, const Facts& facts,
                                                const Params&, const Device&) {
  if (facts.storage == DType::kF64)
    return std::unique_ptr<PreparedKernel>(new Dft<double>(problem, facts));
  return std::unique_ptr<PreparedKernel>(new Dft<float>(problem, facts));
}

constexpr Family<Facts> kFamily{.read = Read,
                                .states = States,
                                .prepare = Prepare,
                                .taste = Always<10>,
                                .reads_callers_memory = true};

}  // namespace

extern const KernelDesc kCpuFft;
const KernelDesc kCpuFft = {.name = "cpu.fft", .match = MatchAs<kFamily>};

}  // namespace fettle::kernels
