#include "tuner/model/chain_search.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/clock.h"

namespace fettle::tuner {
namespace {

/// A launch costs some microseconds: of a longer step that is nothing.
constexpr double kLongStepMs = 0.2;
constexpr size_t kMostProposed = 6, kMostTried = 10;
/// What a compiler takes for a chain, by the square of its steps (20 steps 5 s, 57 steps 30 s), and
/// the comparison.
int64_t TryNs(const exec::StepChain& chain) {
  const int64_t steps = chain.end - chain.begin;
  return 15'000'000 * steps * steps + 1'000'000'000;
}

/// Of work-groups that others share: registers go round for so many items.
constexpr int64_t kMostMixed = 512;

/// How launches are gathered: of one size of work-groups and each of no more than the device has
/// compute units, which the device itself ends sooner as one; or whatever can be one, which the
/// host ends sooner.
enum class Gather { kEqual, kAll };

bool IsLaunched(const exec::StepProfile& step) {
  return step.form != nullptr && step.form->launches > 0;
}

/// Whether a launch of `form` goes on with what has begun.
bool GoesOn(const LaunchForm& begun, const LaunchForm& form, Gather gather) {
  if (form.options != begun.options) return false;
  if (form.items == 0 || begun.items == 0 || form.items == begun.items) return true;
  return gather == Gather::kAll && form.mixes && std::max(form.items, begun.items) <= kMostMixed;
}

/// The longest chain from step `begin` on, without what launches nothing at its ends.
exec::StepChain LongestFrom(int begin, const exec::Plan& plan,
                            const std::vector<exec::StepProfile>& steps, Gather gather) {
  exec::StepChain chain{.begin = begin, .end = begin, .groups = 0};
  LaunchForm begun;
  for (int i = begin; i < std::ssize(plan.steps) && exec::MayChain(plan, i); ++i) {
    if (!IsLaunched(steps[i])) continue;
    const LaunchForm& form = *steps[i].form;
    const bool is_first = chain.end == begin;
    if (!form.refusal.empty() || steps[i].ms > kLongStepMs ||
        steps[i].device != steps[begin].device)
      break;
    if ((gather == Gather::kEqual && !form.fits) || (!is_first && !GoesOn(begun, form, gather)))
      break;
    if (is_first) begun = form;
    begun.items = std::max(begun.items, form.items);
    chain.end = i + 1;
  }
  return chain;
}

bool AreSameBits(const runtime::TensorMap& a, const runtime::TensorMap& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    const Tensor &left = x.second, &right = y.second;
    return x.first == y.first && left.dtype() == right.dtype() && left.shape() == right.shape() &&
           std::memcmp(left.data(), right.data(),
                       StateBytes(left.shape(), {.storage = left.dtype()})) == 0;
  });
}

bool HasChains(const runtime::Session& session, size_t chains) {
  return std::ranges::count(session.profile(), "Chain", &exec::StepProfile::op) ==
         static_cast<std::ptrdiff_t>(chains);
}

}  // namespace

std::vector<exec::StepChain> ProposeChains(const exec::Plan& plan,
                                           const std::vector<exec::StepProfile>& steps) {
  std::vector<exec::StepChain> found;
  std::vector<std::pair<int, exec::StepChain>> worths;
  if (steps.size() != plan.steps.size()) return found;
  for (const Gather gather : {Gather::kEqual, Gather::kAll}) {
    for (int begin = 0; begin < std::ssize(steps); ++begin) {
      if (!IsLaunched(steps[begin])) continue;
      const exec::StepChain chain = LongestFrom(begin, plan, steps, gather);
      const int length = chain.end - chain.begin;
      if (length < 2) continue;
      begin = chain.end - 1;
      if (std::ranges::find(worths, chain, &std::pair<int, exec::StepChain>::second) ==
          worths.end())
        worths.emplace_back(gather == Gather::kEqual ? 2 * length : length, chain);
    }
  }
  std::ranges::stable_sort(worths, std::greater(), &std::pair<int, exec::StepChain>::first);
  if (worths.size() > kMostProposed) worths.resize(kMostProposed);
  for (const auto& [worth, chain] : worths) found.push_back(chain);
  return found;
}

Status ChainSearch::Run(std::shared_ptr<runtime::Session> without) {
  session_ = std::move(without);
  runtime::TensorMap outputs;
  ASSIGN_OR_RETURN(const auto waiting, new_session_({}, /*waits_for_steps=*/true));
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(waiting->Run(inputs_, &outputs));
  std::vector<exec::StepChain> open = ProposeChains(plan_, waiting->profile());
  const size_t proposed = open.size();
  if (proposed > 0) RETURN_IF_ERROR(session_->Run(inputs_, &outputs_));
  for (size_t i = 0; i < open.size() && tried_.size() < kMostTried; ++i) {
    const exec::StepChain chain = open[i];
    const auto overlaps = [&](const exec::StepChain& kept) {
      return kept.begin < chain.end && chain.begin < kept.end;
    };
    if (std::ranges::any_of(chains_, overlaps)) continue;
    const bool has_time = until_ns_ - NowNs() >= TryNs(chain);
    ran_out_ |= !has_time;
    bool kept = false;
    if (has_time) {
      ASSIGN_OR_RETURN(kept, Try(chain));
    }
    const int middle = (chain.begin + chain.end) / 2;
    if (kept || i >= proposed || middle - chain.begin < 2) continue;
    open.push_back({.begin = chain.begin, .end = middle});
    open.push_back({.begin = middle, .end = chain.end});
  }
  return OkStatus();
}

Result<bool> ChainSearch::Try(const exec::StepChain& chain) {
  std::vector<exec::StepChain> chains = chains_;
  chains.insert(std::ranges::upper_bound(chains, chain.begin, {}, &exec::StepChain::begin), chain);
  TriedChain tried{.chain = chain};
  ASSIGN_OR_RETURN(const auto with, new_session_(chains, /*waits_for_steps=*/false));
  runtime::TensorMap outputs;
  RETURN_IF_ERROR(with->Run(inputs_, &outputs));
  if (!HasChains(*with, chains.size())) {
    tried.reason = "cannot be one launch";
  } else if (!AreSameBits(outputs_, outputs)) {
    tried.reason = "computes other values";
  } else {
    ASSIGN_OR_RETURN(tried.kept, Compare(*with, tried));
  }
  if (tried.kept) {
    chains_ = std::move(chains);
    session_ = with;
  }
  tried_.push_back(tried);
  return tried.kept;
}

Result<bool> ChainSearch::Compare(runtime::Session& with, TriedChain& tried) {
  GateOptions gate = gate_;
  const std::function<int64_t()> now_ns = gate.now_ns ? gate.now_ns : NowNs;
  int64_t ns[2] = {};  // of all runs, those too that the gate repeats
  runtime::TensorMap outputs;
  const auto timed = [&](runtime::Session& session, int64_t& sum) {
    const int64_t begin = now_ns();
    const Status status = session.Run(inputs_, &outputs);
    sum += now_ns() - begin;
    return status;
  };
  ASSIGN_OR_RETURN(const GateResult result,
                   tuner::RunGate([&] { return timed(*session_, ns[0]); },
                                  [&] { return timed(with, ns[1]); }, gate));
  tried.ratio = result.ratio;
  tried.reason = result.reason;
  // One whose work-groups were not there at once has none any more.
  if (!HasChains(with, chains_.size() + 1)) {
    tried.reason = "its work-groups did not run at the same time";
    return false;
  }
  if (!result.accepted || ns[1] < ns[0]) return result.accepted;
  tried.reason =
      fmt::format("the mean run takes {:.2f} times as long, though {}",
                  static_cast<double>(ns[1]) / static_cast<double>(ns[0]), result.reason);
  return false;
}

std::string ChainText(const TriedChain& tried) {
  const exec::StepChain& chain = tried.chain;
  return fmt::format("{} steps, {} to {}, as one launch: {}{}", chain.end - chain.begin,
                     chain.begin, chain.end - 1, tried.kept ? "" : "not kept: ", tried.reason);
}

std::string PrintChains(const std::vector<TriedChain>& tried) {
  std::string text;
  for (const TriedChain& one : tried)
    text += fmt::format("{} {} {} {} {} {}\n", one.chain.begin, one.chain.end, one.chain.groups,
                        one.kept ? 1 : 0, one.ratio, one.reason);
  return text;
}

Result<std::vector<TriedChain>> ParseChains(std::string_view text) {
  std::vector<TriedChain> all;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    TriedChain& one = all.emplace_back();
    int kept = 0;
    const char* at = line.data();
    const char* const end = at + line.size();
    const auto read = [&](auto& number) {
      const auto [next, error] = std::from_chars(at, end, number);
      const bool is_read = error == std::errc() && next < end && *next == ' ';
      at = is_read ? next + 1 : at;
      return is_read;
    };
    if (!read(one.chain.begin) || !read(one.chain.end) || !read(one.chain.groups) || !read(kept) ||
        !read(one.ratio))
      return Error(StatusCode::kCorrupt, "no chain that was tried: '{}'", line.substr(0, 40));
    one.kept = kept != 0;
    one.reason.assign(at, end);
  }
  return all;
}

}  // namespace fettle::tuner
