// Which steps of a network's usual plan are faster as one launch: each range of steps that is
// proposed, and ranges that are asked for, in turns with the plan as it is, in one process; runs
// from the host's memory, and on tensors that lie in the device's.
// Usage: chains_bench MODEL [DEVICE [high|normal [BEGIN-END]...]]
#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "bench/opencl_session.h"
#include "ir/noise.h"
#include "tests/runtime/chained_plans.h"
#include "tuner/model/chain_search.h"

namespace {

using namespace fettle;  // NOLINT: a program of one file

constexpr int kPairs = 120;

struct Side {
  std::shared_ptr<ChainedPlans> plans;
  std::unique_ptr<runtime::Session> session;
  runtime::BufferMap in, out;
  runtime::TensorMap outputs, others;
  std::vector<double> us[2];
};

class Bench {
 public:
  Bench(std::shared_ptr<OpenClDevice> device, std::shared_ptr<const runtime::Model> model,
        runtime::TensorMap inputs, planner::Precision precision)
      : device_(std::move(device)),
        model_(std::move(model)),
        inputs_(std::move(inputs)),
        precision_(precision) {}

  Result<Side> Make(std::vector<exec::StepChain> chains, bool waits = false) {
    Side side;
    side.plans = std::make_shared<ChainedPlans>(std::move(chains));
    runtime::SessionOptions options{.plans = side.plans,
                                    .accelerators = {device_},
                                    .accelerator_only = true,
                                    .precision = precision_,
                                    .waits_for_steps = waits};
    options.judges_first_run = false;
    ASSIGN_OR_RETURN(side.session, runtime::Session::Create(model_, options));
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(side.session->Run(inputs_, &side.outputs));
    const auto place = [&](const Tensor& like) {
      const State state{
          .device = device_->kind(), .memory = MemoryKind::kBuffer, .storage = like.dtype()};
      return runtime::TensorBuffer::Create(device_, like.dtype(), like.shape(), state);
    };
    if (waits) return side;
    for (const auto& [name, tensor] : inputs_) {
      ASSIGN_OR_RETURN(side.in[name], place(tensor));
      RETURN_IF_ERROR(side.in[name]->WriteFromHost(tensor));
    }
    for (const auto& [name, tensor] : side.outputs) {
      ASSIGN_OR_RETURN(side.out[name], place(tensor));
    }
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(Run(side, true));
    return side;
  }
  Status Run(Side& side, bool bound) const {
    if (!bound) return side.session->Run(inputs_, &side.outputs);
    return side.session->RunOn(side.in, side.out, &side.others);
  }
  Status Time(Side& side, bool bound) const {
    const int64_t begin = NowNs();
    RETURN_IF_ERROR(Run(side, bound));
    side.us[bound].push_back(static_cast<double>(NowNs() - begin) * 1e-3);
    return OkStatus();
  }

 private:
  std::shared_ptr<OpenClDevice> device_;
  std::shared_ptr<const runtime::Model> model_;
  runtime::TensorMap inputs_;
  planner::Precision precision_;
};

double Share(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}
double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

int64_t ChainsIn(const Side& side) {
  return std::ranges::count(side.session->profile(), "Chain", &exec::StepProfile::op);
}

bool SameBits(const Side& a, const Side& b) {
  return std::ranges::all_of(a.outputs, [&](const auto& one) {
    return std::ranges::equal(one.second.bytes(), b.outputs.at(one.first).bytes());
  });
}

std::string NameOf(const std::vector<exec::StepChain>& chains) {
  std::string name;
  for (const exec::StepChain& chain : chains)
    name += fmt::format("{}{}-{}", name.empty() ? "" : ",", chain.begin, chain.end);
  return name;
}

/// The plan with `chains`; nothing, with the reason printed, where that cannot be.
Result<std::optional<Side>> Build(Bench& bench, const Side& without,
                                  const std::vector<exec::StepChain>& chains) {
  const std::string name = NameOf(chains);
  const int64_t begin = NowNs();
  Result<Side> made = bench.Make(chains);
  const double seconds = static_cast<double>(NowNs() - begin) * 1e-9;
  if (!made.ok()) {
    fmt::print("{:<14} {}\n", name, made.status().message());
    return std::optional<Side>();
  }
  if (ChainsIn(*made) != std::ssize(chains)) fmt::print("{:<14} NO CHAIN when bound\n", name);
  RETURN_IF_ERROR(bench.Run(*made, false));
  if (ChainsIn(*made) != std::ssize(chains)) {
    fmt::print("{:<14} cannot be one launch, {:.1f} s\n", name, seconds);
    return std::optional<Side>();
  }
  fmt::print("{:<14} {}, made in {:.1f} s\n", name,
             SameBits(*made, without) ? "same bits" : "OTHER VALUES", seconds);
  std::fflush(stdout);
  return std::optional<Side>(std::move(*made));
}

Status Compare(Bench& bench, Side& without, Side& with) {
  for (std::vector<double>* us : {with.us, without.us})
    for (int bound = 0; bound < 2; ++bound) us[bound].clear();
  for (int i = 0; i < 10; ++i) {
    RETURN_IF_ERROR(bench.Run(with, true));
    RETURN_IF_ERROR(bench.Run(without, true));
  }
  for (int i = 0; i < 2 * kPairs; ++i) {
    const bool bound = i % 2 == 1, first = i / 2 % 2 == 0;
    RETURN_IF_ERROR(bench.Time(first ? with : without, bound));
    RETURN_IF_ERROR(bench.Time(first ? without : with, bound));
  }
  for (int bound = 0; bound < 2; ++bound) {
    std::vector<double> ratios;
    for (size_t i = 0; i < with.us[bound].size(); ++i)
      ratios.push_back(with.us[bound][i] / without.us[bound][i]);
    fmt::print(
        "{:<14} {:<5} median {:7.1f} instead of {:7.1f} us, mean {:7.1f} instead of {:7.1f}; "
        "pairs {:.3f} ({:.3f} to {:.3f})\n",
        NameOf(with.plans->plan.chains), bound ? "bound" : "host", Share(with.us[bound], 0.5),
        Share(without.us[bound], 0.5), Mean(with.us[bound]), Mean(without.us[bound]),
        Share(ratios, 0.5),
        // Of 120 pairs the median lies between the 46th and the 75th with 99 %.
        Share(ratios, 45.5 / 119), Share(ratios, 74.5 / 119));
  }
  std::fflush(stdout);
  return OkStatus();
}

void PrintSteps(const std::vector<exec::StepProfile>& steps) {
  for (size_t i = 0; i < steps.size(); ++i)
    if (const auto& form = steps[i].form; form != nullptr && form->launches > 0)
      fmt::print("  {:>3} {:<28} {:7.2f} us, {} of {} items{} {}\n", i, steps[i].kernel,
                 steps[i].ms * 1e3, form->launches, form->items,
                 form->fits ? ", no more than compute units" : "", form->refusal);
}

/// What is proposed, its halves, and what of it does not overlap together.
std::vector<std::vector<exec::StepChain>> Proposed(const exec::Plan& plan,
                                                   const std::vector<exec::StepProfile>& steps) {
  std::vector<std::vector<exec::StepChain>> wanted;
  std::vector<exec::StepChain> together;
  for (const exec::StepChain& chain : tuner::ProposeChains(plan, steps)) {
    const auto overlaps = [&](const exec::StepChain& kept) {
      return kept.begin < chain.end && chain.begin < kept.end;
    };
    if (std::ranges::none_of(together, overlaps)) together.push_back(chain);
    wanted.push_back({chain});
  }
  std::ranges::sort(together, {}, &exec::StepChain::begin);
  for (size_t i = 0, count = wanted.size(); i < count; ++i) {
    const auto [begin, end, groups] = wanted[i][0];
    if (end - begin < 6) continue;
    wanted.push_back({{.begin = begin, .end = (begin + end) / 2}});
    wanted.push_back({{.begin = (begin + end) / 2, .end = end}});
  }
  if (together.size() > 1) wanted.push_back(together);
  return wanted;
}

Status RunAll(int argc, char** argv) {
  ASSIGN_OR_RETURN(const auto device, OpenClDevice::Open(argc > 2 ? argv[2] : "", {}));
  if (const Result<MmaFacts> mma = kernels::ProbeMma(*device); mma.ok()) device->Learn(*mma);
  RETURN_IF_ERROR(device->CheckChains());
  ASSIGN_OR_RETURN(const auto model, runtime::Model::Load(argv[1]));
  ASSIGN_OR_RETURN(runtime::TensorMap inputs, bench::ZerosFor(*model));
  for (auto& [name, tensor] : inputs) {
    if (tensor.dtype() != DType::kF32) continue;
    ASSIGN_OR_RETURN(tensor, ir::NoiseTensor(DType::kF32, tensor.shape(), 7, {-1, 1}));
  }
  const auto precision = argc > 3 && std::string_view(argv[3]) == "high"
                             ? planner::Precision::kHigh
                             : planner::Precision::kNormal;
  Bench bench(device, model, inputs, precision);
  ASSIGN_OR_RETURN(const Side waiting, bench.Make({}, /*waits=*/true));
  PrintSteps(waiting.session->profile());
  std::vector<std::vector<exec::StepChain>> wanted;
  for (int i = 4; i < argc; ++i) {
    exec::StepChain chain;
    if (std::sscanf(argv[i], "%d-%d", &chain.begin, &chain.end) == 2) wanted.push_back({chain});
  }
  if (wanted.empty()) wanted = Proposed(waiting.plans->plan, waiting.session->profile());
  ASSIGN_OR_RETURN(Side without, bench.Make({}));
  for (const auto& chains : wanted) {
    ASSIGN_OR_RETURN(std::optional<Side> with, Build(bench, without, chains));
    if (with) RETURN_IF_ERROR(Compare(bench, without, *with));
  }
  return OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status =
      argc < 2 ? Error(StatusCode::kInvalidArgument, "chains_bench MODEL ..") : RunAll(argc, argv);
  if (!status.ok()) fmt::print("{}\n", status.message());
  return status.ok() ? 0 : 1;
}
