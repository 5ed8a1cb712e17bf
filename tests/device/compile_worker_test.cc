// Compilers that hang, die or are not there.
#include "device/opencl/compile_worker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <system_error>
#include <thread>

#include "device/compile_elsewhere.h"
#include "device/opencl/compile_workers.h"
#include "tests/device/fake_opencl.h"
#include "tests/test_folder.h"

namespace fettle {
namespace {

const ProgramSource kScaleSource{"scale", "kernel void scale() {}", "-DTILE=4"};

/// A worker that comes to its device, which has the empty name, and then does what `script` says.
std::vector<std::string> Shell(const std::string& script) {
  return {"/bin/sh", "-c", R"(printf '\000\000\000\000\000\000\000\000' >&0; )" + script};
}

TEST(CompileWorker, KillsACompilerThatHangs) {
  CompileWorker worker(Shell("cat >/dev/null; sleep 1000"), 0.05);
  const auto built = worker.Compile(kScaleSource, "");
  EXPECT_EQ(built.status().code(), StatusCode::kBuildFailed);
  EXPECT_THAT(std::string(built.status().message()), testing::HasSubstr("took over 0.05 s"));
}

TEST(CompileWorker, KillsWhatTheCompilerStartedToo) {
  const TestFolder folder;
  const std::string pid_file = folder.file("pid");
  CompileWorker worker(Shell("sleep 1000 & echo $! >" + pid_file + "; wait"), 0.3);
  EXPECT_FALSE(worker.Compile(kScaleSource, "").ok());
  pid_t started = 0;
  ASSERT_TRUE(std::ifstream(pid_file) >> started);
  // A zombie until its new parent looks, if that ever does.
  std::string stat = "0 (gone) Z";
  for (int i = 0; i < 200; ++i) {
    std::ifstream file(fmt::format("/proc/{}/stat", started));
    if (!std::getline(file, stat) || stat.find(") Z") != std::string::npos) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "still there: " << stat;
}

TEST(CompileWorker, SaysHowACompilerDied) {
  CompileWorker worker(Shell("kill -SEGV $$"), 20);
  const auto built = worker.Compile(kScaleSource, "");
  EXPECT_EQ(built.status().code(), StatusCode::kBuildFailed);
  EXPECT_THAT(std::string(built.status().message()), testing::HasSubstr("died twice"));
}

TEST(CompileWorker, AsksADeadOneOnceMore) {
  const TestFolder folder;
  const std::string mark = folder.file("mark");
  // The first one dies; the second answers 'b' and one byte of binary, whatever it is asked.
  CompileWorker worker(Shell("test -e " + mark + " || { touch " + mark + "; exit 3; }; " +
                             R"(printf 'b\001\000\000\000\000\000\000\000X' >&0; sleep 1000)"),
                       20);
  const auto built = worker.Compile(kScaleSource, "");
  ASSERT_TRUE(built.ok()) << built.status().message();
  EXPECT_EQ(*built, std::vector<std::byte>{std::byte{'X'}});
}

TEST(CompileWorker, IsNoReasonToRefuseAProgramWhereThereIsNone) {
  CompileWorker worker({"/no/such/program"}, 20);
  EXPECT_EQ(worker.Compile(kScaleSource, "").status().code(), StatusCode::kIo);
}

TEST(CompileWorker, IsNoReasonToRefuseAProgramWhereItDoesNotComeToItsDevice) {
  CompileWorker dies({"/bin/sh", "-c", "exit 4"}, 20);
  const Status died = dies.Compile(kScaleSource, "").status();
  EXPECT_EQ(died.code(), StatusCode::kIo);
  EXPECT_THAT(died.message(), testing::HasSubstr("exit code 4"));
  CompileWorker differs(Shell("sleep 1000"), 20);
  const Status other = differs.Compile(kScaleSource, "a GPU").status();
  EXPECT_EQ(other.code(), StatusCode::kIo);
  EXPECT_THAT(other.message(), testing::HasSubstr("another device"));
}

TEST(CompileWorker, IsStoppedWhenItsCallerIs) {
  const TestFolder folder;
  const std::string asked = folder.file("asked");
  std::atomic<bool> cancelled = false;
  CompileWorker worker(Shell("head -c 8 >/dev/null; : >" + asked + "; sleep 1000"), 1000,
                       &cancelled);
  std::thread stops([&] {
    while (!std::ifstream(asked).good()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    cancelled = true;
  });
  EXPECT_EQ(worker.Compile(kScaleSource, "").status().code(), StatusCode::kCancelled);
  stops.join();
  EXPECT_EQ(worker.Compile(kScaleSource, "").status().code(), StatusCode::kCancelled);
}

/// Two that answer only once the other has been asked, too.
TEST(CompileWorkers, CompileSideBySide) {
  const TestFolder folder;
  const std::string here = folder.file("asked.");
  CompileWorkers workers(
      Shell("head -c 8 >/dev/null; : >" + here + "$$; i=0; " + "while [ $(ls " + here +
            "* | wc -l) -lt 2 ]; do i=$((i+1)); " + "[ $i -lt 200 ] || exit 1; sleep 0.05; done; " +
            R"(printf 'b\001\000\000\000\000\000\000\000x' >&0; sleep 1000)"),
      30, 2);
  std::vector<size_t> bytes(2);
  SetCompilesAtOnce(2);
  PrepareAhead(2, [&](int64_t i) {
    const auto built = workers.Compile(kScaleSource, "");
    bytes[static_cast<size_t>(i)] = built.ok() ? built->size() : 0;
  });
  SetCompilesAtOnce(0);
  EXPECT_THAT(bytes, testing::Each(1));
  PrepareAhead(2, [](int64_t) { ADD_FAILURE() << "compilers of this process are asked in turn"; });
}

/// One that is asked for a program writes down its name and dies.
TEST(CompileWorkers, TheLongestTextComesFirst) {
  const TestFolder folder;
  const std::string open = folder.file("open"), names = folder.file("names");
  // Not ready before all programs wait. A name is 8 bytes of length and one of its own.
  CompileWorkers workers(
      {"/bin/sh", "-c",
       "while [ ! -e " + open + " ]; do sleep 0.01; done; " +
           R"(printf '\000\000\000\000\000\000\000\000' >&0; while :; do head -c 8 >/dev/null; )" +
           "head -c 1 >>" + names + "; exit 1; done"},
      30, 1);
  workers.StartAll();
  std::vector<std::thread> threads;
  for (const size_t bytes : {1, 3, 2})
    threads.emplace_back([&, bytes] {
      (void)workers.Compile({std::to_string(bytes), std::string(bytes, 'x'), ""}, "");
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::ofstream(open) << "now";
  for (std::thread& thread : threads) thread.join();
  std::string asked;
  std::ifstream(names) >> asked;
  EXPECT_EQ(asked, "332211");  // each one dies, and is asked once more
}

TEST(CompileWorkers, SaysWhyNoneStarts) {
  CompileWorkers workers({"/no/such/program"}, 20, 3);
  workers.StartAll();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(workers.Compile(kScaleSource, "").status().code(), StatusCode::kIo);
}

TEST(CompileWorkers, EndsWhileTheyStart) {
  CompileWorkers workers({"/bin/sh", "-c", "sleep 1000"}, 20, 20);
  workers.StartAll();
}

/// A program that several wait for leaves no compiler idle: others are asked for meanwhile.
TEST(CompileWorkers, MoreArePreparedThanCompiledAtOnce) {
  constexpr int kThreads = 5;
  std::atomic<int> begun = 0;
  std::vector<int> seen(kThreads);
  SetCompilesAtOnce(2);
  PrepareAhead(kThreads, [&](int64_t i) {
    ++begun;
    for (int wait = 0; wait < 1000 && begun < kThreads; ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    seen[static_cast<size_t>(i)] = begun;
  });
  SetCompilesAtOnce(0);
  EXPECT_THAT(seen, testing::Each(kThreads));
}

/// Drivers that compile one program at a time would have the others wait for this process.
TEST(CompileWorkers, TheFirstThreadCompilesHereUntilAnotherProcessHas) {
  FakeOpenCl fake;
  const auto device = fake.Open(nullptr);
  const std::string_view name = device->fingerprint();
  const std::string ready =
      fmt::format(R"(printf '\{:03o}\000\000\000\000\000\000\000{}' >&0; )", name.size(), name);
  const std::string answer = R"(printf 'b\001\000\000\000\000\000\000\000x' >&0; )";
  const auto held =
      CompileOpenClElsewhere({.command = {"/bin/sh", "-c", ready + answer + answer + "sleep 1000"},
                              .at_once = 2,
                              .first_here = true});
  const auto compile = [&] {
    const auto built = GetProgramCompiler()(kScaleSource, name);
    return built.ok() ? std::ssize(*built) : -1;
  };
  EXPECT_EQ(compile(), 0);
  std::thread([&] { EXPECT_EQ(compile(), 1); }).join();
  EXPECT_EQ(compile(), 1);
}

TEST(CompileWorkers, AreAskedInTurnWhereTheSystemGivesNoThread) {
  pthread_attr_t usual, huge;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_getattr_default_np(&huge), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, size_t{1} << 47), 0);  // more than there are addresses
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  std::vector<int> prepared(5);
  SetCompilesAtOnce(3);
  PrepareAhead(5, [&](int64_t i) { ++prepared[static_cast<size_t>(i)]; });
  SetCompilesAtOnce(0);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_THAT(prepared, testing::Each(1));
}

TEST(CompileWorker, WhatItRefusesIsRemembered) {
  const TestFolder folder;
  FakeOpenCl fake;
  int asked = 0;
  const auto hangs = [&asked](const ProgramSource&,
                              std::string_view) -> Result<std::vector<std::byte>> {
    ++asked;
    return Error(StatusCode::kBuildFailed, "the compiler took over 60 s and was stopped");
  };
  for (int process = 0; process < 2; ++process) {
    const auto device = fake.Open(ProgramCache::Open({.folder = folder.file("programs")}).value());
    SetProgramCompiler(hangs);
    const auto program = device->programs().Get(kScaleSource);
    SetProgramCompiler(nullptr);
    EXPECT_EQ(program.status().code(), StatusCode::kBuildFailed);
    EXPECT_THAT(std::string(program.status().message()), testing::HasSubstr("took over 60 s"));
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(fake.builds, 0);
}

TEST(CompileWorker, ItsBinaryIsTaken) {
  FakeOpenCl fake;
  const auto device = fake.Open();
  const auto builder = fake.Open();
  const auto binary = builder->programs().Get(kScaleSource).value()->Binary();
  SetProgramCompiler([&](const ProgramSource&, std::string_view) { return Result(binary); });
  EXPECT_TRUE(device->programs().Get(kScaleSource).ok());
  SetProgramCompiler(nullptr);
  EXPECT_EQ(device->programs().statistics().built, 1);
}

}  // namespace
}  // namespace fettle
