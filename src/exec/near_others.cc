// Other kernels than those that were planned, where extents make them better.
#include <algorithm>

#include "exec/near_programs.h"
#include "kernels/backend.h"
#include "kernels/launch_tunables.h"
#include "kernels/wanted_states.h"
#include "kernels/work.h"
#include "kernels/worth_waking.h"

namespace fettle::exec {
namespace {

/// Multiply-adds of a step that are worth asking who computes them best.
constexpr double kManyMacs = 1e6;
/// Those of a shape that hide what one step's asking takes.
constexpr double kMacsOfAsking = 2e7;

/// What `kernel` makes of the group of `problem` in its states, of which `setting` gets the index.
Result<std::shared_ptr<const kernels::Match>> MatchAs(const kernels::KernelDesc& kernel,
                                                      const kernels::Problem& problem,
                                                      const Device& cpu,
                                                      kernels::Setting& setting) {
  const kernels::WantedStates wanted(problem.states);
  ASSIGN_OR_RETURN(std::shared_ptr<const kernels::Match> match,
                   kernels::MatchGroup(kernel, problem.group, cpu));
  ASSIGN_OR_RETURN(setting.states, kernels::FindStates(kernel, *match, problem.states));
  return match;
}

/// Which kernel is better than which for a group whose states are given; -1: not to be taken.
int RankOf(const kernels::Match& match) {
  const int taste = match.taste();
  return taste == kernels::kBesideBest || taste == kernels::kBeforeBest ? 0 : taste;
}

/// "cpu.conv." of "cpu.conv.gemm.nhwc": all kernels that compute one operator begin alike.
std::string_view OperatorOf(std::string_view kernel) {
  return kernel.substr(0, kernel.find('.', kernel.find('.') + 1) + 1);
}

}  // namespace

Result<std::shared_ptr<const kernels::Match>> NearPrograms::MatchAgain(
    size_t i, bool is_other, const Device& cpu, kernels::Setting& setting) const {
  const PlannedStep& planned = like_->plan().steps[i];
  const Step& known = steps_[i];
  if (known.near == nullptr || is_other)
    return MatchAs(*planned.kernel, known.problem, cpu, setting);
  ASSIGN_OR_RETURN(std::shared_ptr<const kernels::Match> match,
                   known.near->MatchNear(known.problem.group, setting.states));
  setting.states = 0;
  return match;
}

const kernels::KernelDesc* NearPrograms::BestOther(size_t i, int least, const Device& cpu,
                                                   std::string_view among) const {
  const kernels::KernelDesc& planned = *like_->plan().steps[i].kernel;
  const kernels::KernelDesc* best = nullptr;
  for (const kernels::KernelDesc* kernel : kernels::CpuKernels()) {
    if (kernel == &planned || kernel->arithmetic != planned.arithmetic) continue;
    if (!kernel->name.starts_with(among)) continue;
    kernels::Setting setting;
    const auto match = MatchAs(*kernel, steps_[i].problem, cpu, setting);
    if (!match.ok() || RankOf(**match) <= least) continue;
    least = RankOf(**match);
    best = kernel;
  }
  return best;
}

bool NearPrograms::TakeKernelOf(size_t i, const kernels::KernelDesc& other, int least,
                                const Device& cpu, Program::Step& step) const {
  const kernels::Problem& problem = steps_[i].problem;
  kernels::Setting setting = {0, problem.threads, {}, false};
  const auto match = MatchAs(other, problem, cpu, setting);
  if (!match.ok() || RankOf(**match) <= least) return false;
  const kernels::WantedStates wanted(problem.states);
  Result<std::unique_ptr<kernels::PreparedKernel>> kernel =
      kernels::PrepareWithLaunches(**match, setting, cpu);
  if (!kernel.ok()) return false;
  step = {};
  step.match = *match;
  step.other = &other;
  step.kernel = std::move(*kernel);
  return true;
}

bool NearPrograms::TakeOther(size_t i, const kernels::Match* planned, const Device& cpu,
                             Program::Step& step) {
  Step& known = steps_[i];
  const int least = planned == nullptr ? -1 : RankOf(*planned);
  if (known.other != nullptr && TakeKernelOf(i, *known.other, least, cpu, step)) return true;
  if (planned != nullptr && std::ranges::count(known.best_of_tastes, planned->taste()) > 0)
    return false;
  const kernels::KernelDesc* const other = BestOther(i, least, cpu, "");
  if (other == nullptr && planned != nullptr) known.best_of_tastes.push_back(planned->taste());
  if (other == nullptr || !TakeKernelOf(i, *other, least, cpu, step)) return false;
  known.other = other;
  return true;
}

void NearPrograms::SetThreads(size_t i, double larger) {
  Step& known = steps_[i];
  if (threads_ <= known.problem.threads) return;
  kernels::Work work = like_->steps_[i].profile->work;
  work.operations *= larger;
  work.bytes *= larger;
  const int threads = kernels::ThreadsWorthWaking(work, threads_);
  if (threads <= known.problem.threads) return;
  known.problem.threads = known.setting.threads = threads;
  known.from = nullptr;
  known.may_have_from = std::exchange(known.takes, nullptr) != nullptr || known.may_have_from;
}

void NearPrograms::ChooseAsking(double larger) {
  if (doublings_ == 0) return;
  double macs = 0;
  std::vector<Larger*> asking;
  for (size_t i = 0; i < steps_.size(); ++i) {
    Step& known = steps_[i];
    if (like_->plan().steps[i].kernel == nullptr) continue;
    const double of_step = larger * static_cast<double>(like_->steps_[i].profile->macs);
    macs += of_step;
    if (std::ssize(known.larger) < doublings_) known.larger.resize(doublings_);
    Larger& asked = known.larger[doublings_ - 1];
    if (asked.is_settled) continue;
    SetThreads(i, larger);
    asked.is_settled = known.is_beside() || of_step < kManyMacs;
    if (!asked.is_settled) asking.push_back(&asked);
  }
  const auto most = static_cast<size_t>(std::max(1.0, macs / kMacsOfAsking));
  for (size_t i = 0; i < std::min(most, asking.size()); ++i)
    asking[i]->asks = asking[i]->is_settled = true;
}

bool NearPrograms::TakeBetter(size_t i, const Device& cpu, Program::Step& step) {
  Larger& larger = steps_[i].larger[doublings_ - 1];
  if (std::exchange(larger.asks, false)) larger.other = AskAgain(i, cpu);
  if (larger.other == nullptr) return false;
  const kernels::Problem& problem = steps_[i].problem;
  const auto* const near = dynamic_cast<const kernels::MatchesNear*>(larger.match.get());
  if (near == nullptr) {
    if (!TakeKernelOf(i, *larger.other, -1, cpu, step)) return false;
    const Result<int> states = kernels::FindStates(*larger.other, *step.match, problem.states);
    larger.match = step.match;
    larger.states = states.ok() ? *states : 0;
    return true;
  }
  auto match = near->MatchNear(problem.group, larger.states);
  if (!match.ok() || RankOf(**match) < 0) return false;
  auto kernel = (*match)->Prepare({0, problem.threads, {}, false});
  if (!kernel.ok()) return false;
  step = {};
  step.match = std::move(match).value();
  step.other = larger.other;
  step.kernel = std::move(kernel).value();
  return true;
}

const kernels::KernelDesc* NearPrograms::AskAgain(size_t i, const Device& cpu) const {
  kernels::Setting setting = steps_[i].setting;
  const auto match = MatchAgain(i, /*is_other=*/false, cpu, setting);
  if (!match.ok()) return nullptr;
  return BestOther(i, RankOf(**match), cpu, OperatorOf(like_->plan().steps[i].kernel->name));
}

std::vector<bool> NearPrograms::OnesOf(size_t i) const {
  std::vector<bool> ones;
  for (ir::ValueId id : steps_[i].sized)
    for (const int64_t extent : *steps_[i].group->value(id).shape) ones.push_back(extent == 1);
  return ones;
}

bool NearPrograms::TakeOfOnes(size_t i, Program::Step& step) const {
  const Step& known = steps_[i];
  if (known.ones.empty()) return false;
  const auto ones = std::ranges::find(known.ones, OnesOf(i), &Ones::at);
  if (ones == known.ones.end()) return false;
  const auto& near = dynamic_cast<const kernels::MatchesNear&>(*ones->match);
  auto match = near.MatchNear(known.problem.group, ones->states);
  if (!match.ok() || (*match)->taste() != known.taste) return false;
  kernels::Setting setting = known.setting;
  setting.states = 0;
  auto kernel = (*match)->Prepare(setting);
  if (!kernel.ok()) return false;
  step.match = std::move(match).value();
  step.kernel = std::move(kernel).value();
  return true;
}

void NearPrograms::KeepOnes(size_t i, std::shared_ptr<const kernels::Match> match, int states) {
  constexpr size_t kMostOnes = 4;
  std::vector<Ones>& known = steps_[i].ones;
  if (dynamic_cast<const kernels::MatchesNear*>(match.get()) == nullptr) return;
  if (known.size() == kMostOnes) known.erase(known.begin());
  known.push_back({OnesOf(i), std::move(match), states});
}

void NearPrograms::TakeFrom(size_t i, const std::shared_ptr<kernels::PreparedKernel>& kernel) {
  Step& known = steps_[i];
  const auto* takes = dynamic_cast<const kernels::TakesExtents*>(kernel.get());
  if (known.takes != nullptr || !known.may_have_from || takes == nullptr) return;
  if (!std::ranges::equal(kernel->packs(), known.recipes, {}, &kernels::PackRequest::recipe))
    return;
  known.from = kernel;
  known.takes = takes;
}

}  // namespace fettle::exec
