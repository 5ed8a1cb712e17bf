// Requests beside a tuning in the background: background_bench MODEL THREADS SECONDS SHARE
// INPUT=1x3x48x48 OUTPUT. One session answers requests that come at random (exponential gaps, half
// of what it can do), then one after another, each for SECONDS without and SECONDS with a tuning of
// level full for SHARE of a core (0: in idle time), in 3 rounds that share a database. Prints
// medians of the rounds: what a request waits from the moment at which it comes until it is
// answered, and the throughput.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>
#include <thread>

#include "fettle/fettle.hpp"

namespace {

constexpr int kRounds = 3;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct Work {
  fettle::Session session;
  std::vector<std::pair<std::string, fettle::Tensor>> inputs;
  std::vector<std::string> outputs;
  double seconds;
  std::string database;

  void Run() { (void)session.Infer(inputs, outputs).value(); }
};

struct Phase {
  double p50_ms = 0, p99_ms = 0, per_second = 0;
};

double At(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

/// Requests that come every `gap_s` in the mean; 0: one after another.
Phase Serve(Work& work, double gap_s) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> gaps(gap_s > 0 ? 1 / gap_s : 1);
  std::vector<double> ms;
  const auto begin = Clock::now();
  double comes = 0;  // after the beginning
  for (;;) {
    const double now = Seconds(Clock::now() - begin).count();
    comes = gap_s > 0 ? comes + gaps(random) : now;
    if (comes > work.seconds) break;
    if (comes > now) std::this_thread::sleep_for(Seconds(comes - now));
    work.Run();
    ms.push_back(1e3 * (Seconds(Clock::now() - begin).count() - comes));
  }
  const double took = Seconds(Clock::now() - begin).count();
  std::sort(ms.begin(), ms.end());
  return {At(ms, 0.5), At(ms, 0.99), static_cast<double>(ms.size()) / took};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Print(const char* name, const std::vector<Phase>& phases) {
  std::vector<double> p50, p99, rate;
  for (const Phase& phase : phases) {
    p50.push_back(phase.p50_ms);
    p99.push_back(phase.p99_ms);
    rate.push_back(phase.per_second);
  }
  std::printf("%-28s p50 %.3f ms, p99 %.3f ms, %.1f requests/s\n", name, Median(p50), Median(p99),
              Median(rate));
}

void Compare(Work& work, double share, double gap_s, const char* load) {
  std::vector<Phase> quiet, tuned;
  int64_t measured = 0;
  double worked = 0;
  for (int round = 0; round < kRounds; ++round) {
    quiet.push_back(Serve(work, gap_s));
    work.session.TuneInBackground(0, share, {.level = "full", .database = work.database.c_str()})
        .value();
    tuned.push_back(Serve(work, gap_s));
    work.session.CancelBackground();
    work.session.WaitForBackground(60).value();
    const fettle::BackgroundState state = work.session.background();
    measured += state.measured;
    worked += state.worked_seconds;
    if (state.stage != "cancelled") std::printf("a tuning ended early: %s\n", state.stage.c_str());
  }
  std::printf("%s\n", load);
  Print("  alone", quiet);
  Print("  beside a tuning", tuned);
  std::printf("  it worked %.1f s of %.1f and made %lld measurements\n", worked,
              kRounds * work.seconds, static_cast<long long>(measured));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::fprintf(stderr,
                 "usage: background_bench MODEL THREADS SECONDS SHARE INPUT=1x3x48x48 OUTPUT\n");
    return 2;
  }
  const std::string input = argv[5];
  const size_t at = input.find('=');
  std::vector<int64_t> dims;
  std::istringstream extents(input.substr(at + 1));
  for (std::string extent; std::getline(extents, extent, 'x');) dims.push_back(std::stoll(extent));
  const fettle::Model model = fettle::Model::Load(argv[1]).value();
  Work work{fettle::Session::Create(model, {.threads = std::atoi(argv[2])}).value(),
            {{input.substr(0, at), fettle::Tensor::Create(FETTLE_F32, dims).value()}},
            {argv[6]},
            std::atof(argv[3]),
            std::filesystem::temp_directory_path() / "background_bench.XXXXXX"};
  if (mkdtemp(work.database.data()) == nullptr) return 1;
  const double share = std::atof(argv[4]);
  work.Run();
  const Phase full = Serve(work, 0);
  Compare(work, share, 2 / full.per_second, "half of the load");
  Compare(work, share, 0, "all that it can do");
  std::filesystem::remove_all(work.database);
  return 0;
}
