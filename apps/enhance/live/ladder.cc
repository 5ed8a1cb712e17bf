#include "live/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>

#include "basics/cpu_time.h"
#include "steps/networks.h"

namespace fettle::enhance {
namespace {

bool HasNetwork(const ChainLink& link) { return FindNetwork(link.row->name, "fast", 8) != nullptr; }

std::string Text(const std::vector<ChainLink>& links, const std::string& network, bool grows) {
  std::vector<std::string_view> names;
  bool by_network = false, enlarges = false;
  for (const ChainLink& link : links) {
    names.push_back(link.row->name);
    by_network = by_network || HasNetwork(link);
    enlarges = enlarges || link.row->scale > 1;
  }
  const std::string lanczos = grows && !enlarges ? "Lanczos" : "";
  if (names.empty()) return lanczos.empty() ? "no step" : "Lanczos alone";
  return fmt::format("{}{}{}", fmt::join(names, ","), by_network ? " by " + network : "",
                     lanczos.empty() ? "" : " and Lanczos");
}

/// What is left out first: what is missed least.
constexpr std::unique_ptr<Step> (*kCostly[])(const StepSetup&) = {MakeDeblock, MakeDenoise,
                                                                  MakeSuperres};

}  // namespace

std::vector<Rung> RungsOf(const std::vector<ChainLink>& chain, const std::string& network) {
  const bool grows = ScaleOf(chain) > 1;
  std::vector<Rung> rungs;
  const auto add = [&](const std::vector<ChainLink>& links, const std::string& by) {
    rungs.push_back({links, by, Text(links, by, grows)});
  };
  const std::string fast = NetworkChoices().front();
  add(chain, network);
  if (network != fast && std::ranges::any_of(chain, HasNetwork)) add(chain, fast);
  std::vector<ChainLink> links = chain;
  for (const auto make : kCostly) {
    if (FindLink(links, make) == nullptr) continue;
    std::erase_if(links, [&](const ChainLink& link) { return link.row->make == make; });
    add(links, fast);
  }
  const size_t left = links.size();
  // It is done before the steps.
  std::erase_if(links, [](const ChainLink& link) { return link.row->make != MakeDeinterlace; });
  if (links.size() < left) add(links, fast);
  return rungs;
}

struct RungChains::Made {
  Made(const Rung& rung, StepSetup first) : nanoseconds(rung.links.size()) {
    first.network = rung.network;
    chain.emplace(rung.links, first, nanoseconds);
  }
  std::vector<std::atomic<int64_t>> nanoseconds;
  std::optional<Chain> chain;
};

RungChains::RungChains(const std::vector<Rung>& rungs, const StepSetup& first,
                       const LadderResult& result)
    : rungs_(rungs),
      first_(first),
      made_(rungs.size()),
      converter_(result.format, result.width, result.height) {}

RungChains::~RungChains() = default;

FramePtr RungChains::Apply(size_t rung, FramePtr frame) {
  std::unique_ptr<Made>& made = made_[rung];
  if (made == nullptr) made = std::make_unique<Made>(rungs_[rung], first_);
  return converter_.Convert(made->chain->Apply(std::move(frame)));
}

void MeasureRungs(std::vector<Rung>& rungs, const StepSetup& first, RungChains& chains) {
  constexpr int kTurns = 3;  // the first fetches memory
  for (size_t rung = 0; rung < rungs.size(); ++rung) {
    double least = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      FramePtr grey = ZeroFrame(first.format, first.width, first.height);
      // What other programs take is told by the frames that are late.
      const double start = ThreadCpuMs();
      chains.Apply(rung, std::move(grey));
      const double ms = ThreadCpuMs() - start;
      if (turn > 0) least = turn == 1 ? ms : std::min(least, ms);
    }
    rungs[rung].ms = least;
  }
}

Ladder::Ladder(const std::vector<Rung>& rungs, double bound, double interval, int workers)
    : rungs_(rungs), bound_(bound), interval_(interval), workers_(workers) {}

bool Ladder::Fits(size_t rung, double waited) const {
  constexpr double kSafe = 0.9;
  const double ms = rungs_[rung].ms;
  // Where other programs work, frames that wait tell it.
  if (interval_ > 0 && ms > kSafe * interval_ * workers_) return false;
  return waited + ms * load_ + after_ <= kSafe * bound_;
}

size_t Ladder::Choose(Clock::time_point arrived) {
  constexpr std::chrono::seconds kFirst(1), kLongest(16);
  if (bound_ <= 0) return 0;
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const double waited = std::chrono::duration<double, std::milli>(now - arrived).count();
  size_t rung = 0;
  while (rung + 1 < rungs_.size() && !Fits(rung, waited)) ++rung;
  if (rung > floor_) {
    patience_ = now - changed_ < 2 * patience_ ? std::min(2 * patience_, kLongest) : kFirst;
    floor_ = rung;
    changed_ = now;
  } else if (rung < floor_ && now - changed_ > patience_) {
    --floor_;
    changed_ = now;
  }
  return floor_;
}

void Ladder::Took(size_t rung, double ms) {
  constexpr double kFollow = 0.1, kForget = 0.02, kLeast = 0.5;
  const std::lock_guard lock(mutex_);
  if (rungs_[rung].ms >= kLeast)
    load_ += kFollow * (ms / rungs_[rung].ms - load_);
  else
    load_ += kForget * (1 - load_);
}

void Ladder::TookAfter(double ms) {
  constexpr double kFollow = 0.1;
  const std::lock_guard lock(mutex_);
  after_ += kFollow * (ms - after_);
}

}  // namespace fettle::enhance
