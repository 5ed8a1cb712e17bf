// Slots on a machine of which every time is known: what they ask for, what they cost meanwhile, and
// what they find within how many evaluations.
#include "tuner/network/slot.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tuner/fake_kernel.h"
#include "tests/tuner/known_machine.h"
#include "tuner/network/slot_costs.h"

namespace fettle::tuner {
namespace {

using kernels::Params;

constexpr std::string_view kAxes[] = {"a", "b", "c", "d", "e"};
constexpr int64_t kAxisExtents[] = {6, 4, 4, 4, 4};  // 1,536 sets

kernels::ParamSpace LargeSpace(const kernels::Problem&, const int64_t&, const Device&) {
  kernels::ParamSpace space;
  for (size_t i = 0; i < std::size(kAxes); ++i) {
    space.tunables.push_back({std::string(kAxes[i]), {}});
    for (int64_t v = 0; v < kAxisExtents[i]; ++v)
      space.tunables.back().values.push_back(int64_t{1} << v);
    space.usual.emplace(kAxes[i], 1);
  }
  return space;
}

/// Of 1,536 sets of parameters, all of which launch variant 0.
constexpr kernels::Family<int64_t> kLargeFamily{
    .read = kFakeFamily.read,
    .states = kernels::RowMajorAlone,
    .prepare = [](const kernels::Problem&, const int64_t& elements, const Params&,
                  const Device&) -> Result<std::unique_ptr<kernels::PreparedKernel>> {
      return std::unique_ptr<kernels::PreparedKernel>(new FakeKernel(0, elements));
    },
    .params = LargeSpace};

/// What a set takes, in microseconds, by the places of its values.
using Surface = double (*)(const std::array<int64_t, 5>& at);

double At(const Params& params, Surface surface) {
  std::array<int64_t, 5> at{};
  for (size_t i = 0; i < std::size(kAxes); ++i)
    at[i] = std::llround(std::log2(static_cast<double>(params.at(std::string(kAxes[i])))));
  return surface(at);
}

/// How far each place is from the last one, as a share.
double Away(const std::array<int64_t, 5>& at, size_t i) {
  return static_cast<double>(kAxisExtents[i] - 1 - at[i]) /
         static_cast<double>(kAxisExtents[i] - 1);
}

double LastCorner(const std::array<int64_t, 5>& at) {
  double us = 100;
  for (size_t i = 0; i < 5; ++i) us *= 1 + 0.6 * Away(at, i);
  return us;
}

/// What kernels look like: time falls with each tile up to a size, then registers spill.
double Spilling(const std::array<int64_t, 5>& at) {
  const auto tile = static_cast<double>((int64_t{1} << at[0]) * (int64_t{1} << at[1]));
  const double reuse = 40 + 400 / std::sqrt(tile), spill = tile > 64 ? 3 * (tile - 64) : 0;
  return reuse + spill + 12 * std::fabs(static_cast<double>(at[2]) - 2) + (at[3] == 1 ? 0 : 15) +
         4 * static_cast<double>(at[4] % 2);
}

/// Two code paths, of which the default one is the worse.
double TwoPaths(const std::array<int64_t, 5>& at) {
  const bool other = at[4] >= 2;
  const double x = std::fabs(static_cast<double>(at[0]) - (other ? 4 : 1));
  const double y = std::fabs(static_cast<double>(at[1] + at[2]) - (other ? 5 : 1));
  return (other ? 60 : 90) * (1 + 0.2 * x + 0.15 * y + 0.05 * static_cast<double>(at[3]));
}

/// The default is the best.
double AtTheDefault(const std::array<int64_t, 5>& at) {
  double us = 50;
  for (size_t i = 0; i < 5; ++i) us *= 1 + 0.2 * static_cast<double>(at[i]);
  return us;
}

constexpr Surface kSurfaces[] = {LastCorner, Spilling, TwoPaths, AtTheDefault};

class SlotTest : public testing::Test {
 protected:
  SlotTest() {
    Variants() = {.machine = &machine_, .us = {1}};
    problem_ = FakeCandidates()[0].problem;
    match_ = kernels::MatchGroup(kernel_, problem_.group, device_).value();
  }

  SlotSearch Make(const SlotOptions& options) {
    return {Defaults(), options, [this]() -> std::optional<SlotSearch::Start> {
              SlotSearch::Start start{*SlotSpace::Create(match_, 0, 1, device_, SlotScope{}), {}};
              start.seeds = start.space.neighbours();
              return start;
            }};
  }
  Params Defaults() const { return kernels::DefaultParams(kernel_, problem_, device_); }

  /// The best that a slot finds within so many evaluations.
  double BestOf(Surface surface, int64_t evaluations, uint64_t seed) {
    SlotSearch slot = Make({.evaluations = evaluations, .seed = seed});
    int64_t asked = 0;
    while (const auto params = slot.Ask()) {
      slot.Tell(Ok(At(*params, surface)));
      ++asked;
    }
    EXPECT_LE(asked, evaluations);
    return slot.best_us();
  }

  /// The best of what was listed before slots searched: the default set and its neighbours, or the
  /// first sets in order.
  double BestListed(Surface surface, size_t evaluations) {
    double best = At(Defaults(), surface);
    if (evaluations > 5) {
      std::array<int64_t, 5> at{};
      for (size_t n = 1; n < evaluations; ++n) {
        for (size_t i = 5; i-- > 0 && ++at[i] == kAxisExtents[i];) at[i] = 0;
        best = std::min(best, surface(at));
      }
    }
    for (size_t i = 0; i < std::min<size_t>(evaluations - 1, 4); ++i) {
      std::array<int64_t, 5> at{};
      at[i] = 1;
      best = std::min(best, surface(at));
    }
    return best;
  }

  static Row Ok(double us) { return {.median_us = us, .low_us = us, .samples = 5}; }
  static Row Stopped(double low_us) {
    return {.status = Row::Status::kStopped, .low_us = low_us, .samples = 5};
  }

  FakeMachine machine_{1, 0};
  CpuDevice device_{std::make_shared<ThreadPool>(1)};
  kernels::KernelDesc kernel_{.name = "cpu.test.large", .match = kernels::MatchAs<kLargeFamily>};
  kernels::Problem problem_;
  std::shared_ptr<const kernels::Match> match_;
};

TEST_F(SlotTest, FindsAnOptimumInTheLastCorner) {
  for (uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_NEAR(BestOf(LastCorner, 64, seed), 100, 1e-9) << "seed " << seed;
}

TEST_F(SlotTest, IsNeverWorseThanTheListsOfAsManySets) {
  for (size_t s = 0; s < std::size(kSurfaces); ++s) {
    for (int64_t evaluations : {5, 8, 16, 32, 64}) {
      const double listed = BestListed(kSurfaces[s], static_cast<size_t>(evaluations));
      for (uint64_t seed = 1; seed <= 5; ++seed)
        EXPECT_LE(BestOf(kSurfaces[s], evaluations, seed), listed * (1 + 1e-9))
            << "surface " << s << ", " << evaluations << " evaluations, seed " << seed;
    }
  }
}

TEST_F(SlotTest, FindsItWithTheClockAndTheNoiseOfAMachine) {
  // Each launch takes what the surface says of the set that was asked for, and 5 % noise.
  FakeMachine machine(3, 0.05);
  Variants() = {.machine = &machine, .us = {1}};
  Bench bench(device_, OnMachine(machine));
  SlotSearch slot = Make({.evaluations = 64});
  while (const auto params = slot.Ask()) {
    Variants().us[0] = At(*params, LastCorner);
    slot.Tell(bench.Run({&kernel_, problem_, *params}));
  }
  ASSERT_NE(slot.cost().proposal, nullptr);
  EXPECT_LE(At(slot.cost().proposal->params, LastCorner), 105);
}

TEST_F(SlotTest, CostsABoundWhileOpenAndThenItsBest) {
  SlotSearch slot = Make({.evaluations = 3, .least_of_best = 0.75});
  slot.SetBounds(10, 0.85);
  EXPECT_EQ(slot.cost().us, 10);
  EXPECT_FALSE(slot.cost().measured);
  EXPECT_EQ(slot.Ask(), Defaults());
  slot.Tell(Ok(100));
  EXPECT_EQ(slot.cost().us, 75);
  EXPECT_FALSE(slot.cost().measured);
  EXPECT_EQ(slot.cost().seen_us, 100);
  for (double us : {60.0, 80.0}) {
    ASSERT_TRUE(slot.Ask().has_value());
    EXPECT_NE(slot.Ask(), Defaults());
    slot.Tell(Ok(us));
  }
  EXPECT_TRUE(slot.is_closed());
  EXPECT_EQ(slot.Ask(), std::nullopt);
  EXPECT_TRUE(slot.cost().measured);
  EXPECT_EQ(slot.cost().us, 60);
  EXPECT_EQ(slot.cost().proposal->by, "neighbour");
  EXPECT_EQ(slot.cost().proposal->evaluations, 3);
}

TEST_F(SlotTest, ClosesAtItsBound) {
  SlotSearch slot = Make({.evaluations = 64});
  slot.SetBounds(99, 0.85);
  slot.Ask();
  slot.Tell(Ok(100));
  EXPECT_TRUE(slot.is_closed());
  EXPECT_TRUE(slot.cost().measured);
}

TEST_F(SlotTest, ClosesWhenNothingIsGainedForAWhile) {
  SlotSearch slot = Make({.evaluations = 1000, .patience = 8});
  int asked = 0;
  while (slot.Ask()) {
    slot.Tell(Ok(100 + asked % 3));
    ASSERT_LE(++asked, 12);
  }
  EXPECT_GE(asked, 9);
}

TEST_F(SlotTest, ClosesWithItsDefaultWhereOthersGainedNothing) {
  SlotSearch slot = Make({.evaluations = 64});
  slot.Ask();
  slot.Tell(Ok(100));
  slot.set_hopeless(true);
  EXPECT_TRUE(slot.cost().measured);
  slot.set_hopeless(false);
  EXPECT_FALSE(slot.cost().measured);
}

TEST_F(SlotTest, WhatWasStoppedAndDecidesIsTimedToTheEnd) {
  SlotSearch slot = Make({.evaluations = 1});
  slot.Ask();
  EXPECT_FALSE(slot.to_the_end());
  slot.Tell(Stopped(40));
  EXPECT_FALSE(slot.cost().measured);
  EXPECT_EQ(slot.cost().us, 40);
  EXPECT_EQ(slot.Ask(), Defaults());
  EXPECT_TRUE(slot.to_the_end());
  slot.Tell(Ok(50));
  EXPECT_EQ(slot.Ask(), std::nullopt);
  EXPECT_EQ(slot.cost().us, 50);
  EXPECT_TRUE(slot.cost().measured);
}

TEST_F(SlotTest, IsRefusedWhereItsFirstSetsFail) {
  SlotSearch slot = Make({.evaluations = 64});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(slot.Ask().has_value());
    EXPECT_EQ(slot.cost().banned, "");
    slot.Tell({.status = Row::Status::kWrong, .reason = "element 3 differs"});
  }
  EXPECT_EQ(slot.cost().banned, "element 3 differs");
  EXPECT_EQ(slot.Ask(), std::nullopt);
}

TEST_F(SlotTest, OneFailureTriesAnotherSet) {
  SlotSearch slot = Make({.evaluations = 64});
  slot.Ask();
  slot.Tell({.status = Row::Status::kFailed, .reason = "out of resources"});
  ASSERT_TRUE(slot.Ask().has_value());
  slot.Tell(Ok(5));
  EXPECT_EQ(slot.cost().banned, "");
  EXPECT_NE(slot.cost().proposal->params, Defaults());
}

TEST_F(SlotTest, OfPriorsOnlyWhatMayBeTheBestIsMeasuredAgain) {
  SlotSearch slot = Make({.evaluations = 2});
  slot.SetBounds(1, 0.85);
  Params other = Defaults();
  other["a"] = 2;
  Row prior = Ok(100);
  prior.prior = true;
  slot.Recall({Defaults(), "default", true}, prior);
  prior.median_us = prior.low_us = 50;
  slot.Recall({other, "rows", false}, prior);
  EXPECT_DOUBLE_EQ(slot.cost().us, 0.85 * 50);
  EXPECT_EQ(slot.Ask(), other);
  slot.Tell(Ok(60));
  EXPECT_EQ(slot.Ask(), std::nullopt) << "the default was far behind";
  EXPECT_TRUE(slot.cost().measured);
  EXPECT_EQ(slot.cost().proposal->by, "rows");
}

TEST_F(SlotTest, FinalistsAreThoseThatMayBeTheBest) {
  SlotSearch slot = Make({.evaluations = 4});
  for (double us : {100.0, 99.0, 130.0, 101.5}) {
    slot.Ask();
    Row row = Ok(us);
    row.low_us = us - 4;
    slot.Tell(row);
  }
  const std::vector<planner::Proposal> finalists = slot.finalists(4);
  ASSERT_EQ(finalists.size(), 3u);
  EXPECT_EQ(slot.RowOf(finalists[0].params).median_us, 99);
  EXPECT_EQ(finalists[1].params, Defaults());
  EXPECT_EQ(slot.finalists(2).size(), 2u);
}

TEST_F(SlotTest, SpacesLeaveOutWhatMayNotBeVaried) {
  const auto space = SlotSpace::Create(match_, 0, 1, device_, {});
  ASSERT_TRUE(space.has_value());
  EXPECT_EQ(space->space().combinations(), 1536u);
  EXPECT_EQ(space->neighbours().size(), 4u);
  Params params = Defaults();
  ASSERT_TRUE(space->PointOf(params).has_value());
  EXPECT_EQ(space->ParamsOf(*space->PointOf(params)), params);
  params["a"] = 3;
  EXPECT_EQ(space->PointOf(params), std::nullopt);
  EXPECT_FALSE(SlotScope{}.Allows({{"fast_math", 1}}));
  EXPECT_TRUE(SlotScope{.relaxed_math = true}.Allows({{"fast_math", 1}}));
}

/// A kind of one entry, as a catalogue has it, priced through a store.
class SlotCostsTest : public SlotTest {
 protected:
  SlotCostsTest() {
    kind_.group = problem_.group;
    kind_.text = "a group";
    kind_.entries.push_back({.kernel = &kernel_,
                             .match = match_,
                             .states = problem_.states,
                             .threads = 1,
                             .params = Defaults()});
  }
  const planner::Entry& entry() const { return kind_.entries[0]; }

  /// Asks and tells until the slot is closed; how many sets were asked for.
  int Search(SlotCosts& costs, int most = 1000) {
    int asked = 0;
    while (asked < most) {
      const auto params = costs.Ask(kind_, entry());
      if (!params) break;
      costs.Tell(kind_, entry(), *params, Ok(At(*params, TwoPaths)));
      ++asked;
    }
    return asked;
  }

  planner::Kind kind_;
  std::shared_ptr<Store> store_ = StoreWithCeilings(device_);
};

TEST_F(SlotCostsTest, ASecondSearchAsksNothing) {
  const SlotOptions options{.evaluations = 20};
  SlotCosts first(device_, *store_, options);
  EXPECT_EQ(Search(first), 20);
  const planner::EntryCost found = first.Kernel(kind_, entry());
  EXPECT_TRUE(found.measured);
  SlotCosts second(device_, *store_, options);
  const planner::EntryCost known = second.Kernel(kind_, entry());
  EXPECT_EQ(Search(second), 0);
  EXPECT_TRUE(known.measured);
  EXPECT_EQ(known.us, found.us);
  EXPECT_EQ(known.proposal->params, found.proposal->params);
  EXPECT_EQ(known.proposal->by, found.proposal->by);
  EXPECT_EQ(second.learned().known(), 20);
}

TEST_F(SlotCostsTest, ASearchThatWasKilledGoesOn) {
  const SlotOptions options{.evaluations = 20};
  {
    SlotCosts killed(device_, *store_, options);
    EXPECT_EQ(Search(killed, 7), 7);
  }
  SlotCosts rest(device_, *store_, options);
  EXPECT_FALSE(rest.Kernel(kind_, entry()).measured);
  EXPECT_EQ(Search(rest), 13);
}

TEST_F(SlotCostsTest, ClosesAgainWhatClosedWithTimesThatHaveChangedSince) {
  const SlotOptions options{.evaluations = 1000, .patience = 8};
  SlotCosts first(device_, *store_, options);
  const int asked = Search(first);
  ASSERT_LT(asked, 1000);
  // A race of its best sets that leaves one of them much faster, as if it had just been found.
  const std::vector<planner::Proposal> all = first.SlotOf(kind_, entry()).proposals();
  first.TellRace(kind_, entry(), {all.back()}, {Ok(1)});
  SlotCosts second(device_, *store_, options);
  EXPECT_TRUE(second.Kernel(kind_, entry()).measured);
  EXPECT_EQ(Search(second), 0);
  // A larger search goes on.
  SlotCosts larger(device_, *store_, {.evaluations = 1100, .patience = 8});
  EXPECT_GT(Search(larger), 0);
}

TEST_F(SlotCostsTest, AWiderSearchFollowsANarrowOne) {
  SlotCosts narrow(device_, *store_, {.evaluations = 20, .scope = {.compiles = false}});
  EXPECT_EQ(Search(narrow), 20);
  SlotCosts wide(device_, *store_, {.evaluations = 16});
  EXPECT_EQ(Search(wide), 16);
  SlotCosts again(device_, *store_, {.evaluations = 16});
  EXPECT_EQ(Search(again), 0);
  SlotCosts back(device_, *store_, {.evaluations = 16, .scope = {.compiles = false}});
  EXPECT_EQ(Search(back), 0);
}

TEST_F(SlotCostsTest, BeginsWithTheBestOfLikeSlotsAndOfOtherDevices) {
  SlotCosts first(device_, *store_, {.evaluations = 64});
  Search(first);
  const Params best = first.Kernel(kind_, entry()).proposal->params;
  ASSERT_LT(At(best, TwoPaths), At(Defaults(), TwoPaths));
  // Another problem of the same kernel.
  planner::Kind like = kind_;
  like.text = "another group";
  SlotCosts second(device_, *store_, {.evaluations = 64});
  ASSERT_EQ(second.Ask(like, like.entries[0]), Defaults());
  second.Tell(like, like.entries[0], Defaults(), Ok(100));
  ASSERT_EQ(second.Ask(like, like.entries[0]), best);
  second.Tell(like, like.entries[0], best, Ok(50));
  EXPECT_EQ(second.Kernel(like, like.entries[0]).proposal->by, "like-network");
}

TEST_F(SlotCostsTest, WithoutEvaluationsTheStoreDecides) {
  SlotCosts first(device_, *store_, {.evaluations = 20});
  Search(first);
  SlotCosts none(device_, *store_, {.evaluations = 0});
  EXPECT_TRUE(none.Kernel(kind_, entry()).measured);
  EXPECT_EQ(none.Kernel(kind_, entry()).us, first.Kernel(kind_, entry()).us);
  EXPECT_EQ(Search(none), 0);
}

TEST_F(SlotCostsTest, ABannedSlotIsNotTaken) {
  SlotCosts first(device_, *store_, {.evaluations = 20});
  Search(first);
  const planner::EntryCost found = first.Kernel(kind_, entry());
  SlotCosts banned(device_, *store_, {.evaluations = 20});
  banned.Ban({first.KeyText(kind_, entry(), found.proposal.get())});
  EXPECT_NE(banned.Kernel(kind_, entry()).banned, "");
  EXPECT_EQ(Search(banned), 0);
}

}  // namespace
}  // namespace fettle::tuner
