// Tuning while serving: what is found, what is refused, swaps under load, and its ends.
#include "tuner/model/background_tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/foreground.h"
#include "ir/noise.h"
#include "ops/op.h"
#include "tensor/compare.h"
#include "tests/runtime/serving/two_convolutions.h"
#include "tests/tuner/known_machine.h"

namespace fettle::runtime {
namespace {

using ::testing::HasSubstr;
using Stage = BackgroundState::Stage;

constexpr double kLong = 500;  // seconds, beyond which a test hangs

/// Counts decisions.
class CountingStore final : public tuner::StoreOnTop {
 public:
  CountingStore() : StoreOnTop(tuner::MemoryStore()) {}
  void PutDecision(const std::string& key, const std::string& text) override {
    ++decisions;
    StoreOnTop::PutDecision(key, text);
  }
  std::atomic<int> decisions = 0;
};

/// A session that several threads run one after another, as the C interface does it.
class Served {
 public:
  Served(std::shared_ptr<const Model> model, const SessionOptions& options)
      : options_(options), session_(Session::Create(std::move(model), options).value()) {}

  Status Run(tuner::BackgroundTuning& background, const Tensor& given, Tensor* got) {
    const std::lock_guard lock(mutex_);
    const Foreground::Request request;
    background.Exchange(session_, options_);
    const BufferMap inputs = {{"x", std::make_shared<TensorBuffer>(given, false)}};
    TensorMap outputs;
    RETURN_IF_ERROR(session_->RunOn(inputs, {}, &outputs));
    background.Observe(inputs);
    *got = outputs.at("c");
    return OkStatus();
  }

 private:
  std::mutex mutex_;
  SessionOptions options_;
  std::shared_ptr<Session> session_;
};

class BackgroundTuningTest : public testing::Test {
 protected:
  BackgroundTuningTest() {
    model_ = TwoConvolutions();
    for (int64_t height : {12, 20}) {
      given_.push_back(Noise({1, 8, height, 16}));
      const auto session = Session::Create(model_, {.threads = 1}).value();
      TensorMap outputs;
      EXPECT_TRUE(session->Run({{"x", given_.back()}}, &outputs).ok());
      want_.push_back(outputs.at("c"));
    }
  }

  static Tensor Noise(const Shape& shape) {
    ir::Graph graph = ops::Parse("input %x: f32[1]\noutput %x\n").value();
    graph.value(graph.inputs[0]).shape = shape;
    return ir::NoiseInputs(graph, 3).value()[0];
  }

  std::unique_ptr<tuner::BackgroundTuning> Begin(tuner::BackgroundOptions options = {}) {
    options.level = tuner::Level::kFast;
    return std::make_unique<tuner::BackgroundTuning>(model_, session_, std::move(options));
  }
  void Observe(tuner::BackgroundTuning& background, size_t which = 0) {
    background.Observe({{"x", std::make_shared<TensorBuffer>(given_[which], false)}});
  }
  void ExpectRight(size_t which, const Tensor& got) {
    EXPECT_TRUE(
        Compare(got.view(), want_[which].view(), KernelTolerance(DType::kF32, 72, 72)).ok());
  }
  /// Requests of both shapes from 8 threads until it is over; how many there were.
  int ServeUntilOver(tuner::BackgroundTuning& background, Served& served) {
    std::atomic<int> requests = 0;
    std::vector<std::thread> clients;
    for (size_t client = 0; client < 8; ++client) {
      clients.emplace_back([&, client] {
        for (size_t i = client; !background.state().is_over(); ++i) {
          Tensor got;
          const Status status = served.Run(background, given_[i % 2], &got);
          ASSERT_TRUE(status.ok()) << status.message();
          ExpectRight(i % 2, got);
          ++requests;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    return requests;
  }
  /// Without requests: takes the plan that is found.
  void AwaitEnd(tuner::BackgroundTuning& background) {
    std::shared_ptr<Session> session = Session::Create(model_, session_).value();
    while (!background.Await(0.01)) background.Exchange(session, session_);
  }

  std::shared_ptr<const Model> model_;
  SessionOptions session_{.threads = 2};
  std::vector<Tensor> given_, want_;
};

TEST_F(BackgroundTuningTest, ThousandSwapsUnderLoadChangeNoAnswer) {
  Served served(model_, session_);
  const auto background = Begin({.forced_swaps = 1000});
  EXPECT_GT(ServeUntilOver(*background, served), 1000);
  EXPECT_EQ(background->state().stage, Stage::kTuned);
  EXPECT_EQ(background->state().swaps, 1000);
}

TEST_F(BackgroundTuningTest, ItMeasuresBesideRequestsToItsEnd) {
  Served served(model_, session_);
  const auto background = Begin({.share = 1});
  ServeUntilOver(*background, served);
  const BackgroundState state = background->state();
  EXPECT_TRUE(state.stage == Stage::kTuned || state.stage == Stage::kKept)
      << StageName(state.stage) << ": " << state.reason;
  EXPECT_GT(state.measured, 0);
  EXPECT_GT(state.before_ms, 0);
  EXPECT_FALSE(state.reason.empty());
}

TEST_F(BackgroundTuningTest, ABudgetThatIsTooSmallKeepsThePlan) {
  const auto background = Begin({.seconds = 1e-6, .share = 1});
  Observe(*background);
  AwaitEnd(*background);
  EXPECT_EQ(background->state().stage, Stage::kKept);
  EXPECT_EQ(background->state().measured, 0);
  EXPECT_THAT(background->state().reason, HasSubstr("the budget leaves no time"));
}

TEST_F(BackgroundTuningTest, APlanThatIsFasterIsTakenByTheNextRunAndKept) {
  const auto store = std::make_shared<CountingStore>();
  Served served(model_, session_);
  const auto background = Begin({.share = 1, .store = store, .takes_any = true});
  Observe(*background);
  ServeUntilOver(*background, served);
  const BackgroundState state = background->state();
  EXPECT_EQ(state.stage, Stage::kTuned) << StageName(state.stage) << ": " << state.reason;
  EXPECT_EQ(state.swaps, 1);
  EXPECT_GT(store->decisions, 0);
}

TEST_F(BackgroundTuningTest, APlanThatGivesSomethingElseIsRefusedAndNotKept) {
  const auto store = std::make_shared<CountingStore>();
  const auto spoils = [](TensorMap& got) { got.at("c").as<float>()[0] += 100; };
  const auto background = Begin({.share = 1, .store = store, .takes_any = true, .spoils = spoils});
  Observe(*background);
  ASSERT_TRUE(background->Await(kLong));
  const BackgroundState state = background->state();
  EXPECT_EQ(state.stage, Stage::kRefused) << StageName(state.stage) << ": " << state.reason;
  EXPECT_THAT(state.reason, HasSubstr("the new plan gives other results on a request's inputs"));
  EXPECT_EQ(store->decisions, 0);
  std::shared_ptr<Session> session = Session::Create(model_, session_).value();
  const Session* const before = session.get();
  EXPECT_FALSE(background->Exchange(session, session_));
  EXPECT_EQ(session.get(), before);
}

TEST_F(BackgroundTuningTest, WhileARequestRunsNothingIsMeasured) {
  auto request = std::make_unique<Foreground::Request>();
  const auto background = Begin();
  Observe(*background);
  EXPECT_FALSE(background->Await(0.3));
  EXPECT_EQ(background->state().measured, 0);
  request.reset();
  while (background->state().measured == 0 && !background->Await(0.01)) continue;
  EXPECT_GT(background->state().measured, 0);
}

TEST_F(BackgroundTuningTest, ItIsCancelledAtAnyMoment) {
  std::mt19937 random(1);
  for (int i = 0; i < 25; ++i) {
    const auto background = Begin({.share = i % 2 == 0 ? 0.0 : 0.5});
    if (i > 0) Observe(*background);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    background->Cancel();
    ASSERT_TRUE(background->Await(kLong));
    const BackgroundState state = background->state();
    EXPECT_TRUE(state.stage == Stage::kCancelled || state.stage == Stage::kKept)
        << StageName(state.stage) << ": " << state.reason;
    background->Cancel();
  }
}

TEST_F(BackgroundTuningTest, ItsEndWaitsForItsThread) {
  std::mt19937 random(2);
  for (int i = 0; i < 25; ++i) {
    const auto background = Begin({.forced_swaps = i % 2});
    Observe(*background, i % 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
  }
}

TEST_F(BackgroundTuningTest, InputsThatDoNotFitFailWithAReason) {
  const auto background = Begin();
  background->Observe({{"y", std::make_shared<TensorBuffer>(given_[0], false)}});
  ASSERT_TRUE(background->Await(kLong));
  EXPECT_EQ(background->state().stage, Stage::kFailed);
  EXPECT_THAT(background->state().reason, HasSubstr("'y'"));
}

}  // namespace
}  // namespace fettle::runtime
