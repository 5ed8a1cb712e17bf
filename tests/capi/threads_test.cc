// Every handle used by several threads at once, through libfettle.so alone: what docs/api-c.md
// promises, under ThreadSanitizer too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fettle/fettle.hpp"

namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::HasSubstr;

constexpr int kThreads = 4;

/// Runs `body(thread)` on all threads at once.
template <typename Body>
void OnThreads(int threads, const Body& body) {
  std::vector<std::thread> started;
  for (int i = 0; i < threads; ++i) started.emplace_back([&body, i] { body(i); });
  for (std::thread& thread : started) thread.join();
}

fettle::Tensor Picture(int64_t size, float value) {
  fettle::Tensor tensor = fettle::Tensor::Create(FETTLE_F32, {1, 3, size, size}).value();
  for (float& element : tensor.as<float>()) element = value;
  return tensor;
}

class Threads : public ::testing::Test {
 protected:
  fettle::Model model_ = fettle::Model::Load(FETTLE_DEMO_MODEL).value();
};

TEST_F(Threads, InferencesOfOneSessionComeOneAfterAnother) {
  fettle::Session session = fettle::Session::Create(model_, {.threads = 2}).value();
  OnThreads(kThreads, [&](int thread) {
    for (int run = 0; run < 6; ++run) {
      const float value = 0.125f * static_cast<float>(thread + 1);
      auto outputs =
          session.Infer({{"picture", Picture(4 + (thread + run) % 2, value)}}, {"enhanced"});
      ASSERT_TRUE(outputs.ok()) << outputs.message();
      const fettle::Tensor enhanced = std::move(outputs).value()[0];
      EXPECT_THAT(enhanced.as<float>(), Each(FloatNear(value, 1e-5f)));
    }
  });
}

TEST_F(Threads, EveryCallOfASessionMayComeFromAnyThread) {
  fettle::Session session = fettle::Session::Create(model_, {.threads = 2}).value();
  session.SetInput("picture", Picture(5, 0.5f)).value();
  session.Run().value();
  OnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < 8; ++i) {
      switch ((thread + i) % 6) {
        case 0: EXPECT_TRUE(session.SetInput("picture", Picture(5, 0.5f)).ok()); break;
        case 1: {
          const auto ran = session.Run();
          EXPECT_TRUE(ran.ok() || ran.code() == FETTLE_CANCELLED) << ran.message();
          break;
        }
        case 2: {
          // A cancelled run leaves none.
          const auto output = session.Output("enhanced");
          EXPECT_TRUE(output.ok() || output.code() == FETTLE_NOT_FOUND);
          break;
        }
        case 3: session.Cancel(); break;
        case 4:
          EXPECT_GE(session.memory().arena, 0);
          EXPECT_EQ(session.transfers().copies, 0);
          (void)fettle_session_step_count(session.get());
          break;
        default: EXPECT_TRUE(session.Prepare().ok()); break;
      }
    }
  });
}

TEST_F(Threads, ASessionThatIsBusyFailsWhereThatIsAskedFor) {
  fettle::Session session =
      fettle::Session::Create(model_, {.threads = 1, .when_busy = "fail"}).value();
  session.SetInput("picture", Picture(64, 0.5f)).value();
  std::atomic<int> busy = 0, ran = 0;
  OnThreads(kThreads, [&](int) {
    // Until somebody met somebody else.
    for (int i = 0; i < 10000 && busy == 0; ++i) {
      const auto status = session.Run();
      if (status.ok()) {
        ++ran;
        continue;
      }
      EXPECT_EQ(status.code(), FETTLE_BUSY);
      EXPECT_THAT(status.message(), HasSubstr("another thread is using the session"));
      ++busy;
    }
  });
  EXPECT_GT(ran, 0);
  EXPECT_GT(busy, 0);
  EXPECT_EQ(fettle::Session::Create(model_, {.when_busy = "maybe"}).code(),
            FETTLE_INVALID_ARGUMENT);
}

TEST_F(Threads, SessionsShareAModelAndItsTensors) {
  const fettle::Tensor picture = Picture(5, 0.5f);
  OnThreads(kThreads, [&](int) {
    fettle::Session session = fettle::Session::Create(model_, {.threads = 2}).value();
    session.SetInput("picture", picture).value();
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(session.Run().ok());
    const fettle::Tensor enhanced = session.Output("enhanced").value();
    EXPECT_THAT(enhanced.as<float>(), Each(FloatNear(0.5f, 1e-5f)));
    EXPECT_EQ(model_.inputs().size(), 1u);
  });
}

TEST_F(Threads, TensorsGoBetweenMapsAndRuns) {
  fettle::Session session = fettle::Session::Create(model_, {.threads = 1}).value();
  const fettle::Tensor picture = session.CreateTensor(FETTLE_F32, {1, 3, 5, 5}).value();
  session.SetInput("picture", picture).value();
  OnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      if (thread == 0) {
        const auto ran = session.Run();
        EXPECT_TRUE(ran.ok() || ran.code() == FETTLE_BUSY) << ran.message();
        continue;
      }
      auto mapped = picture.Map(FETTLE_MAP_WRITE);
      if (!mapped.ok()) {
        EXPECT_EQ(mapped.code(), FETTLE_BUSY);
        continue;
      }
      const fettle::Mapping mapping = std::move(mapped).value();
      for (float& element : mapping.as<float>()) element = static_cast<float>(thread);
    }
  });
}

TEST_F(Threads, ProductsRunAtOnce) {
  constexpr int64_t kSize = 64;
  const std::vector<float> a(kSize * kSize, 1), b(kSize * kSize, 2);
  OnThreads(kThreads, [&](int) {
    std::vector<float> c(kSize * kSize);
    for (int i = 0; i < 4; ++i)
      ASSERT_EQ(fettle_sgemm(0, 0, kSize, kSize, kSize, 1, a.data(), kSize, b.data(), kSize, 0,
                             c.data(), kSize, 2),
                FETTLE_OK);
    EXPECT_THAT(c, Each(2.0f * kSize));
  });
}

TEST_F(Threads, ASearchIsLookedAtWhileItRuns) {
  fettle::Tuner tuner = fettle::Tuner::Create("threads").value();
  tuner.AddParameter("X", {1, 2, 3, 4, 5, 6, 7, 8}).value();
  tuner.SetOptions({.strategy = "full"}).value();
  std::atomic<bool> done = false;
  std::thread watcher([&] {
    while (!done) {
      EXPECT_LE(tuner.state().evaluations, 8);
      (void)tuner.Best();
      const auto refused = tuner.Ask();
      if (!refused.ok()) {
        EXPECT_THAT(refused.code(), testing::AnyOf(FETTLE_BUSY, FETTLE_NOT_FOUND));
      }
    }
  });
  const auto ran = tuner.Run({.run = [&](std::span<const int64_t> values) {
    // Also from its own callbacks.
    EXPECT_EQ(tuner.Tell(1).code(), FETTLE_BUSY);
    return static_cast<double>(values[0]);
  }});
  done = true;
  watcher.join();
  EXPECT_TRUE(ran.ok()) << ran.message();
  EXPECT_EQ(tuner.Best().value().ms, 1);
}

TEST_F(Threads, TheLogChangesWhileSessionsAreMade) {
  std::atomic<int> lines = 0;
  const auto count = [](fettle_log_level, const char*, void* user) {
    ++*static_cast<std::atomic<int>*>(user);
  };
  OnThreads(kThreads, [&](int thread) {
    for (int i = 0; i < 5; ++i) {
      if (thread == 0)
        fettle_set_log(i % 2 == 0 ? +count : nullptr, &lines, FETTLE_LOG_DEBUG);
      else
        EXPECT_TRUE(fettle::Session::Create(model_, {.threads = 1}).ok());
    }
  });
  fettle_set_log(nullptr, nullptr, FETTLE_LOG_ERROR);
}

}  // namespace
