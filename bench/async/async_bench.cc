// Asynchronous runs beside a thread of one's own: async_bench MODEL THREADS RUNS INPUT=1x3x48x48
// OUTPUT. Rounds of three ways take turns, each with RUNS inferences of one session: calls one
// after the other; a thread of the program's with a queue of its own, 8 deep; Session::RunAsync, 8
// deep. Prints microseconds for each inference, the median of 9 rounds, and both ways' ratio to the
// calls (above 1: faster).
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <sstream>
#include <thread>

#include "fettle/fettle.hpp"

namespace {

constexpr size_t kDepth = 8;
constexpr int kRounds = 9;
using Inputs = std::vector<std::pair<std::string, fettle::Tensor>>;

struct Work {
  fettle::Session session;
  Inputs inputs;
  std::vector<std::string> outputs;
  int runs;
};

void CallOneByOne(Work& work) {
  for (int i = 0; i < work.runs; ++i) (void)work.session.Infer(work.inputs, work.outputs).value();
}

/// What a program does that has no RunAsync.
void UseOwnThread(Work& work) {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<const Inputs*> queue;
  bool ends = false;
  std::thread thread([&] {
    while (true) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return ends || !queue.empty(); });
      if (queue.empty()) return;
      const Inputs* const inputs = queue.front();
      lock.unlock();
      (void)work.session.Infer(*inputs, work.outputs).value();
      lock.lock();
      queue.pop_front();
      changed.notify_all();
    }
  });
  for (int i = 0; i < work.runs; ++i) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return queue.size() < kDepth; });
    queue.push_back(&work.inputs);
    changed.notify_all();
  }
  {
    const std::lock_guard lock(mutex);
    ends = true;
  }
  changed.notify_all();
  thread.join();
}

void RunAsync(Work& work) {
  std::deque<fettle::AsyncRun> runs;
  for (int i = 0; i < work.runs; ++i) {
    runs.push_back(work.session.RunAsync(work.inputs, work.outputs).value());
    if (runs.size() <= kDepth) continue;
    (void)runs.front().outputs.get().value();
    runs.pop_front();
  }
  for (fettle::AsyncRun& run : runs) (void)run.outputs.get().value();
}

double MicrosecondsOf(void (*way)(Work&), Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  way(work);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  return took.count() / work.runs;
}

double Median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: async_bench MODEL THREADS RUNS INPUT=1x3x48x48 OUTPUT\n");
    return 2;
  }
  const std::string input = argv[4];
  const size_t at = input.find('=');
  std::vector<int64_t> dims;
  std::istringstream extents(input.substr(at + 1));
  for (std::string extent; std::getline(extents, extent, 'x');) dims.push_back(std::stoll(extent));
  const fettle::Model model = fettle::Model::Load(argv[1]).value();
  const fettle::Tensor tensor = fettle::Tensor::Create(FETTLE_F32, dims).value();
  Work work{fettle::Session::Create(
                model, {.threads = std::atoi(argv[2]), .max_runs = static_cast<int64_t>(kDepth)})
                .value(),
            {{input.substr(0, at), tensor}},
            {argv[5]},
            std::atoi(argv[3])};
  std::vector<double> calls, own, async;
  MicrosecondsOf(CallOneByOne, work);
  for (int round = 0; round < kRounds; ++round) {
    calls.push_back(MicrosecondsOf(CallOneByOne, work));
    own.push_back(MicrosecondsOf(UseOwnThread, work));
    async.push_back(MicrosecondsOf(RunAsync, work));
  }
  std::printf("calls %.1f us, own thread %.1f (%.2f), RunAsync %.1f (%.2f)\n", Median(calls),
              Median(own), Median(calls) / Median(own), Median(async),
              Median(calls) / Median(async));
  return 0;
}
