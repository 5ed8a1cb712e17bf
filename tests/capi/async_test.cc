// Asynchronous runs through libfettle.so alone: their order, their ends, and how many there are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "fettle/fettle.hpp"

namespace {

using ::testing::AnyOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

fettle::Tensor Shaded(int64_t size, float value) {
  fettle::Tensor tensor = fettle::Tensor::Create(FETTLE_F32, {1, 3, size, size}).value();
  for (float& element : tensor.as<float>()) element = value += 1e-3f;
  return tensor;
}

/// What a callback was called with, in C.
struct Told {
  std::atomic<int> calls = 0;
  fettle_status status = FETTLE_OK;
  std::string message = {};
  size_t outputs = 0;
};
void Tell(void* user, fettle_status status, fettle_tensor** outputs, size_t count) {
  Told& told = *static_cast<Told*>(user);
  told.status = status;
  if (status != FETTLE_OK) told.message = fettle_last_error();
  told.outputs = count;
  for (size_t i = 0; i < count; ++i) (void)fettle_tensor_free(outputs[i]);
  ++told.calls;
}

class Async : public ::testing::Test {
 protected:
  fettle::Session Create(const fettle::SessionOptions& options = {.threads = 1}) {
    return fettle::Session::Create(model_, options).value();
  }
  fettle::AsyncRun Begin(fettle::Session& session, const fettle::Tensor& picture) {
    return session.RunAsync({{"picture", picture}}, {"enhanced"}).value();
  }
  std::vector<float> Expected(const fettle::Tensor& picture) {
    fettle::Session session = Create();
    const auto outputs = session.Infer({{"picture", picture}}, {"enhanced"}).value();
    const std::span<float> elements = outputs[0].as<float>();
    return {elements.begin(), elements.end()};
  }
  static void ExpectOutput(fettle::AsyncRun& run, const std::vector<float>& expected) {
    const std::vector<fettle::Tensor> outputs = run.outputs.get().value();
    EXPECT_THAT(outputs.at(0).as<float>(), ElementsAreArray(expected));
  }
  /// Begins a run of the demonstration model in C.
  static fettle_status BeginInC(fettle_session* session, const char* input,
                                const fettle::Tensor& picture, Told& told, fettle_run** run) {
    const char* const inputs[] = {input};
    const char* const outputs[] = {"enhanced"};
    const fettle_tensor* const tensors[] = {picture.get()};
    return fettle_session_run_async(session, inputs, tensors, 1, outputs, 1, Tell, &told, run);
  }
  fettle::Model model_ = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
};

TEST_F(Async, ResultsAreThoseOfARunBitForBit) {
  fettle::Session session = Create({.threads = 2});
  std::vector<fettle::AsyncRun> runs;
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 12; ++i) {
    const fettle::Tensor picture = Shaded(4 + i % 3, 0.1f * static_cast<float>(i));
    runs.push_back(Begin(session, picture));  // the handle goes before the run does
    expected.push_back(Expected(picture));
  }
  for (size_t i = 0; i < runs.size(); ++i) ExpectOutput(runs[i], expected[i]);
}

TEST_F(Async, InputsAreThoseThatWereSetWhenTheRunWasGiven) {
  fettle::Session session = Create();
  const fettle::Tensor first = Shaded(4, 0.1f), second = Shaded(4, 0.6f);
  session.SetInput("picture", first).value();
  fettle::AsyncRun one = session.RunAsync({}, {"enhanced"}).value();
  session.SetInput("picture", second).value();
  fettle::AsyncRun two = session.RunAsync({}, {"enhanced"}).value();
  ExpectOutput(one, Expected(first));
  ExpectOutput(two, Expected(second));
  EXPECT_THAT(session.profile(), ::testing::Not(::testing::IsEmpty()));
}

TEST_F(Async, FailuresComeWithTheFutureAndTheCallback) {
  fettle::Session session = Create();
  const fettle::Tensor wrong = fettle::Tensor::Create(FETTLE_F32, {1, 2, 4, 4}).value();
  fettle::AsyncRun run = Begin(session, wrong);
  const auto outputs = run.outputs.get();
  EXPECT_EQ(outputs.code(), FETTLE_INVALID_ARGUMENT);
  EXPECT_THAT(outputs.message(), HasSubstr("picture"));
  const auto none = session.RunAsync({{"picture", Shaded(4, 0)}}, {"other"}).value().outputs.get();
  EXPECT_EQ(none.code(), FETTLE_NOT_FOUND);

  Told told;
  fettle_run* handle = nullptr;
  EXPECT_EQ(BeginInC(session.get(), "other", wrong, told, &handle), FETTLE_NOT_FOUND);
  ASSERT_EQ(BeginInC(session.get(), "picture", wrong, told, &handle), FETTLE_OK);
  EXPECT_EQ(fettle_run_wait(handle), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_last_error(), told.message);
  EXPECT_EQ(told.calls, 1);
  EXPECT_EQ(told.outputs, 0u);
  fettle_run_free(handle);
  EXPECT_EQ(fettle_run_wait(nullptr), FETTLE_INVALID_ARGUMENT);
  fettle_run_cancel(nullptr);
  fettle_run_free(nullptr);
}

TEST_F(Async, ARunNeedsNeitherCallbackNorHandle) {
  fettle::Session session = Create();
  const fettle::Tensor picture = Shaded(4, 0.3f);
  const fettle::Tensor place = session.CreateTensor(FETTLE_F32, {1, 3, 8, 8}).value();
  session.SetInput("picture", picture).value();
  session.SetOutput("enhanced", place).value();
  fettle_run* last = nullptr;
  for (fettle_run** handle : {static_cast<fettle_run**>(nullptr), &last})
    ASSERT_EQ(fettle_session_run_async(session.get(), nullptr, nullptr, 0, nullptr, 0, nullptr,
                                       nullptr, handle),
              FETTLE_OK);
  EXPECT_EQ(fettle_run_wait(last), FETTLE_OK);
  fettle_run_free(last);
  const fettle::Mapping mapping = place.Map(FETTLE_MAP_READ).value();
  EXPECT_THAT(mapping.as<float>(), ElementsAreArray(Expected(picture)));
}

TEST_F(Async, ACancelAtAnyMomentEndsThatRunAlone) {
  fettle::Session session = Create();
  const fettle::Tensor picture = Shaded(48, 0.2f);
  const std::vector<float> expected = Expected(picture);
  std::mt19937 random(1);
  int cancelled = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<fettle::AsyncRun> runs;
    for (int i = 0; i < 3; ++i) runs.push_back(Begin(session, picture));
    // At once, the last still waits for the others, however busy the machine is.
    const bool at_once = round % 3 == 0;
    if (!at_once) std::this_thread::sleep_for(std::chrono::microseconds(random() % 1500));
    const size_t at = at_once ? 2 : random() % 3;
    runs[at].Cancel();
    for (size_t i = 0; i < 3; ++i) {
      const auto outputs = runs[i].outputs.get();
      if (i == at && !outputs.ok()) {
        EXPECT_EQ(outputs.code(), FETTLE_CANCELLED);
        ++cancelled;
        continue;
      }
      ASSERT_TRUE(outputs.ok()) << outputs.message();
    }
  }
  EXPECT_GT(cancelled, 0);
  fettle::AsyncRun last = Begin(session, picture);
  ExpectOutput(last, expected);
}

TEST_F(Async, ASessionGoesAtAnyMoment) {
  const fettle::Tensor picture = Shaded(32, 0.2f);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::optional<fettle::Session> session(Create({.threads = 1 + round % 2}));
    std::vector<fettle::AsyncRun> runs;
    for (int i = 0; i < 4; ++i) runs.push_back(Begin(*session, picture));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    session.reset();
    for (fettle::AsyncRun& run : runs)
      EXPECT_THAT(run.outputs.get().code(), AnyOf(FETTLE_OK, FETTLE_CANCELLED));
  }
}

TEST_F(Async, ACallbackMayFreeItsSession) {
  static std::atomic<int> calls;
  calls = 0;
  fettle_session* session = nullptr;
  ASSERT_EQ(fettle_session_create(model_.get(), nullptr, &session), FETTLE_OK);
  const fettle::Tensor picture = Shaded(4, 0);
  ASSERT_EQ(fettle_session_set_input(session, "picture", picture.get()), FETTLE_OK);
  const auto tell = [](void* user, fettle_status, fettle_tensor**, size_t) {
    if (user != nullptr) fettle_session_free(static_cast<fettle_session*>(user));
    ++calls;
  };
  fettle_run* first = nullptr;
  ASSERT_EQ(
      fettle_session_run_async(session, nullptr, nullptr, 0, nullptr, 0, tell, session, &first),
      FETTLE_OK);
  EXPECT_EQ(fettle_run_wait(first), FETTLE_OK);
  EXPECT_EQ(calls, 1);
  fettle_run_free(first);
}

TEST_F(Async, RunsInFlightAreBounded) {
  fettle::Session session = Create({.threads = 1, .when_busy = "fail", .max_runs = 8});
  const fettle::Tensor picture = Shaded(48, 0.2f);
  std::vector<fettle::AsyncRun> runs;
  bool refused = false;
  for (int i = 0; i < 1000 && !refused; ++i) {
    auto run = session.RunAsync({{"picture", picture}}, {"enhanced"});
    refused = !run.ok();
    if (refused) {
      EXPECT_EQ(run.code(), FETTLE_BUSY);
      EXPECT_THAT(run.message(), HasSubstr("8 runs are in flight"));
    } else {
      runs.push_back(std::move(run).value());
    }
  }
  EXPECT_TRUE(refused);
  EXPECT_GE(runs.size(), 8u);
  for (fettle::AsyncRun& run : runs) EXPECT_TRUE(run.outputs.get().ok());
  EXPECT_EQ(fettle::Session::Create(model_, {.max_runs = -1}).code(), FETTLE_INVALID_ARGUMENT);
}

TEST_F(Async, EightInFlightTakeTheWorkMemoryOfOne) {
  const fettle::Tensor picture = Shaded(32, 0.2f);
  fettle::Session one = Create(), eight = Create({.threads = 1, .max_runs = 8});
  one.SetInput("picture", picture).value();
  one.Run().value();
  std::vector<fettle::AsyncRun> runs;
  for (int i = 0; i < 32; ++i) runs.push_back(Begin(eight, picture));
  for (fettle::AsyncRun& run : runs) EXPECT_TRUE(run.outputs.get().ok());
  EXPECT_EQ(eight.memory().arena, one.memory().arena);
}

TEST_F(Async, EightThreadsGiveRunsAndCancelThem) {
  fettle::Session session = Create({.threads = 2, .max_runs = 4});
  std::atomic<int> good = 0, cancelled = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const fettle::Tensor picture = Shaded(4 + thread % 2, 0.1f * static_cast<float>(thread));
      const std::vector<float> expected = Expected(picture);
      for (int i = 0; i < 6; ++i) {
        fettle::AsyncRun run = Begin(session, picture);
        if ((thread + i) % 4 == 0) run.Cancel();
        if ((thread + i) % 5 == 0) {
          EXPECT_TRUE(session.Infer({{"picture", picture}}, {"enhanced"}).ok());
        }
        const auto outputs = run.outputs.get();
        if (!outputs.ok()) {
          EXPECT_EQ(outputs.code(), FETTLE_CANCELLED);
          ++cancelled;
          continue;
        }
        ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good + cancelled, 48);
  EXPECT_GE(good, 36);
}

}  // namespace
