// Times of kernels on devices that nobody measured on: what rows of others teach, how the plan
// takes it, and that no database of strangers breaks anything.
#include "tuner/predict/time_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "planner/planner.h"
#include "tests/test_folder.h"
#include "tests/tuner/cost/some_rows.h"
#include "tuner/network/slot_costs.h"
#include "tuner/network/tune.h"
#include "tuner/predict/predicted_costs.h"
#include "tuner/predict/train_times.h"
#include "tuner/store/candidate.h"

namespace fettle::tuner {
namespace {

TimeModel SmallModel() {
  TimeModel model;
  model.AddDevice("A processor; 2 cores");
  model.Put("device cpu", {0.5, 0.25, 10, 2});
  model.Put("kernel cpu.conv several Conv", {1, 0.125, 7, 2});
  model.Put("network cpu.conv several", {0.0625, 0, 3, 1});
  return model;
}

TEST(TimeModelTest, ComesBackFromItsText) {
  const TimeModel model = SmallModel();
  const Result<TimeModel> parsed = TimeModel::Parse(model.Print());
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  EXPECT_EQ(parsed->Print(), model.Print());
  EXPECT_EQ(parsed->devices(), model.devices());
  EXPECT_EQ(parsed->leaves().at("kernel cpu.conv several Conv").rows, 7);
}

TEST(TimeModelTest, RefusesWhatItDidNotPrint) {
  const std::string head = "fettle times of kernels 1\n";
  for (const std::string& text :
       {std::string(), head, std::string("fettle times of kernels 2\nleaf 1 0 1 1 a\n"),
        head + "leaf nan 0 1 1 device cpu\n", head + "leaf 1 -1 1 1 device cpu\n",
        head + "leaf 1e300 0 1 1 device cpu\n", head + "leaf 1 0 0 1 device cpu\n",
        head + "leaf 1 0 99999999999 1 device cpu\n", head + "leaf 1 0 1 1\n",
        head + "leaf inf 0 1 1 device cpu\n", head + "twig 1 0 1 1 device cpu\n",
        head + "leaf 1 0 1 1 device cpu\n\nleaf"})
    EXPECT_EQ(TimeModel::Parse(text).status().code(), StatusCode::kCorrupt) << text;
}

TEST(TimeModelTest, NoTextBreaksIt) {
  std::mt19937 random(7);
  const std::string text = SmallModel().Print();
  const StepFacts facts{.kernel = "cpu.conv", .family = "Conv", .way = "Conv", .threads = 2};
  int sound = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string broken = text;
    for (int flips = 0; flips <= i % 4; ++flips)
      broken[random() % broken.size()] = static_cast<char>(random());
    const Result<TimeModel> model = TimeModel::Parse(broken);
    if (!model.ok()) continue;
    ++sound;
    const auto predicted = model->Predict(facts, 10);
    if (!predicted) continue;
    EXPECT_TRUE(std::isfinite(predicted->us) && predicted->us > 0) << broken;
    EXPECT_TRUE(std::isfinite(predicted->spread)) << broken;
  }
  EXPECT_GT(sound, 100);
  EXPECT_LT(sound, 4000);
}

TEST(TimeModelTest, PullsWhatFewRowsSayTowardsWhatManySay) {
  TimeModel model;
  model.Put("device cpu", {0, 0.1, 1000, 3});
  model.Put("kernel cpu.conv one Conv", {std::log(4.0), 0.1, 1, 1});
  const StepFacts facts{.kernel = "cpu.conv", .family = "Conv", .way = "Conv"};
  const double few = model.Predict(facts, 10)->us;
  model.Put("kernel cpu.conv one Conv", {std::log(4.0), 0.1, 1000, 3});
  const double many = model.Predict(facts, 10)->us;
  EXPECT_GT(few, 10);
  EXPECT_LT(few, 20);
  EXPECT_NEAR(many, 40, 1);
  EXPECT_FALSE(model.Predict({.kernel = "cpu.other"}, 10).has_value()) << "nobody measured it";
  EXPECT_FALSE(model.Predict(facts, 0).has_value());
  EXPECT_FALSE(model.Predict(facts, std::nan("")).has_value());
}

/// A database of devices on which every kernel takes a share of its bound.
class TrainTimesTest : public testing::Test {
 protected:
  void SetUp() override {
    graph_ = ParseGroup(kConvolution);
    catalogue_ = CatalogueOf(*graph_);
    database_ = Database::Open(folder_.file("tuning.db"), Database::Access::kWrite).value();
  }

  static std::string NameOf(const std::string& model) {
    return model + "; 2 cores; L1d 32768 L2 524288 L3 33554432; avx2 fma";
  }

  void AddCeilings(const std::string& device, double rate) {
    for (const char* name :
         {"fp32 fma", "L1 read", "L2 read", "L3 read", "DRAM read", "DRAM copy"}) {
      RowKey key = CeilingKey(name, TestDevice());
      key.device = device;
      ASSERT_TRUE(database_->Put(key, {.median_us = rate, .low_us = rate, .samples = 1}).ok());
    }
  }

  /// Each entry takes `factor` of what it takes at least at `rate`.
  void AddRows(const std::string& device, double rate, double factor) {
    const std::shared_ptr<Store> store = MemoryStore();
    for (const char* name : {"fp32 fma", "L1 read", "L2 read", "L3 read", "DRAM read", "DRAM copy"})
      store->Put(CeilingKey(name, TestDevice()), {.median_us = rate, .samples = 1});
    const LearnedCosts learned(TestDevice(), *store);
    for (const planner::Kind& kind : catalogue_.kinds) {
      for (const planner::Entry& entry : kind.entries) {
        RowKey key = learned.KernelKey(kind, entry, entry.params);
        const StepFacts facts = FactsOf(key).value();
        key.device = device;
        const double us = factor * learned.Bound(facts.work, facts.device, facts.threads);
        ASSERT_TRUE(database_->Put(key, {.median_us = us, .low_us = us, .samples = 5}).ok());
      }
    }
  }

  TestFolder folder_;
  std::shared_ptr<const ir::Graph> graph_;
  planner::Catalogue catalogue_;
  std::unique_ptr<Database> database_;
};

TEST_F(TrainTimesTest, FactorsOfBoundsCarryOverToOtherDevices) {
  AddCeilings(NameOf("slow"), 1e9);
  AddRows(NameOf("slow"), 1e9, 3);
  AddCeilings(NameOf("fast"), 8e9);
  AddRows(NameOf("fast"), 8e9, 3);
  const Result<TimeTraining> training = TrainTimes(*database_);
  ASSERT_TRUE(training.ok()) << training.status().message();
  ASSERT_EQ(training->devices.size(), 2u);
  for (const TrainedDevice& device : training->devices) {
    EXPECT_GT(device.predicted, 5);
    EXPECT_NEAR(device.bias, 1, 0.05) << device.fingerprint;
    EXPECT_EQ(device.within, 1);
  }
  const StepFacts facts = FactsOf(SomeKey()).value();
  EXPECT_NEAR(training->model.Predict(facts, 100)->us, 300, 15);
}

TEST_F(TrainTimesTest, WhatCannotBeReadIsCountedAndLeftOut) {
  AddCeilings(NameOf("sound"), 1e9);
  AddRows(NameOf("sound"), 1e9, 2);
  AddRows(NameOf("no ceilings"), 1e9, 50);
  RowKey key = SomeKey();
  key.device = NameOf("sound");
  key.params = "other=1";
  for (double us : {0.0, -1.0, std::nan(""), HUGE_VAL, 1e300, 1e-300}) {
    key.version += 1;
    ASSERT_TRUE(database_->Put(key, {.median_us = us, .samples = 1}).ok());
  }
  key.version = 1;
  key.kernel = "cpu.of.tomorrow";
  ASSERT_TRUE(database_->Put(key, {.median_us = 5, .samples = 1}).ok());
  const Result<TimeTraining> training = TrainTimes(*database_);
  ASSERT_TRUE(training.ok()) << training.status().message();
  EXPECT_GE(training->refused, 1);
  EXPECT_EQ(training->model.devices(), std::vector<std::string>{NameOf("sound")});
  EXPECT_NEAR(training->model.Predict(FactsOf(SomeKey()).value(), 100)->us, 200, 20);
}

TEST_F(TrainTimesTest, NothingToLearnFromIsSaid) {
  EXPECT_EQ(TrainTimes(*database_).status().code(), StatusCode::kNotFound);
  AddRows(NameOf("no ceilings"), 1e9, 2);
  EXPECT_EQ(TrainTimes(*database_).status().code(), StatusCode::kNotFound);
}

/// Of devices with this one's instructions.
std::string Here() { return " on " + InstructionsOf(TestDevice().fingerprint()); }

/// A model in which kernels take a bound each, but `name` a share of it.
TimeModel ModelWith(const planner::Catalogue& catalogue, std::string_view name, double factor,
                    double spread) {
  TimeModel model;
  model.AddDevice("another one");
  model.Put("device cpu", {0, spread, 1000, 3});
  model.Put(TimeModel::AcrossKey(InstructionsOf(TestDevice().fingerprint())), {spread, 0, 9, 1});
  for (const planner::Kind& kind : catalogue.kinds)
    for (const planner::Entry& entry : kind.entries)
      for (const char* lanes : {"one", "several"})
        for (const std::string& on : {std::string(), Here()})
          model.Put(fmt::format("kernel {} {} Conv{}", entry.kernel->name, lanes, on),
                    {std::log(entry.kernel->name == name ? factor : 1), spread, 1000, 3});
  return model;
}

class PredictedPlanTest : public testing::Test {
 protected:
  PredictedPlanTest()
      : graph_(ParseGroup(kConvolution)),
        catalogue_(planner::ListCatalogue(*graph_, TestDevice(), {.threads = 1}).value()),
        store_(StoreWithCeilings(TestDevice())) {
    const planner::Decision preferred =
        planner::PreferredDecision(*graph_, TestDevice(), {.threads = 1}).value();
    default_ = preferred.groups[0].kernel;
    for (const planner::Entry& entry : catalogue_.kinds[0].entries)
      if (entry.kernel->name != default_) other_ = entry.kernel->name;
  }

  std::string KernelChosen(TuneReport* report = nullptr) {
    TuneReport unused;
    const Result<planner::Decision> decision =
        TuneGraph(*graph_, TestDevice(), {.threads = 1}, {.level = Level::kNone}, *store_,
                  report == nullptr ? &unused : report);
    return decision.ok() ? decision->groups[0].kernel : decision.status().message();
  }
  void Keep(const TimeModel& model) {
    store_->PutDecision(std::string(TimeModelKey()), model.Print());
  }

  std::shared_ptr<const ir::Graph> graph_;
  planner::Catalogue catalogue_;
  std::shared_ptr<Store> store_;
  std::string default_, other_;
};

TEST_F(PredictedPlanTest, TakesWhatOthersFoundFasterAndSaysSo) {
  ASSERT_FALSE(other_.empty());
  Keep(ModelWith(catalogue_, default_, 20, 0.1));
  TuneReport report;
  EXPECT_NE(KernelChosen(&report), default_);
  EXPECT_EQ(report.predicted, "predicted from 1000 rows of 1 device");
  EXPECT_EQ(report.measured, 0);
}

TEST_F(PredictedPlanTest, TheDefaultPlanStaysWherePredictionsAreVague) {
  Keep(ModelWith(catalogue_, default_, 1.3, 0.5));
  EXPECT_EQ(KernelChosen(), default_);
  Keep(ModelWith(catalogue_, default_, 1.3, 0.01));
  EXPECT_NE(KernelChosen(), default_) << "the same gain, surely";
}

TEST_F(PredictedPlanTest, WhatNobodyMeasuredIsNotChosen) {
  TimeModel model;
  model.AddDevice("another one");
  model.Put("device cpu", {0, 0.01, 1000, 3});
  model.Put(fmt::format("kernel {} one Conv", default_), {std::log(20.0), 0.01, 1000, 3});
  model.Put(fmt::format("kernel {} one Conv{}", default_, Here()), {std::log(20.0), 0.01, 1000, 3});
  Keep(model);
  EXPECT_EQ(KernelChosen(), default_);
}

TEST_F(PredictedPlanTest, OtherInstructionsSayNothingOfWhichIsFaster) {
  const TimeModel model = ModelWith(catalogue_, default_, 20, 0.01);
  TimeModel other;
  other.AddDevice("another one");
  for (const auto& [key, leaf] : model.leaves())
    if (!key.ends_with(Here())) other.Put(key, leaf);
  Keep(other);
  TuneReport report;
  EXPECT_EQ(KernelChosen(&report), default_);
  EXPECT_EQ(report.predicted, "predicted from 1000 rows of 1 device, none with such instructions");
}

TEST_F(PredictedPlanTest, MeasurementsOfTheDeviceCountAlone) {
  Keep(ModelWith(catalogue_, default_, 20, 0.1));
  const planner::Kind& kind = catalogue_.kinds[0];
  {
    LearnedCosts learned(TestDevice(), *store_);
    EXPECT_TRUE(ModelForUnseen(learned).has_value());
  }
  for (const planner::Entry& entry : kind.entries)
    if (entry.kernel->name == default_)
      store_->Put(LearnedCosts(TestDevice(), *store_).KernelKey(kind, entry, entry.params),
                  {.median_us = 5, .low_us = 5, .samples = 5});
  TuneReport report;
  KernelChosen(&report);
  EXPECT_EQ(report.predicted, "");
}

TEST_F(PredictedPlanTest, ABrokenModelIsNotAsked) {
  store_->PutDecision(std::string(TimeModelKey()), "fettle times of kernels 1\nleaf nan\n");
  TuneReport report;
  KernelChosen(&report);
  EXPECT_EQ(report.predicted, "");
}

}  // namespace
}  // namespace fettle::tuner
